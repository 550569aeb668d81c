// Flowshop for CPUs: the bounds of all children of a node at once, one job a lane of ${vectors} vectors.
//   u = F_0, lb = u + R_0 + B_0;  u = max(F_i, u + p_{i-1}), lb = max(lb, u + R_i + B_i)       (mirrored for the back)
// table   times as rows of all jobs by machine, padded to whole vectors; as columns of all machines by job; heads; tails;
//         totals; Johnson's orders where they are used
<%
    lanes = 16 * vectors
    parts = -(-vectors // 8)
    together = vectors // parts
    begin = "begin + " if parts > 1 else ""
    vector = "short16" if value == "i16" else "int16"
    bits = "ushort" if value == "i16" else "uint"
    weights = ", ".join(f"(value_t){1 << k if value == 'i32' or k < 15 else -32768}" for k in range(16))
    columns = machines * lanes
    heads = columns + items * machines
    largest = 32767 if value == "i16" else 2147483647
    both = branching != "forward"
    two = bounds == "two_machine"
%>
typedef ${value} value_t;
typedef ${vector} lanes_t;
typedef struct { value_t front[${machines}], back[${machines}], rest[${machines}]; } state_t;
#define VALUES ((const GLOBAL value_t*)table)
#define ROWS ((const GLOBAL lanes_t*)table)

% if pairs:
${flowshop_johnson.function_of_lanes()}
% endif
FUNCTION void init(state_t* state, table_t table) {
    const GLOBAL value_t* start = VALUES + ${heads};
    for (i32 i = 0; i < ${machines}; ++i) {
        state->front[i] = start[i];
        state->back[i] = start[i + ${machines}];
        state->rest[i] = start[i + ${2 * machines}];
    }
}

FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    const GLOBAL value_t* times = VALUES + ${columns} + item * ${machines};
    i32 at = 0;
    if (side) {
        for (i32 i = ${machines - 1}; i >= 0; --i) {
            at = MAX(at, (i32)state->back[i]) + times[i];
            state->back[i] = (value_t)at;
            state->rest[i] -= times[i];
        }
    } else {
        for (i32 i = 0; i < ${machines}; ++i) {
            at = MAX(at, (i32)state->front[i]) + times[i];
            state->front[i] = (value_t)at;
            state->rest[i] -= times[i];
        }
    }
}

// The lanes below a limit, as bits.
FUNCTION u32 bits_below(lanes_t bounds, lanes_t most) {
    const lanes_t bits = (bounds < most) & (lanes_t)(${weights});
    const ${vector[:-2]}8 eight = bits.lo | bits.hi;
    const ${vector[:-2]}4 four = eight.lo | eight.hi;
    const ${vector[:-2]}2 two = four.lo | four.hi;
    return (u32)(u16)(two.x | two.y);
}

// The items whose lanes are below a limit.
FUNCTION mask_t below(const lanes_t* bounds, i32 limit) {
    const lanes_t most = (lanes_t)(value_t)MIN(limit, ${largest});
    mask_t set = NO_ITEMS;
% if parts > 1:
    for (i32 k = 0; k < ${vectors // 2}; ++k)
        set |= OF_WORD(bits_below(bounds[2 * k], most) | bits_below(bounds[2 * k + 1], most) << 16, k);
% else:
% for k in range(vectors):
    set |= OF_WORD(bits_below(bounds[${k}], most) << ${16 * (k % 2)}, ${k // 2});
% endfor
% endif
    return set;
}

% if pairs:
FUNCTION i32 johnson_of_child(const state_t* state, mask_t open, mask_t item, i32 side, i32 enough, table_t table) {
    state_t child = *state;
    place(&child, 0, INDEX_OF_LOWEST(item), -1, side, table);
    i32 done[${machines}], after[${machines}];
    for (i32 i = 0; i < ${machines}; ++i) {
        done[i] = child.front[i];
        after[i] = child.back[i];
    }
    return johnson(done, after, open ^ item, enough, table);
}
% endif
% if two:
FUNCTION void two_machine(const state_t* state, mask_t open, i32 side, value_t* bounds, table_t table) {
    for (mask_t left = open; ANY(left); left = WITHOUT_LOWEST(left))
        bounds[INDEX_OF_LOWEST(left)] = (value_t)johnson_of_child(state, open, LOWEST(left), side, ${largest}, table);
}
% endif

<%def name="sweep(end, other, first, machines_from_there, before)">\
% if parts > 1:
    for (i32 begin = 0; begin < ${vectors}; begin += ${together})
% endif
    {
        const value_t after = state->rest[${first}] + state->${other}[${first}];
% for k in range(together):
        lanes_t u${k} = (lanes_t)state->${end}[${first}];
        lanes_t lb${k} = u${k} + (lanes_t)after;
% endfor
        for (${machines_from_there}) {
            const lanes_t done = (lanes_t)state->${end}[i];
            const lanes_t rest = (lanes_t)(value_t)(state->rest[i] + state->${other}[i]);
% for k in range(together):
            u${k} = u${k} + ROWS[(${before}) * ${vectors} + ${begin}${k}];
            u${k} = MAX(u${k}, done);
            const lanes_t x${k} = u${k} + rest;
            lb${k} = MAX(lb${k}, x${k});
% endfor
        }
% for k in range(together):
        ${end}[${begin}${k}] = lb${k};
% endfor
    }
</%def>\
FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table) {
    lanes_t front[${vectors}];
    lanes_t back[${vectors}];
% if two:
    value_t* const cb = (value_t*)front;
    value_t* const ce = (value_t*)back;
    two_machine(state, open, 0, cb, table);
% if both:
    two_machine(state, open, 1, ce, table);
% endif
% else:
${sweep("front", "back", 0, f"i32 i = 1; i < {machines}; ++i", "i - 1")}\
% if both:
${sweep("back", "front", machines - 1, f"i32 i = {machines - 2}; i >= 0; --i", "i + 1")}\
    const value_t* const cb = (const value_t*)front;
    const value_t* const ce = (const value_t*)back;
% endif
% endif
% if both:
    const i32 pruned = COUNT(open & below(back, initial)) - COUNT(open & below(front, initial));
    i32 difference = 0;
% if branching in ("max_sum", "max_sum_back", "min_branch"):
% if branching == "min_branch":
    if (pruned == 0)
% endif
        for (mask_t left = open; ANY(left); left = WITHOUT_LOWEST(left)) {
            const i32 item = INDEX_OF_LOWEST(left);
            difference += (i32)cb[item] - (i32)ce[item];
        }
% endif
    *side = choose_side(pruned, difference, depth);
% else:
    *side = 0;
% endif
    mask_t kept = open & below(${"*side ? back : front" if both else "front"}, upper);
% if bounds == "mixed":
    for (mask_t left = kept; ANY(left); left = WITHOUT_LOWEST(left))
        if (johnson_of_child(state, open, LOWEST(left), *side, upper, table) >= upper)
            kept ^= LOWEST(left);
% endif
    return kept;
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table) {
    const GLOBAL value_t* times = VALUES + ${columns} + INDEX_OF_LOWEST(open) * ${machines};
    i32 at = 0, longest = 0;
    for (i32 i = 0; i < ${machines}; ++i) {
        at = MAX(at, (i32)state->front[i]) + times[i];
        const i32 whole = at + state->back[i];
        longest = MAX(longest, whole);
    }
    return longest;
}
