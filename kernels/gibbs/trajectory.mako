// Hamiltonian Monte Carlo on beta given lambda and tau, in the metric A = H + D^-1: H = X'WX with fixed weights W, D^-1 the prior
// precisions. With C = s A s = L L', s = diag(A)^-1/2, and momenta r ~ N(0, I) the leapfrog step of length e is
//
//     r += e/2 L^-1 s g,   beta += e s L^-T r,   r += e/2 L^-1 s g,   g = X' f(X beta) - D^-1 beta, f = (log F)'.
//
// R. M. Neal, "MCMC using Hamiltonian dynamics" (2011); the step length is chosen by dual averaging: M. D. Hoffman, A. Gelman,
// "The No-U-Turn sampler", JMLR 15 (2014), section 3.2.
//
// Launch: a group of ${block} a chain (adapt_step: one work-item). beta, momentum, origin, prior, scale: (chains, q); rhs:
// (chains of the group of matrices, q); score: (chains, width): X'f, and the log-likelihood at `total`.
${records["chain"].declaration()}
${records["control"].declaration()}
${philox.double_functions()}
${variates.latent_functions()}
${likelihoods.functions(family)}
${variates.scale_functions()}

// The length of a step: that of `control`, times a factor in (0.8, 1.2) which a chain draws for each trajectory
FUNCTION f64 step_length(f64 length, u64 seed, u32 stream, u32 step, i32 chain) {
    const philox_words_t words = philox_words(seed, stream + ((u32)chain << 8), step, 0, 0u);
    return length * (0.8 + 0.4 * uniform_f64_wide(words.w0, words.w1));
}

// Momenta, the point to return to, and the logarithm of the joint density there: energy[chain]
KERNEL LAUNCH_BOUNDS(${block}, 1) begin_trajectory(const GLOBAL f64* RESTRICT beta, GLOBAL f64* RESTRICT origin,
    GLOBAL f64* RESTRICT momentum, const GLOBAL f64* RESTRICT prior, const GLOBAL f64* RESTRICT score, GLOBAL f64* RESTRICT energy,
    i32 q, i32 width, i32 total, i32 first_chain, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    LOCAL_ARRAY(f64, part, ${block});
    const i32 chain = first_chain + GROUP_ID;
    const i64 base = (i64)chain * q;
    f64 mine = 0.0;
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const f64 b = beta[base + j];
        const f64 r = normal_of(philox_words(seed, stream + ((u32)chain << 8), step, j, 0u));
        origin[base + j] = b;
        momentum[base + j] = r;
        mine += prior[base + j] * b * b + r * r;
    }
    ${reduce.block_sums("part", "f64", block, ["mine"])}
    if (LOCAL_ID == 0)
        energy[chain] = score[(i64)chain * width + total] - 0.5 * part[0];
}

// rhs = s g; the score is the sum of the shards' parts
KERNEL LAUNCH_BOUNDS(${block}, 1) scale_gradient(const GLOBAL f64* RESTRICT score, i32 shard_count, i32 chains, i32 width,
    const GLOBAL f64* RESTRICT beta, const GLOBAL f64* RESTRICT prior, const GLOBAL f64* RESTRICT scale,
    GLOBAL f64* RESTRICT rhs, i32 q, i32 first_chain) {
    const i32 chain = first_chain + GROUP_ID;
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const i64 at = (i64)chain * q + j;
        f64 sum = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            sum += score[((i64)shard * chains + chain) * width + j];
        rhs[(i64)GROUP_ID * q + j] = scale[at] * (sum - prior[at] * beta[at]);
    }
}

// r += share e rhs, and a copy of it in rhs
KERNEL LAUNCH_BOUNDS(${block}, 1) kick_momentum(GLOBAL f64* RESTRICT momentum, GLOBAL f64* RESTRICT rhs,
    const GLOBAL control_t* RESTRICT control, f64 share, i32 q, i32 first_chain, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    const i32 chain = first_chain + GROUP_ID;
    const f64 length = share * step_length(control->length, seed, stream, step, chain);
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const f64 r = momentum[(i64)chain * q + j] + length * rhs[(i64)GROUP_ID * q + j];
        momentum[(i64)chain * q + j] = r;
        rhs[(i64)GROUP_ID * q + j] = r;
    }
}

// beta += e s rhs, also as f32 rows of `stride`
KERNEL LAUNCH_BOUNDS(${block}, 1) drift_position(GLOBAL f64* RESTRICT beta, const GLOBAL f64* RESTRICT rhs,
    const GLOBAL f64* RESTRICT scale, const GLOBAL control_t* RESTRICT control, GLOBAL f32* RESTRICT beta_f32, i32 q, i32 stride,
    i32 first_chain, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    const i32 chain = first_chain + GROUP_ID;
    const f64 length = step_length(control->length, seed, stream, step, chain);
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const i64 at = (i64)chain * q + j;
        const f64 value = beta[at] + length * scale[at] * rhs[(i64)GROUP_ID * q + j];
        beta[at] = value;
        beta_f32[(i64)chain * stride + j] = (f32)value;
    }
}

% if block == 1:
${triangular_serial.functions()}

// rhs = L^-1 s g; then, with `drifts`, a kick by share e, and a drift by e: scale_gradient to drift_position in one launch, L
// the factor of C
KERNEL LAUNCH_BOUNDS(1, 1) advance_position(const GLOBAL f64* RESTRICT score, i32 shard_count, i32 chains, i32 width,
    GLOBAL f64* RESTRICT beta, const GLOBAL f64* RESTRICT prior, const GLOBAL f64* RESTRICT scale, const GLOBAL f64* L,
    GLOBAL f64* rhs, GLOBAL f64* RESTRICT momentum, const GLOBAL control_t* RESTRICT control, GLOBAL f32* RESTRICT beta_f32,
    f64 share, i32 drifts, i32 q, i32 stride, i32 first_chain, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    const i32 chain = first_chain + GROUP_ID;
    const i64 base = (i64)chain * q;
    const GLOBAL f64* factor = L + (i64)GROUP_ID * q * q;
    GLOBAL f64* r = rhs + (i64)GROUP_ID * q;
    for (i32 j = 0; j < q; ++j) {
        f64 sum = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            sum += score[((i64)shard * chains + chain) * width + j];
        r[j] = scale[base + j] * (sum - prior[base + j] * beta[base + j]);
    }
    serial_solve_lower(factor, r, q);
    if (drifts) {
        const f64 length = step_length(control->length, seed, stream, step, chain);
        const f64 kick = share * length;
        for (i32 j = 0; j < q; ++j) {
            const f64 kicked = momentum[base + j] + kick * r[j];
            momentum[base + j] = kicked;
            r[j] = kicked;
        }
        serial_solve_lower_transposed(factor, r, q);
        for (i32 j = 0; j < q; ++j) {
            const f64 value = beta[base + j] + length * scale[base + j] * r[j];
            beta[base + j] = value;
            beta_f32[(i64)chain * stride + j] = (f32)value;
        }
    }
}
% endif

// The last half kick, and whether the chain moves (Metropolis): beta and score are those of the end, or of the origin. A chain
// whose matrix could not be factorised stays.
KERNEL LAUNCH_BOUNDS(${block}, 1) end_trajectory(GLOBAL f64* RESTRICT beta, const GLOBAL f64* RESTRICT origin,
    const GLOBAL f64* RESTRICT momentum, const GLOBAL f64* RESTRICT rhs, const GLOBAL f64* RESTRICT prior,
    const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains, GLOBAL f64* RESTRICT score,
    const GLOBAL f64* RESTRICT energy, const GLOBAL control_t* RESTRICT control, const GLOBAL i32* RESTRICT status,
    GLOBAL chain_t* RESTRICT chain_state, GLOBAL f32* RESTRICT beta_f32, i32 q, i32 width, i32 total, i32 stride,
    i32 first_chain, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    LOCAL_ARRAY(f64, part, ${2 * block});
    LOCAL_ARRAY(i32, decision, 1);
    const i32 chain = first_chain + GROUP_ID;
    const i64 base = (i64)chain * q;
    const f64 length = 0.5 * step_length(control->length, seed, stream, step, chain);
    f64 mine = 0.0, logs = 0.0;
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const f64 b = beta[base + j];
        const f64 r = momentum[base + j] + length * rhs[(i64)GROUP_ID * q + j];
        mine += prior[base + j] * b * b + r * r;
        logs += log(prior[base + j]);
    }
    ${reduce.block_sums("part", "f64", block, ["mine", "logs"])}
    if (LOCAL_ID == 0) {
        f64 likelihood = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            likelihood += shards[((i64)shard * chains + chain) * width + total];
        const philox_words_t words = philox_words(seed, stream + ((u32)chain << 8), step, 0, 0u);
        const f64 change = likelihood - 0.5 * part[0] - energy[chain];
        const i32 finite = change > -1.0e300 && change < 1.0e300 && status[GROUP_ID] == 0;
        const f64 accepted = finite ? (change < 0.0 ? exp(change) : 1.0) : 0.0;
        decision[0] = uniform_f64_wide(words.w2, words.w3) < accepted;
        chain_state[chain].expansion = (decision[0] ? 0.5 * part[0] - likelihood : -energy[chain]) - 0.5 * part[${block}];
        chain_state[chain].log_likelihood = decision[0] ? likelihood : score[(i64)chain * width + total];
        chain_state[chain].acceptance = accepted;
        chain_state[chain].moved = (f64)decision[0];
    }
    BARRIER();
    const i32 moved = decision[0];
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        if (!moved) {
            const f64 value = origin[base + j];
            beta[base + j] = value;
            beta_f32[(i64)chain * stride + j] = (f32)value;
        }
    }
    for (i32 j = LOCAL_ID; j < width; j += ${block}) {
        if (moved) {
            f64 sum = 0.0;
            for (i32 shard = 0; shard < shard_count; ++shard)
                sum += shards[((i64)shard * chains + chain) * width + j];
            score[(i64)chain * width + j] = sum;
        }
    }
}

// score = the sum of the shards' parts
KERNEL LAUNCH_BOUNDS(${block}, 1) take_score(const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains,
    GLOBAL f64* RESTRICT score, i32 width) {
    const i32 chain = GROUP_ID;
    for (i32 j = LOCAL_ID; j < width; j += ${block}) {
        f64 sum = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            sum += shards[((i64)shard * chains + chain) * width + j];
        score[(i64)chain * width + j] = sum;
    }
}

// Dual averaging of log e towards a mean probability of acceptance `target` over all chains
KERNEL LAUNCH_BOUNDS(1, 1) adapt_step(GLOBAL control_t* RESTRICT control, const GLOBAL chain_t* RESTRICT chain_state,
    i32 chains, f64 target) {
    f64 mean = 0.0;
    for (i32 chain = 0; chain < chains; ++chain)
        mean += chain_state[chain].acceptance;
    mean /= (f64)chains;
    const f64 count = control->adaptations + 1.0;
    const f64 weight = 1.0 / (count + 10.0);
    const f64 error = (1.0 - weight) * control->error + weight * (target - mean);
    const f64 trial = control->centre - sqrt(count) / 0.05 * error;
    const f64 bounded = trial < -9.0 ? -9.0 : (trial > 0.6 ? 0.6 : trial);
    const f64 share = pow(count, -0.75);
    control->log_length = bounded;
    control->mean_log_length = share * bounded + (1.0 - share) * control->mean_log_length;
    control->error = error;
    control->adaptations = count;
    control->length = exp(bounded);
}

// margins = those of the trajectory's end where a chain has moved there
KERNEL LAUNCH_BOUNDS(${block}, 1) keep_margins(GLOBAL f32* RESTRICT margins, const GLOBAL f32* RESTRICT ends,
    const GLOBAL chain_t* RESTRICT chain_state, i64 first_row, i64 rows, i64 pitch, i32 chains) {
    for (i64 i = GLOBAL_ID; i < rows * chains; i += GLOBAL_SIZE) {
        const i64 at = i / rows * pitch + first_row + i % rows;
        if (chain_state[i / rows].moved != 0.0)
            margins[at] = ends[at];
    }
}

// sums += the curvature of -log F at the margins of all chains
KERNEL LAUNCH_BOUNDS(${block}, 1) add_curvature(const GLOBAL f32* RESTRICT margins,
    GLOBAL f32* RESTRICT sums,
    ${arguments.of_likelihood(family)}
    i64 first_row, i64 rows, i64 pitch, i32 chains) {
    for (i64 i = GLOBAL_ID; i < rows; i += GLOBAL_SIZE) {
        f32 sum = sums[i];
        for (i32 chain = 0; chain < chains; ++chain) {
            const f32 at = margins[chain * pitch + first_row + i];
            const f32 curvature = ${likelihoods.curvature(family, "at", "first_row + i", "chain")};
            sum += MAX(curvature, 0.0f);
        }
        sums[i] = sum;
    }
}

// weight = share sums, and 0 for the padding
KERNEL LAUNCH_BOUNDS(${block}, 1) take_weights(const GLOBAL f32* RESTRICT sums, GLOBAL f32* RESTRICT weight, i64 first_row,
    i64 row_count, i64 rows, f32 share) {
    for (i64 i = GLOBAL_ID; i < rows; i += GLOBAL_SIZE)
        weight[i] = first_row + i < row_count ? share * sums[i] : 0.0f;
}
