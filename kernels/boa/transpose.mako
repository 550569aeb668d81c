// Between bit planes and rows: planes[g * stride + i / 32] has gene g of individual i in bit i % 32,
// rows[i * row_words + g / 32] in bit g % 32.

// turn_planes: rows of the individuals first .. last - 1.
// Launch: work-items share the words of the rows.
${status.declaration()}
KERNEL LAUNCH_BOUNDS(${block}, 1) turn_planes(const GLOBAL u32* RESTRICT planes, i32 stride, i32 n, i32 first, i32 last,
    GLOBAL u32* RESTRICT rows, const GLOBAL status_t* RESTRICT status) {
    if (status->reason != 0)
        return;
    const i32 row_words = (n + 31) / 32;
    const i32 count = last - first;
    for (i64 item = GLOBAL_ID; item < (i64)row_words * count; item += GLOBAL_SIZE) {
        const i32 individual = first + (i32)(item % count);
        const i32 word = (i32)(item / count);
        const GLOBAL u32* column = planes + (individual >> 5);
        u32 bits = 0;
        const i32 genes = MIN(32, n - 32 * word);
        for (i32 b = 0; b < genes; ++b)
            bits |= ((column[(i64)(32 * word + b) * stride] >> (individual & 31)) & 1u) << b;
        rows[(i64)individual * row_words + word] = bits;
    }
}

// turn_rows: the words of the planes that hold the individuals first (a multiple of 32) .. last - 1; bits past the last
// become zero.
// Launch: work-items share the squares of 32 individuals x 32 genes.
KERNEL LAUNCH_BOUNDS(${block}, 1) turn_rows(const GLOBAL u32* RESTRICT rows, i32 n, i32 first, i32 last,
    GLOBAL u32* RESTRICT planes, i32 stride, const GLOBAL status_t* RESTRICT status) {
    if (status->reason != 0)
        return;
    const i32 row_words = (n + 31) / 32;
    const i32 columns = (last - first + 31) / 32;
    for (i64 item = GLOBAL_ID; item < (i64)row_words * columns; item += GLOBAL_SIZE) {
        const i32 column = first / 32 + (i32)(item % columns);
        const i32 word = (i32)(item / columns);
        const i32 individuals = MIN(32, last - 32 * column);
        const i32 genes = MIN(32, n - 32 * word);
        u32 square[32];
        for (i32 b = 0; b < 32; ++b)
            square[b] = b < individuals ? rows[((i64)32 * column + b) * row_words + word] : 0u;
        for (i32 g = 0; g < genes; ++g) {
            u32 bits = 0;
            for (i32 b = 0; b < 32; ++b)
                bits |= ((square[b] >> g) & 1u) << b;
            planes[(i64)(32 * word + g) * stride + column] = bits;
        }
    }
}
