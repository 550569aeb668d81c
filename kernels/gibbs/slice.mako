<%namespace name="philox" file="/common/philox.mako"/>
<%namespace name="reduce" file="/common/reduce.mako"/>
<%namespace name="variates" file="/gibbs/variates.mako"/>
<%
    TRIES = 40
    WHOLE = 8
    SLICE = 16   # numbers a chain keeps of its slice: level, lower, upper, tried, done, then A, B, C, D of the point chosen
%>
// Slice sampling along a curve through the present point, on stored vectors x . beta, without a pass over the design.
//
// "ellipse" (Murray, Adams, MacKay 2010, about a Gaussian N(M, S^-1) that stands in for the likelihood, as in Nishihara, Murray,
// Adams 2014): eta = M + (eta - M) cos t + N sin t, N ~ N(0, S^-1); the target is the likelihood over its stand-in,
//     f = sum_i log Phi(eta_i) - a_i eta_i + w_i eta_i^2 / 2.
// "rescale" moves (beta, tau) to (c beta, c tau), the intercept apart: f = sum_i log Phi(b_0 + c (eta_i - b_0)) + log c
// - log(1 + (c tau / A)^2), with xi integrated out; log c in a bracket of a fixed width about 0.
// "stretch" moves one (beta_j, lambda_j) to (c beta_j, c lambda_j): f = sum_i log Phi(eta_i + (c - 1) beta_j x_ij) + log c
// - log(1 + (c lambda_j)^2). It carries a coefficient whose likelihood is nearly flat through the decades of its tail.
// The number of the move, `rescale`, is 0, 1 and 2; `first_column` is 1 if there is an intercept, and j for "stretch".
// A bracket shrinks towards the present point at every try that fails, so the tries of a slice do not depend on f: ${tries} of them
// are weighed in one pass over the rows. After ${TRIES} the present point is kept; the bracket is below rounding by then.
${philox.functions()}
${philox.double_functions()}
${variates.latent_functions()}

// A try: eta -> A eta + B M + C N + D. Places: tries from number `first` on, chains x ${tries + 1} x 4; the first is the present.
KERNEL LAUNCH_BOUNDS(1, 1) propose_points(GLOBAL f64* RESTRICT slice, GLOBAL f32* RESTRICT places, const GLOBAL f64* RESTRICT beta,
    const GLOBAL f64* RESTRICT whole, i32 q, i32 first_column, i32 first, i32 rescale, f64 width, u64 seed, u32 stream, u32 step)
{
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    GLOBAL f64* s = slice + ${SLICE} * chain;
    GLOBAL f32* out = places + (i64)chain * ${4 * (tries + 1)};
    const f64 turn = 6.283185307179586;
    philox_words_t words;
    if (first == 0) {
        words = philox_words(seed, number, step, 0, 0u);
        const f64 u = uniform_f64_wide(words.w2, words.w3);
        const f64 span = rescale ? width : turn;
        s[0] = log(uniform_f64_wide(words.w0, words.w1));
        s[1] = -span * u;
        s[2] = span - span * u;
        s[3] = 0.0;
        s[4] = 0.0;
        s[5] = 1.0;
        s[6] = 0.0;
        s[7] = 0.0;
        s[8] = 0.0;
        s[9] = 0.0;
        s[10] = 1.0;
    }
    f64 lower = s[1];
    f64 upper = s[2];
    const f64 origin = rescale == 2 ? beta[(i64)chain * q + first_column] : (first_column ? beta[(i64)chain * q] : 0.0);
    for (i32 i = 0; i <= ${tries}; ++i) {
        f64 point = 0.0;
        if (i > 0) {
            words = philox_words(seed, number, step, first + i, 0u);
            point = lower + uniform_f64_wide(words.w0, words.w1) * (upper - lower);
            if (point < 0.0)
                lower = point;
            else
                upper = point;
        }
        const f64 c = rescale ? exp(point) : cos(point);
        out[4 * i] = rescale == 2 ? 1.0f : (f32)c;
        out[4 * i + 1] = rescale ? 0.0f : (f32)(1.0 - c);
        out[4 * i + 2] = rescale == 2 ? (f32)(origin * (c - 1.0)) : (rescale ? 0.0f : (f32)sin(point));
        out[4 * i + 3] = rescale == 1 ? (f32)(origin * (1.0 - c)) : 0.0f;
    }
}

// partial[strip][chain][try] = the part of f of the strip's rows; nothing is done for chains that have chosen
KERNEL LAUNCH_BOUNDS(${block}, 1) weigh_points(const GLOBAL f32* RESTRICT eta, const GLOBAL f32* RESTRICT lines, const GLOBAL f32* RESTRICT slope,
    const GLOBAL f32* RESTRICT weight, const GLOBAL f32* RESTRICT places, const GLOBAL f64* RESTRICT slice, GLOBAL f64* RESTRICT partial,
    i64 first_row, i64 row_count, i64 rows, i32 strips, i32 strip_rows, i32 chains, i32 rescale)
{
% if block > 1:
    LOCAL_ARRAY(f64, part, ${block});
% endif
    for (i32 task = GROUP_ID; task < strips * chains; task += GROUP_COUNT) {
        const i32 chain = task % chains;
        const i32 strip = task / chains;
        f64 ${", ".join(f"f{i} = 0.0" for i in range(tries + 1))};
        if (slice[${SLICE} * chain + 4] == 0.0) {
            const GLOBAL f32* place = places + (i64)chain * ${4 * (tries + 1)};
            const i64 begin = (i64)strip * strip_rows;
            const i64 end = MIN(begin + strip_rows, row_count - first_row);
            for (i64 i = begin + LOCAL_ID; i < end; i += ${block}) {
                const f32 now = eta[chain * rows + i];
                if (rescale == 1) {
% for i in range(tries + 1):
                    f${i} += (f64)log_normal_cdf(place[${4 * i}] * now + place[${4 * i + 3}]);
% endfor
                } else if (rescale == 2) {
                    const f32 x = lines[i];
% for i in range(tries + 1):
                    f${i} += (f64)log_normal_cdf(now + place[${4 * i + 2}] * x);
% endfor
                } else {
                    const f32 middle = lines[chain * rows + i];
                    const f32 along = lines[(chains + chain) * rows + i];
                    const f32 a = slope[i];
                    const f32 w = 0.5f * weight[i];
% for i in range(tries + 1):
                    {
                        const f32 at = place[${4 * i}] * now + place[${4 * i + 1}] * middle + place[${4 * i + 2}] * along;
                        f${i} += (f64)(log_normal_cdf(at) - (a - w * at) * at);
                    }
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
    const GLOBAL f64* RESTRICT beta, GLOBAL f64* RESTRICT whole, const GLOBAL f64* RESTRICT lam, i32 q, i32 first_column, i32 first,
    i32 rescale, f64 inverse_width, u64 seed, u32 stream, u32 step)
{
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    GLOBAL f64* s = slice + ${SLICE} * chain;
    if (s[4] != 0.0)
        return;
    const f64 tau = whole[${WHOLE} * chain];
    const f64 origin = rescale == 2 ? beta[(i64)chain * q + first_column] : (first_column ? beta[(i64)chain * q] : 0.0);
    const f64 own = rescale == 2 ? 1.0 / lam[(i64)chain * q + first_column] : inverse_width / tau;
    f64 lower = s[1];
    f64 upper = s[2];
    for (i32 i = 0; i <= ${tries} && s[4] == 0.0; ++i) {
        f64 f = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            f += shards[((i64)shard * chains + chain) * ${tries + 1} + i];
        f64 point = 0.0;
        if (i > 0) {
            const philox_words_t words = philox_words(seed, number, step, first + i, 0u);
            point = lower + uniform_f64_wide(words.w0, words.w1) * (upper - lower);
        }
        const f64 likelihood = f;
        if (rescale)
            f += point - log(1.0 + own * exp(2.0 * point));
        if (i == 0) {
            if (first == 0) {
                s[0] += f;
                s[9] = likelihood;
            }
            continue;
        }
        s[3] = (f64)(first + i);
        if (f > s[0]) {
            const f64 c = rescale ? exp(point) : cos(point);
            s[4] = 1.0;
            s[5] = rescale == 2 ? 1.0 : c;
            s[6] = rescale ? 0.0 : 1.0 - c;
            s[7] = rescale == 2 ? origin * (c - 1.0) : (rescale ? 0.0 : sin(point));
            s[8] = rescale == 1 ? origin * (1.0 - c) : 0.0;
            s[9] = likelihood;
            s[10] = c;
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

// eta = A eta + B M + C N + D
KERNEL LAUNCH_BOUNDS(${block}, 1) move_rows(GLOBAL f32* RESTRICT eta, const GLOBAL f32* RESTRICT lines, const GLOBAL f64* RESTRICT slice, i64 rows,
    i32 chains, i32 rescale)
{
    for (i32 chain = 0; chain < chains; ++chain) {
        const f32 a = (f32)slice[${SLICE} * chain + 5];
        const f32 b = (f32)slice[${SLICE} * chain + 6];
        const f32 c = (f32)slice[${SLICE} * chain + 7];
        const f32 d = (f32)slice[${SLICE} * chain + 8];
        for (i64 i = GLOBAL_ID; i < rows; i += GLOBAL_SIZE) {
            f32 value = a * eta[chain * rows + i] + d;
            if (rescale == 2)
                value += c * lines[i];
            else if (!rescale)
                value += b * lines[chain * rows + i] + c * lines[(chains + chain) * rows + i];
            eta[chain * rows + i] = value;
        }
    }
}

// The same for beta; for "rescale" also tau, and xi anew. whole[3] = log-likelihood, whole[4 or 5] = tries.
KERNEL LAUNCH_BOUNDS(${block}, 1) move_coefficients(GLOBAL f64* RESTRICT beta, const GLOBAL f64* RESTRICT middle, const GLOBAL f64* RESTRICT along,
    const GLOBAL f64* RESTRICT slice, GLOBAL f64* RESTRICT whole, GLOBAL f64* RESTRICT lam, GLOBAL f32* RESTRICT narrow, i32 q, i32 stride,
    i32 first_column, i32 rescale, f64 inverse_width, u64 seed, u32 stream, u32 step)
{
    const i32 chain = GROUP_ID;
    const GLOBAL f64* s = slice + ${SLICE} * chain;
    if (rescale == 2) {
        if (LOCAL_ID == 0) {
            const i64 at = (i64)chain * q + first_column;
            const f64 value = beta[at] * s[10];
            const f64 precision = lam[at] / (s[10] * s[10]);
            beta[at] = value;
            narrow[(i64)chain * stride + first_column] = (f32)value;
            lam[at] = precision < 1.0e-60 ? 1.0e-60 : (precision > 1.0e60 ? 1.0e60 : precision);
            whole[${WHOLE} * chain + 3] = s[9];
        }
        return;
    }
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const i64 at = (i64)chain * q + j;
        f64 value = beta[at];
        if (!rescale)
            value = s[5] * value + s[6] * middle[at] + s[7] * along[at];
        else if (j >= first_column)
            value = s[5] * value;
        beta[at] = value;
        narrow[(i64)chain * stride + j] = (f32)value;
    }
    if (LOCAL_ID == 0) {
        whole[${WHOLE} * chain + 3] = s[9];
        whole[${WHOLE} * chain + (rescale ? 5 : 4)] = s[3];
        if (rescale) {
            f64 tau = whole[${WHOLE} * chain] / (s[5] * s[5]);
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
