// Products, factors and sums of one group for linprog/together: row i is a work-item's, and each function is between barriers.
<%def name="functions(block, rows, space, matrix_space, stride)">\
% if block == 1:
#define SYNCHRONIZE()
typedef double4 vec;
typedef double4 unaligned_vec __attribute__((aligned(8)));
#define VECTOR(pointer) (*(const GLOBAL unaligned_vec*)(pointer))

FUNCTION f64 inner(i64 count, const GLOBAL f64* a, const GLOBAL f64* b) {
    vec one = 0.0, two = 0.0;
    i64 k = 0;
    for (; k + 8 <= count; k += 8) {
        one += VECTOR(a + k) * VECTOR(b + k);
        two += VECTOR(a + k + 4) * VECTOR(b + k + 4);
    }
    one += two;
    f64 sum = one.x + one.y + one.z + one.w;
    for (; k < count; ++k)
        sum += a[k] * b[k];
    return sum;
}

// out[r] = a b[r * stride ...], for four r
FUNCTION void inner_by_four(i64 count, const GLOBAL f64* a, const GLOBAL f64* b, i64 stride, GLOBAL f64* out) {
% for r in range(4):
    vec sum${r} = 0.0;
    f64 rest${r} = 0.0;
% endfor
    i64 k = 0;
    for (; k + 4 <= count; k += 4) {
        const vec left = VECTOR(a + k);
% for r in range(4):
        sum${r} += left * VECTOR(b + ${r} * stride + k);
% endfor
    }
    for (; k < count; ++k) {
% for r in range(4):
        rest${r} += a[k] * b[${r} * stride + k];
% endfor
    }
% for r in range(4):
    out[${r}] = sum${r}.x + sum${r}.y + sum${r}.z + sum${r}.w + rest${r};
% endfor
}
% else:
#define SYNCHRONIZE() BARRIER()
% endif

% for name, operation in (("sum_of", "sum"), ("greatest_of", "max")):
// Over all work-items of the group; each gets it. A NaN wins.
FUNCTION_APART f64 ${name}(LOCAL f64* part, f64 value) {
    ${reduce.group_reduce("part", "f64", block, [("value", operation)])}
    return value;
}

% endfor
// out = A v + the slacks' part of v, for v with its signs. Barriers before and after.
FUNCTION_APART void multiply(i64 m, i64 n, const GLOBAL f64* A, const GLOBAL f64* At, const GLOBAL f64* v, ${space} f64* out) {
    SYNCHRONIZE();
    for (i64 i = LOCAL_ID; i < m; i += ${block}) {
% if block == 1:
        out[i] = inner(n, A + i * n, v) + v[n + i];
% else:
        f64 sum = v[n + i];
        for (i64 j = 0; j < n; ++j)
            sum += At[j * m + i] * v[j];
        out[i] = sum;
% endif
    }
    SYNCHRONIZE();
}

// out = A^T y with the signs, and the slacks' part. Barriers before and after.
FUNCTION_APART void multiply_transposed(i64 m, i64 n, const GLOBAL f64* A, const GLOBAL f64* sign, const ${space} f64* y,
    GLOBAL f64* out) {
    SYNCHRONIZE();
% if block == 1:
    i64 j = 0;
    for (; j + 16 <= n; j += 16) {
% for part in range(4):
        vec sum${part} = 0.0;
% endfor
        for (i64 i = 0; i < m; ++i) {
% for part in range(4):
            sum${part} += y[i] * VECTOR(A + i * n + j + ${4 * part});
% endfor
        }
% for part in range(4):
        *(GLOBAL unaligned_vec*)(out + j + ${4 * part}) = sum${part} * VECTOR(sign + j + ${4 * part});
% endfor
    }
% else:
    i64 j = LOCAL_ID;
% endif
    for (; j < n; j += ${block}) {
        f64 sum = 0.0;
        for (i64 i = 0; i < m; ++i)
            sum += y[i] * A[i * n + j];
        out[j] = sum * sign[j];
    }
    for (i64 i = LOCAL_ID; i < m; i += ${block})
        out[n + i] = sign[n + i] * y[i];
    SYNCHRONIZE();
}

// M = A diag(theta) A^T + the slacks' theta, lower triangle; `scaled` has room for n numbers.
FUNCTION_APART void form(i64 m, i64 n, const GLOBAL f64* A, const GLOBAL f64* At, const GLOBAL f64* theta, GLOBAL f64* scaled,
    ${matrix_space} f64* M) {
    SYNCHRONIZE();
% if block == 1:
    for (i64 i = 0; i < m; ++i) {
        for (i64 j = 0; j < n; ++j)
            scaled[j] = theta[j] * A[i * n + j];
        i64 k = 0;
        for (; k + 4 <= i + 1; k += 4)
            inner_by_four(n, scaled, A + k * n, n, M + i * ${stride} + k);
        for (; k <= i; ++k)
            M[i * ${stride} + k] = inner(n, scaled, A + k * n);
        M[i * ${stride} + i] += theta[n + i];
    }
% else:
    for (i32 e = LOCAL_ID; e < m * (m + 1) / 2; e += ${block}) {  // entry e of the triangle, row after row
        i32 i = (i32)((sqrt(8.0f * (f32)e + 1.0f) - 1.0f) * 0.5f);
        while ((i + 1) * (i + 2) / 2 <= e)
            ++i;
        while (i * (i + 1) / 2 > e)
            --i;
        const i32 k = e - i * (i + 1) / 2;
        f64 sum = i == k ? theta[n + i] : 0.0;
        for (i64 j = 0; j < n; ++j)
            sum += At[j * m + i] * theta[j] * At[j * m + k];
        M[i * ${stride} + k] = sum;
    }
% endif
    SYNCHRONIZE();
}

// M = L L^T in place, lower triangle; inverse = 1 / diagonal of L. Dependent rows get an infinite pivot: their part is zero.
FUNCTION_APART void factor(i64 m, f64 relative, f64 absolute, ${matrix_space} f64* M,
    ${space} f64* inverse) {
% if block == 1:
    for (i64 i = 0; i < m; ++i) {
        GLOBAL f64* row = M + i * ${stride};
        const f64 given = row[i] + relative * row[i] + absolute;
        for (i64 k = 0; k < i; ++k)
            row[k] = (row[k] - inner(k, row, M + k * ${stride})) * inverse[k];
        const f64 pivot = given - inner(i, row, row);
        inverse[i] = pivot > 1.0e-14 * given ? 1.0 / sqrt(pivot) : 0.0;
    }
% else:
    for (i64 i = LOCAL_ID; i < m; i += ${block}) {
        const f64 given = M[i * ${stride} + i] + relative * M[i * ${stride} + i] + absolute;
        M[i * ${stride} + i] = given;
        inverse[i] = 1.0e-14 * given;
    }
    for (i64 k = 0; k < m; ++k) {
        SYNCHRONIZE();
        const f64 pivot = M[k * ${stride} + k];
        const f64 reciprocal = pivot > inverse[k] ? 1.0 / sqrt(pivot) : 0.0;
        for (i64 i = k + 1 + LOCAL_ID; i < m; i += ${block})
            M[i * ${stride} + k] *= reciprocal;
        SYNCHRONIZE();
        if (LOCAL_ID == 0)
            inverse[k] = reciprocal;
        for (i64 i = k + 1 + LOCAL_ID / 8; i < m; i += ${block // 8}) {
            const f64 left = M[i * ${stride} + k];
            for (i64 j = k + 1 + LOCAL_ID % 8; j <= i; j += 8)
                M[i * ${stride} + j] -= left * M[j * ${stride} + k];
        }
    }
% endif
    SYNCHRONIZE();
}

// L L^T r = r in place. Barriers before and after.
FUNCTION_APART void solve(i64 m, const ${matrix_space} f64* L, const ${space} f64* inverse,
    ${space} f64* r) {
% if block == 1:
    for (i64 i = 0; i < m; ++i)
        r[i] = (r[i] - inner(i, L + i * ${stride}, r)) * inverse[i];
    for (i64 i = m - 1; i >= 0; --i) {
        const f64 value = r[i] * inverse[i];
        r[i] = value;
        for (i64 k = 0; k < i; ++k)
            r[k] -= value * L[i * ${stride} + k];
    }
% else:
    for (i64 k = 0; k < m; ++k) {
        SYNCHRONIZE();
        const f64 value = r[k] * inverse[k];
        for (i64 i = k + 1 + LOCAL_ID; i < m; i += ${block})
            r[i] -= value * L[i * ${stride} + k];
    }
    SYNCHRONIZE();
    for (i64 i = LOCAL_ID; i < m; i += ${block})
        r[i] *= inverse[i];
    for (i64 k = m - 1; k >= 0; --k) {
        SYNCHRONIZE();
        const f64 value = r[k] * inverse[k];
        for (i64 i = LOCAL_ID; i < k; i += ${block})
            r[i] -= value * L[k * ${stride} + i];
    }
    SYNCHRONIZE();
    for (i64 i = LOCAL_ID; i < m; i += ${block})
        r[i] *= inverse[i];
    SYNCHRONIZE();
% endif
}

FUNCTION i32 is_finite(f64 value) { return value - value == 0.0; }
</%def>
