<%namespace name="philox" file="/common/philox.mako"/>
<%namespace name="arguments" file="/gibbs/arguments.mako"/>
<%namespace name="reduce" file="/common/reduce.mako"/>
<%namespace name="variates" file="/gibbs/variates.mako"/>
<%
    linear = family != "probit"
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
% if linear:
//
// Before that sigma and tau are moved with beta integrated out, each by a Metropolis step on its logarithm: z ~ N(0, M), and M
// for another tau is made of the same product, X D X' with tau^2 times as large as it was but for the intercept's part: after
// J. Johndrow, P. Orenstein, A. Bhattacharya, "Scalable approximate MCMC algorithms for the horseshoe prior", JMLR 21 (2020).
// beta is drawn anew afterwards.
% else:
//
// The kernel hmc moves z beforehand with beta integrated out: z ~ N(0, M) where all z_i > 0, by an exact trajectory of
// Hamiltonian dynamics of mass M^-1, z(t) = z cos t + v sin t with v ~ N(0, M), a quarter of a period long, reflected wherever
// a z_i becomes 0: A. Pakman, L. Paninski, "Exact Hamiltonian Monte Carlo for truncated multivariate Gaussians", JCGS 23
// (2014). Margins of any length change in one trajectory, which steps of the size of the normals' standard deviation would take
// the square of that length for.
% endif
//
// Launch: a group of ${block} a chain, or any number of groups where GLOBAL_ID is used. variance: (chains, stride), zeros from
// q on; latent, solution, margins, spread (v): (chains, n); matrix: (chains, n, n), lower triangle;
// covariance: M, both triangles; all f64. design: (rows, stride) f32.
${records["chain"].declaration()}
% if linear:
${records["auxiliary"].declaration()}
${records["trial"].declaration()}
#define LOG_SIGMA(auxiliary) ((auxiliary).value[0])    // the one parameter of a linear regression
% endif
${philox.functions()}
${philox.double_functions()}
${variates.latent_functions()}
${variates.scale_functions()}

// margins = X times a vector of each chain, (chains, q). Launch: a group of ${block} a row and chain, chains first.
KERNEL LAUNCH_BOUNDS(${block}, 1) multiply_rows(const GLOBAL f32* RESTRICT design, const GLOBAL f64* RESTRICT vector,
    GLOBAL f64* RESTRICT margins, i64 row_count, i32 chains, i32 q, i32 stride)
{
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
    part[LOCAL_ID] = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    ${reduce.block_sum("part", "f64", block)}
    if (LOCAL_ID == 0)
        margins[chain * row_count + row] = part[0];
% endif
}

// shards: (shard_count, chains, width), sums of x w over each part of the rows. Launch: a group of ${block} for
// ${32 if serial else block} columns, a part and a chain, chains first.
KERNEL LAUNCH_BOUNDS(${block}, 1) multiply_columns(const GLOBAL f32* RESTRICT design, const GLOBAL f64* RESTRICT solution,
    GLOBAL f64* RESTRICT shards, i64 row_count, i32 shard_count, i32 chains, i32 stride, i32 width)
{
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

% if not linear:
// z given beta's margins, also as the right-hand side of L x = z
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_latent(const GLOBAL f64* RESTRICT margins, GLOBAL f64* RESTRICT latent,
    GLOBAL f64* RESTRICT solution, i64 row_count, i32 chains, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration)
{
    const u32 step = iteration[0];
    for (i64 i = GLOBAL_ID; i < row_count * chains; i += GLOBAL_SIZE) {
        const i64 chain = i / row_count;
        const f64 z = (f64)draw_positive_normal((f32)margins[i], seed, stream + ((u32)chain << 8), step, i % row_count, 0u);
        latent[i] = z;
        solution[i] = z;
    }
}
% else:
// z, also as the right-hand side of L x = z, and
// v${"" if family == "normal" else " given beta's margins: 1 / v ~ Gamma((nu + 1) / 2, rate (nu + (z - m)^2 / sigma^2) / 2)"}
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_target(const GLOBAL f32* RESTRICT target, GLOBAL f64* RESTRICT latent,
    GLOBAL f64* RESTRICT solution, GLOBAL f64* RESTRICT spread, const GLOBAL f64* RESTRICT margins,
    const GLOBAL auxiliary_t* RESTRICT auxiliary, f64 degrees, i64 row_count, i32 chains, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration)
{
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

// Another sigma (which = 0) or tau (1) of every chain, by a step of this size of its logarithm: move `number` of the iteration.
// trial.tau_squared: the factor of tau^2 since X D X' was made. Launch: a group of one work-item a chain.
KERNEL LAUNCH_BOUNDS(1, 1) propose_scale(GLOBAL trial_t* RESTRICT trial, i32 which, i32 number, f64 size, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration)
{
    GLOBAL trial_t* t = trial + GROUP_ID;
    const f64 change = size * normal_of(philox_words(seed, stream + ((u32)GROUP_ID << 8), iteration[0], 2 * number, 0u));
    t->proposed_tau_squared = which == 1 ? t->tau_squared * exp(2.0 * change) : t->tau_squared;
    t->proposed_log_sigma = which == 0 ? t->log_sigma + change : t->log_sigma;
}

// Begin with X D X' as it was made. Launch: a group of one work-item a chain.
KERNEL LAUNCH_BOUNDS(1, 1) begin_trial(const GLOBAL auxiliary_t* RESTRICT auxiliary, GLOBAL trial_t* RESTRICT trial)
{
    GLOBAL trial_t* t = trial + GROUP_ID;
    t->tau_squared = t->proposed_tau_squared = 1.0;
    t->log_sigma = t->proposed_log_sigma = LOG_SIGMA(auxiliary[GROUP_ID]);
    t->accepted = 0;
}

// M of the proposed point, from X D X' in `kernel`
KERNEL LAUNCH_BOUNDS(${block}, 1) build_matrix(const GLOBAL f64* RESTRICT product, const GLOBAL f64* RESTRICT spread,
    const GLOBAL trial_t* RESTRICT trial, GLOBAL f64* RESTRICT matrix, i64 row_count, i32 chains, f64 intercept_variance)
{
    for (i64 line = GROUP_ID; line < row_count * chains; line += GROUP_COUNT) {
        const i64 chain = line / row_count;
        const i64 i = line % row_count;
        const f64 factor = trial[chain].proposed_tau_squared;
        const GLOBAL f64* from = product + line * row_count;
        GLOBAL f64* to = matrix + line * row_count;
        for (i64 j = LOCAL_ID; j <= i; j += ${block}) {
            const f64 error = j == i ? spread[line] * exp(2.0 * trial[chain].proposed_log_sigma) : 0.0;
            to[j] = (factor == 1.0 ? from[j] : factor * (from[j] - intercept_variance) + intercept_variance) + error;
        }
    }
}

// The log-density of the proposed point, from its factor L and x = L^-1 z, 0 if log sigma is below `least`; with which >= 0 it
// may be taken, else it is the present one.
KERNEL LAUNCH_BOUNDS(${block}, 1) weigh_scale(const GLOBAL f64* RESTRICT matrix, const GLOBAL f64* RESTRICT solution,
    const GLOBAL i32* RESTRICT status, GLOBAL trial_t* RESTRICT trial, GLOBAL chain_t* RESTRICT chain_state, GLOBAL auxiliary_t* RESTRICT auxiliary,
    i64 row_count, f64 inverse_width, f64 least, i32 which, i32 number, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration)
{
    LOCAL_ARRAY(f64, part, ${block});
    const i64 chain = GROUP_ID;
    f64 mine = 0.0;
    for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
        const f64 x = solution[chain * row_count + i];
        mine -= 0.5 * x * x + log(matrix[(chain * row_count + i) * row_count + i]);
    }
    part[LOCAL_ID] = mine;
    ${reduce.block_sum("part", "f64", block)}
    if (LOCAL_ID == 0) {
        GLOBAL trial_t* t = trial + chain;
        const f64 before = chain_state[chain].tau_precision * t->tau_squared;                // tau^-2 that X D X' was made with
        const f64 log_sigma = t->proposed_log_sigma;
        const f64 precision = before / t->proposed_tau_squared;
        // half-Cauchy priors of sigma and tau, as densities of their logarithms
        f64 density = part[0] + log_sigma - log(1.0 + exp(2.0 * log_sigma)) - 0.5 * log(precision) - log(1.0 + inverse_width / precision);
        if (status[chain] != 0 || log_sigma < least || !(density > -1.0e300 && density < 1.0e300))
            density = -1.0e300;
        i32 taken = which < 0;
        if (!taken) {
            const philox_words_t words = philox_words(seed, stream + ((u32)chain << 8), iteration[0], 2 * number + 1, 0u);
            taken = t->log_density > -1.0e300 && log(uniform_f64_wide(words.w0, words.w1)) < density - t->log_density;
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

// The factor and L^-1 z of the point that was taken
KERNEL LAUNCH_BOUNDS(${block}, 1) take_trial(const GLOBAL trial_t* RESTRICT trial, const GLOBAL f64* RESTRICT trial_matrix,
    GLOBAL f64* RESTRICT matrix, i64 row_count, i32 chains)
{
    for (i64 line = GROUP_ID; line < row_count * chains; line += GROUP_COUNT)
        if (trial[line / row_count].accepted)
            for (i64 j = LOCAL_ID; j < row_count; j += ${block})    // providers keep their own above the diagonal
                matrix[line * row_count + j] = trial_matrix[line * row_count + j];
}
% endif

// The prior variances; scale holds their square roots
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_variance(const GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT variance, i32 q,
    i32 stride, i32 chains)
{
    for (i64 i = GLOBAL_ID; i < (i64)stride * chains; i += GLOBAL_SIZE) {
        const i64 j = i % stride;
        const f64 s = j < q ? scale[i / stride * q + j] : 0.0;
        variance[i] = s * s;
    }
}

// u${", and the prior variances once more: tau may have moved" if linear else ""}
KERNEL LAUNCH_BOUNDS(${block}, 1) draw_prior(const GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT prior_draw,
    ${arguments.of_trial(linear)}
    i32 q, i32 chains, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration)
{
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

% if not linear:
// matrix += I
KERNEL LAUNCH_BOUNDS(${block}, 1) add_identity(GLOBAL f64* RESTRICT matrix, i64 row_count)
{
    for (i64 i = LOCAL_ID; i < row_count; i += ${block})
        matrix[((i64)GROUP_ID * row_count + i) * row_count + i] += 1.0;
}

// covariance = matrix + I, both triangles, and matrix += I
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_covariance(GLOBAL f64* RESTRICT matrix, GLOBAL f64* RESTRICT covariance, i64 row_count,
    i32 chains)
{
    for (i64 i = GLOBAL_ID; i < row_count * row_count * chains; i += GLOBAL_SIZE) {
        const i64 row = i / row_count % row_count;
        const i64 column = i % row_count;
        GLOBAL f64* own = matrix + i / (row_count * row_count) * row_count * row_count;
        f64 value = row >= column ? own[row * row_count + column] : own[column * row_count + row];
        if (row == column) {
            value += 1.0;
            own[row * row_count + column] = value;
        }
        covariance[i] = value;
    }
}

// z after a trajectory; v = X u + d, X u in margins. z_i becomes 0 first where -v_i / z_i, the cotangent of the time until
// then, is largest. There v -= 2 v_i / M_ii M e_i. A trajectory with more reflections than the limit, and so its reverse, is
// not made: z in `solution` stays.
KERNEL LAUNCH_BOUNDS(${block}, 1) reflect_latent(GLOBAL f64* latent, GLOBAL f64* velocity, const GLOBAL f64* RESTRICT solution,
    const GLOBAL f64* RESTRICT covariance, const GLOBAL f64* RESTRICT margins, i64 row_count, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration)
{
    LOCAL_ARRAY(f64, least, ${block});
    LOCAL_ARRAY(i64, which, ${block});
    const i64 chain = GROUP_ID;
    GLOBAL f64* z = latent + chain * row_count;
    GLOBAL f64* v = velocity + chain * row_count;
    const u32 step = iteration[0];
    const i64 most = 100 + 20 * row_count;
    for (i64 i = LOCAL_ID; i < row_count; i += ${block})
        v[i] = margins[chain * row_count + i] + normal_of(philox_words(seed, stream + ((u32)chain << 8), step, i, 0u));
    f64 left = 1.5707963267948966;
    for (i64 count = 0; left > 0.0; ++count) {    // the same for all of a group
        f64 smallest = 1.0e300;
        i64 place = 0;
        for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
            const f64 ratio = z[i] > 0.0 ? v[i] / z[i] : (v[i] < 0.0 ? -1.0e300 : 1.0e300);
            place = ratio < smallest ? i : place;
            smallest = ratio < smallest ? ratio : smallest;
        }
        least[LOCAL_ID] = smallest;
        which[LOCAL_ID] = place;
        ${reduce.block_argmin("least", "which", "f64", block)}
        const i64 hit = which[0];
        const f64 until = atan2(1.0, -least[0]);
        const i32 reflects = until < left;
        const f64 time = reflects ? until : left;
        const f64 cosine = cos(time);
        const f64 sine = sin(time);
        const f64 factor = reflects ? 2.0 * (v[hit] * cosine - z[hit] * sine) / covariance[(chain * row_count + hit) * row_count + hit] : 0.0;
        BARRIER();
        for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
            const f64 moved = z[i] * cosine + v[i] * sine;
            v[i] = v[i] * cosine - z[i] * sine - factor * covariance[(chain * row_count + hit) * row_count + i];
            z[i] = moved > 0.0 && !(reflects && i == hit) ? moved : 0.0;
        }
        left = reflects ? left - time : 0.0;
        if (count == most) {
            for (i64 i = LOCAL_ID; i < row_count; i += ${block})
                z[i] = solution[chain * row_count + i];
            left = 0.0;
        }
        BARRIER();
    }
}
% endif

// What an iteration of the kernel hmc reports: the log-likelihood, and that nothing was rejected
KERNEL LAUNCH_BOUNDS(${block}, 1) report_wide(const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains, i32 width, i32 total,
    GLOBAL chain_t* RESTRICT chain_state)
{
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
    i64 row_count, i32 expanded, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration)
{
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
        part[LOCAL_ID] = mine;
        ${reduce.block_sum("part", "f64", block)}
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
    GLOBAL f32* RESTRICT beta_f32, const GLOBAL i32* RESTRICT status, i32 q, i32 stride)
{
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
