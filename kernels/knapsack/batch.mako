// Many small knapsacks: one work-group solves a whole instance, bounds, dynamic program and items
//
// 1. Items are ranked by efficiency (exact cross products). Items before the break item b are the break solution.
// 2. The incumbent is the better of the greedy solution and of the best exchange of one item before b for one from b on.
// 3. With Dantzig's bound U = P_b + r p_b / w_b and the reduced profits g_j = w_b p_j - p_b w_j, item j is decided if
//    w_b U - |g_j| < w_b (incumbent + 1): after Dembo and Hammer.
// 4. Open items go by descending weight:  f_k(c) = max(f_{k-1}(c), f_{k-1}(c - w_k) + p_k)  for
//    max(0, capacity - later weights) <= c <= min(capacity, weights so far); f_k(c) = (all profits so far) for greater c.
//    One bit a cell says whether item k is taken there; the items are found by walking back.
//
// Launch: groups of ${block} work-items take instances from a queue (`next`), in `first` .. `end` - 1.
// starts[i]: the first item of instance i (weights at most the capacity, profits positive); at most ${items} each.
// rows: ${"2 rows" if lanes == 1 else "1 row"} of row_cells values a group, and bits: bit_words words a group, for the dynamic
// program. Results: chosen[item] is 1 if the item is taken; answers: profit, open items, cells of each instance.
${answer.declaration()}
${row.values()}
enum { INSTANCE, BREAK_ITEM, RESIDUAL, BREAK_PROFIT, GREEDY_PROFIT, TAKEN_PROFIT, OPEN_COUNT, LEFT, SHARED };    // in `shared`
#define NEAR 64     // how far from the break item exchanges look
KERNEL LAUNCH_BOUNDS(${block}, ${groups_per_unit}) solve_batch(GLOBAL i32* next, i32 first, i32 end,
    const GLOBAL i32* RESTRICT starts, const GLOBAL i32* RESTRICT weights, const GLOBAL i32* RESTRICT profits,
    const GLOBAL i32* RESTRICT capacities, GLOBAL value_t* rows, i64 row_cells, GLOBAL u32* bit_space, i64 bit_words,
    GLOBAL u8* RESTRICT chosen, GLOBAL answer_t* RESTRICT answers) {
% if lanes == 1:
    DYNAMIC_LOCAL_ARRAY(value_t, local_rows, ${2 * local_cells});
% endif
    LOCAL_ARRAY(i32, item_of, ${items});                // by rank of efficiency: the item, its weight, its profit
    LOCAL_ARRAY(i32, sorted_weights, ${items});
    LOCAL_ARRAY(i32, sorted_profits, ${items});
    LOCAL_ARRAY(i32, decided, ${items});                // 0: left, 1: taken, 2: open; later whether it is in the solution
    LOCAL_ARRAY(i32, weights_by_weight, ${items});      // of open items, and their ranks of efficiency
    LOCAL_ARRAY(i32, profits_by_weight, ${items});
    LOCAL_ARRAY(i32, rank_by_weight, ${items});
    LOCAL_ARRAY(i32, low, ${items});
    LOCAL_ARRAY(i32, high, ${items});
    LOCAL_ARRAY(i32, offsets, ${items});
    LOCAL_ARRAY(i64, found, ${block});
    LOCAL_ARRAY(i32, shared, SHARED);
    const i32 me = LOCAL_ID;
    GLOBAL value_t* row = rows + (i64)GROUP_ID * ${2 if lanes == 1 else 1} * row_cells;
    GLOBAL u32* bits = bit_space + (i64)GROUP_ID * bit_words;
% if lanes > 1:
    const cells_t lane_bit = ((cells_t)1) << (cells_t){${", ".join(map(str, range(lanes)))}};
% endif
    for (;;) {
        if (me == 0)
            shared[INSTANCE] = first + ATOMIC_ADD_I32(next, 1);
        BARRIER();
        const i32 instance = shared[INSTANCE];
        if (instance >= end)
            break;
        const i32 start = starts[instance];
        const i32 n = starts[instance + 1] - start;
        const i32 capacity = capacities[instance];
        const GLOBAL i32* w = weights + start;
        const GLOBAL i32* p = profits + start;

${rank_items()}
        if (me == 0) {      // the break solution, and the greedy one
            i32 b = 0;
            i32 residual = capacity;
            i32 profit = 0;
            while (b < n && sorted_weights[b] <= residual) {
                residual -= sorted_weights[b];
                profit += sorted_profits[b];
                ++b;
            }
            shared[BREAK_ITEM] = b;
            shared[RESIDUAL] = residual;
            shared[BREAK_PROFIT] = profit;
            i32 room = residual;
            for (i32 j = b; j < n; ++j)
                if (sorted_weights[j] <= room) {
                    room -= sorted_weights[j];
                    profit += sorted_profits[j];
                }
            shared[GREEDY_PROFIT] = profit;
        }
        BARRIER();
        const i32 b = shared[BREAK_ITEM];
        const i32 residual = shared[RESIDUAL];
        const i32 break_profit = shared[BREAK_PROFIT];

${find_exchange()}
        const i32 greedy_profit = shared[GREEDY_PROFIT];
        const i32 by_exchange = (i32)(exchange >> 32) > greedy_profit;
        const i32 incumbent = by_exchange ? (i32)(exchange >> 32) : greedy_profit;
        // Items that Dantzig's bound decides.
        const i64 break_weight = b < n ? sorted_weights[b] : 1;
        const i64 break_efficiency = b < n ? sorted_profits[b] : 0;
        const i64 slack = break_weight * (break_profit - (i64)incumbent - 1) + break_efficiency * residual;
        for (i32 j = me; j < n; j += ${block}) {
            const i64 gain = break_weight * sorted_profits[j] - break_efficiency * sorted_weights[j];
            decided[j] = slack < 0 || slack - (j < b ? gain : -gain) < 0 ? j < b : 2;
        }
        BARRIER();
        if (me == 0) {
            i32 left = capacity;
            i32 taken_profit = 0, open_count = 0;
            for (i32 j = 0; j < n; ++j) {
                if (decided[j] == 1) {
                    left -= sorted_weights[j];
                    taken_profit += sorted_profits[j];
                } else if (decided[j] == 2)
                    offsets[open_count++] = j;
            }
            shared[LEFT] = left;
            shared[TAKEN_PROFIT] = taken_profit;
            shared[OPEN_COUNT] = left < 0 ? 0 : open_count;
        }
        BARRIER();
        const i32 open_count = shared[OPEN_COUNT];
        const i32 taken_profit = shared[TAKEN_PROFIT];
        for (i32 j = me; j < open_count; j += ${block}) {
            const i32 mine = offsets[j];
            i32 rank = 0;
            for (i32 i = 0; i < open_count; ++i) {
                const i32 other = sorted_weights[offsets[i]];
                rank += other > sorted_weights[mine] || (other == sorted_weights[mine] && i < j);
            }
            weights_by_weight[rank] = sorted_weights[mine];
            profits_by_weight[rank] = sorted_profits[mine];
            rank_by_weight[rank] = mine;
        }
        BARRIER();
        i64 cells = 0;
        i32 best = -1;
        if (open_count > 0) {
            i32 open_weight = 0;
            for (i32 k = 0; k < open_count; ++k)
                open_weight += weights_by_weight[k];
            const i32 left = MIN(shared[LEFT], open_weight);
% if lanes == 1:
            if (left < ${local_cells}) {
${forward("local_rows")}
            } else {
${forward("row")}
            }
% else:
${fill_row()}
% endif
            BARRIER();
            if (me == 0)
                shared[LEFT] = left;
        }
        BARRIER();
        const i32 better = open_count > 0 && taken_profit + best > incumbent;
${find_items()}
        BARRIER();
        for (i32 j = me; j < n; j += ${block})
            chosen[start + item_of[j]] = (u8)decided[j];
        BARRIER();
    }
}
<%def name="reach_of_item()">
                const i32 weight = weights_by_weight[k];
                const value_t profit = profits_by_weight[k];
                const i32 before = reach;
                later -= weight;
                reach = MIN(left, before + weight);
                const i32 lo = MAX(0, left - later);
</%def>
<%def name="forward(rows)">
            i64 offset = 0;
            i32 later = open_weight;
            i32 reach = 0;
            value_t full = 0;
            if (me == 0)
                ${rows}[0] = 0;
            BARRIER();
            for (i32 k = 0; k < open_count; ++k) {
${reach_of_item()}
                const i64 from = (i64)(k & 1) * ${"row_cells" if rows == "row" else local_cells};
                const i64 to = (i64)(1 - (k & 1)) * ${"row_cells" if rows == "row" else local_cells};
                GLOBAL u32* words = bits + offset + me;
                if (me == 0) {
                    low[k] = lo;
                    high[k] = reach;
                    offsets[k] = (i32)offset;
                }
                for (i32 base = lo; base <= reach; base += ${32 * block}) {
                    u32 word = 0;
                    i32 c = base + me;
                    if (base >= weight && base + ${32 * block - 1} <= before) {
                        for (i32 j = 0; j < 32; j += 8) {
% for u in range(8):
                            const value_t without${u} = ${rows}[from + c + ${u * block}];
                            const value_t with${u} = ${rows}[from + c - weight + ${u * block}] + profit;
% endfor
% for u in range(8):
                            word |= (u32)(with${u} > without${u}) << (j + ${u});
                            ${rows}[to + c + ${u * block}] = MAX(without${u}, with${u});
% endfor
                            c += ${8 * block};
                        }
                    } else
                        for (i32 j = 0; j < 32 && c <= reach; ++j) {
                            const value_t without = c > before ? full : ${rows}[from + c];
                            const i32 below = c - weight;
                            value_t with = NEGATIVE;
                            if (below > before)
                                with = full + profit;
                            else if (below >= 0)
                                with = ${rows}[from + below] + profit;
                            word |= (u32)(with > without) << j;
                            ${rows}[to + c] = MAX(without, with);
                            c += ${block};
                        }
                    words[(base - lo) / 32] = word;
                }
                offset += (i64)((reach - lo) / ${32 * block} + 1) * ${block};
                cells += reach - lo + 1;
                full += profit;
                BARRIER();
            }
            best = ${rows}[(i64)(open_count & 1) * ${"row_cells" if rows == "row" else local_cells} + left];
</%def>

<%def name="rank_items()">
        for (i32 j = me; j < n; j += ${block}) {
            const i64 weight = w[j];
            const i64 profit = p[j];
            i32 rank = 0;
            for (i32 i = 0; i < n; ++i) {
                const i64 mine = profit * w[i];
                const i64 other = p[i] * weight;
                rank += other > mine || (other == mine && (w[i] < weight || (w[i] == weight && i < j)));
            }
            item_of[rank] = j;
            sorted_weights[rank] = (i32)weight;
            sorted_profits[rank] = (i32)profit;
        }
        BARRIER();

</%def>
<%def name="fill_row()">
            GLOBAL value_t* f = row + 64;       // what lies below holds no state
            i64 offset = 0;
            i32 later = open_weight;
            i32 reach = 0;
            value_t full = 0;
            for (i32 c = -64; c < 0; ++c)
                f[c] = NEGATIVE;
            for (i32 c = 0; c < 32; ++c)
                f[c] = 0;
            for (i32 k = 0; k < open_count; ++k) {
${reach_of_item()}
                for (i32 c = before + 1; c < (reach / 32 + 1) * 32; ++c)
                    f[c] = full;
                low[k] = lo / 32;
                high[k] = reach;
                offsets[k] = (i32)offset;
                GLOBAL u32* words = bits + offset - lo / 32;
                const i32 least = MAX(lo, weight) / 32;
                for (i32 q = lo / 32; q < least && q <= reach / 32; ++q)
                    words[q] = 0;
                for (i32 q = reach / 32; q >= least; --q) {     // downwards, in place
                    cells_t taken = (cells_t)0;
% for u in reversed(range(32 // lanes)):
                    {
                        GLOBAL value_t* at = f + (32 * q + ${u * lanes});
                        const cells_t without = LOAD(GLOBAL, at);
                        const cells_t with = LOAD(GLOBAL, at - weight) + profit;
                        taken |= (with > without) & (lane_bit << ${u * lanes});
                        STORE(GLOBAL, at, MAX(without, with));
                    }
% endfor
                    u32 word = 0;
% for l in range(lanes):
                    word |= (u32)taken.s${"0123456789abcdef"[l]};
% endfor
                    words[q] = word;
                }
                offset += reach / 32 - lo / 32 + 1;
                cells += reach - lo + 1;
                full += profit;
            }
            best = f[left];
</%def>
<%def name="find_items()">
        if (me == 0) {
            if (better) {
                i32 c = shared[LEFT];
                for (i32 k = open_count - 1; k >= 0; --k) {
                    c = MIN(c, high[k]);
% if lanes == 1:
                    const i32 d = c - low[k];
                    const u32 word = bits[offsets[k] + d / ${32 * block} * ${block} + d % ${block}];
                    const i32 take = (i32)((word >> (d % ${32 * block} / ${block})) & 1u);
% else:
                    const u32 word = bits[offsets[k] + c / 32 - low[k]];
                    const i32 take = (i32)((word >> (c % 32)) & 1u);
% endif
                    decided[rank_by_weight[k]] = take;
                    if (take)
                        c -= weights_by_weight[k];
                }
            } else {
                i32 room = residual;
                for (i32 j = 0; j < n; ++j) {
                    i32 take = j < b;
                    if (!by_exchange && j >= b && sorted_weights[j] <= room) {
                        room -= sorted_weights[j];
                        take = 1;
                    }
                    decided[j] = take;
                }
                if (by_exchange) {
                    const i32 out = (i32)((exchange >> 16) & 0xffff) - 1;
                    const i32 in = (i32)(exchange & 0xffff) - 1;
                    if (out >= 0)
                        decided[out] = 0;
                    if (in >= 0)
                        decided[in] = 1;
                }
            }
            answers[instance].profit = better ? taken_profit + best : incumbent;
            answers[instance].open_items = open_count;
            answers[instance].cells = cells;
        }
</%def>
<%def name="find_exchange()">
        // The best exchange: key = profit, item out + 1, item in + 1; rank -1 is no item.
        i64 key = (i64)break_profit << 32;
        const i32 out_first = MAX(b - NEAR, 0);
        const i32 in_count = MIN(b + NEAR, n) - b;
        for (i32 pair = me; pair < (b - out_first + 1) * in_count; pair += ${block}) {
            const i32 out = out_first + pair / in_count - 1;
            const i32 in = b + pair % in_count;
            const i32 is_out = out >= out_first;
            const i32 weight = sorted_weights[in] - (is_out ? sorted_weights[out] : 0);
            const i32 profit = break_profit + sorted_profits[in] - (is_out ? sorted_profits[out] : 0);
            const i64 candidate = ((i64)profit << 32) | ((is_out ? out + 1 : 0) << 16) | (in + 1);
            if (weight <= residual && candidate > key)
                key = candidate;
        }
        ${reduce.group_reduce("found", "i64", block, [("key", "max")])}
        const i64 exchange = key;
</%def>
