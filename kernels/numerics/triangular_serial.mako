<%doc>
L y = r and L^T y = r in place by one work-item, row-major lower L, on devices with vector lanes.

    triangular_serial.functions()    serial_solve_lower, serial_solve_lower_transposed
</%doc>
<%def name="functions()">
typedef double4 vec;
typedef double4 unaligned_vec __attribute__((aligned(8)));

FUNCTION void serial_solve_lower(const GLOBAL f64* l, GLOBAL f64* r, i64 n) {
    for (i64 i = 0; i < n; ++i) {
        const GLOBAL f64* a = l + i * n;
        vec s = (vec)0.0, t = (vec)0.0;
        i64 k = 0;
        for (; k + 8 <= i; k += 8) {
            s += *(const GLOBAL unaligned_vec*)(a + k) * *(const GLOBAL unaligned_vec*)(r + k);
            t += *(const GLOBAL unaligned_vec*)(a + k + 4) * *(const GLOBAL unaligned_vec*)(r + k + 4);
        }
        s += t;
        f64 sum = (s.s0 + s.s1) + (s.s2 + s.s3);
        for (; k < i; ++k)
            sum += a[k] * r[k];
        r[i] = (r[i] - sum) / a[i];
    }
}

FUNCTION void serial_solve_lower_transposed(const GLOBAL f64* l, GLOBAL f64* r, i64 n) {
    for (i64 i = n - 1; i >= 0; --i) {
        const GLOBAL f64* a = l + i * n;
        const f64 v = r[i] / a[i];
        const vec w = (vec)v;
        r[i] = v;
        i64 k = 0;
        for (; k + 4 <= i; k += 4)
            *(GLOBAL unaligned_vec*)(r + k) -= w * *(const GLOBAL unaligned_vec*)(a + k);
        for (; k < i; ++k)
            r[k] -= v * a[k];
    }
}
</%def>
