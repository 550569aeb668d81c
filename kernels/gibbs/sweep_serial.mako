<%namespace name="philox" file="/common/philox.mako"/>
<%namespace name="variates" file="/gibbs/variates.mako"/>
<%namespace name="storage_" file="/gibbs/storage.mako"/>
<%
    pairs = max(1, 8 // max(1, chains) if chains < 8 else 1)   # rows whose sums are in registers together
    pairs = min(pairs, rows)
%>
// The pass of sweep.mako, with the same arguments, for devices whose work-items are best one to a core.
//
// A group is one work-item. It takes ${rows} rows at a time: their products with beta, ${pairs} rows together, in vectors of 8;
// the latent values; and their part of the sums, which reads the rows again from the cache.
${philox.functions()}
${variates.latent_functions()}
${storage_.declarations(storage)}
% if storage == "f32":
typedef float8 chunk_t;
#define LOAD_ROW(place) (*(const GLOBAL float8*)(place))
typedef f32 value_t;
% else:
typedef u16 value_t;
%   if storage == "bf16":
#define LOAD_ROW(place) as_float8(convert_uint8(*(const GLOBAL ushort8*)(place)) << 16)
%   else:
FUNCTION float8 halves(uint8 bits)
{
    const float8 size = as_float8((bits & 0x7fffu) << 13) * 5.192296858534828e33f;
    return as_float8(as_uint8(size) | ((bits & 0x8000u) << 16));
}
#define LOAD_ROW(place) halves(convert_uint8(*(const GLOBAL ushort8*)(place)))
%   endif
% endif

KERNEL LAUNCH_BOUNDS(1, 1) sweep(const GLOBAL value_t* RESTRICT design, const GLOBAL f32* RESTRICT beta, GLOBAL f32* RESTRICT out,
    i64 first_row, i64 row_count, i64 out_rows, i32 strips, i32 strip_first, i32 strip_rows, i32 chunk_count, i32 beta_first,
    i32 betas, u64 seed, u32 stream, u32 step)
{
    const i32 stride = chunk_count * ${4 if storage == "f32" else 8};
    const GLOBAL f32* b = beta + (i64)beta_first * stride;
    for (i32 strip = GROUP_ID; strip < strips; strip += GROUP_COUNT) {
% if mode != "project":
        GLOBAL f32* sums = out + ((i64)(strip_first + strip) * betas + beta_first) * (stride + 8);
        for (i32 j = 0; j < ${chains} * (stride + 8); ++j)
            sums[j] = 0.0f;
        f32 ${", ".join(f"extra{c} = 0.0f" for c in range(chains))};
% endif
        for (i32 tile = 0; tile < strip_rows; tile += ${rows}) {
            const i64 local_row = (i64)strip * strip_rows + tile;
            const GLOBAL value_t* x = design + local_row * stride;
            f32 latent[${rows * chains}];
% if mode == "combine":
            for (i32 r = 0; r < ${rows}; ++r)
                latent[r] = beta[(i64)strip_first * strip_rows + local_row + r];
% else:
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
            for (i32 r = 0; r < ${rows}; ++r) {
                const i64 row = first_row + local_row + r;
% for c in range(chains):
                {
                    const f32 eta = latent[r * ${chains} + ${c}];
%   if mode == "draw":
                    const f32 z = row < row_count
                        ? draw_positive_normal(eta, seed, stream + ((u32)(beta_first + ${c}) << 8), step, row, 0u) : 0.0f;
                    extra${c} += z * z;
                    latent[r * ${chains} + ${c}] = z;
%   elif mode == "score":
                    latent[r * ${chains} + ${c}] = row < row_count ? normal_hazard(eta) : 0.0f;
                    extra${c} += row < row_count ? log_normal_cdf(eta) : 0.0f;
%   else:
                    out[(i64)(beta_first + ${c}) * out_rows + local_row + r + strip_first * (i64)strip_rows] = eta;
%   endif
                }
% endfor
            }
% endif
% if mode != "project":
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
% endif
        }
% if mode != "project":
%   for c in range(chains):
        sums[${c} * (stride + 8) + stride] = extra${c};
%   endfor
% endif
    }
}
