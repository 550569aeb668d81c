<%doc>
The log-likelihood of a row given its margin, and its derivatives, f32.

    ${"<%"}namespace name="likelihoods" file="/gibbs/likelihoods.mako"/>
    variates.latent_functions() comes first
    likelihoods.functions(family)            of one row; on devices with vector lanes
    likelihoods.vector_functions(8, family)  of eight, or 16
    likelihoods.value(family, x, row, chain), slope(...), curvature(...)     calls; kernels take arguments.of_likelihood(family)
    likelihoods.vector_value(width, family, x, row, chain), vector_score(...)   calls for vectors of rows, scores without weights
    likelihoods.given(family, chain)         what a function with arguments.of_likelihood(family) is given
    likelihoods.times(weight)                a factor, which is nothing unless the constant `weighted` is true

With the constant `weighted` the log-likelihood of a row counts row_weight[row] times.

The margins of probit and logit rows are multiplied by their y = +-1. The other families read target[row], and a record of the
chain, records["shape"]; size is the r of a negative binomial distribution of mean exp(x) and variance exp(x) + exp(2 x) / r.

The approximation of erfc is that of W. H. Press et al., "Numerical Recipes", section 6.2 (relative error 1.2e-7 everywhere).
</%doc>
<%!
    def has_target(family):
        return family not in ("probit", "logit")
%>
<%def name="given(family, chain)">${f"target, shape + {chain}, " if has_target(family) else ""}${"row_weight," if context.get("weighted", False) else ""}</%def>
<%def name="times(weight)">${f" * {weight}" if context.get("weighted", False) else ""}</%def>
<%def name="extra(family, row, chain)">${f", target[{row}], shape + ({chain})" if has_target(family) else ""}</%def>
<%def name="vectors(width, family, row, chain)">${f", vload{width}(0, target + {row}), shape + {chain}" if has_target(family) else ""}</%def>
<%def name="vector_value(width, family, x, row, chain)">log_likelihood_of_vector(${x}${vectors(width, family, row, chain)})${times(f"vload{width}(0, row_weight + {row})")}</%def>
<%def name="vector_score(width, family, x, row, chain)">score_of_vector(${x}${vectors(width, family, row, chain)})</%def>
<%def name="value(family, x, row, chain)">log_likelihood(${x}${extra(family, row, chain)})${times(f"row_weight[{row}]")}</%def>
<%def name="slope(family, x, row, chain)">slope_of(${x}${extra(family, row, chain)})${times(f"row_weight[{row}]")}</%def>
<%def name="curvature(family, x, row, chain)">curvature_of(${x}${extra(family, row, chain)})${times(f"row_weight[{row}]")}</%def>
<%def name="functions(family)">
% if family not in ("probit", "logit"):
${context["records"]["shape"].declaration()}
% endif
// log of the normal distribution function
FUNCTION f32 log_normal_below(f32 x)
{
    const f32 z = 0.70710678f * (x < 0.0f ? -x : x);
    const f32 t = 1.0f / (1.0f + 0.5f * z);
    const f32 exponent = tail_exponent(t) - z * z;
    if (x < 0.0f)
        return exponent + LOG_F32(0.5f * t);
    return LOG1P_F32(-0.5f * t * EXP_F32(exponent));
}

% if family == "probit":
// The log-likelihood log F(x) of a row with margin x, F = Phi
FUNCTION f32 log_likelihood(f32 x)
{
    return log_normal_below(x);
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

// Minus its second derivative
FUNCTION f32 curvature_of(f32 x)
{
    const f32 h = slope_of(x);
    return h * (h + x);
}
% elif family == "logit":
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

// Minus its second derivative
FUNCTION f32 curvature_of(f32 x)
{
    const f32 h = slope_of(x);
    return h * (1.0f - h);
}
% elif family == "normal":
// The log-likelihood of a target y with a normal error about the margin x
FUNCTION f32 log_likelihood(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    const f32 r = (y - x) * shape->inverse_sigma;
    return shape->log_peak - 0.5f * r * r;
}

FUNCTION f32 slope_of(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    return (y - x) * shape->inverse_sigma * shape->inverse_sigma;
}

FUNCTION f32 curvature_of(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    return shape->inverse_sigma * shape->inverse_sigma;
}
% elif family == "student":
// The log-likelihood of a target y with an error of Student's t about the margin x
FUNCTION f32 log_likelihood(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    const f32 r = (y - x) * shape->inverse_sigma;
    return shape->log_peak - 0.5f * (shape->degrees + 1.0f) * LOG1P_F32(r * r / shape->degrees);
}

FUNCTION f32 slope_of(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    const f32 r = (y - x) * shape->inverse_sigma;
    return (shape->degrees + 1.0f) * r * shape->inverse_sigma / (shape->degrees + r * r);
}

// Not the second derivative, which may be below zero, but the weight of a row in iteratively reweighted least squares
FUNCTION f32 curvature_of(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    const f32 r = (y - x) * shape->inverse_sigma;
    return (shape->degrees + 1.0f) * shape->inverse_sigma * shape->inverse_sigma / (shape->degrees + r * r);
}
% elif family == "counts":
// The log-likelihood of a count y with the logarithm x of its mean, but for what does not depend on x: y x - (y + r) log(1 +
// exp(x) / r)
FUNCTION f32 log_likelihood(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    const f32 t = x - shape->log_size;
    return y * x - (y + shape->size) * ((t > 0.0f ? t : 0.0f) + LOG1P_F32(EXP_F32(t > 0.0f ? -t : t)));
}

FUNCTION f32 slope_of(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    const f32 t = x - shape->log_size;
    const f32 e = EXP_F32(t > 0.0f ? -t : t);
    return y - (y + shape->size) * ((t > 0.0f ? 1.0f : e) / (1.0f + e));
}

FUNCTION f32 curvature_of(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    const f32 t = x - shape->log_size;
    const f32 e = EXP_F32(t > 0.0f ? -t : t);
    return (y + shape->size) * e / ((1.0f + e) * (1.0f + e));
}
% else:
#define NORMAL_DENSITY(x) (0.39894228f * EXP_F32(-0.5f * (x) * (x)))

// Thresholds below and above a category less the margin x; 30 for infinity, where the density and the tail are 0 in f32
FUNCTION f32 lower_bound(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    return y < 0.5f ? -30.0f : shape->threshold[(i32)(y + 0.5f) - 1] - x;
}

FUNCTION f32 upper_bound(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    return y > shape->categories - 1.5f ? 30.0f : shape->threshold[(i32)(y + 0.5f)] - x;
}

// log(Phi(b) - Phi(a)), a < b, on the side where both are not close to 1
FUNCTION f32 log_between(f32 a, f32 b)
{
    const f32 low = log_normal_below(a > 0.0f ? -b : a);
    const f32 high = log_normal_below(a > 0.0f ? -a : b);
    const f32 apart = low - high;
    return high + LOG_F32(MAX(1.0f - EXP_F32(MIN(apart, 0.0f)), 1.0e-7f));
}

// The log-likelihood of category y, thresholds about the margin x
FUNCTION f32 log_likelihood(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    return log_between(lower_bound(x, y, shape), upper_bound(x, y, shape));
}

FUNCTION f32 slope_of(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    const f32 a = lower_bound(x, y, shape);
    const f32 b = upper_bound(x, y, shape);
    const f32 log_inside = log_between(a, b);
    return 0.39894228f * (EXP_F32(-0.5f * a * a - log_inside) - EXP_F32(-0.5f * b * b - log_inside));
}

FUNCTION f32 curvature_of(f32 x, f32 y, const GLOBAL shape_t* shape)
{
    const f32 a = lower_bound(x, y, shape);
    const f32 b = upper_bound(x, y, shape);
    const f32 log_inside = log_between(a, b);
    const f32 at_a = 0.39894228f * EXP_F32(-0.5f * a * a - log_inside);
    const f32 at_b = 0.39894228f * EXP_F32(-0.5f * b * b - log_inside);
    return (at_a - at_b) * (at_a - at_b) - (a * at_a - b * at_b);
}
% endif
</%def>
<%def name="vector_functions(width, family)">
// The same of ${width} numbers at a time, for OpenCL devices whose work-items take vectors, with a logarithm and an exponential
// that are inlined: polynomials on [sqrt(1/2), sqrt(2)] and on half a power of two about 1, in Cody and Waite's two-part
// reduction, good to 2 units in the last place. 12582912 = 1.5 2^23: a float that is added to it is rounded to an integer, in
// its low bits.
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

% if family in ("probit", "ordinal"):
// log Phi(x)
FUNCTION float${width} ${"log_likelihood_of_vector" if family == "probit" else "log_normal_of_vector"}(float${width} x)
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

% endif
% if family == "probit":

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
% elif family == "logit":
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
% else:
// The log-likelihood of eight rows, and its derivative
%   if family == "normal":
FUNCTION float${width} log_likelihood_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape)
{
    const float${width} r = (y - x) * shape->inverse_sigma;
    return shape->log_peak - 0.5f * r * r;
}
%   elif family == "student":
FUNCTION float${width} log_likelihood_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape)
{
    const float${width} r = (y - x) * shape->inverse_sigma;
    return shape->log_peak - 0.5f * (shape->degrees + 1.0f) * log_of_vector(1.0f + r * r / shape->degrees);
}
%   elif family == "counts":
FUNCTION score_t score_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape)
{
    score_t score;
    const float${width} t = x - shape->log_size;
    const int${width} right = t > 0.0f;
    const float${width} e = exp_of_vector(right ? -t : t);
    const float${width} below = log_of_vector(1.0f + e) + (e - ((1.0f + e) - 1.0f)) / (1.0f + e);
    score.value = y * x - (y + shape->size) * ((right ? t : (float${width})(0.0f)) + below);
    score.slope = y - (y + shape->size) * ((right ? (float${width})(1.0f) : e) / (1.0f + e));
    return score;
}

FUNCTION float${width} log_likelihood_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape)
{
    return score_of_vector(x, y, shape).value;
}
%   else:
typedef struct { float${width} below, above, inside; } between_t;

// The thresholds about the categories y less x, and log(Phi(above) - Phi(below)); see log_between
FUNCTION between_t between_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape)
{
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

FUNCTION float${width} log_likelihood_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape)
{
    return between_of_vector(x, y, shape).inside;
}
%   endif
%   if family != "counts":

FUNCTION score_t score_of_vector(float${width} x, float${width} y, const GLOBAL shape_t* shape)
{
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
