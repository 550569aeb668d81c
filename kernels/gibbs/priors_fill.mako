// For tests of priors.mako: out[i] = the density at number i of a range of x, or draw number i at one rate. Launch: any shape.
${philox.double_functions()}
${variates.scale_functions()}
${horseshoe.density_functions()}
${priors.density_functions(prior, local_degrees)}
${priors.draw_functions(prior, local_degrees)}

KERNEL LAUNCH_BOUNDS(${block}, 1) fill_densities(GLOBAL f64* RESTRICT out, i64 count, f64 k) {
    for (i64 i = GLOBAL_ID; i < count; i += GLOBAL_SIZE)
        out[i] = log_prior_density(exp(0.25 * (f64)i - 12.0), k);
}

KERNEL LAUNCH_BOUNDS(${block}, 1) fill_precisions(GLOBAL f64* RESTRICT out, i64 count, f64 rate, f64 k, u64 seed, u32 stream,
    u32 step) {
    for (i64 i = GLOBAL_ID; i < count; i += GLOBAL_SIZE)
        out[i] = draw_prior_precision(rate, k, seed, stream, step, i);
}
