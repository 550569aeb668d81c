// Uniform individuals: bit b of word w of gene g is individual 32 w + b.
//
// Launch: a work-item makes four neighbouring words of one gene. Words past the last individual become zero.
// planes[g * stride + w]
${philox.functions()}
KERNEL LAUNCH_BOUNDS(${block}, 1) draw_population(GLOBAL u32* RESTRICT planes, i32 n, i32 stride, i32 count, u64 seed, u32 stream) {
    const i32 quads = stride / 4;
    for (i64 item = GLOBAL_ID; item < (i64)n * quads; item += GLOBAL_SIZE) {
        const i32 gene = (i32)(item / quads);
        const i32 quad = (i32)(item % quads);
        const philox_words_t words = philox_words(seed, stream, 0, ((i64)gene << 28) + quad, 0);
        const u32 made[4] = {words.w0, words.w1, words.w2, words.w3};
        for (i32 i = 0; i < 4; ++i) {
            const i32 left = count - 32 * (4 * quad + i);
            const u32 valid = left >= 32 ? 0xFFFFFFFFu : left <= 0 ? 0u : (1u << left) - 1u;
            planes[(i64)gene * stride + 4 * quad + i] = made[i] & valid;
        }
    }
}
