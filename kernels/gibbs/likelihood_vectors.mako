<%doc>
The log-likelihoods of several rows given their margins, and their derivatives, f32, for devices whose work-items take vectors.

    likelihoods.functions(family) comes first
    likelihood_vectors.functions(8, family)       of eight, or 16
    likelihood_vectors.sum_functions()            sum_of_vector(float16), FIRST(count): which of 16 are below a count
</%doc>
<%def name="functions(width, family)">
// The same of ${width} numbers at a time, for OpenCL devices whose work-items take vectors, with a logarithm and an exponential
// that are inlined: polynomials on [sqrt(1/2), sqrt(2)] and on half a power of two about 1, in Cody and Waite's two-part
// reduction, good to 2 units in the last place. 12582912 = 1.5 2^23: a float that is added to it is rounded to an integer, in
// its low bits.
FUNCTION float${width} log_of_vector(float${width} x) {
    const int${width} bits = as_int${width}(x);
    const int${width} exponent = (bits - 0x3f3504f3) >> 23;
    const float${width} f = as_float${width}(bits - (exponent << 23)) - 1.0f;
    const float${width} e = as_float${width}(exponent + 0x4b400000) - 12582912.0f;
    const float${width} z = f * f;
    const float${width} y = f * z * (3.3333331174e-1f + f * (-2.4999993993e-1f + f * (2.0000714765e-1f + f * (-1.6668057665e-1f
        + f * (1.4249322787e-1f + f * (-1.2420140846e-1f + f * (1.1676998740e-1f + f * (-1.1514610310e-1f
        + f * 7.0376836292e-2f))))))));
    return 0.693359375f * e + (f + (y - 0.5f * z - 2.12194440e-4f * e));
}

// exp(x) for x <= 0, 1e-38 below -87
FUNCTION float${width} exp_of_vector(float${width} x) {
    const float${width} bounded = x < -87.0f ? (float${width})(-87.0f) : x;
    const float${width} rounded = bounded * 1.44269504f + 12582912.0f;
    const float${width} n = rounded - 12582912.0f;
    const float${width} r = bounded - 0.693359375f * n + 2.12194440e-4f * n;
    const float${width} y = 1.0f + (r + r * r * (5.0000001201e-1f + r * (1.6666665459e-1f + r * (4.1665795894e-2f
        + r * (8.3334519073e-3f + r * (1.3981999507e-3f + r * 1.9875691500e-4f))))));
    return as_float${width}(as_int${width}(y) + (as_int${width}(rounded) << 23));
}

typedef struct { float${width} value, slope; } score_t;

% if family in ("probit", "ordinal"):
// log Phi(x)
FUNCTION float${width} ${"log_likelihood_of_vector" if family == "probit" else "log_normal_of_vector"}(float${width} x) {
    const int${width} negative = x < 0.0f;
    const float${width} z = 0.70710678f * (negative ? -x : x);
    const float${width} t = 1.0f / (1.0f + 0.5f * z);
    const float${width} exponent = -z * z - 1.26551223f + t * (1.00002368f + t * (0.37409196f + t * (0.09678418f + t * (-0.18628806f
        + t * (0.27886807f + t * (-1.13520398f + t * (1.48851587f + t * (-0.82215223f + t * 0.17087277f))))))));
    const float${width} tail = 0.5f * t * exp_of_vector(exponent);
    const float${width} inside = 1.0f - tail;    // its rounding error is added again below, as in log1p
    return log_of_vector(negative ? 0.5f * t : inside) + (negative ? exponent : (1.0f - inside) - tail);
}

% endif
% if family == "probit":

// log Phi(x) and its derivative
FUNCTION score_t score_of_vector(float${width} x) {
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
% elif family == "logit":
// log F(x), F the logistic distribution function
FUNCTION float${width} log_likelihood_of_vector(float${width} x) {
    const float${width} e = exp_of_vector(x < 0.0f ? x : -x);
    return (x < 0.0f ? x : (float${width})(0.0f)) - log_of_vector(1.0f + e) - (e - ((1.0f + e) - 1.0f)) / (1.0f + e);
}

// log F(x) and its derivative
FUNCTION score_t score_of_vector(float${width} x) {
    score_t score;
    const float${width} e = exp_of_vector(x < 0.0f ? x : -x);
    score.value = (x < 0.0f ? x : (float${width})(0.0f)) - log_of_vector(1.0f + e) - (e - ((1.0f + e) - 1.0f)) / (1.0f + e);
    score.slope = (x < 0.0f ? (float${width})(1.0f) : e) / (1.0f + e);
    return score;
}
% else:
// The log-likelihood of eight rows, and its derivative
%   if family == "normal":
FUNCTION float${width} log_likelihood_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape) {
    const float${width} r = (y - x) * shape->inverse_sigma;
    return shape->log_peak - 0.5f * r * r;
}
%   elif family == "student":
FUNCTION float${width} log_likelihood_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape) {
    const float${width} r = (y - x) * shape->inverse_sigma;
    return shape->log_peak - 0.5f * (shape->degrees + 1.0f) * log_of_vector(1.0f + r * r / shape->degrees);
}
%   elif family == "counts":
FUNCTION score_t score_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape) {
    score_t score;
    const float${width} t = x - shape->log_size;
    const int${width} right = t > 0.0f;
    const float${width} e = exp_of_vector(right ? -t : t);
    const float${width} below = log_of_vector(1.0f + e) + (e - ((1.0f + e) - 1.0f)) / (1.0f + e);
    score.value = y * x - (y + shape->size) * ((right ? t : (float${width})(0.0f)) + below);
    score.slope = y - (y + shape->size) * ((right ? (float${width})(1.0f) : e) / (1.0f + e));
    return score;
}

FUNCTION float${width} log_likelihood_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape) {
    return score_of_vector(x, y, shape).value;
}
%   else:
typedef struct { float${width} below, above, inside; } between_t;

// The thresholds about the categories y less x, and log(Phi(above) - Phi(below)); see log_between
FUNCTION between_t between_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape) {
    between_t at;
%     for i in range(width):
    at.below.s${f"{i:x}"} = lower_bound(x.s${f"{i:x}"}, y.s${f"{i:x}"}, shape);
    at.above.s${f"{i:x}"} = upper_bound(x.s${f"{i:x}"}, y.s${f"{i:x}"}, shape);
%     endfor
    const int${width} right = at.below > 0.0f;
    const float${width} low = log_normal_of_vector(right ? -at.above : at.below);
    const float${width} high = log_normal_of_vector(right ? -at.below : at.above);
    const float${width} apart = low < high ? low - high : (float${width})(0.0f);
    const float${width} share = 1.0f - exp_of_vector(apart);
    at.inside = high + log_of_vector(share > 1.0e-7f ? share : (float${width})(1.0e-7f));
    return at;
}

FUNCTION float${width} log_likelihood_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape) {
    return between_of_vector(x, y, shape).inside;
}
%   endif
%   if family != "counts":

FUNCTION score_t score_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape) {
    score_t score;
%   endif
%   if family == "normal":
    score.value = log_likelihood_of_vector(x, y, shape);
    score.slope = (y - x) * (shape->inverse_sigma * shape->inverse_sigma);
%   elif family == "student":
    const float${width} r = (y - x) * shape->inverse_sigma;
    score.value = log_likelihood_of_vector(x, y, shape);
    score.slope = (shape->degrees + 1.0f) * r * shape->inverse_sigma / (shape->degrees + r * r);
%   elif family == "ordinal":
    const between_t at = between_of_vector(x, y, shape);
    score.value = at.inside;
    score.slope = 0.39894228f * (exp_of_vector(-0.5f * at.below * at.below - at.inside)
        - exp_of_vector(-0.5f * at.above * at.above - at.inside));
%   endif
%   if family != "counts":
    return score;
}
%   endif
% endif
</%def>
<%def name="sum_functions()">
// The sum of 16 numbers
FUNCTION f64 sum_of_vector(float16 x) {
    const float8 eight = x.lo + x.hi;
    const float4 four = eight.lo + eight.hi;
    return (f64)((four.x + four.z) + (four.y + four.w));
}

#define FIRST(count) ((int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) < (int16)((i32)MIN(count, (i64)16)))
</%def>
