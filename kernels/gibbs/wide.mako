<%
    serial = block == 1
%>
// beta given the latent normals z, or the target of a linear regression, where there are more columns than rows, without X'X.
// With D the prior variances and V = sigma^2 diag(v) those of the errors (probit: I; normal: v = 1; Student's t: v given the
// residuals),
//
//     u ~ N(0, D),   d ~ N(0, I),   M = X D X' + V = L L',   M w = g z - X u - V^1/2 d,   beta = u + D X' w
//
// has the distribution N(S^-1 X'V^-1 g z, S^-1), S = X'V^-1 X + D^-1: A. Bhattacharya, A. Chakraborty, B. K. Mallick, "Fast
// sampling with Gaussian scale mixture priors in high-dimensional regression", Biometrika 103 (2016). g = 1, or that of the
// parameter expansion of conditionals.mako, whose rate is z' M^-1 z / 2.
//
// wide_scales.mako and wide_latent.mako have what moves with beta integrated out.
//
// Launch: a group of ${block} a chain, or any number of groups where GLOBAL_ID is used. variance: (chains, stride), zeros from
// q on; latent, solution, margins, spread (v): (chains, n); matrix: (chains, n, n), lower triangle;
// all f64. design: (rows, stride) f32.
${records["chain"].declaration()}
% if linear:
${records["auxiliary"].declaration()}
${records["trial"].declaration()}
#define LOG_SIGMA(auxiliary) ((auxiliary).value[0])    // the one parameter of a linear regression
% endif
${philox.double_functions()}
${variates.scale_functions()}

// margins = X times a vector of each chain, (chains, q). Launch: a group of ${block} a row and chain, chains first.
KERNEL LAUNCH_BOUNDS(${block}, 1) multiply_rows(const GLOBAL f32* RESTRICT design, const GLOBAL f64* RESTRICT vector,
    GLOBAL f64* RESTRICT margins, i64 row_count, i32 chains, i32 q, i32 stride) {
    const i64 row = GROUP_ID / chains;
    const i64 chain = GROUP_ID % chains;
    const GLOBAL f32* x = design + row * stride;
    const GLOBAL f64* v = vector + chain * q;
% if serial:
    double8 sums = (double8)(0.0);
    i32 j = 0;
    for (; j + 8 <= q; j += 8)
        sums += convert_double8(vload8(0, x + j)) * vload8(0, v + j);
    const double4 half_sum = sums.lo + sums.hi;
    f64 sum = (half_sum.x + half_sum.z) + (half_sum.y + half_sum.w);
    for (; j < q; ++j)
        sum += (f64)x[j] * v[j];
    margins[chain * row_count + row] = sum;
% else:
    LOCAL_ARRAY(f64, part, ${block});
    f64 sums[4] = {0.0, 0.0, 0.0, 0.0};
    i32 j = LOCAL_ID;
    for (; j + ${3 * block} < q; j += ${4 * block}) {
#pragma unroll
        for (i32 k = 0; k < 4; ++k)
            sums[k] += (f64)x[j + k * ${block}] * v[j + k * ${block}];
    }
    for (; j < q; j += ${block})
        sums[0] += (f64)x[j] * v[j];
    ${reduce.block_sums("part", "f64", block, ["(sums[0] + sums[2]) + (sums[1] + sums[3])"])}
    if (LOCAL_ID == 0)
        margins[chain * row_count + row] = part[0];
% endif
}

// shards: (shard_count, chains, width), sums of x w over each part of the rows. Launch: a group of ${block} for
// ${32 if serial else block} columns, a part and a chain, chains first.
KERNEL LAUNCH_BOUNDS(${block}, 1) multiply_columns(const GLOBAL f32* RESTRICT design, const GLOBAL f64* RESTRICT solution,
    GLOBAL f64* RESTRICT shards, i64 row_count, i32 shard_count, i32 chains, i32 stride, i32 width) {
    const i64 chain = GROUP_ID % chains;
    const i32 shard = GROUP_ID / chains % shard_count;
    const i64 begin = row_count * shard / shard_count;
    const i64 end = row_count * (shard + 1) / shard_count;
    const GLOBAL f64* w = solution + chain * row_count;
    GLOBAL f64* out = shards + ((i64)shard * chains + chain) * width;
% if serial:
    const i32 first = GROUP_ID / chains / shard_count * 32;
    const i32 eights = MIN(32, stride - first) / 8;    // stride is a multiple of 8
    double8 s0 = (double8)(0.0);
    double8 s1 = s0;
    double8 s2 = s0;
    double8 s3 = s0;
    for (i64 row = begin; row < end; ++row) {
        const GLOBAL f32* x = design + row * stride + first;
        const f64 weight = w[row];
        s0 += convert_double8(vload8(0, x)) * weight;
        if (eights > 1)
            s1 += convert_double8(vload8(1, x)) * weight;
        if (eights > 2)
            s2 += convert_double8(vload8(2, x)) * weight;
        if (eights > 3)
            s3 += convert_double8(vload8(3, x)) * weight;
    }
    vstore8(s0, 0, out + first);
    if (eights > 1)
        vstore8(s1, 1, out + first);
    if (eights > 2)
        vstore8(s2, 2, out + first);
    if (eights > 3)
        vstore8(s3, 3, out + first);
% else:
    const i32 j = GROUP_ID / chains / shard_count * ${block} + LOCAL_ID;
    if (j < stride) {
        const GLOBAL f32* x = design + j;
        f64 sum = 0.0;
        i64 row = begin;
        for (; row + 8 <= end; row += 8) {    // loads that are on their way together
% for k in range(8):
            const f32 x${k} = x[(row + ${k}) * stride];
% endfor
% for k in range(8):
            sum += (f64)x${k} * w[row + ${k}];
% endfor
        }
        for (; row < end; ++row)
            sum += (f64)x[row * stride] * w[row];
        out[j] = sum;
    }
% endif
}

// The prior variances; scale holds their square roots
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_variance(const GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT variance, i32 q,
    i32 stride, i32 chains) {
    for (i64 i = GLOBAL_ID; i < (i64)stride * chains; i += GLOBAL_SIZE) {
        const i64 j = i % stride;
        const f64 s = j < q ? scale[i / stride * q + j] : 0.0;
        variance[i] = s * s;
    }
}

// u${", and the prior variances once more: tau may have moved" if linear else ""}
KERNEL LAUNCH_BOUNDS(${block}, 1) draw_prior(const GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT prior_draw,
    ${arguments.of_trial(linear)}
    i32 q, i32 chains, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    for (i64 i = GLOBAL_ID; i < (i64)q * chains; i += GLOBAL_SIZE) {
        const i64 chain = i / q;
        const i64 j = i % q;
        f64 s = scale[i];
% if linear:
        if (j >= first)
            s *= sqrt(trial[chain].tau_squared);
        variance[chain * stride + j] = s * s;
% endif
        prior_draw[i] = s * normal_of(philox_words(seed, stream + ((u32)chain << 8), iteration[0], j, 0u));
    }
}

// What an iteration of the kernel hmc reports: the log-likelihood, and that nothing was rejected
KERNEL LAUNCH_BOUNDS(${block}, 1) report_wide(const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains, i32 width, i32 total,
    GLOBAL chain_t* RESTRICT chain_state) {
    if (LOCAL_ID == 0) {
        f64 sum = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            sum += shards[((i64)shard * chains + GROUP_ID) * width + total];
        chain_state[GROUP_ID].log_likelihood = sum;
        chain_state[GROUP_ID].acceptance = 1.0;
    }
}

// g, from x = L^-1 z in `solution`; then solution = g z - X u - V^1/2 d, X u in margins
KERNEL LAUNCH_BOUNDS(${block}, 1) prepare_wide(const GLOBAL f64* RESTRICT latent, const GLOBAL f64* RESTRICT margins,
    GLOBAL f64* RESTRICT solution, GLOBAL chain_t* RESTRICT chain_state,
    ${arguments.of_errors(linear)}
    i64 row_count, i32 expanded, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    LOCAL_ARRAY(f64, part, ${block});
    LOCAL_ARRAY(f64, shared, 1);
    const i32 chain = GROUP_ID;
    const u32 number = (u32)chain << 8;
    f64 g = 1.0;
    if (expanded) {
        f64 mine = 0.0;
        for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
            const f64 x = solution[chain * row_count + i];
            mine += x * x;
        }
        ${reduce.block_sums("part", "f64", block, ["mine"])}
        if (LOCAL_ID == 0) {
            f64 drawn;
            if (row_count > 1) {
                drawn = draw_gamma(0.5 * (f64)row_count, seed, stream + 1u + number, step, 0);
            } else {
                const f64 normal = normal_of(philox_words(seed, stream + 1u + number, step, 0, 0u));
                drawn = 0.5 * normal * normal;
            }
            shared[0] = sqrt(drawn / (0.5 * part[0]));
            chain_state[chain].expansion = shared[0];
        }
        BARRIER();
        g = shared[0];
    }
    for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
        const i64 at = chain * row_count + i;
        f64 d = normal_of(philox_words(seed, stream + 2u + number, step, i, 0u));
% if linear:
        d *= sqrt(spread[at]) * exp(LOG_SIGMA(auxiliary[chain]));
% endif
        solution[at] = g * latent[at] - margins[at] - d;
    }
}

// beta = u + D X'w, X'w the sum of the shards' parts. A chain whose matrix could not be factorised keeps its beta.
KERNEL LAUNCH_BOUNDS(${block}, 1) finish_wide(const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains, i32 width,
    const GLOBAL f64* RESTRICT variance, const GLOBAL f64* RESTRICT prior_draw, GLOBAL f64* RESTRICT beta,
    GLOBAL f32* RESTRICT beta_f32, const GLOBAL i32* RESTRICT status, i32 q, i32 stride) {
    for (i64 at = GLOBAL_ID; at < (i64)q * chains; at += GLOBAL_SIZE) {
        const i64 chain = at / q;
        const i64 j = at % q;
        f64 sum = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            sum += shards[((i64)shard * chains + chain) * width + j];
        const f64 value = status[chain] != 0 ? beta[at] : prior_draw[at] + variance[chain * stride + j] * sum;
        beta[at] = value;
        beta_f32[chain * stride + j] = (f32)value;
    }
}
