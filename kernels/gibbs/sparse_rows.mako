<%
    serial = block == 1
    at_once = 8 if serial else block // lanes   # rows of a tile
    sum_type = "f64" if vector == "f64" else "f32"
    scored = mode in ("score", "margins")
    by_vectors = serial and mode == "margins"
    conjugate = mode in ("augment", "product")
    halves = 2 if shuffle or lanes == 1 else 1   # of `dots`: lanes that add up in local memory have barriers between two tiles
    half = f"tile / {at_once} % 2 * {at_once * chains} + " if halves == 2 else ""
%>
// The first half of a pass over a sparse design (see sparse.mako) for ${chains} vectors beta: the margins eta = s x . beta of
// every row, and its weight in X'w, which sparse_columns.mako adds up:
% if mode == "draw":
//     w = s z, z ~ N(eta, 1) given z > 0, and the sum of z^2
% elif mode == "product":
//     w = omega eta / s
% elif mode == "augment":
//     w = s u + sqrt(omega) d, d ~ N(0, 1): u = z as above and omega = 1, or u = 1/2 and omega ~ PG(1, eta) for logit; and the
//     sum of omega
% else:
//     w = s f(eta), f = (log F)', F the distribution function of the ${family} model, and the sum of log F(eta)
% endif
//
// Launch: any number of groups of ${block}; a group takes strips of `strip_rows` rows, ${at_once} at a time by ${lanes} lanes each.
// row_start: (rows + 1,); columns, values: the entries, row by row. Of the vectors from beta_first on: coefficients (q,
// ${chains}) of factor_j beta_j from element beta_first q on; weighted (rows, ${chains}) of w, from beta_first rows on;
// strip_sums (strips, 2, ${chains}) of w and of what else is added up, from 2 beta_first strips on; offsets (tiles, betas):
// parts of the intercept less sum_j centre_j beta_j.
${philox.double_functions()}
${variates.latent_functions()}
% if scored:
${likelihoods.functions(family)}
% endif
% if by_vectors:
${likelihood_vectors.functions(8, family)}
% endif
% if mode == "augment":
${variates.scale_functions()}
${polya_gamma.functions()}
% endif

KERNEL LAUNCH_BOUNDS(${block}, 1) pass_rows(
    const GLOBAL ${start}* RESTRICT row_start, const GLOBAL ${index}* RESTRICT columns,
    ${arguments.of_values(implicit)}
    const GLOBAL ${vector}* RESTRICT coefficients, const GLOBAL f64* RESTRICT offsets, i32 tiles, i32 q,
    const GLOBAL f32* RESTRICT signs, GLOBAL ${vector}* RESTRICT weighted, GLOBAL f64* RESTRICT strip_sums,
    i64 first_row, i64 row_count, i32 strips, i32 strip_rows, i32 beta_first,
    ${arguments.of_pass(mode, family)}
    ${arguments.of_omega(mode)}
    i32 betas) {
% if mode in ("draw", "augment"):
    const u32 step = iteration[0];
% endif
% if not serial:
    LOCAL_ARRAY(f64, part, ${2 * block});
%   if lanes > 1 and not shuffle:
    LOCAL_ARRAY(${sum_type}, lanes_, ${block * chains});
%   endif
    LOCAL_ARRAY(${sum_type}, dots, ${at_once * chains * halves});    // two halves: tiles in turn, as that before may still be read
    LOCAL_ARRAY(f64, offset, ${chains});
    const i32 lane = LOCAL_ID % ${lanes};
    if (LOCAL_ID < ${chains}) {
        f64 sum = 0.0;
        for (i32 tile = 0; tile < tiles; ++tile)
            sum += offsets[tile * betas + beta_first + LOCAL_ID];
        offset[LOCAL_ID] = sum;
    }
    BARRIER();
% else:
    f64 offset[${chains}];
    for (i32 c = 0; c < ${chains}; ++c) {
        f64 sum = 0.0;
        for (i32 tile = 0; tile < tiles; ++tile)
            sum += offsets[tile * betas + beta_first + c];
        offset[c] = sum;
    }
% endif
    const i64 rows = (i64)strips * strip_rows;
    GLOBAL ${vector}* out = weighted + beta_first * rows;
    GLOBAL f64* sums = strip_sums + 2 * (i64)beta_first * strips;
    const GLOBAL ${vector}* gathered = coefficients + (i64)beta_first * q;
    for (i32 strip = GROUP_ID; strip < strips; strip += GROUP_COUNT) {
% if serial:
        f64 total[${2 * chains}];
        for (i32 c = 0; c < ${2 * chains}; ++c)
            total[c] = 0.0;
% else:
        f64 weight_sum = 0.0, extra = 0.0;
% endif
        for (i32 tile = 0; tile < strip_rows; tile += ${at_once}) {
            const i64 tile_row = (i64)strip * strip_rows + tile;
% if serial:
            f32 latent[${8 * chains}];
%   if conjugate:
            f64 dots[${8 * chains}];
%   endif
            for (i32 r = 0; r < 8; ++r) {
                ${sum_type} ${", ".join(f"a{c} = 0" for c in range(chains))};
                const i64 begin = (i64)row_start[tile_row + r];
                const i64 end = (i64)row_start[tile_row + r + 1];
${sparse.add_entries("begin", "end", "columns", "0", "gathered", chains, vector, sum_type, 1, 0, implicit)}
%   for c in range(chains):
%     if conjugate:
                dots[r * ${chains} + ${c}] = a${c} + offset[${c}];
%     else:
                latent[r * ${chains} + ${c}] = signs[first_row + tile_row + r] * (f32)((f64)a${c} + offset[${c}]);
%     endif
%   endfor
            }
%   if by_vectors:
            const i64 eight = first_row + tile_row;
            const int8 used = (int8)(0, 1, 2, 3, 4, 5, 6, 7) < (int8)((i32)MAX(MIN(row_count - eight, (i64)8), (i64)0));
%     for c in range(chains):
            {
                float8 eta;
%       for i in range(8):
                eta.s${i} = latent[${i * chains + c}];
%       endfor
                vstore8(eta, 0, margins + (i64)(beta_first + ${c}) * pitch + eight);
                const score_t at = ${likelihoods.vector_score(8, family, "eta", "eight", f"beta_first + {c}")};
                const float8 weighted_slope = at.slope${likelihoods.vector_weight(8, "eight")};
                const float8 slope = (used ? weighted_slope : (float8)(0.0f)) * vload8(0, signs + eight);
                const float8 logs = used ? at.value${likelihoods.vector_weight(8, "eight")} : (float8)(0.0f);
%       for i in range(8):
                out[(tile_row + ${i}) * ${chains} + ${c}] = slope.s${i};
                total[${c}] += (f64)slope.s${i};
%       endfor
                const float4 half_sum = logs.lo + logs.hi;
                total[${chains + c}] += (f64)((half_sum.x + half_sum.z) + (half_sum.y + half_sum.w));
            }
%     endfor
%   endif
% else:
            const i64 mine = tile_row + LOCAL_ID / ${lanes};
            const i32 inside = tile + LOCAL_ID / ${lanes} < strip_rows;
            ${sum_type} ${", ".join(f"a{c} = 0" for c in range(chains))};
            const i64 begin = inside ? (i64)row_start[mine] : 0;
            const i64 end = inside ? (i64)row_start[mine + 1] : 0;
${sparse.add_entries("begin", "end", "columns", "0", "gathered", chains, vector, sum_type, lanes, "lane", implicit)}
${sparse.add_lanes(lanes, block, chains, sum_type, shuffle)}
            if (lane == 0) {
%   for c in range(chains):
                dots[${half}LOCAL_ID / ${lanes} * ${chains} + ${c}] = a${c};
%   endfor
            }
            BARRIER();
% endif
% if not by_vectors:
% if serial:
            for (i32 c = 0; c < ${chains}; ++c) {
            f64 weight_sum = total[c];    // not added up in the array: Intel's compiler for CPUs loses some of such sums
            f64 extra = total[${chains} + c];
            for (i32 o = c; o < ${8 * chains}; o += ${chains}) {
% else:
            for (i32 o = LOCAL_ID; o < ${at_once * chains}; o += ${block}) {
                const i32 c = o % ${chains};
% endif
                const i64 local_row = tile_row + o / ${chains};
                const i64 row = first_row + local_row;
                if (tile + o / ${chains} < strip_rows) {
                    const f32 sign = signs[row];
                    const i32 used = row < row_count;
%   if serial and conjugate:
                    const f64 eta = dots[o];
%   elif serial:
                    const f32 eta = latent[o];
%   elif conjugate:
                    const f64 eta = dots[${half}o] + offset[c];
%   else:
                    const f32 eta = sign * (f32)((f64)dots[${half}o] + offset[c]);
%   endif
%   if mode == "draw":
                    const u32 number = stream + ((u32)(beta_first + c) << 8);
                    const f32 w = used ? draw_positive_normal(eta, seed, number, step, row, 0u) : 0.0f;
                    const f64 added = (f64)(w * w);
%   elif mode == "product":
                    const f64 w = used ? (f64)sign * omega[beta_first * rows + local_row * ${chains} + c] * eta : 0.0;
                    const f64 added = 0.0;
%   elif mode == "augment":
                    const u32 number = stream + ((u32)(beta_first + c) << 8);
                    const f64 d = normal_of(philox_words(seed, noise_stream + ((u32)(beta_first + c) << 8), step, row, 0u));
%     if family == "logit":
                    const f64 drawn = draw_polya_gamma(eta, seed, number, step, row);
                    const f64 u = 0.5;
%     else:
                    const f64 drawn = 1.0;
                    const f64 u = (f64)draw_positive_normal(sign * (f32)eta, seed, number, step, row, 0u);
%     endif
                    omega[beta_first * rows + local_row * ${chains} + c] = drawn;
                    const f64 w = used ? u + (f64)sign * sqrt(drawn) * d : 0.0;
                    const f64 added = used ? drawn : 0.0;
%   else:
                    const f32 w = used ? ${likelihoods.slope(family, "eta", "row", "beta_first + c")} : 0.0f;
                    const f64 added = used ? (f64)${likelihoods.value(family, "eta", "row", "beta_first + c")} : 0.0;
%     if mode == "margins":
                    margins[(i64)(beta_first + c) * pitch + row] = eta;
%     endif
%   endif
                    const ${vector} signed_weight = sign * w;
                    out[local_row * ${chains} + c] = signed_weight;
                    weight_sum += (f64)signed_weight;
                    extra += added;
                }
            }
%   if serial:
            total[c] = weight_sum;
            total[${chains} + c] = extra;
            }
%   endif
% endif
        }
% if serial:
        for (i32 c = 0; c < ${2 * chains}; ++c)
            sums[(i64)strip * ${2 * chains} + c] = total[c];
% else:
        BARRIER();
        part[LOCAL_ID] = weight_sum;
        part[${block} + LOCAL_ID] = extra;
        BARRIER();
        if (LOCAL_ID < ${2 * chains}) {
            const i32 from = LOCAL_ID < ${chains} ? LOCAL_ID : ${block - chains} + LOCAL_ID;
            f64 sum = 0.0;
            for (i32 i = 0; i < ${block}; i += ${chains})
                sum += part[from + i];
            sums[(i64)strip * ${2 * chains} + LOCAL_ID] = sum;
        }
        BARRIER();
% endif
    }
}
