<%namespace name="philox" file="/common/philox.mako"/>
// Restricted tournament replacement: an offspring competes with the most similar of ${"window"} individuals drawn at random.
// All compete with the population as it was; of several that win one slot, the best takes it, of equals the first.
//
// Source: G. R. Harik, "Finding multimodal solutions using restricted tournament selection", ICGA 6 (1995) 24-31.
${philox.functions()}
// find_nearest: nearest[j] is the individual that offspring j competes with and beats, or -1; heads and next chain the
// offspring that beat the same individual, in any order.
// Launch: a group of ${group} work-items an offspring.
KERNEL LAUNCH_BOUNDS(${group}, 1) find_nearest(const GLOBAL u32* RESTRICT rows, const GLOBAL u32* RESTRICT offspring_rows, i32 n, i32 count,
    const GLOBAL i64* RESTRICT keys, const GLOBAL i64* RESTRICT offspring_keys, i32 window, u64 seed, u32 stream, u32 step,
    GLOBAL u32* heads, GLOBAL u32* RESTRICT next, const GLOBAL i64* RESTRICT status)
{
    LOCAL_ARRAY(i64, part, ${group});
    if (status[0] != 0)
        return;
    const i32 row_words = (n + 31) / 32;
    const i32 rival = GROUP_ID;
    const i32 blocks = (window + 3) / 4;
    const GLOBAL u32* own = offspring_rows + (i64)rival * row_words;
    i64 best = ((i64)1) << 62;
    for (i32 block = LOCAL_ID; block < blocks; block += ${group}) {
        const philox_words_t drawn = philox_words(seed, stream, step, (i64)rival * blocks + block, 0);
        const u32 words[4] = {drawn.w0, drawn.w1, drawn.w2, drawn.w3};
        for (i32 i = 0; i < 4 && 4 * block + i < window; ++i) {
            const i32 other = (i32)MULTIPLY_HIGH_U32(words[i], (u32)count);
            const GLOBAL u32* row = rows + (i64)other * row_words;
            i32 distance = 0;
            for (i32 w = 0; w < row_words; ++w)
                distance += COUNT_BITS_U32(own[w] ^ row[w]);
            const i64 key = ((i64)distance << 32) | other;
            best = MIN(best, key);
        }
    }
% if group > 1:
    part[LOCAL_ID] = best;
    BARRIER();
    for (i32 reach = ${group // 2}; reach > 0; reach /= 2) {
        if (LOCAL_ID < reach)
            part[LOCAL_ID] = MIN(part[LOCAL_ID], part[LOCAL_ID + reach]);
        BARRIER();
    }
    best = part[0];
% endif
    if (LOCAL_ID == 0) {
        const i32 nearest = (i32)(best & 0x7FFFFFFF);
        if (offspring_keys[rival] > keys[nearest])
            next[rival] = ATOMIC_SWAP_U32(&heads[nearest], (u32)rival + 1u);
    }
}

// settle: source[i] = the offspring that takes slot i, or -1; heads are cleared for the next generation.
// Launch: a work-item an individual.
KERNEL LAUNCH_BOUNDS(${block}, 1) settle(GLOBAL u32* RESTRICT heads, const GLOBAL u32* RESTRICT next,
    const GLOBAL i64* RESTRICT offspring_keys, i32 count, GLOBAL i32* RESTRICT source, const GLOBAL i64* RESTRICT status)
{
    if (status[0] != 0)
        return;
    for (i64 slot = GLOBAL_ID; slot < count; slot += GLOBAL_SIZE) {
        i32 winner = -1;
        for (u32 at = heads[slot]; at; at = next[at - 1u]) {
            const i32 rival = (i32)(at - 1u);
            if (winner < 0 || offspring_keys[rival] > offspring_keys[winner]
                || (offspring_keys[rival] == offspring_keys[winner] && rival < winner))
                winner = rival;
        }
        source[slot] = winner;
        heads[slot] = 0;
    }
}
