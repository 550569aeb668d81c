// C_ij = s_i s_j G_ij below the diagonal, 1 + jitter on it; see conditionals.mako
//
// Launch: a group of ${block} a row of a chain. gram: (q, q), lower triangle; matrix: (group's chains, q, q). The jitter keeps
// exact copies of a column from a pivot of zero; it changes a variance by less than its rounding.

KERNEL LAUNCH_BOUNDS(${block}, 1) build_precision(const GLOBAL f64* RESTRICT gram, const GLOBAL f64* RESTRICT scale,
    GLOBAL f64* RESTRICT matrix, i32 q, i32 first_chain, f64 jitter) {
    const i32 i = GROUP_ID % q;
    const i32 member = GROUP_ID / q;
    const GLOBAL f64* s = scale + (i64)(first_chain + member) * q;
    GLOBAL f64* out = matrix + ((i64)member * q + i) * q;
    const GLOBAL f64* row = gram + (i64)i * q;
    const f64 own = s[i];
    for (i32 j = LOCAL_ID; j < i; j += ${block})
        out[j] = own * s[j] * row[j];
    if (LOCAL_ID == 0)
        out[i] = 1.0 + jitter;
}

// total += part, (q, q), in the lower triangle
KERNEL LAUNCH_BOUNDS(${block}, 1) add_matrix(GLOBAL f64* RESTRICT total, const GLOBAL f64* RESTRICT part, i32 q) {
    for (i64 i = GLOBAL_ID; i < (i64)q * q; i += GLOBAL_SIZE)
        if (i % q <= i / q)
            total[i] += part[i];
}

// diagonal_j = gram_jj
KERNEL LAUNCH_BOUNDS(${block}, 1) take_diagonal(const GLOBAL f64* RESTRICT gram, GLOBAL f64* RESTRICT diagonal, i32 q) {
    for (i64 j = GLOBAL_ID; j < q; j += GLOBAL_SIZE)
        diagonal[j] = gram[j * q + j];
}

// failed[0] += number of factorisations whose status is not zero; launches on several streams may count at once
KERNEL LAUNCH_BOUNDS(1, 1) count_failures(const GLOBAL i32* RESTRICT status, i32 count, GLOBAL i32* RESTRICT failed) {
    if (GLOBAL_ID == 0)
        for (i32 i = 0; i < count; ++i)
            if (status[i] != 0)
                ATOMIC_ADD_I32(failed, 1);
}
