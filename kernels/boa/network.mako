<%doc>
From a learned structure to what sampling needs. Nodes are ranks; all arrays as in learn.mako.
</%doc>
// count_configurations: totals of a structure that is already there, from the selected individuals.
// Launch: a group of ${block} work-items a node.
${status.declaration()}
KERNEL LAUNCH_BOUNDS(${block}, 1) count_configurations(const GLOBAL u32* RESTRICT planes, i32 words, i32 selected,
    const GLOBAL i32* RESTRICT parents, const GLOBAL i32* RESTRICT parent_count, GLOBAL i32* RESTRICT totals,
    const GLOBAL status_t* RESTRICT status) {
    LOCAL_ARRAY(i32, histogram, ${2 << max_parents});
    if (status->reason != 0)
        return;
    const i32 node = GROUP_ID;
    const i32 degree = parent_count[node];
    const i32 cells = 2 << degree;
    for (i32 cell = LOCAL_ID; cell < cells; cell += ${block})
        histogram[cell] = 0;
    BARRIER();
    for (i32 word = LOCAL_ID; word < (selected + 31) / 32; word += ${block}) {
        const i32 left = selected - 32 * word;
        const u32 valid = left >= 32 ? 0xFFFFFFFFu : (1u << left) - 1u;
        for (i32 cell = 0; cell < cells; ++cell) {
            u32 bits = planes[(i64)node * words + word];
            u32 both = valid & (cell & 1 ? bits : ~bits);
            for (i32 i = 0; i < degree; ++i) {
                bits = planes[(i64)parents[(i64)node * ${max(1, max_parents)} + i] * words + word];
                both &= (cell >> (i + 1)) & 1 ? bits : ~bits;
            }
            if (both)
                ATOMIC_ADD_I32(&histogram[cell], COUNT_BITS_U32(both));
        }
    }
    BARRIER();
    for (i32 cell = LOCAL_ID; cell < cells; cell += ${block})
        totals[(i64)node * ${2 << max_parents} + cell] = histogram[cell];
}

// make_probabilities: thresholds[node 2^max_parents + c] = chance of a one in configuration c of the parents, in 2^-31,
//   ${"(ones + 1) / (zeros + ones + 2)" if laplace else "ones / (zeros + ones), or 1/2 where both are zero"}
// Launch: work-items share all configurations of all nodes.
KERNEL LAUNCH_BOUNDS(${block}, 1) make_probabilities(const GLOBAL i32* RESTRICT totals, const GLOBAL i32* RESTRICT parent_count,
    i32 n, GLOBAL u32* RESTRICT thresholds, const GLOBAL status_t* RESTRICT status) {
    if (status->reason != 0)
        return;
    for (i64 item = GLOBAL_ID; item < (i64)n << ${max_parents}; item += GLOBAL_SIZE) {
        const i64 node = item >> ${max_parents};
        const i32 configuration = (i32)(item & ${(1 << max_parents) - 1});
        if (configuration < 1 << parent_count[node]) {
            const GLOBAL i32* pair = totals + node * ${2 << max_parents} + 2 * configuration;
            const u64 ones = (u64)pair[1];
            const u64 both = ones + (u64)pair[0];
% if laplace:
            thresholds[item] = (u32)(((ones + 1) << 31) / (both + 2));
% else:
            thresholds[item] = both ? (u32)((ones << 31) / both) : 0x40000000u;
% endif
        }
    }
}

// plan_levels: nodes by depth (longest path from a root), so that those of one depth can be sampled together.
// levels[0] is their number; nodes of depth d are schedule[levels[1 + d]] .. schedule[levels[2 + d] - 1], in any order.
// Launch: one group; depth and levels hold n and n + 2 numbers.
KERNEL LAUNCH_BOUNDS(${group}, 1) plan_levels(const GLOBAL i32* RESTRICT parents, const GLOBAL i32* RESTRICT parent_count, i32 n,
    GLOBAL i32* depth, GLOBAL i32* levels, GLOBAL i32* RESTRICT schedule, const GLOBAL status_t* RESTRICT status) {
    LOCAL_ARRAY(i32, changed, 1);
    if (status->reason != 0)
        return;
    for (i32 node = LOCAL_ID; node < n; node += ${group})
        depth[node] = 0;
    i32 again = 1;
    while (again) {
        if (LOCAL_ID == 0)
            changed[0] = 0;
        BARRIER();
        for (i32 node = LOCAL_ID; node < n; node += ${group}) {
            i32 deepest = depth[node];
            for (i32 i = 0; i < parent_count[node]; ++i)
                deepest = MAX(deepest, depth[parents[(i64)node * ${max(1, max_parents)} + i]] + 1);
            if (deepest != depth[node]) {
                depth[node] = deepest;
                changed[0] = 1;
            }
        }
        BARRIER();
        again = changed[0];
        BARRIER();
    }
    for (i32 node = LOCAL_ID; node < n + 2; node += ${group})
        levels[node] = 0;
    BARRIER();
    for (i32 node = LOCAL_ID; node < n; node += ${group})
        ATOMIC_ADD_I32(&levels[2 + depth[node]], 1);
    BARRIER();
    if (LOCAL_ID == 0) {
        i32 deepest = 0, before = 0;
        while (deepest < n && levels[2 + deepest] > 0) {
            const i32 here = levels[2 + deepest];
            levels[1 + deepest] = before;
            before += here;
            deepest += 1;
        }
        levels[0] = deepest;
        levels[1 + deepest] = n;
    }
    BARRIER();
    // levels[1 + d] is where depth d begins; the next node of depth d goes to the place it has moved to.
    for (i32 node = LOCAL_ID; node < n; node += ${group})
        schedule[ATOMIC_ADD_I32(&levels[1 + depth[node]], 1)] = node;
    BARRIER();
    if (LOCAL_ID == 0) {
        for (i32 d = levels[0]; d > 0; --d)
            levels[1 + d] = levels[d];
        levels[1] = 0;
    }
}
