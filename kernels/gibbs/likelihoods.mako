<%doc>
The log-likelihood of a row given its margin, and its derivatives, f32.

    variates.latent_functions() comes first
    likelihoods.functions(family)            of one row; on devices with vector lanes
    likelihood_vectors.functions(8, family)  of eight, or 16
    likelihoods.value(family, x, row, chain), slope(...), curvature(...)     calls; kernels take arguments.of_likelihood(family)
    likelihoods.vector_value(width, family, x, row, chain), vector_score(...)   calls for vectors of rows, scores without weights
    likelihoods.given(family, chain)         what a function with arguments.of_likelihood(family) is given
    likelihoods.times(weight), vector_weight(width, row)    a factor, which is nothing unless the constant `weighted` is true

With the constant `weighted` the log-likelihood of a row counts row_weight[row] times.

The margins of probit and logit rows are multiplied by their y = +-1. The other families read target[row], and a record of the
chain, records["shape"]; size is the r of a negative binomial distribution of mean exp(x) and variance exp(x) + exp(2 x) / r.

The approximation of erfc is that of W. H. Press et al., "Numerical Recipes", section 6.2 (relative error 1.2e-7 everywhere).
</%doc>
<%!
    def of_target(family, text):
        """The text where rows have a target."""
        return "" if family in ("probit", "logit") else text
%>
<%def name="given(family, chain)">${of_target(family, f"target, shape + {chain}, ")}${times("weight", "row_weight,")}</%def>
<%def name="times(weight, text=None)">${(text or f" * {weight}") if context.get("weighted", False) else ""}</%def>
<%def name="extra(family, row, chain)">${of_target(family, f", target[{row}], shape + ({chain})")}</%def>
<%def name="more(width, family, row, chain)">${of_target(family, f", vload{width}(0, target + {row}), shape + {chain}")}</%def>
<%def name="vector_weight(width, row)">${times(f"vload{width}(0, row_weight + {row})")}</%def>
<%def name="vector_value(width, family, x, row, chain)">\
log_likelihood_of_vector(${x}${more(width, family, row, chain)})${vector_weight(width, row)}\
</%def>
<%def name="vector_score(width, family, x, row, chain)">score_of_vector(${x}${more(width, family, row, chain)})</%def>
<%def name="value(family, x, row, chain)">log_likelihood(${x}${extra(family, row, chain)})${times(f"row_weight[{row}]")}</%def>
<%def name="slope(family, x, row, chain)">slope_of(${x}${extra(family, row, chain)})${times(f"row_weight[{row}]")}</%def>
<%def name="curvature(family, x, row, chain)">curvature_of(${x}${extra(family, row, chain)})${times(f"row_weight[{row}]")}</%def>
<%def name="functions(family)">
% if family not in ("probit", "logit"):
${context["records"]["shape"].declaration()}
% endif
// log of the normal distribution function
FUNCTION f32 log_normal_below(f32 x) {
    const f32 z = 0.70710678f * (x < 0.0f ? -x : x);
    const f32 t = 1.0f / (1.0f + 0.5f * z);
    const f32 exponent = tail_exponent(t) - z * z;
    if (x < 0.0f)
        return exponent + LOG_F32(0.5f * t);
    return LOG1P_F32(-0.5f * t * EXP_F32(exponent));
}

% if family == "probit":
// The log-likelihood log F(x) of a row with margin x, F = Phi
FUNCTION f32 log_likelihood(f32 x) { return log_normal_below(x); }

// Its derivative phi(x) / Phi(x)
FUNCTION f32 slope_of(f32 x) {
    const f32 z = 0.70710678f * (x < 0.0f ? -x : x);
    const f32 t = 1.0f / (1.0f + 0.5f * z);
    if (x < 0.0f)
        return 0.79788456f / (t * EXP_F32(tail_exponent(t)));
    return 0.39894228f * EXP_F32(-z * z) / (1.0f - 0.5f * t * EXP_F32(tail_exponent(t) - z * z));
}

// Minus its second derivative
FUNCTION f32 curvature_of(f32 x) {
    const f32 h = slope_of(x);
    return h * (h + x);
}
% elif family == "logit":
// The log-likelihood log F(x) of a row with margin x, F(x) = 1 / (1 + exp(-x))
FUNCTION f32 log_likelihood(f32 x) { return (x < 0.0f ? x : 0.0f) - LOG1P_F32(EXP_F32(x < 0.0f ? x : -x)); }

// Its derivative 1 - F(x)
FUNCTION f32 slope_of(f32 x) {
    const f32 e = EXP_F32(x < 0.0f ? x : -x);
    return (x < 0.0f ? 1.0f : e) / (1.0f + e);
}

// Minus its second derivative
FUNCTION f32 curvature_of(f32 x) {
    const f32 h = slope_of(x);
    return h * (1.0f - h);
}
% elif family == "normal":
// The log-likelihood of a target y with a normal error about the margin x
FUNCTION f32 log_likelihood(f32 x, f32 y, const GLOBAL shape_t* shape) {
    const f32 r = (y - x) * shape->inverse_sigma;
    return shape->log_peak - 0.5f * r * r;
}

FUNCTION f32 slope_of(f32 x, f32 y, const GLOBAL shape_t* shape) { return (y - x) * shape->inverse_sigma * shape->inverse_sigma; }

FUNCTION f32 curvature_of(f32 x, f32 y, const GLOBAL shape_t* shape) { return shape->inverse_sigma * shape->inverse_sigma; }
% elif family == "student":
// The log-likelihood of a target y with an error of Student's t about the margin x
FUNCTION f32 log_likelihood(f32 x, f32 y, const GLOBAL shape_t* shape) {
    const f32 r = (y - x) * shape->inverse_sigma;
    return shape->log_peak - 0.5f * (shape->degrees + 1.0f) * LOG1P_F32(r * r / shape->degrees);
}

FUNCTION f32 slope_of(f32 x, f32 y, const GLOBAL shape_t* shape) {
    const f32 r = (y - x) * shape->inverse_sigma;
    return (shape->degrees + 1.0f) * r * shape->inverse_sigma / (shape->degrees + r * r);
}

// Not the second derivative, which may be below zero, but the weight of a row in iteratively reweighted least squares
FUNCTION f32 curvature_of(f32 x, f32 y, const GLOBAL shape_t* shape) {
    const f32 r = (y - x) * shape->inverse_sigma;
    return (shape->degrees + 1.0f) * shape->inverse_sigma * shape->inverse_sigma / (shape->degrees + r * r);
}
% elif family == "counts":
// The log-likelihood of a count y with the logarithm x of its mean, but for what does not depend on x: y x - (y + r) log(1 +
// exp(x) / r)
FUNCTION f32 log_likelihood(f32 x, f32 y, const GLOBAL shape_t* shape) {
    const f32 t = x - shape->log_size;
    return y * x - (y + shape->size) * ((t > 0.0f ? t : 0.0f) + LOG1P_F32(EXP_F32(t > 0.0f ? -t : t)));
}

FUNCTION f32 slope_of(f32 x, f32 y, const GLOBAL shape_t* shape) {
    const f32 t = x - shape->log_size;
    const f32 e = EXP_F32(t > 0.0f ? -t : t);
    return y - (y + shape->size) * ((t > 0.0f ? 1.0f : e) / (1.0f + e));
}

FUNCTION f32 curvature_of(f32 x, f32 y, const GLOBAL shape_t* shape) {
    const f32 t = x - shape->log_size;
    const f32 e = EXP_F32(t > 0.0f ? -t : t);
    return (y + shape->size) * e / ((1.0f + e) * (1.0f + e));
}
% else:
// Thresholds below and above a category less the margin x; 30 for infinity, where the density and the tail are 0 in f32
FUNCTION f32 lower_bound(f32 x, f32 y, const GLOBAL shape_t* shape) {
    return y < 0.5f ? -30.0f : shape->threshold[(i32)(y + 0.5f) - 1] - x;
}

FUNCTION f32 upper_bound(f32 x, f32 y, const GLOBAL shape_t* shape) {
    return y > shape->categories - 1.5f ? 30.0f : shape->threshold[(i32)(y + 0.5f)] - x;
}

// log(Phi(b) - Phi(a)), a < b, on the side where both are not close to 1
FUNCTION f32 log_between(f32 a, f32 b) {
    const f32 low = log_normal_below(a > 0.0f ? -b : a);
    const f32 high = log_normal_below(a > 0.0f ? -a : b);
    const f32 apart = low - high;
    return high + LOG_F32(MAX(1.0f - EXP_F32(MIN(apart, 0.0f)), 1.0e-7f));
}

// The log-likelihood of category y, thresholds about the margin x
FUNCTION f32 log_likelihood(f32 x, f32 y, const GLOBAL shape_t* shape) {
    return log_between(lower_bound(x, y, shape), upper_bound(x, y, shape));
}

FUNCTION f32 slope_of(f32 x, f32 y, const GLOBAL shape_t* shape) {
    const f32 a = lower_bound(x, y, shape);
    const f32 b = upper_bound(x, y, shape);
    const f32 log_inside = log_between(a, b);
    return 0.39894228f * (EXP_F32(-0.5f * a * a - log_inside) - EXP_F32(-0.5f * b * b - log_inside));
}

FUNCTION f32 curvature_of(f32 x, f32 y, const GLOBAL shape_t* shape) {
    const f32 a = lower_bound(x, y, shape);
    const f32 b = upper_bound(x, y, shape);
    const f32 log_inside = log_between(a, b);
    const f32 at_a = 0.39894228f * EXP_F32(-0.5f * a * a - log_inside);
    const f32 at_b = 0.39894228f * EXP_F32(-0.5f * b * b - log_inside);
    return (at_a - at_b) * (at_a - at_b) - (a * at_a - b * at_b);
}
% endif
</%def>
