<%doc>
Partition crossover of local optima, for functions given by tables.

Genes that differ between two individuals and share a table are linked; the linked genes fall into connected components. No
table has differing genes of two components, so each component can be taken from either individual by itself: the
better one of 2^components combinations is found by one look at each component. The child is at least as good as both.

The child replaces the first individual of a pair, unless it would be a copy of the second one, its partner.
</%doc>
// rows[i * row_words + g / 32] has gene g of individual i in bit g % 32; individuals first (a multiple of 32) .. last - 1.
// Source: D. Whitley, F. Chicano, B. W. Goldman, "Gray box optimization for Mk landscapes (NK landscapes and MAX-kSAT)",
// Evolutionary Computation 24 (2016) 491-519.
// Launch: any number of groups of ${block} work-items; a group takes pairs GROUP_ID, GROUP_ID + GROUP_COUNT, ... and has
// n labels, n gains and a row for the partner in global memory. Labels are the least gene of a component found so far.
// The population is in planes[g * stride + i / 32], bit i % 32; columns are its selected individuals.
${status.declaration()}
typedef ${sum} sum_t;
% if symmetric:
// The function has the same value for the complement of an individual, so the nearer of the two is combined with.
% endif
${philox.functions()}
// combine_pairs: in every block of 32 individuals, individual i and i ^ mask are a pair, with a random mask for the block.
KERNEL LAUNCH_BOUNDS(${block}, 1) combine_pairs(GLOBAL u32* RESTRICT rows, i32 n, i32 first, i32 last, u64 seed, u32 stream,
    u32 step,
${tables()}) {
${begin()}
    const i32 blocks = (last - first + 31) / 32;
    for (i32 pair = GROUP_ID; pair < 16 * blocks; pair += GROUP_COUNT) {
        const i32 block_number = first / 32 + pair / 16;
        const philox_words_t words = philox_words(seed, stream, step, (i64)block_number, 0);
        const i32 mask = 1 + (i32)MULTIPLY_HIGH_U32(words.w0, 31u);
        i32 top = 0;
        while (mask >> (top + 1))
            ++top;
        const i32 place = pair % 16;
        const i32 own = 32 * block_number + (((place >> top) << (top + 1)) | (place & ((1 << top) - 1)));
        const i32 other = own ^ mask;
        // Without a partner the pair is two copies of a row, and nothing is written. Not `continue`: in PoCL 3.0 a branch past
        // a barrier makes every work-item of a group enter the loop that follows it.
        const i32 has_partner = other < last;
        for (i32 w = LOCAL_ID; w < row_words; w += ${block})
            partner[w] = rows[(i64)(has_partner ? other : first) * row_words + w];
        GLOBAL u32* row = rows + (i64)(has_partner ? own : first) * row_words;
${combine("has_partner")}
    }
}

// combine_selected: each individual and a random one of those that the network was learned from.
KERNEL LAUNCH_BOUNDS(${block}, 1) combine_selected(GLOBAL u32* RESTRICT rows, i32 n, i32 first, i32 last, u64 seed, u32 stream,
    u32 step, const GLOBAL u32* RESTRICT planes, i32 stride, const GLOBAL i32* RESTRICT columns, i32 selected,
${tables()}) {
${begin()}
    for (i32 own = first + GROUP_ID; own < last; own += GROUP_COUNT) {
        const philox_words_t words = philox_words(seed, stream, step, (i64)own, 0);
        const i32 column = columns[MULTIPLY_HIGH_U32(words.w0, (u32)selected)];
        for (i32 w = LOCAL_ID; w < row_words; w += ${block}) {
            u32 word = 0;
            for (i32 b = 0; b < MIN(32, n - 32 * w); ++b)
                word |= ((planes[(i64)(32 * w + b) * stride + (column >> 5)] >> (column & 31)) & 1u) << b;
            partner[w] = word;
        }
        GLOBAL u32* row = rows + (i64)own * row_words;
${combine("1")}
    }
}

// combine_own: each individual and what it was before its last search; the child always replaces it.
KERNEL LAUNCH_BOUNDS(${block}, 1) combine_own(GLOBAL u32* RESTRICT rows, i32 n, i32 first, i32 last,
    const GLOBAL u32* RESTRICT before,
${tables()}) {
${begin()}
    for (i32 own = first + GROUP_ID; own < last; own += GROUP_COUNT) {
        for (i32 w = LOCAL_ID; w < row_words; w += ${block})
            partner[w] = before[(i64)(own - first) * row_words + w];
        GLOBAL u32* row = rows + (i64)own * row_words;
${combine("1", keeps_copies=True)}
    }
}
<%def name="tables()">
    const GLOBAL i32* RESTRICT genes, const GLOBAL i32* RESTRICT scope_starts, const GLOBAL i32* RESTRICT table_starts,
    const GLOBAL sum_t* RESTRICT tables, i32 functions, GLOBAL i32* all_labels, GLOBAL i64* all_gains, GLOBAL u32* all_partners,
    const GLOBAL status_t* RESTRICT status</%def>
<%def name="begin()">
    LOCAL_ARRAY(i32, part, ${block});
    LOCAL_ARRAY(i32, changed, 1);
    if (status->reason != 0)
        return;
    const i32 row_words = (n + 31) / 32;
    GLOBAL i32* labels = all_labels + (i64)GROUP_ID * n;
    GLOBAL i64* gains = all_gains + (i64)GROUP_ID * n;
    GLOBAL u32* partner = all_partners + (i64)GROUP_ID * row_words;
</%def>
<%def name="combine(has_partner, keeps_copies=False)">
        BARRIER();
        u32 complement = 0;
% if symmetric:
        i32 distance = 0;
        for (i32 w = LOCAL_ID; w < row_words; w += ${block})
            distance += (i32)COUNT_BITS_U32(row[w] ^ partner[w]);
        ${reduce.group_reduce("part", "i32", block, [("distance", "sum")])}
        complement = distance > n - distance ? 0xFFFFFFFFu : 0u;
% endif
        for (i32 g = LOCAL_ID; g < n; g += ${block}) {
            labels[g] = (((row[g >> 5] ^ partner[g >> 5] ^ complement) >> (g & 31)) & 1u) ? g : -1;
            gains[g] = 0;
        }
        BARRIER();
        for (i32 is_open = 1; is_open;) {
            if (LOCAL_ID == 0)
                changed[0] = 0;
            BARRIER();
            for (i32 f = LOCAL_ID; f < functions; f += ${block}) {
                i32 least = n;
                i32 largest = -1;
                for (i32 at = scope_starts[f]; at < scope_starts[f + 1]; ++at) {
                    const i32 label = labels[genes[at]];
                    least = label >= 0 && label < least ? label : least;
                    largest = MAX(largest, label);
                }
                if (largest > least) {
                    changed[0] = 1;
                    for (i32 at = scope_starts[f]; at < scope_starts[f + 1]; ++at) {
                        const i32 label = labels[genes[at]];
                        if (label > least) {
                            ${lower("labels[label]", "least")};
                            ${lower("labels[genes[at]]", "least")};
                        }
                    }
                }
            }
            BARRIER();
            is_open = changed[0];
            for (i32 g = LOCAL_ID; g < n; g += ${block}) {
                i32 label = labels[g];
                if (label >= 0) {
                    while (labels[label] < label)
                        label = labels[label];
                    labels[g] = label;
                }
            }
            BARRIER();
        }
        for (i32 f = LOCAL_ID; f < functions; f += ${block}) {
            i32 mine = 0, theirs = 0, label = -1;
            for (i32 at = scope_starts[f]; at < scope_starts[f + 1]; ++at) {
                const i32 g = genes[at];
                const i32 bit = (i32)((row[g >> 5] >> (g & 31)) & 1u);
                const i32 differs = labels[g] >= 0;
                mine |= bit << (at - scope_starts[f]);
                theirs |= (bit ^ differs) << (at - scope_starts[f]);
                label = MAX(label, labels[g]);
            }
            const i64 gain = label < 0 ? 0 : (i64)tables[table_starts[f] + theirs] - (i64)tables[table_starts[f] + mine];
            if (gain != 0)
% if block == 1:
                gains[label] += gain;
% else:
                ATOMIC_ADD_U64((GLOBAL u64*)&gains[label], (u64)gain);
% endif
        }
        BARRIER();
% if keeps_copies:
        const i32 is_new = ${has_partner};
% else:
        // Where all components are better in the partner, the child would be a copy of it.
        i32 kept = 0;
        for (i32 g = LOCAL_ID; g < n; g += ${block})
            kept |= labels[g] >= 0 && gains[labels[g]] <= 0;
        ${reduce.group_reduce("part", "i32", block, [("kept", "max")])}
        const i32 is_new = ${has_partner} && kept;
% endif
        for (i32 w = LOCAL_ID; w < row_words; w += ${block}) {
            u32 taken = 0;
            for (i32 b = 0; b < MIN(32, n - 32 * w); ++b) {
                const i32 label = labels[32 * w + b];
                taken |= (label >= 0 && gains[label] > 0 ? 1u : 0u) << b;
            }
            if (is_new)
                row[w] ^= taken;
        }
        BARRIER();
</%def>
<%def name="lower(cell, value)">\
% if block == 1:
${cell} = MIN(${cell}, ${value})\
% else:
ATOMIC_MIN_I32(&${cell}, ${value})\
% endif
</%def>
