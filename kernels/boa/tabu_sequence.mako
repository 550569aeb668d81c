// Tabu search of binary sequences whose correlations are to be small: the key is minus the sum of squares of the correlations,
// which are kept up to date (n steps a flip). Rule, states and launch are those of tabu.mako.
${individuals.declarations()}
${search.declaration()}
${philox.functions()}
// What flipping element i adds to the key: correlation k changes by -2 s_i (s_(i+k) + s_(i-k)). signs[n + i] is s_i, others 0.
FUNCTION i32 gain_of(const LOCAL i32* sums, const LOCAL i32* signs, i32 n, i32 i) {
    const LOCAL i32* here = signs + n + i;
    const i32 own = here[0];
    i32 gain = 0;
    for (i32 k = 1; k < n; ++k) {
        const i32 both = here[k] + here[-k];
        gain += both * (own * sums[k] - both);
    }
    return 4 * gain;
}

KERNEL LAUNCH_BOUNDS(${block}, 1) search_sequences(GLOBAL u32* RESTRICT rows, i32 n, i32 first, i32 last, i32 first_flip,
    i32 last_flip, i32 tenure, i32 tenure_spread, GLOBAL u32* states, i32 state_words, i32 keeps_state, u64 seed, u32 stream,
    u32 step, GLOBAL status_t* status) {
    if (status->reason != 0)
        return;
    const i32 row_words = (n + 31) / 32;
${individuals.work_arrays(*individuals.attr.searched)}
    LOCAL_ARRAY(i32, sums, ${local_genes});
    LOCAL_ARRAY(i32, signs, ${3 * local_genes});
    i64 work = 0;
    for (i32 individual = first + GROUP_ID; individual < last; individual += GROUP_COUNT) {
        GLOBAL u32* row = rows + (i64)individual * row_words;
${individuals.restore_search()}
        BARRIER();
        for (i32 i = LOCAL_ID; i < 3 * n; i += ${block})
            signs[i] = i < n || i >= 2 * n ? 0 : 2 * (i32)BIT_OF(bits, i - n) - 1;
        BARRIER();
        for (i32 k = LOCAL_ID; k < n; k += ${block}) {
            i32 sum = 0;
            for (i32 i = 0; i + k < n; ++i)
                sum += signs[n + i] * signs[n + i + k];
            sums[k] = sum;
        }
        BARRIER();
${compute_gains()}
        BARRIER();
        for (i32 flip = first_flip; flip < last_flip; ++flip) {
            const philox_words_t words = philox_words(seed, stream, step, ((i64)individual << 24) + flip, 0);
            const sum_t needed = (sum_t)(best_value - value);
${individuals.choose_largest("free_from[i] <= flip || gains[i] > needed")}
            // Without a candidate nothing is flipped, but every work-item goes on to the barriers below.
            if (is_found) {
${individuals.count_flip()}
                for (i32 k = LOCAL_ID; k < n; k += ${block})
                    sums[k] -= k ? 2 * signs[n + gene] * (signs[n + gene + k] + signs[n + gene - k]) : 0;
                if (LOCAL_ID == gene % ${block})
                    free_from[gene] = flip + 1 + tenure + (i32)MULTIPLY_HIGH_U32(words.w1, (u32)tenure_spread);
            }
% if block > 1:
            BARRIER();
% endif
            if (is_found && LOCAL_ID == 0) {
                bits[gene >> 5] ^= 1u << (gene & 31);
                signs[n + gene] = -signs[n + gene];
            }
            work += is_found;
            BARRIER();
${compute_gains()}
        }
        BARRIER();
${individuals.keep_search()}
    }
${individuals.report_flips()}
}
<%def name="compute_gains()">
        for (i32 base = 0; base < n; base += ${block})
            if (base + LOCAL_ID < n)
                gains[base + LOCAL_ID] = gain_of(sums, signs, n, base + LOCAL_ID);
</%def>
