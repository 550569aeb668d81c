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
<%
    items = tile // each
    pad = tile + (4 if block > 1 else 0)  # so that lanes that read or write together use different banks
    loads = tile * depth // block if block > 1 else 0  # of each matrix, by each work-item, for a strip
    pointers = max(1, 4 * tile // block) if block > 1 else 0
    buffers = 2 if block > 1 else 1
%>
% if block > 1:
//
// Strips of ${depth} k are in local memory, two in turn: while one is multiplied the next is on its way, in registers. Rows beyond
// the matrix are read as its last one: what they give is not written.
% endif
% if tensor:
#if (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= ${900 if tensor == 2 else 800}) || defined(cl_nv_pragma_unroll)
% if tensor == 2:
#define ADD_PRODUCT(c, d, e, f, a0, a1, a2, a3, b0, b1) asm volatile( \
    "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
    : "+d"(c), "+d"(d), "+d"(e), "+d"(f) : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1))
% else:
#define ADD_PRODUCT(c, d, a, b) asm volatile( \
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" \
    : "+d"(c), "+d"(d) : "d"(a), "d"(b))
% endif
#else
% if tensor == 2:
#define ADD_PRODUCT(c, d, e, f, a0, a1, a2, a3, b0, b1)
% else:
#define ADD_PRODUCT(c, d, a, b)
% endif
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

KERNEL LAUNCH_BOUNDS(${block}, 1) multiply( const GLOBAL ${value}* A, i64 a_start, i64 a_row, i64 a_batch, const GLOBAL f64* s,
    i64 s_start, i64 s_batch, const GLOBAL ${value}* B, i64 b_start, i64 b_row, i64 b_batch, GLOBAL f64* C, i64 c_start,
    i64 c_row, i64 c_batch, i64 M, i64 N, i64 K, i32 lower, i32 scaled, i32 turned, i64 tiles, i32 splits, i64 part, f64 alpha,
    f64 beta, GLOBAL f64* partial)
{
    LOCAL_ARRAY(f64, left, ${buffers * depth * pad});
    LOCAL_ARRAY(f64, right, ${buffers * depth * pad});
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
<%
    def along_k(e):
        """Row and k of a work-item's load number e where k runs along memory: (row pointer, row, k), less LOCAL_ID's part."""
        return e % pointers, block // 4 * (e % pointers), 4 * (e // pointers)
    def along_i(e):
        return block // tile * e
%>
<%def name="begin(name, source, row, turned, first, limit)">
    const i32 ${name}_turned = ${turned};
% for q in range(pointers):
    const GLOBAL ${value}* ${name}_from${q} = ${source} + (${name}_turned
        ? (k_begin + LOCAL_ID / ${tile}) * ${row} + MIN(${first} + LOCAL_ID % ${tile}, ${limit} - 1)
        : MIN(${first} + LOCAL_ID / 4 + ${block // 4 * q}, ${limit} - 1) * ${row} + k_begin + LOCAL_ID % 4);
% endfor
    const i64 ${name}_step = ${name}_turned ? ${depth} * ${row} : ${depth};
    ${value} ${", ".join(f"{name}{e} = 0" for e in range(loads))};
</%def>
<%def name="fetch(name, row)">
        if (${name}_turned) {
            const i32 k = LOCAL_ID / ${tile};
            if (k0 + ${depth} <= k_end) {
% for e in range(loads):
                ${name}${e} = ${name}_from0[${along_i(e)} * ${row}];
% endfor
            } else {
% for e in range(loads):
                ${name}${e} = k0 + k + ${along_i(e)} < k_end ? ${name}_from0[${along_i(e)} * ${row}] : (${value})0;
% endfor
            }
        } else {
            const i32 k = LOCAL_ID % 4;
            if (k0 + ${depth} <= k_end) {
% for e in range(loads):
                ${name}${e} = ${name}_from${along_k(e)[0]}[${along_k(e)[2]}];
% endfor
            } else {
% for e in range(loads):
                ${name}${e} = k0 + k + ${along_k(e)[2]} < k_end ? ${name}_from${along_k(e)[0]}[${along_k(e)[2]}] : (${value})0;
% endfor
            }
        }
% for q in range(pointers):
        ${name}_from${q} += ${name}_step;
% endfor
</%def>
<%def name="fetch_scale()">
        if (scaled) {
            const i64 k = k0 + (left_turned ? LOCAL_ID / ${tile} : LOCAL_ID % 4);
% for e in range(loads):
            {
                const i64 at = k + (left_turned ? ${along_i(e)} : ${along_k(e)[2]});
                scale${e} = at < k_end ? scale[at] : 0.0;
            }
% endfor
        }
</%def>
<%def name="keep(name, scaled)">
        if (${name}_turned) {
            LOCAL f64* to = ${name} + next + LOCAL_ID / ${tile} * ${pad} + LOCAL_ID % ${tile};
% for e in range(loads):
            to[${along_i(e) * pad}] = (f64)${name}${e}${f" * scale{e}" if scaled else ""};
% endfor
        } else {
            LOCAL f64* to = ${name} + next + LOCAL_ID % 4 * ${pad} + LOCAL_ID / 4;
% for e in range(loads):
            to[${along_k(e)[2] * pad + along_k(e)[1]}] = (f64)${name}${e}${f" * scale{e}" if scaled else ""};
% endfor
        }
</%def>
<%def name="write(row, names, column)">
    {
        // ${len(names)} sums of one row; places outside are read at the row's start, and not written
        const i64 i = i0 + ${row};
        const i64 end = i < M ? (lower ? MIN(i + 1, N) : N) : 0;
        const i64 row_at = i < M ? i : M - 1;
        if (splits > 1) {
            GLOBAL f64* to = partial + ((batch * splits + split) * M + row_at) * N;
% for c, name in enumerate(names):
            if (j0 + ${column(c)} < end)
                to[j0 + ${column(c)}] = ${name};
% endfor
        } else {
            GLOBAL f64* to = C + c_start + batch * c_batch + row_at * c_row;
            f64 ${", ".join(f"old{c} = 0.0" for c in range(len(names)))};
            if (beta != 0.0) {
% for c, name in enumerate(names):
                old${c} = to[j0 + ${column(c)} < end ? j0 + ${column(c)} : 0];
% endfor
% for c, name in enumerate(names):
                old${c} *= beta;
% endfor
            }
% for c, name in enumerate(names):
            if (j0 + ${column(c)} < end)
                to[j0 + ${column(c)}] = alpha * ${name} + old${c};
% endfor
        }
    }
</%def>
${begin("left", "a", "a_row", "turned & 1", "i0", "M")}
${begin("right", "b", "b_row", "!(turned & 2)", "j0", "N")}
    f64 ${", ".join(f"scale{e} = 1.0" for e in range(loads))};
    i32 now = 0;
    i32 next = 0;
    i64 k0 = k_begin;
${fetch("left", "a_row")}
${fetch("right", "b_row")}
${fetch_scale()}
${keep("left", True)}
${keep("right", False)}
    BARRIER();
% if tensor:
<% down, across_ = tile // 32, tile // 16 %>
    const i32 lane = LOCAL_ID % 32;
    const i32 row0 = LOCAL_ID / 64 * ${tile // 4} + lane / 4;
    const i32 column0 = LOCAL_ID / 32 % 2 * ${tile // 2};
% for r in range(down):
    f64 ${", ".join(f"c{r}_{c} = 0.0, d{r}_{c} = 0.0" for c in range(across_))};
% endfor
% else:
    const i32 ix = LOCAL_ID % ${items};
    const i32 iy = LOCAL_ID / ${items};
% for r in range(each):
    f64 ${", ".join(f"c{r}_{c} = 0.0" for c in range(each))};
% endfor
% endif
    while (k0 < k_end) {
        k0 += ${depth};
        const i32 more = k0 < k_end;
        next = ${depth * pad} - now;
        if (more) {
${fetch("left", "a_row")}
${fetch("right", "b_row")}
${fetch_scale()}
        }
% if tensor:
        LOCAL const f64* p = left + now + lane % 4 * ${pad} + row0;
        LOCAL const f64* q = right + now + lane % 4 * ${pad} + column0 + lane / 4;
% if tensor == 2:
% for k in range(0, depth, 8):
        {
% for r in range(down):
            const f64 a${r} = p[${k * pad + 8 * r}];
            const f64 e${r} = p[${(k + 4) * pad + 8 * r}];
% endfor
% for c in range(across_):
            const f64 b${c} = q[${k * pad + 8 * c}];
            const f64 f${c} = q[${(k + 4) * pad + 8 * c}];
% endfor
% for c in range(across_):
% for r in range(0, down, 2):
            ADD_PRODUCT(c${r}_${c}, d${r}_${c}, c${r + 1}_${c}, d${r + 1}_${c}, a${r}, a${r + 1}, e${r}, e${r + 1}, b${c}, f${c});
% endfor
% endfor
        }
% endfor
% else:
% for k in range(0, depth, 4):
        {
% for r in range(down):
            const f64 a${r} = p[${k * pad + 8 * r}];
% endfor
% for c in range(across_):
            const f64 b${c} = q[${k * pad + 8 * c}];
% endfor
% for c in range(across_):
% for r in range(down):
            ADD_PRODUCT(c${r}_${c}, d${r}_${c}, a${r}, b${c});
% endfor
% endfor
        }
% endfor
% endif
% else:
% if language == "cuda":
#pragma unroll
% else:
#ifdef cl_nv_pragma_unroll
#pragma unroll
#endif
% endif
        for (i32 k = 0; k < ${depth}; ++k) {
            LOCAL const f64* p = left + now + k * ${pad} + iy;
            LOCAL const f64* q = right + now + k * ${pad} + ix;
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
% endif
        if (more) {
${keep("left", True)}
${keep("right", False)}
        }
        BARRIER();
        now = next;
    }
% if tensor:
% for r in range(down):
<% sums = [f"{name}{r}_{c}" for c in range(across_) for name in "cd"] %>
${write(f"row0 + {8 * r}", sums, lambda c: f"column0 + {8 * (c // 2) + c % 2} + lane % 4 * 2")}
% endfor
% else:
% for r in range(each):
${write(f"iy + {r * items}", [f"c{r}_{c}" for c in range(each)], lambda c: f"ix + {c * items}")}
% endfor
% endif
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
