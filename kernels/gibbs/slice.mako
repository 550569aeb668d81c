<%namespace name="philox" file="/common/philox.mako"/>
<%namespace name="reduce" file="/common/reduce.mako"/>
<%namespace name="variates" file="/gibbs/variates.mako"/>
<%namespace name="moves" file="/gibbs/moves.mako"/>
<%
    WHOLE = 8
%>
// Slices of all chains by passes over all rows; see moves.mako. ${tries} tries are weighed in a pass.
//
// lines: (2 chains + 1 + stretches, rows): the chains' X M, the chains' X N, the intercept's column (zeros if there is none), the
// stretched columns, of which turn says which. slice: (chains, SLICE_NUMBERS).
${philox.functions()}
${philox.double_functions()}
${variates.latent_functions()}
${moves.functions(block)}
% if block == 1:
${moves.strip_functions()}
% endif

// The tries from number `first` on; places: chains x ${tries + 1} x 3, the first of a chain is the present point
KERNEL LAUNCH_BOUNDS(1, 1) propose_points(GLOBAL f64* RESTRICT slice, GLOBAL f32* RESTRICT places, const GLOBAL f64* RESTRICT beta,
    const GLOBAL f64* RESTRICT whole, const GLOBAL f64* RESTRICT lam, const GLOBAL f64* RESTRICT shift, i32 q, i32 first_column, i32 column, i32 first, i32 move,
    f64 width, f64 inverse_width, u64 seed, u32 stream, u32 step)
{
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    GLOBAL f64* s = slice + SLICE_NUMBERS * chain;
    GLOBAL f32* out = places + (i64)chain * ${3 * (tries + 1)};
    if (first == 0)
        begin_slice(s, move, width, seed, number, step);
    const move_t m = move_of(move, beta, lam, whole[${WHOLE} * chain], (i64)chain * q, first_column, column, shift[column], inverse_width);
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
    i64 first_row, i64 row_count, i64 rows, i32 strips, i32 strip_rows, i32 chains, i32 move, i32 turn)
{
% if block > 1:
    LOCAL_ARRAY(f64, part, ${block});
% endif
    for (i32 task = GROUP_ID; task < strips * chains; task += GROUP_COUNT) {
        const i32 chain = task % chains;
        const i32 strip = task / chains;
        f64 ${", ".join(f"f{i} = 0.0" for i in range(tries + 1))};
        if (slice[SLICE_NUMBERS * chain + 4] == 0.0) {
            const GLOBAL f32* place = places + (i64)chain * ${3 * (tries + 1)};
            const GLOBAL f32* u = lines + (move == 0 ? chain : 2 * chains) * rows;
            const GLOBAL f32* v = lines + (move == 0 ? chains + chain : 2 * chains + 1 + turn) * rows;
            const i64 begin = (i64)strip * strip_rows;
            const i64 end = MIN(begin + strip_rows, row_count - first_row);
% if block == 1:
%   for i in range(tries + 1):
            f${i} = weigh_strip(eta + chain * rows, u, v, slope, weight, place[${3 * i}], place[${3 * i + 1}], place[${3 * i + 2}], begin, end, move);
%   endfor
% else:
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
% endif
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
    const GLOBAL f64* RESTRICT beta, const GLOBAL f64* RESTRICT whole, const GLOBAL f64* RESTRICT lam, const GLOBAL f64* RESTRICT shift, i32 q,
    i32 first_column, i32 column, i32 first, i32 move, f64 first_prior, f64 inverse_width, u64 seed, u32 stream, u32 step)
{
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    GLOBAL f64* s = slice + SLICE_NUMBERS * chain;
    const move_t m = move_of(move, beta, lam, whole[${WHOLE} * chain], (i64)chain * q, first_column, column, shift[column], inverse_width);
    for (i32 i = first == 0 ? 0 : 1; i <= ${tries} && s[4] == 0.0; ++i) {
        f64 likelihood = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            likelihood += shards[((i64)shard * chains + chain) * ${tries + 1} + i];
        if (i == 0)
            set_level(s, move, likelihood, m, first_prior);
        else
            judge_try(s, move, first + i, point_of(s[1], s[2], seed, number, step, first + i), likelihood, m, first_prior);
    }
}

// eta = A eta + B u + C v
KERNEL LAUNCH_BOUNDS(${block}, 1) move_rows(GLOBAL f32* RESTRICT eta, const GLOBAL f32* RESTRICT lines, const GLOBAL f64* RESTRICT slice, i64 rows,
    i32 chains, i32 move, i32 turn)
{
    for (i32 chain = 0; chain < chains; ++chain) {
        const f32 a = (f32)slice[SLICE_NUMBERS * chain + 5];
        const f32 b = (f32)slice[SLICE_NUMBERS * chain + 6];
        const f32 c = (f32)slice[SLICE_NUMBERS * chain + 7];
        const GLOBAL f32* u = lines + (move == 0 ? chain : 2 * chains) * rows;
        const GLOBAL f32* v = lines + (move == 0 ? chains + chain : 2 * chains + 1 + turn) * rows;
        for (i64 i = GLOBAL_ID; i < rows; i += GLOBAL_SIZE)
            eta[chain * rows + i] = a * eta[chain * rows + i] + b * u[i] + c * v[i];
    }
}

// The same for beta and what moves with it
KERNEL LAUNCH_BOUNDS(${block}, 1) move_coefficients(GLOBAL f64* RESTRICT beta, const GLOBAL f64* RESTRICT middle, const GLOBAL f64* RESTRICT along,
    const GLOBAL f64* RESTRICT slice, GLOBAL f64* RESTRICT whole, GLOBAL f64* RESTRICT lam, GLOBAL f32* RESTRICT narrow, i32 q, i32 stride,
    i32 first_column, i32 column, i32 move, f64 inverse_width, u64 seed, u32 stream, u32 step)
{
    const i32 chain = GROUP_ID;
    move_coefficients_of(chain, beta, middle, along, slice + SLICE_NUMBERS * chain, whole, lam, narrow, q, stride, first_column, column, move,
        inverse_width, seed, stream + ((u32)chain << 8), step);
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
