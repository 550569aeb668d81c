<%namespace name="philox" file="/common/philox.mako"/>
<%namespace name="reduce" file="/common/reduce.mako"/>
<%namespace name="variates" file="/gibbs/variates.mako"/>
<%
    TRIES = 40
    WHOLE = 8
    SLICE = 16   # numbers a chain keeps of its slice: level, lower, upper, tried, done, A, B, C, factor, log-likelihood
%>
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
// The number of the move is 0, 1 and 2. lines: (2 chains + 2, rows): the chains' X M, the chains' X N, the intercept's column
// (zeros if there is none), the stretched column.
// A bracket shrinks towards the present point at every try that fails, so the tries of a slice do not depend on f: ${tries} of them
// are weighed in one pass over the rows. After ${TRIES} the present point is kept; the bracket is below rounding by then.
${philox.functions()}
${philox.double_functions()}
${variates.latent_functions()}

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
    s[9] = 0.0;
}

// The tries from number `first` on; places: chains x ${tries + 1} x 3, the first of a chain is the present point
KERNEL LAUNCH_BOUNDS(1, 1) propose_points(GLOBAL f64* RESTRICT slice, GLOBAL f32* RESTRICT places, const GLOBAL f64* RESTRICT beta,
    const GLOBAL f64* RESTRICT whole, const GLOBAL f64* RESTRICT lam, i32 q, i32 first_column, i32 column, f64 shift, i32 first, i32 move,
    f64 width, f64 inverse_width, u64 seed, u32 stream, u32 step)
{
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    GLOBAL f64* s = slice + ${SLICE} * chain;
    GLOBAL f32* out = places + (i64)chain * ${3 * (tries + 1)};
    if (first == 0)
        begin_slice(s, move, width, seed, number, step);
    const move_t m = move_of(move, beta, lam, whole[${WHOLE} * chain], (i64)chain * q, first_column, column, shift, inverse_width);
    f64 lower = s[1];
    f64 upper = s[2];
    for (i32 i = 0; i <= ${tries}; ++i) {
        f64 point = 0.0;
        if (i > 0) {
            point = point_of(lower, upper, seed, number, step, first + i);
            if (point < 0.0)
                lower = point;
            else
                upper = point;
        }
        const place_t place = place_of(move, point, m);
        out[3 * i] = (f32)place.a;
        out[3 * i + 1] = (f32)place.b;
        out[3 * i + 2] = (f32)place.c;
    }
}

// partial[strip][chain][try] = the part of f of the strip's rows; nothing is done for chains that have chosen
KERNEL LAUNCH_BOUNDS(${block}, 1) weigh_points(const GLOBAL f32* RESTRICT eta, const GLOBAL f32* RESTRICT lines, const GLOBAL f32* RESTRICT slope,
    const GLOBAL f32* RESTRICT weight, const GLOBAL f32* RESTRICT places, const GLOBAL f64* RESTRICT slice, GLOBAL f64* RESTRICT partial,
    i64 first_row, i64 row_count, i64 rows, i32 strips, i32 strip_rows, i32 chains, i32 move)
{
% if block > 1:
    LOCAL_ARRAY(f64, part, ${block});
% endif
    for (i32 task = GROUP_ID; task < strips * chains; task += GROUP_COUNT) {
        const i32 chain = task % chains;
        const i32 strip = task / chains;
        f64 ${", ".join(f"f{i} = 0.0" for i in range(tries + 1))};
        if (slice[${SLICE} * chain + 4] == 0.0) {
            const GLOBAL f32* place = places + (i64)chain * ${3 * (tries + 1)};
            const GLOBAL f32* u = lines + (move == 0 ? chain : 2 * chains) * rows;
            const GLOBAL f32* v = lines + (move == 0 ? chains + chain : 2 * chains + 1) * rows;
            const i64 begin = (i64)strip * strip_rows;
            const i64 end = MIN(begin + strip_rows, row_count - first_row);
            for (i64 i = begin + LOCAL_ID; i < end; i += ${block}) {
                const f32 now = eta[chain * rows + i];
                const f32 ui = u[i];
                const f32 vi = v[i];
                if (move == 0) {
                    const f32 a = slope[i];
                    const f32 w = 0.5f * weight[i];
% for i in range(tries + 1):
                    {
                        const f32 at = place[${3 * i}] * now + place[${3 * i + 1}] * ui + place[${3 * i + 2}] * vi;
                        f${i} += (f64)(log_normal_cdf(at) - (a - w * at) * at);
                    }
% endfor
                } else {
% for i in range(tries + 1):
                    f${i} += (f64)log_normal_cdf(place[${3 * i}] * now + place[${3 * i + 1}] * ui + place[${3 * i + 2}] * vi);
% endfor
                }
            }
        }
% for i in range(tries + 1):
%   if block > 1:
        BARRIER();
        part[LOCAL_ID] = f${i};
        ${reduce.block_sum("part", "f64", block)}
        if (LOCAL_ID == 0)
            partial[((i64)strip * chains + chain) * ${tries + 1} + ${i}] = part[0];
%   else:
        partial[((i64)strip * chains + chain) * ${tries + 1} + ${i}] = f${i};
%   endif
% endfor
    }
}

// Take the first try on the slice, or leave the bracket for the next tries
KERNEL LAUNCH_BOUNDS(1, 1) choose_point(const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains, GLOBAL f64* RESTRICT slice,
    const GLOBAL f64* RESTRICT beta, const GLOBAL f64* RESTRICT whole, const GLOBAL f64* RESTRICT lam, i32 q, i32 first_column, i32 column,
    f64 shift, i32 first, i32 move, f64 first_prior, f64 inverse_width, u64 seed, u32 stream, u32 step)
{
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    GLOBAL f64* s = slice + ${SLICE} * chain;
    if (s[4] != 0.0)
        return;
    const move_t m = move_of(move, beta, lam, whole[${WHOLE} * chain], (i64)chain * q, first_column, column, shift, inverse_width);
    f64 lower = s[1];
    f64 upper = s[2];
    for (i32 i = 0; i <= ${tries} && s[4] == 0.0; ++i) {
        f64 likelihood = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            likelihood += shards[((i64)shard * chains + chain) * ${tries + 1} + i];
        if (i == 0) {
            if (first == 0) {
                s[0] += likelihood + weight_of(move, 0.0, m, first_prior);
                s[9] = likelihood;
            }
            continue;
        }
        const f64 point = point_of(lower, upper, seed, number, step, first + i);
        s[3] = (f64)(first + i);
        if (likelihood + weight_of(move, point, m, first_prior) > s[0]) {
            const place_t place = place_of(move, point, m);
            s[4] = 1.0;
            s[5] = place.a;
            s[6] = place.b;
            s[7] = place.c;
            s[8] = place.factor;
            s[9] = likelihood;
        } else if (point < 0.0) {
            lower = point;
        } else {
            upper = point;
        }
    }
    s[1] = lower;
    s[2] = upper;
    if (first + ${tries} >= ${TRIES} && s[4] == 0.0)
        s[4] = 2.0;
}

// eta = A eta + B u + C v
KERNEL LAUNCH_BOUNDS(${block}, 1) move_rows(GLOBAL f32* RESTRICT eta, const GLOBAL f32* RESTRICT lines, const GLOBAL f64* RESTRICT slice, i64 rows,
    i32 chains, i32 move)
{
    for (i32 chain = 0; chain < chains; ++chain) {
        const f32 a = (f32)slice[${SLICE} * chain + 5];
        const f32 b = (f32)slice[${SLICE} * chain + 6];
        const f32 c = (f32)slice[${SLICE} * chain + 7];
        const GLOBAL f32* u = lines + (move == 0 ? chain : 2 * chains) * rows;
        const GLOBAL f32* v = lines + (move == 0 ? chains + chain : 2 * chains + 1) * rows;
        for (i64 i = GLOBAL_ID; i < rows; i += GLOBAL_SIZE)
            eta[chain * rows + i] = a * eta[chain * rows + i] + b * u[i] + c * v[i];
    }
}

// The same for beta and what moves with it. whole[3] = log-likelihood (over its stand-in for "ellipse"), whole[4 or 5] = tries.
KERNEL LAUNCH_BOUNDS(${block}, 1) move_coefficients(GLOBAL f64* RESTRICT beta, const GLOBAL f64* RESTRICT middle, const GLOBAL f64* RESTRICT along,
    const GLOBAL f64* RESTRICT slice, GLOBAL f64* RESTRICT whole, GLOBAL f64* RESTRICT lam, GLOBAL f32* RESTRICT narrow, i32 q, i32 stride,
    i32 first_column, i32 column, i32 move, f64 inverse_width, u64 seed, u32 stream, u32 step)
{
    const i32 chain = GROUP_ID;
    const GLOBAL f64* s = slice + ${SLICE} * chain;
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
            const philox_words_t words = philox_words(seed, stream + ((u32)chain << 8), step, 1000, 0u);
            whole[${WHOLE} * chain] = tau;
            whole[${WHOLE} * chain + 1] = -log(uniform_f64_wide(words.w0, words.w1)) / (inverse_width + tau);
        }
    }
}

// What a Gaussian that stands in for the likelihood is made of: the sums over chains, and over calls, of eta, of the slope
// m = phi / Phi of log Phi there, and of its curvature m (m + eta)
KERNEL LAUNCH_BOUNDS(${block}, 1) gather_reference(const GLOBAL f32* RESTRICT eta, GLOBAL f32* RESTRICT sums, i64 rows, i32 chains)
{
    for (i64 i = GLOBAL_ID; i < rows; i += GLOBAL_SIZE) {
        f32 points = sums[i];
        f32 slopes = sums[rows + i];
        f32 curvatures = sums[2 * rows + i];
        for (i32 chain = 0; chain < chains; ++chain) {
            const f32 at = eta[chain * rows + i];
            const f32 m = normal_hazard(at);
            points += at;
            slopes += m;
            curvatures += MAX(m * (m + at), 0.0f);
        }
        sums[i] = points;
        sums[rows + i] = slopes;
        sums[2 * rows + i] = curvatures;
    }
}

// The stand-in for a row is the quadratic a eta - w eta^2 / 2 whose slope and curvature are the mean ones at the mean point
KERNEL LAUNCH_BOUNDS(${block}, 1) make_reference(const GLOBAL f32* RESTRICT sums, GLOBAL f32* RESTRICT slope, GLOBAL f32* RESTRICT weight,
    i64 first_row, i64 row_count, i64 rows, f32 share)
{
    for (i64 i = GLOBAL_ID; i < rows; i += GLOBAL_SIZE) {
        const f32 w = first_row + i < row_count ? share * sums[2 * rows + i] : 0.0f;
        weight[i] = w;
        slope[i] = first_row + i < row_count ? share * sums[rows + i] + w * share * sums[i] : 0.0f;
    }
}
