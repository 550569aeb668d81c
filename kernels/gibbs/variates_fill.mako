// out[i] = variate number i of one kind, for tests of their distributions; `parameter` is the mean of a truncated normal,
// the shape of a gamma, or the c of PG(1, c). Launch: any shape; work-item t makes t, t + GLOBAL_SIZE, ...
${philox.double_functions()}
${variates.latent_functions()}
${likelihoods.functions(family)}
${variates.scale_functions()}
${horseshoe.density_functions()}
% if kind == "polya_gamma":
${polya_gamma.functions()}
% endif
% if kind.endswith("_of_eight"):
${likelihood_vectors.functions(8, family)}
% endif

KERNEL LAUNCH_BOUNDS(${block}, 1) fill_variates(GLOBAL f64* RESTRICT out, i64 count, f64 parameter, u64 seed, u32 stream,
    u32 step) {
    for (i64 i = GLOBAL_ID; i < count; i += GLOBAL_SIZE) {
% if kind == "positive_normal":
        out[i] = (f64)draw_positive_normal((f32)parameter, seed, stream, step, i, 0u);
% elif kind == "positive_normal_in_parts":
        out[i] = (f64)choose_proposal((f32)parameter, make_proposals(seed, stream, step, i), seed, stream, step, i);
% elif kind == "gamma":
        out[i] = draw_gamma(parameter, seed, stream, step, i);
% elif kind == "polya_gamma":
        out[i] = draw_polya_gamma(parameter, seed, stream, step, i);
% elif kind == "log_likelihood":
        out[i] = (f64)log_likelihood((f32)(parameter * (f64)i));
% elif kind == "log_likelihood_of_eight":
        out[i] = (f64)log_likelihood_of_vector((float8)((f32)(parameter * (f64)i))).s5;
% elif kind == "score_of_eight":
        out[i] = (f64)score_of_vector((float8)((f32)(parameter * (f64)i))).value.s3;
% elif kind == "slope_of_eight":
        out[i] = (f64)score_of_vector((float8)((f32)(parameter * (f64)i))).slope.s5;
% elif kind == "local_precision":
        out[i] = draw_local_precision(parameter, seed, stream, step, i);
% elif kind == "log_horseshoe_density":
        out[i] = log_horseshoe_density(parameter * exp(0.01 * (f64)i - 20.0));
% elif kind == "slope":
        out[i] = (f64)slope_of((f32)(parameter * (f64)i));
% else:
        const philox_words_t words = philox_words(seed, stream, step, i, 0u);
%   if kind == "exponential":
        out[i] = exponential_of(uniform_f64_wide(words.w0, words.w1)) / parameter;
%   else:
        out[i] = normal_of(words);
%   endif
% endif
    }
}
