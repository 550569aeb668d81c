// beta ~ N(Q^-1 X'u, Q^-1), Q = X' Omega X + D^-1, by conjugate gradients:
//
//     Q beta = b,   b = X'(u + Omega^1/2 d) + D^-1/2 e,   d, e ~ N(0, I)
//
// A. Nishimura, M. A. Suchard, "Prior-preconditioned conjugate gradient method for accelerated Gibbs sampling in large n, large
// p Bayesian sparse regression", JASA 118 (2023), but with the whole diagonal of Q as the preconditioner: s = Q_jj^-1/2, beta =
// s x, and r the residual of (s Q s) x = s b. Because Q - D^-1 has no eigenvalue below 0, beta is within |D^1/2 r / s|
// posterior standard deviations (given omega and D) of the exact draw in every direction. A chain for which this is `tolerance`
// or less stays where it is while others go on.
//
// Launch: a group of ${block} for every chain and tile of `tile` columns. All vectors: (chains, q) f64; residual_squares and
// errors, the parts of |r|^2 and |D^1/2 r / s|^2: (2, chains, tiles), of an iteration of even and odd number; curvature:
// (chains, tiles); group_first, group_count: of the up to four chains whose numbers lie side by side in the pass (see
// sparse_rows.mako).
${philox.double_functions()}
${variates.scale_functions()}
<%def name="tile_sum(name, array, first)">
    f64 ${name} = 0.0;
    for (i32 t = 0; t < tiles; ++t)
        ${name} += ${array}[${first} + t];
</%def>
<%def name="two_sums(place)">
    ${reduce.block_sums("part", "f64", block, ["mine", "apart"])}
    if (LOCAL_ID == 0) {
        residual_squares[${place}] = part[0];
        errors[${place}] = part[${block}];
    }
</%def>
<%def name="here()">
    const i32 chain = GROUP_ID / tiles;
    const i32 own_tile = GROUP_ID % tiles;
    const i64 base = (i64)chain * q;
    const i32 begin = own_tile * tile;
    const i32 end = MIN(begin + tile, q);
</%def>

// s from the diagonal of X' Omega X; r = s b, b's part X'(...) the sum of the shards' parts; x = 0
KERNEL LAUNCH_BOUNDS(${block}, 1) begin_solution(const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains, i32 width,
    const GLOBAL f64* RESTRICT diagonals, const GLOBAL f64* RESTRICT prior, GLOBAL f64* RESTRICT scale,
    GLOBAL f64* RESTRICT residual, GLOBAL f64* RESTRICT solution, GLOBAL f64* RESTRICT residual_squares,
    GLOBAL f64* RESTRICT errors, i32 q, i32 tile, i32 tiles, u64 seed, u32 stream, u32 step) {
    LOCAL_ARRAY(f64, part, ${2 * block});
${here()}
    f64 mine = 0.0, apart = 0.0;
    for (i32 j = begin + LOCAL_ID; j < end; j += ${block}) {
        f64 sum = sqrt(prior[base + j]) * normal_of(philox_words(seed, stream + ((u32)chain << 8), step, j, 0u));
        f64 own = prior[base + j];
        for (i32 shard = 0; shard < shard_count; ++shard) {
            sum += shards[((i64)shard * chains + chain) * width + j];
            own += diagonals[((i64)shard * chains + chain) * width + j];
        }
        const f64 s = 1.0 / sqrt(own);
        const f64 r = s * sum;
        scale[base + j] = s;
        residual[base + j] = r;
        solution[base + j] = 0.0;
        mine += r * r;
        apart += sum * sum / prior[base + j];
    }
${two_sums("chain * tiles + own_tile")}
}

// p = r + p |r|^2 / |r before|^2, and the coefficients factor s p and offset of its pass
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_direction(const GLOBAL f64* RESTRICT residual, GLOBAL f64* RESTRICT direction,
    const GLOBAL f64* RESTRICT scale, const GLOBAL f64* RESTRICT factor, const GLOBAL f64* RESTRICT centre,
    const GLOBAL f64* RESTRICT residual_squares, const GLOBAL f64* RESTRICT errors, const GLOBAL i32* RESTRICT group_first,
    const GLOBAL i32* RESTRICT group_count, GLOBAL f64* RESTRICT coefficients, GLOBAL f64* RESTRICT offsets, i32 chains, i32 q,
    i32 tile, i32 tiles, i32 number, f64 tolerance) {
    LOCAL_ARRAY(f64, part, ${block});
${here()}
    const i32 now = ((number % 2) * chains + chain) * tiles;
    const i32 before = (((number + 1) % 2) * chains + chain) * tiles;
${tile_sum("squares", "residual_squares", "now")}
    f64 share = 0.0;
    if (number > 0) {
${tile_sum("old", "residual_squares", "before")}
        share = old > 0.0 ? squares / old : 0.0;
    }
${tile_sum("error", "errors", "now")}
    const i32 active = error > tolerance * tolerance;
    const i32 first = group_first[chain];
    const i32 count = group_count[chain];
    GLOBAL f64* out = coefficients + (i64)first * q + (chain - first);
    f64 mine = 0.0;
    for (i32 j = begin + LOCAL_ID; j < end; j += ${block}) {
        f64 p = number > 0 ? direction[base + j] : 0.0;
        if (active)
            p = residual[base + j] + share * p;
        direction[base + j] = p;
        const f64 b = scale[base + j] * p;
        out[(i64)j * count] = factor[j] * b;
        mine -= centre[j] * b;
    }
    ${reduce.block_sums("part", "f64", block, ["mine"])}
    if (LOCAL_ID == 0)
        offsets[own_tile * chains + chain] = part[0];
}

// h = (s X' Omega X s + s D^-1 s) p, and p'h
KERNEL LAUNCH_BOUNDS(${block}, 1) apply_matrix(const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains, i32 width,
    const GLOBAL f64* RESTRICT prior, const GLOBAL f64* RESTRICT scale, const GLOBAL f64* RESTRICT direction,
    GLOBAL f64* RESTRICT product, GLOBAL f64* RESTRICT curvature, i32 q, i32 tile, i32 tiles) {
    LOCAL_ARRAY(f64, part, ${block});
${here()}
    f64 mine = 0.0;
    for (i32 j = begin + LOCAL_ID; j < end; j += ${block}) {
        f64 sum = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            sum += shards[((i64)shard * chains + chain) * width + j];
        const f64 s = scale[base + j];
        const f64 p = direction[base + j];
        const f64 h = s * (sum + prior[base + j] * s * p);
        product[base + j] = h;
        mine += p * h;
    }
    ${reduce.block_sums("part", "f64", block, ["mine"])}
    if (LOCAL_ID == 0)
        curvature[chain * tiles + own_tile] = part[0];
}

// x += a p and r -= a h, a = |r|^2 / p'h
KERNEL LAUNCH_BOUNDS(${block}, 1) update_solution(GLOBAL f64* RESTRICT solution, GLOBAL f64* RESTRICT residual,
    const GLOBAL f64* RESTRICT direction, const GLOBAL f64* RESTRICT product, const GLOBAL f64* RESTRICT curvature,
    const GLOBAL f64* RESTRICT prior, const GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT residual_squares,
    GLOBAL f64* RESTRICT errors, i32 chains, i32 q, i32 tile, i32 tiles, i32 number, f64 tolerance) {
    LOCAL_ARRAY(f64, part, ${2 * block});
${here()}
    const i32 now = ((number % 2) * chains + chain) * tiles;
    const i32 after = (((number + 1) % 2) * chains + chain) * tiles;
    const i32 own = chain * tiles;
${tile_sum("squares", "residual_squares", "now")}
${tile_sum("bent", "curvature", "own")}
${tile_sum("error", "errors", "now")}
    const f64 a = error > tolerance * tolerance && bent > 0.0 ? squares / bent : 0.0;
    f64 mine = 0.0, apart = 0.0;
    for (i32 j = begin + LOCAL_ID; j < end; j += ${block}) {
        const f64 r = residual[base + j] - a * product[base + j];
        solution[base + j] += a * direction[base + j];
        residual[base + j] = r;
        mine += r * r;
        const f64 raw = r / scale[base + j];
        apart += raw * raw / prior[base + j];
    }
${two_sums("after + own_tile")}
}

// beta = s x, also as f32 rows of `stride`. A chain that is still further from its draw keeps its beta, and failed[0] counts it.
KERNEL LAUNCH_BOUNDS(${block}, 1) finish_solution(const GLOBAL f64* RESTRICT solution, const GLOBAL f64* RESTRICT scale,
    const GLOBAL f64* RESTRICT errors, GLOBAL f64* RESTRICT beta, GLOBAL f32* RESTRICT beta_f32, GLOBAL i32* RESTRICT failed,
    i32 chains, i32 q, i32 stride, i32 tile, i32 tiles, i32 number, i32 counts, f64 tolerance) {
${here()}
    const i32 now = ((number % 2) * chains + chain) * tiles;
${tile_sum("error", "errors", "now")}
    const i32 good = error <= tolerance * tolerance;
    for (i32 j = begin + LOCAL_ID; j < end; j += ${block}) {
        const f64 value = good ? scale[base + j] * solution[base + j] : beta[base + j];
        beta[base + j] = value;
        beta_f32[(i64)chain * stride + j] = (f32)value;
    }
    if (!good && counts && own_tile == 0 && LOCAL_ID == 0)
        ATOMIC_ADD_I32(failed, 1);
}
