<%def name="declarations()">
// An IVM (integer-vector-matrix, one subtree under search), as every kernel here has it.
// rows[l]   the open siblings at level l of the path, one mask each; the lowest is the chosen one (the vector's entry)
// sides     bit l: on which side level l's item is placed
// depths    level of the node to decompose next (the integer); -1 while idle
// begins, ends   the interval, as digits; explored   digit sums by level of what this IVM has finished
// All but `sides` and `depths` hold one value per level and IVM, at level * slots + ivm.
// control, counters   see engine/solvers/branch_and_bound/search/programs.py
// best      the least value known; leaf_values   for each IVM the least that it has reached below that, leaf_paths and
//           leaf_sides the path to it
#define INTERVALS GLOBAL digit_t* RESTRICT begins, GLOBAL digit_t* RESTRICT ends, GLOBAL i32* RESTRICT explored
#define IVMS GLOBAL mask_t* RESTRICT rows, GLOBAL mask_t* RESTRICT sides, GLOBAL i32* RESTRICT depths
#define PROGRESS volatile GLOBAL i32* best, volatile GLOBAL control_t* control, GLOBAL counters_t* counters
#define LEAVES_REACHED GLOBAL i32* RESTRICT leaf_values, GLOBAL digit_t* RESTRICT leaf_paths, GLOBAL mask_t* RESTRICT leaf_sides
// A unit: an interval to take up. Begin digits, end digits (${items} each), then the level from which on nodes on the way to the
// begin are counted; `targets` names the idle IVM that takes it.
#define UNITS const GLOBAL digit_t* RESTRICT units, const GLOBAL i32* RESTRICT targets
#define UNIT_DIGITS ${2 * items + 1}
#define AT(level) ((i64)(level) * slots + ivm)

// Work of a group in one launch.
typedef struct { u32 nodes, leaves, pushed, solutions; } work_t;

// What has been added up of an IVM's interval, once all of it is explored.
FUNCTION void add_explored(GLOBAL i32* explored, const GLOBAL digit_t* begins, const GLOBAL digit_t* ends, i32 ivm, i32 slots) {
    for (i32 level = 0; level < ITEMS; ++level)
        explored[AT(level)] += (i32)ends[AT(level)] - (i32)begins[AT(level)];
}

// How far down an IVM goes to take up a unit: to where begin and end part, for below that the interval does not restrict; and
// to the first level that is counted.
FUNCTION i32 levels_to_begin(const GLOBAL digit_t* begin, const GLOBAL digit_t* end, i32 first_counted) {
    i32 level = 0;
    while (level < ITEMS - 1 && begin[level] == end[level])
        ++level;
    return MIN(MAX(level + 1, first_counted), LEAF_DEPTH);
}

// The items of `row` from the digit `begin` on and, with `bounded`, below `end` where the two part; `chosen` has rank `begin`.
FUNCTION mask_t items_within(mask_t row, mask_t open, i32 begin, i32 end, u32 bounded, mask_t* chosen) {
    i32 rank = 0;
    for (; ANY(open); open = WITHOUT_LOWEST(open)) {
        if (rank == begin)
            *chosen = LOWEST(open);
        if (rank < begin || (bounded && rank > begin && rank >= end))
            row &= ~LOWEST(open);
        ++rank;
    }
    return row;
}
</%def>

<%def name="record_leaf(row)">
                ATOMIC_MIN_I32(best, value);
                if (value < leaf_values[ivm]) {
                    leaf_values[ivm] = value;
                    for (i32 level = 0; level < LEAF_DEPTH; ++level)
                        leaf_paths[AT(level)] = (digit_t)INDEX_OF_LOWEST(${row});
                    leaf_sides[ivm] = path_sides;
                }
</%def>

<%def name="leave_launch(row='')">
% if row:
        for (i32 level = 0; level < depth; ++level)
            rows[AT(level)] = ${row};
% endif
        sides[ivm] = path_sides;
        depths[ivm] = depth;
        if (depth < 0) {
            ATOMIC_ADD_I32(&control->active, -1);
            add_explored(explored, begins, ends, ivm, slots);
        }
</%def>

<%def name="next_open_sibling(row)">
            // The child at the begin is pruned: the search begins at the next open sibling.
            while (depth > 0 && !ANY(${row})) {
                --depth;
                ${row} = WITHOUT_LOWEST(${row});
            }
            depth = ANY(${row}) ? depth + 1 : -1;
</%def>

<%def name="add_counters()">
% if block > 1:
    LOCAL_ARRAY(work_t, sums, 1);
    if (LOCAL_ID == 0)
        sums->nodes = sums->leaves = sums->pushed = sums->solutions = 0;
    BARRIER();
    if (nodes | leaves) {
        ATOMIC_ADD_U32(&sums->nodes, nodes);
        ATOMIC_ADD_U32(&sums->leaves, leaves);
        ATOMIC_ADD_U32(&sums->pushed, pushed);
        ATOMIC_ADD_U32(&sums->solutions, (u32)solutions);
    }
    BARRIER();
    if (LOCAL_ID == 0 && (sums->nodes | sums->leaves)) {
        ATOMIC_ADD_U64(&counters->nodes, sums->nodes);
        ATOMIC_ADD_U64(&counters->leaves, sums->leaves);
        ATOMIC_ADD_U64(&counters->pushed, sums->pushed);
        ATOMIC_ADD_U64(&counters->solutions, sums->solutions);
    }
% else:
    ATOMIC_ADD_U64(&counters->nodes, nodes);
    ATOMIC_ADD_U64(&counters->leaves, leaves);
    ATOMIC_ADD_U64(&counters->pushed, pushed);
    ATOMIC_ADD_U64(&counters->solutions, solutions);
% endif
</%def>
<%def name="leave_path()">
        sides[ivm] = path_sides;
        depths[ivm] = depth;
        if (nodes) {
            ATOMIC_ADD_U64(&counters->nodes, nodes);
            ATOMIC_ADD_U64(&counters->pushed, pushed);
        }
        if (depth >= 0)
            ATOMIC_ADD_I32(&control->active, 1);
        else
            add_explored(explored, begins, ends, ivm, slots);
</%def>
