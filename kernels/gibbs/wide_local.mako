<%
    cells, low, width, parts = 64, -12.0, 0.4375, 8
    each, least_apart, least_effect = cells // parts, 8.0, 0.25
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
// Then two correlated columns exchange their lambda, pair by pair: which of them has the effect. With C = diag(D_k - D_j,
// D_j - D_k), S the products of the two and q those with z, the logarithm of the ratio of the densities is
//
//     (q' (I + C S)^-1 C q - log det(I + C S)) / 2.
//
// products: (chains, count + 1, count + 1), lower triangle, Y M^-1 Y' of the columns and, in the last row, of z. change: that of
// the prior variances. past: (chains, ${most_changes}, count + 1), rows of products at changes that these do not have yet. sides:
// (count + 1, n). pair_first < pair_second: (pair_count). All f64; design: (rows, stride) f32.
${records["chain"].declaration()}
${records["trial"].declaration()}
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

<%def name="take_changes()">    // products -= the changes in `past`
    BARRIER();
% if block == 1:
    for (i32 p = 0; p < changes; ++p)
        for (i32 i = 0; i < size; ++i) {
            const f64 factor = factors[p] * past[p * size + i];
            for (i32 j = 0; j <= i; ++j)
                own[i * size + j] -= factor * past[p * size + j];
        }
% else:
    for (i32 i = LOCAL_ID / 32; i < size; i += ${block // 32})
        for (i32 j = LOCAL_ID % 32; j <= i; j += 32) {
            f64 sum = own[i * size + j];
            for (i32 p = 0; p < changes; ++p)
                sum -= factors[p] * past[p * size + i] * past[p * size + j];
            own[i * size + j] = sum;
        }
% endif
    changes = 0;
    BARRIER();
</%def>

// Launch: a group of ${block} a chain. scale: the square roots of the prior variances. A chain whose M has no factor stays.
KERNEL LAUNCH_BOUNDS(${block}, 1) move_scales(GLOBAL f64* RESTRICT products, const GLOBAL i32* RESTRICT columns,
    const GLOBAL i32* RESTRICT pair_first, const GLOBAL i32* RESTRICT pair_second, i32 pair_count,
    const GLOBAL trial_t* RESTRICT trial, i64 row_count, GLOBAL f64* past_changes, GLOBAL f64* RESTRICT change,
    GLOBAL f64* RESTRICT scale, GLOBAL f64* RESTRICT local_precision, const GLOBAL chain_t* RESTRICT chain_state,
    const GLOBAL i32* RESTRICT status, i32 count, i32 q, u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    LOCAL_ARRAY(f64, weight, ${cells});
    LOCAL_ARRAY(f64, of_part, ${parts});
    LOCAL_ARRAY(f64, factors, ${most_changes});
    LOCAL_ARRAY(f64, shared, 1);
    LOCAL_ARRAY(f64, line, ${most + 1});
    LOCAL_ARRAY(i32, accepted, ${block});
    const i64 chain = GROUP_ID;
    const i32 size = count + 1;
    const i32 moves = status[chain] == 0;
    const u32 own_stream = stream + ((u32)chain << 8);
    const f64 tau_squared = 1.0 / chain_state[chain].tau_precision;
    GLOBAL f64* own = products + chain * size * size;
    GLOBAL f64* past = past_changes + chain * ${most_changes} * size;
    i32 changes = 0;    // the same for all of a group
    for (i32 k = LOCAL_ID; k < count; k += ${block})
        change[chain * count + k] = 0.0;
    BARRIER();
    for (i32 k = 0; k < (moves ? count : 0); ++k) {
        const i64 at = chain * q + columns[k];
        const f64 before = scale[at] * scale[at];
        for (i32 i = LOCAL_ID; i < size; i += ${block}) {
            f64 sum = i < k ? own[k * size + i] : own[i * size + k];
            for (i32 p = 0; p < changes; ++p)
                sum -= factors[p] * past[p * size + i] * past[p * size + k];
            line[i] = sum;
        }
        BARRIER();
        const f64 rest = 1.0 - before * line[k];    // 1 / (1 + D s)
        const f64 without = 1.0 / (rest > 1.0e-12 ? rest : 1.0e-12);
        const f64 s = line[k] * without;
        const f64 score = line[count] * without;
        for (i32 i = LOCAL_ID; i < ${cells}; i += ${block})
            weight[i] = log_density_of_scale(${low} + ${width} * ((f64)i + 0.5), tau_squared, s, score);
        BARRIER();
        for (i32 i = LOCAL_ID; i < ${parts}; i += ${block}) {
            f64 most = weight[${each} * i];
            for (i32 j = 1; j < ${each}; ++j)
                most = weight[${each} * i + j] > most ? weight[${each} * i + j] : most;
            of_part[i] = most;
        }
        BARRIER();
        f64 most = of_part[0];
        for (i32 i = 1; i < ${parts}; ++i)
            most = of_part[i] > most ? of_part[i] : most;
        BARRIER();
        for (i32 i = LOCAL_ID; i < ${parts}; i += ${block}) {
            of_part[i] = 0.0;
            for (i32 j = ${each} * i; j < ${each} * (i + 1); ++j)
                of_part[i] += exp(weight[j] - most);
        }
        BARRIER();
        if (LOCAL_ID == 0) {
            f64 total = 0.0;
            for (i32 i = 0; i < ${parts}; ++i)
                total += of_part[i];
            const philox_words_t words = philox_words(seed, own_stream, iteration[0], k, 0u);
            const philox_words_t more = philox_words(seed, own_stream, iteration[0], k, 1u);
            f64 left = total * uniform_f64_wide(words.w0, words.w1);
            i32 part = 0;
            for (; part < ${parts - 1} && left > of_part[part]; ++part)
                left -= of_part[part];
            i32 cell = ${each} * part;
            for (; cell < ${each} * part + ${each - 1} && left > exp(weight[cell] - most); ++cell)
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
            factors[changes] = shared[0];
        }
        BARRIER();
        if (shared[0] != 0.0) {
            for (i32 i = LOCAL_ID; i < size; i += ${block})
                past[changes * size + i] = line[i];
            ++changes;
        }
        if (changes == ${most_changes} || k == count - 1) {${take_changes()}
        }
        BARRIER();
    }
    // each work-item has a pair; the first that is accepted is made, and those after it are looked at again. Effects that the rows
    // hardly show are left out: there are many, and their exchange changes little.
    const f64 least = ${least_effect} * exp(2.0 * trial[chain].log_sigma) / (f64)row_count;
    for (i32 first = 0; first < (moves ? pair_count : 0);) {
        const i32 pair = first + LOCAL_ID;
        i32 found = pair_count;
        if (pair < pair_count) {
            const i32 j = pair_first[pair];
            const i32 k = pair_second[pair];
            const f64 a = scale[chain * q + columns[j]];
            const f64 b = scale[chain * q + columns[k]];
            const f64 larger = a > b ? a : b;
            if (larger > ${least_apart} * (a > b ? b : a) && larger * larger > least) {
                const f64 c = b * b - a * a;
                const f64 across = own[k * size + j];
                const f64 q_j = own[count * size + j];
                const f64 q_k = own[count * size + k];
                const f64 m_jj = 1.0 + c * own[j * size + j];
                const f64 m_kk = 1.0 - c * own[k * size + k];
                const f64 determinant = m_jj * m_kk + c * across * c * across;
                const f64 form = c * (q_j * (m_kk * q_j + c * across * q_k) + q_k * (c * across * q_j - m_jj * q_k)) / determinant;
                const philox_words_t words = philox_words(seed, own_stream, iteration[0], count + pair, 0u);
                if (determinant > 0.0 && log(uniform_f64_wide(words.w0, words.w1)) < 0.5 * (form - log(determinant)))
                    found = pair;
            }
        }
        ${reduce.group_reduce("accepted", "i32", block, [("found", "min")])}
        first = found < pair_count ? found + 1 : first + ${block};
        if (found < pair_count) {
            const i32 j = pair_first[found];
            const i32 k = pair_second[found];
            const i64 at_j = chain * q + columns[j];
            const i64 at_k = chain * q + columns[k];
            const f64 a = scale[at_j];
            const f64 b = scale[at_k];
            const f64 c = b * b - a * a;
% for column, sign in (("j", ""), ("k", "-")):
            for (i32 i = LOCAL_ID; i < size; i += ${block})
                past[i] = i < ${column} ? own[${column} * size + i] : own[i * size + ${column}];
            BARRIER();
            if (LOCAL_ID == 0)
                factors[0] = ${sign}c / (1.0 + ${sign}c * past[${column}]);
            changes = 1;${take_changes()}
% endfor
            if (LOCAL_ID == 0) {
                const f64 precision = local_precision[at_j];
                local_precision[at_j] = local_precision[at_k];
                local_precision[at_k] = precision;
                scale[at_j] = b;
                scale[at_k] = a;
                change[chain * count + j] += c;
                change[chain * count + k] -= c;
            }
            BARRIER();
        }
    }
}
