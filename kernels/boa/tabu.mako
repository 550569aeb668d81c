<%namespace name="pairs" file="/boa/gains_of_pairs.mako"/>
<%namespace name="tables" file="/boa/gains_of_tables.mako"/>
<%
    gains = pairs if form == "pairs" else tables
    space = "LOCAL" if local_genes else "GLOBAL"
%>\
// Tabu search: the gene of the largest gain that is not tabu is flipped, up or down, until the flips are used up. A gene is
// tabu for `tenure` flips after its own, and up to tenure_spread - 1 more at random, unless its flip leads beyond the best so far.
//
// A long search is a sequence of launches: this one makes flips first_flip .. last_flip - 1 of each individual. After each launch
// the rows hold the best individuals met so far. states[(i - first) * state_words ...] is what an individual's next launch
// continues with: a search_t (is_saved: its row is better than its genes), the genes, and the flip from which each gene is no
// longer tabu. It is read if first_flip > 0 and written if keeps_state.
// Source: F. Glover, G. Kochenberger, B. Alidaee, "Adaptive memory tabu search for binary quadratic programs", Management
// Science 44 (1998) 336-345.
// Launch: any number of groups of ${block} work-items; group w takes the individuals first + w, first + w + GROUP_COUNT, ...
${individuals.declarations()}
${search.declaration()}
${philox.functions()}
${gains.declarations(space)}
KERNEL LAUNCH_BOUNDS(${block}, 1) search_individuals(GLOBAL u32* RESTRICT rows, i32 n, i32 first, i32 last, i32 first_flip,
    i32 last_flip, i32 tenure, i32 tenure_spread, GLOBAL u32* states, i32 state_words, i32 keeps_state,
    GLOBAL u32* scratch, i32 scratch_words, u64 seed, u32 stream, u32 step, GLOBAL status_t* status,
${gains.arguments()}) {
    if (status->reason != 0)
        return;
    const i32 row_words = (n + 31) / 32;
${individuals.work_arrays(*individuals.attr.searched)}
    i64 work = 0;
    for (i32 individual = first + GROUP_ID; individual < last; individual += GROUP_COUNT) {
        GLOBAL u32* row = rows + (i64)individual * row_words;
${individuals.restore_search()}
        BARRIER();
${gains.compute_gains()}
        BARRIER();
        for (i32 flip = first_flip; flip < last_flip; ++flip) {
            const philox_words_t words = philox_words(seed, stream, step, ((i64)individual << 24) + flip, 0);
            const sum_t needed = (sum_t)(best_value - value);
${individuals.choose_largest("free_from[i] <= flip || gains[i] > needed")}
            // Without a candidate nothing is flipped, but every work-item goes on to the barrier below.
            if (is_found) {
${individuals.count_flip()}
${gains.update_gains(space)}
                if (LOCAL_ID == gene % ${block}) {    // the work-item that reads this gain next
                    gains[gene] = -gains[gene];
                    free_from[gene] = flip + 1 + tenure + (i32)MULTIPLY_HIGH_U32(words.w1, (u32)tenure_spread);
                }
            }
% if block > 1:
            BARRIER();
% endif
            if (is_found && LOCAL_ID == 0)
                bits[gene >> 5] ^= 1u << (gene & 31);
            work += is_found;
        }
        BARRIER();
${individuals.keep_search()}
    }
${individuals.report_flips()}
}
