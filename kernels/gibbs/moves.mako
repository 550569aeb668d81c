<%doc>
The moves of the slices: curves through a chain's point, densities along them, and what a slice does with a try.

    ${"<%"}namespace name="moves" file="/gibbs/moves.mako"/>
    philox.functions(), philox.double_functions() and variates.latent_functions() come first
    moves.functions(block)       place_t, move_t, begin_slice, point_of, place_of, judge_try, move_coefficients_of (by a group of `block`)
    moves.strip_functions()      weigh_strip, for devices with one work-item a group (OpenCL C)
</%doc>
<%!
    TRIES = 40
    WHOLE = 8
    SLICE = 16
%>
<%def name="functions(block)">
#define SLICE_NUMBERS ${SLICE}
#define MOST_TRIES ${TRIES}
// Slice sampling along a curve through the present point, on stored vectors x . beta, without a pass over the design.
//
// A point of the curve is eta = A eta + B u + C v, row by row; rows are multiplied by their y = +-1, also the intercept's ones.
// "ellipse" (Murray, Adams, MacKay 2010, about a Gaussian N(M, S^-1) that stands in for the likelihood, as in Nishihara, Murray,
// Adams 2014): eta = M + (eta - M) cos t + N sin t, N ~ N(0, S^-1), u = X M, v = X N; the target is the likelihood over its
// stand-in, f = sum_i log Phi(eta_i) - a_i eta_i + w_i eta_i^2 / 2.
// "rescale" moves (beta, tau) to (c beta, c tau), the intercept b_0 apart: u is the intercept's column, A = c, B = (1 - c) b_0,
//     f = sum_i log Phi(eta_i) + log c - log(1 + (c tau / A)^2), with xi integrated out; log c in a bracket about 0.
// "stretch" moves one (beta_j, lambda_j) to (c beta_j, c lambda_j), and b_0 by d a_j, d = (c - 1) beta_j: v is the column,
//     f = sum_i log Phi(eta_i) + log c - log(1 + (c lambda_j)^2) - ((b_0 + d a_j)^2 - b_0^2) / (2 s^2), s that of b_0's prior.
// It carries a coefficient whose likelihood is nearly flat through the decades of its tail; a_j is such that rows with the usual
// value of the column, 0 where most are 0, stay where they are.
// The number of the move is 0, 1 and 2. A slice keeps ${SLICE} numbers: level, lower, upper, tried, done, A, B, C, factor (c or cos t),
// log-likelihood. A bracket shrinks towards the present point at every try that fails, so the tries of a slice do not depend on f.
// After ${TRIES} the present point is kept; the bracket is below rounding by then.
typedef struct { f64 a, b, c, factor; } place_t;
typedef struct { f64 pivot, origin, shift, own; } move_t;

// What a move depends on beside the point: b_0, beta_j, a_j, and the square of tau / A or lambda_j
FUNCTION move_t move_of(i32 move, const GLOBAL f64* beta, const GLOBAL f64* lam, f64 tau_precision, i64 row, i32 first, i32 column,
    f64 shift, f64 inverse_width)
{
    move_t m;
    m.pivot = first > 0 ? beta[row] : 0.0;
    m.origin = move == 2 ? beta[row + column] : 0.0;
    m.shift = shift;
    m.own = move == 2 ? 1.0 / lam[row + column] : inverse_width / tau_precision;
    return m;
}

FUNCTION place_t place_of(i32 move, f64 point, move_t m)
{
    place_t place;
    if (move == 0) {
        place.factor = cos(point);
        place.a = place.factor;
        place.b = 1.0 - place.factor;
        place.c = sin(point);
    } else {
        place.factor = exp(point);
        place.a = move == 1 ? place.factor : 1.0;
        place.c = move == 1 ? 0.0 : m.origin * (place.factor - 1.0);
        place.b = move == 1 ? m.pivot * (1.0 - place.factor) : m.shift * place.c;
    }
    return place;
}

// f but for the sum over rows
FUNCTION f64 weight_of(i32 move, f64 point, move_t m, f64 first_prior)
{
    if (move == 0)
        return 0.0;
    f64 f = point - log(1.0 + m.own * exp(2.0 * point));
    if (move == 2) {
        const f64 moved = m.shift * m.origin * (exp(point) - 1.0);
        f -= 0.5 * first_prior * moved * (moved + 2.0 * m.pivot);
    }
    return f;
}

// Try number i > 0 within the bracket
FUNCTION f64 point_of(f64 lower, f64 upper, u64 seed, u32 stream, u32 step, i32 i)
{
    const philox_words_t words = philox_words(seed, stream, step, i, 0u);
    return lower + uniform_f64_wide(words.w0, words.w1) * (upper - lower);
}

// Level (above f at the present point) and bracket
FUNCTION void begin_slice(GLOBAL f64* s, i32 move, f64 width, u64 seed, u32 stream, u32 step)
{
    const philox_words_t words = philox_words(seed, stream, step, 0, 0u);
    const f64 u = uniform_f64_wide(words.w2, words.w3);
    const f64 span = move == 0 ? 6.283185307179586 : width;
    s[0] = log(uniform_f64_wide(words.w0, words.w1));
    s[1] = -span * u;
    s[2] = span - span * u;
    s[3] = 0.0;
    s[4] = 0.0;
    s[5] = 1.0;
    s[6] = 0.0;
    s[7] = 0.0;
    s[8] = 1.0;
}

// Take a try if it is on the slice, else leave the bracket for the next; likelihood is f's sum over rows
FUNCTION void judge_try(GLOBAL f64* s, i32 move, i32 i, f64 point, f64 likelihood, move_t m, f64 first_prior)
{
    s[3] = (f64)i;
    if (likelihood + weight_of(move, point, m, first_prior) > s[0]) {
        const place_t place = place_of(move, point, m);
        s[4] = 1.0;
        s[5] = place.a;
        s[6] = place.b;
        s[7] = place.c;
        s[8] = place.factor;
        s[9] = likelihood;
    } else if (point < 0.0) {
        s[1] = point;
    } else {
        s[2] = point;
    }
    if (i >= ${TRIES} && s[4] == 0.0)
        s[4] = 2.0;
}

// Level at the present point. Before a stretch its log-likelihood is known: that where the slice before has ended.
FUNCTION void set_level(GLOBAL f64* s, i32 move, f64 likelihood, move_t m, f64 first_prior)
{
    if (move != 2)
        s[9] = likelihood;
    s[0] += s[9] + weight_of(move, 0.0, m, first_prior);
}

// beta, and what moves with it, of one chain. whole[3] = log-likelihood (over its stand-in for "ellipse"), whole[4 or 5] = tries.
FUNCTION void move_coefficients_of(i32 chain, GLOBAL f64* beta, const GLOBAL f64* middle, const GLOBAL f64* along, const GLOBAL f64* s,
    GLOBAL f64* whole, GLOBAL f64* lam, GLOBAL f32* narrow, i32 q, i32 stride, i32 first_column, i32 column, i32 move, f64 inverse_width,
    u64 seed, u32 stream, u32 step)
{
    if (move == 2) {
        if (LOCAL_ID == 0) {
            const i64 at = (i64)chain * q + column;
            const f64 value = beta[at] * s[8];
            const f64 precision = lam[at] / (s[8] * s[8]);
            beta[at] = value;
            narrow[(i64)chain * stride + column] = (f32)value;
            lam[at] = precision < 1.0e-60 ? 1.0e-60 : (precision > 1.0e60 ? 1.0e60 : precision);
            if (first_column > 0) {
                const f64 moved = beta[(i64)chain * q] + s[6];
                beta[(i64)chain * q] = moved;
                narrow[(i64)chain * stride] = (f32)moved;
            }
            whole[${WHOLE} * chain + 3] = s[9];
        }
        return;
    }
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const i64 at = (i64)chain * q + j;
        f64 value = beta[at];
        if (move == 0)
            value = s[5] * value + s[6] * middle[at] + s[7] * along[at];
        else if (j >= first_column)
            value = s[5] * value;
        beta[at] = value;
        narrow[(i64)chain * stride + j] = (f32)value;
    }
    if (LOCAL_ID == 0) {
        whole[${WHOLE} * chain + 3] = s[9];
        whole[${WHOLE} * chain + (move == 1 ? 5 : 4)] = s[3];
        if (move == 1) {
            f64 tau = whole[${WHOLE} * chain] / (s[8] * s[8]);
            tau = tau < 1.0e-60 ? 1.0e-60 : (tau > 1.0e60 ? 1.0e60 : tau);
            const philox_words_t words = philox_words(seed, stream, step, 1000, 0u);
            whole[${WHOLE} * chain] = tau;
            whole[${WHOLE} * chain + 1] = -log(uniform_f64_wide(words.w0, words.w1)) / (inverse_width + tau);
        }
    }
}
</%def>
<%def name="strip_functions()">
typedef float16 rows16_t __attribute__((aligned(4)));
// log Phi as in variates.mako, of sixteen at a time, with a logarithm and an exponential that are inlined: polynomials on
// [sqrt(1/2), sqrt(2)] and on half a power of two about 1, in Cody and Waite's two-part reduction. Good to 2 units in the last place.
// 12582912 = 1.5 2^23: a float that is added to it is rounded to an integer, in its low bits.
FUNCTION float16 log_of_sixteen(float16 x)
{
    const int16 bits = as_int16(x);
    const int16 exponent = (bits - 0x3f3504f3) >> 23;
    const float16 f = as_float16(bits - (exponent << 23)) - 1.0f;
    const float16 e = as_float16(exponent + 0x4b400000) - 12582912.0f;
    const float16 z = f * f;
    const float16 y = f * z * (3.3333331174e-1f + f * (-2.4999993993e-1f + f * (2.0000714765e-1f + f * (-1.6668057665e-1f
        + f * (1.4249322787e-1f + f * (-1.2420140846e-1f + f * (1.1676998740e-1f + f * (-1.1514610310e-1f + f * 7.0376836292e-2f))))))));
    return 0.693359375f * e + (f + (y - 0.5f * z - 2.12194440e-4f * e));
}

// exp(x) for x <= 0, 1e-38 below -87
FUNCTION float16 exp_of_sixteen(float16 x)
{
    const float16 bounded = x < -87.0f ? (float16)(-87.0f) : x;
    const float16 rounded = bounded * 1.44269504f + 12582912.0f;
    const float16 n = rounded - 12582912.0f;
    const float16 r = bounded - 0.693359375f * n + 2.12194440e-4f * n;
    const float16 y = 1.0f + (r + r * r * (5.0000001201e-1f + r * (1.6666665459e-1f + r * (4.1665795894e-2f + r * (8.3334519073e-3f
        + r * (1.3981999507e-3f + r * 1.9875691500e-4f))))));
    return as_float16(as_int16(y) + (as_int16(rounded) << 23));
}

FUNCTION float16 log_normal_cdf_of_sixteen(float16 x)
{
    const int16 negative = x < 0.0f;
    const float16 z = 0.70710678f * (negative ? -x : x);
    const float16 t = 1.0f / (1.0f + 0.5f * z);
    const float16 exponent = -z * z - 1.26551223f + t * (1.00002368f + t * (0.37409196f + t * (0.09678418f + t * (-0.18628806f
        + t * (0.27886807f + t * (-1.13520398f + t * (1.48851587f + t * (-0.82215223f + t * 0.17087277f))))))));
    const float16 tail = 0.5f * t * exp_of_sixteen(exponent);
    const float16 inside = 1.0f - tail;   // its rounding is put back: log1p
    return log_of_sixteen(negative ? 0.5f * t : inside) + (negative ? exponent : (1.0f - inside) - tail);
}

// The part of f of rows [begin, end) of a strip at a point of a curve: sixteen rows at a time, f64 sums of up to 128. A strip
// has a multiple of sixteen rows, of which those from `end` on do not count.
FUNCTION f64 weigh_strip(const GLOBAL f32* eta, const GLOBAL f32* u, const GLOBAL f32* v, const GLOBAL f32* slope, const GLOBAL f32* weight,
    f32 a, f32 b, f32 c, i64 begin, i64 end, i32 move)
{
    f64 total = 0.0;
    for (i64 first = begin; first < end; first += 128) {
        const i64 last = MIN(first + 128, end);
        float16 sums = (float16)(0.0f);
        for (i64 i = first; i < last; i += 16) {
            const float16 at = a * *(const GLOBAL rows16_t*)(eta + i) + b * *(const GLOBAL rows16_t*)(u + i) + c * *(const GLOBAL rows16_t*)(v + i);
            float16 f = log_normal_cdf_of_sixteen(at);
            if (move == 0)
                f -= (*(const GLOBAL rows16_t*)(slope + i) - 0.5f * *(const GLOBAL rows16_t*)(weight + i) * at) * at;
            if (last - i < 16)
                f = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) < (int16)((i32)(last - i)) ? f : (float16)(0.0f);
            sums += f;
        }
        const float8 eight = sums.lo + sums.hi;
        const float4 four = eight.lo + eight.hi;
        total += ((f64)four.x + (f64)four.z) + ((f64)four.y + (f64)four.w);
    }
    return total;
}
</%def>
