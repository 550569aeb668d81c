<%doc>
Moving individuals between bit planes: 32 columns at a time become a word.

A group takes ${"tile"} words of ${"genes"} planes, with the numbers of its columns in local memory. Rows of numbers are
padded by one, so that work-items of neighbouring words read different banks.
</%doc>
<%def name="load_numbers(numbers, count)">
    LOCAL_ARRAY(i32, column, ${tile * 33});
    for (i32 i = LOCAL_ID; i < ${tile * 32}; i += ${block}) {
        const i32 position = ${tile * 32} * tile_index + i;
        column[i / 32 * 33 + i % 32] = position < ${count} ? ${numbers}[position] : -1;
    }
% if block > 1:
    BARRIER();
% endif
</%def>
// gather_planes: out[r][c] = planes[order[r]][columns[c]], zero past the last column: the chosen individuals, their genes
// in the order of ranks.
// Launch: a group of ${block} work-items for each of ${"tiles"} tiles of ${tile} words, from first_tile on, and each ${genes}
// genes.
${status.declaration()}
KERNEL LAUNCH_BOUNDS(${block}, 1) gather_planes(const GLOBAL u32* RESTRICT planes, i32 stride,
    const GLOBAL i32* RESTRICT columns, i32 count, const GLOBAL i32* RESTRICT order, i32 n, GLOBAL u32* RESTRICT out,
    i32 out_stride, i32 first_tile, i32 tiles, const GLOBAL status_t* RESTRICT status) {
    if (status->reason != 0)
        return;
    const i32 tile_index = first_tile + GROUP_ID % tiles;
    const i32 first_gene = GROUP_ID / tiles * ${genes};
${load_numbers("columns", "count")}
    for (i32 item = LOCAL_ID; item < ${tile * genes}; item += ${block}) {
        const i32 rank = first_gene + item / ${tile};
        const i32 word = item % ${tile};
        if (rank < n && ${tile} * tile_index + word < out_stride) {
            const GLOBAL u32* plane = planes + (i64)order[rank] * stride;
            u32 bits = 0;
            for (i32 b = 0; b < 32; ++b) {
                const i32 from = column[word * 33 + b];
                if (from >= 0)
                    bits |= ((plane[from >> 5] >> (from & 31)) & 1u) << b;
            }
            out[(i64)rank * out_stride + ${tile} * tile_index + word] = bits;
        }
    }
}

// merge_planes: population[g][c] = offspring[g][source[c]] and its key likewise, wherever source[c] >= 0.
// Launch: as above.
KERNEL LAUNCH_BOUNDS(${block}, 1) merge_planes(GLOBAL u32* RESTRICT population, i32 stride, GLOBAL i64* RESTRICT keys, i32 count,
    const GLOBAL u32* RESTRICT offspring, i32 offspring_stride, const GLOBAL i64* RESTRICT offspring_keys,
    const GLOBAL i32* RESTRICT source, i32 n, i32 first_tile, i32 tiles, const GLOBAL status_t* RESTRICT status) {
    if (status->reason != 0)
        return;
    const i32 tile_index = first_tile + GROUP_ID % tiles;
    const i32 first_gene = GROUP_ID / tiles * ${genes};
${load_numbers("source", "count")}
    for (i32 item = LOCAL_ID; item < ${tile * genes}; item += ${block}) {
        const i32 gene = first_gene + item / ${tile};
        const i32 word = item % ${tile};
        if (gene < n && ${tile} * tile_index + word < stride) {
            const GLOBAL u32* plane = offspring + (i64)gene * offspring_stride;
            u32 bits = 0, taken = 0;
            for (i32 b = 0; b < 32; ++b) {
                const i32 from = column[word * 33 + b];
                if (from >= 0) {
                    bits |= ((plane[from >> 5] >> (from & 31)) & 1u) << b;
                    taken |= 1u << b;
                }
            }
            if (taken) {
                GLOBAL u32* target = population + (i64)gene * stride + ${tile} * tile_index + word;
                *target = (*target & ~taken) | bits;
            }
        }
    }
    if (first_gene == 0)
        for (i32 i = LOCAL_ID; i < ${tile * 32}; i += ${block}) {
            const i32 from = column[i / 32 * 33 + i % 32];
            if (from >= 0)
                keys[${tile * 32} * tile_index + i] = offspring_keys[from];
        }
}

// take_words: planes[g][c] = source[g][c] for the words first <= c < last, of planes in another device's memory.
// Launch: work-items share the words.
KERNEL LAUNCH_BOUNDS(${block}, 1) take_words(const GLOBAL u32* RESTRICT source, GLOBAL u32* RESTRICT planes, i32 stride, i32 n,
    i32 first, i32 last) {
    const i32 width = last - first;
    for (i64 item = GLOBAL_ID; item < (i64)width * n; item += GLOBAL_SIZE) {
        const i64 at = item / width * stride + first + item % width;
        planes[at] = source[at];
    }
}
