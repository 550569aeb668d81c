// Subset sums: one bit a capacity, 64 in a word, whether some of the items so far weigh exactly that much
//
// Item k with weight w:  row |= row << w. first[c] = the item with which capacity c was reached first, so the items of a sum
// are found by walking back: item first[c], then capacity c - weights[first[c]], which was reached before that item.
// Rows are zero beyond the weight of the items so far.

// word `word` of row << weight
FUNCTION u64 shifted(const GLOBAL u64* row, i64 word, i64 weight) {
    const i64 from = word - (weight >> 6);
    const i32 bits = (i32)(weight & 63);
    if (from < 0)
        return 0;
    u64 found = row[from] << bits;
    if (bits && from > 0)
        found |= row[from - 1] >> (64 - bits);
    return found;
}

<%def name="note(fresh, word)">
            u64 fresh = ${fresh};
            while (fresh) {
                const i64 c = ${word} * 64 + COUNT_BITS_U64((fresh & (~fresh + 1)) - 1);
                if (c <= capacity)
                    first[c] = item;
                fresh &= fresh - 1;
            }
</%def>

// One heavy item. Launch: work-items take words in strides of the grid.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_item(const GLOBAL u64* RESTRICT source, GLOBAL u64* RESTRICT target, i64 words,
    i64 weight, i32 item, i64 capacity, GLOBAL i32* RESTRICT first) {
    for (i64 i = GLOBAL_ID; i < words; i += GLOBAL_SIZE) {
        const u64 old = source[i];
        const u64 added = shifted(source, i, weight);
        target[i] = old | added;
        if (added & ~old) {
${note("added & ~old", "i")}
        }
    }
}

// Items begin .. end - 1, whose weights add up to at most ${64 * halo}. Launch: groups of ${block} work-items take tiles of
// ${tile - halo} words in strides of the grid, and load the ${halo} words before them, which are not all valid in the end and
// are not written.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_items(const GLOBAL u64* RESTRICT source, GLOBAL u64* RESTRICT target, i64 words,
    const GLOBAL i64* RESTRICT weights, i32 begin, i32 end, i64 capacity, GLOBAL i32* RESTRICT first) {
    LOCAL_ARRAY(u64, rows, ${2 * tile});
    const i32 me = LOCAL_ID;
    for (i64 start = (i64)GROUP_ID * ${tile - halo}; start < words; start += (i64)GROUP_COUNT * ${tile - halo}) {
        const i64 origin = start - ${halo};
        const i32 used = (i32)MIN((i64)${tile}, words - origin);
        for (i32 i = me; i < used; i += ${block})
            rows[i] = origin + i >= 0 ? source[origin + i] : 0;
        BARRIER();
        for (i32 item = begin; item < end; ++item) {
            LOCAL const u64* old = rows + ((item - begin) & 1) * ${tile};
            LOCAL u64* young = rows + (1 - ((item - begin) & 1)) * ${tile};
            const i32 back = (i32)(weights[item] >> 6);
            const i32 bits = (i32)(weights[item] & 63);
            for (i32 i = me; i < used; i += ${block}) {
                const i32 from = i - back;
                u64 added = from >= 0 ? old[from] << bits : 0;
                if (bits && from > 0)
                    added |= old[from - 1] >> (64 - bits);
                young[i] = old[i] | added;
                if (i >= ${halo} && (added & ~old[i])) {
${note("added & ~old[i]", "(origin + i)")}
                }
            }
            BARRIER();
        }
        LOCAL const u64* last = rows + ((end - begin) & 1) * ${tile};
        for (i32 i = ${halo} + me; i < used; i += ${block})
            target[origin + i] = last[i];
        BARRIER();
    }
}

// The items of a sum. Launch: one work-item.
KERNEL LAUNCH_BOUNDS(1, 1) trace_sum(const GLOBAL i32* RESTRICT first, const GLOBAL i64* RESTRICT weights, i64 sum,
    GLOBAL u8* RESTRICT chosen) {
    i64 c = sum;
    while (c > 0) {
        const i32 item = first[c];
        chosen[item] = 1;
        c -= weights[item];
    }
}
