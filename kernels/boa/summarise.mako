<% found = [("best", "max"), ("worst", "min"), ("sum", "sum"), ("edges", "sum"), ("open", "sum"), ("entropy", "sum")] %>\
// The state of the population after a generation, and whether the run is over: status->reason becomes one to stop, and every kernel
// given to the device after that returns at once. Before the first network all genes are open and have an entropy of one bit.
//
// history: the status after this generation.
// Launch: one group. totals, parent_count: see learn.mako; learned: whether there has been a network. entropies[c] is
// what a value that c of the selected have adds to a gene's entropy.
${status.declaration()}
KERNEL LAUNCH_BOUNDS(${block}, 1) summarise_generation(const GLOBAL i64* RESTRICT keys, i32 count, GLOBAL status_t* status,
    GLOBAL status_t* RESTRICT history, i32 slot, i64 target, i32 has_target, i32 patience, i32 generation, i32 learned,
    const GLOBAL i32* RESTRICT totals, const GLOBAL i32* RESTRICT parent_count, i32 n, const GLOBAL i32* RESTRICT entropies) {
    LOCAL_ARRAY(i64, part, ${block});
    if (status->reason != 0)
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
    i64 edges = 0, open = 0, entropy = 0;
    if (learned)
        for (i32 node = LOCAL_ID; node < n; node += ${block}) {
            const i32 cells = 2 << parent_count[node];
            const GLOBAL i32* own = totals + (i64)node * ${2 << max_parents};
            i32 zeros = 0, ones = 0;
            for (i32 cell = 0; cell < cells; cell += 2) {
                zeros += own[cell];
                ones += own[cell + 1];
            }
            edges += parent_count[node];
            open += zeros > 0 && ones > 0;
            entropy += entropies[zeros] + entropies[ones];
        }
    ${reduce.group_reduce("part", "i64", block, found, together=1)}
    i64 first_best = count;
    for (i32 i = LOCAL_ID; i < count && first_best == count; i += ${block})
        if (keys[i] == best)
            first_best = i;
    ${reduce.group_reduce("part", "i64", block, [("first_best", "min")])}
    if (LOCAL_ID == 0) {
        if (generation == 0 || best > status->best)
            status->improved = generation;
        status->generation = generation;
        status->best = best;
        status->individual = first_best;
        status->worst = worst;
        status->sum = sum;
        status->edges = edges;
        status->open = learned ? open : n;
        status->entropy = learned ? entropy : (i64)n * ${one_bit};
        if (has_target && best >= target)
            status->reason = ${target_reached};
        else if (best == worst && learned && open == 0)
            status->reason = ${converged};
        else if (generation - status->improved >= patience)
            status->reason = ${stalled};
        history[slot] = *status;
    }
}

// read_individual: genes[g] = bit g of the best individual.
// Launch: work-items share the genes.
KERNEL LAUNCH_BOUNDS(${block}, 1) read_individual(const GLOBAL u32* RESTRICT planes, i32 stride, i32 n,
    const GLOBAL status_t* RESTRICT status, GLOBAL u8* RESTRICT genes) {
    const i64 individual = status->individual;
    for (i64 gene = GLOBAL_ID; gene < n; gene += GLOBAL_SIZE)
        genes[gene] = (u8)((planes[gene * stride + (individual >> 5)] >> (individual & 31)) & 1u);
}

// read_sample: sample[g * words + w] = word w of gene g, the first individuals of the population.
// Launch: work-items share the words.
KERNEL LAUNCH_BOUNDS(${block}, 1) read_sample(const GLOBAL u32* RESTRICT planes, i32 stride, i32 n,
    i32 words, GLOBAL u32* RESTRICT sample) {
    for (i64 item = GLOBAL_ID; item < (i64)n * words; item += GLOBAL_SIZE)
        sample[item] = planes[item / words * stride + item % words];
}
