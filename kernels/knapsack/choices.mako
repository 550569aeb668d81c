// One option of each stage, under two constraints: the next table of Bellman's recurrence
//
// target[c] = max over the options o of the stage of source[c - w_o] + p_o, with c = (c1, c2) componentwise, and
// choice[c] = the first option that attains it. Source cells past the weights so far (source_high) hold what the cell at
// source_high holds; cells below zero hold no state. A cell without a state is NEGATIVE, or greater by profits of stages.
// Tables are stored in full rows: cell (c1, c2) is element c1 * stride + c2. One constraint: c1 = 0 throughout.
% if lanes == 1:
// Launch: a work-item a cell of the target rectangle [low1, high1] x [low2, high2], in strides of the whole grid.
% else:
// Launch: a work-item a strip of ${span} cells of a row of the target rectangle, in strides of the grid; option by option.
% endif
${row.values()}
typedef ${choice} choice_t;

KERNEL LAUNCH_BOUNDS(${block}, 1) choose(const GLOBAL value_t* RESTRICT source, i64 source_high1, i64 source_high2,
    GLOBAL value_t* RESTRICT target, i64 low1, i64 high1, i64 low2, i64 high2, i64 stride,
    const GLOBAL i64* RESTRICT weights1, const GLOBAL i64* RESTRICT weights2, const GLOBAL value_t* RESTRICT profits,
    i32 first, i32 end, GLOBAL choice_t* RESTRICT choices, i64 choice_first) {
    const i64 width = high2 - low2 + 1;
% if lanes == 1:
    const i64 cells = (high1 - low1 + 1) * width;
    for (i64 i = GLOBAL_ID; i < cells; i += GLOBAL_SIZE) {
        const i64 c1 = low1 + i / width;
        const i64 c2 = low2 + i % width;
        value_t best = NEGATIVE;
        i32 chosen = 0;
        for (i32 o = first; o < end; ++o) {
            const i64 s1 = c1 - weights1[o];
            const i64 s2 = c2 - weights2[o];
            if (s1 >= 0 && s2 >= 0) {
                const value_t value = source[MIN(s1, source_high1) * stride + MIN(s2, source_high2)] + profits[o];
                if (value > best) {
                    best = value;
                    chosen = o - first;
                }
            }
        }
        target[c1 * stride + c2] = best < 0 ? (value_t)NEGATIVE : best;
        choices[choice_first + i] = (choice_t)chosen;
    }
% else:
    LOCAL_ARRAY(value_t, best, ${span});
    LOCAL_ARRAY(value_t, chosen, ${span});
    const i64 strips = (width + ${span - 1}) / ${span};
    for (i64 i = GLOBAL_ID; i < (high1 - low1 + 1) * strips; i += GLOBAL_SIZE) {
        const i64 c1 = low1 + i / strips;
        const i64 from = low2 + i % strips * ${span};
        const i32 count = (i32)MIN((i64)${span}, high2 + 1 - from);
        for (i32 j = 0; j < count; j += ${lanes}) {     // the arrays are whole vectors long
            STORE(LOCAL, best + j, (cells_t)NEGATIVE);
            STORE(LOCAL, chosen + j, (cells_t)0);
        }
        for (i32 o = first; o < end; ++o) {
            const i64 s1 = c1 - weights1[o];
            if (s1 < 0)
                continue;
            const GLOBAL value_t* row = source + MIN(s1, source_high1) * stride;
            const i64 shift = from - weights2[o];
            const value_t profit = profits[o];
            const value_t option = o - first;
            const i32 begin = (i32)MIN(MAX(-shift, (i64)0), (i64)count);
            const i32 within = (i32)MIN(MAX(source_high2 + 1 - shift, (i64)begin), (i64)count);
            const GLOBAL value_t* cell = row + shift;
            i32 j = begin;
            for (; j + ${lanes} <= within; j += ${lanes}) {
                const cells_t value = LOAD(GLOBAL, cell + j) + profit;
                const cells_t before = LOAD(LOCAL, best + j);
                const cells_t other = LOAD(LOCAL, chosen + j);
                STORE(LOCAL, chosen + j, value > before ? (cells_t)option : other);
                STORE(LOCAL, best + j, MAX(value, before));
            }
            for (; j < within; ++j) {
                const value_t value = cell[j] + profit;
                chosen[j] = value > best[j] ? option : chosen[j];
                best[j] = MAX(best[j], value);
            }
            const value_t last = row[source_high2] + profit;
            for (; j < count; ++j) {
                chosen[j] = last > best[j] ? option : chosen[j];
                best[j] = MAX(best[j], last);
            }
        }
        const i64 at = choice_first + (c1 - low1) * width + (from - low2);
        GLOBAL value_t* to = target + (c1 * stride + from);
        i32 k = 0;
        for (; k + ${lanes} <= count; k += ${lanes}) {
            const cells_t value = LOAD(LOCAL, best + k);
            STORE(GLOBAL, to + k, value < 0 ? (cells_t)NEGATIVE : value);
        }
        for (; k < count; ++k)
            to[k] = best[k] < 0 ? (value_t)NEGATIVE : best[k];
        GLOBAL choice_t* note = choices + at;
        for (i32 j = 0; j < count; ++j)
            note[j] = (choice_t)chosen[j];
    }
% endif
}
