<%doc>
Local search by simulated annealing, of functions of at most two genes: every work-group anneals one individual after the
other and writes its last state back. The gain of a gene is what its flip adds to the key.

Genes are divided into classes without couplings inside, so that the genes of a class are tried side by side with the same
result as one after the other. A flip of gain g is made if -g <= T E, where E has the exponential distribution: that is
Metropolis' rule. T comes from a schedule and E from a table of quantiles, both whole numbers, so that the result does not
depend on the device.

local_genes  size of the arrays in local memory; 0: they are in the global array `scratch`
</%doc>
<%
    space = "LOCAL" if local_genes else "GLOBAL"
%>\
// rows[i * row_words + g / 32] has gene g of individual i in bit g % 32; individuals first .. last - 1.
// A long search is a sequence of launches, each of the sweeps first_sweep .. last_sweep - 1; the rows are its state.
// Class c is order[class_starts[c]] .. order[class_starts[c + 1] - 1]: multiples of 4, filled up with -1.
// Source: S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220 (1983) 671-680.
// Launch: any number of groups of ${block} work-items; group w takes the individuals first + w, first + w + GROUP_COUNT, ...
${status.declaration()}
typedef ${sum} sum_t;
#define BIT_OF(words, gene) (((words)[(gene) >> 5] >> ((gene) & 31)) & 1u)
${philox.functions()}
KERNEL LAUNCH_BOUNDS(${block}, 1) anneal_individuals(GLOBAL u32* RESTRICT rows, i32 n, i32 first, i32 last, u64 seed, u32 stream,
    u32 step, GLOBAL status_t* status, GLOBAL u32* scratch, i32 scratch_words, const GLOBAL sum_t* RESTRICT linear,
    const GLOBAL i32* RESTRICT neighbour_starts, const GLOBAL i32* RESTRICT neighbours, const GLOBAL sum_t* RESTRICT couplings,
    const GLOBAL i32* RESTRICT order, const GLOBAL i32* RESTRICT class_starts, i32 classes,
    const GLOBAL i64* RESTRICT temperatures, i32 first_sweep, i32 last_sweep, const GLOBAL i32* RESTRICT quantiles, i32 shift) {
% if block > 1:
    LOCAL_ARRAY(i64, part, ${block});
% endif
    if (status->reason != 0)
        return;
    const i32 row_words = (n + 31) / 32;
% if local_genes:
    LOCAL_ARRAY(sum_t, gains, ${local_genes});
    LOCAL_ARRAY(u32, bits, ${local_genes // 32});
% else:
    GLOBAL u32* own = scratch + (i64)GROUP_ID * scratch_words;
    GLOBAL sum_t* gains = (GLOBAL sum_t*)own;
    GLOBAL u32* bits = own + (i64)n * ${2 if sum == "i64" else 1};
% endif
    i64 work = 0;
    for (i32 individual = first + GROUP_ID; individual < last; individual += GROUP_COUNT) {
        GLOBAL u32* row = rows + (i64)individual * row_words;
        for (i32 w = LOCAL_ID; w < row_words; w += ${block})
            bits[w] = row[w];
        BARRIER();
        for (i32 i = LOCAL_ID; i < n; i += ${block}) {
            sum_t gain = linear[i];
            for (i32 at = neighbour_starts[i]; at < neighbour_starts[i + 1]; ++at)
                gain += BIT_OF(bits, neighbours[at]) ? couplings[at] : 0;
            gains[i] = BIT_OF(bits, i) ? -gain : gain;
        }
        BARRIER();
        for (i32 sweep = first_sweep; sweep < last_sweep; ++sweep) {
            const i64 temperature = temperatures[sweep];
            for (i32 c = 0; c < classes; ++c) {
                for (i32 quad = class_starts[c] / 4 + LOCAL_ID; quad < class_starts[c + 1] / 4; quad += ${block}) {
                    const philox_words_t words = philox_words(seed, stream, step, ((i64)individual << 20) + quad, (u32)sweep);
% for place in range(4):
                    ${attempt(place)}
% endfor
                }
                BARRIER();
            }
        }
        for (i32 w = LOCAL_ID; w < row_words; w += ${block})
            row[w] = bits[w];
        BARRIER();
    }
    ${reduce.group_reduce("part", "i64", block, [("work", "sum")])}
    if (LOCAL_ID == 0 && work)
        ATOMIC_ADD_U64((GLOBAL u64*)&status->flips, (u64)work);
}
<%def name="attempt(place)">\
{
                        const i32 gene = order[4 * quad + ${place}];
                        const i64 needed = (temperature * quantiles[words.w${place} >> 20]) >> shift;
                        if (gene >= 0 && -(i64)gains[gene] <= needed) {
                            const u32 old = BIT_OF(bits, gene);
                            gains[gene] = -gains[gene];
                            for (i32 at = neighbour_starts[gene]; at < neighbour_starts[gene + 1]; ++at) {
                                const i32 other = neighbours[at];
                                const sum_t coupling = couplings[at];
                                ${add("&gains[other]", "(BIT_OF(bits, other) == old ? coupling : -coupling)")};
                            }
% if block == 1:
                            bits[gene >> 5] ^= 1u << (gene & 31);
% else:
                            ATOMIC_XOR_U32(&bits[gene >> 5], 1u << (gene & 31));
% endif
                            work += 1;
                        }
                    }\
</%def>
<%def name="add(pointer, value)">\
% if block == 1:
*(${pointer}) += ${value}\
% elif sum == "i64":
ATOMIC_ADD_U64((${space} u64*)(${pointer}), (u64)(${value}))\
% else:
ATOMIC_ADD_I32(${pointer}, ${value})\
% endif
</%def>
