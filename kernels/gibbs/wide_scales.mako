// The target and the errors of a linear regression with more columns than rows (see wide.mako), and moves of sigma and tau.
//
// Sigma and tau are moved with beta integrated out, each by a Metropolis step on its logarithm: z ~ N(0, M), and M
// for another tau is made of the same product, X D X' with tau^2 times as large as it was but for the intercept's part: after
// J. Johndrow, P. Orenstein, A. Bhattacharya, "Scalable approximate MCMC algorithms for the horseshoe prior", JMLR 21 (2020).
// beta is drawn anew afterwards. Of a probit regression latent normals and tau are multiplied by a common factor too, which M
// hardly tells where they are large: the density has its n-th power as well, the Jacobian of z.
//
// Launch: a group of ${block} a chain, or any number of groups where GLOBAL_ID is used. latent, solution, margins, spread (v):
// (chains, n); product, matrix: (chains, n, n), lower triangle; all f64.
${records["chain"].declaration()}
${records["auxiliary"].declaration()}
${records["trial"].declaration()}
#define LOG_SIGMA(auxiliary) ((auxiliary).value[0])    // the one parameter of a linear regression
${philox.double_functions()}
${variates.scale_functions()}

// z, also as the right-hand side of L x = z, and
// v${"" if family == "normal" else " given beta's margins: 1 / v ~ Gamma((nu + 1) / 2, rate (nu + (z - m)^2 / sigma^2) / 2)"}
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_target(const GLOBAL f32* RESTRICT target, GLOBAL f64* RESTRICT latent,
    GLOBAL f64* RESTRICT solution, GLOBAL f64* RESTRICT spread, const GLOBAL f64* RESTRICT margins,
    const GLOBAL auxiliary_t* RESTRICT auxiliary, f64 degrees, i64 row_count, i32 chains, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration) {
    for (i64 i = GLOBAL_ID; i < row_count * chains; i += GLOBAL_SIZE) {
        const i64 row = i % row_count;
        const f64 z = (f64)target[row];
% if family == "student":
        const i64 chain = i / row_count;
        const f64 apart = (z - margins[i]) * exp(-LOG_SIGMA(auxiliary[chain]));
        const f64 drawn = draw_gamma(0.5 * (degrees + 1.0), seed, stream + ((u32)chain << 8), iteration[0], row);
        spread[i] = 0.5 * (degrees + apart * apart) / drawn;
% else:
        spread[i] = 1.0;
% endif
        latent[i] = z;
        solution[i] = z;
    }
}

// Another sigma (which = 0), tau (1) or tau and z (2) of every chain, by a step of this size of its logarithm: move `number` of
// the iteration.
// trial.tau_squared: the factor of tau^2 since X D X' was made. Launch: a group of one work-item a chain.
KERNEL LAUNCH_BOUNDS(1, 1) propose_scale(GLOBAL trial_t* RESTRICT trial, i32 which, i32 number, f64 size, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration) {
    GLOBAL trial_t* t = trial + GROUP_ID;
    const f64 change = size * normal_of(philox_words(seed, stream + ((u32)GROUP_ID << 8), iteration[0], 2 * number, 0u));
    t->proposed_tau_squared = which > 0 ? t->tau_squared * exp(2.0 * change) : t->tau_squared;
    t->proposed_log_sigma = which == 0 ? t->log_sigma + change : t->log_sigma;
    t->stretch = which == 2 ? change : 0.0;
}

// Begin with X D X' as it was made. Launch: a group of one work-item a chain.
KERNEL LAUNCH_BOUNDS(1, 1) begin_trial(const GLOBAL auxiliary_t* RESTRICT auxiliary, GLOBAL trial_t* RESTRICT trial) {
    GLOBAL trial_t* t = trial + GROUP_ID;
    t->tau_squared = t->proposed_tau_squared = 1.0;
    t->log_sigma = t->proposed_log_sigma = LOG_SIGMA(auxiliary[GROUP_ID]);
    t->stretch = 0.0;
    t->accepted = 0;
}

// M of the proposed point, from X D X' in `product`; the intercept's column is the first, which has the signs of probit's rows
KERNEL LAUNCH_BOUNDS(${block}, 1) build_matrix(const GLOBAL f64* RESTRICT product, const GLOBAL f64* RESTRICT spread,
    const GLOBAL f32* RESTRICT design, i32 stride, const GLOBAL trial_t* RESTRICT trial, GLOBAL f64* RESTRICT matrix,
    i64 row_count, i32 chains, f64 intercept_variance) {
    for (i64 line = GROUP_ID; line < row_count * chains; line += GROUP_COUNT) {
        const i64 chain = line / row_count;
        const i64 i = line % row_count;
        const f64 factor = trial[chain].proposed_tau_squared;
        const GLOBAL f64* from = product + line * row_count;
        GLOBAL f64* to = matrix + line * row_count;
        for (i64 j = LOCAL_ID; j <= i; j += ${block}) {
            const f64 error = j == i ? spread[line] * exp(2.0 * trial[chain].proposed_log_sigma) : 0.0;
            const f64 fixed = intercept_variance * (f64)(design[i * stride] * design[j * stride]);
            to[j] = (factor == 1.0 ? from[j] : factor * (from[j] - fixed) + fixed) + error;
        }
    }
}

// The log-density of the proposed point, from its factor L and x = L^-1 z, 0 if log sigma is below `least`; with which >= 0 it
// may be taken, else it is the present one.
KERNEL LAUNCH_BOUNDS(${block}, 1) weigh_scale(const GLOBAL f64* RESTRICT matrix, const GLOBAL f64* RESTRICT solution,
    const GLOBAL i32* RESTRICT status, GLOBAL trial_t* RESTRICT trial, GLOBAL chain_t* RESTRICT chain_state,
    GLOBAL auxiliary_t* RESTRICT auxiliary, i64 row_count, f64 inverse_width, f64 least, i32 which, i32 number, u64 seed,
    u32 stream, const GLOBAL u32* RESTRICT iteration) {
    LOCAL_ARRAY(f64, part, ${block});
    const i64 chain = GROUP_ID;
    f64 mine = 0.0;
    const f64 length = exp(trial[chain].stretch);
    for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
        const f64 x = length * solution[chain * row_count + i];
        mine -= 0.5 * x * x + log(matrix[(chain * row_count + i) * row_count + i]);
    }
    ${reduce.block_sums("part", "f64", block, ["mine"])}
    if (LOCAL_ID == 0) {
        GLOBAL trial_t* t = trial + chain;
        const f64 before = chain_state[chain].tau_precision * t->tau_squared;                // tau^-2 that X D X' was made with
        const f64 log_sigma = t->proposed_log_sigma;
        const f64 precision = before / t->proposed_tau_squared;
        // half-Cauchy priors of sigma and tau, as densities of their logarithms
        f64 density = part[0] + log_sigma - log(1.0 + exp(2.0 * log_sigma)) - 0.5 * log(precision)
            - log(1.0 + inverse_width / precision);
        if (status[chain] != 0 || log_sigma < least || !(density > -1.0e300 && density < 1.0e300))
            density = -1.0e300;
        i32 taken = which < 0;
        if (!taken) {
            const philox_words_t words = philox_words(seed, stream + ((u32)chain << 8), iteration[0], 2 * number + 1, 0u);
            const f64 ratio = density - t->log_density + (f64)row_count * t->stretch;
            taken = t->log_density > -1.0e300 && log(uniform_f64_wide(words.w0, words.w1)) < ratio;
        }
        t->accepted = taken;
        if (taken) {
            t->tau_squared = t->proposed_tau_squared;
            t->log_sigma = log_sigma;
            t->log_density = density;
            chain_state[chain].tau_precision = precision;
            LOG_SIGMA(auxiliary[chain]) = log_sigma;
        }
    }
}

// The factor and z of the point that was taken
KERNEL LAUNCH_BOUNDS(${block}, 1) take_trial(const GLOBAL trial_t* RESTRICT trial, const GLOBAL f64* RESTRICT trial_matrix,
    GLOBAL f64* RESTRICT matrix, GLOBAL f64* RESTRICT latent, i64 row_count, i32 chains) {
    for (i64 line = GROUP_ID; line < row_count * chains; line += GROUP_COUNT)
        if (trial[line / row_count].accepted) {
            if (LOCAL_ID == 0)
                latent[line] *= exp(trial[line / row_count].stretch);
            for (i64 j = LOCAL_ID; j < row_count; j += ${block})    // providers keep their own above the diagonal
                matrix[line * row_count + j] = trial_matrix[line * row_count + j];
        }
}
