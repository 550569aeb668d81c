// C = alpha op(A) diag(s) op(B) + beta C      for row-major matrices, one after another in a batch
//
// op(A) is M x K: element (i, k) is at A[k a_row + i] if `turned` & 1, else at A[i a_row + k]. op(B) is K x N: element (k, j)
// is at B[j b_row + k] if `turned` & 2, else at B[k b_row + j]. With `lower` (then M = N) only elements (i, j <= i) are
// written. s is used if `scaled`. A and B may be ${value} = float32; sums are float64.
//
// A group makes one tile of ${tile} x ${tile} elements from one part of K; tiles are numbered by rows, the lower ones only if
// `lower`. If K is cut into `splits` parts, a group writes its sums to partial[batch][split][i][j] and add_parts adds them.
% if tensor:
// Launch: ${block} work-items; a warp has ${tile // 4} x ${tile // 2} of the tile, made by the tensor cores' product of 8 x 4 by
// 4 x 8 in float64 (PTX: mma.sync m8n8k4, sm_80 on): lane 4 g + t gives a(g, t) and b(t, g) and has c(g, 2 t), c(g, 2 t + 1).
// Only on NVIDIA's devices of compute capability 8.0 on, in CUDA and by the same inline PTX in their OpenCL; elsewhere the
// kernel compiles, and adds nothing.
% elif block > 1:
// Launch: ${block} work-items, each with ${each} x ${each} sums at a distance of ${tile // each}; strips of ${depth} k in local memory.
% else:
// Launch: one work-item; panels of ${depth} k are packed so that vectors of 4 are read one after another.
% endif
<%
    items = tile // each
    pad = tile + (4 if tensor else 1 if block > 1 else 0)  # so that lanes that read together read different banks
%>
% if tensor:
#if (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800) || defined(cl_nv_pragma_unroll)
#define ADD_PRODUCT(c, d, a, b) asm volatile( \
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" \
    : "+d"(c), "+d"(d) : "d"(a), "d"(b))
#else
#define ADD_PRODUCT(c, d, a, b)
#endif
% endif
% if block == 1:
typedef double4 vec;
typedef double4 unaligned_vec __attribute__((aligned(8)));
% endif

FUNCTION i64 tile_row(i64 t)
{
    // the row r of lower tile t: r (r + 1) / 2 <= t
    i64 r = (i64)((sqrt(8.0 * (f64)t + 1.0) - 1.0) * 0.5);
    while (r * (r + 1) / 2 > t)
        --r;
    while ((r + 1) * (r + 2) / 2 <= t)
        ++r;
    return r;
}

KERNEL LAUNCH_BOUNDS(${block}, 1) multiply(
    const GLOBAL ${value}* A, i64 a_start, i64 a_row, i64 a_batch,
    const GLOBAL f64* s, i64 s_start, i64 s_batch,
    const GLOBAL ${value}* B, i64 b_start, i64 b_row, i64 b_batch,
    GLOBAL f64* C, i64 c_start, i64 c_row, i64 c_batch,
    i64 M, i64 N, i64 K, i32 lower, i32 scaled, i32 turned, i64 tiles, i32 splits, i64 part, f64 alpha, f64 beta, GLOBAL f64* partial)
{
    LOCAL_ARRAY(f64, left, ${depth * pad});
    LOCAL_ARRAY(f64, right, ${depth * pad});
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
<%def name="load(target, source, row, transposed, first, limit, scaled)">
    if (${transposed})
        for (i32 e = LOCAL_ID; e < ${tile * depth}; e += ${block}) {
            const i32 i = e % ${tile};
            const i32 k = e / ${tile};
            const i32 inside = ${first} + i < ${limit} && k0 + k < k_end;
            ${target}[k * ${pad} + i] = inside ? (f64)${source}[(k0 + k) * ${row} + ${first} + i]${" * (scaled ? scale[k0 + k] : 1.0)" if scaled else ""} : 0.0;
        }
    else
        for (i32 e = LOCAL_ID; e < ${tile * depth}; e += ${block}) {
            const i32 k = e % ${depth};
            const i32 i = e / ${depth};
            const i32 inside = ${first} + i < ${limit} && k0 + k < k_end;
            ${target}[k * ${pad} + i] = inside ? (f64)${source}[(${first} + i) * ${row} + k0 + k]${" * (scaled ? scale[k0 + k] : 1.0)" if scaled else ""} : 0.0;
        }
</%def>
% if tensor:
<% down, across_ = tile // 32, tile // 16 %>
    const i32 lane = LOCAL_ID % 32;
    const i32 row0 = LOCAL_ID / 64 * ${tile // 4} + lane / 4;
    const i32 column0 = LOCAL_ID / 32 % 2 * ${tile // 2};
% for r in range(down):
    f64 ${", ".join(f"c{r}_{c} = 0.0, d{r}_{c} = 0.0" for c in range(across_))};
% endfor
    for (i64 k0 = k_begin; k0 < k_end; k0 += ${depth}) {
${load("left", "a", "a_row", "turned & 1", "i0", "M", True)}
${load("right", "b", "b_row", "!(turned & 2)", "j0", "N", False)}
        BARRIER();
        LOCAL const f64* p = left + lane % 4 * ${pad} + row0;
        LOCAL const f64* q = right + lane % 4 * ${pad} + column0 + lane / 4;
% for k in range(0, depth, 4):
        {
% for r in range(down):
            const f64 a${r} = p[${k * pad + 8 * r}];
% endfor
% for c in range(across_):
            const f64 b${c} = q[${k * pad + 8 * c}];
% endfor
% for r in range(down):
% for c in range(across_):
            ADD_PRODUCT(c${r}_${c}, d${r}_${c}, a${r}, b${c});
% endfor
% endfor
        }
% endfor
        BARRIER();
    }
% for r in range(down):
    {
        const i64 i = i0 + row0 + ${8 * r};
% for c in range(across_):
% for place, name in enumerate("cd"):
        {
            const i64 j = j0 + column0 + ${8 * c + place} + lane % 4 * 2;
            if (i < M && j < N && (!lower || j <= i)) {
                if (splits > 1)
                    partial[((batch * splits + split) * M + i) * N + j] = ${name}${r}_${c};
                else {
                    GLOBAL f64* at = C + c_start + batch * c_batch + i * c_row + j;
                    *at = alpha * ${name}${r}_${c} + (beta == 0.0 ? 0.0 : beta * *at);
                }
            }
        }
% endfor
% endfor
    }
% endfor
% elif block > 1:
    const i32 ix = LOCAL_ID % ${items};
    const i32 iy = LOCAL_ID / ${items};
% for r in range(each):
    f64 ${", ".join(f"c{r}_{c} = 0.0" for c in range(each))};
% endfor
    for (i64 k0 = k_begin; k0 < k_end; k0 += ${depth}) {
${load("left", "a", "a_row", "turned & 1", "i0", "M", True)}
${load("right", "b", "b_row", "!(turned & 2)", "j0", "N", False)}
        BARRIER();
% if language == "cuda":
#pragma unroll
% else:
#ifdef cl_nv_pragma_unroll
#pragma unroll
#endif
% endif
        for (i32 k = 0; k < ${depth}; ++k) {
            LOCAL const f64* p = left + k * ${pad} + iy;
            LOCAL const f64* q = right + k * ${pad} + ix;
% for r in range(each):
            const f64 a${r} = p[${r * items}];
% endfor
% for c in range(each):
            const f64 b${c} = q[${c * items}];
% endfor
% for r in range(each):
% for c in range(each):
            c${r}_${c} += a${r} * b${c};
% endfor
% endfor
        }
        BARRIER();
    }
% for r in range(each):
    {
        const i64 i = i0 + iy + ${r * items};
% for c in range(each):
        {
            const i64 j = j0 + ix + ${c * items};
            if (i < M && j < N && (!lower || j <= i)) {
                if (splits > 1)
                    partial[((batch * splits + split) * M + i) * N + j] = c${r}_${c};
                else {
                    GLOBAL f64* at = C + c_start + batch * c_batch + i * c_row + j;
                    *at = alpha * c${r}_${c} + (beta == 0.0 ? 0.0 : beta * *at);
                }
            }
        }
% endfor
    }
% endfor
% else:
<% rows, columns = 4, 4 %>
    LOCAL_ARRAY(f64, sums, ${tile * tile});
    for (i32 e = 0; e < ${tile * tile}; ++e)
        sums[e] = 0.0;
    const i32 used_i = (i32)MIN(M - i0, (i64)${tile});
    const i32 used_j = (i32)MIN(N - j0, (i64)${tile});
    for (i64 k0 = k_begin; k0 < k_end; k0 += ${depth}) {
        const i32 used_k = (i32)MIN(k_end - k0, (i64)${depth});
<%def name="pack(target, source, row, transposed, first, used, scaled)">
        if (${transposed})
            for (i32 k = 0; k < used_k; ++k) {
                const GLOBAL ${value}* from = ${source} + (k0 + k) * ${row} + ${first};
                LOCAL f64* to = ${target} + k * ${tile};
                const f64 factor = ${"scaled ? scale[k0 + k] : 1.0" if scaled else "1.0"};
                for (i32 i = 0; i < ${used}; ++i)
                    to[i] = from[i] * factor;
                for (i32 i = ${used}; i < ${tile}; ++i)
                    to[i] = 0.0;
            }
        else
            for (i32 i = 0; i < ${tile}; ++i) {
                const GLOBAL ${value}* from = ${source} + (${first} + i) * ${row} + k0;
                if (i >= ${used})
                    for (i32 k = 0; k < used_k; ++k)
                        ${target}[k * ${tile} + i] = 0.0;
                else${" if (scaled)" if scaled else ""}
                    for (i32 k = 0; k < used_k; ++k)
                        ${target}[k * ${tile} + i] = from[k]${" * scale[k0 + k]" if scaled else ""};
% if scaled:
                else
                    for (i32 k = 0; k < used_k; ++k)
                        ${target}[k * ${tile} + i] = from[k];
% endif
            }
</%def>
${pack("left", "a", "a_row", "turned & 1", "i0", "used_i", True)}
${pack("right", "b", "b_row", "!(turned & 2)", "j0", "used_j", False)}
        for (i32 r = 0; r < used_i; r += ${rows}) {
            for (i32 c = 0; c < used_j; c += ${4 * columns}) {
% for i in range(rows):
                vec ${", ".join(f"c{i}_{j} = (vec)0.0" for j in range(columns))};
% endfor
                LOCAL const f64* p = left + r;
                LOCAL const f64* q = right + c;
                for (i32 k = 0; k < used_k; ++k) {
% for j in range(columns):
                    const vec b${j} = *(LOCAL const unaligned_vec*)(q + ${4 * j});
% endfor
% for i in range(rows):
                    const vec a${i} = (vec)p[${i}];
% for j in range(columns):
                    c${i}_${j} += a${i} * b${j};
% endfor
% endfor
                    p += ${tile};
                    q += ${tile};
                }
% for i in range(rows):
% for j in range(columns):
                *(LOCAL unaligned_vec*)(sums + (r + ${i}) * ${tile} + c + ${4 * j}) += c${i}_${j};
% endfor
% endfor
            }
        }
    }
    for (i32 r = 0; r < used_i; ++r) {
        const i64 i = i0 + r;
        const i32 end = lower ? (i32)MIN((i64)used_j, i - j0 + 1) : used_j;
        LOCAL const f64* from = sums + r * ${tile};
        if (splits > 1) {
            GLOBAL f64* to = partial + ((batch * splits + split) * M + i) * N + j0;
            for (i32 c = 0; c < end; ++c)
                to[c] = from[c];
        } else {
            GLOBAL f64* to = C + c_start + batch * c_batch + i * c_row + j0;
            if (beta == 0.0)
                for (i32 c = 0; c < end; ++c)
                    to[c] = alpha * from[c];
            else
                for (i32 c = 0; c < end; ++c)
                    to[c] = alpha * from[c] + beta * to[c];
        }
    }
% endif
}

// C = alpha (partial[0] + partial[1] + ...) + beta C, in this order, for each matrix of the batch. Launch: a group per row.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_parts(const GLOBAL f64* RESTRICT partial, i32 splits, f64 alpha, f64 beta,
    GLOBAL f64* RESTRICT C, i64 c_start, i64 c_row, i64 c_batch, i64 M, i64 N, i32 lower)
{
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
