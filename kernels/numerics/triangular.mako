// L y = r and L^T y = r, in place, for row-major lower L and right-hand sides that are rows of n values.
//
// Right-hand side `row` is at row * n; its factor at (row / rows_per_factor) * n * n.
% if block > 1:
//
// By blocks of ${size}: a launch takes the finished block `done` (-1 at first) out of all that is not finished, and the group
// that holds the next block finishes it. Launch: `groups` groups of ${block} a right-hand side, one a block of ${size} unknowns,
// counted from the next block on; ${block // size} work-items an unknown.
<% lanes = block // size %>
% for entry, transposed in (("solve_lower", False), ("solve_lower_transposed", True)):

KERNEL LAUNCH_BOUNDS(${block}, 1) ${entry}(const GLOBAL f64* L, GLOBAL f64* R, i64 n, i64 rows_per_factor, i32 done, i32 groups)
{
    LOCAL_ARRAY(f64, D, ${size * (size + 1)});
    LOCAL_ARRAY(f64, y, ${size});
    LOCAL_ARRAY(f64, part, ${block});
    const i64 row = GROUP_ID / groups;
    const i32 ahead = GROUP_ID % groups;
    const i32 blocks = (i32)((n + ${size - 1}) / ${size});
% if transposed:
    const i32 mine = (done < 0 ? blocks : done) - 1 - ahead;
% else:
    const i32 mine = done + 1 + ahead;
% endif
    const GLOBAL f64* l = L + row / rows_per_factor * n * n;
    GLOBAL f64* r = R + row * n;
    const i64 i0 = (i64)mine * ${size};
    const i32 count = (i32)MIN(n - i0, (i64)${size});
    const i32 unknown = LOCAL_ID % ${size};
    const i32 lane = LOCAL_ID / ${size};
    const i64 k0 = (i64)done * ${size};
    const i32 depth = done < 0 ? 0 : (i32)MIN(n - k0, (i64)${size});
    for (i32 e = LOCAL_ID; e < depth; e += ${block})
        y[e] = r[k0 + e];
    BARRIER();
% if transposed:
    f64 sum = 0.0;
    if (unknown < count)
        for (i32 k = lane; k < depth; k += ${lanes})
            sum += l[(k0 + k) * n + i0 + unknown] * y[k];
    part[LOCAL_ID] = sum;
% else:
    // rows of L are read along themselves, then turned in local memory
    for (i32 e = LOCAL_ID; e < ${size * size}; e += ${block}) {
        const i32 i = e / ${size};
        const i32 k = e % ${size};
        D[i * ${size + 1} + k] = i < count && k < depth ? l[(i0 + i) * n + k0 + k] : 0.0;
    }
    BARRIER();
    f64 sum = 0.0;
    for (i32 k = lane; k < depth; k += ${lanes})
        sum += D[unknown * ${size + 1} + k] * y[k];
    part[LOCAL_ID] = sum;
% endif
    BARRIER();
    if (ahead == 0)
        for (i32 e = LOCAL_ID; e < ${size * size}; e += ${block}) {
            const i32 i = e / ${size};
            const i32 k = e % ${size};
            D[i * ${size + 1} + k] = i < count && k <= i ? l[(i0 + i) * n + i0 + k] : 0.0;
        }
    if (lane == 0) {
        sum = unknown < count ? r[i0 + unknown] : 0.0;
        for (i32 k = 0; k < ${lanes}; ++k)
            sum -= part[k * ${size} + unknown];
        y[unknown] = sum;
        if (ahead != 0 && unknown < count)
            r[i0 + unknown] = sum;
    }
    BARRIER();
    if (ahead == 0) {    // the same for all work-items of a group
% if transposed:
        for (i32 k = count - 1; k >= 0; --k) {
            const f64 v = y[k] / D[k * ${size + 1} + k];
            BARRIER();
            if (LOCAL_ID < k)
                y[LOCAL_ID] -= D[k * ${size + 1} + LOCAL_ID] * v;
            else if (LOCAL_ID == k)
                y[k] = v;
            BARRIER();
        }
% else:
        for (i32 k = 0; k < count; ++k) {
            const f64 v = y[k] / D[k * ${size + 1} + k];
            BARRIER();
            if (LOCAL_ID == k)
                y[k] = v;
            else if (LOCAL_ID > k && LOCAL_ID < count)
                y[LOCAL_ID] -= D[LOCAL_ID * ${size + 1} + k] * v;
            BARRIER();
        }
% endif
        if (LOCAL_ID < count)
            r[i0 + LOCAL_ID] = y[LOCAL_ID];
    }
}
% endfor
% else:
// Launch: one work-item a right-hand side, for the whole of it; `done` and `groups` are not used.
typedef double4 vec;
typedef double4 unaligned_vec __attribute__((aligned(8)));

KERNEL LAUNCH_BOUNDS(1, 1) solve_lower(const GLOBAL f64* L, GLOBAL f64* R, i64 n, i64 rows_per_factor, i32 done, i32 groups)
{
    const GLOBAL f64* l = L + GROUP_ID / rows_per_factor * n * n;
    GLOBAL f64* r = R + GROUP_ID * n;
    for (i64 i = 0; i < n; ++i) {
        const GLOBAL f64* a = l + i * n;
        vec s = (vec)0.0;
        vec t = (vec)0.0;
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

KERNEL LAUNCH_BOUNDS(1, 1) solve_lower_transposed(const GLOBAL f64* L, GLOBAL f64* R, i64 n, i64 rows_per_factor, i32 done, i32 groups)
{
    const GLOBAL f64* l = L + GROUP_ID / rows_per_factor * n * n;
    GLOBAL f64* r = R + GROUP_ID * n;
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
% endif
