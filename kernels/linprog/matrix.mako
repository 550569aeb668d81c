// The matrix A with its slacks, and the normal equations M = A diag(theta) A^T + slacks.
//
// Slack j of row slack_row[j] has the coefficient slack_sign[j]; those of row i are slack_start[i] .. slack_start[i + 1] - 1.
// Vectors of variables have the n columns, then the slacks. A sparse A is in compressed rows and in compressed columns, its
// slacks among them.

// out[i] += what the slacks add to A v. Launch: a work-item a row.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_slacks(i64 m, i64 n, const GLOBAL i32* slack_start, const GLOBAL f64* slack_sign,
    const GLOBAL f64* v, GLOBAL f64* out) {
    for (i64 i = GLOBAL_ID; i < m; i += GLOBAL_SIZE) {
        f64 sum = 0.0;
        for (i32 j = slack_start[i]; j < slack_start[i + 1]; ++j)
            sum += slack_sign[j] * v[n + j];
        out[i] += sum;
    }
}

// The slacks' part of A^T y. Launch: a work-item a slack.
KERNEL LAUNCH_BOUNDS(${block}, 1) slack_columns(i64 n, i64 slacks, const GLOBAL i32* slack_row, const GLOBAL f64* slack_sign,
    const GLOBAL f64* y, GLOBAL f64* out) {
    for (i64 j = GLOBAL_ID; j < slacks; j += GLOBAL_SIZE)
        out[n + j] = slack_sign[j] * y[slack_row[j]];
}

// out[i] = sum of values[k] v[indices[k]] over line i of a compressed matrix, unless it has more than `longest` entries. Launch:
// a work-item a line.
KERNEL LAUNCH_BOUNDS(${block}, 1) multiply_sparse(i64 lines, i32 longest, const GLOBAL i32* starts, const GLOBAL i32* indices,
    const GLOBAL f64* values, const GLOBAL f64* v, GLOBAL f64* out) {
    for (i64 i = GLOBAL_ID; i < lines; i += GLOBAL_SIZE) {
        const i32 begin = starts[i];
        const i32 end = starts[i + 1];
        if (end - begin <= longest) {
            f64 sum = 0.0;
            for (i32 k = begin; k < end; ++k)
                sum += values[k] * v[indices[k]];
            out[i] = sum;
        }
    }
}

// The same for the lines that have more. Launch: a group a long line.
KERNEL LAUNCH_BOUNDS(${block}, 1) multiply_long(const GLOBAL i32* long_lines, const GLOBAL i32* starts, const GLOBAL i32* indices,
    const GLOBAL f64* values, const GLOBAL f64* v, GLOBAL f64* out) {
    LOCAL_ARRAY(f64, sums, ${block});
    const i32 i = long_lines[GROUP_ID];
    f64 sum = 0.0;
    for (i32 k = starts[i] + LOCAL_ID; k < starts[i + 1]; k += ${block})
        sum += values[k] * v[indices[k]];
    ${reduce.group_reduce("sums", "f64", block, [("sum", "sum")])}
    if (LOCAL_ID == 0)
        out[i] = sum;
}

// Row i of M, lower triangle, for a sparse A: for each entry (i, j), column j times a_ij theta_j. A column has each row once,
// so the work-items of a group, at different entries of one column, never write the same place. Rows of more than `longest`
// entries are left out. Launch: a group a row.
KERNEL LAUNCH_BOUNDS(${block}, 1) form_sparse(i64 m, i32 longest, const GLOBAL i32* row_starts, const GLOBAL i32* columns,
    const GLOBAL f64* row_values, const GLOBAL i32* column_starts, const GLOBAL i32* rows, const GLOBAL f64* column_values,
    const GLOBAL f64* theta, GLOBAL f64* M) {
    const i64 i = GROUP_ID;
    if (row_starts[i + 1] - row_starts[i] > longest)
        return;
    GLOBAL f64* to = M + i * m;
${add_entries("row_starts[i]", "row_starts[i + 1]")}
}

// What the entries begin[c], ..., end[c] - 1 of the long row row[c] give, in sums[c m ...]. Launch: a group a chunk c.
KERNEL LAUNCH_BOUNDS(${block}, 1) form_chunks(i64 m, const GLOBAL i32* row, const GLOBAL i32* begin, const GLOBAL i32* end,
    const GLOBAL i32* columns, const GLOBAL f64* row_values, const GLOBAL i32* column_starts, const GLOBAL i32* rows,
    const GLOBAL f64* column_values, const GLOBAL f64* theta, GLOBAL f64* sums) {
    const i64 i = row[GROUP_ID];
    GLOBAL f64* to = sums + GROUP_ID * m;
${add_entries("begin[GROUP_ID]", "end[GROUP_ID]")}
}

// The long rows of M, from their chunks first[l], ..., first[l + 1] - 1 in this order. Launch: a group a long row l.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_chunks(i64 m, const GLOBAL i32* long_rows, const GLOBAL i32* first, const GLOBAL f64* sums,
    GLOBAL f64* M) {
    const i64 i = long_rows[GROUP_ID];
    for (i64 k = LOCAL_ID; k <= i; k += ${block}) {
        f64 sum = 0.0;
        for (i64 c = first[GROUP_ID]; c < first[GROUP_ID + 1]; ++c)
            sum += sums[c * m + k];
        M[i * m + k] = sum;
    }
}

// The diagonal of M: the slacks' theta. Launch: a work-item a row.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_slack_diagonal(i64 m, i64 n, const GLOBAL i32* slack_start, const GLOBAL f64* slack_sign,
    const GLOBAL f64* theta, GLOBAL f64* M) {
    for (i64 i = GLOBAL_ID; i < m; i += GLOBAL_SIZE) {
        f64 sum = 0.0;
        for (i32 j = slack_start[i]; j < slack_start[i + 1]; ++j)
            sum += slack_sign[j] * slack_sign[j] * theta[n + j];
        M[i * m + i] += sum;
    }
}

// M_ii += relative M_ii + absolute. Launch: a work-item a row.
KERNEL LAUNCH_BOUNDS(${block}, 1) regularise(i64 m, f64 relative, f64 absolute, GLOBAL f64* M) {
    for (i64 i = GLOBAL_ID; i < m; i += GLOBAL_SIZE)
        M[i * m + i] += relative * M[i * m + i] + absolute;
}

// The lower triangle of M row after row: packed[i (i + 1) / 2 + j] = M_ij, j <= i. Launch: any; a group a row at a time.
KERNEL LAUNCH_BOUNDS(${block}, 1) pack_lower(i64 m, const GLOBAL f64* M, GLOBAL f64* packed) {
    for (i64 i = GROUP_ID; i < m; i += GROUP_COUNT)
        for (i64 j = LOCAL_ID; j <= i; j += ${block})
            packed[i * (i + 1) / 2 + j] = M[i * m + j];
}

// M_ij += the like of another M, packed as by pack_lower. Launch: any; a group a row at a time.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_lower(i64 m, const GLOBAL f64* packed, GLOBAL f64* M) {
    for (i64 i = GROUP_ID; i < m; i += GROUP_COUNT)
        for (i64 j = LOCAL_ID; j <= i; j += ${block})
            M[i * m + j] += packed[i * (i + 1) / 2 + j];
}

// values = value. Launch: any.
KERNEL LAUNCH_BOUNDS(${block}, 1) fill(i64 count, f64 value, GLOBAL f64* values) {
    for (i64 e = GLOBAL_ID; e < count; e += GLOBAL_SIZE)
        values[e] = value;
}
<%def name="add_entries(begin, end)">
    for (i64 k = LOCAL_ID; k <= i; k += ${block})
        to[k] = 0.0;
    BARRIER();
    for (i32 e = ${begin}; e < ${end}; ++e) {
        const i32 j = columns[e];
        const f64 factor = row_values[e] * theta[j];
        for (i32 k = column_starts[j] + LOCAL_ID; k < column_starts[j + 1]; k += ${block})
            if (rows[k] <= i)
                to[rows[k]] += factor * column_values[k];
        BARRIER();
    }
</%def>
