// n queens: taken diagonals by row + column and by column - row + n - 1, in the board's own coordinates, so that taking a
// queen back is the same exclusive or. The first queen stays in the left half; `weight` is what a solution counts.
typedef struct {
    u64 rising;
    u64 falling;
    i32 weight;
} state_t;

FUNCTION void init(state_t* state, table_t table)
{
    state->rising = 0;
    state->falling = 0;
    state->weight = 2;
}

FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table)
{
    state->rising ^= (u64)1 << (depth + item);
    state->falling ^= (u64)1 << (item - depth + ${items - 1});
% if items % 2:
    if (depth == 0)
        state->weight = item == ${items // 2} ? 1 : 2;
% endif
}

FUNCTION void retract(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table)
{
    state->rising ^= (u64)1 << (depth + item);
    state->falling ^= (u64)1 << (item - depth + ${items - 1});
}

FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table)
{
    const mask_t free = open & ~(mask_t)(state->rising >> depth) & ~(mask_t)(state->falling >> (${items - 1} - depth));
    return depth == 0 ? free & (mask_t)${(1 << (items + 1) // 2) - 1}U : free;
}

FUNCTION void child_bounds(const state_t* state, i32 depth, mask_t open, i32 item, i32* front, i32* back, table_t table)
{
    i32 side;
    *front = bound(state, depth, open, 0, 0, &side, table) >> item & 1 ? 0 : 2147483647;
    *back = 0;
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table)
{
    return state->weight;
}
