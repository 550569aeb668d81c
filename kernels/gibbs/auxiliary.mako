<%
    points = 16
    most = records["auxiliary"].dtype["value"].shape[0]
    scaled = family in ("normal", "student")
%>
// The auxiliary parameters of a family: log sigma; the logarithms of the differences of successive thresholds, the first of which
// is 0; or, of counts, -log(r) / 2, the logarithm of the coefficient of variation of the mean that a negative binomial
// distribution has. Given the margins, ${points} points compete: a centre c ~ N(a, S) about the present point a, and
// ${points - 1} others ~ N(c, S), S diagonal. The joint density of centre and points does not change if two points change
// places, so choosing one of the ${points} in proportion to its posterior density leaves the posterior as it is: H. Tjelmeland,
// "Using all Metropolis-Hastings proposals to estimate mean values" (2004).
//
// candidates and candidate_shape (what the likelihoods read of them): (chains, ${points}); partial: (groups, chains, ${points}).
// counts: the terms without the margin are added up over the `distinct` different values of the target, each of which there is
// `repeats` times; the steps take eight sizes in turn, as the posterior of r may be narrow or wide. log sigma is at least `least`,
// below which errors are those of rounding to f32.
// degrees: of Student's t; categories: of an ordinal target.
${records["auxiliary"].declaration()}
${philox.double_functions()}
${variates.latent_functions()}
${variates.scale_functions()}
${likelihoods.functions(family)}
% if block == 1:
${likelihood_vectors.functions(8, family)}
% endif

% if family == "counts":
// log(Gamma(y + r) / (Gamma(r) r^y)): Stirling's series for the quotient at r + 10, and ten factors below
FUNCTION_APART f64 log_rising(f64 y, f64 r) {
    f64 ratio = 1.0;
    f64 from = r;
    if (r < 10.0) {
#pragma unroll 1
        for (i32 k = 0; k < 10; ++k)
            ratio *= (r + (f64)k) / (y + r + (f64)k);
        from = r + 10.0;
    }
    const f64 to = from + y;
    const f64 low = 1.0 / from;
    const f64 high = 1.0 / to;
    f64 rest = high / 12.0 - low / 12.0 - (high * high * high - low * low * low) / 360.0;
    rest += (high * high * high * high * high - low * low * low * low * low) / 1260.0;
    f64 power = (to - 0.5) * log1p(y / from) - y;
    power += r < 10.0 ? y * log(from / r) : 0.0;
    return power + rest + log(ratio);
}
% endif

// What the likelihood needs of one point
FUNCTION void write_shape(const GLOBAL auxiliary_t* point, GLOBAL shape_t* shape, i32 count, f64 log_peak, f64 degrees) {
% if family == "ordinal":
    f64 threshold = 0.0;
    shape->categories = (f32)(count + 2);
    shape->threshold[0] = 0.0f;
    for (i32 k = 0; k < count; ++k) {
        threshold += exp(point->value[k]);
        shape->threshold[k + 1] = (f32)threshold;
    }
% elif family == "counts":
    shape->size = (f32)exp(-2.0 * point->value[0]);
    shape->log_size = (f32)(-2.0 * point->value[0]);
% else:
    shape->inverse_sigma = (f32)exp(-point->value[0]);
    shape->log_peak = (f32)(log_peak - point->value[0]);
    shape->degrees = (f32)degrees;
% endif
}

// shape of every chain from its auxiliary parameters. Launch: a group of one work-item a chain.
KERNEL LAUNCH_BOUNDS(1, 1) shape_likelihoods(const GLOBAL auxiliary_t* RESTRICT auxiliary, GLOBAL shape_t* RESTRICT chain_shape,
    i32 auxiliaries, f64 log_peak, f64 degrees) {
    write_shape(auxiliary + GROUP_ID, chain_shape + GROUP_ID, auxiliaries, log_peak, degrees);
}

// The points of every chain. Launch: a group of ${points} work-items a chain.
KERNEL LAUNCH_BOUNDS(${points}, 1) propose_auxiliary(const GLOBAL auxiliary_t* RESTRICT auxiliary,
    const GLOBAL f64* RESTRICT auxiliary_step, GLOBAL auxiliary_t* RESTRICT candidates, GLOBAL shape_t* RESTRICT candidate_shape,
    i32 auxiliaries, f64 log_peak, f64 degrees, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    {
        const i32 i = LOCAL_ID;
        GLOBAL auxiliary_t* point = candidates + (i64)chain * ${points} + i;
        for (i32 k = 0; k < auxiliaries; ++k) {
            const f64 here = auxiliary[chain].value[k];
% if family == "counts":
            const f64 size = auxiliary_step[k] * exp(-0.69314718055994531 * (f64)(step % 8u));
% else:
            const f64 size = auxiliary_step[k];
% endif
            const f64 centre = here + size * normal_of(philox_words(seed, number, step, k, 0u));
            point->value[k] = i == 0 ? here : centre + size * normal_of(philox_words(seed, number, step, ${most} * i + k, 0u));
        }
        write_shape(point, candidate_shape + (i64)chain * ${points} + i, auxiliaries, log_peak, degrees);
    }
}

// Parts of the log-likelihood of every point. Launch: `parts` groups of ${block} a chain.
KERNEL LAUNCH_BOUNDS(${block}, 1) weigh_candidates(const GLOBAL f32* RESTRICT margins, const GLOBAL f32* RESTRICT target,
    const GLOBAL shape_t* RESTRICT candidate_shape, GLOBAL f64* RESTRICT partial, i64 pitch,
    ${arguments.of_weights()}
    ${arguments.of_counts(family)}
    i64 row_count, i32 parts, i32 chains) {
    LOCAL_ARRAY(f64, part, ${points * block});
    const i32 chain = GROUP_ID / parts;
    const i32 number = GROUP_ID % parts;
    const GLOBAL shape_t* shapes = candidate_shape + ${points} * (i64)chain;
% for i in range(points):
    f64 sum${i} = 0.0;
% endfor
% if block == 1:
    for (i64 row = (i64)number * 8; row < row_count; row += (i64)parts * 8) {    // these buffers have room beyond the rows
        const float8 eta = vload8(0, margins + chain * pitch + row);
        const float8 y = vload8(0, target + row);
%   if context.get("weighted", False):
        const float8 weights = vload8(0, row_weight + row);
%   endif
        const int8 used = (int8)(0, 1, 2, 3, 4, 5, 6, 7) < (int8)((i32)MIN(row_count - row, (i64)8));
%   for i in range(points):
        {
            const float8 log_density = log_likelihood_of_vector(eta, y, shapes + ${i})${likelihoods.times("weights")};
            const float8 logs = used ? log_density : (float8)(0.0f);
            const float4 half_sum = logs.lo + logs.hi;
            sum${i} += (f64)((half_sum.x + half_sum.z) + (half_sum.y + half_sum.w));
        }
%   endfor
    }
% else:
    for (i64 row = (i64)number * ${block} + LOCAL_ID; row < row_count; row += (i64)parts * ${block}) {
        const f32 eta = margins[chain * pitch + row];
        const f32 y = target[row];
% for i in range(points):
        sum${i} += (f64)log_likelihood(eta, y, shapes + ${i})${likelihoods.times("row_weight[row]")};
% endfor
    }
% endif
% if family == "counts":
    for (i32 v = number * ${block} + LOCAL_ID; v < distinct; v += parts * ${block}) {
        const f64 y = values[v];
        const f64 times = repeats[v];
        const GLOBAL auxiliary_t* own = candidates + ${points} * (i64)chain;
%   for i in range(points):
        sum${i} += times * log_rising(y, exp(-2.0 * own[${i}].value[0]));
%   endfor
    }
% endif
    ${reduce.block_sums("part", "f64", block, [f"sum{i}" for i in range(points)])}
    for (i32 i = LOCAL_ID; i < ${points}; i += ${block})
        partial[((i64)number * chains + chain) * ${points} + i] = part[i * ${block}];
}

// One of the points. Launch: a group of one work-item a chain.
KERNEL LAUNCH_BOUNDS(1, 1) choose_auxiliary(GLOBAL auxiliary_t* RESTRICT auxiliary, GLOBAL shape_t* RESTRICT chain_shape,
    const GLOBAL auxiliary_t* RESTRICT candidates, const GLOBAL f64* RESTRICT partial, i32 auxiliaries, i32 parts, i32 chains,
    f64 log_peak, f64 degrees, f64 least, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    const i32 chain = GROUP_ID;
    f64 weight[${points}];
    f64 most = -1.0e300;
    for (i32 i = 0; i < ${points}; ++i) {
        const GLOBAL auxiliary_t* point = candidates + (i64)chain * ${points} + i;
        f64 density = 0.0;
        for (i32 part = 0; part < parts; ++part)
            density += partial[((i64)part * chains + chain) * ${points} + i];
        for (i32 k = 0; k < auxiliaries; ++k) {
% if family == "ordinal":
            density -= 0.5 * point->value[k] * point->value[k] / ${threshold_scale ** 2};
% else:
            density += point->value[k] - log(1.0 + exp(2.0 * point->value[k]));
% endif
        }
        i32 possible = density > -1.0e300 && density < 1.0e300;
% if scaled:
        possible = possible && point->value[0] >= least;
% endif
        weight[i] = possible ? density : -1.0e300;
        most = weight[i] > most ? weight[i] : most;
    }
    f64 total = 0.0;
    for (i32 i = 0; i < ${points}; ++i) {
        weight[i] = exp(weight[i] - most);
        total += weight[i];
    }
    const philox_words_t words = philox_words(seed, stream + 1u + ((u32)chain << 8), step, 0, 0u);
    f64 left = total * uniform_f64_wide(words.w0, words.w1);
    i32 chosen = 0;
    while (chosen < ${points - 1} && left > weight[chosen]) {
        left -= weight[chosen];
        ++chosen;
    }
    for (i32 k = 0; k < auxiliaries; ++k)
        auxiliary[chain].value[k] = candidates[(i64)chain * ${points} + chosen].value[k];
    write_shape(candidates + (i64)chain * ${points} + chosen, chain_shape + chain, auxiliaries, log_peak, degrees);
}
