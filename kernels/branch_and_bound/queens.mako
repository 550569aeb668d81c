// n queens: taken diagonals by row + column and by column - row + n - 1, in the board's own coordinates, so that taking a
// queen back is the same exclusive or. The first queen stays in the left half; `weight` is what a solution counts.
typedef struct {
    u64 rising, falling;
    i32 weight;
} state_t;

FUNCTION void init(state_t* state, table_t table) {
    state->rising = 0;
    state->falling = 0;
    state->weight = 2;
}

FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    state->rising ^= (u64)1 << (depth + item);
    state->falling ^= (u64)1 << (item - depth + ${items - 1});
% if items % 2:
    if (depth == 0)
        state->weight = item == ${items // 2} ? 1 : 2;
% endif
}

FUNCTION void retract(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    state->rising ^= (u64)1 << (depth + item);
    state->falling ^= (u64)1 << (item - depth + ${items - 1});
}

FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table) {
    const mask_t free = open & ~(mask_t)(state->rising >> depth) & ~(mask_t)(state->falling >> (${items - 1} - depth));
    return depth == 0 ? free & (mask_t)${(1 << (items + 1) // 2) - 1}U : free;
}

FUNCTION void child_bounds(const state_t* state, i32 depth, mask_t open, i32 item, i32* front, i32* back, table_t table) {
    i32 side;
    *front = bound(state, depth, open, 0, 0, &side, table) >> item & 1 ? 0 : 2147483647;
    *back = 0;
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table) { return state->weight; }

% if subtree_level:
// The last rows of a board. Here diagonals move with the row: `rising` and `falling` hold the columns that they block in the
// present one, `free` the columns that are left to try in it.
// seen     nodes, the first one and complete boards among them; complete   those
// top      where the stack goes on, whose entries are `next` apart: a board that can be extended, while siblings of it are
//          left, puts these there; below them all lies an entry without any, which ends the search
typedef struct {
    mask_t open, rising, falling, free;
    u32 seen, complete;
    quads_t top;
} subtree_t;

FUNCTION void enter_subtree(subtree_t* subtree, const state_t* state, i32 depth, mask_t open, quads_t stack, i32 next) {
    subtree->open = open;
    subtree->rising = (mask_t)(state->rising >> depth);
    subtree->falling = (mask_t)(state->falling >> (${items - 1} - depth));
    subtree->free = open & ~(subtree->rising | subtree->falling);
    subtree->seen = 1;
    subtree->complete = 0;
    *stack = QUAD(0, 0, 0, 0);
    subtree->top = stack + next;
}

FUNCTION void step_subtree(subtree_t* subtree, i32 next) {
    const mask_t item = LOWEST(subtree->free);
    const mask_t rest = subtree->free ^ item;
    const mask_t open = subtree->open ^ item;
    const mask_t rising = (subtree->rising | item) >> 1;
    const mask_t falling = (subtree->falling | item) << 1;
    const mask_t free = open & ~(rising | falling);
    ++subtree->seen;
    subtree->complete += open == 0;
    if (free && rest) {
        *subtree->top = QUAD(subtree->open, subtree->rising, subtree->falling, rest);
        subtree->top += next;
    }
    subtree->open = free ? open : subtree->open;
    subtree->rising = free ? rising : subtree->rising;
    subtree->falling = free ? falling : subtree->falling;
    subtree->free = free ? free : rest;
    if (!(free | rest)) {
        subtree->top -= next;
        const quad_t quad = *subtree->top;
        subtree->open = quad.x;
        subtree->rising = quad.y;
        subtree->falling = quad.z;
        subtree->free = quad.w;
    }
}
% endif
