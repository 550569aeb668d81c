// The user's own fitness, in C: statements that set `fitness` from BIT(0) .. BIT(N - 1).
//
// Launch: one work-item an individual.
${status.declaration()}
#define N ${n}
#define BIT(i) ((i32)((genes_of_it[(i64)(i) * stride] >> bit_of_it) & 1u))
FUNCTION i64 users_fitness(const GLOBAL u32* RESTRICT genes_of_it, i32 stride, i32 bit_of_it) {
    i64 fitness = 0;
    {
${code}
    }
    return fitness;
}
#undef N
#undef BIT

KERNEL LAUNCH_BOUNDS(${block}, 1) evaluate(const GLOBAL u32* RESTRICT planes, i32 stride, i32 first, i32 count,
    GLOBAL i64* RESTRICT keys, const GLOBAL status_t* RESTRICT status) {
    if (status->reason != 0)
        return;
    const i64 individual = first + GLOBAL_ID;
    if (individual < count)
        keys[individual] = ${sign} users_fitness(planes + individual / 32, stride, (i32)(individual & 31));
}
