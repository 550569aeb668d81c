// Flowshop for GPUs: the bounds of a node's children one job after another, in front and at the back together.
//   u = F_0, lb = u + R_0 + B_0;  u = max(F_i, u + p_{i-1}), lb = max(lb, u + R_i + B_i)       (mirrored for the back)
// A pair holds machine i of the front and machine m - 1 - i of the back${", as two 16-bit halves of a word" if packed else ""}.
// table   times as columns of all machines by job, ${stride} words apart; heads; tails; totals (as pairs if packed);
//         Johnson's orders where they are used
<%
    m = machines
    heads = items * stride
    both = branching != "forward"
    two = bounds == "two_machine"
    largest = 32767 if packed else 2147483647
    half = -(-m // 2)
    in_words = packed and not two
    set_words = -(-items // 32)
    unrolled = set_words <= 4
%>
% if packed:
typedef u32 pair_t;
#define LOW(pair) ((i32)(i16)(pair))
#define HIGH(pair) ((i32)(pair) >> 16)
% if language == "cuda":
#define PAIR_DIFFERENCE(a, b) __vsub2((a), (b))
#define PAIR_MAX(a, b) __vmaxs2((a), (b))
#define PAIR_MAX3(a, b, c) __vimax3_s16x2((a), (b), (c))
#define PAIR_ADD_MAX(a, b, c) __viaddmax_s16x2((a), (b), (c))
#define SWAPPED(pair) __byte_perm((pair), 0, 0x1032)
#define DIFFERENCE(pair, sum) __dp2a_lo((i32)(pair), 0xff01, (sum)) // sum + LOW - HIGH
% elif ptx:
FUNCTION u32 PAIR_MAX(u32 a, u32 b) {
    u32 result;
    asm("max.s16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
}
FUNCTION u32 PAIR_ADD_MAX(u32 a, u32 b, u32 c) {
    u32 result;
    asm("{ .reg .b32 t; add.s16x2 t, %1, %2; max.s16x2 %0, t, %3; }" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}
FUNCTION i32 DIFFERENCE(u32 pair, i32 sum) {
    i32 result;
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(pair), "r"(0xff01), "r"(sum));
    return result;
}
#define PAIR_DIFFERENCE(a, b) ((((a) | 0x80008000U) - (b)) ^ 0x80008000U) // with the right signs
#define PAIR_MAX3(a, b, c) PAIR_MAX(PAIR_MAX(a, b), c)
#define SWAPPED(pair) rotate((u32)(pair), 16U)
% else:
#define PAIR_DIFFERENCE(a, b) as_uint(as_short2(a) - as_short2(b))
#define PAIR_MAX(a, b) as_uint(max(as_short2(a), as_short2(b)))
#define PAIR_MAX3(a, b, c) PAIR_MAX(PAIR_MAX(a, b), c)
#define PAIR_ADD_MAX(a, b, c) as_uint(max(as_short2(a) + as_short2(b), as_short2(c)))
#define SWAPPED(pair) rotate((u32)(pair), 16U)
#define DIFFERENCE(pair, sum) ((sum) + LOW(pair) - HIGH(pair))
% endif
// Halves are at least 0 and stay below 2^15, so that words may be added, and what a half contains subtracted, as a whole.
#define PAIR_ADD(a, b) ((a) + (b))
#define PAIR_SUBTRACT(a, b) ((a) - (b))
#define TIMES(column, i) ((pair_t)(column)[i])
#define HEADS(i) ((pair_t)table[${heads} + (i)])
#define TOTALS(i) ((pair_t)table[${heads + m} + (i)])
% else:
typedef struct { i32 low, high; } pair_t;
#define LOW(pair) ((pair).low)
#define HIGH(pair) ((pair).high)
FUNCTION pair_t pair_of(i32 low, i32 high) {
    pair_t pair;
    pair.low = low;
    pair.high = high;
    return pair;
}
#define PAIR_ADD(a, b) pair_of((a).low + (b).low, (a).high + (b).high)
#define PAIR_SUBTRACT(a, b) pair_of((a).low - (b).low, (a).high - (b).high)
FUNCTION pair_t PAIR_ADD_MAX(pair_t a, pair_t b, pair_t c) {
    const i32 low = a.low + b.low;
    const i32 high = a.high + b.high;
    return pair_of(MAX(low, c.low), MAX(high, c.high));
}
#define SWAPPED(pair) pair_of((pair).high, (pair).low)
#define TIMES(column, i) pair_of((column)[i], (column)[${m - 1} - (i)])
#define HEADS(i) pair_of(table[${heads} + (i)], table[${heads + 2 * m - 1} - (i)])
#define TOTALS(i) pair_of(table[${heads + 2 * m} + (i)], table[${heads + 3 * m - 1} - (i)])
% endif

// rest[i], of the first half of the machines, is that of machine i and of machine m - 1 - i.
typedef struct { pair_t done[${m}], rest[${half}]; } state_t;

% if pairs:
${flowshop_johnson.function()}
% endif
FUNCTION void init(state_t* state, table_t table) {
% for i in range(m):
    state->done[${i}] = HEADS(${i});
% endfor
% for i in range(half):
    state->rest[${i}] = TOTALS(${i});
% endfor
}

<% words = [f"done[{i}]" for i in range(m)] + [f"rest[{i}]" for i in range(half)] %>
% if not packed:
<% words = [f"{word}.{part}" for word in words for part in ("low", "high")] %>
% endif
${backtrack.state_as_words(list(enumerate(words)), "" if packed else "(i32)")}
FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    table_t times = table + item * ${stride};
% if packed:
    // Both halves advance; the side that stays keeps its own.
    const u32 moving = side ? 0xffff0000U : 0x0000ffffU;
    u32 at = 0;
% for i in range(m):
    {
        const u32 time = TIMES(times, ${i});
        at = PAIR_MAX(at, state->done[${i}]);
        at = PAIR_ADD(at, time);
        state->done[${i}] = (at & moving) | (state->done[${i}] & ~moving);
% if i < half:
        state->rest[${i}] = PAIR_SUBTRACT(state->rest[${i}], time);
% endif
    }
% endfor
% else:
    i32 at = 0;
% for i in range(m):
    {
        const pair_t time = TIMES(times, ${i});
        const i32 done = side ? state->done[${i}].high : state->done[${i}].low;
        at = MAX(at, done) + (side ? time.high : time.low);
        state->done[${i}].low = side ? state->done[${i}].low : at;
        state->done[${i}].high = side ? at : state->done[${i}].high;
% if i < half:
        state->rest[${i}] = PAIR_SUBTRACT(state->rest[${i}], time);
% endif
    }
% endfor
% endif
}

% if pairs:
FUNCTION i32 johnson_of_child(const state_t* state, mask_t open, i32 item, i32 side, i32 enough, table_t table) {
    state_t child = *state;
    place(&child, 0, item, -1, side, table);
    i32 done[${m}], after[${m}];
% for i in range(m):
    done[${i}] = LOW(child.done[${i}]);
    after[${m - 1 - i}] = HIGH(child.done[${i}]);
% endfor
    return johnson(done, after, open & ~ITEM(item), enough, table);
}
% endif

% if not two:
// What is still to come on each machine: the open jobs and the other end.
FUNCTION void time_after(const state_t* state, pair_t* after) {
% for i in range(half):
    after[${i}] = PAIR_ADD(state->rest[${i}], SWAPPED(state->done[${m - 1 - i}]));
% endfor
% for i in range(m // 2):
    {
        const pair_t sum = PAIR_ADD(state->rest[${i}], state->done[${i}]);
        after[${m - 1 - i}] = SWAPPED(sum);
    }
% endfor
}

FUNCTION pair_t one_machine(const state_t* state, const pair_t* after, table_t times) {
    pair_t u = state->done[0];
    pair_t lb = PAIR_ADD(u, after[0]);
% if packed:
% for i in range(1, m, 2):
    u = PAIR_ADD_MAX(u, TIMES(times, ${i - 1}), state->done[${i}]);
% if i + 1 < m:
    {
        const pair_t first = PAIR_ADD(u, after[${i}]);
        u = PAIR_ADD_MAX(u, TIMES(times, ${i}), state->done[${i + 1}]);
        lb = PAIR_MAX3(first, PAIR_ADD(u, after[${i + 1}]), lb);
    }
% else:
    lb = PAIR_ADD_MAX(u, after[${i}], lb);
% endif
% endfor
% else:
% for i in range(1, m):
    u = PAIR_ADD_MAX(u, TIMES(times, ${i - 1}), state->done[${i}]);
    lb = PAIR_ADD_MAX(u, after[${i}], lb);
% endfor
% endif
    return lb;
}
% endif

FUNCTION void child_bounds(const state_t* state, i32 depth, mask_t open, i32 item, i32* front, i32* back, table_t table) {
% if two:
    *front = johnson_of_child(state, open, item, 0, ${largest}, table);
    *back = ${f"johnson_of_child(state, open, item, 1, {largest}, table)" if both else 0};
% else:
    pair_t after[${m}];
    time_after(state, after);
    const pair_t lb = one_machine(state, after, table + item * ${stride});
    *front = LOW(lb);
    *back = HIGH(lb);
% endif
}

% if bounds == "mixed":
FUNCTION mask_t refine(const state_t* state, i32 depth, mask_t open, mask_t kept, i32 side, i32 upper, table_t table) {
    for (mask_t left = kept; ANY(left); left = WITHOUT_LOWEST(left))
        if (johnson_of_child(state, open, INDEX_OF_LOWEST(left), side, upper, table) >= upper)
            kept ^= LOWEST(left);
    return kept;
}
% endif

FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table) {
% if not two:
    pair_t after[${m}];
    time_after(state, after);
% endif
% if in_words:
    // Word by word of the set. The sign of a half of lb - upper says whether that child stays; `fewer` counts in its halves
    // the children that have bounds below the initial upper bound.
    const u32 limits = (u32)MIN(upper, ${largest}) * 0x10001U;
    mask_t kept_front = NO_ITEMS, kept_back = NO_ITEMS;
% if branching == "min_branch":
    const u32 first_limits = (u32)MIN(initial, ${largest}) * 0x10001U;
    u32 fewer = 0;
% endif
    i32 difference = 0;
% for k in range(set_words) if unrolled else "k":
% if not unrolled:
    for (i32 k = 0; k < ${set_words}; ++k)
% endif
    {
        table_t columns = table + ${32 * k * stride if unrolled else f"{32 * stride} * k"};
        u32 left = WORD(open, ${k}), front = 0, back = 0;
        while (left) {
            const i32 index = HIGHEST_OF_WORD(left);
            const u32 item = 1U << index;
            left ^= item;
            const u32 lb = one_machine(state, after, columns + index * ${stride});
            const u32 below = PAIR_DIFFERENCE(lb, limits);
            if (below & 0x8000U)
                front |= item;
% if both:
            if ((i32)below < 0)
                back |= item;
            difference = DIFFERENCE(lb, difference);
% endif
% if branching == "min_branch":
            fewer += PAIR_DIFFERENCE(lb, first_limits) >> 15 & 0x10001U;
% endif
        }
        kept_front |= OF_WORD(front, ${k});
        kept_back |= OF_WORD(back, ${k});
    }
% endfor
    *side = choose_side(${"HIGH(fewer) - LOW(fewer)" if branching == "min_branch" else 0}, difference, depth);
    const mask_t kept = *side ? kept_back : kept_front;
% else:
    rule_t rule;
    begin_rule(&rule);
    for (mask_t left = open; ANY(left); left = WITHOUT_LOWEST(left)) {
        i32 front, back;
% if two:
        child_bounds(state, depth, open, INDEX_OF_LOWEST(left), &front, &back, table);
% else:
        const pair_t lb = one_machine(state, after, table + INDEX_OF_LOWEST(left) * ${stride});
        front = LOW(lb);
        back = HIGH(lb);
% endif
        judge(&rule, LOWEST(left), front, back, upper, initial);
    }
    *side = choose_side(rule.pruned, rule.difference, depth);
    const mask_t kept = *side ? rule.kept_back : rule.kept_front;
% endif
    return ${"refine(state, depth, open, kept, *side, upper, table)" if bounds == "mixed" else "kept"};
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table) {
    table_t times = table + INDEX_OF_LOWEST(open) * ${stride};
    i32 at = 0, longest = 0;
% for i in range(m):
    at = MAX(at, LOW(state->done[${i}])) + LOW(TIMES(times, ${i}));
    longest = MAX(longest, at + HIGH(state->done[${m - 1 - i}]));
% endfor
    return longest;
}
