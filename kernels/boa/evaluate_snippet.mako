// The user's own fitness, in C: statements that set `fitness` from BIT(0) .. BIT(N - 1).
//
// Launch: one work-item an individual; of evaluate_flips one a flip: item i is individual i / each, its gene flipped[i]
// flipped.
${status.declaration()}
#define N ${n}
% if flips:
FUNCTION i32 gene_of_it(const GLOBAL u32* RESTRICT genes_of_it, i32 stride, i32 bit_of_it, i32 flipped_gene, i64 gene)
{
    return (i32)((genes_of_it[gene * stride] >> bit_of_it) & 1u) ^ (i32)(gene == flipped_gene);
}
#define BIT(i) gene_of_it(genes_of_it, stride, bit_of_it, flipped_gene, (i64)(i))
FUNCTION i64 users_fitness(const GLOBAL u32* RESTRICT genes_of_it, i32 stride, i32 bit_of_it, i32 flipped_gene)
% else:
#define BIT(i) ((i32)((genes_of_it[(i64)(i) * stride] >> bit_of_it) & 1u))
FUNCTION i64 users_fitness(const GLOBAL u32* RESTRICT genes_of_it, i32 stride, i32 bit_of_it)
% endif
{
    i64 fitness = 0;
    {
${code}
    }
    return fitness;
}
#undef N
#undef BIT

% if flips:
KERNEL LAUNCH_BOUNDS(${block}, 1) evaluate_flips(const GLOBAL u32* RESTRICT planes, i32 stride, i32 count, i32 each,
    const GLOBAL i32* RESTRICT flipped, GLOBAL i64* RESTRICT keys)
{
    const i32 item = (i32)GLOBAL_ID;
    const i32 individual = item / each;
    if (item < count)
        keys[item] = ${sign} users_fitness(planes + individual / 32, stride, individual & 31, flipped[item]);
}
% else:
KERNEL LAUNCH_BOUNDS(${block}, 1) evaluate(const GLOBAL u32* RESTRICT planes, i32 stride, i32 first, i32 count,
    GLOBAL i64* RESTRICT keys, const GLOBAL status_t* RESTRICT status)
{
    if (status->reason != 0)
        return;
    const i64 individual = first + GLOBAL_ID;
    if (individual < count)
        keys[individual] = ${sign} users_fitness(planes + individual / 32, stride, (i32)(individual & 31));
}
% endif
