// y = alpha A x + beta y and y = alpha A^T x + beta y      for row-major A (m x n), one after another in a batch
//
% if block > 1:
// Launch of rows: a group of ${block} a row. Launch of columns: a group a strip of 64 columns and a part of `span` rows; the sums
// of part p are partial[(batch * parts + p) * n + j], and add_columns adds them in order, one work-item a column.
% else:
// Launch of rows: one work-item for each 16 rows. Launch of columns: one for each 256 columns (parts = 1, span = m).
typedef double4 vec;
typedef double4 unaligned_vec __attribute__((aligned(8)));
% endif

KERNEL LAUNCH_BOUNDS(${block}, 1) multiply_rows(const GLOBAL ${value}* RESTRICT A, i64 m, i64 n, const GLOBAL f64* RESTRICT x,
    f64 alpha, f64 beta, GLOBAL f64* y) {
% if block > 1:
    LOCAL_ARRAY(f64, part, ${block});
    const i64 row = GROUP_ID;
    const GLOBAL ${value}* a = A + row * n;
    const GLOBAL f64* v = x + row / m * n;
    f64 sum = 0.0;
    for (i64 k = LOCAL_ID; k < n; k += ${block})
        sum += (f64)a[k] * v[k];
    ${reduce.block_sums("part", "f64", block, ["sum"])}
    if (LOCAL_ID == 0)
        y[row] = alpha * part[0] + (beta == 0.0 ? 0.0 : beta * y[row]);
% else:
    const i64 groups = (m + 15) / 16;
    const i64 batch = GROUP_ID / groups;
    const i64 first = GROUP_ID % groups * 16;
    const i64 end = MIN(first + 16, m);
    const GLOBAL f64* v = x + batch * n;
    for (i64 row = first; row < end; ++row) {
        const GLOBAL ${value}* a = A + (batch * m + row) * n;
        f64 sum = 0.0;
        i64 k = 0;
% if value == "f64":
        vec s = (vec)0.0, t = (vec)0.0;
        for (; k + 8 <= n; k += 8) {
            s += *(const GLOBAL unaligned_vec*)(a + k) * *(const GLOBAL unaligned_vec*)(v + k);
            t += *(const GLOBAL unaligned_vec*)(a + k + 4) * *(const GLOBAL unaligned_vec*)(v + k + 4);
        }
        s += t;
        sum = (s.s0 + s.s1) + (s.s2 + s.s3);
% endif
        for (; k < n; ++k)
            sum += (f64)a[k] * v[k];
        GLOBAL f64* at = y + batch * m + row;
        *at = alpha * sum + (beta == 0.0 ? 0.0 : beta * *at);
    }
% endif
}

KERNEL LAUNCH_BOUNDS(${block}, 1) multiply_columns(const GLOBAL ${value}* RESTRICT A, i64 m, i64 n, const GLOBAL f64* RESTRICT x,
    i64 parts, i64 span, f64 alpha, f64 beta, GLOBAL f64* partial, GLOBAL f64* y) {
% if block > 1:
    LOCAL_ARRAY(f64, part, ${block});
    const i64 strips = (n + 63) / 64;
    const i64 strip = GROUP_ID % strips;
    const i64 p = GROUP_ID / strips % parts;
    const i64 batch = GROUP_ID / strips / parts;
    const i64 j = strip * 64 + LOCAL_ID % 64;
    const i32 lane = LOCAL_ID / 64;
    const i64 end = MIN((p + 1) * span, m);
    f64 sum = 0.0;
    if (j < n)
        for (i64 i = p * span + lane; i < end; i += ${block // 64})
            sum += (f64)A[(batch * m + i) * n + j] * x[batch * m + i];
    part[LOCAL_ID] = sum;
    BARRIER();
    if (lane == 0 && j < n) {
        for (i32 k = 1; k < ${block // 64}; ++k)
            sum += part[k * 64 + LOCAL_ID];
        if (parts > 1)
            partial[(batch * parts + p) * n + j] = sum;
        else {
            GLOBAL f64* at = y + batch * n + j;
            *at = alpha * sum + (beta == 0.0 ? 0.0 : beta * *at);
        }
    }
% else:
    LOCAL_ARRAY(f64, sum, 256);
    const i64 strips = (n + 255) / 256;
    const i64 batch = GROUP_ID / strips;
    const i64 first = GROUP_ID % strips * 256;
    const i32 count = (i32)MIN(n - first, (i64)256);
    for (i32 j = 0; j < count; ++j)
        sum[j] = 0.0;
    for (i64 i = 0; i < m; ++i) {
        const GLOBAL ${value}* a = A + (batch * m + i) * n + first;
        const f64 v = x[batch * m + i];
        i32 j = 0;
% if value == "f64":
        const vec w = (vec)v;
        for (; j + 4 <= count; j += 4)
            *(LOCAL unaligned_vec*)(sum + j) += w * *(const GLOBAL unaligned_vec*)(a + j);
% endif
        for (; j < count; ++j)
            sum[j] += v * (f64)a[j];
    }
    GLOBAL f64* to = y + batch * n + first;
    for (i32 j = 0; j < count; ++j)
        to[j] = alpha * sum[j] + (beta == 0.0 ? 0.0 : beta * to[j]);
% endif
}

KERNEL LAUNCH_BOUNDS(${block}, 1) add_columns(const GLOBAL f64* RESTRICT partial, i64 parts, i64 n, i64 total, f64 alpha, f64 beta,
    GLOBAL f64* y) {
    const i64 at = GLOBAL_ID;
    if (at < total) {
        f64 sum = 0.0;
        for (i64 p = 0; p < parts; ++p)
            sum += partial[(at / n * parts + p) * n + at % n];
        y[at] = alpha * sum + (beta == 0.0 ? 0.0 : beta * y[at]);
    }
}

// target[i][j] = A[i][j] factor, with factor = sqrt(s[j]) or s[j], or s[i] if `by_row`, or 1 without s; in float64.
// Of the columns [first, first + width) of A's `columns`; of the rows from `row0` on. Launch: a work-item an element.
KERNEL LAUNCH_BOUNDS(${block}, 1) scale_copy(const GLOBAL ${value}* RESTRICT A, i64 row0, i64 columns, i64 first, i64 width,
    i64 rows, i64 batch_rows, const GLOBAL f64* RESTRICT s, i64 s_batch, i32 mode, i32 by_row, GLOBAL f64* RESTRICT target) {
    const i64 total = rows * width;
    for (i64 e = GLOBAL_ID; e < total; e += GLOBAL_SIZE) {
        const i64 i = e / width + row0;
        const i64 j = e % width + first;
        f64 factor = 1.0;
        if (mode != 0) {
            factor = s[(i / batch_rows) * s_batch + (by_row ? i % batch_rows : j)];
            if (mode == 2)
                factor = sqrt(factor);
        }
        target[e] = (f64)A[i * columns + j] * factor;
    }
}
