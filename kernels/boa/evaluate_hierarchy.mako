// Hierarchical fitness: on every level blocks of ${arity} whose symbols agree pass the symbol up, others pass up a gap.
//
// key = base + sum over levels l and blocks without gaps of ${arity}^l * worth[ones in the block]
//
// Launch: one work-item an individual. It reads the genes from the left and closes a block as soon as it is full, so it
// keeps only how many symbols (`held`), ones (`ones`) and gaps (`gaps`) the open block of each level has.
${status.declaration()}
KERNEL LAUNCH_BOUNDS(${block}, 1) evaluate(const GLOBAL u32* RESTRICT planes, i32 stride, i32 first, i32 count,
    GLOBAL i64* RESTRICT keys, const GLOBAL status_t* RESTRICT status, i32 n) {
    if (status->reason != 0)
        return;
    const i64 individual = first + GLOBAL_ID;
    if (individual >= count)
        return;
    i32 held[${levels + 1}], ones[${levels + 1}], gaps[${levels + 1}];
    for (i32 level = 0; level <= ${levels}; ++level)
        held[level] = ones[level] = gaps[level] = 0;
    i64 key = ${base};
    for (i32 gene = 0; gene < n; ++gene) {
        i32 one = (i32)((planes[(i64)gene * stride + individual / 32] >> (individual & 31)) & 1u);
        i32 gap = 0;
        i64 weight = ${arity};
        for (i32 level = 1; level <= ${levels}; ++level) {
            held[level] += 1;
            ones[level] += one;
            gaps[level] += gap;
            if (held[level] < ${arity})
                break;
            if (gaps[level] == 0) {
                const i32 of_ones = ones[level];
                i32 worth = 0;
% for number in range(arity + 1):
                worth = of_ones == ${number} ? (level == ${levels} ? ${top[number]} : ${lower[number]}) : worth;
% endfor
                key += weight * worth;
            }
            one = gaps[level] == 0 && ones[level] == ${arity};
            gap = !(gaps[level] == 0 && (ones[level] == 0 || ones[level] == ${arity}));
            held[level] = ones[level] = gaps[level] = 0;
            weight *= ${arity};
        }
    }
    keys[individual] = key;
}
