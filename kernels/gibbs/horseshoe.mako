<%doc>
The horseshoe prior with its local scales integrated out, in f64, and univariate slice sampling.

    ${"<%"}namespace name="horseshoe" file="/gibbs/horseshoe.mako"/>
    philox.functions(), philox.double_functions() come first
    horseshoe.density_functions()    log_horseshoe_density, draw_local_precision
    horseshoe.slice_functions()      slice_t: a slice sampler as a state machine that asks for one density at a time

C. M. Carvalho, N. G. Polson, J. G. Scott, "The horseshoe estimator for sparse signals", Biometrika 97 (2010); R. M. Neal,
"Slice sampling", Annals of Statistics 31 (2003), figures 3 and 5.
</%doc>
<%def name="density_functions()">
#define LEAST 1.0e-60
#define MOST 1.0e60
#define CLAMPED(x) ((x) < LEAST ? LEAST : ((x) > MOST ? MOST : (x)))

// log of f(x) = e^m E1(m), m = x^2 / 2, E1 the exponential integral: (2 pi^3)^(1/2) times the density of x = lambda z with
// lambda ~ C+(0, 1), z ~ N(0, 1). The power series below m = 2, the continued fraction of E1 from there on; relative error 1e-14.
FUNCTION f64 log_horseshoe_density(f64 x)
{
    f64 m = 0.5 * x * x;
    m = m < 1.0e-280 ? 1.0e-280 : m;
    if (m < 2.0) {
        f64 power = 1.0;
        f64 sum = 0.0;
        for (i32 k = 1; k < 40; ++k) {
            power *= -m / (f64)k;
            sum -= power / (f64)k;
            if (power < 1.0e-18 && power > -1.0e-18)
                break;
        }
        return m + log(sum - 0.57721566490153286 - log(m));
    }
    const i32 depth = 4 + (i32)(80.0 / m);
    f64 fraction = m + (f64)(2 * depth + 1);
    for (i32 k = depth; k > 0; --k)
        fraction = m + (f64)(2 * k - 1) - (f64)k * (f64)k / fraction;
    return -log(fraction);
}

// lambda^-2 given beta and tau: density exp(-b x) / (1 + x), b = beta^2 / (2 tau^2). Two functions bound it from above: 1 / (1 + x)
// up to 1 / b, and exp(-b x) / (1 + 1 / b) from there on; one of them proposes in proportion to its integral.
FUNCTION f64 draw_local_precision(f64 rate, u64 seed, u32 stream, u32 step, i64 index)
{
    const f64 b = CLAMPED(rate);
    const f64 near = log1p(1.0 / b);
    const f64 far = 0.36787944117144233 / (1.0 + b);
    f64 x = 0.0;
    for (u32 attempt = 0u; attempt < 256u; ++attempt) {
        const philox_words_t words = philox_words(seed, stream, step, index, attempt);
        const f64 place = uniform_f64_wide(words.w0, words.w1) * (near + far);
        const f64 u = uniform_f64_wide(words.w2, words.w3);
        if (place < near) {
            x = expm1(place);
            if (u < exp(-b * x))
                break;
        } else {
            x = (1.0 - log(1.0 - (place - near) / far)) / b;
            if (u * (1.0 + x) < 1.0 + 1.0 / b)
                break;
        }
    }
    return x;
}
</%def>
<%def name="slice_functions()">
// A slice sampler in one dimension with stepping out and shrinkage. The caller evaluates the log density at `at` and calls
// slice_next until `phase` is 4; `here` is then the new point. After MOST_EVALUATIONS it stays at the old one.
#define SLICE_STEPS 32
#define MOST_EVALUATIONS 160
typedef struct { f64 here, at, level, lower, upper, width; i32 phase, left, right; u32 tried; } slice_t;

FUNCTION slice_t slice_begin(f64 here, f64 width)
{
    slice_t s;
    s.here = s.at = s.lower = s.upper = here;
    s.level = 0.0;
    s.width = width;
    s.phase = 0;
    s.left = s.right = 0;
    s.tried = 0u;
    return s;
}

FUNCTION slice_t slice_next(slice_t s, f64 density, u64 seed, u32 stream, u32 step, i64 index)
{
    const philox_words_t words = philox_words(seed, stream, step, index, s.tried);
    const f64 u = uniform_f64_wide(words.w0, words.w1);
    if (s.phase == 0) {
        const f64 v = uniform_f64_wide(words.w2, words.w3);
        s.level = density + log(u);
        s.lower = s.here - s.width * v;
        s.upper = s.lower + s.width;
        s.left = (i32)(words.w1 % SLICE_STEPS);
        s.right = SLICE_STEPS - 1 - s.left;
        s.at = s.lower;
        s.phase = 1;
    } else if (s.phase == 1) {
        if (s.left > 0 && density > s.level) {
            s.lower -= s.width;
            --s.left;
            s.at = s.lower;
        } else {
            s.at = s.upper;
            s.phase = 2;
        }
    } else if (s.phase == 2) {
        if (s.right > 0 && density > s.level) {
            s.upper += s.width;
            --s.right;
            s.at = s.upper;
        } else {
            s.at = s.lower + u * (s.upper - s.lower);
            s.phase = 3;
        }
    } else if (density > s.level) {
        s.here = s.at;
        s.phase = 4;
    } else {
        if (s.at < s.here)
            s.lower = s.at;
        else
            s.upper = s.at;
        s.at = s.lower + u * (s.upper - s.lower);
    }
    if (++s.tried >= MOST_EVALUATIONS)
        s.phase = 4;
    return s;
}
</%def>
