<%
    import math
    random_slab = prior == "regularized"
    penalty = "slab[j] * slab_precision" if random_slab else "slab[j]"
    first_log, step_log, components = -9.6, 0.6, 42    # of lambda: a sum is off by 2 exp(-pi^2 / (2 step_log)) at most
%>
// Coefficients drawn anew at once, with tau, and accepted or not (Metropolis-Hastings), lambda integrated out. Where columns are
// nearly orthogonal, the likelihood of beta_j alone is about that of d_j ~ N(beta_j, s_j^2), s_j^-2 = A_jj the curvature and
// d_j = beta_j + s_j^2 g_j, g the gradient. The proposal is the posterior given d_j, with lambda on a grid that is even in log
// lambda: first lambda given d_j, then beta_j given both, so that a coefficient leaves 0 or goes there in one step. d at the
// point proposed, which the step back starts from, is found by the pass that finds its likelihood.
//
// In iterations of even number all coefficients are proposed, and log tau + 0.5 N(0, 1), unless control.accepted, the mean of
// late that was accepted in the warm-up, is below LEAST_ACCEPTED; else a random share of them, exp(log_share), and tau stays.
//
// Launch: a group of ${block} a chain (adapt_share: one work-item). beta, proposed: (chains, q); score: (chains, width).
${records["chain"].declaration()}
${records["control"].declaration()}
${records["renewal"].declaration()}
${philox.double_functions()}
${variates.latent_functions()}
${variates.scale_functions()}
${horseshoe.density_functions()}
${priors.density_functions(prior, local_degrees)}
#define LEAST_ACCEPTED 0.05
#define ALL_ARE_PROPOSED(control, step) ((step) % 2u == 0u && (control)->accepted > LEAST_ACCEPTED)
#define COMPONENTS ${components}
#define FIRST_SQUARE ${repr(math.exp(2.0 * first_log))}
#define RATIO ${repr(math.exp(2.0 * step_log))}

// The sum over the grid of the weight of lambda times the density of d, but for constants, up to where it exceeds `level`; the
// variance of beta there in `variance`
FUNCTION f64 sum_of_components(f64 d, f64 s2, f64 tau2, f64 level, f64* variance) {
    f64 sum = 0.0;
    f64 square = FIRST_SQUARE;
    for (i32 k = 0; k < COMPONENTS; ++k) {
        const f64 t = tau2 * square + s2;
        sum += sqrt(square / t) / (1.0 + square) * exp(-0.5 * d * d / t);
        *variance = tau2 * square;
        if (sum > level)
            break;
        square *= RATIO;
    }
    return sum;
}

// log of the density of the proposal at a value
FUNCTION f64 log_proposal_density(f64 value, f64 d, f64 s2, f64 tau2) {
    f64 sum = 0.0;
    f64 total = 0.0;
    f64 square = FIRST_SQUARE;
    for (i32 k = 0; k < COMPONENTS; ++k) {
        const f64 v = tau2 * square;
        const f64 t = v + s2;
        const f64 apart = value - v / t * d;
        const f64 weight = sqrt(square / t) / (1.0 + square) * exp(-0.5 * d * d / t);
        total += weight;
        sum += weight * sqrt(t / (v * s2)) * exp(-0.5 * apart * apart * t / (v * s2));
        square *= RATIO;
    }
    return log(sum / total);
}

KERNEL LAUNCH_BOUNDS(${block}, 1) propose_coefficients(const GLOBAL f64* RESTRICT beta, GLOBAL f64* RESTRICT proposed,
    GLOBAL f32* RESTRICT part_f32, const GLOBAL f64* RESTRICT score, const GLOBAL f64* RESTRICT diagonal,
    const GLOBAL f64* RESTRICT slab, const GLOBAL chain_t* RESTRICT chain_state, const GLOBAL control_t* RESTRICT control,
    GLOBAL renewal_t* RESTRICT renewal, i32 q, i32 stride, i32 width, i32 first, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    LOCAL_ARRAY(f64, part, ${block});
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    const i64 base = (i64)chain * q;
    const f64 share = exp(control->log_share);
    const i32 all = ALL_ARE_PROPOSED(control, step);
    const f64 precision = chain_state[chain].tau_precision;
    const f64 change = all ? 0.5 * normal_of(philox_words(seed, number, step, 0, 0u)) : 0.0;
    const f64 moved_precision = CLAMPED(precision * exp(-2.0 * change));
    const f64 inverse = sqrt(precision);
    const f64 moved_inverse = sqrt(moved_precision);
% if random_slab:
    const f64 slab_precision = chain_state[chain].slab_precision;
% endif
    f64 mine = 0.0;
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const f64 b = beta[base + j];
        f64 value = b;
        if (j >= first) {
            const philox_words_t words = philox_words(seed, number, step, j, 1u);
            const f64 prior_precision = ${penalty};
            if (all || uniform_f64(words.w0) < share) {
                const f64 s2 = 1.0 / (diagonal[j] + prior_precision);
                const f64 d = b + s2 * (score[(i64)chain * width + j] - prior_precision * b);
                f64 v = 0.0;
                const f64 total = sum_of_components(d, s2, 1.0 / moved_precision, 1.0e300, &v);
                sum_of_components(d, s2, 1.0 / moved_precision, uniform_f64_wide(words.w1, words.w2) * total, &v);
                const f64 narrowed = v / (v + s2);
                value = narrowed * d + sqrt(narrowed * s2) * normal_of(philox_words(seed, number, step, j, 2u));
                mine -= log_proposal_density(value, d, s2, 1.0 / moved_precision);
                mine += log_prior_density(value * moved_inverse, ${f"{penalty} / moved_precision" if random_slab else "0.0"})
                    - log_prior_density(b * inverse, ${f"{penalty} / precision" if random_slab else "0.0"})
                    - 0.5 * prior_precision * (value * value - b * b);
            }
        }
        proposed[base + j] = value;
        part_f32[(i64)chain * stride + j] = (f32)value;
    }

    ${reduce.group_reduce("part", "f64", block, [("mine", "sum")])}
    if (LOCAL_ID == 0) {
        renewal[chain].tau_precision = moved_precision;
        renewal[chain].log_ratio = mine;
    }
}

KERNEL LAUNCH_BOUNDS(${block}, 1) accept_coefficients(GLOBAL f64* RESTRICT beta, GLOBAL f32* RESTRICT beta_f32,
    const GLOBAL f64* RESTRICT proposed, const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains,
    GLOBAL f64* RESTRICT score, const GLOBAL f64* RESTRICT diagonal, const GLOBAL f64* RESTRICT slab,
    GLOBAL chain_t* RESTRICT chain_state, const GLOBAL control_t* RESTRICT control, GLOBAL renewal_t* RESTRICT renewal, i32 q,
    i32 stride, i32 width, i32 total, i32 first, f64 inverse_width, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    LOCAL_ARRAY(f64, part, ${block});
    LOCAL_ARRAY(i32, decision, 1);
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    const i64 base = (i64)chain * q;
    const f64 share = exp(control->log_share);
    const i32 all = ALL_ARE_PROPOSED(control, step);
    const f64 precision = chain_state[chain].tau_precision;
% if random_slab:
    const f64 slab_precision = chain_state[chain].slab_precision;
% endif
    f64 mine = 0.0;
    for (i32 j = first + LOCAL_ID; j < q; j += ${block}) {
        if (all || uniform_f64(philox_words(seed, number, step, j, 1u).w0) < share) {
            const f64 prior_precision = ${penalty};
            const f64 s2 = 1.0 / (diagonal[j] + prior_precision);
            f64 sum = 0.0;
            for (i32 shard = 0; shard < shard_count; ++shard)
                sum += shards[((i64)shard * chains + chain) * width + j];
            const f64 value = proposed[base + j];
            mine += log_proposal_density(beta[base + j], value + s2 * (sum - prior_precision * value), s2, 1.0 / precision);
        }
    }

    ${reduce.group_reduce("part", "f64", block, [("mine", "sum")])}
    if (LOCAL_ID == 0) {
        f64 likelihood = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            likelihood += shards[((i64)shard * chains + chain) * width + total];
        const f64 moved_precision = renewal[chain].tau_precision;
        const f64 of_tau = 0.5 * (f64)(q - first - 1) * log(moved_precision / precision)
            + log((1.0 + inverse_width / precision) / (1.0 + inverse_width / moved_precision));
        const f64 change = renewal[chain].log_ratio + mine + likelihood - score[(i64)chain * width + total] + of_tau;
        const f64 accepted = change > -1.0e300 && change < 1.0e300 ? (change < 0.0 ? exp(change) : 1.0) : 0.0;
        decision[0] = uniform_f64(philox_words(seed, number, step, 0, 3u).w0) < accepted;
        renewal[chain].acceptance = accepted;
        chain_state[chain].moved = (f64)decision[0];
        if (decision[0])
            chain_state[chain].tau_precision = moved_precision;
    }
    BARRIER();
    if (!decision[0])
        return;
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        beta[base + j] = proposed[base + j];
        beta_f32[(i64)chain * stride + j] = (f32)proposed[base + j];
    }
    for (i32 j = LOCAL_ID; j < width; j += ${block}) {
        f64 sum = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            sum += shards[((i64)shard * chains + chain) * width + j];
        score[(i64)chain * width + j] = sum;
    }
}

// The share, towards a mean probability of acceptance `target` over all chains; or the mean of late
KERNEL LAUNCH_BOUNDS(1, 1) adapt_share(GLOBAL control_t* RESTRICT control, const GLOBAL renewal_t* RESTRICT renewal, i32 chains,
    f64 target, f64 least, const GLOBAL u32* RESTRICT iteration) {
    f64 mean = 0.0;
    for (i32 chain = 0; chain < chains; ++chain)
        mean += renewal[chain].acceptance / (f64)chains;
    if (ALL_ARE_PROPOSED(control, iteration[0])) {
        control->accepted += 0.1 * (mean - control->accepted);
    } else {
        const f64 changed = control->log_share + 4.0 / sqrt(10.0 + control->adaptations) * (mean - target);
        control->log_share = changed > 0.0 ? 0.0 : (changed < least ? least : changed);
    }
}
