// The conditionals of what has the size of beta, in f64; Makalic and Schmidt's form of the horseshoe, all by inversion but tau:
//
//     lambda_j^-2 ~ Exp(rate 1 / nu_j + beta_j^2 / (2 tau^2))        nu_j^-1 ~ Exp(rate 1 + 1 / lambda_j^2)
//     tau^-2 ~ Gamma((p + 1) / 2, rate 1 / xi + sum_j beta_j^2 / (2 lambda_j^2))
//     xi^-1 ~ Exp(rate 1 / A^2 + 1 / tau^2)                          tau ~ C+(0, A)
//     beta ~ N(S^-1 b, S^-1), S = G + D^-1, D^-1 = diag(1 / (lambda_j tau)^2), by the Cholesky factor of C = s S s, where
//     s_j = S_jj^-1/2 makes the diagonal of C one whatever lambda and tau are: beta = s C^-1/2' (C^-1/2 s b + normals)
//
// Other priors that are normal given lambda: half_t has nu_j^-1 ~ Gamma((n + 1) / 2, rate 1 + n / lambda_j^2) and lambda_j^-2 ~
// Gamma((n + 1) / 2, rate n / nu_j + beta_j^2 / (2 tau^2)), n degrees of freedom; lasso an inverse Gaussian lambda_j^-2 of mean
// tau / |beta_j| and shape 1; ridge lambda_j = 1.
//
// slab_j is added to D^-1_j: the prior of beta is also multiplied by N(0, 1 / slab_j), or by nothing where it is 0.
//
// Launch: a group of ${block} a chain. beta, local_precision (lambda^-2), nu (nu^-1), scale (s), prior (D^-1): (chains, q);
// Columns before `first` have a normal prior of their own, of precision first_prior, and no lambda.
${records["chain"].declaration()}
${records["auxiliary"].declaration()}
${philox.double_functions()}
${variates.scale_functions()}
#define LEAST 1.0e-60
#define MOST 1.0e60
#define CLAMPED(x) ((x) < LEAST ? LEAST : ((x) > MOST ? MOST : (x)))
% if prior == "lasso":
${priors.lasso_functions()}
% endif

KERNEL LAUNCH_BOUNDS(${block}, 1) update_scales(const GLOBAL f64* RESTRICT beta, GLOBAL f64* RESTRICT local_precision,
    GLOBAL f64* RESTRICT nu, GLOBAL chain_t* RESTRICT chain_state, GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT prior,
    const GLOBAL f64* RESTRICT diagonal, const GLOBAL f64* RESTRICT slab, i32 q, i32 first, f64 first_prior, f64 inverse_width,
    u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    LOCAL_ARRAY(f64, part, ${block});
    LOCAL_ARRAY(f64, shared, 1);
    const i32 chain = GROUP_ID;
    const u32 number = (u32)chain << 8;
    const i64 base = (i64)chain * q;
    const f64 before = chain_state[chain].tau_precision;
    f64 mine = 0.0;
    for (i32 j = first + LOCAL_ID; j < q; j += ${block}) {
        const f64 b = beta[base + j];
% if prior == "half_t":
        const f64 drawn = draw_gamma(${0.5 * (local_degrees + 1.0)}, seed, stream + number, step, j);
        const f64 fresh = CLAMPED(drawn / (${local_degrees} * nu[base + j] + 0.5 * before * b * b));
% elif prior == "lasso":
        const f64 fresh = CLAMPED(draw_inverse_gaussian(1.0 / sqrt(CLAMPED(before * b * b)), seed, stream + number, step, j));
% elif prior == "ridge":
        const f64 fresh = 1.0;
% else:
        const philox_words_t words = philox_words(seed, stream + number, step, j, 0u);
        const f64 fresh = CLAMPED(exponential_of(uniform_f64_wide(words.w0, words.w1)) / (nu[base + j] + 0.5 * before * b * b));
% endif
        local_precision[base + j] = fresh;
        mine += fresh * b * b;
    }
    ${reduce.block_sums("part", "f64", block, ["mine"])}
    if (LOCAL_ID == 0) {
        const f64 rate = chain_state[chain].xi_rate + 0.5 * part[0];
        const f64 shape = 0.5 * (f64)(q - first + 1);
        const f64 tau = CLAMPED(draw_gamma(shape, seed, stream + 1u + number, step, 0) / rate);
        const philox_words_t words = philox_words(seed, stream + 2u + number, step, 0, 0u);
        chain_state[chain].tau_precision = tau;
        chain_state[chain].xi_rate = exponential_of(uniform_f64_wide(words.w0, words.w1)) / (inverse_width + tau);
        shared[0] = tau;
    }
    BARRIER();
    const f64 tau = shared[0];
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        f64 own = first_prior;
        if (j >= first) {
            const f64 fresh = local_precision[base + j];
% if prior == "half_t":
            const f64 drawn = draw_gamma(${0.5 * (local_degrees + 1.0)}, seed, stream + number, step, j + q);
            nu[base + j] = drawn / (1.0 + ${local_degrees} * fresh);
% elif prior == "horseshoe":
            const philox_words_t words = philox_words(seed, stream + number, step, j, 0u);
            nu[base + j] = exponential_of(uniform_f64_wide(words.w2, words.w3)) / (1.0 + fresh);
% endif
            own = tau * fresh + slab[j];
        }
        prior[base + j] = own;
        scale[base + j] = 1.0 / sqrt(diagonal[j] + own);
    }
}

// rhs = s b, b the sum of the shards' parts, or a fixed vector
KERNEL LAUNCH_BOUNDS(${block}, 1) prepare_solution(const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains, i32 width,
    const GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT rhs, i32 q, i32 first_chain) {
    const i32 chain = first_chain + GROUP_ID;
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        f64 sum = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            sum += shards[((i64)shard * chains + (chains > 1 ? chain : 0)) * width + j];
        rhs[(i64)GROUP_ID * q + j] = sum * scale[(i64)chain * q + j];
    }
}

// rhs = g rhs + normals. With `expanded`, the parameter expansion of Liu and Wu's kind under the proper prior:
// g^2 ~ Gamma(n / 2, rate (z'z - rhs'rhs) / 2); else g = 1. expansion = g. Where the coefficients explain z but for less than
// 1e-4 of z'z, which is an f32 sum, the difference has few digits, or none, and g is 1 too: that fraction is the same for every
// point that g could lead to, so the posterior stays what it is.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_noise(GLOBAL f64* RESTRICT rhs, i32 q, i32 first_chain, const GLOBAL f64* RESTRICT shards,
    i32 shard_count, i32 chains, i32 width, i32 total, i64 row_count, GLOBAL chain_t* RESTRICT chain_state, i32 expanded, u64 seed,
    u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    LOCAL_ARRAY(f64, part, ${block});
    LOCAL_ARRAY(f64, shared, 1);
    const i32 chain = first_chain + GROUP_ID;
    const u32 number = (u32)chain << 8;
    f64 g = 1.0;
    if (expanded) {
        f64 mine = 0.0;
        for (i32 j = LOCAL_ID; j < q; j += ${block}) {
            const f64 w = rhs[(i64)GROUP_ID * q + j];
            mine += w * w;
        }
        ${reduce.block_sums("part", "f64", block, ["mine"])}
        if (LOCAL_ID == 0) {
            f64 squares = 0.0;
            for (i32 shard = 0; shard < shard_count; ++shard)
                squares += shards[((i64)shard * chains + chain) * width + total];
            const f64 rest = squares - part[0];
            if (rest > 1.0e-4 * squares) {
                f64 drawn;
                if (row_count > 1) {
                    drawn = draw_gamma(0.5 * (f64)row_count, seed, stream + 1u + number, step, 0);
                } else {
                    const f64 normal = normal_of(philox_words(seed, stream + 1u + number, step, 0, 0u));
                    drawn = 0.5 * normal * normal;
                }
                g = sqrt(drawn / (0.5 * rest));
            }
            shared[0] = g;
            chain_state[chain].expansion = shared[0];
        }
        BARRIER();
        g = shared[0];
    }
    for (i32 j = LOCAL_ID; j < q; j += ${block})
        rhs[(i64)GROUP_ID * q + j] = g * rhs[(i64)GROUP_ID * q + j] + normal_of(philox_words(seed, stream + number, step, j, 0u));
}

// beta = s rhs, also as f32 rows of `stride` for the pass. A chain whose matrix could not be factorised keeps its beta.
KERNEL LAUNCH_BOUNDS(${block}, 1) finish_coefficients(const GLOBAL f64* RESTRICT rhs, const GLOBAL f64* RESTRICT scale,
    GLOBAL f64* RESTRICT beta, const GLOBAL i32* RESTRICT status, GLOBAL f32* RESTRICT beta_f32, i32 q, i32 stride,
    i32 first_chain) {
    const i32 chain = first_chain + GROUP_ID;
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const i64 at = (i64)chain * q + j;
        const f64 value = status[GROUP_ID] != 0 ? beta[at] : rhs[(i64)GROUP_ID * q + j] * scale[at];
        beta[at] = value;
        beta_f32[(i64)chain * stride + j] = (f32)value;
    }
}

// beta_f32 = (f32) beta
KERNEL LAUNCH_BOUNDS(${block}, 1) round_coefficients(const GLOBAL f64* RESTRICT beta, GLOBAL f32* RESTRICT beta_f32, i32 q,
    i32 stride) {
    for (i32 j = LOCAL_ID; j < q; j += ${block})
        beta_f32[(i64)GROUP_ID * stride + j] = (f32)beta[(i64)GROUP_ID * q + j];
}

// The number of the iteration, where kernels that are launched again by a recording read it
KERNEL LAUNCH_BOUNDS(1, 1) set_iteration(GLOBAL u32* RESTRICT iteration, u32 step) {
    iteration[0] = step;
}

// One row of the record: beta, the fields of the chain, the family's own parameters, and with `scales` lambda^-2
KERNEL LAUNCH_BOUNDS(${block}, 1) record_draw(const GLOBAL f64* RESTRICT beta, const GLOBAL chain_t* RESTRICT chain_state,
    const GLOBAL f64* RESTRICT local_precision, const GLOBAL auxiliary_t* RESTRICT auxiliary, GLOBAL f64* RESTRICT record, i32 q,
    i32 row, i32 chains, i32 auxiliaries, i32 scales) {
    const i32 chain = GROUP_ID;
    const i32 behind = q + ${len(records["chain"].names)} + auxiliaries;
    const i32 width = behind + (scales ? q : 0);
    GLOBAL f64* out = record + ((i64)row * chains + chain) * width;
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        out[j] = beta[(i64)chain * q + j];
        if (scales)
            out[behind + j] = local_precision[(i64)chain * q + j];
    }
    if (LOCAL_ID == 0) {
% for field, name in enumerate(records["chain"].names):
        out[q + ${field}] = chain_state[chain].${name};
% endfor
    }
    for (i32 j = LOCAL_ID; j < auxiliaries; j += ${block})
        out[q + ${len(records["chain"].names)} + j] = auxiliary[chain].value[j];
}
