<%
    size = 64     # pivots, and rows, of a tile
    span = 256    # pivots of a launch, of wide fronts
    items = 256
    parts = items // size
    lanes = 16
%>
// L y = r and L^T x = y with the factor of fronts.mako: fronts, panels, contributions and tasks are described there.
//
// r and x are in the order of the matrix: the place p is row order[p] of it. work[rows_at[f] + i] is what row i of front f is
// left with: the right-hand side at its pivots, and for the rows below them what the front gives to its parent.
<%def name="gathered(name, i)">
    f64 ${name} = 0.0;
    {
        const i64 at = rows_at[f] + ${i};
        if (${i} < w)
            ${name} = r[order[first[f] + ${i}]];
        for (i32 q = contribution_starts[at]; q < contribution_starts[at + 1]; ++q) {
            const i32 child = contribution_front[q];
            ${name} += work[rows_at[child] + widths[child] + contribution_row[q]];
        }
    }
</%def>
<%def name="solve_block(y)">
    // y = L^-1 right, by the inverse of the block, which is transposed
    {
        const i32 j = LOCAL_ID % ${size};
        f64 sum = 0.0;
        if (j < count)
            for (i32 k = LOCAL_ID / ${size}; k <= j; k += ${parts})
                sum += (k == j ? 1.0 / block[(i64)k * w + k] : block[(i64)k * w + j]) * right[k];
        sums[LOCAL_ID] = sum;
    }
    BARRIER();
    if (LOCAL_ID < ${size})
        ${y} = sums[LOCAL_ID] + sums[LOCAL_ID + ${size}] + sums[LOCAL_ID + ${2 * size}] + sums[LOCAL_ID + ${3 * size}];
    BARRIER();
</%def>
<%def name="subtract_rows()">
    // ${size} rows from row0 on, less their part of L times y: ${lanes} work-items a row
    for (i32 i = LOCAL_ID / ${lanes}; i < ${size}; i += ${items // lanes}) {
        f64 sum = 0.0;
        if (row0 + i < n) {
            const GLOBAL f64* from = panel + panel_at[f] + (i64)(row0 + i) * w + done;
            for (i32 k = LOCAL_ID % ${lanes}; k < count; k += ${lanes})
                sum += from[k] * y[k];
        }
        partial[i * ${lanes + 1} + LOCAL_ID % ${lanes}] = sum;
    }
    BARRIER();
    f64 product = 0.0;
    if (LOCAL_ID < ${size})
        for (i32 k = 0; k < ${lanes}; ++k)
            product += partial[LOCAL_ID * ${lanes + 1} + k];
</%def>
<%
    layout = """const GLOBAL i32* tasks, i64 task, const GLOBAL i32* first, const GLOBAL i32* widths,
    const GLOBAL i32* sizes, const GLOBAL i64* panel_at, const GLOBAL i64* rows_at, const GLOBAL f64* panel"""
    given = """const GLOBAL i32* order, const GLOBAL f64* r, const GLOBAL i32* contribution_starts,
    const GLOBAL i32* contribution_front, const GLOBAL i32* contribution_row"""
%>

// Fronts of at most ${size} pivots: y, and work below the pivots. Launch: a group of ${items} for ${size} rows below the pivots, at
// least one a front.
KERNEL LAUNCH_BOUNDS(${items}, 1) forward(${layout}, ${given}, GLOBAL f64* work, GLOBAL f64* ys) {
    LOCAL_ARRAY(f64, right, ${size});
    LOCAL_ARRAY(f64, y, ${size});
    LOCAL_ARRAY(f64, sums, ${items});
    LOCAL_ARRAY(f64, partial, ${size * (lanes + 1)});
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 tile = tasks[2 * (task + GROUP_ID) + 1];
    const i32 n = sizes[f];
    const i32 w = widths[f];
    const i32 count = w;
    const i32 done = 0;
    const i32 row0 = w + ${size} * tile;
    const GLOBAL f64* block = panel + panel_at[f];
    if (LOCAL_ID < w) {
${gathered("value", "LOCAL_ID")}
        right[LOCAL_ID] = value;
    }
    BARRIER();
${solve_block("y[LOCAL_ID]")}
    if (tile == 0 && LOCAL_ID < w)
        ys[first[f] + LOCAL_ID] = y[LOCAL_ID];
${subtract_rows()}
    const i32 i = row0 + LOCAL_ID;
    if (LOCAL_ID < ${size} && i < n) {
${gathered("value", "i")}
        work[rows_at[f] + i] = value - product;
    }
}

// Other fronts: the rows before any pivot is eliminated. Launch: a group of ${items} for as many rows.
KERNEL LAUNCH_BOUNDS(${items}, 1) gather(${layout}, ${given}, GLOBAL f64* work) {
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 i = tasks[2 * (task + GROUP_ID) + 1] * ${items} + LOCAL_ID;
    const i32 w = widths[f];
    if (i < sizes[f]) {
${gathered("value", "i")}
        work[rows_at[f] + i] = value;
    }
}

// Then each span of ${span} pivots, by blocks of ${size}. Launch: a group of ${items} for ${size} rows below the span, at least
// one a front; each solves for the whole span by itself.
KERNEL LAUNCH_BOUNDS(${items}, 1) forward_span(${layout}, i32 step, GLOBAL f64* work, GLOBAL f64* ys) {
    LOCAL_ARRAY(f64, rights, ${span});
    LOCAL_ARRAY(f64, y, ${span});
    LOCAL_ARRAY(f64, sums, ${items});
    LOCAL_ARRAY(f64, partial, ${size * (lanes + 1)});
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 tile = tasks[2 * (task + GROUP_ID) + 1];
    const i32 n = sizes[f];
    const i32 w = widths[f];
    const i32 done = ${span} * step;
    const i32 length = MIN(w - done, ${span});
    const i32 row0 = done + length + ${size} * tile;
    const GLOBAL f64* own = panel + panel_at[f] + (i64)done * (w + 1);
    rights[LOCAL_ID] = LOCAL_ID < length ? work[rows_at[f] + done + LOCAL_ID] : 0.0;
    BARRIER();
    for (i32 begin = 0; begin < length; begin += ${size}) {
        const i32 count = MIN(length - begin, ${size});
        const GLOBAL f64* block = own + (i64)begin * (w + 1);
        LOCAL f64* right = rights + begin;
${solve_block("y[begin + LOCAL_ID]")}
        if (LOCAL_ID >= begin + ${size} && LOCAL_ID < length) {    // the rows of later blocks of the span
            const GLOBAL f64* from = own + (i64)LOCAL_ID * w + begin;
            f64 sum = 0.0;
            for (i32 k = 0; k < ${size}; ++k)
                sum += from[k] * y[begin + k];
            rights[LOCAL_ID] -= sum;
        }
        BARRIER();
    }
    if (tile == 0 && LOCAL_ID < length)
        ys[first[f] + done + LOCAL_ID] = y[LOCAL_ID];
    const i32 count = length;
${subtract_rows()}
    if (LOCAL_ID < ${size} && row0 + LOCAL_ID < n)
        work[rows_at[f] + row0 + LOCAL_ID] -= product;
}

<%def name="solve_transposed()">
    // x = L^-T y, by the transposed inverse
    {
        const i32 j = LOCAL_ID / ${parts};
        f64 sum = 0.0;
        if (j < count)
            for (i32 k = j + LOCAL_ID % ${parts}; k < count; k += ${parts})
                sum += (k == j ? 1.0 / block[(i64)k * w + k] : block[(i64)j * w + k]) * y[k];
        sums[LOCAL_ID] = sum;
    }
    BARRIER();
    if (LOCAL_ID < ${size})
        right[LOCAL_ID] = sums[${parts} * LOCAL_ID] + sums[${parts} * LOCAL_ID + 1]
            + sums[${parts} * LOCAL_ID + 2] + sums[${parts} * LOCAL_ID + 3];
    BARRIER();
</%def>
<%def name="write_x(place)">
    if (LOCAL_ID < count) {
        xs[${place} + LOCAL_ID] = right[LOCAL_ID];
        x[order[${place} + LOCAL_ID]] = right[LOCAL_ID];
    }
</%def>

// ys, less the products with what is known of x below the pivots; fronts of at most ${size} pivots are then solved. Launch: a
// group of ${items} for ${size} columns.
KERNEL LAUNCH_BOUNDS(${items}, 1) backward(${layout}, const GLOBAL i32* order, const GLOBAL i64* starts, const GLOBAL i32* below,
    GLOBAL f64* ys, GLOBAL f64* xs, GLOBAL f64* x) {
    LOCAL_ARRAY(f64, right, ${size});
    LOCAL_ARRAY(f64, y, ${size});
    LOCAL_ARRAY(f64, sums, ${items});
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 tile = tasks[2 * (task + GROUP_ID) + 1];
    const i32 w = widths[f];
    const i32 u = sizes[f] - w;
    const i32 count = MIN(w - ${size} * tile, ${size});
    const i32 place = first[f] + ${size} * tile;
    const GLOBAL f64* block = panel + panel_at[f];
    const GLOBAL i32* rows = below + starts[f];
    {
        const i32 j = LOCAL_ID % ${size};
        f64 sum = 0.0;
        if (j < count) {
            const GLOBAL f64* from = block + (i64)w * w + ${size} * tile + j;
            for (i32 i = LOCAL_ID / ${size}; i < u; i += ${parts})
                sum += from[(i64)i * w] * xs[rows[i]];
        }
        sums[LOCAL_ID] = sum;
    }
    BARRIER();
    if (LOCAL_ID < count)
        y[LOCAL_ID] = ys[place + LOCAL_ID] - sums[LOCAL_ID] - sums[LOCAL_ID + ${size}]
            - sums[LOCAL_ID + ${2 * size}] - sums[LOCAL_ID + ${3 * size}];
    BARRIER();
    if (w > ${size} && LOCAL_ID < count)
        ys[place + LOCAL_ID] = y[LOCAL_ID];
${solve_transposed()}
    if (w <= ${size}) {
${write_x("place")}
    }
}

// Other fronts: each span of ${span} pivots, the last one first. Launch: a group of ${items} for ${size} columns before the
// span, at least one a front; each solves for the whole span by itself.
KERNEL LAUNCH_BOUNDS(${items}, 1) backward_span(${layout}, i32 step, const GLOBAL i32* order, GLOBAL f64* ys, GLOBAL f64* xs,
    GLOBAL f64* x) {
    LOCAL_ARRAY(f64, rights, ${span});
    LOCAL_ARRAY(f64, ys_here, ${span});
    LOCAL_ARRAY(f64, sums, ${items});
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 tile = tasks[2 * (task + GROUP_ID) + 1];
    const i32 w = widths[f];
    const i32 done = ${span} * step;
    const i32 length = MIN(w - done, ${span});
    const GLOBAL f64* own = panel + panel_at[f] + (i64)done * (w + 1);
    ys_here[LOCAL_ID] = LOCAL_ID < length ? ys[first[f] + done + LOCAL_ID] : 0.0;
    BARRIER();
    for (i32 begin = (length - 1) / ${size} * ${size}; begin >= 0; begin -= ${size}) {
        const i32 count = MIN(length - begin, ${size});
        const GLOBAL f64* block = own + (i64)begin * (w + 1);
        LOCAL f64* right = rights + begin;
        LOCAL const f64* y = ys_here + begin;
${solve_transposed()}
        if (LOCAL_ID < begin) {    // the columns of earlier blocks of the span
            const GLOBAL f64* from = own + (i64)begin * w + LOCAL_ID;
            f64 sum = 0.0;
            for (i32 k = 0; k < count; ++k)
                sum += from[(i64)k * w] * right[k];
            ys_here[LOCAL_ID] -= sum;
        }
        BARRIER();
    }
    if (tile == 0 && LOCAL_ID < length) {
        xs[first[f] + done + LOCAL_ID] = rights[LOCAL_ID];
        x[order[first[f] + done + LOCAL_ID]] = rights[LOCAL_ID];
    }
    {
        const i32 j = LOCAL_ID % ${size};
        f64 sum = 0.0;
        if (${size} * tile < done) {
            const GLOBAL f64* from = panel + panel_at[f] + (i64)done * w + ${size} * tile + j;
            for (i32 i = LOCAL_ID / ${size}; i < length; i += ${parts})
                sum += from[(i64)i * w] * rights[i];
        }
        sums[LOCAL_ID] = sum;
    }
    BARRIER();
    if (${size} * tile < done && LOCAL_ID < ${size})
        ys[first[f] + ${size} * tile + LOCAL_ID] -= sums[LOCAL_ID] + sums[LOCAL_ID + ${size}]
            + sums[LOCAL_ID + ${2 * size}] + sums[LOCAL_ID + ${3 * size}];
}
