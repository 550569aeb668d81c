<%namespace name="philox" file="/common/philox.mako"/>
<%namespace name="variates" file="/gibbs/variates.mako"/>
<%namespace name="moves" file="/gibbs/moves.mako"/>
<%
    WHOLE = 8
%>
// All slices of an iteration in one launch, for devices whose work-items are best one to a core: an ellipse, a rescaling, and
// a stretch of each of ${stretches} columns. The draws are those of slice.mako, whose buffers these are, and so are the sums: strip by strip
// in f64, then shard by shard (bounds: the strips of each), so that a chain is the same bit for bit.
//
// Launch: a group of one work-item a chain. width: brackets of log c for a rescaling and a stretch.
${philox.functions()}
${philox.double_functions()}
${variates.latent_functions()}
${moves.functions(1)}
${moves.strip_functions()}

KERNEL LAUNCH_BOUNDS(1, 1) slice_chains(GLOBAL f64* RESTRICT slice, GLOBAL f64* RESTRICT beta, GLOBAL f64* RESTRICT whole, GLOBAL f64* RESTRICT lam,
    GLOBAL f32* RESTRICT narrow, const GLOBAL f64* RESTRICT middle, const GLOBAL f64* RESTRICT along, GLOBAL f32* RESTRICT eta,
    const GLOBAL f32* RESTRICT lines, const GLOBAL f32* RESTRICT slope, const GLOBAL f32* RESTRICT weight, const GLOBAL f64* RESTRICT shift,
    const GLOBAL i32* RESTRICT bounds, i64 row_count, i64 rows, i32 strip_rows, i32 chains, i32 q, i32 stride, i32 first_column,
    f64 rescale_width, f64 stretch_width, f64 first_prior, f64 inverse_width, u64 seed, u32 stream_slice, u32 stream_stretch, u32 step,
    ${", ".join(f"i32 column{i}" for i in range(stretches))})
{
    const i32 chain = GROUP_ID;
    const i64 row = (i64)chain * q;
    const i32 columns[] = {0, 0, ${", ".join(f"column{i}" for i in range(stretches))}};
    GLOBAL f64* s = slice + SLICE_NUMBERS * chain;
    GLOBAL f32* here = eta + chain * rows;
    for (i32 turn = 0; turn < ${stretches + 2}; ++turn) {
        const i32 move = MIN(turn, 2);
        const i32 column = columns[turn];
        const u32 stream = ((u32)chain << 8) + (turn < 2 ? stream_slice + (u32)turn : stream_stretch + (u32)turn - 2u);
        const GLOBAL f32* u = lines + (move == 0 ? chain : 2 * chains) * rows;
        const GLOBAL f32* v = lines + (move == 0 ? chains + chain : 2 * chains + 1 + MAX(turn - 2, 0)) * rows;
        const move_t m = move_of(move, beta, lam, whole[${WHOLE} * chain], row, first_column, column, shift[column], inverse_width);
        begin_slice(s, move, move == 1 ? rescale_width : stretch_width, seed, stream, step);
        if (move == 2)
            set_level(s, move, 0.0, m, first_prior);
        for (i32 i = move == 2 ? 1 : 0; i <= MOST_TRIES && s[4] == 0.0; ++i) {
            const f64 point = i > 0 ? point_of(s[1], s[2], seed, stream, step, i) : 0.0;
            const place_t place = place_of(move, point, m);
            f64 likelihood = 0.0;
            for (i32 shard = 0; shard < ${shards}; ++shard) {
                f64 sum = 0.0;
                for (i32 strip = bounds[shard]; strip < bounds[shard + 1]; ++strip) {
                    const i64 begin = (i64)strip * strip_rows;
                    sum += weigh_strip(here, u, v, slope, weight, (f32)place.a, (f32)place.b, (f32)place.c, begin,
                        MIN(begin + strip_rows, row_count), move);
                }
                likelihood += sum;
            }
            if (i == 0)
                set_level(s, move, likelihood, m, first_prior);
            else
                judge_try(s, move, i, point, likelihood, m, first_prior);
        }
        const f32 a = (f32)s[5];
        const f32 b = (f32)s[6];
        const f32 c = (f32)s[7];
        for (i64 i = 0; i < rows; ++i)
            here[i] = a * here[i] + b * u[i] + c * v[i];
        move_coefficients_of(chain, beta, middle, along, s, whole, lam, narrow, q, stride, first_column, column, move, inverse_width, seed,
            stream, step);
    }
}
