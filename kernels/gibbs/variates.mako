<%doc>
Random variates of the horseshoe probit sampler, each a function of what it is for (see common/philox.mako).

    ${"<%"}namespace name="philox" file="/common/philox.mako"/>
    ${"<%"}namespace name="variates" file="/gibbs/variates.mako"/>
    philox.functions(), philox.double_functions() come first
    variates.latent_functions()     f32: normals truncated to the positive half line; names of the mathematical functions
    variates.likelihood_functions(family)      f32: the log-likelihood of a row and its derivatives; after latent_functions
    variates.vector_functions(8, family)       OpenCL C: the log-likelihood and its derivative, of vectors
    variates.scale_functions()      f64: exponentials, normals, gammas

Sources: C. P. Robert, "Simulation of truncated normal variables", Statistics and Computing 5 (1995); R. C. H. Cheng, "The
generation of gamma variables with non-integral shape parameter", Applied Statistics 26 (1977), algorithm GB. The
approximation of erfc is that of W. H. Press et al., "Numerical Recipes", section 6.2 (relative error 1.2e-7 everywhere).
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
FUNCTION f32 draw_positive_normal(f32 mean, u64 seed, u32 stream, u32 step, i64 index, u32 first_attempt)
{
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

FUNCTION proposals_t make_proposals(u64 seed, u32 stream, u32 step, i64 index)
{
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

FUNCTION f32 choose_proposal(f32 mean, proposals_t p, u64 seed, u32 stream, u32 step, i64 index)
{
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
FUNCTION f32 tail_exponent(f32 t)
{
    return -1.26551223f + t * (1.00002368f + t * (0.37409196f + t * (0.09678418f + t * (-0.18628806f
        + t * (0.27886807f + t * (-1.13520398f + t * (1.48851587f + t * (-0.82215223f + t * 0.17087277f))))))));
}

</%def>
<%def name="likelihood_functions(family)">
% if family == "probit":
// The log-likelihood log F(x) of a row with margin x, F = Phi
FUNCTION f32 log_likelihood(f32 x)
{
    const f32 z = 0.70710678f * (x < 0.0f ? -x : x);
    const f32 t = 1.0f / (1.0f + 0.5f * z);
    const f32 exponent = tail_exponent(t) - z * z;
    if (x < 0.0f)
        return exponent + LOG_F32(0.5f * t);
    return LOG1P_F32(-0.5f * t * EXP_F32(exponent));
}

// Its derivative phi(x) / Phi(x)
FUNCTION f32 slope_of(f32 x)
{
    const f32 z = 0.70710678f * (x < 0.0f ? -x : x);
    const f32 t = 1.0f / (1.0f + 0.5f * z);
    if (x < 0.0f)
        return 0.79788456f / (t * EXP_F32(tail_exponent(t)));
    return 0.39894228f * EXP_F32(-z * z) / (1.0f - 0.5f * t * EXP_F32(tail_exponent(t) - z * z));
}

// Minus its second derivative, h the first
#define CURVATURE(x, h) ((h) * ((h) + (x)))
% else:
// The log-likelihood log F(x) of a row with margin x, F(x) = 1 / (1 + exp(-x))
FUNCTION f32 log_likelihood(f32 x)
{
    return (x < 0.0f ? x : 0.0f) - LOG1P_F32(EXP_F32(x < 0.0f ? x : -x));
}

// Its derivative 1 - F(x)
FUNCTION f32 slope_of(f32 x)
{
    const f32 e = EXP_F32(x < 0.0f ? x : -x);
    return (x < 0.0f ? 1.0f : e) / (1.0f + e);
}

// Minus its second derivative, h the first
#define CURVATURE(x, h) ((h) * (1.0f - (h)))
% endif
</%def>
<%def name="vector_functions(width, family)">
// The same of ${width} numbers at a time, for OpenCL devices whose work-items take vectors, with a logarithm and an exponential that
// are inlined: polynomials on [sqrt(1/2), sqrt(2)] and on half a power of two about 1, in Cody and Waite's two-part reduction, good to
// 2 units in the last place. 12582912 = 1.5 2^23: a float that is added to it is rounded to an integer, in its low bits.
FUNCTION float${width} log_of_vector(float${width} x)
{
    const int${width} bits = as_int${width}(x);
    const int${width} exponent = (bits - 0x3f3504f3) >> 23;
    const float${width} f = as_float${width}(bits - (exponent << 23)) - 1.0f;
    const float${width} e = as_float${width}(exponent + 0x4b400000) - 12582912.0f;
    const float${width} z = f * f;
    const float${width} y = f * z * (3.3333331174e-1f + f * (-2.4999993993e-1f + f * (2.0000714765e-1f + f * (-1.6668057665e-1f
        + f * (1.4249322787e-1f + f * (-1.2420140846e-1f + f * (1.1676998740e-1f + f * (-1.1514610310e-1f + f * 7.0376836292e-2f))))))));
    return 0.693359375f * e + (f + (y - 0.5f * z - 2.12194440e-4f * e));
}

// exp(x) for x <= 0, 1e-38 below -87
FUNCTION float${width} exp_of_vector(float${width} x)
{
    const float${width} bounded = x < -87.0f ? (float${width})(-87.0f) : x;
    const float${width} rounded = bounded * 1.44269504f + 12582912.0f;
    const float${width} n = rounded - 12582912.0f;
    const float${width} r = bounded - 0.693359375f * n + 2.12194440e-4f * n;
    const float${width} y = 1.0f + (r + r * r * (5.0000001201e-1f + r * (1.6666665459e-1f + r * (4.1665795894e-2f + r * (8.3334519073e-3f
        + r * (1.3981999507e-3f + r * 1.9875691500e-4f))))));
    return as_float${width}(as_int${width}(y) + (as_int${width}(rounded) << 23));
}

typedef struct { float${width} value, slope; } score_t;

% if family == "probit":
// log Phi(x)
FUNCTION float${width} log_likelihood_of_vector(float${width} x)
{
    const int${width} negative = x < 0.0f;
    const float${width} z = 0.70710678f * (negative ? -x : x);
    const float${width} t = 1.0f / (1.0f + 0.5f * z);
    const float${width} exponent = -z * z - 1.26551223f + t * (1.00002368f + t * (0.37409196f + t * (0.09678418f + t * (-0.18628806f
        + t * (0.27886807f + t * (-1.13520398f + t * (1.48851587f + t * (-0.82215223f + t * 0.17087277f))))))));
    const float${width} tail = 0.5f * t * exp_of_vector(exponent);
    const float${width} inside = 1.0f - tail;    // its rounding error is added again below, as in log1p
    return log_of_vector(negative ? 0.5f * t : inside) + (negative ? exponent : (1.0f - inside) - tail);
}


// log Phi(x) and its derivative
FUNCTION score_t score_of_vector(float${width} x)
{
    score_t score;
    const int${width} negative = x < 0.0f;
    const float${width} z = 0.70710678f * (negative ? -x : x);
    const float${width} t = 1.0f / (1.0f + 0.5f * z);
    const float${width} polynomial = -1.26551223f + t * (1.00002368f + t * (0.37409196f + t * (0.09678418f + t * (-0.18628806f
        + t * (0.27886807f + t * (-1.13520398f + t * (1.48851587f + t * (-0.82215223f + t * 0.17087277f))))))));
    const float${width} scaled = t * exp_of_vector(polynomial);    // exp(z^2) erfc(z)
    const float${width} gauss = exp_of_vector(-z * z);
    const float${width} tail = 0.5f * scaled * gauss;
    const float${width} inside = 1.0f - tail;
    score.value = log_of_vector(negative ? 0.5f * t : inside) + (negative ? polynomial - z * z : (1.0f - inside) - tail);
    score.slope = negative ? 0.79788456f / scaled : 0.39894228f * gauss / inside;
    return score;
}
% else:
// log F(x), F the logistic distribution function
FUNCTION float${width} log_likelihood_of_vector(float${width} x)
{
    const float${width} e = exp_of_vector(x < 0.0f ? x : -x);
    return (x < 0.0f ? x : (float${width})(0.0f)) - log_of_vector(1.0f + e) - (e - ((1.0f + e) - 1.0f)) / (1.0f + e);
}

// log F(x) and its derivative
FUNCTION score_t score_of_vector(float${width} x)
{
    score_t score;
    const float${width} e = exp_of_vector(x < 0.0f ? x : -x);
    score.value = (x < 0.0f ? x : (float${width})(0.0f)) - log_of_vector(1.0f + e) - (e - ((1.0f + e) - 1.0f)) / (1.0f + e);
    score.slope = (x < 0.0f ? (float${width})(1.0f) : e) / (1.0f + e);
    return score;
}
% endif
</%def>
<%def name="scale_functions()">
% if language == "cuda":
#define COSPI_F64(x) cospi((f64)(x))
% else:
#define COSPI_F64(x) cospi((f64)(x))
% endif

FUNCTION f64 exponential_of(f64 uniform)
{
    return -log(uniform);
}

// Box and Muller's first normal
FUNCTION f64 normal_of(philox_words_t words)
{
    const f64 radius = sqrt(-2.0 * log(uniform_f64_wide(words.w0, words.w1)));
    return radius * COSPI_F64(2.0 * uniform_f64_wide(words.w2, words.w3));
}

// Gamma of rate 1 and shape > 1/2. A NaN ends at the last attempt.
FUNCTION f64 draw_gamma(f64 shape, u64 seed, u32 stream, u32 step, i64 index)
{
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
