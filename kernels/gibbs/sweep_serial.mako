<%
    pairs = max(1, 8 // max(1, chains) if chains < 8 else 1)   # rows whose sums are in registers together
    pairs = min(pairs, rows)
    assert rows == 8   # a vector of latent normals
%>
// The pass of sweep.mako, with the same arguments, for devices whose work-items are best one to a core.
//
// A group is one work-item. It takes ${rows} rows at a time: their products with beta, ${pairs} rows together, in vectors of 8;
// the latent values; and their part of the sums, which reads the rows again from the cache.
${philox.functions()}
${variates.latent_functions()}
% if mode in ("score", "margins"):
${likelihoods.functions(family)}
% endif
% if mode == "margins":
${likelihood_vectors.functions(8, family)}
% endif
${stored_values.declarations(storage)}
${stored_values.vector_declarations(storage)}
% if mode == "draw":
#define PRODUCT_HIGH(a, b) mul_hi((uint8)(a), (b))
#define UNIFORM(words) ((convert_float8(as_int8((words) >> (uint8)(9))) + 0.5f) * 1.1920928955078125e-07f)

// Eight latent normals at once: choose_proposal of variates.mako, and what is left to it one by one.
FUNCTION float8 draw_eight(float8 mean, u64 seed, u32 stream, u32 step, i64 index) {
    uint8 c0 = (uint8)((u32)index) + (uint8)(0, 1, 2, 3, 4, 5, 6, 7);
    uint8 c1 = (uint8)((u32)((u64)index >> 32));
    uint8 c2 = (uint8)(step);
    uint8 c3 = (uint8)(stream);
    u32 k0 = (u32)seed;
    u32 k1 = (u32)(seed >> 32);
${philox.rounds("uint8", "PRODUCT_HIGH")}
    const float8 exponential0 = -log(UNIFORM(c0));
    const float8 exponential2 = -log(UNIFORM(c2));
    const float8 u1 = UNIFORM(c1);
    // cos and sin of 2 pi u from those of w = pi (u - 1/2)
    const float8 w = 3.14159265358979f * (u1 - 0.5f);
    const float8 q = w * w;
    const float8 s = w * (1.0f + q * (-1.66666667e-1f + q * (8.33333333e-3f + q * (-1.98412698e-4f
        + q * (2.75573192e-6f - q * 2.50521084e-8f)))));
    const float8 c = 1.0f + q * (-0.5f + q * (4.16666667e-2f + q * (-1.38888889e-3f + q * (2.48015873e-5f
        + q * (-2.75573192e-7f + q * 2.08767570e-9f)))));
    const float8 radius = sqrt(2.0f * exponential0);
    const float8 normal0 = mean + radius * (2.0f * s * s - 1.0f);
    const float8 normal1 = mean - radius * (2.0f * s * c);
    const float8 m = mean < -1.0e15f ? (float8)(-1.0e15f) : mean;
    const float8 inverse = 2.0f / (sqrt(m * m + 4.0f) - m);
    const float8 tail0 = exponential0 * inverse;
    const float8 tail2 = exponential2 * inverse;
    const int8 high = mean > 0.469839f;
    const int8 first = high ? normal0 > 0.0f : u1 < exp(-0.5f * (tail0 - inverse) * (tail0 - inverse));
    const int8 second = high ? normal1 > 0.0f : UNIFORM(c3) < exp(-0.5f * (tail2 - inverse) * (tail2 - inverse));
    // arrays that are read as vectors have the alignment of these
    f32 drawn[8] __attribute__((aligned(32)));
    *(float8*)drawn = high ? (first ? normal0 : normal1) : (first ? tail0 : tail2);
    i32 done[8] __attribute__((aligned(32)));
    *(int8*)done = first | second;
    f32 means[8] __attribute__((aligned(32)));
    *(float8*)means = mean;
    for (i32 i = 0; i < 8; ++i)
        if (!done[i])
            drawn[i] = draw_positive_normal(means[i], seed, stream, step, index + i, 1u);
    return *(float8*)drawn;
}
% endif

KERNEL LAUNCH_BOUNDS(1, 1) sweep(const GLOBAL value_t* RESTRICT design, const GLOBAL f32* RESTRICT beta,
    GLOBAL f32* RESTRICT out, i64 first_row, i64 row_count, i32 strips, i32 strip_first, i32 strip_rows, i32 chunk_count,
    ${arguments.of_pass(mode, family)}
    i32 beta_first, i32 betas) {
% if mode == "draw":
    const u32 step = iteration[0];
% endif
    const i32 stride = chunk_count * ${4 if storage == "f32" else 8};
    const GLOBAL f32* b = beta + (i64)beta_first * stride;
    for (i32 strip = GROUP_ID; strip < strips; strip += GROUP_COUNT) {
        GLOBAL f32* sums = out + ((i64)(strip_first + strip) * betas + beta_first) * (stride + 8);
        for (i32 j = 0; j < ${chains} * (stride + 8); ++j)
            sums[j] = 0.0f;
        f32 ${", ".join(f"extra{c} = 0.0f" for c in range(chains))};
        for (i32 tile = 0; tile < strip_rows; tile += ${rows}) {
            const i64 local_row = (i64)strip * strip_rows + tile;
            const GLOBAL value_t* x = design + local_row * stride;
            f32 latent[${rows * chains}];
            for (i32 r = 0; r < ${rows}; r += ${pairs}) {
                const GLOBAL value_t* at = x + (i64)r * stride;
                float8 ${", ".join(f"d{q}_{c} = (float8)(0.0f)" for q in range(pairs) for c in range(chains))};
                for (i32 j = 0; j < stride; j += 8) {
% for q in range(pairs):
                    const float8 x${q} = LOAD_ROW(at + ${q} * stride + j);
% endfor
% for c in range(chains):
                    {
                        const float8 b_ = *(const GLOBAL float8*)(b + ${c} * stride + j);
%   for q in range(pairs):
                        d${q}_${c} += x${q} * b_;
%   endfor
                    }
% endfor
                }
% for q in range(pairs):
%   for c in range(chains):
                {
                    const float4 half_sum = d${q}_${c}.lo + d${q}_${c}.hi;
                    latent[(r + ${q}) * ${chains} + ${c}] = (half_sum.x + half_sum.z) + (half_sum.y + half_sum.w);
                }
%   endfor
% endfor
            }
% if mode == "draw":
% for c in range(chains):
            {
                const i64 row = first_row + local_row;
                float8 eta;
%   for i in range(8):
                eta.s${i} = latent[${i * chains + c}];
%   endfor
                float8 z = draw_eight(eta, seed, stream + ((u32)(beta_first + ${c}) << 8), step, row);
                const i32 used = (i32)MIN(row_count - row, (i64)8);
                z = (int8)(0, 1, 2, 3, 4, 5, 6, 7) < (int8)(used) ? z : (float8)(0.0f);
%   for i in range(8):
                latent[${i * chains + c}] = z.s${i};
                extra${c} += z.s${i} * z.s${i};
%   endfor
            }
% endfor
% elif mode == "margins":
            const i64 row = first_row + local_row;
            const int8 used = (int8)(0, 1, 2, 3, 4, 5, 6, 7) < (int8)((i32)MIN(row_count - row, (i64)8));
% for c in range(chains):
            {
                float8 eta;
%   for i in range(8):
                eta.s${i} = latent[${i * chains + c}];
%   endfor
                vstore8(eta, 0, margins + (i64)(beta_first + ${c}) * pitch + row);
                const score_t at = ${likelihoods.vector_score(8, family, "eta", "row", f"beta_first + {c}")};
                const float8 slope = used ? at.slope${likelihoods.vector_weight(8, "row")} : (float8)(0.0f);
                const float8 logs = used ? at.value${likelihoods.vector_weight(8, "row")} : (float8)(0.0f);
%   for i in range(8):
                latent[${i * chains + c}] = slope.s${i};
%   endfor
                const float4 half_sum = logs.lo + logs.hi;
                extra${c} += (half_sum.x + half_sum.z) + (half_sum.y + half_sum.w);
            }
% endfor
% else:
            for (i32 r = 0; r < ${rows}; ++r) {
                const i64 row = first_row + local_row + r;
% for c in range(chains):
                {
                    const f32 eta = latent[r * ${chains} + ${c}];
                    const f32 slope = ${likelihoods.slope(family, "eta", "row", f"beta_first + {c}")};
                    latent[r * ${chains} + ${c}] = row < row_count ? slope : 0.0f;
                    extra${c} += row < row_count ? ${likelihoods.value(family, "eta", "row", f"beta_first + {c}")} : 0.0f;
                }
% endfor
            }
% endif
            for (i32 j = 0; j < stride; j += 8) {
%   for r in range(rows):
                const float8 x${r} = LOAD_ROW(x + ${r} * stride + j);
%   endfor
%   for c in range(chains):
                {
                    GLOBAL float8* place = (GLOBAL float8*)(sums + ${c} * (stride + 8) + j);
                    *place = *place${"".join(f" + x{r} * latent[{r * chains + c}]" for r in range(rows))};
                }
%   endfor
            }
        }
%   for c in range(chains):
        sums[${c} * (stride + 8) + stride] = extra${c};
%   endfor
    }
}
