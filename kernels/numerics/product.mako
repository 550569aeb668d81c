// C = alpha op(A) diag(s) op(B) + beta C      for row-major matrices, one after another in a batch
//
// op(A) is M x K: element (i, k) is at A[k a_row + i] if `turned` & 1, else at A[i a_row + k]. op(B) is K x N: element (k, j)
// is at B[j b_row + k] if `turned` & 2, else at B[k b_row + j]. With `lower` (then M = N) only elements (i, j <= i) are
// written. s is used if `scaled`. A and B may be ${value} = float32; sums are float64.
//
// A group makes one tile of ${tile} x ${tile} elements from one part of K; tiles are numbered by rows, the lower ones only if
// `lower`. If K is cut into `splits` parts, a group writes its sums to partial[batch][split][i][j] and add_parts adds them.
% if tensor:
// Launch: ${block} work-items; a warp has ${tile // 4} x ${tile // 2} of the tile, made by the tensor cores in float64:
//   tensor = 1   8 x 4 by 4 x 8     (PTX: mma.sync m8n8k4, sm_80 on): lane 4 g + t gives a(g, t) and b(t, g) and has
//                c(g, 2 t), c(g, 2 t + 1)
//   tensor = 2   16 x 8 by 8 x 8    (m16n8k8, sm_90 on, at twice the rate): a(g, t), a(g + 8, t), a(g, t + 4), a(g + 8, t + 4);
//                b(t, g), b(t + 4, g); c(g, 2 t), c(g, 2 t + 1), c(g + 8, 2 t), c(g + 8, 2 t + 1)
// Only on NVIDIA's devices of such a compute capability, in CUDA and by the same inline PTX in their OpenCL; elsewhere the
// kernel compiles, and adds nothing.
% elif block > 1:
// Launch: ${block} work-items, each with ${each} x ${each} sums at a distance of ${tile // each}.
% else:
// Launch: one work-item; panels of ${depth} k are packed so that vectors of 4 are read one after another.
% endif
% if block > 1:
//
// Strips of ${depth} k are in local memory, two in turn: while one is multiplied the next is on its way, in registers. Rows beyond
// the matrix are read as its last one: what they give is not written.
% endif
% if tensor:
${product_strips.tensor_cores()}
% endif
% if block == 1:
typedef double4 vec;
typedef double4 unaligned_vec __attribute__((aligned(8)));
% endif

FUNCTION i64 tile_row(i64 t) {
    // the row r of lower tile t: r (r + 1) / 2 <= t
    i64 r = (i64)((sqrt(8.0 * (f64)t + 1.0) - 1.0) * 0.5);
    while (r * (r + 1) / 2 > t)
        --r;
    while ((r + 1) * (r + 2) / 2 <= t)
        ++r;
    return r;
}

KERNEL LAUNCH_BOUNDS(${block}, 1) multiply( const GLOBAL ${value}* A, i64 a_start, i64 a_row, i64 a_batch, const GLOBAL f64* s,
    i64 s_start, i64 s_batch, const GLOBAL ${value}* B, i64 b_start, i64 b_row, i64 b_batch, GLOBAL f64* C, i64 c_start,
    i64 c_row, i64 c_batch, i64 M, i64 N, i64 K, i32 lower, i32 scaled, i32 turned, i64 tiles, i32 splits, i64 part, f64 alpha,
    f64 beta, GLOBAL f64* partial) {
<% room = depth * tile if block == 1 else 2 * depth * (tile + 4) %>
    LOCAL_ARRAY(f64, left, ${room});
    LOCAL_ARRAY(f64, right, ${room});
    const i64 t = GROUP_ID % tiles;
    const i64 split = GROUP_ID / tiles % splits;
    const i64 batch = GROUP_ID / tiles / splits;
    const i64 across = (N + ${tile - 1}) / ${tile};
    const i64 ti = lower ? tile_row(t) : t / across;
    const i64 tj = lower ? t - ti * (ti + 1) / 2 : t % across;
    const i64 i0 = ti * ${tile};
    const i64 j0 = tj * ${tile};
    const i64 k_begin = split * part;
    const i64 k_end = MIN(k_begin + part, K);
    const GLOBAL ${value}* a = A + a_start + batch * a_batch;
    const GLOBAL ${value}* b = B + b_start + batch * b_batch;
    const GLOBAL f64* scale = s + s_start + batch * s_batch;
% if block > 1:
${product_strips.sums()}
% else:
${product_panels.sums()}
% endif
}

// C = alpha (partial[0] + partial[1] + ...) + beta C, in this order, for each matrix of the batch. Launch: a group per row.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_parts(const GLOBAL f64* RESTRICT partial, i32 splits, f64 alpha, f64 beta,
    GLOBAL f64* RESTRICT C, i64 c_start, i64 c_row, i64 c_batch, i64 M, i64 N, i32 lower) {
    const i64 batch = GROUP_ID / M;
    const i64 i = GROUP_ID % M;
    GLOBAL f64* to = C + c_start + batch * c_batch + i * c_row;
    for (i64 j = LOCAL_ID; j < (lower ? i + 1 : N); j += ${block}) {
        f64 sum = 0.0;
        for (i32 split = 0; split < splits; ++split)
            sum += partial[((batch * splits + split) * M + i) * N + j];
        to[j] = alpha * sum + (beta == 0.0 ? 0.0 : beta * to[j]);
    }
}
