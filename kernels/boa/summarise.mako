// The state of the population after a generation, and whether the run is over: status[0] becomes a reason to stop, and
// every kernel given to the device after that returns at once.
//
// status: 0 reason (1 target, 2 converged, 3 no improvement), 1 generation, 2 best key, 3 its individual, 4 generation
//         of the last improvement, 5 worst key, 6 sum of keys, 7 edges, 8 genes not yet fixed among the selected,
//         9 entropy of the genes among the selected, in sum; before the first network all genes are open and have a bit
// history: the same ${fields} numbers for this generation
// Launch: one group. totals, parent_count: see learn.mako; learned: whether there has been a network. entropies[c] is
// what a value that c of the selected have adds to a gene's entropy.
<% added = ("sum", "edges", "open", "entropy") %>\
KERNEL LAUNCH_BOUNDS(${block}, 1) summarise(const GLOBAL i64* RESTRICT keys, i32 count, GLOBAL i64* status, GLOBAL i64* RESTRICT history,
    i32 slot, i64 target, i32 has_target, i32 patience, i32 generation, i32 learned, const GLOBAL i32* RESTRICT totals,
    const GLOBAL i32* RESTRICT parent_count, i32 n, const GLOBAL i32* RESTRICT entropies)
{
    LOCAL_ARRAY(i64, part, ${block});
    if (status[0] != 0)
        return;
    i64 best = keys[0];
    i64 worst = best;
    i64 sum = 0;
    for (i32 i = LOCAL_ID; i < count; i += ${block}) {
        const i64 key = keys[i];
        best = MAX(best, key);
        worst = MIN(worst, key);
        sum += key;
    }
    i64 edges = 0;
    i64 open = 0;
    i64 entropy = 0;
    if (learned)
        for (i32 node = LOCAL_ID; node < n; node += ${block}) {
            const i32 cells = 2 << parent_count[node];
            const GLOBAL i32* own = totals + (i64)node * ${2 << max_parents};
            i32 zeros = 0;
            i32 ones = 0;
            for (i32 cell = 0; cell < cells; cell += 2) {
                zeros += own[cell];
                ones += own[cell + 1];
            }
            edges += parent_count[node];
            open += zeros > 0 && ones > 0;
            entropy += entropies[zeros] + entropies[ones];
        }
% if block > 1:
% for name, combine in (("best", "MAX(a, b)"), ("worst", "MIN(a, b)"), *((name, "a + b") for name in added)):
    part[LOCAL_ID] = ${name};
    BARRIER();
    for (i32 reach = ${block // 2}; reach > 0; reach /= 2) {
        if (LOCAL_ID < reach) {
            const i64 a = part[LOCAL_ID];
            const i64 b = part[LOCAL_ID + reach];
            part[LOCAL_ID] = ${combine};
        }
        BARRIER();
    }
    ${name} = part[0];
    BARRIER();
% endfor
% endif
    i64 first_best = count;
    for (i32 i = LOCAL_ID; i < count && first_best == count; i += ${block})
        if (keys[i] == best)
            first_best = i;
% if block > 1:
    part[LOCAL_ID] = first_best;
    BARRIER();
    for (i32 reach = ${block // 2}; reach > 0; reach /= 2) {
        if (LOCAL_ID < reach)
            part[LOCAL_ID] = MIN(part[LOCAL_ID], part[LOCAL_ID + reach]);
        BARRIER();
    }
    first_best = part[0];
% endif
    if (LOCAL_ID == 0) {
        if (generation == 0 || best > status[2])
            status[4] = generation;
        status[1] = generation;
        status[2] = best;
        status[3] = first_best;
        status[5] = worst;
        status[6] = sum;
        status[7] = edges;
        status[8] = learned ? open : n;
        status[9] = learned ? entropy : (i64)n * ${one_bit};
        if (has_target && best >= target)
            status[0] = 1;
        else if (best == worst && learned && open == 0)
            status[0] = 2;
        else if (generation - status[4] >= patience)
            status[0] = 3;
        for (i32 i = 0; i < ${fields}; ++i)
            history[(i64)${fields} * slot + i] = status[i];
    }
}

// read_individual: genes[g] = bit g of individual status[3].
// Launch: work-items share the genes.
KERNEL LAUNCH_BOUNDS(${block}, 1) read_individual(const GLOBAL u32* RESTRICT planes, i32 stride, i32 n, const GLOBAL i64* RESTRICT status,
    GLOBAL u8* RESTRICT genes)
{
    const i64 individual = status[3];
    for (i64 gene = GLOBAL_ID; gene < n; gene += GLOBAL_SIZE)
        genes[gene] = (u8)((planes[gene * stride + (individual >> 5)] >> (individual & 31)) & 1u);
}

// read_sample: sample[g * words + w] = word w of gene g, the first individuals of the population.
// Launch: work-items share the words.
KERNEL LAUNCH_BOUNDS(${block}, 1) read_sample(const GLOBAL u32* RESTRICT planes, i32 stride, i32 n, i32 words, GLOBAL u32* RESTRICT sample)
{
    for (i64 item = GLOBAL_ID; item < (i64)n * words; item += GLOBAL_SIZE)
        sample[item] = planes[item / words * stride + item % words];
}
