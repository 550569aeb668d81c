// The block-sparse table: exact weights, in tiles of ${tile} capacities that exist only where a state can still win
//
// After k items, cell c of the table holds v(c) = (greatest profit of a subset of weight exactly c) - lambda c, or NEGATIVE.
// Item k with weight w and gain d = profit - lambda w:    v(c) = max(v(c), v(c - w) + d)
// A state is dropped when its bound does not exceed the incumbent: with r = capacity - c, and D(r) the linear relaxation of
// the items still to come, in gains, it is dropped if v + floor(D(r)) <= incumbent - lambda capacity. D is concave, so
// a tangent bounds it on a whole tile: threshold(j) = base + (slope * j >> ${slope_bits}) for cell j of the tile.
// A state that all remaining items fit on top of is complete: its profit is exact, it is recorded, and dropped.
// A tile is kept if one of its states is.
//
// Tiles of the table lie in slots; tiles[slot] is a tile's number. slots[number] is its slot, and valid if it is below the
// count of tiles and tiles[slot] is that number again: so nothing has to be cleared between steps. One step takes two launches,
// expand_tiles and advance_tiles, from one pair of tables to the other.
//
// status: 0: the step that ran out of slots, 1: gain of the best complete state over the first incumbent, 2: as 0, by
// advance_tiles, 3: status 1 before the step. After a step has run out of slots, launches do nothing, and the step can be done
// again with more memory.
//
// A device may make only the tiles from first_tile to last_tile of the next table. Of the present one it then needs those, and
// those that the item takes there; other devices' tiles (`halo` of them) are in the slots behind its own.
typedef ${value} value_t;
% if lanes > 1:
typedef ${vector} cells_t;
typedef ${vector} unaligned_cells_t __attribute__((aligned(${4 if value == "i32" else 8})));
#define LOAD(space, pointer) (*(const space unaligned_cells_t*)(pointer))
#define STORE(space, pointer, cells) (*(space unaligned_cells_t*)(pointer) = (cells))
% endif
<% top = 30 if value == "i32" else 62 %>
#define NEGATIVE (-(((value_t)1) << ${top}))
#define LEAST_THRESHOLD (-(((i64)1) << ${top - 1}) + (1 << 21))
#define MOST_THRESHOLD (((i64)1) << ${top - 1})
#define FAILED status[0]
#define BEST_GAIN status[1]
#define OUT_OF_SLOTS status[2]
#define GAIN_BEFORE status[3]

FUNCTION i32 find_tile(const GLOBAL i32* slots, const GLOBAL i32* tiles, i32 count, i64 number)
{
    if (number < 0)
        return -1;
    const i32 slot = slots[number];
    return slot >= 0 && slot < count && tiles[slot] == (i32)number ? slot : -1;
}

FUNCTION i64 floor_divide(i64 a, i64 b)      // b > 0
{
    const i64 q = a / b;
    return q * b > a ? q - 1 : q;
}

// The tiles of the next table that may hold states: each of this one, and where the item takes its two halves.
// Launch: a work-item a tile, in strides of the whole grid.
// candidate_sources: the slots of the three tiles that a candidate is made from, or -1.
// claimed[number] == stamp: the tile is among the candidates already. rest_weights, rest_gains: prefix sums over the
// remaining items by efficiency, rest_count + 1 each.
KERNEL expand_tiles(const GLOBAL i32* RESTRICT source_tiles, const GLOBAL i32* RESTRICT source_slots,
    GLOBAL i32* RESTRICT status, i32 step, GLOBAL i32* RESTRICT counts, GLOBAL i64* RESTRICT bases,
    GLOBAL i32* RESTRICT candidate_counts, GLOBAL u32* RESTRICT claimed, u32 stamp, GLOBAL i32* RESTRICT candidate_tiles,
    GLOBAL i32* RESTRICT candidate_sources, GLOBAL value_t* RESTRICT candidate_bases, GLOBAL i32* RESTRICT candidate_slopes,
    i32 most_candidates, i64 tile_shift, i64 first_tile, i64 last_tile, i32 halo, i64 capacity, i64 lambda_, i64 incumbent,
    const GLOBAL i64* RESTRICT rest_weights, const GLOBAL i64* RESTRICT rest_gains, i64 rest_first, i32 rest_count)
{
    const i32 stopped = FAILED | OUT_OF_SLOTS;
    const i32 count = counts[step - 1] + halo;
    if (GLOBAL_ID == 0) {
        if (OUT_OF_SLOTS)
            FAILED = OUT_OF_SLOTS;
        else if (!FAILED) {
            bases[step] = bases[step - 1] + counts[step - 1];
            GAIN_BEFORE = BEST_GAIN;
        }
    }
    if (!stopped) {
        const GLOBAL i64* weights = rest_weights + rest_first;
        const GLOBAL i64* gains = rest_gains + rest_first;
        const i64 needed = incumbent + BEST_GAIN;
        for (i64 i = GLOBAL_ID; i < (i64)count * 3; i += GLOBAL_SIZE) {
            const i32 which = (i32)(i / count);
            const i64 number = source_tiles[i - (i64)which * count] + (which == 0 ? 0 : tile_shift + which - 1);
            if (number >= first_tile && number <= last_tile && ATOMIC_SWAP_U32(claimed + number, stamp) != stamp) {
                const i64 residual = capacity - number * ${tile};
                i32 low = 0;
                i32 high = rest_count;
                while (low < high) {        // the last prefix that fits
                    const i32 middle = (low + high + 1) / 2;
                    if (weights[middle] <= residual)
                        low = middle;
                    else
                        high = middle - 1;
                }
                i64 bound = gains[low];
                i64 slope = -lambda_ * ${1 << slope_bits};
                if (low < rest_count) {
                    const i64 weight = weights[low + 1] - weights[low];
                    const i64 gain = gains[low + 1] - gains[low];
                    bound += floor_divide((residual - weights[low]) * gain, weight);
                    slope = floor_divide(gain * ${1 << slope_bits}, weight);
                } else
                    bound -= lambda_ * (residual - weights[low]);
                i64 base = needed - bound;
                if (slope < -(1 << 20)) {
                    base += slope;          // below the tangent's least value on the tile
                    slope = 0;
                }
                const i32 at = ATOMIC_ADD_I32(candidate_counts + step, 1);
                if (at < most_candidates) {
                    candidate_tiles[at] = (i32)number;
                    GLOBAL i32* sources = candidate_sources + 3 * (i64)at;
                    sources[0] = find_tile(source_slots, source_tiles, count, number);
                    sources[1] = find_tile(source_slots, source_tiles, count, number - tile_shift);
                    sources[2] = find_tile(source_slots, source_tiles, count, number - tile_shift - 1);
                    candidate_bases[at] = (value_t)MIN(MAX(base, LEAST_THRESHOLD), MOST_THRESHOLD);
                    candidate_slopes[at] = (i32)MIN(slope, (i64)(1 << 20));
                } else
                    FAILED = step;
            }
        }
    }
}

<%def name="arguments()">
    const GLOBAL value_t* RESTRICT source_values, const GLOBAL i32* RESTRICT candidate_sources,
    GLOBAL value_t* RESTRICT target_values, GLOBAL i32* RESTRICT target_tiles,
    GLOBAL i32* RESTRICT target_slots, i32 most_slots, GLOBAL i32* RESTRICT status, i32 step, GLOBAL i32* RESTRICT counts,
    const GLOBAL i64* RESTRICT bases, const GLOBAL i32* RESTRICT candidate_counts,
    const GLOBAL i32* RESTRICT candidate_tiles, const GLOBAL value_t* RESTRICT candidate_bases,
    const GLOBAL i32* RESTRICT candidate_slopes, i64 tile_shift, i32 offset, value_t gain, i64 capacity,
    i64 complete, i64 lambda_, i64 complete_profit, GLOBAL u32* RESTRICT decisions, GLOBAL i32* RESTRICT decision_tiles,
    i64 most_decisions, i32 decisions_wrap, GLOBAL i64* RESTRICT records</%def>
<%def name="record(state, cell, taken)">
                const i64 profit = ${state} + lambda_ * ${cell} + complete_profit;
                if (profit > record[0] || (profit == record[0] && record[2] == step)) {
                    const i64 from = ${taken} ? ${cell} - tile_shift * ${tile} - offset : ${cell};
                    if (profit > record[0] || from < record[1]) {
                        record[0] = profit;
                        record[1] = from;
                        record[2] = step;
                        record[3] = ${taken};
                    }
                    ATOMIC_MAX_I32(status + 1, (i32)MIN(profit, (i64)0x7fffffff));
                }
</%def>
<%def name="take_slot()">
            slot = ATOMIC_ADD_I32(counts + step, 1);
            const i64 position = bases[step] + slot;
            if (slot >= most_slots || (position >= most_decisions && !decisions_wrap)) {
                OUT_OF_SLOTS = step;
                slot = -1;
            } else {
                target_tiles[slot] = (i32)number;
                target_slots[number] = slot;
                decision_tiles[position % most_decisions] = (i32)number;
            }
</%def>
// The next table's tiles from the candidates. gain = profit - lambda weight; weight = tile_shift * ${tile} + offset.
// Cells up to `complete` are complete; their profit beyond the first incumbent is v + lambda c + complete_profit.
// records: 4 numbers a work-item, of the best complete state it has seen: profit, the cell it came from, step, and
// whether the item was taken. Of equal ones it is the first, and in one step that from the least cell, in whatever order.
// decisions: one bit a cell, whether the item is taken there, in the order of the slots, from bases[step] on, in a ring.
% if lanes == 1:
// Launch: ${block} work-items a group, each with ${tile // block} cells of a candidate; groups take candidates in strides.
KERNEL LAUNCH_BOUNDS(${block}, 1) advance_tiles(${arguments()})
{
    LOCAL_ARRAY(i32, shared, 2);
    LOCAL_ARRAY(u32, flags, ${tile // 4});
    LOCAL u8* flag = (LOCAL u8*)flags;
    const i32 me = LOCAL_ID;
    GLOBAL i64* record = records + 4 * GLOBAL_ID;
    const i32 todo = FAILED ? 0 : candidate_counts[step];
    for (i32 i = GROUP_ID; i < todo; i += GROUP_COUNT) {
        if (me == 0)
            shared[0] = 0;
        BARRIER();
        const i64 number = candidate_tiles[i];
        const value_t base = candidate_bases[i];
        const i32 slope = candidate_slopes[i];
        const i64 first = number * ${tile};
        const i32 own = candidate_sources[3 * (i64)i];
        const i32 below = candidate_sources[3 * (i64)i + 1];
        const i32 lower = candidate_sources[3 * (i64)i + 2];
        const GLOBAL value_t* without = source_values + (i64)own * ${tile};
        const GLOBAL value_t* with_below = source_values + ((i64)below * ${tile} - offset);
        const GLOBAL value_t* with_lower = source_values + ((i64)lower * ${tile} + ${tile} - offset);
        const i32 plain = first > complete && first + ${tile - 1} <= capacity;
        value_t v[${tile // block}];
        i32 any = 0;
% for m in range(tile // block):
        {
            const i32 j = me + ${m * block};
            const value_t old = own >= 0 ? without[j] : NEGATIVE;
            value_t taken = NEGATIVE;
            if (j >= offset) {
                if (below >= 0)
                    taken = with_below[j] + gain;
            } else if (lower >= 0)
                taken = with_lower[j] + gain;
            const i32 with = taken > old;
            flag[j] = with;
            value_t state = MAX(old, taken);
            if (state <= base + ((slope * j) >> ${slope_bits}))
                state = NEGATIVE;
            if (!plain && state != NEGATIVE) {
                const i64 c = first + j;
                if (c <= complete) {
${record("state", "c", "with")}
                    state = NEGATIVE;
                } else if (c > capacity)
                    state = NEGATIVE;
            }
            any |= state != NEGATIVE;
            v[${m}] = state;
        }
% endfor
        if (any)
            shared[0] = 1;
        BARRIER();
        if (me == 0) {
            i32 slot = -1;
            if (shared[0]) {
${take_slot()}
            }
            shared[1] = slot;
        }
        BARRIER();
        const i32 slot = shared[1];
        if (slot >= 0) {
            GLOBAL value_t* to = target_values + ((i64)slot * ${tile} + me);
% for m in range(tile // block):
            to[${m * block}] = v[${m}];
% endfor
            if (me < ${tile // 32}) {
                u32 word = 0;
                for (i32 k = 0; k < 8; ++k)     // four flags of one bit in four bytes to four neighbouring bits
                    word |= ((flags[8 * me + k] * 0x10204080u) >> 28) << (4 * k);
                decisions[(bases[step] + slot) % most_decisions * ${tile // 32} + me] = word;
            }
        }
    }
}
% else:
// Launch: groups of one work-item, which walk a candidate in vectors of ${lanes} cells and take candidates in strides.
KERNEL LAUNCH_BOUNDS(1, 1) advance_tiles(${arguments()})
{
    LOCAL_ARRAY(value_t, taken, ${tile + lanes});
    LOCAL_ARRAY(value_t, result, ${tile + lanes});
    LOCAL_ARRAY(u32, words, ${tile // 32});
    GLOBAL i64* record = records + 4 * GLOBAL_ID;
    const i32 todo = FAILED ? 0 : candidate_counts[step];
    const cells_t lane = {${", ".join(map(str, range(lanes)))}};
    const cells_t bit = ((cells_t)1) << lane;
    for (i32 i = GROUP_ID; i < todo; i += GROUP_COUNT) {
        const i64 number = candidate_tiles[i];
        const value_t base = candidate_bases[i];
        const value_t slope = candidate_slopes[i];
        const i64 first = number * ${tile};
        const i32 own = candidate_sources[3 * (i64)i];
        const i32 below = candidate_sources[3 * (i64)i + 1];
        const i32 lower = candidate_sources[3 * (i64)i + 2];
        if (lower >= 0) {
            const GLOBAL value_t* from = source_values + ((i64)lower * ${tile} + ${tile} - offset);
            for (i32 j = 0; j < offset; ++j)
                taken[j] = from[j] + gain;
        } else
            for (i32 j = 0; j < offset; ++j)
                taken[j] = NEGATIVE;
        if (below >= 0) {
            const GLOBAL value_t* from = source_values + (i64)below * ${tile};
            for (i32 j = 0; j < ${tile} - offset; ++j)
                taken[offset + j] = from[j] + gain;
        } else
            for (i32 j = offset; j < ${tile}; ++j)
                taken[j] = NEGATIVE;
        const GLOBAL value_t* without = source_values + (i64)MAX(own, 0) * ${tile};
        cells_t any = (cells_t)0;
        for (i32 w = 0; w < ${tile // 32}; ++w) {
            cells_t bits = (cells_t)0;
% for k in range(32 // lanes):
            {
                const i32 j = 32 * w + ${k * lanes};
                const cells_t old = own >= 0 ? LOAD(GLOBAL, without + j) : (cells_t)NEGATIVE;
                const cells_t with = LOAD(LOCAL, taken + j);
                bits |= (with > old) & (bit << ${k * lanes});
                const cells_t threshold = base + ((slope * (lane + (value_t)j)) >> ${slope_bits});
                const cells_t state = MAX(old, with);
                const cells_t kept = state > threshold;
                STORE(LOCAL, result + j, kept ? state : (cells_t)NEGATIVE);
                any |= kept;
            }
% endfor
            u32 word = 0;
% for l in range(lanes):
            word |= (u32)bits.s${"0123456789abcdef"[l]};
% endfor
            words[w] = word;
        }
        i32 alive = ${" | ".join(f"(any.s{'0123456789abcdef'[l]} != 0)" for l in range(lanes))};
        if (alive && (first <= complete || first + ${tile - 1} > capacity)) {
            alive = 0;
            for (i32 j = 0; j < ${tile}; ++j) {
                const i64 c = first + j;
                const value_t state = result[j];
                if (state != NEGATIVE && c <= complete) {
                    const i32 with = (i32)((words[j / 32] >> (j % 32)) & 1u);
${record("state", "c", "with")}
                }
                if (c <= complete || c > capacity)
                    result[j] = NEGATIVE;
                alive |= result[j] != NEGATIVE;
            }
        }
        if (alive) {
            i32 slot;
${take_slot()}
            if (slot >= 0) {
                GLOBAL value_t* to = target_values + (i64)slot * ${tile};
                for (i32 j = 0; j < ${tile}; ++j)
                    to[j] = result[j];
                GLOBAL u32* bits_to = decisions + (bases[step] + slot) % most_decisions * ${tile // 32};
                for (i32 w = 0; w < ${tile // 32}; ++w)
                    bits_to[w] = words[w];
            }
        }
    }
}
% endif

// One step back along the decisions: from cell path[step] to path[step - 1]; choice[step - 1] is whether the item is taken.
// Launch: a work-item a tile of the step, in strides of the whole grid; the one whose tile holds the cell writes them. If
// another device has the tile, or path[step] is negative, nothing is written.
KERNEL trace_step(const GLOBAL u32* RESTRICT decisions, const GLOBAL i32* RESTRICT decision_tiles, i64 most_decisions,
    const GLOBAL i32* RESTRICT counts, const GLOBAL i64* RESTRICT bases, i32 step, i64 weight,
    GLOBAL i64* RESTRICT path, GLOBAL u8* RESTRICT choice)
{
    const i64 c = path[step];
    const i64 number = c / ${tile};
    const i32 j = (i32)(c - number * ${tile});
    const i32 count = c < 0 ? 0 : counts[step];
    const i64 base = bases[step];
    for (i64 i = GLOBAL_ID; i < count; i += GLOBAL_SIZE) {
        const i64 position = (base + i) % most_decisions;
        if (decision_tiles[position] == (i32)number) {
            const i32 taken = (i32)((decisions[position * ${tile // 32} + j / 32] >> (j % 32)) & 1u);
            choice[step - 1] = (u8)taken;
            path[step - 1] = c - (taken ? weight : 0);
        }
    }
}

// What other devices need of this one's tiles, and where theirs are found here.

// slots[number] of `count` tiles that were copied into the slots from `first` on. Launch: a work-item a tile, in strides.
KERNEL index_tiles(const GLOBAL i32* RESTRICT tiles, GLOBAL i32* RESTRICT slots, i32 first, i32 count)
{
    for (i64 i = GLOBAL_ID; i < count; i += GLOBAL_SIZE)
        slots[tiles[first + i]] = first + (i32)i;
}

// The slots of the tiles with numbers from `first` to `last`, or from `low` to `high`: selected_counts[place] of them, from
// selected[start] on. Launch: a work-item a tile, in strides.
KERNEL select_tiles(const GLOBAL i32* RESTRICT tiles, i32 count, i64 first, i64 last, i64 low, i64 high,
    GLOBAL i32* RESTRICT selected, i64 start, GLOBAL i32* RESTRICT selected_counts, i32 place)
{
    for (i64 i = GLOBAL_ID; i < count; i += GLOBAL_SIZE) {
        const i64 number = tiles[i];
        if ((number >= first && number <= last) || (number >= low && number <= high))
            selected[start + ATOMIC_ADD_I32(selected_counts + place, 1)] = (i32)i;
    }
}

// Numbers and values of `count` selected tiles, from place `to` of the outbox on. Launch: a group a tile, in strides.
KERNEL pack_tiles(const GLOBAL i32* RESTRICT selected, i64 start, i32 count, const GLOBAL i32* RESTRICT tiles,
    const GLOBAL value_t* RESTRICT values, GLOBAL i32* RESTRICT packed_tiles, GLOBAL value_t* RESTRICT packed_values, i64 to)
{
    for (i32 i = GROUP_ID; i < count; i += GROUP_COUNT) {
        const i32 slot = selected[start + i];
        if (LOCAL_ID == 0)
            packed_tiles[to + i] = tiles[slot];
        for (i32 j = LOCAL_ID; j < ${tile}; j += GROUP_SIZE)
            packed_values[(to + i) * ${tile} + j] = values[(i64)slot * ${tile} + j];
    }
}
