// A = L L^T, row-major, lower, in place, by blocks of ${size} columns, for a batch of matrices:
//
//   factor_diagonal    the block on the diagonal                                  L11 = chol(A11)
//   solve_panel        the rows below it                                          L21 = A21 L11^-T
//   (product.mako)     what is to the right of it, in the lower triangle          A22 -= L21 L21^T
//
// Matrix `batch` begins at batch * n * n. status[batch] is 0, or the first pivot, counted from 1, that is not above zero; the
// factorization then goes on with 1 in its place, and what it leaves has no meaning.
<%
    pad = size + 1
    panel = 16
%>
% if block > 1:
// Launch of factor_diagonal: a group of ${block} a matrix.
KERNEL LAUNCH_BOUNDS(${block}, 1) factor_diagonal(GLOBAL f64* A, i64 n, i64 first, i32 count, GLOBAL i32* status)
{
    LOCAL_ARRAY(f64, L, ${size * pad});
    GLOBAL f64* a = A + (GROUP_ID * n + first) * n + first;
    for (i32 e = LOCAL_ID; e < count * ${size}; e += ${block}) {
        const i32 i = e / ${size};
        const i32 j = e % ${size};
        if (j <= i)
            L[i * ${pad} + j] = a[i * n + j];
    }
    BARRIER();
    for (i32 k = 0; k < count; ++k) {
        const f64 pivot = L[k * ${pad} + k];
        const f64 root = pivot > 0.0 ? sqrt(pivot) : 1.0;
        const f64 inverse = 1.0 / root;
        BARRIER();
        for (i32 i = k + LOCAL_ID; i < count; i += ${block})
            L[i * ${pad} + k] = i == k ? root : L[i * ${pad} + k] * inverse;
        if (LOCAL_ID == 0 && !(pivot > 0.0) && status[GROUP_ID] == 0)
            status[GROUP_ID] = (i32)first + k + 1;
        BARRIER();
        const i32 rest = count - k - 1;
        for (i32 e = LOCAL_ID; e < rest * ${size}; e += ${block}) {
            const i32 i = k + 1 + e / ${size};
            const i32 j = k + 1 + e % ${size};
            if (j <= i)
                L[i * ${pad} + j] -= L[i * ${pad} + k] * L[j * ${pad} + k];
        }
        BARRIER();
    }
    for (i32 e = LOCAL_ID; e < count * ${size}; e += ${block}) {
        const i32 i = e / ${size};
        const i32 j = e % ${size};
        if (j <= i)
            a[i * n + j] = L[i * ${pad} + j];
    }
}

// Launch of solve_panel: a group for each ${panel} rows of each matrix, `groups` groups a matrix; ${block // panel} work-items a row.
KERNEL LAUNCH_BOUNDS(${block}, 1) solve_panel(GLOBAL f64* A, i64 n, i64 first, i32 groups)
{
    LOCAL_ARRAY(f64, L, ${size * pad});
    LOCAL_ARRAY(f64, X, ${panel * pad});
    const i64 batch = GROUP_ID / groups;
    const i64 row0 = first + ${size} + (i64)(GROUP_ID % groups) * ${panel};
    const GLOBAL f64* a = A + (batch * n + first) * n + first;
    GLOBAL f64* x = A + (batch * n + row0) * n + first;
    const i32 rows = (i32)MIN(n - row0, (i64)${panel});
    for (i32 e = LOCAL_ID; e < ${size * size}; e += ${block}) {
        const i32 i = e / ${size};
        const i32 j = e % ${size};
        L[i * ${pad} + j] = j <= i ? a[i * n + j] : 0.0;
    }
    for (i32 e = LOCAL_ID; e < ${panel * size}; e += ${block}) {
        const i32 i = e / ${size};
        const i32 j = e % ${size};
        X[i * ${pad} + j] = i < rows ? x[i * n + j] : 0.0;
    }
    BARRIER();
    const i32 row = LOCAL_ID / ${block // panel};
    const i32 lane = LOCAL_ID % ${block // panel};
    for (i32 k = 0; k < ${size}; ++k) {
        const f64 v = X[row * ${pad} + k] / L[k * ${pad} + k];
        for (i32 j = k + 1 + lane; j < ${size}; j += ${block // panel})
            X[row * ${pad} + j] -= v * L[j * ${pad} + k];
        BARRIER();
    }
    for (i32 e = LOCAL_ID; e < ${panel * size}; e += ${block}) {
        const i32 i = e / ${size};
        const i32 j = e % ${size};
        if (i < rows)
            x[i * n + j] = X[i * ${pad} + j] / L[j * ${pad} + j];
    }
}
% else:
typedef double4 vec;
typedef double4 unaligned_vec __attribute__((aligned(8)));

FUNCTION f64 dot(const GLOBAL f64* a, const GLOBAL f64* b, i32 count)
{
    vec s = (vec)0.0;
    vec t = (vec)0.0;
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
KERNEL LAUNCH_BOUNDS(1, 1) factor_diagonal(GLOBAL f64* A, i64 n, i64 first, i32 count, GLOBAL i32* status)
{
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
KERNEL LAUNCH_BOUNDS(1, 1) solve_panel(GLOBAL f64* A, i64 n, i64 first, i32 groups)
{
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
