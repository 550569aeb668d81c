<%namespace name="pairs" file="/boa/gains_of_pairs.mako"/>
<%namespace name="tables" file="/boa/gains_of_tables.mako"/>
<%
    gains = pairs if form == "pairs" else tables
    space = "LOCAL" if local_genes else "GLOBAL"
%>\
// Steepest ascent: the gene of the largest gain is flipped, until none is positive. See individuals.mako.
//
// A long search is a sequence of launches: this one makes flips first_flip .. last_flip - 1 of each individual.
// Launch: any number of groups of ${block} work-items; group w takes the individuals first + w, first + w + GROUP_COUNT, ...
${individuals.declarations()}
${philox.functions()}
${gains.declarations(space)}
KERNEL LAUNCH_BOUNDS(${block}, 1) climb_individuals(GLOBAL u32* RESTRICT rows, i32 n, i32 first, i32 last, i32 first_flip,
    i32 last_flip, GLOBAL u32* scratch, i32 scratch_words, u64 seed, u32 stream, u32 step, GLOBAL status_t* status,
${gains.arguments()}) {
    if (status->reason != 0)
        return;
    const i32 row_words = (n + 31) / 32;
${individuals.work_arrays(("sum_t", "gains", "genes"), ("u32", "bits", "words"))}
    i64 work = 0;
    for (i32 individual = first + GROUP_ID; individual < last; individual += GROUP_COUNT) {
        GLOBAL u32* row = rows + (i64)individual * row_words;
${individuals.copy_words("bits", "row")}
        BARRIER();
${gains.compute_gains()}
        BARRIER();
        for (i32 flip = first_flip; flip < last_flip; ++flip) {
            const philox_words_t words = philox_words(seed, stream, step, ((i64)individual << 24) + flip, 0);
${individuals.choose_largest("1")}
            if (gain <= 0)
                break;
${gains.update_gains(space)}
            if (LOCAL_ID == gene % ${block})    // the work-item that reads this gain next
                gains[gene] = -gains[gene];
% if block > 1:
            BARRIER();
% endif
            if (LOCAL_ID == 0)
                bits[gene >> 5] ^= 1u << (gene & 31);
            work += 1;
        }
        BARRIER();
${individuals.copy_words("row", "bits")}
        BARRIER();
    }
${individuals.report_flips()}
}
