<%namespace name="masks" file="/branch_and_bound/masks.mako"/>
<%namespace name="rule" file="/branch_and_bound/rule.mako"/>
// Variant pte: each work-item is one IVM, which selects, branches, bounds and prunes node after node, depth first.
//
// rows[l]   the open siblings at level l of the path, one mask each; the lowest is the chosen one (the vector's entry)
// sides     bit l: on which side level l's item is placed
// depth     level of the node to decompose next (the integer); -1 while idle
// begins, ends   the interval, as digits; explored   digit sums by level of what this IVM has finished
// All but `sides` and `depths` hold one value per level and IVM, at level * slots + ivm.
// control   [ACTIVE] IVMs with work, [LEAST_ACTIVE] leave the launch when fewer are active, [STEPS] most nodes in this launch
// counters  nodes decomposed, leaves, children not pruned, solutions counted
// found     for each IVM the best value it has reached below the bound, then the path to it
% if backtrack == "saved":
// workspace   of every level and IVM, ${saved_quads} entries of four words: the state of its node and the set of its items; valid where
//           the node has more open children than the one on the path; a level's entries are workspace_stride IVMs apart
% endif
% if bottom:
// From level ${bottom} on a node is searched to its end in one go, in registers and a stack of its own: see enter_bottom and
// step_bottom. Only nodes above can be stolen, so while most IVMs are idle (a launch of few steps) none is.
% endif
// Launch: one work-item per IVM, ${block} a group.
<% workspace = "GLOBAL i32* RESTRICT workspace, i32 workspace_stride, " if backtrack == "saved" else "" %>
${masks.declarations()}
#define TABLE_SPACE ${"LOCAL" if local_table else "GLOBAL"}
typedef const TABLE_SPACE i32* table_t;
${rule.functions()}
${masks.problem_functions()}

% if backtrack == "saved":
#define SAVED(level) (saved + ((i64)(level) * workspace_stride + ivm) * ${saved_quads})
FUNCTION void save_node(const state_t* state, mask_t used, GLOBAL quad_t* to)
{
    u32 words[${4 * saved_quads}];
    save(state, words);
% for k in range(mask_words):
    words[${4 * saved_quads - mask_words + k}] = WORD(used, ${k});
% endfor
% for k in range(saved_quads):
    to[${k}] = QUAD(words[${4 * k}], words[${4 * k + 1}], words[${4 * k + 2}], words[${4 * k + 3}]);
% endfor
}

FUNCTION mask_t restore_node(state_t* state, const GLOBAL quad_t* from)
{
    u32 words[${4 * saved_quads}];
% for k in range(saved_quads):
    {
        const quad_t quad = from[${k}];
        words[${4 * k}] = quad.x;
        words[${4 * k + 1}] = quad.y;
        words[${4 * k + 2}] = quad.z;
        words[${4 * k + 3}] = quad.w;
    }
% endfor
    restore(state, words);
    mask_t used = NO_ITEMS;
% for k in range(mask_words):
    used |= OF_WORD(words[${4 * saved_quads - mask_words + k}], ${k});
% endfor
    return used;
}
% endif

KERNEL LAUNCH_BOUNDS(${block}, ${groups_per_unit}) explore(GLOBAL mask_t* RESTRICT rows, GLOBAL mask_t* RESTRICT sides,
    GLOBAL i32* RESTRICT depths, const GLOBAL u8* RESTRICT begins, const GLOBAL u8* RESTRICT ends,
    GLOBAL i32* RESTRICT explored, volatile GLOBAL i32* best, GLOBAL i32* RESTRICT found_value,
    GLOBAL u8* RESTRICT found_path, GLOBAL mask_t* RESTRICT found_sides, volatile GLOBAL i32* control,
    GLOBAL u64* counters, const GLOBAL i32* RESTRICT data, ${workspace}i32 initial, i32 ivms, i32 slots)
{
    const i32 ivm = (i32)GLOBAL_ID;
    const i32 me = LOCAL_ID;
% if block > 1:
    LOCAL_ARRAY(u32, sums, 4);
% if bottom:
    LOCAL_ARRAY(quad_t, quads, ${quads * block});
    LOCAL mask_t* const row_store = (LOCAL mask_t*)quads; // four rows an entry, so that no IVM's stack is in another's way
#define ROW(level) row_store[((((level) >> 2) * ${block} + me) << 2) + ((level) & 3)]
#define STACK(depth) (quads + ((depth) + 3) / 4 * ${block} + me)
% elif rows_in_local:
    LOCAL_ARRAY(mask_t, row_store, ${leaf_depth * block if leaf_depth else 1});
#define ROW(level) row_store[(level) * ${block} + me]
% else:
#define ROW(level) rows[(i64)(level) * slots + ivm]
% endif
    if (me < 4)
        sums[me] = 0;
% if local_table:
    LOCAL_ARRAY(i32, table, ${table_words});
    for (i32 word = me; word < ${table_words}; word += ${block})
        table[word] = data[word];
% endif
    BARRIER();
% else:
    mask_t row_store[${leaf_depth or 1}];
#define ROW(level) row_store[level]
% if bottom:
    quad_t quads[${leaf_depth}];
#define STACK(depth) quads
% endif
% endif
% if not local_table:
    table_t table = data;
% endif
    const i32 steps = control[STEPS];
    const i32 least_active = control[LEAST_ACTIVE];
    i32 depth = ivm < ivms ? depths[ivm] : -1;
    const i32 began = depth;
    u32 nodes = 0, leaves = 0, pushed = 0;
    u64 solutions = 0;
% if backtrack == "stack":
    state_t stack[${leaf_depth + 1}];
#define STATE stack[depth]
% else:
    state_t state;
#define STATE state
% endif
    mask_t used = NO_ITEMS, turned = NO_ITEMS;
% if backtrack == "saved":
    GLOBAL quad_t* const saved = (GLOBAL quad_t*)workspace;
    mask_t forks = NO_ITEMS; // the levels with an open sibling
% endif
    if (began >= 0) {
        turned = sides[ivm];
        depth = 0;
        init(&STATE, table);
        i32 before = -1;
        while (depth < began) {
            const mask_t row = rows[(i64)depth * slots + ivm];
            const i32 item = INDEX_OF_LOWEST(row);
% if rows_in_local:
            ROW(depth) = row;
% endif
% if backtrack == "saved":
            if (ANY(WITHOUT_LOWEST(row))) {
                forks |= ITEM(depth);
                save_node(&state, used, SAVED(depth));
            }
% endif
            used |= LOWEST(row);
% if backtrack == "stack":
            stack[depth + 1] = stack[depth];
            place(&stack[depth + 1], depth, item, before, (i32)HAS(turned, depth), table);
% else:
            place(&state, depth, item, before, (i32)HAS(turned, depth), table);
% endif
            before = item;
            ++depth;
        }
    }
    i32 upper = *best;
% if bottom:
    const i32 dive = steps > ${ramp_steps};
    i32 below = 0;
    u32 turns = 0;
    bottom_t bottom;
    bottom.free = 0;
    for (i32 step = 1;;) {
      if (!bottom.free) {
        if (!below && (depth < 0 || step > steps))
            break;
        mask_t survivors = NO_ITEMS;
        if (below) {
            below = 0;
            nodes += bottom.seen - bottom.found;
            leaves += bottom.found;
            pushed += bottom.seen - 1;
            solutions += (u64)bottom.found * (u64)leaf(&STATE, 0, table);
            step += (i32)bottom.seen;
        } else if (dive && depth >= ${bottom} && depth < LEAF_DEPTH) {
            below = 1;
            enter_bottom(&bottom, &STATE, depth, ALL_ITEMS & ~used, STACK(depth), ${block});
        } else if (depth == LEAF_DEPTH) {
% else:
    for (i32 step = 1; depth >= 0 && step <= steps; ++step) {
        mask_t survivors = NO_ITEMS;
        if (depth == LEAF_DEPTH) {
% endif
            ++leaves;
% if counts:
            solutions += (u64)${"(leaf(&STATE, ALL_ITEMS & ~used, table) < upper)" if counts == "below" else "leaf(&STATE, ALL_ITEMS & ~used, table)"};
% else:
            const i32 value = leaf(&STATE, ALL_ITEMS & ~used, table);
            if (value < upper) {
                upper = value;
                ATOMIC_MIN_I32(best, value);
                if (value < found_value[ivm]) {
                    found_value[ivm] = value;
                    for (i32 level = 0; level < LEAF_DEPTH; ++level)
                        found_path[(i64)level * slots + ivm] = (u8)INDEX_OF_LOWEST(ROW(level));
                    found_sides[ivm] = turned;
                }
            }
% endif
        } else {
            i32 side = 0;
            ++nodes;
            survivors = bound(&STATE, depth, ALL_ITEMS & ~used, upper, initial, &side, table);
            pushed += (u32)COUNT(survivors);
            turned = (turned & ~ITEM(depth)) | (side ? ITEM(depth) : NO_ITEMS);
        }
% if bottom:
        if (!below) {
% endif
        // The next node is the first open item at `depth`: a child of this node, or a sibling on the way back.
        mask_t row = survivors;
% if backtrack == "saved":
        if (!ANY(row)) {
            if (ANY(forks)) {
                depth = INDEX_OF_HIGHEST(forks);
                row = WITHOUT_LOWEST(ROW(depth));
                used = restore_node(&state, SAVED(depth));
                if (!ANY(WITHOUT_LOWEST(row)))
                    forks ^= ITEM(depth);
            }
        } else if (ANY(WITHOUT_LOWEST(row))) {
            forks |= ITEM(depth);
            save_node(&state, used, SAVED(depth));
        }
        if (ANY(row)) {
            const i32 before = depth > 0 ? INDEX_OF_LOWEST(ROW(depth - 1)) : -1;
            ROW(depth) = row;
            used |= LOWEST(row);
            place(&state, depth, INDEX_OF_LOWEST(row), before, (i32)HAS(turned, depth), table);
            ++depth;
        } else {
            depth = -1;
        }
% else:
        if (!ANY(row)) {
            while (depth > 0 && !ANY(row)) {
                --depth;
                row = ROW(depth);
                const mask_t chosen = LOWEST(row);
                used ^= chosen;
                row ^= chosen;
% if backtrack == "retract":
                retract(&state, depth, INDEX_OF_LOWEST(chosen), depth > 0 ? INDEX_OF_LOWEST(ROW(depth - 1)) : -1,
                    (i32)HAS(turned, depth), table);
% endif
            }
% if backtrack == "rebuild":
            if (ANY(row)) {
                init(&state, table);
                i32 before = -1;
                for (i32 level = 0; level < depth; ++level) {
                    const i32 item = INDEX_OF_LOWEST(ROW(level));
                    place(&state, level, item, before, (i32)HAS(turned, level), table);
                    before = item;
                }
            }
% endif
        }
        if (ANY(row)) {
            const i32 before = depth > 0 ? INDEX_OF_LOWEST(ROW(depth - 1)) : -1;
            ROW(depth) = row;
            used |= LOWEST(row);
% if backtrack == "stack":
            stack[depth + 1] = stack[depth];
            place(&stack[depth + 1], depth, INDEX_OF_LOWEST(row), before, (i32)HAS(turned, depth), table);
% else:
            place(&state, depth, INDEX_OF_LOWEST(row), before, (i32)HAS(turned, depth), table);
% endif
            ++depth;
        } else {
            depth = -1;
        }
% endif
% if bottom:
        ++step;
        if ((++turns & ${poll - 1}) == 0 && control[ACTIVE] < least_active)
            step = steps + 1;
        }
      }
% for _ in range(8):
      if (bottom.free)
          step_bottom(&bottom, ${block});
% endfor
    }
% else:
        if ((step & ${poll - 1}) == 0) {
            if (control[ACTIVE] < least_active)
                break;
% if not counts:
            const i32 shared = *best;
            upper = MIN(upper, shared);
% endif
        }
    }
% endif
    if (began >= 0) {
% if rows_in_local:
        for (i32 level = 0; level < depth; ++level)
            rows[(i64)level * slots + ivm] = ROW(level);
% endif
        sides[ivm] = turned;
        depths[ivm] = depth;
        if (depth < 0) {
            ATOMIC_ADD_I32(&control[ACTIVE], -1);
            for (i32 level = 0; level < ITEMS; ++level) {
                const i64 at = (i64)level * slots + ivm;
                explored[at] += (i32)ends[at] - (i32)begins[at];
            }
        }
    }
% if block > 1:
    if (nodes | leaves) {
        ATOMIC_ADD_U32(&sums[0], nodes);
        ATOMIC_ADD_U32(&sums[1], leaves);
        ATOMIC_ADD_U32(&sums[2], pushed);
        ATOMIC_ADD_U32(&sums[3], (u32)solutions);
    }
    BARRIER();
    if (me < 4 && sums[me])
        ATOMIC_ADD_U64(&counters[me], sums[me]);
% else:
    ATOMIC_ADD_U64(&counters[0], nodes);
    ATOMIC_ADD_U64(&counters[1], leaves);
    ATOMIC_ADD_U64(&counters[2], pushed);
    ATOMIC_ADD_U64(&counters[3], solutions);
% endif
}

// Let IVMs take up intervals: walk down to `begin`, bounding every node on the way, and keep the open siblings that lie in
// the interval. It goes at least as deep as the level where begin and end part, for below that the interval does not
// restrict. Nodes on the way are counted from the unit's `fresh` level on. Where a child on the way is pruned, the search
// begins at the next open sibling.
// units     begin digits, end digits (${items} each), fresh; one row a unit; targets   the idle IVM that takes it
// Launch: one work-item per unit, ${block} a group.
KERNEL LAUNCH_BOUNDS(${block}, 1) initialize(GLOBAL mask_t* RESTRICT rows, GLOBAL mask_t* RESTRICT sides,
    GLOBAL i32* RESTRICT depths, GLOBAL u8* RESTRICT begins, GLOBAL u8* RESTRICT ends, GLOBAL i32* RESTRICT explored,
    volatile GLOBAL i32* best, volatile GLOBAL i32* control, GLOBAL u64* counters, const GLOBAL i32* RESTRICT data,
    ${workspace}const GLOBAL u8* RESTRICT units, const GLOBAL i32* RESTRICT targets, i32 count, i32 initial, i32 slots)
{
    const i32 unit = (i32)GLOBAL_ID;
% if local_table:
    LOCAL_ARRAY(i32, table, ${table_words});
    for (i32 word = LOCAL_ID; word < ${table_words}; word += ${block})
        table[word] = data[word];
    BARRIER();
% else:
    table_t table = data;
% endif
    if (unit < count) {
        const GLOBAL u8* begin = units + (i64)unit * ${2 * items + 1};
        const GLOBAL u8* end = begin + ITEMS;
        const i32 fresh = begin[${2 * items}];
        const i32 ivm = targets[unit];
        const i32 upper = *best;
        i32 down = 0;
        while (down < ITEMS - 1 && begin[down] == end[down])
            ++down;
        down = MIN(MAX(down + 1, fresh), LEAF_DEPTH);
        for (i32 level = 0; level < ITEMS; ++level) {
            begins[(i64)level * slots + ivm] = begin[level];
            ends[(i64)level * slots + ivm] = end[level];
        }
        state_t state;
        init(&state, table);
        mask_t used = NO_ITEMS, turned = NO_ITEMS;
        i32 depth = 0, before = -1;
        u32 lost = 0, within = 1, nodes = 0, pushed = 0;
        while (depth < down && !lost) {
            i32 side = 0;
            const mask_t open = ALL_ITEMS & ~used;
            mask_t row = bound(&state, depth, open, upper, initial, &side, table);
            if (depth >= fresh) {
                ++nodes;
                pushed += (u32)COUNT(row);
            }
            // Keep the ranks from begin's digit on, and below end's where the two part.
            mask_t rest = open, chosen = NO_ITEMS;
            for (i32 rank = 0; ANY(rest); ++rank, rest = WITHOUT_LOWEST(rest)) {
                if (rank == begin[depth])
                    chosen = LOWEST(rest);
                if (rank < begin[depth] || (within && rank > begin[depth] && rank >= end[depth]))
                    row &= ~LOWEST(rest);
            }
            within = within && begin[depth] == end[depth];
            rows[(i64)depth * slots + ivm] = row;
            turned |= side ? ITEM(depth) : NO_ITEMS;
            lost = !ANY(row & chosen);
            if (!lost) {
                const i32 item = INDEX_OF_LOWEST(chosen);
                place(&state, depth, item, before, side, table);
                used |= chosen;
                before = item;
                ++depth;
            }
        }
        if (lost) {
            if (!ANY(rows[(i64)depth * slots + ivm])) {
                while (depth > 0) {
                    --depth;
                    const mask_t row = rows[(i64)depth * slots + ivm];
                    const mask_t others = row ^ LOWEST(row);
                    rows[(i64)depth * slots + ivm] = others;
                    if (ANY(others))
                        break;
                }
            }
            depth = ANY(rows[(i64)depth * slots + ivm]) ? depth + 1 : -1;
        }
        sides[ivm] = turned;
        depths[ivm] = depth;
        if (nodes) {
            ATOMIC_ADD_U64(&counters[0], nodes);
            ATOMIC_ADD_U64(&counters[2], pushed);
        }
        if (depth >= 0) {
            ATOMIC_ADD_I32(&control[ACTIVE], 1);
        } else {
            for (i32 level = 0; level < ITEMS; ++level)
                explored[(i64)level * slots + ivm] += (i32)end[level] - (i32)begin[level];
        }
    }
}
