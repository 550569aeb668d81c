<%doc>
The kernel of the sparse table that makes the next table's tiles from the candidates: see sparse.mako. On devices with lock-step
lanes a group makes a tile, elsewhere a work-item does, in vectors.
</%doc>
<%def name="kernel()">
% if lanes == 1:
${lanes_kernel()}
% else:
${vector_kernel()}
% endif
</%def>
<%def name="arguments()">
    const GLOBAL value_t* RESTRICT source_values, const GLOBAL sources_t* RESTRICT candidate_sources,
    GLOBAL value_t* RESTRICT target_values, GLOBAL i32* RESTRICT target_tiles,
    GLOBAL i32* RESTRICT target_slots, i32 most_slots, GLOBAL status_t* RESTRICT status, i32 step, GLOBAL i32* RESTRICT counts,
    const GLOBAL i64* RESTRICT bases, const GLOBAL i32* RESTRICT candidate_counts,
    const GLOBAL i32* RESTRICT candidate_tiles, const GLOBAL value_t* RESTRICT candidate_bases,
    const GLOBAL i32* RESTRICT candidate_slopes, i64 tile_shift, i32 offset, value_t gain, i64 capacity,
    i64 complete, i64 lambda_, i64 complete_profit, GLOBAL u32* RESTRICT decisions, GLOBAL i32* RESTRICT decision_tiles,
    i64 most_decisions, i32 decisions_wrap, GLOBAL best_t* RESTRICT records</%def>
<%def name="record(state, cell, taken)">
                const i64 profit = ${state} + lambda_ * ${cell} + complete_profit;
                if (profit > record->gain || (profit == record->gain && record->step == step)) {
                    const i64 from = ${taken} ? ${cell} - tile_shift * ${tile} - offset : ${cell};
                    if (profit > record->gain || from < record->cell) {
                        record->gain = profit;
                        record->cell = from;
                        record->step = step;
                        record->taken = ${taken};
                    }
                    ATOMIC_MAX_I32(&status->best_gain, (i32)MIN(profit, (i64)0x7fffffff));
                }
</%def>
<%def name="take_slot()">
            slot = ATOMIC_ADD_I32(counts + step, 1);
            const i64 position = bases[step] + slot;
            if (slot >= most_slots || (position >= most_decisions && !decisions_wrap)) {
                status->out_of_slots = step;
                slot = -1;
            } else {
                target_tiles[slot] = (i32)number;
                target_slots[number] = slot;
                decision_tiles[position % most_decisions] = (i32)number;
            }
</%def>
<%def name="sources()">
        const i64 first = number * ${tile};
        const i32 own = candidate_sources[i].own, below = candidate_sources[i].below, lower = candidate_sources[i].lower;
</%def>
<%def name="lanes_kernel()">
// Launch: ${block} work-items a group, each with ${tile // block} cells of a candidate; groups take candidates in strides.
KERNEL LAUNCH_BOUNDS(${block}, 1) advance_tiles(${arguments()}) {
    LOCAL_ARRAY(i32, shared, 2);
    LOCAL_ARRAY(u32, flags, ${tile // 4});
    LOCAL u8* flag = (LOCAL u8*)flags;
    const i32 me = LOCAL_ID;
    GLOBAL best_t* record = records + GLOBAL_ID;
    const i32 todo = status->failed ? 0 : candidate_counts[step];
    for (i32 i = GROUP_ID; i < todo; i += GROUP_COUNT) {
        if (me == 0)
            shared[0] = 0;
        BARRIER();
        const i64 number = candidate_tiles[i];
        const value_t base = candidate_bases[i];
        const i32 slope = candidate_slopes[i];
${sources()}
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
</%def>
<%def name="vector_kernel()">
// Launch: groups of one work-item, which walk a candidate in vectors of ${lanes} cells and take candidates in strides.
KERNEL LAUNCH_BOUNDS(1, 1) advance_tiles(${arguments()}) {
    LOCAL_ARRAY(value_t, taken, ${tile + lanes});
    LOCAL_ARRAY(value_t, result, ${tile + lanes});
    LOCAL_ARRAY(u32, words, ${tile // 32});
    GLOBAL best_t* record = records + GLOBAL_ID;
    const i32 todo = status->failed ? 0 : candidate_counts[step];
    const cells_t lane = {${", ".join(map(str, range(lanes)))}};
    const cells_t bit = ((cells_t)1) << lane;
    for (i32 i = GROUP_ID; i < todo; i += GROUP_COUNT) {
        const i64 number = candidate_tiles[i];
        const value_t base = candidate_bases[i];
        const value_t slope = candidate_slopes[i];
${sources()}
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
</%def>
