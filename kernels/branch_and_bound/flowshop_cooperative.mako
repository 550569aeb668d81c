// The flowshop's two-machine bound of all children of a node, by a group; functions for explore_cooperative.mako.
% if bounds == "mixed":
// The one-machine bound chooses the side and prunes first.
% endif
// Jobs before and after a child's own job in Johnson's order of a pair of machines u < v are each one map in max-plus algebra,
//   (t_u, t_v) -> (t_u + a, max(t_u + b, t_v + c)),
// so one pass forward and one back over the order bound a node's children all, in as many steps as there are jobs.
// Lane l takes the pairs l, l + ${lanes}, ... A pair_t: times of the front (low) and of the back.
// table   columns of all machines by job, ${stride} words apart; heads; tails; the two machines of each pair (u | v << 16); by
//         place in Johnson's order, then pair: ${"lag | p_u << 16, p_v | job << 16" if packed else "lag, p_u, p_v, job"}
<%
    m = machines
    heads = items * stride
    ends = heads + 2 * m
    mask_words = -(-items // 32)
    both = bounds == "two_machine" and branching != "forward"
%>
${rule.functions()}
#define NEVER (-0x10000000)
% if packed:
typedef u32 pair_t;
#define LOW(pair) ((i32)(i16)(pair))
#define HIGH(pair) ((i32)(pair) >> 16)
#define PAIR(low, high) ((u32)((low) & 0xffff) | (u32)(high) << 16)
% if language == "cuda":
#define PAIR_MAX(a, b) __vmaxs2((a), (b))
% else:
#define PAIR_MAX(a, b) as_uint(max(as_short2(a), as_short2(b)))
% endif
typedef uint2 entry_t;
#define LAG(entry) ((i32)((entry).x & 0xffff))
#define ON_U(entry) ((i32)((entry).x >> 16))
#define ON_V(entry) ((i32)((entry).y & 0xffff))
#define JOB(entry) ((i32)((entry).y >> 16))
% else:
typedef uint2 pair_t;
#define LOW(pair) ((i32)(pair).x)
#define HIGH(pair) ((i32)(pair).y)
#define PAIR(low, high) ${"make_uint2((u32)(low), (u32)(high))" if language == "cuda" else "(uint2)((u32)(low), (u32)(high))"}
FUNCTION pair_t PAIR_MAX(pair_t a, pair_t b) { return PAIR(MAX(LOW(a), LOW(b)), MAX(HIGH(a), HIGH(b))); }
typedef uint4 entry_t;
#define LAG(entry) ((i32)(entry).x)
#define ON_U(entry) ((i32)(entry).y)
#define ON_V(entry) ((i32)(entry).z)
#define JOB(entry) ((i32)(entry).w)
% endif
#define TIME(job, i) table[(job) * ${stride} + (i)]
#define CHILD(job, i) child[(job) * ${stride} + (i)]

// What a group keeps in local memory.
typedef struct {
    pair_t done[${m}], child[${items * stride}];
% if both:
    pair_t best[${items * lanes}];
% endif
    pair_t bounds[${items}];
    i32 rest[${m}];
    u32 dead[${mask_words}];
    i32 upper, leave;
    mask_t rows[${leaf_depth or 1}];
} group_t;

FUNCTION void reset(LOCAL group_t* group, i32 lane, table_t table) {
    for (i32 i = lane; i < ${m}; i += ${lanes})
        group->done[i] = PAIR(table[${heads} + i], table[${heads + m} + i]);
}

FUNCTION void place(LOCAL group_t* group, i32 lane, i32 item, i32 side, table_t table) {
    if (lane == 0) {
        i32 at = 0;
        for (i32 k = 0; k < ${m}; ++k) {
            const i32 i = side ? ${m - 1} - k : k;
            const pair_t done = group->done[i];
            at = MAX(at, (side ? HIGH(done) : LOW(done))) + TIME(item, i);
            group->done[i] = side ? PAIR(LOW(done), at) : PAIR(at, HIGH(done));
        }
    }
    BARRIER();
}

FUNCTION void enter_child(LOCAL group_t* group, i32 lane, i32 depth, i32 active, i32 back, mask_t path_sides,
    const GLOBAL i32* levels, table_t table) {
    if (back)
        reset(group, lane, table);
    BARRIER();
    for (i32 level = back ? 0 : depth; active && level <= depth; ++level)
        place(group, lane, INDEX_OF_LOWEST(group->rows[level]), (i32)HAS(path_sides, level), table);
}

// When each machine is done with front and child, and how long it needs for child and back, for all children.
FUNCTION void place_all(LOCAL group_t* group, i32 lane, mask_t open, table_t table) {
    LOCAL pair_t* child = group->child;
    for (i32 job = lane; job < ITEMS; job += ${lanes}) {
        if (HAS(open, job)) {
            i32 front[${m}];
            i32 at = 0;
% for i in range(m):
            at = MAX(at, LOW(group->done[${i}])) + TIME(job, ${i});
            front[${i}] = at;
% endfor
            at = 0;
% for i in reversed(range(m)):
            at = MAX(at, HIGH(group->done[${i}])) + TIME(job, ${i});
            CHILD(job, ${i}) = PAIR(front[${i}], at);
% endfor
        }
    }
}

% if bounds == "mixed":
// The one-machine bounds of all children: u the start of the job on machine i, max(u_i + R_i + B_i)      (mirrored)
FUNCTION void one_machine(LOCAL group_t* group, i32 lane, mask_t open, table_t table) {
    for (i32 i = lane; i < ${m}; i += ${lanes}) {
        i32 rest = 0;
        for (mask_t left = open; ANY(left); left = WITHOUT_LOWEST(left))
            rest += TIME(INDEX_OF_LOWEST(left), i);
        group->rest[i] = rest;
    }
    BARRIER();
    LOCAL pair_t* child = group->child;
    for (i32 job = lane; job < ITEMS; job += ${lanes}) {
        if (HAS(open, job)) {
            i32 front = 0, back = 0;
% for i in range(m):
            {
                const pair_t done = group->done[${i}];
                const pair_t placed = CHILD(job, ${i});
                const i32 rest = group->rest[${i}] - TIME(job, ${i});
                const i32 ahead = LOW(placed) + rest + HIGH(done);
                const i32 behind = HIGH(placed) + rest + LOW(done);
                front = MAX(front, ahead);
                back = MAX(back, behind);
            }
% endfor
            group->bounds[job] = PAIR(front, back);
        }
    }
    BARRIER();
}
% endif

<%def name="forward(k)">
        {
            const entry_t entry = entries[${k} * ${pairs} + pair];
            before[${k}] = through;
            if (HAS(open, JOB(entry))) {
                at += ON_U(entry);
                const i32 ready = at + LAG(entry);
                through = MAX(through, ready) + ON_V(entry);
                on_v += ON_V(entry);
            }
        }
</%def>
<%def name="backward(k)">
        {
            const entry_t entry = entries[${k} * ${pairs} + pair];
            const i32 job = JOB(entry);
            if (HAS(open, job)) {
                at -= ON_U(entry);
% if not both:
                if (HAS(kept, job)) {
% endif
                const i32 all_before = before[${k}] + after_v;
                const i32 all_after = at + after;
                const i32 b = MAX(all_before, all_after);
                const i32 a = on_u - ON_U(entry);
                const i32 c = on_v - ON_V(entry);
                const pair_t child_u = CHILD(job, u);
                const pair_t child_v = CHILD(job, v);
% if both or branching != "forward":
                const i32 of_u = front_u + a + HIGH(child_u);
                const i32 one = front_u + b, other = front_v + c;
                const i32 of_v = MAX(one, other) + HIGH(child_v);
                const i32 back = MAX(of_u, of_v);
% endif
                const i32 by_u = a + back_u, by_v = b + back_v;
                const i32 long_u = MAX(by_u, by_v) + LOW(child_u);
                const i32 long_v = c + back_v + LOW(child_v);
                const i32 front = MAX(long_u, long_v);
% if both:
                best[job * ${lanes}] = PAIR_MAX(best[job * ${lanes}], PAIR(front, back));
% else:
                if (${"(side ? back : front)" if branching != "forward" else "front"} >= upper)
                    reached |= ITEM(job);
                }
% endif
                const i32 later = LAG(entry) + ON_V(entry) + after_v;
                after = MAX(later, after) + ON_U(entry);
                after_v += ON_V(entry);
            }
        }
</%def>
// The two-machine bounds of children over the pairs of this lane.
// both sides: the largest of each into best; else: children with one that reaches `upper` into dead, round after round until
// none of `kept` is left, which is what is returned.
FUNCTION mask_t two_machine(LOCAL group_t* group, i32 lane, mask_t open, mask_t kept, i32 side, i32 upper, table_t table) {
    LOCAL pair_t* child = group->child;
    const GLOBAL entry_t* entries = (const GLOBAL entry_t*)(table + ${johnson_at});
% if both:
    LOCAL pair_t* best = group->best + lane;
    for (i32 job = 0; job < ITEMS; ++job)
        best[job * ${lanes}] = PAIR(0, 0);
    for (i32 pair = lane; pair < ${pairs}; pair += ${lanes}) {
% else:
    for (i32 first = 0; first < ${pairs} && ANY(kept); first += ${lanes}) {
      const i32 pair = first + lane;
      mask_t reached = NO_ITEMS;
      if (pair < ${pairs}) {
% endif
        const i32 machines = table[${ends} + pair];
        const i32 u = machines & 0xffff, v = machines >> 16;
        const i32 front_u = LOW(group->done[u]), front_v = LOW(group->done[v]);
        const i32 back_u = HIGH(group->done[u]), back_v = HIGH(group->done[v]);
        i32 before[${items}];
        i32 at = 0, through = NEVER, on_v = 0;
% if items > 64:
        for (i32 k = 0; k < ITEMS; ++k)
${forward("k")}
% else:
% for k in range(items):
${forward(k)}
% endfor
% endif
        const i32 on_u = at;
        i32 after = NEVER, after_v = 0;
% if items > 64:
        for (i32 k = ITEMS - 1; k >= 0; --k)
${backward("k")}
% else:
% for k in reversed(range(items)):
${backward(k)}
% endfor
% endif
% if both:
    }
    BARRIER();
    for (i32 job = lane; job < ITEMS; job += ${lanes}) {
        pair_t largest = PAIR(0, 0);
        for (i32 k = 0; k < ${lanes}; ++k) {
            const pair_t of_lane = group->best[job * ${lanes} + (k + lane) % ${lanes}];
            largest = PAIR_MAX(largest, of_lane);
        }
        group->bounds[job] = largest;
    }
    BARRIER();
    return open;
% else:
% for k in range(mask_words):
        if (WORD(reached, ${k}))
            ATOMIC_OR_U32(&group->dead[${k}], WORD(reached, ${k}));
% endfor
      }
      BARRIER();
      const mask_t dead = ${" | ".join(f"OF_WORD(group->dead[{k}], {k})" for k in range(mask_words))};
      kept &= ~dead;
      BARRIER();
    }
    return kept;
% endif
}

// The children that stay, and on which side; the same in every lane.
FUNCTION mask_t expand(LOCAL group_t* group, i32 lane, i32 depth, mask_t open, i32 upper, i32 initial, i32* side,
    GLOBAL i32* levels, table_t table) {
    place_all(group, lane, open, table);
    for (i32 k = lane; k < ${mask_words}; k += ${lanes})
        group->dead[k] = 0;
    BARRIER();
% if both:
    two_machine(group, lane, open, open, 0, upper, table);
% elif bounds == "mixed":
    one_machine(group, lane, open, table);
% else:
    *side = 0;
    return two_machine(group, lane, open, open, 0, upper, table);
% endif
% if both or bounds == "mixed":
    rule_t rule;
    begin_rule(&rule);
    for (mask_t left = open; ANY(left); left = WITHOUT_LOWEST(left)) {
        const pair_t bounds = group->bounds[INDEX_OF_LOWEST(left)];
        judge(&rule, LOWEST(left), LOW(bounds), HIGH(bounds), upper, initial);
    }
    *side = choose_side(rule.pruned, rule.difference, ITEMS - COUNT(open));
    const mask_t kept = *side ? rule.kept_back : rule.kept_front;
% if bounds == "mixed":
    return two_machine(group, lane, open, kept, *side, upper, table);
% else:
    return kept;
% endif
% endif
}

FUNCTION i32 leaf(LOCAL group_t* group, mask_t open, table_t table) {
    const i32 job = INDEX_OF_LOWEST(open);
    i32 at = 0, longest = 0;
    for (i32 i = 0; i < ${m}; ++i) {
        const pair_t done = group->done[i];
        at = MAX(at, LOW(done)) + TIME(job, i);
        const i32 whole = at + HIGH(done);
        longest = MAX(longest, whole);
    }
    return longest;
}
