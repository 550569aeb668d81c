// Variant pte_peb: a step of all IVMs in launches of its own kind: count the children of the selected nodes; their prefix
// sums say where each node's children go in one dense list; bound the children in parallel, one a work-item; then each
// IVM prunes, and goes to its next node. For bounds that take so long that a node's children should not wait for each
// other.
// offsets   where the children of each IVM's node begin; owners, items   of each child
// children  how many there are, which only the device knows: as many work-items as there may be are launched
// fronts, backs   the bounds of each child in front and at the back
// Launch: one work-item per IVM, or per child; ${block} a group.
${masks.declarations()}
${ivm.declarations()}
#define TABLE_SPACE GLOBAL
typedef const TABLE_SPACE i32* table_t;
${rule.functions()}
${masks.problem_functions()}

// Items on the path to an IVM's node.
FUNCTION mask_t items_used(const GLOBAL mask_t* rows, i32 slots, i32 ivm, i32 depth) {
    mask_t used = NO_ITEMS;
    for (i32 level = 0; level < depth; ++level)
        used |= LOWEST(rows[(i64)level * slots + ivm]);
    return used;
}

// The state of an IVM's node.
FUNCTION void restore_path(state_t* state, const GLOBAL mask_t* rows, i32 slots, i32 ivm, i32 depth, mask_t path_sides,
    table_t table) {
    i32 before = -1;
    init(state, table);
    for (i32 level = 0; level < depth; ++level) {
        const i32 item = INDEX_OF_LOWEST(rows[(i64)level * slots + ivm]);
        place(state, level, item, before, (i32)HAS(path_sides, level), table);
        before = item;
    }
}

KERNEL LAUNCH_BOUNDS(${block}, 1) count_children(const GLOBAL i32* RESTRICT depths, GLOBAL i32* RESTRICT counts, i32 ivms) {
    const i32 ivm = (i32)GLOBAL_ID;
    if (ivm < ivms) {
        const i32 depth = depths[ivm];
        counts[ivm] = depth < 0 || depth == LEAF_DEPTH ? 0 : ITEMS - depth;
    }
}

KERNEL LAUNCH_BOUNDS(${block}, 1) list_children(const GLOBAL mask_t* RESTRICT rows, const GLOBAL i32* RESTRICT depths,
    const GLOBAL i32* RESTRICT offsets, GLOBAL i32* RESTRICT owners, GLOBAL digit_t* RESTRICT items, i32 ivms, i32 slots) {
    const i32 ivm = (i32)GLOBAL_ID;
    if (ivm < ivms) {
        const i32 depth = depths[ivm];
        if (depth >= 0 && depth < LEAF_DEPTH) {
            i32 at = offsets[ivm];
            for (mask_t left = ALL_ITEMS & ~items_used(rows, slots, ivm, depth); ANY(left); left = WITHOUT_LOWEST(left)) {
                owners[at] = ivm;
                items[at] = (digit_t)INDEX_OF_LOWEST(left);
                ++at;
            }
        }
    }
}

KERNEL LAUNCH_BOUNDS(${block}, 1) bound_children(const GLOBAL mask_t* RESTRICT rows, const GLOBAL mask_t* RESTRICT sides,
    const GLOBAL i32* RESTRICT depths, const GLOBAL i32* RESTRICT owners, const GLOBAL digit_t* RESTRICT items,
    GLOBAL i32* RESTRICT fronts, GLOBAL i32* RESTRICT backs, const GLOBAL i32* RESTRICT table,
    const GLOBAL i64* RESTRICT children, i32 slots) {
    const i32 child = (i32)GLOBAL_ID;
    if (child < (i32)children[0]) {
        const i32 ivm = owners[child];
        const i32 depth = depths[ivm];
        const mask_t open = ALL_ITEMS & ~items_used(rows, slots, ivm, depth);
        state_t state;
        restore_path(&state, rows, slots, ivm, depth, sides[ivm], table);
        i32 front = 0, back = 0;
        child_bounds(&state, depth, open, items[child], &front, &back, table);
        fronts[child] = front;
        backs[child] = back;
    }
}

KERNEL LAUNCH_BOUNDS(${block}, 1) prune_children(IVMS, INTERVALS, PROGRESS, LEAVES_REACHED, const GLOBAL i32* RESTRICT table,
    const GLOBAL i32* RESTRICT offsets, const GLOBAL i32* RESTRICT fronts, const GLOBAL i32* RESTRICT backs, i32 initial,
    i32 ivms, i32 slots) {
    const i32 ivm = (i32)GLOBAL_ID;
    u32 nodes = 0, leaves = 0, pushed = 0, solutions = 0;
    i32 depth = ivm < ivms ? depths[ivm] : -1;
    if (depth >= 0) {
        const i32 upper = *best;
        const mask_t open = ALL_ITEMS & ~items_used(rows, slots, ivm, depth);
        mask_t survivors = NO_ITEMS, path_sides = sides[ivm];
        if (depth == LEAF_DEPTH) {
            state_t state;
            restore_path(&state, rows, slots, ivm, depth, path_sides, table);
            const i32 value = leaf(&state, open, table);
            ++leaves;
% if counts:
            solutions = ${"value < upper" if counts == "below" else "(u32)value"};
% else:
            if (value < upper) {
${ivm.record_leaf("rows[AT(level)]")}
            }
% endif
        } else {
            rule_t rule;
            begin_rule(&rule);
            i32 at = offsets[ivm];
            for (mask_t left = open; ANY(left); left = WITHOUT_LOWEST(left)) {
                judge(&rule, LOWEST(left), fronts[at], backs[at], upper, initial);
                ++at;
            }
            const i32 side = choose_side(rule.pruned, rule.difference, depth);
            survivors = side ? rule.kept_back : rule.kept_front;
% if refines:
            if (ANY(survivors)) {
                state_t state;
                restore_path(&state, rows, slots, ivm, depth, path_sides, table);
                survivors = refine(&state, depth, open, survivors, side, upper, table);
            }
% endif
            path_sides = (path_sides & ~ITEM(depth)) | (side ? ITEM(depth) : NO_ITEMS);
            ++nodes;
            pushed = (u32)COUNT(survivors);
        }
        mask_t row = survivors;
        while (depth > 0 && !ANY(row)) {
            --depth;
            row = WITHOUT_LOWEST(rows[AT(depth)]);
        }
        if (ANY(row))
            rows[AT(depth)] = row;
        depth = ANY(row) ? depth + 1 : -1;
${ivm.leave_launch()}
    }
${ivm.add_counters()}
}
