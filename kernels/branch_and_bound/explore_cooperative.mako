// The search where bounds take long: a group of ${lanes} work-items is one IVM, and bounds all children of a node together.
//
// A problem brings group_t, what a group keeps in local memory (with `rows`, the path's; `upper`; `leave`), and
//   reset         the state of the root; a barrier must follow
//   expand        bounds the children of the group's node: those that stay, and on which side; the same in every lane
//   enter_child   the state of the child behind the first open item of rows[depth], if `active`; `back`: of another node than the
//                 group's; after a barrier of its own, as many barriers whatever it is given
//   leaf          the value of a leaf, by one work-item
// With `stores_levels` the state of every node on the path lies in `workspace`, WORKSPACE_WORDS words an IVM, where expand puts
// it: at the begin of a launch the path is expanded again.
// Launch: one group per IVM, or per unit. Barriers stand where every step comes by: a leaf is expanded too, as a node without
// open items.
${masks.declarations()}
${ivm.declarations()}
typedef const GLOBAL i32* table_t;
// The upper bound that prunes nothing.
#define UNBOUNDED 0x3fffffff
% if lanes > 1:
#define SYNC() BARRIER()
% else:
#define SYNC()
% endif
% if stores_levels:
#define STATE const GLOBAL i32* RESTRICT data, GLOBAL i32* RESTRICT workspace
#define STORED_LEVELS (workspace + (i64)ivm * WORKSPACE_WORDS)
% else:
#define STATE const GLOBAL i32* RESTRICT data
#define STORED_LEVELS 0
% endif
<%include file="/${problem}.mako"/>

KERNEL LAUNCH_BOUNDS(${lanes}, ${groups_per_unit}) explore_ivms(IVMS, INTERVALS, PROGRESS, LEAVES_REACHED, STATE, i32 initial,
    i32 ivms, i32 slots) {
    LOCAL_ARRAY(group_t, groups, 1);
    LOCAL group_t* const group = groups;
    table_t table = data;
    const i32 ivm = GROUP_ID;
    const i32 lane = LOCAL_ID;
    GLOBAL i32* const levels = STORED_LEVELS;
    const i32 steps = control->steps;
    const i32 least_active = control->least_active;
    const i32 began = depths[ivm];
    u32 nodes = 0, leaves = 0, pushed = 0;
    u32 solutions = 0;
    mask_t used = NO_ITEMS, path_sides = sides[ivm];
    reset(group, lane, table);
    SYNC();
% if stores_levels:
    i32 depth = began < 0 ? -1 : 0, path_end = began;
% else:
    i32 depth = began;
    for (i32 level = 0; level < began; ++level) {
        const mask_t row = rows[AT(level)];
        if (lane == 0)
            group->rows[level] = row;
        used |= LOWEST(row);
        enter_child(group, lane, level, 1, 0, path_sides, levels, table);
    }
% endif
    i32 leave = 0;
    for (i32 step = 0; depth >= 0 && step < steps && !leave;) {
        const i32 on_path = ${"depth < path_end" if stores_levels else "0"};
        const i32 at_leaf = !on_path && depth == LEAF_DEPTH;
        if (lane == 0 && !on_path) {
            // One work-item reads what others change, so that all lanes see the same.
            if (step % ${poll} == 0) {
                const i32 shared = *best;
                group->upper = MIN(shared, initial);
                group->leave = control->active < least_active;
            }
            if (at_leaf) {
                const i32 value = leaf(group, ALL_ITEMS & ~used, table);
% if counts:
                solutions += value < group->upper;
% else:
                if (value < group->upper) {
                    group->upper = value;
${ivm.record_leaf("group->rows[level]")}
                }
% endif
            }
        }
        SYNC();
        leave = on_path ? 0 : group->leave;
        const i32 upper = on_path ? UNBOUNDED : group->upper;
        i32 side = 0;
        mask_t row = expand(group, lane, depth, at_leaf ? NO_ITEMS : ALL_ITEMS & ~used, upper, initial, &side, levels, table);
        i32 back = 0;
        if (on_path) {
            row = rows[AT(depth)];
        } else {
            ++step;
            leaves += (u32)at_leaf;
            nodes += (u32)!at_leaf;
            pushed += (u32)COUNT(row);
            if (!at_leaf)
                path_sides = (path_sides & ~ITEM(depth)) | (side ? ITEM(depth) : NO_ITEMS);
            // The next node is the first open item at `depth`: a child of this node, or a sibling on the way back.
            back = !ANY(row);
            while (depth > 0 && !ANY(row)) {
                --depth;
                row = group->rows[depth];
                used ^= LOWEST(row);
                row ^= LOWEST(row);
            }
        }
        SYNC();
        if (lane == 0)
            group->rows[depth] = row;
        enter_child(group, lane, depth, ANY(row), back, path_sides, levels, table);
        used |= LOWEST(row);
        depth = ANY(row) ? depth + 1 : -1;
% if stores_levels:
        path_end = depth < path_end ? path_end : 0;
% endif
    }
    SYNC();
    if (began >= 0 && lane == 0) {
${ivm.leave_launch("group->rows[level]")}
        ATOMIC_ADD_U64(&counters->nodes, nodes);
        ATOMIC_ADD_U64(&counters->leaves, leaves);
        ATOMIC_ADD_U64(&counters->pushed, pushed);
        ATOMIC_ADD_U64(&counters->solutions, solutions);
    }
}

// As in explore.mako.
// Launch: one group of ${lanes} work-items per unit.
KERNEL LAUNCH_BOUNDS(${lanes}, 1) take_up_units(IVMS, INTERVALS, PROGRESS, STATE, UNITS, i32 count, i32 initial, i32 slots) {
    LOCAL_ARRAY(group_t, groups, 1);
    LOCAL group_t* const group = groups;
    table_t table = data;
    const i32 lane = LOCAL_ID;
    const GLOBAL digit_t* begin = units + (i64)GROUP_ID * UNIT_DIGITS;
    const GLOBAL digit_t* end = begin + ITEMS;
    const i32 first_counted = begin[2 * ITEMS];
    const i32 ivm = targets[GROUP_ID];
    GLOBAL i32* const levels = STORED_LEVELS;
    const i32 last_level = levels_to_begin(begin, end, first_counted);
    if (lane == 0)
        group->upper = *best;
    reset(group, lane, table);
    SYNC();
    const i32 upper = group->upper;
    mask_t used = NO_ITEMS, path_sides = NO_ITEMS;
    i32 depth = 0;
    u32 pruned = 0, bounded = 1, nodes = 0, pushed = 0;
    while (depth < last_level && !pruned) {
        i32 side = 0;
        const mask_t open = ALL_ITEMS & ~used;
        mask_t chosen = NO_ITEMS;
        mask_t row = expand(group, lane, depth, open, upper, initial, &side, levels, table);
        if (depth >= first_counted) {
            ++nodes;
            pushed += (u32)COUNT(row);
        }
        row = items_within(row, open, begin[depth], end[depth], bounded, &chosen);
        bounded = bounded && begin[depth] == end[depth];
        if (lane == 0)
            group->rows[depth] = row;
        path_sides |= side ? ITEM(depth) : NO_ITEMS;
        pruned = !ANY(row & chosen);
        enter_child(group, lane, depth, !pruned, 0, path_sides, levels, table);
        used |= pruned ? NO_ITEMS : chosen;
        depth += !pruned;
    }
    SYNC();
    if (lane == 0) {
        if (pruned) {
${ivm.next_open_sibling("group->rows[depth]")}
        }
        for (i32 level = 0; level < ITEMS; ++level) {
            begins[AT(level)] = begin[level];
            ends[AT(level)] = end[level];
            if (level < depth)
                rows[AT(level)] = group->rows[level];
        }
${ivm.leave_path()}
    }
}
