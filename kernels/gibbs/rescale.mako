<%
    random_slab = prior == "regularized"
    factor = " * slab_precision" if random_slab else ""
%>
// (beta_S, tau) -> (c beta_S, c tau) for a set S of columns: a slice of log c. The density of the local scales of S does not
// change, so that along the curve it is c / (1 + (c tau / A)^2) prod_{j not in S} f(beta_j / (c tau)) / c times the likelihood
// of the margins eta + (c - 1) eta_S, eta_S = X_S beta_S. With all columns but the intercept's (eta_S = eta - b_0) it carries
// chains along the Cauchy tail of the whole of beta where a combination of columns separates the classes; with the columns
// whose coefficients are small it moves tau as far as the data allow, which the many beta_j ~ tau around do not when they are
// fixed.
//
// With a slab of random scale, S all columns: the slab's scale is multiplied too, so that none of the densities of beta changes.
//
// signs: the column of the intercept, the rows' y = +-1; zeros if there is none. member_of_set: 1 or 0 for every column.
// with_all: S is all of them from `first` on. apart: part_margins holds eta_S; else it is not read, and S is all columns but the
// intercept's.
//
// Launch: a group of ${block} a chain. margins, part_margins: (chains, pitch).
${records["chain"].declaration()}
${philox.double_functions()}
${variates.latent_functions()}
${likelihoods.functions(family)}
${horseshoe.density_functions()}
${priors.density_functions(prior, local_degrees)}
${horseshoe.slice_functions(4 if block > 1 else 1)}
% if block == 1:
${likelihood_vectors.functions(16, family)}
${likelihood_vectors.sum_functions()}
% endif

KERNEL LAUNCH_BOUNDS(${block}, 1) rescale_chains(GLOBAL f64* RESTRICT beta, GLOBAL f32* RESTRICT beta_f32,
    GLOBAL f32* RESTRICT margins, GLOBAL chain_t* RESTRICT chain_state, const GLOBAL f32* RESTRICT signs,
    const GLOBAL f64* RESTRICT slab,
    const GLOBAL f32* RESTRICT member_of_set, const GLOBAL f32* RESTRICT part_margins, i32 with_all, i32 apart, i64 pitch,
    i64 row_count, i32 q, i32 stride, i32 first, f64 inverse_width,
    ${arguments.of_slab(prior)}
    ${arguments.of_likelihood(family)}
    u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    LOCAL_ARRAY(f64, part, ${4 * block});
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    const f64 precision = chain_state[chain].tau_precision;
    const f64 inverse = sqrt(precision);
% if random_slab:
    const f64 slab_precision = chain_state[chain].slab_precision;
    const i32 with_slab = with_all && slab_degrees > 0.0;
% endif
    GLOBAL f64* b = beta + (i64)chain * q;
    GLOBAL f32* eta = margins + (i64)chain * pitch;
    const GLOBAL f32* eta_s = part_margins + (i64)chain * pitch;
    const f32 pivot = first > 0 ? (f32)b[0] : 0.0f;
    f64 squares = 0.0, fixed = 0.0;
    for (i32 j = first + LOCAL_ID; j < q; j += ${block}) {
        const i32 inside = with_all || member_of_set[j] != 0.0f;
        squares += inside ? slab[j]${factor} * b[j] * b[j] : 0.0;
        fixed += inside ? 0.0 : 1.0;
    }
    ${reduce.block_sums("part", "f64", block, ["squares", "fixed"])}
    const f64 penalty = 0.5 * part[0];
    const f64 power = 1.0 - part[${block}];
    BARRIER();
    slice_t s = slice_begin(0.0, 1.0, seed, number, step, 0);
    while (s.phase < 4) {    // the same for all of a group
% for k in range(4):
        const f32 c${k} = (f32)expm1(s.at${k});
        f64 mine${k} = 0.0;
% endfor
% for k in range(4):
        const f64 inverse${k} = inverse * exp(-s.at${k});
% endfor
% if random_slab:
        for (i32 j = with_slab ? q : first + LOCAL_ID; j < q; j += ${block}) {    // tau changes beside the slab's scale, also for S
            const i32 inside = with_all || member_of_set[j] != 0.0f;
%   for k in range(4):
            if (${k} < s.count) {
                const f64 slab${k} = slab[j] * slab_precision / (inverse${k} * inverse${k});
                mine${k} += log_prior_density(b[j] * (inside ? inverse : inverse${k}), slab${k});
            }
%   endfor
        }
% else:
        if (!with_all) {
            for (i32 j = first + LOCAL_ID; j < q; j += ${block})
                if (member_of_set[j] == 0.0f) {
%   for k in range(4):
                    if (${k} < s.count)
                        mine${k} += log_prior_density(b[j] * inverse${k}, 0.0);
%   endfor
                }
        }
% endif
% if block == 1:
        for (i64 k = 0; k < row_count; k += 16) {    // the margins and signs of the padding, up to a multiple of 16, are zeros
            const float16 at = vload16(0, eta + k);
            const float16 scaled = apart ? vload16(0, eta_s + k) : at - pivot * vload16(0, signs + k);
            const int16 used = FIRST(row_count - k);
%   for k in range(4):
            if (${k} < s.count) {
                const float16 logs = ${likelihoods.vector_value(16, family, f"at + c{k} * scaled", "k", "chain")};
                mine${k} += sum_of_vector(used ? logs : (float16)(0.0f));
            }
%   endfor
        }
% else:
        for (i64 k = LOCAL_ID; k < row_count; k += ${block}) {
            const f32 at = eta[k];
            const f32 scaled = apart ? eta_s[k] : at - pivot * signs[k];
%   for k in range(4):
            if (${k} < s.count)
                mine${k} += (f64)${likelihoods.value(family, f"at + c{k} * scaled", "k", "chain")};
%   endfor
        }
% endif
        ${reduce.block_sums("part", "f64", block, [f"mine{k}" for k in range(4)])}
% for k in range(4):
        f64 density${k} = part[${k * block}] + power * s.at${k} - log(1.0 + inverse_width * exp(2.0 * s.at${k}) / precision);
%   if random_slab:
        const f64 moved${k} = slab_degrees * (s.at${k} + 0.5 * slab_scale * slab_scale * slab_precision * exp(-2.0 * s.at${k}));
        density${k} -= with_slab ? moved${k} : penalty * exp(2.0 * s.at${k});
%   else:
        density${k} -= penalty * exp(2.0 * s.at${k});
%   endif
% endfor
        BARRIER();
        s = slice_next(s, density0, density1, density2, density3, seed, number, step, 0);
    }
    const f64 factor = exp(s.here);
    const f32 c = (f32)expm1(s.here);
    for (i64 k = LOCAL_ID; k < row_count; k += ${block})
        eta[k] += c * (apart ? eta_s[k] : eta[k] - pivot * signs[k]);
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const f64 value = j >= first && (with_all || member_of_set[j] != 0.0f) ? factor * b[j] : b[j];
        b[j] = value;
        beta_f32[(i64)chain * stride + j] = (f32)value;
    }
    if (LOCAL_ID == 0) {
        chain_state[chain].tau_precision = CLAMPED(precision / (factor * factor));
% if random_slab:
        if (with_slab)
            chain_state[chain].slab_precision = CLAMPED(slab_precision / (factor * factor));
% endif
    }
}

// part = beta_S as f32 rows of `stride`
KERNEL LAUNCH_BOUNDS(${block}, 1) round_set(const GLOBAL f64* RESTRICT beta, const GLOBAL f32* RESTRICT member_of_set,
    GLOBAL f32* RESTRICT part_f32, i32 q, i32 stride) {
    for (i32 j = LOCAL_ID; j < q; j += ${block})
        part_f32[(i64)GROUP_ID * stride + j] = member_of_set[j] != 0.0f ? (f32)beta[(i64)GROUP_ID * q + j] : 0.0f;
}
