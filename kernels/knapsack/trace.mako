// Which items a best solution takes, walking back through groups of items whose input rows were kept.
//
// For each group, last first: redo its items on the cells that matter below the present capacity, remember for each
// whether the item was taken (strictly better with it), and follow the decisions down. Item k is taken at capacity c iff
// f_{k-1}(c - w_k) + p_k > f_{k-1}(c).
// Of a group the cells that matter are c - width * stride, ..., c - stride, c; in a group of one weight the stride is that
// weight, else 1. Items that are alike have one profit too: the fewest are taken whose value is the best, and no item needs
// a row of its own.
// Launch: one group of `block` work-items. taken: ${depth} * ${reach} bytes, for at most ${depth} items a group and widths
// below ${reach}.
// capacity[0]: where to start, then where the walk ended. choice[item]: set to 1 if taken.
${traced.declaration()}
${row.declarations()}

KERNEL LAUNCH_BOUNDS(${block}, 1) trace_items(const GLOBAL value_t* RESTRICT source, const GLOBAL traced_t* RESTRICT groups,
    i32 group_count, const GLOBAL i32* RESTRICT weights, const GLOBAL value_t* RESTRICT profits, GLOBAL u8* taken,
    GLOBAL i64* capacity, GLOBAL u8* choice) {
    DYNAMIC_LOCAL_ARRAY(value_t, values, ${2 * reach});
    LOCAL_ARRAY(i64, present, 1);
    LOCAL_ARRAY(value_t, best_value, ${block});
    LOCAL_ARRAY(i32, best_count, ${block});
    if (LOCAL_ID == 0)
        present[0] = capacity[0];
    BARRIER();
    for (i32 g = group_count - 1; g >= 0; --g) {
        const GLOBAL traced_t* group = groups + g;
        const i32 first = (i32)group->first;
        const i32 count = (i32)group->count;
        const i64 stride = group->stride;
        const i64 source_base = group->base;
        const i64 source_lo = group->lo;
        const i64 source_hi = group->hi;
        const value_t full = (value_t)group->full;
        const i32 width = (i32)group->width;
        if (group->alike) {
            const i64 c = present[0];
            const value_t profit = profits[first];
            value_t best = NEGATIVE;
            i32 best_k = 0;
            for (i32 k = LOCAL_ID; k <= count; k += ${block}) {
                const value_t value = READ(c - k * stride) + (value_t)k * profit;
                if (value > best) {
                    best = value;
                    best_k = k;
                }
            }
            best_value[LOCAL_ID] = best;
            best_count[LOCAL_ID] = best_k;
            BARRIER();
            for (i32 apart = ${block // 2}; apart > 0; apart /= 2) {
                if (LOCAL_ID < apart) {
                    const value_t other = best_value[LOCAL_ID + apart];
                    const i32 other_k = best_count[LOCAL_ID + apart];
                    if (other > best || (other == best && other_k < best_k)) {
                        best_value[LOCAL_ID] = best = other;
                        best_count[LOCAL_ID] = best_k = other_k;
                    }
                }
                BARRIER();
            }
            const i32 taken_here = best_count[0];
            for (i32 k = LOCAL_ID; k < taken_here; k += ${block})
                choice[first + k] = 1;
            BARRIER();
            if (LOCAL_ID == 0)
                present[0] = c - taken_here * stride;
            BARRIER();
        } else {
            const i64 lowest = present[0] - width * stride;
            for (i32 q = LOCAL_ID; q <= width; q += ${block}) {
                const i64 c = lowest + q * stride;
                values[q] = READ(c);
            }
            BARRIER();
            i32 valid = 0;
            for (i32 k = 0; k < count; ++k) {
                const i32 step = stride == 1 ? weights[first + k] : 1;
                const value_t profit = profits[first + k];
                LOCAL const value_t* old = values + (k & 1) * ${reach};
                LOCAL value_t* young = values + (1 - (k & 1)) * ${reach};
                valid += step;
                for (i32 q = valid + LOCAL_ID; q <= width; q += ${block}) {
                    const value_t without = old[q];
                    const value_t with = old[q - step] + profit;
                    young[q] = MAX(without, with);
                    taken[k * ${reach} + q] = with > without;
                }
                BARRIER();
            }
            if (LOCAL_ID == 0) {
                i32 q = width;
                for (i32 k = count - 1; k >= 0; --k) {
                    if (taken[k * ${reach} + q]) {
                        choice[first + k] = 1;
                        q -= stride == 1 ? weights[first + k] : 1;
                    }
                }
                present[0] = lowest + q * stride;
            }
            BARRIER();
        }
    }
    if (LOCAL_ID == 0)
        capacity[0] = present[0];
}
