// target = the row after ${depth} items of one weight, item by item, in registers alone
//
// Items of equal weight w only connect the cells c, c + w, c + 2 w, ...: a chain. A work-item walks ${lanes} neighbouring
// chains upwards and carries, for each of the ${depth} items, the value of the cell before:
//     f_k(c) = max(f_{k-1}(c), f_{k-1}(c - w) + p_k),   before[k] = f_{k-1}(c - w)
// It starts ${depth} cells below its own `length` cells; values there are not all valid, and are not written.
// Launch: work-item t owns chains (t mod columns) * ${lanes} ... of segment t / columns, columns = ceil(w / ${lanes}).
// Where ${lanes} does not divide w, neighbours make some cells twice, with equal values; cells past target_hi may be written,
// up to ${lanes - 1} of them.
${row.declarations()}
${row.cells()}
#define WRITE_CELLS(cells, c) STORE(GLOBAL, target + ((c) - target_base), cells)

<%def name="step(cell)">
            {
                cells_t f = ${cell};
% for k in range(depth):
                {
                    const cells_t below = before${k};
                    before${k} = f;
                    const cells_t with = below + profit${k};
                    f = MAX(with, f);
                }
% endfor
                after = f;
            }
</%def>

KERNEL LAUNCH_BOUNDS(${block}, 1) advance_class(${row.arguments()},
    const GLOBAL value_t* RESTRICT profits, i32 first, i32 weight, i32 columns, i32 length) {
    const i32 me = (i32)GLOBAL_ID;
    const i64 begin = target_lo + (i64)(me / columns) * length * weight + (me % columns) * ${lanes};
    if (begin <= target_hi) {
% for k in range(depth):
        const cells_t profit${k} = (cells_t)profits[first + ${k}];
        cells_t before${k} = (cells_t)NEGATIVE;
% endfor
        cells_t after;
        i64 c = begin - (i64)${depth} * weight;
        for (; c < begin; c += weight)
${step("READ_CELLS(c)")}
        const i64 end = MIN(begin + (i64)length * weight - 1, target_hi);
        for (; c + ${unroll - 1} * (i64)weight <= end; c += ${unroll} * (i64)weight) {
% for u in range(unroll):
            const cells_t cell${u} = READ_CELLS(c + ${u} * (i64)weight);
% endfor
% for u in range(unroll):
${step(f"cell{u}")}
            WRITE_CELLS(after, c + ${u} * (i64)weight);
% endfor
        }
        for (; c <= end; c += weight) {
${step("READ_CELLS(c)")}
            WRITE_CELLS(after, c);
        }
    }
}
