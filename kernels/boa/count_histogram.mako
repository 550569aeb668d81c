// Counting as the paper does it, one group a node: a histogram of configurations in local memory for each candidate.
//
// The histogram of (node, parents, candidate) is then summed over supersets, which gives the counts of rows.mako.
// Source: Munawar, Wahib, Munetomo, Akama (2009), section IV-A (the BD kernel); its fixed lists in shared memory are not
// copied, so n is not limited.
// Launch: a group of ${block} work-items a node; level 0 counts pairs, level s the subsets with p_s.
${status.declaration()}
% for mode in ("pairs", "rows"):

KERNEL LAUNCH_BOUNDS(${block}, 1) count_${mode}(${rows.row_arguments()},
    const GLOBAL i32* RESTRICT parents, i32 max_parents, i32 selected) {
    LOCAL_ARRAY(i32, histogram, ${4 << max_level});
    LOCAL_ARRAY(i32, member, ${max_level + 2});
% if mode == "pairs":
    const i32 slot = GROUP_ID;
    const i32 node = slot;
    const i32 candidates = node + 1;
    if (status->reason != 0)
        return;
% else:
    if (status->reason != 0 || GROUP_ID >= active[0])
        return;
    const i32 slot = active[1 + GROUP_ID];
    const i32 node = first_node + slot;
    const i32 candidates = node;
% endif
    const i32 cells = 4 << level;
    if (LOCAL_ID == 0) {
        member[0] = node;
        for (i32 i = 0; i < level; ++i)
            member[1 + i] = parents[(i64)node * max_parents + i];
    }
    for (i32 j = 0; j < candidates; ++j) {
        for (i32 cell = LOCAL_ID; cell < cells; cell += ${block})
            histogram[cell] = 0;
        BARRIER();
        for (i32 individual = LOCAL_ID; individual < selected; individual += ${block}) {
            const i32 word = individual / 32;
            const i32 bit = individual % 32;
            i32 cell = 0;
            for (i32 i = 0; i <= level; ++i)
                cell |= (i32)((planes[(i64)member[i] * words + word] >> bit) & 1u) << i;
            cell |= (i32)((planes[(i64)j * words + word] >> bit) & 1u) << (level + 1);
% if block > 1:
            ATOMIC_ADD_I32(&histogram[cell], 1);
% else:
            histogram[cell] += 1;
% endif
        }
        BARRIER();
        if (LOCAL_ID == 0)
            for (i32 i = 0; i < level + 2; ++i)
                for (i32 cell = 0; cell < cells; ++cell)
                    if (!(cell >> i & 1))
                        histogram[cell] += histogram[cell | 1 << i];
        BARRIER();
% if mode == "pairs":
        if (LOCAL_ID == 0) {
            pairs[(i64)node * n + j] = histogram[3];
            pairs[(i64)j * n + node] = histogram[3];
        }
% else:
        const i32 lowest = (1 << level) - per;
        for (i32 m = LOCAL_ID; m < per; m += ${block})
            counts[((i64)slot * rows + base + m) * n + j] = histogram[(2 << level) | (1 << level) | (m + lowest)];
% endif
        BARRIER();
    }
}
% endfor
