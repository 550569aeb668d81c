<%
    size = 64                    # pivots, rows and columns of a tile
    depth = 16                   # columns of a tile's factors in local memory at a time
    pad = size + 1
    items = 256
    each = size // 16
    lost = "3e-15"               # of the diagonal entry: a pivot up to here is a rounding error
    negative = "1e-9"            # and one below minus this is none
    huge = "1e64"                # L_kk for a row that depends on others
    tiny = "1e-64"               # 1 / L_kk for it
    strands = items // size      # of work-items, for a row of a block on the diagonal
    own = size // strands
%>
// A D A^T = L L^T by fronts (the multifrontal method).
//
// Front f has `sizes[f]` rows, the first `widths[f]` of which are its pivots: the places from first[f] on. Its other rows are the
// places below[starts[f]...]. Its columns of L are `panel`, row-major, widths[f] numbers a row, from panel_at[f] on; what it
// subtracts from its ancestors is `update`, row-major, lower, sizes[f] - widths[f] numbers a row, from update_at[f] on.
// Row i of front f receives row `contribution_row[q]` of the update of front `contribution_front[q]`, q from
// contribution_starts[rows_at[f] + i] on; column k of an update belongs to column relative[starts[child] + k] of the parent.
//
// Launches have a group a task: tasks[2 (task + GROUP_ID)] is a front, the number after it a tile of it.
// The inverse of a block of ${size} on the diagonal, transposed, is kept above that diagonal, less its own diagonal.

${fronts_form.kernels(items)}
% for entry, members in (("assemble", 32), ("assemble_long", items)):
// A row of a front: what its children give. Launch: a group of ${members} a row (the tile of a task).
KERNEL LAUNCH_BOUNDS(${members}, 1) ${entry}(const GLOBAL i32* tasks, i64 task, const GLOBAL i32* widths, const GLOBAL i32* sizes,
    const GLOBAL i64* starts, const GLOBAL i32* relative, const GLOBAL i64* panel_at, const GLOBAL i64* update_at,
    const GLOBAL i64* rows_at, const GLOBAL i32* contribution_starts, const GLOBAL i32* contribution_front,
    const GLOBAL i32* contribution_row, GLOBAL f64* panel, GLOBAL f64* update) {
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 i = tasks[2 * (task + GROUP_ID) + 1];
    const i32 w = widths[f];
    const i32 u = sizes[f] - w;
    GLOBAL f64* left = panel + panel_at[f] + (i64)i * w;
    GLOBAL f64* right = update + update_at[f] + (i64)(i - w) * u;
    for (i32 k = LOCAL_ID; k <= i - w; k += ${members})
        right[k] = 0.0;
    BARRIER();
    for (i32 q = contribution_starts[rows_at[f] + i]; q < contribution_starts[rows_at[f] + i + 1]; ++q) {
        const i32 child = contribution_front[q];
        const i32 row = contribution_row[q];
        const i32 length = sizes[child] - widths[child];
        const GLOBAL f64* from = update + update_at[child] + (i64)row * length;
        const GLOBAL i32* columns = relative + starts[child];
        for (i32 k = LOCAL_ID; k <= row; k += ${members}) {
            const i32 c = columns[k];
            if (c < w)
                left[c] += from[k];
            else
                right[c - w] += from[k];
        }
        BARRIER();
    }
}
% endfor

// The block of up to ${size} pivots from ${size} `step` on: its factor L and, above the diagonal, L^-T, by eliminating in both
// the block and the identity. Launch: a group of ${items} a front.
//
// A pivot of which rounding errors leave nothing, next to the matrix's own diagonal entry, belongs to a row that depends on
// others: it is replaced by a huge one, so that the row has no part in solutions. A pivot that is clearly negative, or not a
// number, sets the status.
KERNEL LAUNCH_BOUNDS(${items}, 1) factor_block(const GLOBAL i32* tasks, i64 task, i32 step, const GLOBAL i32* first,
    const GLOBAL i32* widths, const GLOBAL i64* panel_at, const GLOBAL f64* diagonal, GLOBAL f64* panel, GLOBAL i32* status) {
% if registers:
    LOCAL_ARRAY(f64, column, ${2 * size});    // the present one, in turn
    LOCAL_ARRAY(f64, inverse, ${size});
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 w = widths[f];
    const i32 count = MIN(w - ${size} * step, ${size});
    const GLOBAL f64* given = diagonal + first[f] + ${size} * step;
    GLOBAL f64* a = panel + panel_at[f] + (i64)(${size} * step) * (w + 1);
    // a work-item has every ${strands}th column of a row: of L, times L_jj, up to the diagonal, of L^-T, times L_jj, above it
    const i32 row = LOCAL_ID / ${strands};
    const i32 strand = LOCAL_ID % ${strands};
    i32 negative = 0;
% for q in range(own):
    f64 own${q} = row < count && strand + ${strands * q} <= row ? a[(i64)row * w + strand + ${strands * q}] : 0.0;
% endfor
% for q in range(own):
    for (i32 g = 0; g < ${strands} && ${strands * q} + g < count; ++g) {
        const i32 k = ${strands * q} + g;
        LOCAL f64* now = column + k % 2 * ${size};
        if (strand == g)
            now[row] = own${q};
        BARRIER();
        const f64 pivot = now[k];
        const i32 is_lost = !(pivot > ${lost} * given[k]);
        if (!(pivot >= -${negative} * given[k]))
            negative = 1;
        const f64 part = (row == k ? 1.0 : now[row]) * (is_lost ? ${tiny} * ${tiny} : 1.0 / pivot);
        if (LOCAL_ID == 0)
            inverse[k] = is_lost ? ${tiny} : 1.0 / sqrt(pivot);
% for r in range(q, own):
        {
            const i32 j = strand + ${strands * r};
            if (j > k && (row <= k || row >= j))
                own${r} -= part * now[j];
        }
% endfor
    }
% endfor
    BARRIER();
    if (row < count) {
% for q in range(own):
        {
            const i32 j = strand + ${strands * q};
            if (j < count)
                a[(i64)row * w + j] = row == j ? 1.0 / inverse[j] : own${q} * inverse[j];
        }
% endfor
    }
    if (LOCAL_ID == 0 && negative)
        status[0] = 1;
% else:
    LOCAL_ARRAY(f64, t, ${size * pad});
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 w = widths[f];
    const i32 count = MIN(w - ${size} * step, ${size});
    GLOBAL f64* a = panel + panel_at[f] + (i64)(${size} * step) * (w + 1);
    const i32 column = LOCAL_ID % ${size};
    for (i32 i = LOCAL_ID / ${size}; i < count; i += ${items // size})
        if (column < count)
            t[i * ${pad} + column] = column <= i ? a[(i64)i * w + column] : 0.0;
    BARRIER();
    const i32 row = LOCAL_ID % ${size};
    const GLOBAL f64* given = diagonal + first[f] + ${size} * step;
    for (i32 k = 0; k < count; ++k) {
        const f64 pivot = t[k * ${pad} + k];
        const f64 least = ${lost} * given[k];
        const f64 root = pivot > least ? sqrt(pivot) : ${huge};
        const f64 inverse = 1.0 / root;
        BARRIER();
        if (LOCAL_ID < count) {
            t[LOCAL_ID * ${pad} + k] = LOCAL_ID == k ? root : t[LOCAL_ID * ${pad} + k] * inverse;
            if (LOCAL_ID == k && !(pivot >= -${negative} * given[k]))
                status[0] = 1;
        }
        BARRIER();
        if (row < count) {
            const f64 own = row == k ? inverse : t[row * ${pad} + k];
            for (i32 j = k + 1 + LOCAL_ID / ${size}; j < count; j += ${items // size})
                if (row <= k || row >= j)
                    t[row * ${pad} + j] -= own * t[j * ${pad} + k];
        }
        BARRIER();
    }
    for (i32 i = LOCAL_ID / ${size}; i < count; i += ${items // size})
        if (column < count)
            a[(i64)i * w + column] = t[i * ${pad} + column];
% endif
}

<%def name="product(k_end, load_a, load_b)">
    // sums[r][c] = sum over k of a(row LOCAL_ID / 16 + 16 r, k) b(row LOCAL_ID % 16 + 16 c, k)
    LOCAL_ARRAY(f64, left, ${depth * pad});
    LOCAL_ARRAY(f64, right, ${depth * pad});
    const i32 ix = LOCAL_ID % 16;
    const i32 iy = LOCAL_ID / 16;
% for r in range(each):
    f64 ${", ".join(f"c{r}_{c} = 0.0" for c in range(each))};
% endfor
    for (i32 k0 = 0; k0 < ${k_end}; k0 += ${depth}) {
        {
            const i32 k = k0 + ix;
            const i32 inside = k < ${k_end};
% for e in range(each):
            {
                const i32 i = iy + ${16 * e};
                left[ix * ${pad} + i] = inside ? ${load_a} : 0.0;
                right[ix * ${pad} + i] = inside ? ${load_b} : 0.0;
            }
% endfor
        }
        BARRIER();
${loops.unroll(language)}
        for (i32 k = 0; k < ${depth}; ++k) {
% for r in range(each):
            const f64 a${r} = left[k * ${pad} + iy + ${16 * r}];
            const f64 b${r} = right[k * ${pad} + ix + ${16 * r}];
% endfor
% for r in range(each):
% for c in range(each):
            c${r}_${c} += a${r} * b${c};
% endfor
% endfor
        }
        BARRIER();
    }
</%def>

// The rows below a block of pivots: L21 = A21 L11^-T. Launch: a group of ${items} for ${size} rows.
KERNEL LAUNCH_BOUNDS(${items}, 1) solve_rows(const GLOBAL i32* tasks, i64 task, i32 step, const GLOBAL i32* widths,
    const GLOBAL i32* sizes, const GLOBAL i64* panel_at, GLOBAL f64* panel) {
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 w = widths[f];
    const i32 count = MIN(w - ${size} * step, ${size});
    const i32 row0 = ${size} * step + count + ${size} * tasks[2 * (task + GROUP_ID) + 1];
    const i32 last = sizes[f] - 1 - row0;
    const GLOBAL f64* block = panel + panel_at[f] + (i64)(${size} * step) * (w + 1);
    GLOBAL f64* a = panel + panel_at[f] + (i64)row0 * w + ${size} * step;
<% inverse = "i >= count || i < k ? 0.0 : i == k ? 1.0 / block[(i64)k * w + k] : block[(i64)k * w + i]" %>
${product("count", "a[(i64)MIN(i, last) * w + k]", inverse)}
% for r in range(each):
    if (iy + ${16 * r} <= last) {
% for c in range(each):
        if (ix + ${16 * c} < count)
            a[(i64)(iy + ${16 * r}) * w + ix + ${16 * c}] = c${r}_${c};
% endfor
    }
% endfor
}

// A block of columns, from its diagonal down, less the products with all columns to the left of it that are also in the
// panel. Launch: a group of ${items} for ${size} rows.
KERNEL LAUNCH_BOUNDS(${items}, 1) update_block(const GLOBAL i32* tasks, i64 task, i32 step, const GLOBAL i32* widths,
    const GLOBAL i32* sizes, const GLOBAL i64* panel_at, GLOBAL f64* panel) {
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 w = widths[f];
    const i32 done = ${size} * step;
    const i32 count = MIN(w - done, ${size});
    const i32 row0 = done + ${size} * tasks[2 * (task + GROUP_ID) + 1];
    const i32 last = sizes[f] - 1 - row0;
    GLOBAL f64* a = panel + panel_at[f] + (i64)row0 * w;
    const GLOBAL f64* b = panel + panel_at[f] + (i64)done * w;
${product("done", "a[(i64)MIN(i, last) * w + k]", "b[(i64)MIN(i, count - 1) * w + k]")}
% for r in range(each):
    if (iy + ${16 * r} <= last) {
% for c in range(each):
        if (ix + ${16 * c} < count)
            a[(i64)(iy + ${16 * r}) * w + done + ix + ${16 * c}] -= c${r}_${c};
% endfor
    }
% endfor
}

// The update of a front: what its children give, if it has any, less L21 L21^T. Launch: a group of ${items} a tile; a task's
// tile is 65536 times its row of tiles, and its column of tiles.
KERNEL LAUNCH_BOUNDS(${items}, 1) update_rest(const GLOBAL i32* tasks, i64 task, const GLOBAL i32* widths, const GLOBAL i32* sizes,
    const GLOBAL i32* has_children, const GLOBAL i64* panel_at, const GLOBAL i64* update_at, const GLOBAL f64* panel,
    GLOBAL f64* update) {
    const i32 f = tasks[2 * (task + GROUP_ID)];
    const i32 tile = tasks[2 * (task + GROUP_ID) + 1];
    const i32 w = widths[f];
    const i32 u = sizes[f] - w;
    const i32 row0 = tile / 65536 * ${size};
    const i32 column0 = tile % 65536 * ${size};
    const i32 last_row = u - 1 - row0;
    const i32 last_column = u - 1 - column0;
    const GLOBAL f64* a = panel + panel_at[f] + (i64)(w + row0) * w;
    const GLOBAL f64* b = panel + panel_at[f] + (i64)(w + column0) * w;
    GLOBAL f64* to = update + update_at[f];
    const i32 adds = has_children[f];
${product("w", "a[(i64)MIN(i, last_row) * w + k]", "b[(i64)MIN(i, last_column) * w + k]")}
% for r in range(each):
    {
        const i32 i = row0 + iy + ${16 * r};
% for c in range(each):
        {
            const i32 j = column0 + ix + ${16 * c};
            if (i < u && j <= i) {
                const i64 at = (i64)i * u + j;
                to[at] = (adds ? to[at] : 0.0) - c${r}_${c};
            }
        }
% endfor
    }
% endfor
}
