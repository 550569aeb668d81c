// target = the row after `count` items, as tiles.mako, for devices whose work-items are best one to a core.
//
// A group is one work-item. It walks its tile downwards in vectors of ${lanes} cells, in place: a vector is written after
// both of its sources were read, and the cells above it are not read again for this item.
// tile[${lanes} + q] is capacity start - halo + q; the first ${lanes} cells are never valid, and no valid cell is made from them.
${row.declarations()}

KERNEL LAUNCH_BOUNDS(1, 1) advance_tile(${row.arguments()}, i64 span,
    const GLOBAL i32* RESTRICT weights, const GLOBAL value_t* RESTRICT profits, i32 first, i32 count, i32 halo) {
    LOCAL_ARRAY(value_t, tile, ${cells + 2 * lanes});
    const i64 start = target_lo + GROUP_ID * span;
    const i64 origin = start - halo;
    const i32 used = (i32)(MIN(start + span - 1, target_hi) - origin) + 1;
    LOCAL value_t* f = tile + ${lanes};

    const i32 below = (i32)MIN(MAX(source_lo - origin, (i64)0), (i64)used);
    const i32 within = (i32)MAX(MIN(source_hi - origin + 1, (i64)used), (i64)below);
    i32 q = -${lanes};
    for (; q < below; ++q)
        f[q] = NEGATIVE;
    const GLOBAL value_t* from = source + (origin - source_base);
    for (; q + ${lanes} <= within; q += ${lanes})
        STORE(LOCAL, f + q, LOAD(GLOBAL, from + q));
    for (; q < within; ++q)
        f[q] = from[q];
    for (; q < used; ++q)
        f[q] = full;

    i32 valid = 0;
    i32 item = first;
    for (; item + 1 < first + count; item += 2) {
        const i32 weight = weights[item];
        const i32 weight2 = weights[item + 1];
        const cells_t profit = (cells_t)profits[item];
        const cells_t profit2 = (cells_t)profits[item + 1];
        const cells_t profits_of_both = profit + profit2;
        valid += weight + weight2;
        for (q = used - ${lanes}; q > valid - ${lanes}; q -= ${lanes}) {
            LOCAL const value_t* at = f + q;
            const cells_t neither = LOAD(LOCAL, at);
            const cells_t one = LOAD(LOCAL, at - weight) + profit;
            const cells_t other = LOAD(LOCAL, at - weight2) + profit2;
            const cells_t both = LOAD(LOCAL, at - (weight + weight2)) + profits_of_both;
            const cells_t best = MAX(neither, one);
            const cells_t best2 = MAX(other, both);
            STORE(LOCAL, f + q, MAX(best, best2));
        }
    }
    if (item < first + count) {
        const i32 weight = weights[item];
        const cells_t profit = (cells_t)profits[item];
        valid += weight;
        for (q = used - ${lanes}; q > valid - ${lanes}; q -= ${lanes}) {
            const cells_t without = LOAD(LOCAL, f + q);
            const cells_t with = LOAD(LOCAL, f + (q - weight)) + profit;
            STORE(LOCAL, f + q, MAX(without, with));
        }
    }

    GLOBAL value_t* to = target + (origin - target_base);
    for (q = halo; q + ${lanes} <= used; q += ${lanes})
        STORE(GLOBAL, to + q, LOAD(LOCAL, f + q));
    for (; q < used; ++q)
        to[q] = f[q];
}
