<%namespace name="philox" file="/common/philox.mako"/>
<%namespace name="reduce" file="/common/reduce.mako"/>
<%namespace name="variates" file="/gibbs/variates.mako"/>
<%
    WHOLE = 8
%>
// beta given the latent normals z where there are more columns than rows, without X'X. With D the prior variances,
//
//     u ~ N(0, D),   d ~ N(0, I),   M = X D X' + I = L L',   M w = g z - X u - d,   beta = u + D X' w
//
// has the distribution N(S^-1 X'g z, S^-1), S = X'X + D^-1: A. Bhattacharya, A. Chakraborty, B. K. Mallick, "Fast sampling with
// Gaussian scale mixture priors in high-dimensional regression", Biometrika 103 (2016). g = 1, or that of the parameter expansion of
// conditionals.mako, whose rate is z' M^-1 z / 2.
//
// The kernel hmc moves z beforehand with beta integrated out: z ~ N(0, M) where all z_i > 0, by an exact trajectory of Hamiltonian dynamics
// of mass M^-1, z(t) = z cos t + v sin t with v ~ N(0, M), a quarter of a period long, reflected wherever a z_i becomes 0:
// A. Pakman, L. Paninski, "Exact Hamiltonian Monte Carlo for truncated multivariate Gaussians", JCGS 23 (2014). Margins of any length
// change in one trajectory, which steps of the size of the normals' standard deviation would take the square of that length for.
//
// Launch: a group of ${block} a chain, but for spread_* (any number of groups). variance: (chains, stride), zeros from q on; latent,
// solution: (chains, n) f64; margins, weights: (chains, pitch) f32, zeros from n on; matrix: (chains, n, n), lower triangle;
// covariance: M, both triangles.
${philox.functions()}
${philox.double_functions()}
${variates.latent_functions()}
${variates.scale_functions()}

// z given beta's margins, also as the right-hand side of L x = z
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_latent(const GLOBAL f32* RESTRICT margins, GLOBAL f64* RESTRICT latent, GLOBAL f64* RESTRICT solution,
    i64 pitch, i64 row_count, i32 chains, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration)
{
    const u32 step = iteration[0];
    for (i64 i = GLOBAL_ID; i < row_count * chains; i += GLOBAL_SIZE) {
        const i64 chain = i / row_count;
        const i64 row = i % row_count;
        const f64 z = (f64)draw_positive_normal(margins[chain * pitch + row], seed, stream + ((u32)chain << 8), step, row, 0u);
        latent[i] = z;
        solution[i] = z;
    }
}

// u as f32 rows of `stride`, and the prior variances; scale holds their square roots
KERNEL LAUNCH_BOUNDS(${block}, 1) draw_prior(const GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT variance, GLOBAL f64* RESTRICT prior_draw,
    GLOBAL f32* RESTRICT prior_narrow, i32 q, i32 stride, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration)
{
    const u32 step = iteration[0];
    const i32 chain = GROUP_ID;
    for (i32 j = LOCAL_ID; j < stride; j += ${block}) {
        f64 s = 0.0;
        f64 u = 0.0;
        if (j < q) {
            s = scale[(i64)chain * q + j];
            u = s * normal_of(philox_words(seed, stream + ((u32)chain << 8), step, j, 0u));
            prior_draw[(i64)chain * q + j] = u;
        }
        variance[(i64)chain * stride + j] = s * s;
        prior_narrow[(i64)chain * stride + j] = (f32)u;
    }
}

// matrix += I
KERNEL LAUNCH_BOUNDS(${block}, 1) add_identity(GLOBAL f64* RESTRICT matrix, i64 row_count)
{
    for (i64 i = LOCAL_ID; i < row_count; i += ${block})
        matrix[((i64)GROUP_ID * row_count + i) * row_count + i] += 1.0;
}

// covariance = matrix + I, both triangles, and matrix += I
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_covariance(GLOBAL f64* RESTRICT matrix, GLOBAL f64* RESTRICT covariance, i64 row_count, i32 chains)
{
    for (i64 i = GLOBAL_ID; i < row_count * row_count * chains; i += GLOBAL_SIZE) {
        const i64 row = i / row_count % row_count;
        const i64 column = i % row_count;
        GLOBAL f64* own = matrix + i / (row_count * row_count) * row_count * row_count;
        f64 value = row >= column ? own[row * row_count + column] : own[column * row_count + row];
        if (row == column) {
            value += 1.0;
            own[row * row_count + column] = value;
        }
        covariance[i] = value;
    }
}

// z after a trajectory; v = X u + d, X u in margins. z_i becomes 0 first where -v_i / z_i, the cotangent of the time until then, is largest.
// There v -= 2 v_i / M_ii M e_i. A trajectory with more reflections than the limit, and so its reverse, is not made: z in `solution` stays.
KERNEL LAUNCH_BOUNDS(${block}, 1) reflect_latent(GLOBAL f64* latent, GLOBAL f64* velocity, const GLOBAL f64* RESTRICT solution,
    const GLOBAL f64* RESTRICT covariance, const GLOBAL f32* RESTRICT margins, i64 pitch, i64 row_count, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration)
{
    LOCAL_ARRAY(f64, least, ${block});
    LOCAL_ARRAY(i64, which, ${block});
    const i64 chain = GROUP_ID;
    GLOBAL f64* z = latent + chain * row_count;
    GLOBAL f64* v = velocity + chain * row_count;
    const u32 step = iteration[0];
    const i64 most = 100 + 20 * row_count;
    for (i64 i = LOCAL_ID; i < row_count; i += ${block})
        v[i] = (f64)margins[chain * pitch + i] + normal_of(philox_words(seed, stream + ((u32)chain << 8), step, i, 0u));
    f64 left = 1.5707963267948966;
    for (i64 count = 0; left > 0.0; ++count) {    // the same for all of a group
        f64 smallest = 1.0e300;
        i64 place = 0;
        for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
            const f64 ratio = z[i] > 0.0 ? v[i] / z[i] : (v[i] < 0.0 ? -1.0e300 : 1.0e300);
            place = ratio < smallest ? i : place;
            smallest = ratio < smallest ? ratio : smallest;
        }
        least[LOCAL_ID] = smallest;
        which[LOCAL_ID] = place;
        ${reduce.block_argmin("least", "which", "f64", block)}
        const i64 hit = which[0];
        const f64 until = atan2(1.0, -least[0]);
        const i32 reflects = until < left;
        const f64 time = reflects ? until : left;
        const f64 cosine = cos(time);
        const f64 sine = sin(time);
        const f64 factor = reflects ? 2.0 * (v[hit] * cosine - z[hit] * sine) / covariance[(chain * row_count + hit) * row_count + hit] : 0.0;
        BARRIER();
        for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
            const f64 moved = z[i] * cosine + v[i] * sine;
            v[i] = v[i] * cosine - z[i] * sine - factor * covariance[(chain * row_count + hit) * row_count + i];
            z[i] = moved > 0.0 && !(reflects && i == hit) ? moved : 0.0;
        }
        left = reflects ? left - time : 0.0;
        if (count == most) {
            for (i64 i = LOCAL_ID; i < row_count; i += ${block})
                z[i] = solution[chain * row_count + i];
            left = 0.0;
        }
        BARRIER();
    }
}

// What an iteration of the kernel hmc reports: the log-likelihood, and that nothing was rejected
KERNEL LAUNCH_BOUNDS(${block}, 1) report_wide(const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains, i32 width, GLOBAL f64* RESTRICT whole)
{
    if (LOCAL_ID == 0) {
        f64 sum = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            sum += shards[((i64)shard * chains + GROUP_ID) * width + width - 8];
        whole[${WHOLE} * GROUP_ID + 3] = sum;
        whole[${WHOLE} * GROUP_ID + 4] = 1.0;
    }
}

// g, from x = L^-1 z in `solution`; then solution = g z - X u - d, X u in margins
KERNEL LAUNCH_BOUNDS(${block}, 1) prepare_wide(const GLOBAL f64* RESTRICT latent, const GLOBAL f32* RESTRICT margins, GLOBAL f64* RESTRICT solution,
    GLOBAL f64* RESTRICT whole, i64 pitch, i64 row_count, i32 expanded, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration)
{
    const u32 step = iteration[0];
    LOCAL_ARRAY(f64, part, ${block});
    LOCAL_ARRAY(f64, shared, 1);
    const i32 chain = GROUP_ID;
    const u32 number = (u32)chain << 8;
    f64 g = 1.0;
    if (expanded) {
        f64 mine = 0.0;
        for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
            const f64 x = solution[chain * row_count + i];
            mine += x * x;
        }
        part[LOCAL_ID] = mine;
        ${reduce.block_sum("part", "f64", block)}
        if (LOCAL_ID == 0) {
            f64 drawn;
            if (row_count > 1) {
                drawn = draw_gamma(0.5 * (f64)row_count, seed, stream + 1u + number, step, 0);
            } else {
                const f64 normal = normal_of(philox_words(seed, stream + 1u + number, step, 0, 0u));
                drawn = 0.5 * normal * normal;
            }
            shared[0] = sqrt(drawn / (0.5 * part[0]));
            whole[${WHOLE} * chain + 2] = shared[0];
        }
        BARRIER();
        g = shared[0];
    }
    for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
        const f64 d = normal_of(philox_words(seed, stream + 2u + number, step, i, 0u));
        solution[chain * row_count + i] = g * latent[chain * row_count + i] - (f64)margins[chain * pitch + i] - d;
    }
}

// w as f32
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_weights(const GLOBAL f64* RESTRICT solution, GLOBAL f32* RESTRICT weights, i64 pitch, i64 row_count,
    i32 chains)
{
    for (i64 i = GLOBAL_ID; i < pitch * chains; i += GLOBAL_SIZE)
        weights[i] = i % pitch < row_count ? (f32)solution[i / pitch * row_count + i % pitch] : 0.0f;
}

// beta = u + D X'w, X'w the sum of the shards' parts. A chain whose matrix could not be factorised keeps its beta.
KERNEL LAUNCH_BOUNDS(${block}, 1) finish_wide(const GLOBAL f64* RESTRICT shards, i32 shard_count, i32 chains, i32 width,
    const GLOBAL f64* RESTRICT variance, const GLOBAL f64* RESTRICT prior_draw, GLOBAL f64* RESTRICT beta, GLOBAL f32* RESTRICT narrow,
    const GLOBAL i32* RESTRICT status, i32 q, i32 stride)
{
    const i32 chain = GROUP_ID;
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const i64 at = (i64)chain * q + j;
        f64 sum = 0.0;
        for (i32 shard = 0; shard < shard_count; ++shard)
            sum += shards[((i64)shard * chains + chain) * width + j];
        const f64 value = status[chain] != 0 ? beta[at] : prior_draw[at] + variance[(i64)chain * stride + j] * sum;
        beta[at] = value;
        narrow[(i64)chain * stride + j] = (f32)value;
    }
}
