// Quadratic assignment: the facilities take locations (items) in turn. The bound of Gilmore and Lawler: an open facility i at a
// free location k costs what it exchanges with the placed facilities, and at least the smallest scalar product of its flows to
// the other open facilities with the distances from k to the other free locations; the least assignment of these costs is solved
// for each node, and a child's bound is that of the assignment in which its facility takes its location.
// table   flows by facility; distances by location; for every location the others by distance; for every depth and open
//         facility its flows to the open facilities, descending
<% n = items %>
#define FLOW(i, j) table[(i) * ${n} + (j)]
#define DISTANCE(k, l) table[${n * n} + (k) * ${n} + (l)]
#define NEAR(k, place) table[${2 * n * n} + (k) * ${n} + (place)]
#define FLOWS(depth, i) (table + ${3 * n * n} + ((depth) * ${n} + (i)) * ${n})

typedef struct {
    i32 cost;
    u8 location[${n}];
} state_t;

${linear_assignment.functions(n)}

FUNCTION void init(state_t* state, table_t table) {
    state->cost = 0;
}

// What facility i at location k costs with those placed.
FUNCTION i32 with_placed(const state_t* state, i32 depth, i32 i, i32 k, table_t table) {
    i32 cost = FLOW(i, i) * DISTANCE(k, k);
    for (i32 j = 0; j < depth; ++j) {
        const i32 l = state->location[j];
        cost += FLOW(i, j) * DISTANCE(k, l) + FLOW(j, i) * DISTANCE(l, k);
    }
    return cost;
}

FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    state->cost += with_placed(state, depth, depth, item, table);
    state->location[depth] = (u8)item;
}

FUNCTION void retract(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    state->cost -= with_placed(state, depth, depth, item, table);
}

FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table) {
    i32 costs[${n * n}], u[${n}], v[${n}], row_of[${n}], growth[${n}], away[${n}];
    const i32 count = ITEMS - depth;
    i32 column = 0;
    for (mask_t left = open; left; left &= left - ONE, ++column) {
        const i32 k = INDEX_OF_LOWEST(left);
        i32 others = 0;
        for (i32 place = 0; place < ITEMS - 1; ++place) {
            const i32 l = NEAR(k, place);
            if ((open >> l) & ONE) {
                away[others] = DISTANCE(k, l);
                ++others;
            }
        }
        for (i32 i = depth; i < ITEMS; ++i) {
            const GLOBAL i32* flows = FLOWS(depth, i);
            i32 cost = with_placed(state, depth, i, k, table);
            for (i32 other = 0; other < others; ++other)
                cost += flows[other] * away[other];
            costs[(i - depth) * ${n} + column] = cost;
        }
    }
${linear_assignment.keep_columns()}
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table) {
    return state->cost + with_placed(state, LEAF_DEPTH, LEAF_DEPTH, INDEX_OF_LOWEST(open), table);
}
