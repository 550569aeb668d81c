<% space = "LOCAL" if local_genes else "GLOBAL" %>\
// A walk over functions below their maximum, such as clauses that do not hold: the first of them from a random function on has one
// of its genes flipped. That is the gene of the largest gain; of equals the one flipped longest ago; with one half it is the second
// instead where the first was flipped last of all, and with 1 in 100 any. Until all functions are at their maximum.
// Source: H. H. Hoos, "On the run-time behaviour of stochastic local search algorithms for SAT", AAAI 1999 (Novelty+).
//
// A long search is a sequence of launches, see tabu.mako.
// Launch: any number of groups of ${block} work-items; group w takes the individuals first + w, first + w + GROUP_COUNT, ...
${individuals.declarations()}
${search.declaration()}
${philox.functions()}
${gains_of_tables.declarations(space)}
KERNEL LAUNCH_BOUNDS(${block}, 1) walk_individuals(GLOBAL u32* RESTRICT rows, i32 n, i32 first, i32 last, i32 first_flip,
    i32 last_flip, GLOBAL u32* states, i32 state_words, i32 keeps_state, GLOBAL u32* scratch, i32 scratch_words, u64 seed,
    u32 stream, u32 step, GLOBAL status_t* status, const GLOBAL sum_t* RESTRICT maxima, i32 functions,
${gains_of_tables.arguments()}) {
    if (status->reason != 0)
        return;
    const i32 row_words = (n + 31) / 32;
    const i32 map_words = (functions + 31) / 32;
<%
    toggle = "if ((table[before] < maxima[f]) != (table[after] < maxima[f])) ATOMIC_XOR_U32(&unsatisfied[f >> 5], 1u << (f & 31));"
%>\
${individuals.work_arrays(*individuals.attr.searched, ("u32", "unsatisfied", "functions"))}
% if block > 1:
    LOCAL_ARRAY(i32, chosen_gene, 1);
    LOCAL_ARRAY(i64, chosen_gain, 1);
% endif
    i64 work = 0;
    for (i32 individual = first + GROUP_ID; individual < last; individual += GROUP_COUNT) {
        GLOBAL u32* row = rows + (i64)individual * row_words;
${individuals.restore_search()}
        for (i32 w = LOCAL_ID; w < map_words; w += ${block})
            unsatisfied[w] = 0;
        BARRIER();
${gains_of_tables.compute_gains()}
        for (i32 f = LOCAL_ID; f < functions; f += ${block}) {
            const i32 start = scope_starts[f];
            const i32 index = table_index(genes + start, scope_starts[f + 1] - start, bits);
            if (tables[table_starts[f] + index] < maxima[f])
                ATOMIC_OR_U32(&unsatisfied[f >> 5], 1u << (f & 31));
        }
        BARRIER();
        for (i32 flip = first_flip; flip < last_flip; ++flip) {
            const philox_words_t words = philox_words(seed, stream, step, ((i64)individual << 24) + flip, 0);
${choose_function()}
% if block == 1:
            if (chosen == functions)
                break;
${choose_in_scope()}
            const i64 gain = gains[gene];
% else:
            if (LOCAL_ID == 0) {
                chosen_gene[0] = -1;
                if (chosen < functions) {
${choose_in_scope()}
                    chosen_gene[0] = gene;
                    chosen_gain[0] = gains[gene];
                }
            }
            BARRIER();
            const i32 gene = chosen_gene[0];
            const i64 gain = chosen_gain[0];
            if (gene < 0)
                break;
% endif
${individuals.count_flip()}
${gains_of_tables.update_gains(space, toggle)}
            if (LOCAL_ID == gene % ${block}) {    // the work-item that reads this gain next
                gains[gene] = -gains[gene];
                free_from[gene] = flip + 1;
            }
% if block > 1:
            BARRIER();
% endif
            if (LOCAL_ID == 0)
                bits[gene >> 5] ^= 1u << (gene & 31);
            work += 1;
        }
        BARRIER();
${individuals.keep_search()}
    }
${individuals.report_flips()}
}
<%def name="choose_function()">
            // chosen: how far it is from a random function to the first one below its maximum, or the number of functions.
            const i32 origin = (i32)MULTIPLY_HIGH_U32(words.w0, (u32)functions);
            i64 chosen = functions;
% if block == 1:
            for (i32 turn = 0; turn <= map_words && chosen == functions; ++turn) {
                const i32 w = ((origin >> 5) + turn) % map_words;
                // The bits before the random one of its word come last.
                const u32 open = unsatisfied[w] & (turn == 0 ? 0xFFFFFFFFu << (origin & 31) : 0xFFFFFFFFu);
                if (open) {
                    const i32 f = 32 * w + COUNT_BITS_U32((open & (0u - open)) - 1u);
                    chosen = f >= origin ? f - origin : f - origin + functions;
                }
            }
% else:
            for (i32 w = LOCAL_ID; w < map_words; w += ${block}) {
                const u32 open = unsatisfied[w];
                if (open) {
                    const u32 later = w > origin >> 5 ? open : w < origin >> 5 ? 0u : open & (0xFFFFFFFFu << (origin & 31));
                    const u32 lowest = later ? later & (0u - later) : open & (0u - open);
                    const i32 f = 32 * w + COUNT_BITS_U32(lowest - 1u);
                    const i64 distance = later ? f - origin : f - origin + functions;
                    chosen = MIN(chosen, distance);
                }
            }
            ${individuals.group_extreme("chosen", "MIN")}
% endif
</%def>
<%def name="choose_in_scope()">
            const i32 f_chosen = (i32)(origin + chosen >= functions ? origin + chosen - functions : origin + chosen);
            const GLOBAL i32* scope = genes + scope_starts[f_chosen];
            const i32 scope_width = scope_starts[f_chosen + 1] - scope_starts[f_chosen];
            // The largest gain, of equals the gene flipped longest ago; the second; and the gene flipped last.
            i32 gene = scope[0];
            i32 second = gene;
            i32 latest = gene;
            for (i32 place = 1; place < scope_width; ++place) {
                const i32 g = scope[place];
                if (gains[g] > gains[gene] || (gains[g] == gains[gene] && free_from[g] < free_from[gene])) {
                    second = gene;
                    gene = g;
                } else if (second == gene || gains[g] > gains[second]
                    || (gains[g] == gains[second] && free_from[g] < free_from[second])) {
                    second = g;
                }
                latest = free_from[g] > free_from[latest] ? g : latest;
            }
            if (words.w1 < ${int(0.01 * 2**32)}u)
                gene = scope[MULTIPLY_HIGH_U32(words.w2, (u32)scope_width)];
            else if (gene == latest && free_from[gene] > 0 && (words.w3 >> 31))
                gene = second;
</%def>
