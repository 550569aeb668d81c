<%
    stored = "f32" if storage == "f32" else "u16"
    each = 4 if storage == "f32" else 8
    rows_at_once = 8
    outputs = rows_at_once * chains
    parts = block // outputs
    pitch = block + parts
    every = [(r, c) for r in range(rows_at_once) for c in range(chains)]
%>
// The pass of sweep.mako for rows too long for a group's registers: each is read twice, first for its margin and weight,
//     eta = x . beta,     w = ${"z ~ N(eta, 1) given z > 0" if mode == "draw" else "f(eta)"},
// then for out += x w, with ${"z^2" if mode == "draw" else "log F(eta)"} in the column behind the last.
//
// design: (rows, chunk_count chunks of 16 bytes), those of the strips of this launch, whose first is `strip_first`;
// beta: (betas, stride); weights: (rows, ${chains}), and as many numbers for that column; out: (strips, betas, width).
${philox.functions()}
${variates.latent_functions()}
% if mode != "draw":
${likelihoods.functions(family)}
% endif
${stored_values.declarations(storage)}
typedef ${"float4" if storage == "f32" else "uint4"} chunk_t;

// Launch: any number of groups of ${block}, which take ${rows_at_once} rows at a time.
KERNEL LAUNCH_BOUNDS(${block}, 2) weigh_rows(const GLOBAL ${stored}* RESTRICT design, const GLOBAL float4* RESTRICT beta,
    GLOBAL f32* RESTRICT weights,
    ${arguments.of_pass(mode, family)}
    i64 first_row, i64 row_count, i64 rows, i32 chunk_count, i32 beta_first) {
    LOCAL_ARRAY(f32, dots, ${outputs * pitch});
    LOCAL_ARRAY(f32, part, ${block});
    const i32 quads = chunk_count * ${each // 4};
% if mode == "draw":
    const u32 step = iteration[0];
% endif
    for (i64 tile = GROUP_ID; tile < rows / ${rows_at_once}; tile += GROUP_COUNT) {
        f32 ${", ".join(f"d{r}_{c} = 0.0f" for r, c in every)};
        for (i32 k = LOCAL_ID; k < chunk_count; k += ${block}) {
% for r in range(rows_at_once):
            const chunk_t raw${r} = ((const GLOBAL chunk_t*)design)[(tile * ${rows_at_once} + ${r}) * chunk_count + k];
% endfor
% for h in range(each // 4):
            {
%   for c in range(chains):
                const float4 b${c} = beta[(i64)(beta_first + ${c}) * quads + k * ${each // 4} + ${h}];
%   endfor
%   for r in range(rows_at_once):
%     for e in range(4):
                const f32 x${r}_${e} = ${stored_values.value(storage, f"raw{r}", 4 * h + e)};
%     endfor
%     for c in range(chains):
                d${r}_${c} += ${" + ".join(f"x{r}_{e} * b{c}.{'xyzw'[e]}" for e in range(4))};
%     endfor
%   endfor
            }
% endfor
        }
% for i, (r, c) in enumerate(every):
        dots[${i * pitch} + LOCAL_ID] = d${r}_${c};
% endfor
        BARRIER();
        const i32 at = LOCAL_ID / ${parts} * ${pitch} + LOCAL_ID % ${parts};
        f32 sum = dots[at];
        for (i32 i = ${parts}; i < ${block}; i += ${parts})
            sum += dots[at + i];
        part[LOCAL_ID] = sum;
        BARRIER();
        if (LOCAL_ID < ${outputs}) {
            const i32 c = LOCAL_ID % ${chains};
            const i64 row = tile * ${rows_at_once} + LOCAL_ID / ${chains};
            const i64 global_row = first_row + row;
            f32 eta = part[LOCAL_ID * ${parts}];
            for (i32 i = 1; i < ${parts}; ++i)
                eta += part[LOCAL_ID * ${parts} + i];
            f32 w = 0.0f, extra = 0.0f;
% if mode == "margins":
            margins[(i64)(beta_first + c) * pitch + global_row] = eta;
% endif
            if (global_row < row_count) {
% if mode == "draw":
                w = draw_positive_normal(eta, seed, stream + ((u32)(beta_first + c) << 8), step, global_row, 0u);
                extra = w * w;
% else:
                w = ${likelihoods.slope(family, "eta", "global_row", "beta_first + c")};
                extra = ${likelihoods.value(family, "eta", "global_row", "beta_first + c")};
% endif
            }
            weights[row * ${chains} + c] = w;
            weights[(rows + row) * ${chains} + c] = extra;
        }
    }
}

// Launch: for every strip a group of ${block} for each ${block} chunks of a row.
KERNEL LAUNCH_BOUNDS(${block}, 2) add_rows(const GLOBAL ${stored}* RESTRICT design, const GLOBAL f32* RESTRICT weights,
    GLOBAL f32* RESTRICT out, i64 rows, i32 strip_first, i32 strip_rows, i32 chunk_count, i32 beta_first, i32 betas) {
    LOCAL_ARRAY(f32, part, ${block});
    const i32 tiles = (chunk_count + ${block - 1}) / ${block};
    const i32 strip = GROUP_ID / tiles;
    const i32 k = GROUP_ID % tiles * ${block} + LOCAL_ID;
    const i32 width = chunk_count * ${each} + 8;
    const i64 first = (i64)strip * strip_rows;
    GLOBAL f32* sums = out + ((i64)(strip_first + strip) * betas + beta_first) * width;
    if (k < chunk_count) {
        f32 ${", ".join(f"a{c}_{e} = 0.0f" for c in range(chains) for e in range(each))};
        for (i64 row = first; row < first + strip_rows; row += ${rows_at_once}) {
% for r in range(rows_at_once):
            const chunk_t raw${r} = ((const GLOBAL chunk_t*)design)[(row + ${r}) * chunk_count + k];
% endfor
% for r in range(rows_at_once):
            {
%   for c in range(chains):
                const f32 w${c} = weights[(row + ${r}) * ${chains} + ${c}];
%   endfor
%   for e in range(each):
                const f32 x${e} = ${stored_values.value(storage, f"raw{r}", e)};
%     for c in range(chains):
                a${c}_${e} += x${e} * w${c};
%     endfor
%   endfor
            }
% endfor
        }
% for c in range(chains):
%   for e in range(each):
        sums[${c} * width + k * ${each} + ${e}] = a${c}_${e};
%   endfor
% endfor
    }
    if (GROUP_ID % tiles == 0) {    // the same for all of a group
        f32 sum = 0.0f;
        for (i32 i = LOCAL_ID; i < strip_rows * ${chains}; i += ${block})
            sum += weights[(rows + first) * ${chains} + i];
        part[LOCAL_ID] = sum;
        BARRIER();
        if (LOCAL_ID < ${chains}) {
            for (i32 i = LOCAL_ID + ${chains}; i < ${block}; i += ${chains})
                sum += part[i];
            sums[LOCAL_ID * width + chunk_count * ${each}] = sum;
        }
    }
}
