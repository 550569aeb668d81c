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
// status: failed: the step that ran out of slots, best_gain: of the best complete state over the first incumbent, out_of_slots: as
// failed, by advance_tiles, gain_before: best_gain before the step. After a step has run out of slots, launches do nothing, and the
// step can be done again with more memory.
//
// A device may make only the tiles from first_tile to last_tile of the next table. Of the present one it then needs those, and
// those that the item takes there; other devices' tiles (`halo` of them) are in the slots behind its own.
${row.values()}
#define MOST_THRESHOLD (((i64)1) << ${29 if value == "i32" else 61})
#define LEAST_THRESHOLD (-MOST_THRESHOLD + (1 << 21))
${status.declaration()}
${best.declaration()}
${sources.declaration()}

FUNCTION i32 find_tile(const GLOBAL i32* slots, const GLOBAL i32* tiles, i32 count, i64 number) {
    if (number < 0)
        return -1;
    const i32 slot = slots[number];
    return slot >= 0 && slot < count && tiles[slot] == (i32)number ? slot : -1;
}

FUNCTION i64 floor_divide(i64 a, i64 b) {      // b > 0
    const i64 q = a / b;
    return q * b > a ? q - 1 : q;
}

// The tiles of the next table that may hold states: each of this one, and where the item takes its two halves.
// Launch: a work-item a tile, in strides of the whole grid.
// candidate_sources: the slots of the three tiles that a candidate is made from, or -1: its own, and the two that the item leads
// here from.
// claimed[number] == stamp: the tile is among the candidates already. rest_weights, rest_gains: prefix sums over the
// remaining items by efficiency, rest_count + 1 each.
KERNEL expand_tiles(const GLOBAL i32* RESTRICT source_tiles, const GLOBAL i32* RESTRICT source_slots,
    GLOBAL status_t* RESTRICT status, i32 step, GLOBAL i32* RESTRICT counts, GLOBAL i64* RESTRICT bases,
    GLOBAL i32* RESTRICT candidate_counts, GLOBAL u32* RESTRICT claimed, u32 stamp, GLOBAL i32* RESTRICT candidate_tiles,
    GLOBAL sources_t* RESTRICT candidate_sources, GLOBAL value_t* RESTRICT candidate_bases, GLOBAL i32* RESTRICT candidate_slopes,
    i32 most_candidates, i64 tile_shift, i64 first_tile, i64 last_tile, i32 halo, i64 capacity, i64 lambda_, i64 incumbent,
    const GLOBAL i64* RESTRICT rest_weights, const GLOBAL i64* RESTRICT rest_gains, i64 rest_first, i32 rest_count) {
    const i32 stopped = status->failed | status->out_of_slots;
    const i32 count = counts[step - 1] + halo;
    if (GLOBAL_ID == 0) {
        if (status->out_of_slots)
            status->failed = status->out_of_slots;
        else if (!status->failed) {
            bases[step] = bases[step - 1] + counts[step - 1];
            status->gain_before = status->best_gain;
        }
    }
    if (!stopped) {
        const GLOBAL i64* weights = rest_weights + rest_first;
        const GLOBAL i64* gains = rest_gains + rest_first;
        const i64 needed = incumbent + status->best_gain;
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
                    GLOBAL sources_t* sources = candidate_sources + at;
                    sources->own = find_tile(source_slots, source_tiles, count, number);
                    sources->below = find_tile(source_slots, source_tiles, count, number - tile_shift);
                    sources->lower = find_tile(source_slots, source_tiles, count, number - tile_shift - 1);
                    candidate_bases[at] = (value_t)MIN(MAX(base, LEAST_THRESHOLD), MOST_THRESHOLD);
                    candidate_slopes[at] = (i32)MIN(slope, (i64)(1 << 20));
                } else
                    status->failed = step;
            }
        }
    }
}

// The next table's tiles from the candidates. gain = profit - lambda weight; weight = tile_shift * ${tile} + offset.
// Cells up to `complete` are complete; their profit beyond the first incumbent is v + lambda c + complete_profit.
// records: of each work-item the best complete state it has seen: its gain, the cell it came from, the step, and whether the item
// was taken. Of equal ones it is the first, and in one step that from the least cell, in whatever order.
// decisions: one bit a cell, whether the item is taken there, in the order of the slots, from bases[step] on, in a ring.
${sparse_advance.kernel()}
// One step back along the decisions: from cell path[step] to path[step - 1]; choice[step - 1] is whether the item is taken.
// Launch: a work-item a tile of the step, in strides of the whole grid; the one whose tile holds the cell writes them. If
// another device has the tile, or path[step] is negative, nothing is written.
KERNEL trace_step(const GLOBAL u32* RESTRICT decisions, const GLOBAL i32* RESTRICT decision_tiles, i64 most_decisions,
    const GLOBAL i32* RESTRICT counts, const GLOBAL i64* RESTRICT bases, i32 step, i64 weight,
    GLOBAL i64* RESTRICT path, GLOBAL u8* RESTRICT choice) {
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
KERNEL index_tiles(const GLOBAL i32* RESTRICT tiles, GLOBAL i32* RESTRICT slots, i32 first, i32 count) {
    for (i64 i = GLOBAL_ID; i < count; i += GLOBAL_SIZE)
        slots[tiles[first + i]] = first + (i32)i;
}

// The slots of the tiles with numbers from `first` to `last`, or from `low` to `high`: selected_counts[place] of them, from
// selected[start] on. Launch: a work-item a tile, in strides.
KERNEL select_tiles(const GLOBAL i32* RESTRICT tiles, i32 count, i64 first, i64 last, i64 low, i64 high,
    GLOBAL i32* RESTRICT selected, i64 start, GLOBAL i32* RESTRICT selected_counts, i32 place) {
    for (i64 i = GLOBAL_ID; i < count; i += GLOBAL_SIZE) {
        const i64 number = tiles[i];
        if ((number >= first && number <= last) || (number >= low && number <= high))
            selected[start + ATOMIC_ADD_I32(selected_counts + place, 1)] = (i32)i;
    }
}

// Numbers and values of `count` selected tiles, from place `to` of the outbox on. Launch: a group a tile, in strides.
KERNEL pack_tiles(const GLOBAL i32* RESTRICT selected, i64 start, i32 count, const GLOBAL i32* RESTRICT tiles,
    const GLOBAL value_t* RESTRICT values, GLOBAL i32* RESTRICT packed_tiles, GLOBAL value_t* RESTRICT packed_values, i64 to) {
    for (i32 i = GROUP_ID; i < count; i += GROUP_COUNT) {
        const i32 slot = selected[start + i];
        if (LOCAL_ID == 0)
            packed_tiles[to + i] = tiles[slot];
        for (i32 j = LOCAL_ID; j < ${tile}; j += GROUP_SIZE)
            packed_values[(to + i) * ${tile} + j] = values[(i64)slot * ${tile} + j];
    }
}
