// Optimised before it runs.
// Variant pte: each work-item is one IVM, which selects, branches, bounds and prunes node after node, depth first.
//
// A problem brings state_t and the functions init (the root's state), place (a child's), bound (the children that stay, and on
// which side) and leaf (a leaf's value).
% if subtree_level:
// From level ${subtree_level} on a node is searched to its end in one go, in registers and a stack of its own: see
// enter_subtree and step_subtree. Only nodes above can be stolen, so while most IVMs are idle (a launch of few steps) none is.
% endif
// Launch: one work-item per IVM, ${block} a group.
${masks.declarations()}
${ivm.declarations()}
#define TABLE_SPACE ${"LOCAL" if local_table else "GLOBAL"}
typedef const TABLE_SPACE i32* table_t;
${rule.functions()}
${masks.problem_functions()}
${backtrack.declarations()}
// The item of the level above `depth`, or -1.
#define PARENT_ITEM (depth > 0 ? INDEX_OF_LOWEST(ROW(depth - 1)) : -1)

<%def name="load_table()">
% if local_table:
    LOCAL_ARRAY(i32, table, ${table_words});
    for (i32 word = LOCAL_ID; word < ${table_words}; word += ${block})
        table[word] = data[word];
    BARRIER();
% else:
    table_t table = data;
% endif
</%def>

<%def name="row_store()">
% if block == 1:
    mask_t row_store[${leaf_depth or 1}];
#define ROW(level) row_store[level]
% if subtree_level:
    quad_t quads[${leaf_depth}];
#define STACK(depth) quads
% endif
% elif subtree_level:
    LOCAL_ARRAY(quad_t, quads, ${quads * block});
    LOCAL mask_t* const row_store = (LOCAL mask_t*)quads; // four rows an entry, so that no IVM's stack is in another's way
#define ROW(level) row_store[((((level) >> 2) * ${block} + lane) << 2) + ((level) & 3)]
#define STACK(depth) (quads + ((depth) + 3) / 4 * ${block} + lane)
% elif rows_in_local:
    LOCAL_ARRAY(mask_t, row_store, ${leaf_depth * block if leaf_depth else 1});
#define ROW(level) row_store[(level) * ${block} + lane]
% else:
#define ROW(level) rows[AT(level)]
% endif
</%def>

<%def name="visit_leaf()">
            ++leaves;
            const i32 value = leaf(&NODE, ALL_ITEMS & ~used, table);
% if counts:
            solutions += (u64)${"(value < upper)" if counts == "below" else "value"};
% else:
            if (value < upper) {
                upper = value;
${ivm.record_leaf("ROW(level)")}
            }
% endif
</%def>

<%def name="decompose_node()">
            i32 side = 0;
            ++nodes;
            row = bound(&NODE, depth, ALL_ITEMS & ~used, upper, initial, &side, table);
            pushed += (u32)COUNT(row);
            path_sides = (path_sides & ~ITEM(depth)) | (side ? ITEM(depth) : NO_ITEMS);
</%def>

<%def name="go_on()">
        // The next node is the first open item at `depth`: a child of this node, or a sibling on the way back.
        if (!ANY(row)) {
${backtrack.climb()}
        } else {
${backtrack.leave_fork("row")}
        }
        if (ANY(row)) {
            const i32 before = PARENT_ITEM;
            ROW(depth) = row;
            used |= LOWEST(row);
${backtrack.place_child("INDEX_OF_LOWEST(row)", "before")}
            ++depth;
        } else {
            depth = -1;
        }
</%def>

<%def name="search_nodes()">
    for (i32 step = 1; depth >= 0 && step <= steps; ++step) {
        mask_t row = NO_ITEMS;
        if (depth == LEAF_DEPTH) {
${visit_leaf()}
        } else {
${decompose_node()}
        }
${go_on()}
        if ((step & ${poll - 1}) == 0) {
            if (control->active < least_active)
                break;
% if not counts:
            const i32 shared = *best;
            upper = MIN(upper, shared);
% endif
        }
    }
</%def>

<%def name="search_nodes_and_subtrees()">
    const i32 enters_subtrees = steps > ${ramp_steps};
    i32 in_subtree = 0;
    u32 polls = 0;
    subtree_t subtree;
    subtree.free = 0;
    for (i32 step = 1;;) {
      if (!subtree.free) {
        if (!in_subtree && (depth < 0 || step > steps))
            break;
        mask_t row = NO_ITEMS;
        if (in_subtree) {
            in_subtree = 0;
            nodes += subtree.seen - subtree.complete;
            leaves += subtree.complete;
            pushed += subtree.seen - 1;
            solutions += (u64)subtree.complete * (u64)leaf(&NODE, 0, table);
            step += (i32)subtree.seen;
        } else if (enters_subtrees && depth >= ${subtree_level} && depth < LEAF_DEPTH) {
            in_subtree = 1;
            enter_subtree(&subtree, &NODE, depth, ALL_ITEMS & ~used, STACK(depth), ${block});
        } else if (depth == LEAF_DEPTH) {
${visit_leaf()}
        } else {
${decompose_node()}
        }
        if (!in_subtree) {
${go_on()}
            ++step;
            if ((++polls & ${poll - 1}) == 0 && control->active < least_active)
                step = steps + 1;
        }
      }
% for _ in range(8):
      if (subtree.free)
          step_subtree(&subtree, ${block});
% endfor
    }
</%def>

KERNEL LAUNCH_BOUNDS(${block}, ${groups_per_unit}) explore_ivms(IVMS, INTERVALS, PROGRESS, LEAVES_REACHED, STATE, i32 initial,
    i32 ivms, i32 slots) {
    const i32 ivm = (i32)GLOBAL_ID;
    const i32 lane = LOCAL_ID;
${row_store()}
${load_table()}
    const i32 steps = control->steps;
    const i32 least_active = control->least_active;
    i32 depth = ivm < ivms ? depths[ivm] : -1;
    const i32 began = depth;
    u32 nodes = 0, leaves = 0, pushed = 0;
    u64 solutions = 0;
    mask_t used = NO_ITEMS, path_sides = NO_ITEMS;
${backtrack.states()}
    if (began >= 0) {
        path_sides = sides[ivm];
        depth = 0;
        init(&NODE, table);
        i32 before = -1;
        while (depth < began) {
            const mask_t row = rows[AT(depth)];
            const i32 item = INDEX_OF_LOWEST(row);
% if rows_in_local:
            ROW(depth) = row;
% endif
${backtrack.leave_fork("row")}
            used |= LOWEST(row);
${backtrack.place_child("item", "before")}
            before = item;
            ++depth;
        }
    }
    i32 upper = *best;
% if subtree_level:
${search_nodes_and_subtrees()}
% else:
${search_nodes()}
% endif
    if (began >= 0) {
${ivm.leave_launch("ROW(level)" if rows_in_local else "")}
    }
${ivm.add_counters()}
}

// Let IVMs take up intervals: walk down to `begin`, bounding every node on the way, and keep the open siblings that lie in
// the interval. Where a child on the way is pruned, the search begins at the next open sibling.
// Launch: one work-item per unit, ${block} a group.
KERNEL LAUNCH_BOUNDS(${block}, 1) take_up_units(IVMS, INTERVALS, PROGRESS, STATE, UNITS, i32 count, i32 initial, i32 slots) {
    const i32 unit = (i32)GLOBAL_ID;
${load_table()}
    if (unit < count) {
        const GLOBAL digit_t* begin = units + (i64)unit * UNIT_DIGITS;
        const GLOBAL digit_t* end = begin + ITEMS;
        const i32 first_counted = begin[2 * ITEMS];
        const i32 ivm = targets[unit];
        const i32 upper = *best;
        const i32 last_level = levels_to_begin(begin, end, first_counted);
        for (i32 level = 0; level < ITEMS; ++level) {
            begins[AT(level)] = begin[level];
            ends[AT(level)] = end[level];
        }
        state_t state;
        init(&state, table);
        mask_t used = NO_ITEMS, path_sides = NO_ITEMS;
        i32 depth = 0, before = -1;
        u32 pruned = 0, bounded = 1, nodes = 0, pushed = 0;
        while (depth < last_level && !pruned) {
            i32 side = 0;
            const mask_t open = ALL_ITEMS & ~used;
            mask_t chosen = NO_ITEMS;
            mask_t row = bound(&state, depth, open, upper, initial, &side, table);
            if (depth >= first_counted) {
                ++nodes;
                pushed += (u32)COUNT(row);
            }
            row = items_within(row, open, begin[depth], end[depth], bounded, &chosen);
            bounded = bounded && begin[depth] == end[depth];
            rows[AT(depth)] = row;
            path_sides |= side ? ITEM(depth) : NO_ITEMS;
            pruned = !ANY(row & chosen);
            if (!pruned) {
                const i32 item = INDEX_OF_LOWEST(chosen);
                place(&state, depth, item, before, side, table);
                used |= chosen;
                before = item;
                ++depth;
            }
        }
        if (pruned) {
${ivm.next_open_sibling("rows[AT(depth)]")}
        }
${ivm.leave_path()}
    }
}
