// Asymmetric TSP: item i is city i + 1; the tour begins at city 0. A child costs the way so far and the arc to it, plus,
// where `cheapest` says so, the cheapest arcs out of it and of all other open cities (`rest` holds those of the open
// cities and of the last one).
// table   costs by row, ${stride} words apart; then the cheapest arc out of each city
typedef struct { i32 last, cost, rest; } state_t;
#define COST(from, to) table[(from) * ${stride} + (to)]
#define OUT(city) table[${cities * stride} + (city)]

FUNCTION void init(state_t* state, table_t table) {
    state->last = 0;
    state->cost = 0;
    state->rest = 0;
% if cheapest:
    for (i32 city = 0; city < ${cities}; ++city)
        state->rest += OUT(city);
% endif
}

FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    state->cost += COST(state->last, item + 1);
% if cheapest:
    state->rest -= OUT(state->last);
% endif
    state->last = item + 1;
}

FUNCTION void retract(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    state->last = before + 1;
    state->cost -= COST(before + 1, item + 1);
% if cheapest:
    state->rest += OUT(before + 1);
% endif
}

FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table) {
% if cheapest:
    const i32 most = upper - state->cost - state->rest + OUT(state->last);
% else:
    const i32 most = upper - state->cost;
% endif
    table_t costs = &COST(state->last, 1);
    mask_t kept = NO_ITEMS;
    while (ANY(open)) {
        const mask_t bit = LOWEST(open);
        if (costs[INDEX_OF_LOWEST(open)] < most)
            kept |= bit;
        open ^= bit;
    }
    return kept;
}

FUNCTION void child_bounds(const state_t* state, i32 depth, mask_t open, i32 item, i32* front, i32* back, table_t table) {
    *front = state->cost + COST(state->last, item + 1);
% if cheapest:
    *front += state->rest - OUT(state->last);
% endif
    *back = 0;
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table) {
    const i32 city = INDEX_OF_LOWEST(open) + 1;
    return state->cost + COST(state->last, city) + COST(city, 0);
}
