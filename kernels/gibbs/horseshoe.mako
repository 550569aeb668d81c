<%doc>
The horseshoe prior with its local scales integrated out, in f64, and univariate slice sampling.

    philox.double_functions() comes first
    horseshoe.density_functions()    log_horseshoe_density, draw_local_precision
    horseshoe.slice_functions()      slice_t: a slice sampler as a state machine that asks for one density at a time

C. M. Carvalho, N. G. Polson, J. G. Scott, "The horseshoe estimator for sparse signals", Biometrika 97 (2010); R. M. Neal,
"Slice sampling", Annals of Statistics 31 (2003), figures 3 and 5.
</%doc>
<%!
    import math

    def series(k):
        """The coefficient of m^k in -E1(m) - log(m) - Euler's constant, with the sign of E1's."""
        return repr((-1.0) ** (k + 1) / (k * math.factorial(k)))
%>
<%def name="density_functions()">
#define LEAST 1.0e-60
#define MOST 1.0e60
#define CLAMPED(x) ((x) < LEAST ? LEAST : ((x) > MOST ? MOST : (x)))

// log of f(x) = e^m E1(m), m = x^2 / 2, E1 the exponential integral: (2 pi^3)^(1/2) times the density of x = lambda z with
// lambda ~ C+(0, 1), z ~ N(0, 1). The power series below m = 2, the continued fraction of E1 from there on, as one
// quotient; relative error 1e-14.
FUNCTION f64 log_horseshoe_density(f64 x) {
    f64 m = 0.5 * x * x;
    m = m < 1.0e-280 ? 1.0e-280 : m;
    if (m < 2.0) {
        f64 sum = ${series(26)};
% for k in range(25, 0, -1):
        sum = ${series(k)} + m * sum;
% endfor
        return m + log(m * sum - 0.57721566490153286 - log(m));
    }
    if (m > 1.0e30)
        return -log(m);
    const i32 depth = 4 + (i32)(80.0 / m);    // the fraction is above / below
    f64 above = m + (f64)(2 * depth + 1);
    f64 below = 1.0;
    for (i32 k = depth; k > 0; --k) {
        const f64 next = (m + (f64)(2 * k - 1)) * above - (f64)k * (f64)k * below;
        below = above;
        above = next;
    }
    return log(below / above);
}

// lambda^-2 given beta and tau: density exp(-b x) / (1 + x), b = beta^2 / (2 tau^2). Two functions bound it from above: 1 / (1 + x)
// up to 1 / b, and exp(-b x) / (1 + 1 / b) from there on; one of them proposes in proportion to its integral.
FUNCTION f64 draw_local_precision(f64 rate, u64 seed, u32 stream, u32 step, i64 index) {
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
<%def name="slice_functions(ahead)">
// A slice sampler in one dimension with stepping out and shrinkage. The caller evaluates the log density at the first `count` of
// at0, ..., at3 and calls slice_next with it until `phase` is 4; `here` is then the new point. First come the point itself and the
// ends of the interval, then further ends on both sides, then ${ahead} points inside at once: that each of these is where it is
// because those before it were outside the slice is known before any is evaluated. After MOST_POINTS it stays at the old point.
#define SLICE_STEPS 32
#define MOST_POINTS 160u
#define SLICE_AT(s, k) ((k) == 0 ? (s).at0 : ((k) == 1 ? (s).at1 : ((k) == 2 ? (s).at2 : (s).at3)))
typedef struct {
    f64 here, level, lower, upper, width, at0, at1, at2, at3;
    i32 phase, count, left, right, grow_lower, grow_upper;
    u32 proposed;
} slice_t;

FUNCTION slice_t slice_begin(f64 here, f64 width, u64 seed, u32 stream, u32 step, i64 index) {
    const philox_words_t words = philox_words(seed, stream, step, index, 0u);
    slice_t s;
    s.here = here;
    s.width = width;
    s.level = log(uniform_f64_wide(words.w0, words.w1));
    s.lower = here - width * uniform_f64(words.w2);
    s.upper = s.lower + width;
    s.left = (i32)(words.w3 % SLICE_STEPS);
    s.right = SLICE_STEPS - 1 - s.left;
    s.at0 = here;
    s.at1 = s.lower;
    s.at2 = s.upper;
    s.at3 = here;
    s.count = 3;
    s.phase = s.grow_lower = s.grow_upper = 0;
    s.proposed = 0u;
    return s;
}

// The next ${ahead} points inside the interval. Number n of a slice is made of the same random words, however many are made at
// once.
FUNCTION slice_t slice_shrink(slice_t s, u64 seed, u32 stream, u32 step, i64 index) {
    if (s.proposed >= MOST_POINTS) {
        s.phase = 4;
        return s;
    }
    philox_words_t words;
% for k in range(ahead):
%   if k % 2 == 0:
    words = philox_words(seed, stream, step, index, 1u + (s.proposed + ${k}u) / 2u);
%   endif
%   if ahead == 1:
    const f64 share = s.proposed % 2u == 0u ? uniform_f64_wide(words.w0, words.w1) : uniform_f64_wide(words.w2, words.w3);
    s.at0 = s.lower + share * (s.upper - s.lower);
%   else:
    s.at${k} = s.lower + uniform_f64_wide(words.w${2 * (k % 2)}, words.w${2 * (k % 2) + 1}) * (s.upper - s.lower);
%   endif
    s.lower = s.at${k} < s.here ? s.at${k} : s.lower;
    s.upper = s.at${k} < s.here ? s.upper : s.at${k};
% endfor
    s.proposed += ${ahead}u;
    s.count = ${ahead};
    s.phase = 2;
    return s;
}

FUNCTION slice_t slice_next(slice_t s, f64 density0, f64 density1, f64 density2, f64 density3, u64 seed, u32 stream, u32 step,
    i64 index) {
    if (s.phase < 2) {
        f64 at_lower = density1;
        f64 at_upper = density2;
        if (s.phase == 0) {
            s.level += density0;
            s.grow_lower = s.grow_upper = 1;
        } else {
            at_lower = density0;
            at_upper = s.grow_lower ? density1 : density0;
        }
        s.grow_lower = s.grow_lower && s.left > 0 && at_lower > s.level;
        s.grow_upper = s.grow_upper && s.right > 0 && at_upper > s.level;
        s.phase = 1;
        s.count = s.grow_lower + s.grow_upper;
        s.left -= s.grow_lower;
        s.right -= s.grow_upper;
        s.lower -= s.grow_lower ? s.width : 0.0;
        s.upper += s.grow_upper ? s.width : 0.0;
        s.at0 = s.grow_lower ? s.lower : s.upper;
        s.at1 = s.upper;
        if (s.count == 0)
            s = slice_shrink(s, seed, stream, step, index);
    } else {
        const i32 inside = ${" : ".join(f"density{k} > s.level ? {k}" for k in range(ahead))} : ${ahead};
        if (inside < ${ahead}) {
            s.here = SLICE_AT(s, inside);
            s.phase = 4;
        } else {
            s = slice_shrink(s, seed, stream, step, index);
        }
    }
    return s;
}
</%def>
