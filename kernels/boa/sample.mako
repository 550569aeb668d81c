// Ancestral sampling of 32 individuals at a time: gene g of an individual is one with the chance that the configuration
// of its parents has.
//
// An individual's random number R for a gene has 31 bits: bit 30 - b is its bit in word b of the words drawn for (gene,
// word of individuals). R < threshold is decided from the top bit down for all individuals at once, so few words are
// drawn before all are decided; what is not drawn could not change the outcome.
// Launch: a group of ${block} work-items for ${columns} words of individuals. It takes the nodes of one depth after those of
// the depth before, which it has written itself.
// offspring[g * stride + w]; parents, thresholds, order, levels and schedule as in network.mako, by rank.
${status.declaration()}
${philox.functions()}
KERNEL LAUNCH_BOUNDS(${block}, 1) sample_offspring(const GLOBAL i32* RESTRICT parents, const GLOBAL i32* RESTRICT parent_count,
    const GLOBAL u32* RESTRICT thresholds, const GLOBAL i32* RESTRICT order, const GLOBAL i32* RESTRICT levels,
    const GLOBAL i32* RESTRICT schedule, i32 first_word, i32 last_word, GLOBAL u32* offspring, i32 stride, i32 count,
    u64 seed, u32 stream, u32 step, const GLOBAL status_t* RESTRICT status) {
    if (status->reason != 0)
        return;
    const i32 begin = first_word + GROUP_ID * ${columns};
    const i32 width = MIN(last_word - begin, ${columns});
    const i32 depths = levels[0];
    for (i32 depth = 0; depth < depths; ++depth) {
        const i32 first = levels[1 + depth];
        const i32 nodes = levels[2 + depth] - first;
        for (i32 item = LOCAL_ID; item < nodes * ${columns}; item += ${block}) {
            const i32 word = begin + item % ${columns};
            if (item % ${columns} < width) {
                const i32 node = schedule[first + item / ${columns}];
                const i32 gene = order[node];
                const i32 degree = parent_count[node];
                const GLOBAL u32* chance = thresholds + ((i64)node << ${max_parents});
                const i32 left = count - 32 * word;
                const u32 valid = left >= 32 ? 0xFFFFFFFFu : (1u << left) - 1u;

                // Which individuals have each configuration, and which are certainly one or certainly zero.
                u32 which[${1 << max_parents}];
                which[0] = valid;
% for i in range(max_parents):
                if (degree > ${i}) {
                    const u32 bits = offspring[(i64)order[parents[(i64)node * ${max_parents} + ${i}]] * stride + word];
% for c in range(1 << i):
                    which[${c + (1 << i)}] = which[${c}] & bits;
                    which[${c}] &= ~bits;
% endfor
                }
% endfor
                const i32 configurations = 1 << degree;
                u32 result = 0, open = 0;
                for (i32 c = 0; c < configurations; ++c) {
                    const u32 t = chance[c];
                    result |= t >> 31 ? which[c] : 0u;
                    open |= t != 0 && !(t >> 31) ? which[c] : 0u;
                }
                u32 attempt = 0;
                i32 shift = 30;
                while (open) {
                    const philox_words_t drawn = philox_words(seed, stream, step, ((i64)gene << 28) + word, attempt);
% for w in range(4):
                    if (shift >= 0) {
                        u32 threshold = 0;
                        for (i32 c = 0; c < configurations; ++c)
                            threshold |= (chance[c] >> shift) & 1u ? which[c] : 0u;
                        result |= open & ~drawn.w${w} & threshold;
                        open &= ~(drawn.w${w} ^ threshold);
                        shift -= 1;
                    }
% endfor
                    attempt += 1;
                    open = shift >= 0 ? open : 0u;
                }
                offspring[(i64)gene * stride + word] = result;
            }
        }
% if block > 1:
        BARRIER();
% endif
    }
}
