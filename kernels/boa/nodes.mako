<%doc>
Greedy edge addition beside the choice of parents, at all levels: which nodes are open, and the planes of subsets of their parents.

`active`, `parents` and `parent_count` are as in learn.mako, `pairs` and `pair_table` too.
</%doc>
<% row_of_rest = "(1 << top) - 1 - top + rest - (1 << top) - 1" if pair_table else "rest - 1" %>
${status.declaration()}
// open_nodes: all slots at level 0 and, later, those that have just been given a parent and have a candidate left.
// Launch: one group.
KERNEL LAUNCH_BOUNDS(${group}, 1) open_nodes(i32 level, i32 slots, i32 first_node, const GLOBAL i32* RESTRICT parent_count,
    GLOBAL i32* RESTRICT active, const GLOBAL status_t* RESTRICT status) {
    if (status->reason != 0)
        return;
    LOCAL_ARRAY(i32, part, ${group});
    i32 before = 0;
    for (i32 base = 0; base < slots; base += ${group}) {
        const i32 slot = base + LOCAL_ID;
        const i32 mine = slot < slots
            && (level == 0 || (first_node + slot > level && parent_count[first_node + slot] == level));
% if group > 1:
        part[LOCAL_ID] = mine;
${scan.block_inclusive("part", "i32", group)}
        if (mine)
            active[before + part[LOCAL_ID]] = slot;
        before += part[${group - 1}];
        BARRIER();
% else:
        if (mine)
            active[1 + before] = slot;
        before += mine;
% endif
    }
    if (LOCAL_ID == 0)
        active[0] = before;
}

// extend_masks: planes of the subsets with p_s, for each open node: plane of p_s AND plane of the rest.
// Launch: work-items share the words of all rows.
KERNEL LAUNCH_BOUNDS(${block}, 1) extend_masks(const GLOBAL u32* RESTRICT planes, i32 words, GLOBAL u32* RESTRICT masks,
    const GLOBAL i32* RESTRICT active, const GLOBAL i32* RESTRICT parents, i32 level, i32 per, i32 base, i32 rows,
    i32 first_node, const GLOBAL status_t* RESTRICT status) {
    if (status->reason != 0)
        return;
    const i64 lines = (i64)active[0] * per;
    const i32 wide = words / 16;
    for (i64 item = GLOBAL_ID; item < lines * wide; item += GLOBAL_SIZE) {
        const i32 line = (i32)(item / wide);
        const i32 start = (i32)(item % wide) * 16;
        const i32 slot = active[1 + line / per];
        const i32 node = first_node + slot;
        const i32 place = line % per;
        const i32 rest = place + (1 << level) - per;
        const i32 member = level == 0 ? node : parents[(i64)node * ${max_parents} + level - 1];
        const GLOBAL u32* newest = planes + (i64)member * words + start;
        const GLOBAL u32* others = newest;
        i32 top = 0;
        while (rest >> (top + 1))
            ++top;
        if (rest == 1 << top)
            others = planes + (i64)(top == 0 ? node : parents[(i64)node * ${max_parents} + top - 1]) * words + start;
        else if (rest)
            others = masks + ((i64)slot * rows + ${row_of_rest}) * words + start;
        GLOBAL u32* target = masks + ((i64)slot * rows + base + place) * words + start;
        for (i32 w = 0; w < 16; ++w)
            target[w] = newest[w] & others[w];
    }
}

// count_ones: how many of the selected have each gene at one.
// Launch: a group of ${block} work-items a gene.
KERNEL LAUNCH_BOUNDS(${block}, 1) count_ones(const GLOBAL u32* RESTRICT planes, i32 words, GLOBAL i32* RESTRICT pairs,
    const GLOBAL status_t* RESTRICT status) {
    LOCAL_ARRAY(i32, part, ${block});
    if (status->reason != 0)
        return;
    const GLOBAL u32* plane = planes + (i64)GROUP_ID * words;
    i32 sum = 0;
    for (i32 w = LOCAL_ID; w < words; w += ${block})
        sum += COUNT_BITS_U32(plane[w]);
    ${reduce.group_reduce("part", "i32", block, [("sum", "sum")])}
    if (LOCAL_ID == 0)
        pairs[GROUP_ID] = sum;
}
