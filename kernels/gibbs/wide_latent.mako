// The latent normals z of a probit regression with more columns than rows; see wide.mako.
//
// But for the kernels gibbs and px beside fewer columns z is moved with beta integrated out: z ~ N(0, M) where all z_i > 0, by an
// exact trajectory of Hamiltonian dynamics of mass M^-1, z(t) = z cos t + v sin t with v ~ N(0, M), a quarter of a period long,
// reflected wherever a z_i becomes 0: A. Pakman, L. Paninski, "Exact Hamiltonian Monte Carlo for truncated multivariate
// Gaussians", JCGS 23 (2014). Margins of any length change in one trajectory, which steps of the size of the normals' standard
// deviation would take the square of that length for.
//
// Launch: a group of ${block} a chain, or any number of groups where GLOBAL_ID is used. latent, solution, margins, velocity:
// (chains, n); matrix: (chains, n, n), lower triangle; covariance: M, both triangles; all f64.
${philox.double_functions()}
${variates.latent_functions()}
${variates.scale_functions()}

// z given beta's margins, also as the right-hand side of L x = z
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_latent(const GLOBAL f64* RESTRICT margins, GLOBAL f64* RESTRICT latent,
    GLOBAL f64* RESTRICT solution, i64 row_count, i32 chains, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    for (i64 i = GLOBAL_ID; i < row_count * chains; i += GLOBAL_SIZE) {
        const i64 chain = i / row_count;
        const f64 z = (f64)draw_positive_normal((f32)margins[i], seed, stream + ((u32)chain << 8), step, i % row_count, 0u);
        latent[i] = z;
        solution[i] = z;
    }
}

// matrix += I
KERNEL LAUNCH_BOUNDS(${block}, 1) add_identity(GLOBAL f64* RESTRICT matrix, i64 row_count) {
    for (i64 i = LOCAL_ID; i < row_count; i += ${block})
        matrix[((i64)GROUP_ID * row_count + i) * row_count + i] += 1.0;
}

// covariance = product + I, both triangles
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_covariance(const GLOBAL f64* RESTRICT product, GLOBAL f64* RESTRICT covariance,
    i64 row_count, i32 chains) {
    for (i64 i = GLOBAL_ID; i < row_count * row_count * chains; i += GLOBAL_SIZE) {
        const i64 row = i / row_count % row_count;
        const i64 column = i % row_count;
        const GLOBAL f64* own = product + i / (row_count * row_count) * row_count * row_count;
        const f64 value = row >= column ? own[row * row_count + column] : own[column * row_count + row];
        covariance[i] = row == column ? value + 1.0 : value;
    }
}

// z after a trajectory; v = X u + d, X u in margins. z_i becomes 0 first where -v_i / z_i, the cotangent of the time until
// then, is largest. There v -= 2 v_i / M_ii M e_i. A trajectory with more reflections than the limit, and so its reverse, is
// not made: z in `solution` stays.
KERNEL LAUNCH_BOUNDS(${block}, 1) reflect_latent(GLOBAL f64* latent, GLOBAL f64* velocity, const GLOBAL f64* RESTRICT solution,
    const GLOBAL f64* RESTRICT covariance, const GLOBAL f64* RESTRICT margins, i64 row_count, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration) {
    LOCAL_ARRAY(f64, least, ${block});
    LOCAL_ARRAY(i64, which, ${block});
    const i64 chain = GROUP_ID;
    GLOBAL f64* z = latent + chain * row_count;
    GLOBAL f64* v = velocity + chain * row_count;
    const u32 step = iteration[0];
    const i64 most = 100 + 20 * row_count;
    for (i64 i = LOCAL_ID; i < row_count; i += ${block})
        v[i] = margins[chain * row_count + i] + normal_of(philox_words(seed, stream + ((u32)chain << 8), step, i, 0u));
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
        const GLOBAL f64* column = covariance + (chain * row_count + hit) * row_count;
        const f64 factor = reflects ? 2.0 * (v[hit] * cosine - z[hit] * sine) / column[hit] : 0.0;
        BARRIER();
        for (i64 i = LOCAL_ID; i < row_count; i += ${block}) {
            const f64 moved = z[i] * cosine + v[i] * sine;
            v[i] = v[i] * cosine - z[i] * sine - factor * column[i];
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
