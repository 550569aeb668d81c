<%doc>
Random variates of the horseshoe probit sampler, each a function of what it is for (see common/philox.mako).

    philox.double_functions() comes first
    variates.latent_functions()     f32: normals truncated to the positive half line; names of the mathematical functions
    variates.scale_functions()      f64: exponentials, normals, gammas

Sources: C. P. Robert, "Simulation of truncated normal variables", Statistics and Computing 5 (1995); R. C. H. Cheng, "The
generation of gamma variables with non-integral shape parameter", Applied Statistics 26 (1977), algorithm GB.
</%doc>
<%def name="latent_functions()">
% if language == "cuda":
#define LOG_F32(x) logf(x)
#define LOG1P_F32(x) log1pf(x)
#define EXP_F32(x) expf(x)
#define SQRT_F32(x) sqrtf(x)
#define SINPI_F32(x) sinpif(x)
#define COSPI_F32(x) cospif(x)
% else:
#define LOG_F32(x) log((f32)(x))
#define LOG1P_F32(x) log1p((f32)(x))
#define EXP_F32(x) exp((f32)(x))
#define SQRT_F32(x) sqrt((f32)(x))
#define SINPI_F32(x) sinpi((f32)(x))
#define COSPI_F32(x) cospi((f32)(x))
% endif

// A normal of this mean and variance 1, given that it is positive. Below the crossover, where both ways accept 0.68 of
// their proposals, Robert's exponential proposal of rate alpha = (-mean + sqrt(mean^2 + 4)) / 2, else the normal itself.
// alpha + mean = 1 / alpha, which does not cancel. A counter gives two proposals; a NaN ends at the last attempt.
FUNCTION f32 draw_positive_normal(f32 mean, u64 seed, u32 stream, u32 step, i64 index, u32 first_attempt) {
    f32 value = mean;
    if (mean > 0.469839f) {
        for (u32 attempt = first_attempt; attempt < 64u; ++attempt) {
            const philox_words_t words = philox_words(seed, stream, step, index, attempt);
            const f32 radius = SQRT_F32(-2.0f * LOG_F32(uniform_f32(words.w0)));
            const f32 turn = 2.0f * uniform_f32(words.w1);
            value = mean + radius * COSPI_F32(turn);
            if (value > 0.0f)
                break;
            value = mean + radius * SINPI_F32(turn);
            if (value > 0.0f)
                break;
        }
        return value;
    }
    const f32 m = mean < -1.0e15f ? -1.0e15f : mean;
    const f32 alpha = 0.5f * (SQRT_F32(m * m + 4.0f) - m);
    const f32 inverse = 1.0f / alpha;
    for (u32 attempt = first_attempt; attempt < 64u; ++attempt) {
        const philox_words_t words = philox_words(seed, stream, step, index, attempt);
        value = -LOG_F32(uniform_f32(words.w0)) * inverse;
        f32 apart = value - inverse;
        if (uniform_f32(words.w1) < EXP_F32(-0.5f * apart * apart))
            break;
        value = -LOG_F32(uniform_f32(words.w2)) * inverse;
        apart = value - inverse;
        if (uniform_f32(words.w3) < EXP_F32(-0.5f * apart * apart))
            break;
    }
    return value;
}

// The same draw in two parts: what does not depend on the mean can be made while the mean is still being computed.
typedef struct { f32 exponential0, uniform1, exponential2, uniform3, normal0, normal1; } proposals_t;

FUNCTION proposals_t make_proposals(u64 seed, u32 stream, u32 step, i64 index) {
    const philox_words_t words = philox_words(seed, stream, step, index, 0u);
    proposals_t p;
    p.exponential0 = -LOG_F32(uniform_f32(words.w0));
    p.uniform1 = uniform_f32(words.w1);
    p.exponential2 = -LOG_F32(uniform_f32(words.w2));
    p.uniform3 = uniform_f32(words.w3);
    const f32 radius = SQRT_F32(2.0f * p.exponential0);
    p.normal0 = radius * COSPI_F32(2.0f * p.uniform1);
    p.normal1 = radius * SINPI_F32(2.0f * p.uniform1);
    return p;
}

FUNCTION f32 choose_proposal(f32 mean, proposals_t p, u64 seed, u32 stream, u32 step, i64 index) {
    f32 value;
    if (mean > 0.469839f) {
        value = mean + p.normal0;
        if (value > 0.0f)
            return value;
        value = mean + p.normal1;
        if (value > 0.0f)
            return value;
    } else {
        const f32 m = mean < -1.0e15f ? -1.0e15f : mean;
        const f32 alpha = 0.5f * (SQRT_F32(m * m + 4.0f) - m);
        const f32 inverse = 1.0f / alpha;
        value = p.exponential0 * inverse;
        f32 apart = value - inverse;
        if (p.uniform1 < EXP_F32(-0.5f * apart * apart))
            return value;
        value = p.exponential2 * inverse;
        apart = value - inverse;
        if (p.uniform3 < EXP_F32(-0.5f * apart * apart))
            return value;
    }
    return draw_positive_normal(mean, seed, stream, step, index, 1u);
}

// erfc(z) = t exp(-z^2 + tail_exponent(t)), t = 1 / (1 + z / 2), for z >= 0.
FUNCTION f32 tail_exponent(f32 t) {
    return -1.26551223f + t * (1.00002368f + t * (0.37409196f + t * (0.09678418f + t * (-0.18628806f
        + t * (0.27886807f + t * (-1.13520398f + t * (1.48851587f + t * (-0.82215223f + t * 0.17087277f))))))));
}

</%def>
<%def name="scale_functions()">
FUNCTION f64 exponential_of(f64 uniform) { return -log(uniform); }

// Box and Muller's first normal
FUNCTION f64 normal_of(philox_words_t words) {
    const f64 radius = sqrt(-2.0 * log(uniform_f64_wide(words.w0, words.w1)));
    return radius * cospi(2.0 * uniform_f64_wide(words.w2, words.w3));
}

// Gamma of rate 1 and shape > 1/2. A NaN ends at the last attempt.
FUNCTION f64 draw_gamma(f64 shape, u64 seed, u32 stream, u32 step, i64 index) {
    const f64 a = 1.0 / sqrt(2.0 * shape - 1.0);
    const f64 b = shape - 1.3862943611198906;
    const f64 c = shape + 1.0 / a;
    f64 x = shape;
    for (u32 attempt = 0u; attempt < 256u; ++attempt) {
        const philox_words_t words = philox_words(seed, stream, step, index, attempt);
        const f64 u = uniform_f64_wide(words.w0, words.w1);
        const f64 w = uniform_f64_wide(words.w2, words.w3);
        const f64 v = a * log(u / (1.0 - u));
        x = shape * exp(v);
        if (b + c * v - x >= log(u * u * w))
            break;
    }
    return x;
}
</%def>
