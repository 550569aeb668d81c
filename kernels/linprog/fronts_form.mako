// The columns of A D A^T in the panels of linprog/fronts, in which the arrays of a front are described.
<%def name="kernels(items)">\
FUNCTION i32 find_row(const GLOBAL i32* rows, i32 count, i32 wanted) {
    i32 low = 0;
    i32 high = count - 1;
    while (low < high) {
        const i32 middle = (low + high) / 2;
        if (rows[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The columns of A D A^T in the panels, which are zero before, with a larger diagonal, but for places whose row of A has more
// than `longest` entries. Launch: a group of 32 a place.
// Row j of A: column a_column[e] and value a_value[e], e from a_starts[j] on; the same entry is at a_place[e] in the columns of A,
// which are b_row, b_value, and end at b_ends, with rows in the order of the places.
KERNEL LAUNCH_BOUNDS(32, 1) form_columns(const GLOBAL i32* a_starts, const GLOBAL i32* a_column, const GLOBAL f64* a_value,
    const GLOBAL i32* a_place, const GLOBAL i32* b_ends, const GLOBAL i32* b_row, const GLOBAL f64* b_value,
    const GLOBAL f64* theta, const GLOBAL i32* front_of, const GLOBAL i32* first, const GLOBAL i32* widths,
    const GLOBAL i32* sizes, const GLOBAL i64* starts, const GLOBAL i32* below, const GLOBAL i64* panel_at, i32 longest,
    f64 relative, f64 absolute, GLOBAL f64* panel, GLOBAL f64* diagonal) {
    const i32 j = GROUP_ID;
    if (a_starts[j + 1] - a_starts[j] > longest)
        return;
    const i32 f = front_of[j];
    const i32 w = widths[f];
    const i32 f0 = first[f];
    const i32 others = sizes[f] - w;
    const GLOBAL i32* rows = below + starts[f];
    GLOBAL f64* to = panel + panel_at[f] + (j - f0);
    for (i32 e = a_starts[j]; e < a_starts[j + 1]; ++e) {
        const i32 k = a_column[e];
        const f64 scale = a_value[e] * theta[k];
        for (i32 q = a_place[e] + LOCAL_ID; q < b_ends[k]; q += 32) {
            const i32 i = b_row[q];
            const i32 row = i < f0 + w ? i - f0 : w + find_row(rows, others, i);
            to[(i64)row * w] += scale * b_value[q];
        }
        BARRIER();
    }
    if (LOCAL_ID == 0) {
        const f64 d = to[(i64)(j - f0) * w];
        to[(i64)(j - f0) * w] = diagonal[j] = d + relative * d + absolute;
    }
}

// What the entries chunk_begin[c], ..., chunk_end[c] - 1 of the long row at place chunk_row[c] give to the rows of its front, in
// sums[chunk_at[c] ...]. Launch: a group of 32 a chunk c.
KERNEL LAUNCH_BOUNDS(32, 1) form_chunks(const GLOBAL i32* chunk_row, const GLOBAL i32* chunk_begin, const GLOBAL i32* chunk_end,
    const GLOBAL i32* chunk_at, const GLOBAL i32* a_column, const GLOBAL f64* a_value, const GLOBAL i32* a_place,
    const GLOBAL i32* b_ends, const GLOBAL i32* b_row, const GLOBAL f64* b_value, const GLOBAL f64* theta,
    const GLOBAL i32* front_of, const GLOBAL i32* first, const GLOBAL i32* widths, const GLOBAL i32* sizes,
    const GLOBAL i64* starts, const GLOBAL i32* below, GLOBAL f64* sums) {
    const i32 f = front_of[chunk_row[GROUP_ID]];
    const i32 w = widths[f];
    const i32 f0 = first[f];
    const i32 others = sizes[f] - w;
    const GLOBAL i32* rows = below + starts[f];
    GLOBAL f64* to = sums + chunk_at[GROUP_ID];
    for (i32 row = LOCAL_ID; row < sizes[f]; row += 32)
        to[row] = 0.0;
    BARRIER();
    for (i32 e = chunk_begin[GROUP_ID]; e < chunk_end[GROUP_ID]; ++e) {
        const i32 k = a_column[e];
        const f64 scale = a_value[e] * theta[k];
        for (i32 q = a_place[e] + LOCAL_ID; q < b_ends[k]; q += 32) {
            const i32 i = b_row[q];
            const i32 row = i < f0 + w ? i - f0 : w + find_row(rows, others, i);
            to[row] += scale * b_value[q];
        }
        BARRIER();
    }
}

// The columns of the long rows' places, from the chunks chunk_first[l], ..., chunk_first[l + 1] - 1 in this order. Launch: a group
// of ${items} a long row l.
KERNEL LAUNCH_BOUNDS(${items}, 1) add_chunks(const GLOBAL i32* chunk_rows, const GLOBAL i32* chunk_first,
    const GLOBAL i32* chunk_at, const GLOBAL i32* front_of, const GLOBAL i32* first, const GLOBAL i32* widths,
    const GLOBAL i32* sizes, const GLOBAL i64* panel_at, const GLOBAL f64* sums, f64 relative, f64 absolute, GLOBAL f64* panel,
    GLOBAL f64* diagonal) {
    const i32 j = chunk_rows[GROUP_ID];
    const i32 f = front_of[j];
    const i32 own = j - first[f];
    GLOBAL f64* to = panel + panel_at[f] + own;
    for (i32 row = own + LOCAL_ID; row < sizes[f]; row += ${items}) {
        f64 sum = 0.0;
        for (i32 c = chunk_first[GROUP_ID]; c < chunk_first[GROUP_ID + 1]; ++c)
            sum += sums[chunk_at[c] + row];
        if (row == own)
            sum = diagonal[j] = sum + relative * sum + absolute;
        to[(i64)row * widths[f]] = sum;
    }
}
</%def>
