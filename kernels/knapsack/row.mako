<%doc>
What knapsack kernels share: their values, in vectors on CPUs (cells_t), and how a row of Bellman's table is read.

A row holds f[c], the best profit of the items so far within capacity c, for c in [lo, hi]; element c is at index
c - base. Outside: f[c] = full (the profit of all items so far) for c > hi, since hi is the weight of all of them or no
reader goes there; f[c] = NEGATIVE for c < lo, which only happens for c < 0. NEGATIVE plus the profits of one launch
stays below zero, so it never wins.

Vectors of ${"lanes"} cells are loaded and stored by plain assignment: PoCL calls vload and vstore, and does not inline them.
</%doc>
<%def name="values()">
<% vector = ("int" if value == "i32" else "long") + str(lanes) %>\
typedef ${value} value_t;
% if lanes > 1:
typedef ${vector} cells_t;
typedef ${vector} unaligned_cells_t __attribute__((aligned(${4 if value == "i32" else 8})));
#define LOAD(space, pointer) (*(const space unaligned_cells_t*)(pointer))
#define STORE(space, pointer, cells) (*(space unaligned_cells_t*)(pointer) = (cells))
% else:
typedef value_t cells_t;
#define LOAD(space, pointer) (*(pointer))
#define STORE(space, pointer, cells) (*(pointer) = (cells))
% endif
% if value == "i32":
#define NEGATIVE (-(1 << 30))
% else:
#define NEGATIVE (-(((i64)1) << 62))
% endif
</%def>
<%def name="declarations()">
${values()}
#define READ(c) ((c) > source_hi ? full : (c) < source_lo ? (value_t)NEGATIVE : source[(c) - source_base])
</%def>
<%def name="cells()">
% if lanes > 1:
FUNCTION cells_t read_lanes(const GLOBAL value_t* source, i64 source_base, i64 source_lo, i64 source_hi, value_t full, i64 c) {
    if (c >= source_lo && c + ${lanes - 1} <= source_hi)
        return LOAD(GLOBAL, source + (c - source_base));
    value_t lane[${lanes}];
    for (i32 i = 0; i < ${lanes}; ++i)
        lane[i] = READ(c + i);
    return LOAD(, lane);
}
#define READ_CELLS(c) read_lanes(source, source_base, source_lo, source_hi, full, c)
% else:
#define READ_CELLS(c) READ(c)
% endif
</%def>
<%def name="arguments()">
    const GLOBAL value_t* RESTRICT source, i64 source_base, i64 source_lo, i64 source_hi, value_t full,
    GLOBAL value_t* RESTRICT target, i64 target_base, i64 target_lo, i64 target_hi</%def>
