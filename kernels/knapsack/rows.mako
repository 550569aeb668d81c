// target[c] = max(source[c], source[c - weight] + profit)      Bellman's recurrence, one item (the paper's kernel)
//
// Launch: work-group g owns the `span` cells from target_lo + g * span on; no local memory, no barrier.
// `lanes` > 1 (CPUs): a group is one work-item that walks its cells in vectors.
${row.declarations()}
% if lanes == 1:

KERNEL LAUNCH_BOUNDS(${block}, 1) advance_row(${row.arguments()}, i64 span, i64 weight, value_t profit) {
    const i64 first = target_lo + GROUP_ID * span + LOCAL_ID;
    const i64 last = MIN(first - LOCAL_ID + span - 1, target_hi);
    for (i64 c = first; c <= last; c += ${block}) {
        const value_t without = READ(c);
        const value_t with = READ(c - weight) + profit;
        target[c - target_base] = MAX(without, with);
    }
}
% else:
<%def name="region(to, wide, narrow)">
    for (; c + ${lanes - 1} <= MIN(last, ${to}); c += ${lanes})
        STORE(GLOBAL, target + (c - target_base), ${wide});
    for (; c <= MIN(last, ${to}); ++c)
        target[c - target_base] = ${narrow};
</%def>

KERNEL LAUNCH_BOUNDS(1, 1) advance_row(${row.arguments()}, i64 span, i64 weight, value_t profit) {
    i64 c = target_lo + GROUP_ID * span;
    const i64 last = MIN(c + span - 1, target_hi);
    const i64 reach = source_lo + weight;      // the first cell that can hold the item
    const GLOBAL value_t* without = source - source_base;
    const GLOBAL value_t* with = source - source_base - weight;
${region("MIN(reach - 1, source_hi)", "LOAD(GLOBAL, without + c)", "without[c]")}
${region("reach - 1", "(cells_t)full", "full")}
<% both = "MAX(LOAD(GLOBAL, without + c), LOAD(GLOBAL, with + c) + (cells_t)profit)" %>\
${region("source_hi", both, "MAX(without[c], with[c] + profit)")}
${region("last", "MAX((cells_t)full, LOAD(GLOBAL, with + c) + (cells_t)profit)", "MAX(full, with[c] + profit)")}
}
% endif
