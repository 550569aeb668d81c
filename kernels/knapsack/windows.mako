// target = the row after `items` items of one weight w and one profit p:
//     target(c) = max over k <= items of f(c - k w) + k p
//
// The maximum of a window that slides along the chain c, c + w, c + 2 w, ... (van Herk 1992; Gil and Werman 1993). A chain is
// cut into blocks of items + 1 cells; the window of a cell is the end of one block and the beginning of the next:
//     target(j) = max(front(j), back(j - items))
//     front(j) = max(front(j - 1) + p, f(j))           from the beginning of the block up
//     back(i) = max(back(i + 1) - p, f(i) + items p)    from the end of the block down, as it counts at cell i + items
// so that a cell takes the same few steps however many items there are, and is read once. A work-item walks ${lanes}
// neighbouring chains upwards. slots holds f of its present block, then back in its place: cell t of a block reads back from
// slot t + 1, and leaves f in slot t. The walk begins with back of the block below its own `length` cells.
// Launch: work-item t owns chains (t mod columns) * ${lanes} ... of segment t / columns, columns = ceil(w / ${lanes});
// items <= ${slots - 2}, w < 2^24. Where ${lanes} does not divide w, neighbours make some cells twice, with equal values;
// cells past target_hi may be written, up to ${lanes - 1} of them.
${row.declarations()}
${row.cells()}
<% slot = f"slots + (t) * {lanes}" if lanes > 1 else f"slots + (t) * {block} + LOCAL_ID" %>\
#define FROM_SLOT(t) LOAD(LOCAL, ${slot})
#define TO_SLOT(t, cells) STORE(LOCAL, ${slot}, cells)

<%def name="read(count)">
% for u in range(unroll):
                cells_t cell${u};
% endfor
                const i32 whole = t + ${unroll} <= ${count};
                if (whole && c >= source_lo && c + ${unroll - 1} * (i64)weight + ${lanes - 1} <= source_hi) {
                    const GLOBAL value_t* from = source + (c - source_base);
% for u in range(unroll):
                    cell${u} = LOAD(GLOBAL, from + ${u} * weight);
% endfor
                } else {
% for u in range(unroll):
                    cell${u} = t + ${u} < ${count} ? READ_CELLS(c + ${u} * (i64)weight) : (cells_t)NEGATIVE;
% endfor
                }
</%def>
<%def name="forward(u)">
                    {
                        const cells_t longer = front + one;
                        front = MAX(longer, cell${u});
                        const cells_t below = FROM_SLOT(t + ${u + 1});
                        TO_SLOT(t + ${u}, cell${u});
                        STORE(GLOBAL, to + ${u} * weight, MAX(front, below));
                    }
</%def>

KERNEL LAUNCH_BOUNDS(${block}, 1) advance_window(${row.arguments()},
    i32 items, i32 weight, value_t profit, i32 columns, i32 length) {
    DYNAMIC_LOCAL_ARRAY(value_t, slots, ${slots * block * lanes});
    const i32 me = (i32)GLOBAL_ID;
    const i64 begin = target_lo + (i64)(me / columns) * length * weight + (me % columns) * ${lanes};
    if (begin <= target_hi) {
        const cells_t one = (cells_t)profit;
        const cells_t all = (cells_t)(profit * (value_t)items);
        const i32 block = items + 1;
        const i32 cells = (i32)MIN((i64)length, (target_hi - begin) / weight + 1);
        i64 c = begin - (i64)block * weight;
        i32 t = 0;
        for (; t < block; t += ${unroll}) {
            ${read("block")}
% for u in range(unroll):
            ${"" if u == 0 else f"if (t + {u} < block) "}TO_SLOT(t${f" + {u}" if u else ""}, cell${u});
% endfor
            c += ${unroll} * (i64)weight;
        }
        TO_SLOT(block, (cells_t)NEGATIVE);
        c = begin;
        for (i32 left = cells; left > 0; left -= block) {
            cells_t back = (cells_t)NEGATIVE;
            for (t = items; t >= ${unroll}; t -= ${unroll}) {
% for u in range(unroll):
                const cells_t cell${u} = FROM_SLOT(t - ${u});
% endfor
% for u in range(unroll):
                {
                    const cells_t further = back - one;
                    const cells_t here = cell${u} + all;
                    back = MAX(further, here);
                    TO_SLOT(t - ${u}, back);
                }
% endfor
            }
            for (; t >= 1; --t) {
                const cells_t further = back - one;
                const cells_t here = FROM_SLOT(t) + all;
                back = MAX(further, here);
                TO_SLOT(t, back);
            }
            cells_t front = (cells_t)NEGATIVE;
            const i32 count = MIN(block, left);
            const i64 next = c + (i64)count * weight;
            for (t = 0; t < count; t += ${unroll}) {
                ${read("count")}
                GLOBAL value_t* to = target + (c - target_base);
                if (whole) {
% for u in range(unroll):
                    ${forward(u)}
% endfor
                } else {
% for u in range(unroll):
                    if (t + ${u} < count)
                        ${forward(u)}
% endfor
                }
                c += ${unroll} * (i64)weight;
            }
            c = next;
        }
    }
}
