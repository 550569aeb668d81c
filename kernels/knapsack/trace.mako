<%namespace name="row" file="/knapsack/row.mako"/>
// Which items a best solution takes, walking back through groups of items whose input rows were kept.
//
// For each group, last first: redo its items on the cells that matter below the present capacity, remember for each
// whether the item was taken (strictly better with it), and follow the decisions down. Item k is taken at capacity c iff
// f_{k-1}(c - w_k) + p_k > f_{k-1}(c).
// groups holds 8 numbers a group: first item, count, stride, base, lo, hi, full, width. The cells that matter are
// c - width * stride, ..., c - stride, c; in a group of one weight the stride is that weight, else 1.
// Launch: one group of `block` work-items. taken: ${depth} * ${reach} bytes, for at most ${depth} items a group and widths
// below ${reach}.
// capacity[0]: where to start, then where the walk ended. choice[item]: set to 1 if taken.
${row.declarations()}

KERNEL LAUNCH_BOUNDS(${block}, 1) trace_items(const GLOBAL value_t* RESTRICT source,
    const GLOBAL i64* RESTRICT groups, i32 group_count,
    const GLOBAL i32* RESTRICT weights, const GLOBAL value_t* RESTRICT profits,
    GLOBAL u8* taken, GLOBAL i64* capacity, GLOBAL u8* choice)
{
    DYNAMIC_LOCAL_ARRAY(value_t, values, ${2 * reach});
    LOCAL_ARRAY(i64, present, 1);
    if (LOCAL_ID == 0)
        present[0] = capacity[0];
    BARRIER();
    for (i32 g = group_count - 1; g >= 0; --g) {
        const GLOBAL i64* about = groups + 8 * (i64)g;
        const i32 first = (i32)about[0];
        const i32 count = (i32)about[1];
        const i64 stride = about[2];
        const i64 source_base = about[3];
        const i64 source_lo = about[4];
        const i64 source_hi = about[5];
        const value_t full = (value_t)about[6];
        const i32 width = (i32)about[7];
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
    if (LOCAL_ID == 0)
        capacity[0] = present[0];
}
