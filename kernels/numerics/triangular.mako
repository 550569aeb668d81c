<%
    lanes = 16
    strip = 16
%>
// L y = r and L^T y = r, in place, for row-major lower L and right-hand sides that are rows of n values.
//
// Right-hand side `row` is at row * n; its factor at (row / rows_per_factor) * n * n.
% if block > 1:
//
// By spans of ${block} unknowns: a launch takes the finished span `done` (-1 at first) out of all that is not finished, and the
// group that holds the next span finishes it, ${size} unknowns at a time: by the inverse of their block of L, which factor_panel
// has left above the diagonal (transposed, less its own diagonal, 1 / L_kk). Launch: `groups` groups of ${block} a right-hand side,
// one a span, counted from the next span on.
//
// Where rows of L are read along themselves, ${lanes} work-items read a row, and their sums are added in local memory.
// What a later block needs of L is read while an earlier one is at work.
<%
    subs = block // lanes                # rows read at a time
    each = size // lanes                 # values of a row of one block that a work-item reads
    inner = block // size                # blocks in a span
    deep = block // lanes                # values of a row of a span that a work-item reads
    beside = (inner - 1) * size // subs  # rows of the blocks below the first one that a work-item reads
    quarter = size // inner
    row = lanes + 1
%>
<%def name="begin(span)">
    LOCAL_ARRAY(f64, part, ${block * row});
    LOCAL_ARRAY(f64, y, ${block});
    const i64 of = GROUP_ID / groups;
    const i32 ahead = GROUP_ID % groups;
    const i32 spans = (i32)((n + ${block - 1}) / ${block});
    const i32 mine = ${span};
    const i64 i0 = (i64)mine * ${block};
    const i64 k0 = (i64)done * ${block};
    const i32 count = (i32)MIN(n - i0, (i64)${block});
    const i32 depth = done < 0 ? 0 : (i32)MIN(n - k0, (i64)${block});
    const GLOBAL f64* l = L + of / rows_per_factor * n * n;
    const GLOBAL f64* own = l + i0 * n + i0;               // the span's block on the diagonal
    GLOBAL f64* r = R + of * n;
    const i32 lane = LOCAL_ID % ${lanes};
    const i32 sub = LOCAL_ID / ${lanes};
    const i32 last = count - 1;                            // what is read in place of what is beyond the matrix
    const i32 stride = (i32)n;                             // a span has fewer than 2^31 places
    const i32 blocks = (count + ${size - 1}) / ${size};
    f64 pivot = 1.0;
</%def>
<%def name="fetch_pivot(b)">
            pivot = own[MIN(${b} * ${size} + LOCAL_ID % ${size}, last) * (stride + 1)];
</%def>
<%def name="fetch_inverse_rows(b)">
            // row i of the block's inverse, transposed, is row i above the diagonal
${loops.unroll(language)}
            for (i32 p = 0; p < ${size // subs}; ++p) {
                const i32 i = p * ${subs} + sub;
${loops.unroll(language)}
                for (i32 q = 0; q < ${each}; ++q) {
                    const i32 j = q * ${lanes} + lane;
                    const f64 v = own[MIN(${b} * ${size} + i, last) * stride + MIN(${b} * ${size} + j, last)];
                    inverse[p * ${each} + q] = j > i && ${b} * ${size} + j <= last ? v : 0.0;
                }
            }
            ${fetch_pivot(b)}
</%def>
<%def name="fetch_above(b)">
            // the block's rows, in the column LOCAL_ID to the left of it
            if (LOCAL_ID < ${b} * ${size})
${loops.unroll(language)}
                for (i32 k = 0; k < ${size}; ++k)
                    fetched[k] = own[MIN(${b} * ${size} + k, last) * stride + LOCAL_ID];
</%def>
<%def name="fetch_inverse_columns(b)">
            // column i of the inverse, transposed, is row i of the inverse; a work-item has every ${inner}th value of it
${loops.unroll(language)}
            for (i32 q = 0; q < ${quarter}; ++q) {
                const i32 i = LOCAL_ID % ${size};
                const i32 j = q * ${inner} + LOCAL_ID / ${size};
                const f64 v = own[MIN(${b} * ${size} + j, last) * stride + MIN(${b} * ${size} + i, last)];
                inverse[q] = j < i && ${b} * ${size} + i <= last ? v : 0.0;
            }
            ${fetch_pivot(b)}
</%def>
<%def name="fetch_below(b)">
            // rows below the block, in its columns
${loops.unroll(language)}
            for (i32 p = 0; p < ${beside}; ++p) {
                const i32 i = MIN((${b} + 1) * ${size} + p * ${subs} + sub, last);
${loops.unroll(language)}
                for (i32 q = 0; q < ${each}; ++q)
                    fetched[p * ${each} + q] = own[i * stride + ${b} * ${size} + q * ${lanes} + lane];
            }
</%def>

KERNEL LAUNCH_BOUNDS(${block}, 1) solve_lower(const GLOBAL f64* L, GLOBAL f64* R, i64 n, i64 rows_per_factor, i32 done,
    i32 groups) {
${begin("done + 1 + ahead")}
    f64 inverse[${quarter}];
    f64 fetched[${each * beside}];
    if (ahead == 0) {    // here and below the same for all work-items of a group
${fetch_inverse_columns("0")}
    }
    f64 left = LOCAL_ID < count ? r[i0 + LOCAL_ID] : 0.0;
    if (depth > 0) {
        y[LOCAL_ID] = LOCAL_ID < depth ? r[k0 + LOCAL_ID] : 0.0;
        BARRIER();
        f64 x[${deep}];
${loops.unroll(language)}
        for (i32 q = 0; q < ${deep}; ++q)
            x[q] = y[q * ${lanes} + lane];
        for (i32 p = 0; p < ${block // subs}; p += 2) {
            const GLOBAL f64* from = l + (i0 + MIN(p * ${subs} + sub, last)) * n + k0 + lane;
            const GLOBAL f64* other = l + (i0 + MIN((p + 1) * ${subs} + sub, last)) * n + k0 + lane;
            f64 v[${2 * deep}];
${loops.unroll(language)}
            for (i32 q = 0; q < ${deep}; ++q) {
                v[2 * q] = from[q * ${lanes}];
                v[2 * q + 1] = other[q * ${lanes}];
            }
            f64 s = 0.0, t = 0.0;
${loops.unroll(language)}
            for (i32 q = 0; q < ${deep}; ++q) {
                s += v[2 * q] * x[q];
                t += v[2 * q + 1] * x[q];
            }
            part[(p * ${subs} + sub) * ${row} + lane] = s;
            part[((p + 1) * ${subs} + sub) * ${row} + lane] = t;
        }
        BARRIER();
        f64 sum = 0.0;
${loops.unroll(language)}
        for (i32 q = 0; q < ${lanes}; ++q)
            sum += part[LOCAL_ID * ${row} + q];
        left -= sum;
        BARRIER();
    }
    if (ahead != 0) {
        if (LOCAL_ID < count)
            r[i0 + LOCAL_ID] = left;
    } else {
        y[LOCAL_ID] = left;
        if (blocks > 1) {
${fetch_below("0")}
        }
        BARRIER();
        for (i32 b = 0; b < blocks; ++b) {
            f64 s = 0.0;
${loops.unroll(language)}
            for (i32 q = 0; q < ${quarter}; ++q)
                s += inverse[q] * y[b * ${size} + q * ${inner} + LOCAL_ID / ${size}];
            part[LOCAL_ID] = s;
            const f64 first = y[b * ${size} + LOCAL_ID % ${size}] / pivot;
            if (b + 1 < blocks) {
${fetch_inverse_columns("(b + 1)")}
            }
            BARRIER();
            if (LOCAL_ID < ${size}) {
                s = first;
                for (i32 q = 0; q < ${inner}; ++q)
                    s += part[q * ${size} + LOCAL_ID];
                y[b * ${size} + LOCAL_ID] = s;
                if (b * ${size} + LOCAL_ID < count)
                    r[i0 + b * ${size} + LOCAL_ID] = s;
            }
            BARRIER();
            if (b + 1 < blocks) {
${loops.unroll(language)}
                for (i32 p = 0; p < ${beside}; ++p) {
                    const i32 i = (b + 1) * ${size} + p * ${subs} + sub;
                    s = 0.0;
${loops.unroll(language)}
                    for (i32 q = 0; q < ${each}; ++q)
                        s += fetched[p * ${each} + q] * y[b * ${size} + q * ${lanes} + lane];
                    if (i < ${block})
                        part[i * ${row} + lane] = s;
                }
                if (b + 2 < blocks) {
${fetch_below("(b + 1)")}
                }
                BARRIER();
                if (LOCAL_ID >= (b + 1) * ${size}) {
                    s = 0.0;
${loops.unroll(language)}
                    for (i32 q = 0; q < ${lanes}; ++q)
                        s += part[LOCAL_ID * ${row} + q];
                    y[LOCAL_ID] -= s;
                }
                BARRIER();
            }
        }
    }
}

KERNEL LAUNCH_BOUNDS(${block}, 1) solve_lower_transposed(const GLOBAL f64* L, GLOBAL f64* R, i64 n, i64 rows_per_factor, i32 done,
    i32 groups) {
${begin("(done < 0 ? spans : done) - 1 - ahead")}
    f64 inverse[${each * size // subs}];
    f64 fetched[${size}];
    if (ahead == 0) {    // here and below the same for all work-items of a group
${fetch_inverse_rows("(blocks - 1)")}
    }
    f64 left = LOCAL_ID < count ? r[i0 + LOCAL_ID] : 0.0;
    if (depth > 0) {
        y[LOCAL_ID] = LOCAL_ID < depth ? r[k0 + LOCAL_ID] : 0.0;
        BARRIER();
        const GLOBAL f64* from = l + k0 * n + i0 + MIN(LOCAL_ID, last);
        f64 s = 0.0, t = 0.0;
        i32 k = 0;
        for (; k + ${strip} <= depth; k += ${strip}) {
            f64 v[${strip}];
${loops.unroll(language)}
            for (i32 q = 0; q < ${strip}; ++q)
                v[q] = from[(i64)(k + q) * n];
${loops.unroll(language)}
            for (i32 q = 0; q < ${strip}; q += 2) {
                s += v[q] * y[k + q];
                t += v[q + 1] * y[k + q + 1];
            }
        }
        for (; k < depth; ++k)
            s += from[(i64)k * n] * y[k];
        left -= s + t;
        BARRIER();
    }
    if (ahead != 0) {
        if (LOCAL_ID < count)
            r[i0 + LOCAL_ID] = left;
    } else {
        y[LOCAL_ID] = left;
        if (blocks > 1) {
${fetch_above("(blocks - 1)")}
        }
        BARRIER();
        for (i32 b = blocks - 1; b >= 0; --b) {
${loops.unroll(language)}
            for (i32 p = 0; p < ${size // subs}; ++p) {
                f64 s = 0.0;
${loops.unroll(language)}
                for (i32 q = 0; q < ${each}; ++q)
                    s += inverse[p * ${each} + q] * y[b * ${size} + q * ${lanes} + lane];
                part[(p * ${subs} + sub) * ${row} + lane] = s;
            }
            const f64 first = y[b * ${size} + LOCAL_ID % ${size}] / pivot;
            if (b > 0) {
${fetch_inverse_rows("(b - 1)")}
            }
            BARRIER();
            if (LOCAL_ID < ${size}) {
                f64 s = first;
${loops.unroll(language)}
                for (i32 q = 0; q < ${lanes}; ++q)
                    s += part[LOCAL_ID * ${row} + q];
                y[b * ${size} + LOCAL_ID] = s;
                if (b * ${size} + LOCAL_ID < count)
                    r[i0 + b * ${size} + LOCAL_ID] = s;
            }
            BARRIER();
            if (LOCAL_ID < b * ${size}) {
                f64 s = 0.0, t = 0.0;
${loops.unroll(language)}
                for (i32 k = 0; k < ${size}; k += 2) {
                    s += fetched[k] * y[b * ${size} + k];
                    t += fetched[k + 1] * y[b * ${size} + k + 1];
                }
                y[LOCAL_ID] -= s + t;
            }
            if (b > 0) {
${fetch_above("(b - 1)")}
            }
            BARRIER();
        }
    }
}
% else:
// Launch: one work-item a right-hand side, for the whole of it; `done` and `groups` are not used.
${triangular_serial.functions()}

% for entry in ("solve_lower", "solve_lower_transposed"):
KERNEL LAUNCH_BOUNDS(1, 1) ${entry}(const GLOBAL f64* L, GLOBAL f64* R, i64 n, i64 rows_per_factor, i32 done, i32 groups) {
    serial_${entry}(L + GROUP_ID / rows_per_factor * n * n, R + GROUP_ID * n, n);
}

% endfor
% endif
