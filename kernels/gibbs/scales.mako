<%
    random_slab = prior == "regularized"
    penalty = "slab[j] * slab_precision" if random_slab else "slab[j]"

    def bounded(precision):
        """The slab's precision beside tau^-2, which the density of the prior and its draws take."""
        return f"{penalty} / {precision}" if random_slab else "0.0"
%>
// tau given beta: slices of log tau, whose density is tau / (1 + (tau / A)^2) prod_j f(beta_j / tau) / tau, f the prior of
// beta_j / tau with lambda integrated out. Then lambda given both.
% if random_slab:
// First the slab's scale c given beta and tau: c^2 is inverse gamma of shape d / 2 and rate d slab_scale^2 / 2, d =
// slab_degrees, so that the slab is Student's t; c = slab_scale if d is 0. s_j = slab_j / c^2.
% endif
//
// Launch: a group of ${block} a chain. beta, local_precision (lambda^-2), prior (D^-1), scale: (chains, q).
${records["chain"].declaration()}
${philox.double_functions()}
${variates.scale_functions()}
${horseshoe.density_functions()}
${priors.density_functions(prior, local_degrees)}
${priors.draw_functions(prior, local_degrees)}
${horseshoe.slice_functions(4 if block > 1 else 1)}

KERNEL LAUNCH_BOUNDS(${block}, 1) draw_scales(const GLOBAL f64* RESTRICT beta, GLOBAL f64* RESTRICT local_precision,
    GLOBAL chain_t* RESTRICT chain_state, GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT prior,
    const GLOBAL f64* RESTRICT diagonal,
    const GLOBAL f64* RESTRICT slab, i32 q, i32 first, f64 first_prior, f64 inverse_width,
    ${arguments.of_slab(prior)} u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    LOCAL_ARRAY(f64, part, ${4 * block});
    const i32 chain = GROUP_ID;
    const u32 number = (u32)chain << 8;
    const i64 base = (i64)chain * q;
    slice_t s;
% if random_slab:
    f64 slab_precision = 1.0 / (slab_scale * slab_scale);
    if (slab_degrees > 0.0) {
        const f64 precision = chain_state[chain].tau_precision;
        s = slice_begin(-0.5 * log(chain_state[chain].slab_precision), 1.0, seed, stream + 2u + number, step, 0);
        while (s.phase < 4) {    // the same for all of a group
%   for k in range(4):
            f64 mine${k} = 0.0;
            const f64 inverse${k} = exp(-2.0 * s.at${k});
%   endfor
            for (i32 j = first + LOCAL_ID; j < q; j += ${block}) {
                const f64 b = beta[base + j];
%   for k in range(4):
                if (${k} < s.count)
                    mine${k} += log_prior_density(b * sqrt(precision), slab[j] * inverse${k} / precision)
                        - 0.5 * slab[j] * inverse${k} * b * b;
%   endfor
            }
            ${reduce.block_sums("part", "f64", block, [f"mine{k}" for k in range(4)])}
%   for k in range(4):
            const f64 density${k} = part[${k * block}] - slab_degrees * (s.at${k} + 0.5 * slab_scale * slab_scale * inverse${k});
%   endfor
            BARRIER();
            s = slice_next(s, density0, density1, density2, density3, seed, stream + 2u + number, step, 0);
        }
        slab_precision = CLAMPED(exp(-2.0 * s.here));
    }
% endif
    s = slice_begin(-0.5 * log(chain_state[chain].tau_precision), 1.0, seed, stream + 1u + number, step, 0);
    while (s.phase < 4) {    // the same for all of a group
% for k in range(4):
        f64 mine${k} = 0.0;
        const f64 inverse${k} = exp(-s.at${k});
% endfor
        for (i32 j = first + LOCAL_ID; j < q; j += ${block}) {
            const f64 b = beta[base + j];
% for k in range(4):
            if (${k} < s.count)
                mine${k} += log_prior_density(b * inverse${k}, ${bounded(f"(inverse{k} * inverse{k})")});
% endfor
        }
        ${reduce.block_sums("part", "f64", block, [f"mine{k}" for k in range(4)])}
% for k in range(4):
        const f64 density${k} = part[${k * block}] - (f64)(q - first - 1) * s.at${k}
            - log(1.0 + inverse_width * exp(2.0 * s.at${k}));
% endfor
        BARRIER();
        s = slice_next(s, density0, density1, density2, density3, seed, stream + 1u + number, step, 0);
    }
    const f64 tau = CLAMPED(exp(-2.0 * s.here));
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        f64 own = first_prior;
        if (j >= first) {
            const f64 b = beta[base + j];
            const f64 drawn = draw_prior_precision(0.5 * tau * b * b, ${bounded("tau")}, seed, stream + number, step, j);
            const f64 fresh = CLAMPED(drawn);
            local_precision[base + j] = fresh;
            own = tau * fresh + ${penalty};
        }
        prior[base + j] = own;
        scale[base + j] = 1.0 / sqrt(diagonal[j] + own);
    }
    if (LOCAL_ID == 0) {
        chain_state[chain].tau_precision = tau;
% if random_slab:
        chain_state[chain].slab_precision = slab_precision;
% endif
    }
}
