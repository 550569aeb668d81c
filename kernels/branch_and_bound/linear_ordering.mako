// Linear ordering, from the front: an item that is placed next goes against the weights from all other open items to it. A
// pair's smaller weight is lost in any order, so it is in the root's value, and what is left of the larger one is an arc. Of the
// open items' arcs, an order goes against one of each cycle at least; the cycles of a packing share no arc's weight, so that
// their sum counts in full while all three of their items are open. An open item's excess is what the bound grows by if it is
// placed next:
//   the arcs to it from open items - the cycles of open items through it                                          >= 0
// A child is also pruned if its item would rather be moved ahead of the last items placed: then no order below is the best.
// table   margins, ${items} words each: weight (row, column) - weight (column, row); excesses of the root; the root's bound; for
//         each item the place where its cycles begin; of each cycle of an item, the other two (the second times 256) and its weight
<% n = items %>
#define MARGIN(first, second) table[(first) * ${n} + (second)]
#define EXCESS(item) table[${n * n} + (item)]
#define ROOT_BOUND table[${n * n + n}]
#define CYCLES(item) table[${n * n + n + 1} + (item)]

typedef struct {
    i32 bound, excess[${n}];
    mask_t open;
    u8 order[${n}];
} state_t;

FUNCTION void init(state_t* state, table_t table) {
    state->bound = ROOT_BOUND;
    for (i32 item = 0; item < ITEMS; ++item)
        state->excess[item] = EXCESS(item);
    state->open = ALL_ITEMS;
}

// An item leaves the open ones (sign 1) or comes back (-1): its arcs and cycles no longer count for those that stay, or do again.
FUNCTION void shift(state_t* state, i32 item, i32 sign, table_t table) {
    for (mask_t left = state->open; ANY(left); left = WITHOUT_LOWEST(left)) {
        const i32 other = INDEX_OF_LOWEST(left);
        state->excess[other] -= sign * MAX(0, MARGIN(item, other));
    }
    for (i32 at = CYCLES(item); at < CYCLES(item + 1); at += 2) {
        const i32 first = table[at] & 255, second = table[at] >> 8;
        if (HAS(state->open, first) && HAS(state->open, second)) {
            state->excess[first] += sign * table[at + 1];
            state->excess[second] += sign * table[at + 1];
        }
    }
}

FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    state->order[depth] = (u8)item;
    state->bound += state->excess[item];
    state->open = state->open & ~ITEM(item);
    shift(state, item, 1, table);
}

FUNCTION void retract(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    shift(state, item, -1, table);
    state->open |= ITEM(item);
    state->bound -= state->excess[item];
}

FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table) {
    mask_t kept = NO_ITEMS;
    for (mask_t left = open; ANY(left); left = WITHOUT_LOWEST(left)) {
        const i32 item = INDEX_OF_LOWEST(left);
        i32 gain = state->bound + state->excess[item] < upper ? 0 : 1;
        i32 margin = 0;
        for (i32 place = depth - 1; place >= 0 && gain <= 0; --place) {
            margin += MARGIN(item, state->order[place]);
            gain = margin;
        }
        if (gain <= 0)
            kept |= LOWEST(left);
    }
    return kept;
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table) { return state->bound; }
