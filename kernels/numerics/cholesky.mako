// A = L L^T, row-major, lower, in place, by blocks of ${size} columns, for a batch of matrices. Matrix `batch` begins at
// batch * n * n. status[batch] is 0, or the first pivot, counted from 1, that is not above zero; the factorization then goes on,
// and what it leaves has no meaning.
<%
    panel = 16
%>
% if block > 1:
<%
    width = 8                  # columns that are factorized without a barrier
    chunk = 16                 # columns in local memory at a time
    chunk_row = chunk + 2      # so that rows read together by pairs lie in different banks
    width_row = width + 2
    items = 2 * size
    loads = items * chunk // items
%>
//
// One launch of factor_panel finishes ${size} columns from `first` on. Columns from `since` to `first` are finished, but not yet
// taken out of these; those before `since` are (product.mako), so that
//
//   [A11]    [A11]   [L1]                                             L11 = chol(A11)
//   [A21] -= [A21] - [L2] L1^T     where L1, L2: columns since..first, then      L21 = A21 L11^-T
//
// Launch: groups of ${items}, `groups` a matrix. Each makes L11 for itself, so that none waits for another: a work-item has a row
// of A11 or a row of one tile of A21, in registers, and the columns go through by ${width}. A tile is ${size} rows; after the tiles
// comes a group whose rows are those of the identity: L11^-T, which is what triangular.mako multiplies by. It goes above the
// diagonal of A11; 1 / L_kk, on it, is left out. As other groups read A11 meanwhile, L11 goes to `diagonal` (two blocks a
// matrix, in turn), and one more group of the launch after this puts it into its place; the last launch, which has no tiles,
// does so itself.
KERNEL LAUNCH_BOUNDS(${items}, 1) factor_panel(GLOBAL f64* A, i64 n, i64 first, i64 since, i32 groups, GLOBAL f64* diagonal,
    GLOBAL i32* status) {
    LOCAL_ARRAY(double2, store, ${items * chunk_row});     // two strips of ${chunk} columns
    LOCAL f64* strips = (LOCAL f64*)store;
    const i64 batch = GROUP_ID / groups;
    const i32 g = GROUP_ID % groups;
    const i32 count = (i32)MIN(n - first, (i64)${size});
    const i32 tiles = (i32)((n - first - count + ${size - 1}) / ${size});
    GLOBAL f64* a = A + batch * n * n;
    GLOBAL f64* place = diagonal + (batch * 2 + first / ${size} % 2) * ${size * size};
    if (g > tiles) {
        const GLOBAL f64* before = diagonal + (batch * 2 + (first / ${size} + 1) % 2) * ${size * size};
        GLOBAL f64* to = a + (first - ${size}) * n + first - ${size};
        for (i32 e = LOCAL_ID; e < ${size * size}; e += ${items}) {
            const i32 i = e / ${size};
            const i32 j = e % ${size};
            if (j <= i)
                to[i * n + j] = before[e];
        }
    } else {
        const i32 is_tile = g < tiles;
        const i64 row0 = first + ${size} + (i64)g * ${size};
        const i32 more = (i32)((first - since) / ${chunk});
        f64 own[${size}];
        f64 next[${loads}];
        i32 now = 0;
<%def name="fetch(column, is_first)">
            {
                // above the diagonal nothing is read: there another group writes
                const i32 column = LOCAL_ID % ${chunk};
                const i64 from = ${column} + column;
${loops.unroll(language)}
                for (i32 e = 0; e < ${loads // 2}; ++e) {
                    const i64 i = MIN(first + LOCAL_ID / ${chunk} + e * ${items // chunk}, n - 1);
                    next[e] = a[i * n + MIN(from, i)];
                }
${loops.unroll(language)}
                for (i32 e = 0; e < ${loads // 2}; ++e) {
                    const i32 i = LOCAL_ID / ${chunk} + e * ${items // chunk};
<% below = "first + i == from ? 1.0 : 0.0" if is_first else "0.0" %>
                    next[${loads // 2} + e] = is_tile ? a[MIN(row0 + i, n - 1) * n + from] : ${below};
                }
            }
</%def>
<%def name="keep()">
${loops.unroll(language)}
            for (i32 e = 0; e < ${loads}; ++e)
                strips[now + (LOCAL_ID / ${chunk} + e * ${items // chunk}) * ${chunk_row} + LOCAL_ID % ${chunk}] = next[e];
            BARRIER();
</%def>
${fetch("first", True)}
${keep()}
% for c in range(size // chunk):
        {
% if c + 1 < size // chunk:
${fetch(f"first + {chunk * (c + 1)}", True)}
% else:
            if (more > 0)
${fetch("since", False)}
% endif
            LOCAL const double2* from = (LOCAL const double2*)(strips + now + LOCAL_ID * ${chunk_row});
${loops.unroll(language)}
            for (i32 k = 0; k < ${chunk // 2}; ++k) {
                const double2 v = from[k];
                own[${chunk * c} + 2 * k] = v.x;
                own[${chunk * c + 1} + 2 * k] = v.y;
            }
            now = ${items * chunk_row} - now;
${keep()}
        }
% endfor
        // take out the columns since..first
        for (i32 step = 0; step < more; ++step) {
            if (step + 1 < more)
${fetch(f"since + (step + 1) * {chunk}", False)}
            for (i32 w0 = 0; w0 < ${chunk}; w0 += ${width}) {
                LOCAL const f64* part = strips + now + w0;
                LOCAL const double2* from = (LOCAL const double2*)(part + LOCAL_ID * ${chunk_row});
                double2 x[${width // 2}];
${loops.unroll(language)}
                for (i32 k = 0; k < ${width // 2}; ++k)
                    x[k] = from[k];
${loops.unroll(language)}
                for (i32 c = 0; c < ${size}; ++c) {
                    LOCAL const double2* l = (LOCAL const double2*)(part + c * ${chunk_row});
                    f64 v = own[c];
${loops.unroll(language)}
                    for (i32 k = 0; k < ${width // 2}; ++k) {
                        const double2 w = l[k];
                        v -= x[k].x * w.x;
                        v -= x[k].y * w.y;
                    }
                    own[c] = v;
                }
            }
            now = ${items * chunk_row} - now;
${keep()}
        }
        // columns by ${width}: those at hand are always own[0..${width - 1}]
        LOCAL f64* panel = strips;
        LOCAL f64* corner = strips + ${items * width_row};
        i32 failed = 0;
        for (i32 top = 0; top < count; top += ${width}) {
            if (LOCAL_ID >= top && LOCAL_ID < top + ${width})
${loops.unroll(language)}
                for (i32 k = 0; k < ${width}; ++k)
                    corner[(LOCAL_ID - top) * ${width} + k] = own[k];
            BARRIER();
            f64 d[${width * width}];
${loops.unroll(language)}
            for (i32 i = 0; i < ${width}; ++i) {
                LOCAL const double2* from = (LOCAL const double2*)(corner + i * ${width});
${loops.unroll(language)}
                for (i32 k = 0; k < ${width // 2}; ++k)
                    if (2 * k <= i) {
                        const double2 v = from[k];
                        d[i * ${width} + 2 * k] = v.x;
                        d[i * ${width} + 2 * k + 1] = v.y;
                    }
            }
            f64 solved[${width}];
${loops.unroll(language)}
            for (i32 k = 0; k < ${width}; ++k)
                solved[k] = own[k];
${loops.unroll(language)}
            for (i32 k = 0; k < ${width}; ++k) {
                const f64 pivot = d[k * ${width} + k];
                const f64 inverse = rsqrt(pivot > 0.0 ? pivot : 1.0);
                if (!(pivot > 0.0) && failed == 0 && top + k < count)
                    failed = top + k + 1;
                solved[k] *= inverse;
${loops.unroll(language)}
                for (i32 i = k + 1; i < ${width}; ++i) {
                    d[i * ${width} + k] *= inverse;
                    solved[i] -= solved[k] * d[i * ${width} + k];
${loops.unroll(language)}
                    for (i32 j = k + 1; j <= i; ++j)
                        d[i * ${width} + j] -= d[i * ${width} + k] * d[j * ${width} + k];
                }
            }
            {
                LOCAL double2* to = (LOCAL double2*)(panel + LOCAL_ID * ${width_row});
${loops.unroll(language)}
                for (i32 k = 0; k < ${width // 2}; ++k) {
                    double2 v;
                    v.x = solved[2 * k];
                    v.y = solved[2 * k + 1];
                    to[k] = v;
                }
            }
            BARRIER();
${loops.unroll(language)}
            for (i32 e = 0; e < ${size * width // items}; ++e) {
                const i32 i = LOCAL_ID / ${width} + e * ${items // width};
                const i32 j = top + LOCAL_ID % ${width};
                const f64 v = panel[(${size} + i) * ${width_row} + LOCAL_ID % ${width}];
                if (is_tile) {
                    if (row0 + i < n)
                        a[(row0 + i) * n + first + j] = v;
                } else {
                    if (j > i && j < count)
                        a[(first + i) * n + first + j] = v;
                    const f64 u = panel[i * ${width_row} + LOCAL_ID % ${width}];
                    if (tiles > 0)
                        place[i * ${size} + j] = u;
                    else if (j <= i && i < count)
                        a[(first + i) * n + first + j] = u;
                }
            }
${loops.unroll(language)}
            for (i32 q = 1; q < ${size // width}; ++q)
                if (top + q * ${width} < ${size})
${loops.unroll(language)}
                    for (i32 c = 0; c < ${width}; ++c) {
                        LOCAL const double2* l = (LOCAL const double2*)(panel + (top + q * ${width} + c) * ${width_row});
                        f64 v = own[q * ${width} + c];
${loops.unroll(language)}
                        for (i32 k = 0; k < ${width // 2}; ++k) {
                            const double2 w = l[k];
                            v -= solved[2 * k] * w.x;
                            v -= solved[2 * k + 1] * w.y;
                        }
                        own[(q - 1) * ${width} + c] = v;
                    }
        }
        if (LOCAL_ID == 0 && g == tiles) {
            if (first == 0)
                status[batch] = failed;
            else if (failed != 0 && status[batch] == 0)
                status[batch] = (i32)first + failed;
        }
    }
}
% else:
//
//   factor_diagonal    the block on the diagonal                                  L11 = chol(A11)
//   solve_panel        the rows below it                                          L21 = A21 L11^-T
//   (product.mako)     what is to the right of it, in the lower triangle          A22 -= L21 L21^T
typedef double4 vec;
typedef double4 unaligned_vec __attribute__((aligned(8)));

FUNCTION f64 dot(const GLOBAL f64* a, const GLOBAL f64* b, i32 count) {
    vec s = (vec)0.0, t = (vec)0.0;
    i32 i = 0;
    for (; i + 8 <= count; i += 8) {
        s += *(const GLOBAL unaligned_vec*)(a + i) * *(const GLOBAL unaligned_vec*)(b + i);
        t += *(const GLOBAL unaligned_vec*)(a + i + 4) * *(const GLOBAL unaligned_vec*)(b + i + 4);
    }
    s += t;
    f64 sum = (s.s0 + s.s1) + (s.s2 + s.s3);
    for (; i < count; ++i)
        sum += a[i] * b[i];
    return sum;
}

// Launch of factor_diagonal: one work-item a matrix.
KERNEL LAUNCH_BOUNDS(1, 1) factor_diagonal(GLOBAL f64* A, i64 n, i64 first, i32 count, GLOBAL i32* status) {
    GLOBAL f64* a = A + (GROUP_ID * n + first) * n + first;
    for (i32 i = 0; i < count; ++i) {
        for (i32 j = 0; j < i; ++j)
            a[i * n + j] = (a[i * n + j] - dot(a + i * n, a + j * n, j)) / a[j * n + j];
        const f64 pivot = a[i * n + i] - dot(a + i * n, a + i * n, i);
        if (!(pivot > 0.0) && status[GROUP_ID] == 0)
            status[GROUP_ID] = (i32)first + i + 1;
        a[i * n + i] = pivot > 0.0 ? sqrt(pivot) : 1.0;
    }
}

// Launch of solve_panel: one work-item for each ${panel} rows of each matrix, `groups` of them a matrix.
KERNEL LAUNCH_BOUNDS(1, 1) solve_panel(GLOBAL f64* A, i64 n, i64 first, i32 groups) {
    const i64 batch = GROUP_ID / groups;
    const i64 row0 = first + ${size} + (i64)(GROUP_ID % groups) * ${panel};
    const GLOBAL f64* a = A + (batch * n + first) * n + first;
    GLOBAL f64* x = A + (batch * n + row0) * n + first;
    const i32 rows = (i32)MIN(n - row0, (i64)${panel});
    for (i32 i = 0; i < rows; ++i)
        for (i32 k = 0; k < ${size}; ++k)
            x[i * n + k] = (x[i * n + k] - dot(x + i * n, a + k * n, k)) / a[k * n + k];
}
% endif
