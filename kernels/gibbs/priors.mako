<%doc>
The priors of the coefficients, beta_j | lambda_j, tau ~ N(0, (1 / (lambda_j tau)^2 + s_j)^-1), with lambda_j integrated out, in
f64.

    philox.double_functions(), horseshoe.density_functions() come first
    priors.density_functions(prior, degrees)    log_prior_density
    priors.draw_functions(prior, degrees)       draw_prior_precision; variates.scale_functions() come first
    priors.lasso_functions()                    draw_inverse_gaussian; part of the above for the lasso

    horseshoe      lambda_j ~ C+(0, 1), s_j = 0
    regularized    lambda_j ~ C+(0, 1), s_j = w_j / c^2
    half_t         lambda_j half-Student of `degrees` degrees of freedom
    lasso          lambda_j^2 exponential of mean 2, so that beta_j / tau is Laplace's
    ridge          lambda_j = 1

J. Piironen, A. Vehtari, "Sparsity information and regularization in the horseshoe and other shrinkage priors", Electronic
Journal of Statistics 11 (2017); T. Park, G. Casella, "The Bayesian lasso", JASA 103 (2008).
</%doc>
<%!
    import math

    NODES, REACH, BEND = 48, 19.0, 2.0    # found by comparison with 25 digits; see tests/gibbs/test_priors.py

    def grid(right):
        """Nodes t and weights of a trapezoidal rule in x, t = BEND sinh x, on [-REACH, right]."""
        low, high = -math.asinh(REACH / BEND), math.asinh(right / BEND)
        h = (high - low) / (NODES - 1)
        places = [low + h * k for k in range(NODES)]
        return [(BEND * math.sinh(x), h * BEND * math.cosh(x)) for x in places]

    def laguerre(power):
        """Nodes and weights of Gauss's rule for the weight R^power exp(-R)."""
        from scipy.special import roots_genlaguerre

        return list(zip(*(values.tolist() for values in roots_genlaguerre(24, power))))
%>
<%def name="array(name, values)">
${"static __device__ const f64" if language == "cuda" else "__constant f64"} ${name}[${len(values)}] = {
% for value in values:
    ${repr(float(value))},
% endfor
};
</%def>
<%def name="density_functions(prior, degrees)">
% if prior == "horseshoe":
// log of the density of x = beta / tau but for a constant; k is not used
FUNCTION f64 log_prior_density(f64 x, f64 k) { return log_horseshoe_density(x); }
% elif prior == "ridge":
FUNCTION f64 log_prior_density(f64 x, f64 k) { return -0.5 * x * x; }
% elif prior == "lasso":
FUNCTION f64 log_prior_density(f64 x, f64 k) { return x < 0.0 ? x : -x; }
% elif prior == "regularized":
<%
    small = [(math.exp(t), w) for t, w in grid(REACH)]
    large = [(math.exp(t), w) for t, w in grid(1.9)]
%>
${array("SMALL_SQUARES", [u * u for u, w in small])}
${array("SMALL_VALUES", [u for u, w in small])}
${array("SMALL_WEIGHTS", [2.0 * w * u / (1.0 + u * u) for u, w in small])}
${array("LARGE_SQUARES", [v * v for v, w in large])}
${array("LARGE_WEIGHTS", [2.0 * w * v * math.exp(-v * v) for v, w in large])}
// log of J(m, k) = int_0^inf sqrt((r + k) / r) exp(-m r) / (1 + r) dr, m = x^2 / 2, k = tau^2 s: the density of beta is
// J / tau exp(-s beta^2 / 2) but for a constant. With r = u^2 the part beyond k = 0, which is that of the horseshoe, decreases
// fast on both sides in log u, also where m is small; where m is large all of J does, in log(sqrt(m) u). Relative error 1e-8
// for k <= 1.
FUNCTION_APART f64 log_prior_density(f64 x, f64 k) {
    f64 m = 0.5 * x * x;
    m = m < 1.0e-280 ? 1.0e-280 : (m > 1.0e30 ? 1.0e30 : m);
    f64 sum = 0.0;
    if (m < 1.0) {
#pragma unroll 1
        for (i32 i = 0; i < ${NODES}; ++i)
            sum += SMALL_WEIGHTS[i] * exp(-m * SMALL_SQUARES[i]) * k / (sqrt(SMALL_SQUARES[i] + k) + SMALL_VALUES[i]);
        return log(exp(log_horseshoe_density(x)) + sum);
    }
    const f64 inverse = 1.0 / m;
#pragma unroll 1
    for (i32 i = 0; i < ${NODES}; ++i)
        sum += LARGE_WEIGHTS[i] * sqrt(LARGE_SQUARES[i] + k * m) / (1.0 + LARGE_SQUARES[i] * inverse);
    return log(sum * inverse);
}
% else:
<%
    a = 0.5 * (degrees + 1.0)
    nodes = [(math.exp(t), w) for t, w in grid(REACH)]
    shares = [t / (1.0 + t) for t, w in nodes]
    scaled = laguerre(a - 1.0)
%>
${array("NODE_VALUES", [t for t, w in nodes])}
${array("NODE_WEIGHTS", [w * share ** a for (t, w), share in zip(nodes, shares)])}
${array("NODE_DIFFERENCES", [w * (share ** a - share) for (t, w), share in zip(nodes, shares)])}
${array("LAGUERRE_VALUES", [t for t, w in scaled])}
${array("LAGUERRE_WEIGHTS", [w for t, w in scaled])}
// log of int_0^inf t^(a - 1) (1 + t)^-a exp(-b t) dt, a = ${a}, b = x^2 / (2 nu), nu = ${degrees}: the density of x = beta /
// tau but for a constant. In log t, where b is small as the difference from the horseshoe's, which decreases on both sides.
// Relative error 1e-7.
FUNCTION_APART f64 log_prior_density(f64 x, f64 k) {
    f64 b = 0.5 * x * x / ${degrees};
    b = b < 1.0e-280 ? 1.0e-280 : (b > 1.0e60 ? 1.0e60 : b);
    f64 sum = 0.0;
    if (b < 1.0) {
#pragma unroll 1
        for (i32 i = 0; i < ${NODES}; ++i)
            sum += NODE_DIFFERENCES[i] * exp(-b * NODE_VALUES[i]);
        return log(exp(log_horseshoe_density(x * ${repr(degrees ** -0.5)})) + sum);
    }
    if (b < 20.0) {
#pragma unroll 1
        for (i32 i = 0; i < ${NODES}; ++i)
            sum += NODE_WEIGHTS[i] * exp(-b * NODE_VALUES[i]);
        return log(sum);
    }
#pragma unroll 1
    for (i32 i = 0; i < 24; ++i)
        sum += LAGUERRE_WEIGHTS[i] * exp(${-a} * log1p(LAGUERRE_VALUES[i] / b));
    return log(sum) - ${a} * log(b);
}
% endif
</%def>
<%def name="draw_functions(prior, degrees)">
% if prior == "horseshoe":
// lambda^-2 given beta and tau, rate = beta^2 / (2 tau^2)
FUNCTION f64 draw_prior_precision(f64 rate, f64 k, u64 seed, u32 stream, u32 step, i64 index) {
    return draw_local_precision(rate, seed, stream, step, index);
}
% elif prior == "ridge":
FUNCTION f64 draw_prior_precision(f64 rate, f64 k, u64 seed, u32 stream, u32 step, i64 index) { return 1.0; }
% elif prior == "lasso":
${lasso_functions()}
FUNCTION f64 draw_prior_precision(f64 rate, f64 k, u64 seed, u32 stream, u32 step, i64 index) {
    return draw_inverse_gaussian(1.0 / sqrt(2.0 * CLAMPED(rate)), seed, stream, step, index);
}
% elif prior == "regularized":
// lambda^-2: density sqrt((r + k) / r) exp(-b r) / (1 + r). sqrt((r + k) / r) <= 1 + sqrt(k / r): the two functions that bound the
// horseshoe's, and a third for the second term, propose in proportion to their integrals.
FUNCTION f64 draw_prior_precision(f64 rate, f64 k, u64 seed, u32 stream, u32 step, i64 index) {
    const f64 b = CLAMPED(rate);
    const f64 near = log1p(1.0 / b);
    const f64 far = 0.36787944117144233 / (1.0 + b);
    const f64 rest = sqrt(k) * (b < 1.0 ? 3.141592653589793 : sqrt(3.141592653589793 / b));
    f64 r = 1.0;
    for (u32 attempt = 0u; attempt < 256u; ++attempt) {
        const philox_words_t words = philox_words(seed, stream, step, index, 2u * attempt);
        const philox_words_t others = philox_words(seed, stream, step, index, 2u * attempt + 1u);
        f64 place = uniform_f64_wide(words.w0, words.w1) * (near + far + rest);
        if (place < near) {
            r = expm1(place);
        } else if (place < near + far) {
            r = (1.0 - log(1.0 - (place - near) / far)) / b;
        } else if (b < 1.0) {
            const f64 turn = 1.5707963267948966 * uniform_f64_wide(others.w0, others.w1);
            const f64 u = sin(turn) / cos(turn);
            r = u * u;
        } else {
            const f64 u = normal_of(others);
            r = 0.5 * u * u / b;
        }
        r = CLAMPED(r);
        const f64 root = sqrt(k / r);
        const f64 decay = exp(-b * r);
        const f64 flat = 1.0 / (1.0 + r);
        const f64 bound = (r * b < 1.0 ? flat : decay / (1.0 + 1.0 / b)) + root * (b < 1.0 ? flat : decay);
        if (uniform_f64_wide(words.w2, words.w3) * bound < sqrt(1.0 + k / r) * decay * flat)
            break;
    }
    return r;
}
% else:
<% a = 0.5 * (degrees + 1.0) %>
// lambda^-2 = t / nu: t has the density t^(a - 1) (1 + t)^-a exp(-b t). Where b is not small, proposals are of a gamma
// distribution: in s = log t the first factors are log-concave, and the exponential of their tangent at s0 bounds them. Else
// they are the horseshoe's.
FUNCTION f64 draw_prior_precision(f64 rate, f64 k, u64 seed, u32 stream, u32 step, i64 index) {
    const f64 b = CLAMPED(rate / ${degrees});
    const f64 touch = 2.0 * ${a} / (b * (1.0 + sqrt(1.0 + 4.0 * ${a} / b)));
    const f64 shape = ${a} / (1.0 + touch);
    const f64 level = (${a} - shape) * log(touch) - ${a} * log1p(touch);
    const f64 width = 1.0 / sqrt(2.0 * shape - 1.0);
    const f64 near = log1p(1.0 / b);
    const f64 far = 0.36787944117144233 / (1.0 + b);
    f64 t = 1.0;
    for (u32 attempt = 0u; attempt < 256u; ++attempt) {
        const philox_words_t words = philox_words(seed, stream, step, index, 2u * attempt);
        const philox_words_t others = philox_words(seed, stream, step, index, 2u * attempt + 1u);
        const f64 u = uniform_f64_wide(words.w0, words.w1);
        const f64 w = uniform_f64_wide(words.w2, words.w3);
        const f64 last = uniform_f64_wide(others.w0, others.w1);
        if (shape > 0.6) {
            const f64 v = width * log(u / (1.0 - u));
            const f64 gamma = shape * exp(v);
            t = CLAMPED(gamma / b);
            const i32 fits = shape - 1.3862943611198906 + (shape + 1.0 / width) * v - gamma >= log(u * u * w);
            if (fits && log(last) < (${a} - shape) * log(t) - ${a} * log1p(t) - level)
                break;
        } else {
            const f64 place = u * (near + far);
            i32 fits;
            if (place < near) {
                t = CLAMPED(expm1(place));
                fits = w < exp(-b * t);
            } else {
                t = CLAMPED((1.0 - log(1.0 - (place - near) / far)) / b);
                fits = w * (1.0 + t) < 1.0 + 1.0 / b;
            }
            if (fits && log(last) < ${a - 1.0} * (log(t) - log1p(t)))
                break;
        }
    }
    return t / ${degrees};
}
% endif
</%def>
<%def name="lasso_functions()">
// The inverse Gaussian distribution of this mean and shape 1: J. R. Michael, W. R. Schucany, R. W. Haas, "Generating random
// variates using transformations with multiple roots", American Statistician 30 (1976), in a form that does not cancel.
FUNCTION f64 draw_inverse_gaussian(f64 mean, u64 seed, u32 stream, u32 step, i64 index) {
    const f64 normal = normal_of(philox_words(seed, stream, step, index, 0u));
    const philox_words_t words = philox_words(seed, stream, step, index, 1u);
    const f64 q = 0.5 * mean * normal * normal;
    const f64 larger = 1.0 + q + sqrt(q * (2.0 + q));
    return uniform_f64_wide(words.w0, words.w1) * (1.0 + larger) < larger ? mean / larger : mean * larger;
}
</%def>
