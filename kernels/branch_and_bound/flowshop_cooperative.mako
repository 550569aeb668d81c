<%namespace name="masks" file="/branch_and_bound/masks.mako"/>
<%namespace name="rule" file="/branch_and_bound/rule.mako"/>
// Variant pte where bounds take long: a group of ${lanes} work-items is one IVM, and bounds all children of its node together
// by the two-machine bound${"" if bounds == "two_machine" else ", after the one-machine bound has chosen the side and pruned"}.
// Jobs before and after a child's own job in Johnson's order of a pair of machines u < v are each one map in max-plus algebra,
//   (t_u, t_v) -> (t_u + a, max(t_u + b, t_v + c)),
// so one pass forward and one back over the order bound a node's children all, in as many steps as there are jobs.
// Lane l takes the pairs l, l + ${lanes}, ... Buffers as in explore.mako; a pair_t: times of the front (low) and of the back.
// table   columns of all machines by job, ${stride} words apart; heads; tails; the two machines of each pair (u | v << 16); by
//         place in Johnson's order, then pair: ${"lag | p_u << 16, p_v | job << 16" if packed else "lag, p_u, p_v, job"}
// Launch: one group of ${lanes} work-items per IVM, or per unit.
<%
    m = machines
    heads = items * stride
    ends = heads + 2 * m
    mask_words = -(-items // 32)
    both = bounds == "two_machine" and branching != "forward"
%>
${masks.declarations()}
typedef const GLOBAL i32* table_t;
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
FUNCTION pair_t PAIR_MAX(pair_t a, pair_t b)
{
    return PAIR(MAX(LOW(a), LOW(b)), MAX(HIGH(a), HIGH(b)));
}
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
    pair_t done[${m}];
    pair_t child[${items * stride}];
% if both:
    pair_t best[${items * lanes}];
% endif
    pair_t bounds[${items}];
    i32 rest[${m}];
    u32 dead[${mask_words}];
    i32 upper;
    i32 leave;
    mask_t rows[${leaf_depth or 1}];
} group_t;

// The state of the root; a barrier must follow.
FUNCTION void reset(LOCAL group_t* group, i32 lane, table_t table)
{
    for (i32 i = lane; i < ${m}; i += ${lanes})
        group->done[i] = PAIR(table[${heads} + i], table[${heads + m} + i]);
}

// The state of a child of its own state's node.
FUNCTION void place(LOCAL group_t* group, i32 lane, i32 item, i32 side, table_t table)
{
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

// When each machine is done with front and child, and how long it needs for child and back, for all children.
FUNCTION void place_all(LOCAL group_t* group, i32 lane, mask_t open, table_t table)
{
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
FUNCTION void one_machine(LOCAL group_t* group, i32 lane, mask_t open, table_t table)
{
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
FUNCTION mask_t two_machine(LOCAL group_t* group, i32 lane, mask_t open, mask_t kept, i32 side, i32 upper, table_t table)
{
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
        const i32 two = table[${ends} + pair];
        const i32 u = two & 0xffff, v = two >> 16;
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
FUNCTION mask_t bound(LOCAL group_t* group, i32 lane, mask_t open, i32 upper, i32 initial, i32* side, table_t table)
{
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
    *side = choose_side(rule.pruned, rule.difference, rule.least_often, ITEMS - COUNT(open));
    const mask_t kept = *side ? rule.kept_back : rule.kept_front;
% if bounds == "mixed":
    return two_machine(group, lane, open, kept, *side, upper, table);
% else:
    return kept;
% endif
% endif
}

// Makespan of a leaf, by one work-item.
FUNCTION i32 leaf(LOCAL group_t* group, mask_t open, table_t table)
{
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

KERNEL LAUNCH_BOUNDS(${lanes}, ${groups_per_unit}) explore(GLOBAL mask_t* RESTRICT rows, GLOBAL mask_t* RESTRICT sides,
    GLOBAL i32* RESTRICT depths, const GLOBAL u8* RESTRICT begins, const GLOBAL u8* RESTRICT ends,
    GLOBAL i32* RESTRICT explored, volatile GLOBAL i32* best, GLOBAL i32* RESTRICT found_value,
    GLOBAL u8* RESTRICT found_path, GLOBAL mask_t* RESTRICT found_sides, volatile GLOBAL i32* control,
    GLOBAL u64* counters, const GLOBAL i32* RESTRICT data, i32 initial, i32 ivms, i32 slots)
{
    LOCAL_ARRAY(group_t, groups, 1);
    LOCAL group_t* const group = groups;
    table_t table = data;
    const i32 ivm = GROUP_ID;
    const i32 lane = LOCAL_ID;
    const i32 steps = control[STEPS];
    const i32 least_active = control[LEAST_ACTIVE];
    i32 depth = depths[ivm];
    const i32 began = depth;
    u32 nodes = 0, leaves = 0, pushed = 0;
    mask_t used = NO_ITEMS, turned = sides[ivm];
% if counts:
    u32 solutions = 0;
% endif
    reset(group, lane, table);
    BARRIER();
    for (i32 level = 0; level < began; ++level) {
        const mask_t row = rows[(i64)level * slots + ivm];
        if (lane == 0)
            group->rows[level] = row;
        used |= LOWEST(row);
        place(group, lane, INDEX_OF_LOWEST(row), (i32)HAS(turned, level), table);
    }
    // Barriers stand where every step comes by: a leaf is bounded too, as a node without open jobs.
    i32 leave = 0;
    for (i32 step = 0; depth >= 0 && step < steps && !leave; ++step) {
        const i32 at_leaf = depth == LEAF_DEPTH;
        if (lane == 0) {
            // One work-item looks at what others change, so that all lanes see the same.
            if (step % ${poll} == 0) {
                const i32 shared = *best;
                group->upper = MIN(shared, initial);
                group->leave = control[ACTIVE] < least_active;
            }
            if (at_leaf) {
                const i32 value = leaf(group, ALL_ITEMS & ~used, table);
% if counts:
                solutions += value < group->upper;
% else:
                if (value < group->upper) {
                    group->upper = value;
                    ATOMIC_MIN_I32(best, value);
                    if (value < found_value[ivm]) {
                        found_value[ivm] = value;
                        for (i32 level = 0; level < LEAF_DEPTH; ++level)
                            found_path[(i64)level * slots + ivm] = (u8)INDEX_OF_LOWEST(group->rows[level]);
                        found_sides[ivm] = turned;
                    }
                }
% endif
            }
        }
        BARRIER();
        const i32 upper = group->upper;
        leave = group->leave;
        i32 side = 0;
        mask_t row = bound(group, lane, at_leaf ? NO_ITEMS : ALL_ITEMS & ~used, upper, initial, &side, table);
        leaves += (u32)at_leaf;
        nodes += (u32)!at_leaf;
        pushed += (u32)COUNT(row);
        if (!at_leaf)
            turned = (turned & ~ITEM(depth)) | (side ? ITEM(depth) : NO_ITEMS);
        // The next node is the first open item at `depth`: a child, or a sibling on the way back, with a state made anew.
        const i32 back = !ANY(row);
        while (depth > 0 && !ANY(row)) {
            --depth;
            row = group->rows[depth];
            used ^= LOWEST(row);
            row ^= LOWEST(row);
        }
        BARRIER();
        if (lane == 0)
            group->rows[depth] = row;
        if (back)
            reset(group, lane, table);
        BARRIER();
        for (i32 level = back ? 0 : depth; ANY(row) && level <= depth; ++level)
            place(group, lane, INDEX_OF_LOWEST(group->rows[level]), (i32)HAS(turned, level), table);
        used |= LOWEST(row);
        depth = ANY(row) ? depth + 1 : -1;
    }
    BARRIER();
    if (began >= 0 && lane == 0) {
        for (i32 level = 0; level < depth; ++level)
            rows[(i64)level * slots + ivm] = group->rows[level];
        sides[ivm] = turned;
        depths[ivm] = depth;
        if (depth < 0) {
            ATOMIC_ADD_I32(&control[ACTIVE], -1);
            for (i32 level = 0; level < ITEMS; ++level) {
                const i64 at = (i64)level * slots + ivm;
                explored[at] += (i32)ends[at] - (i32)begins[at];
            }
        }
        ATOMIC_ADD_U64(&counters[0], nodes);
        ATOMIC_ADD_U64(&counters[1], leaves);
        ATOMIC_ADD_U64(&counters[2], pushed);
% if counts:
        ATOMIC_ADD_U64(&counters[3], solutions);
% endif
    }
}

// As in explore.mako.
// Launch: one group of ${lanes} work-items per unit.
KERNEL LAUNCH_BOUNDS(${lanes}, 1) initialize(GLOBAL mask_t* RESTRICT rows, GLOBAL mask_t* RESTRICT sides,
    GLOBAL i32* RESTRICT depths, GLOBAL u8* RESTRICT begins, GLOBAL u8* RESTRICT ends, GLOBAL i32* RESTRICT explored,
    volatile GLOBAL i32* best, volatile GLOBAL i32* control, GLOBAL u64* counters, const GLOBAL i32* RESTRICT data,
    const GLOBAL u8* RESTRICT units, const GLOBAL i32* RESTRICT targets, i32 count, i32 initial, i32 slots)
{
    LOCAL_ARRAY(group_t, groups, 1);
    LOCAL group_t* const group = groups;
    table_t table = data;
    const i32 lane = LOCAL_ID;
    const GLOBAL u8* begin = units + (i64)GROUP_ID * ${2 * items + 1};
    const GLOBAL u8* end = begin + ITEMS;
    const i32 fresh = begin[${2 * items}];
    const i32 ivm = targets[GROUP_ID];
    if (lane == 0)
        group->upper = *best;
    BARRIER();
    const i32 upper = group->upper;
    i32 down = 0;
    while (down < ITEMS - 1 && begin[down] == end[down])
        ++down;
    down = MIN(MAX(down + 1, fresh), LEAF_DEPTH);
    reset(group, lane, table);
    BARRIER();
    mask_t used = NO_ITEMS, turned = NO_ITEMS;
    i32 depth = 0;
    u32 lost = 0, within = 1, nodes = 0, pushed = 0;
    while (depth < down && !lost) {
        i32 side = 0;
        const mask_t open = ALL_ITEMS & ~used;
        mask_t row = bound(group, lane, open, upper, initial, &side, table);
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
        if (lane == 0)
            group->rows[depth] = row;
        turned |= side ? ITEM(depth) : NO_ITEMS;
        lost = !ANY(row & chosen);
        if (!lost) {
            place(group, lane, INDEX_OF_LOWEST(chosen), side, table);
            used |= chosen;
            ++depth;
        }
    }
    BARRIER();
    if (lane == 0) {
        if (lost) {
            if (!ANY(group->rows[depth])) {
                while (depth > 0) {
                    --depth;
                    group->rows[depth] ^= LOWEST(group->rows[depth]);
                    if (ANY(group->rows[depth]))
                        break;
                }
            }
            depth = ANY(group->rows[depth]) ? depth + 1 : -1;
        }
        for (i32 level = 0; level < ITEMS; ++level) {
            const i64 at = (i64)level * slots + ivm;
            begins[at] = begin[level];
            ends[at] = end[level];
            if (level < depth)
                rows[at] = group->rows[level];
            if (depth < 0)
                explored[at] += (i32)end[level] - (i32)begin[level];
        }
        sides[ivm] = turned;
        depths[ivm] = depth;
        if (nodes) {
            ATOMIC_ADD_U64(&counters[0], nodes);
            ATOMIC_ADD_U64(&counters[2], pushed);
        }
        if (depth >= 0)
            ATOMIC_ADD_I32(&control[ACTIVE], 1);
    }
}
