<%
    cells, low, width = 64, -12.0, 0.4375
%>
// lambda of some columns, one after the other, with beta integrated out, where there are more columns than rows; see wide.mako.
//
// With D_j = (lambda_j tau)^2 out of M, s = x_j' M^-1 x_j and q = x_j' M^-1 z, the density of u = log lambda_j is
//
//     (1 + D s)^-1/2 exp(D q^2 / (2 (1 + D s))) / (2 cosh u),   D = tau^2 exp(2 u).
//
// It is taken at the middles of ${cells} cells of u from ${low} to ${low + cells * width}; a point drawn from the cells is
// accepted or not by Metropolis and Hastings. Then products with the other columns follow the change of M, which is of rank one.
//
// products: (chains, count + 1, count + 1), lower triangle, Y M^-1 Y' of the columns and, in the last row, of z. change: that of
// the prior variances. sides: (count + 1, n). All f64; design: (rows, stride) f32.
${records["chain"].declaration()}
${philox.double_functions()}
${variates.scale_functions()}

// The columns as rows of sides
KERNEL LAUNCH_BOUNDS(${block}, 1) gather_columns(const GLOBAL f32* RESTRICT design, const GLOBAL i32* RESTRICT columns,
    GLOBAL f64* RESTRICT sides, i64 row_count, i32 stride, i32 count) {
    for (i64 i = GLOBAL_ID; i < row_count * count; i += GLOBAL_SIZE)
        sides[i] = (f64)design[i % row_count * stride + columns[i / row_count]];
}

// Each column times what its prior variance has changed by
KERNEL LAUNCH_BOUNDS(${block}, 1) scale_columns(const GLOBAL f64* RESTRICT gathered, const GLOBAL f64* RESTRICT change,
    GLOBAL f64* RESTRICT sides, i64 row_count, i32 count, i32 own_chain) {
    for (i64 i = GLOBAL_ID; i < row_count * count; i += GLOBAL_SIZE)
        sides[i] = gathered[i] * change[(i64)own_chain * count + i / row_count];
}

FUNCTION f64 log_density_of_scale(f64 u, f64 tau_squared, f64 s, f64 q) {
    const f64 variance = tau_squared * exp(2.0 * u);
    const f64 apart = u < 0.0 ? -u : u;
    const f64 more = 1.0 + variance * s;
    return 0.5 * (variance * q * q / more - log(more)) - apart - log1p(exp(-2.0 * apart));
}

// Launch: a group of ${block} a chain. scale: the square roots of the prior variances. A chain whose M has no factor stays.
KERNEL LAUNCH_BOUNDS(${block}, 1) move_scales(GLOBAL f64* RESTRICT products, const GLOBAL i32* RESTRICT columns,
    GLOBAL f64* RESTRICT change, GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT local_precision,
    const GLOBAL chain_t* RESTRICT chain_state, const GLOBAL i32* RESTRICT status, i32 count, i32 q, u64 seed, u32 stream,
    const GLOBAL u32* RESTRICT iteration) {
    LOCAL_ARRAY(f64, weight, ${cells});
    LOCAL_ARRAY(f64, shared, 1);
    LOCAL_ARRAY(f64, line, ${most + 1});
    const i64 chain = GROUP_ID;
    const i32 size = count + 1;
    const i32 used = status[chain] != 0 ? 0 : count;
    const f64 tau_squared = 1.0 / chain_state[chain].tau_precision;
    GLOBAL f64* own = products + chain * size * size;
    for (i32 k = LOCAL_ID; k < count; k += ${block})
        change[chain * count + k] = 0.0;
    BARRIER();
    for (i32 k = 0; k < used; ++k) {
        const i64 at = chain * q + columns[k];
        const f64 before = scale[at] * scale[at];
        for (i32 i = LOCAL_ID; i < size; i += ${block})
            line[i] = i < k ? own[k * size + i] : own[i * size + k];
        BARRIER();
        const f64 rest = 1.0 - before * line[k];    // 1 / (1 + D s)
        const f64 without = 1.0 / (rest > 1.0e-12 ? rest : 1.0e-12);
        const f64 s = line[k] * without;
        const f64 score = line[count] * without;
        for (i32 i = LOCAL_ID; i < ${cells}; i += ${block})
            weight[i] = log_density_of_scale(${low} + ${width} * ((f64)i + 0.5), tau_squared, s, score);
        BARRIER();
        if (LOCAL_ID == 0) {
            f64 most = weight[0];
            for (i32 i = 1; i < ${cells}; ++i)
                most = weight[i] > most ? weight[i] : most;
            f64 total = 0.0;
            for (i32 i = 0; i < ${cells}; ++i)
                total += exp(weight[i] - most);
            const philox_words_t words = philox_words(seed, stream + ((u32)chain << 8), iteration[0], k, 0u);
            const philox_words_t more = philox_words(seed, stream + ((u32)chain << 8), iteration[0], k, 1u);
            f64 left = total * uniform_f64_wide(words.w0, words.w1);
            i32 cell = 0;
            for (; cell < ${cells - 1} && left > exp(weight[cell] - most); ++cell)
                left -= exp(weight[cell] - most);
            const f64 here = 0.5 * log(before / tau_squared);
            const f64 place = (here - (${low})) / ${width};
            const f64 proposed = ${low} + ${width} * ((f64)cell + uniform_f64_wide(words.w2, words.w3));
            shared[0] = 0.0;
            if (place >= 0.0 && place < ${cells}.0) {    // else the step back is impossible
                const f64 ratio = log_density_of_scale(proposed, tau_squared, s, score)
                    - log_density_of_scale(here, tau_squared, s, score) + weight[(i32)place] - weight[cell];
                if (log(uniform_f64_wide(more.w0, more.w1)) < ratio) {
                    const f64 variance = tau_squared * exp(2.0 * proposed);
                    scale[at] = sqrt(variance);
                    local_precision[at] = exp(-2.0 * proposed);
                    change[chain * count + k] = variance - before;
                    shared[0] = (variance - before) / (1.0 + (variance - before) * line[k]);
                }
            }
        }
        BARRIER();
        const f64 factor = shared[0];
% if block == 1:
        for (i32 i = 0; i < size; ++i)
            for (i32 j = 0; j <= i; ++j)
                own[i * size + j] -= factor * line[i] * line[j];
% else:
        if (factor != 0.0)
            for (i32 i = LOCAL_ID / 32; i < size; i += ${block // 32})
                for (i32 j = LOCAL_ID % 32; j <= i; j += 32)
                    own[i * size + j] -= factor * line[i] * line[j];
% endif
        BARRIER();
    }
}
