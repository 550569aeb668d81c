<%namespace name="masks" file="/branch_and_bound/masks.mako"/>
// Asymmetric TSP with the assignment bound: item i is city i + 1; the tour begins at city 0. A group of ${lanes} work-items is
// one IVM.
//
// A node has a path from city 0 to the last city L, and open cities S. Its bound is the cost of the path plus the optimal
// assignment of the rows {L} + S (a city is left) to the columns S + {0} (a city is entered). With duals u, v and reduced
// costs w(i, j) = c(i, j) - u(i) - v(j) >= 0, and t the column of row L, the shortest alternating paths from every row i of S
// to column t have lengths d(i); after u(i) += d(i), v(column of i) -= d(i), the child that goes on to city j has the bound
//   z + w(L, j)                exactly: its assignment differs by the arc (L, j) and the shortest path from j's row to t.
// So one search for shortest paths (Dijkstra's) bounds all children. These duals, but for a constant, and with them all bounds,
// depend on the node alone, not on how it was reached.
// A minimum spanning arborescence of S from L under the reduced costs is added to z to prune the node as a whole: every tour
// enters each subtour of the assignment from outside (Edmonds' algorithm on the subtours, contracted one after another).
// References: Carpaneto, Dell'Amico, Toth, ACM TOMS 21 (1995) 394-409; Fischetti, Toth, Math. Programming 53 (1992) 173-197.
//
// Buffers as in explore.mako; `workspace` holds WORKSPACE_WORDS words an IVM. Launch: one group per IVM, or per unit.
// With `subtours`, bounds are of weights w(i, j) instead of costs: w is in units of 1 / scale, and less by the multipliers of
// the sets of cities that the arc leaves, whose total is added to all bounds. A tour that leaves a set once more has its
// multiplier once too little. It leaves a set as often as it goes from the side of city 0 (the set, or the other cities) to the
// other side: where the path does so again, the multiplier is added, for the first 64 sets. Tours still cost what they cost.
// table   weights by column (to, then from), ${stride} words apart; then of the root the duals of rows, those of columns, the
//         columns of rows; the bound; with `subtours` the scale, the multipliers' total, the costs by column, for every city
//         two words of bits (whether it is on the side of city 0 of the first 64 sets), and the multipliers of these
// levels  for every level of the path, the state of its node after decomposition: ${3 * cities} words by city (column and next
//         column of the path to t, packed; dual of the row; dual of the column), then cost, bound, last city, and with
//         `subtours` the sets for which the path has left the side of city 0
<%
    n = cities
    root = n * stride
    scale = root + 3 * n + 1
    exact = scale + 2
    members = exact + n * stride
%>
${masks.declarations()}
typedef const GLOBAL i32* table_t;
#define NEVER 0x3fffffff
% if lanes > 1:
#define SYNC() BARRIER()
% else:
#define SYNC()
% endif
#define NOWHERE 255
#define WEIGHT(from, to) table[(to) * ${stride} + (from)]
#define REDUCED(from, to) (WEIGHT(from, to) - group->u[from] - group->v[to])
% if subtours:
#define COST(from, to) table[${exact} + (to) * ${stride} + (from)]
#define LEAVES(from, to, word) ((u32)table[${members} + 2 * (from) + (word)] & ~(u32)table[${members} + 2 * (to) + (word)])
// What the bound of a node that may lead to a tour cheaper than `upper` is less than.
#define LIMIT(upper) ((i32)MIN((i64)table[${scale}] * ((upper) - 1) + 1 - table[${scale + 1}], (i64)NEVER))
% else:
#define COST(from, to) WEIGHT(from, to)
#define LIMIT(upper) (upper)
% endif
#define LEVEL_WORDS ${3 * n + (5 if subtours else 3)}
#define WORKSPACE_WORDS (LEVEL_WORDS * ${leaf_depth or 1})

// u, v     duals of rows and columns; column[i] of row i, and the row of column j, in the assignment
// column is NOWHERE for cities before L
// next     the column after row i on the shortest path to t
// city     the open cities in ascending order; length   of their shortest paths
// label    of a city's component: 0 with L, else that of a subtour; shift   what the arborescence has taken off its column
typedef struct {
    i32 u[${n}];
    i32 v[${n}];
    i32 column[${n}];
    i32 row[${n}];
    i32 next[${n}];
    i32 city[${n}];
    i32 length[${n}];
    i32 settled[${n}];
    i32 label[${n}];
    i32 shift[${n}];
    i32 source[${n}];
    i32 values[${lanes}];
    i32 places[${lanes}];
    mask_t kept[${lanes}];
    i32 last;
    i32 cost;
    i32 bound;
    i32 upper;
% if subtours:
    u32 left[2];
% endif
    i32 leave;
    mask_t rows[${leaf_depth or 1}];
} group_t;

// The least value of all lanes and its place, the smaller of equals; the same in every lane.
FUNCTION void least(LOCAL group_t* group, i32 lane, i32* value, i32* place)
{
% if lanes > 1:
% if shuffle:
% for offset in (16, 8, 4, 2, 1):
    {
        const i32 other = __shfl_xor_sync(0xffffffffu, *value, ${offset});
        const i32 there = __shfl_xor_sync(0xffffffffu, *place, ${offset});
        const i32 better = other < *value || (other == *value && there < *place);
        *value = better ? other : *value;
        *place = better ? there : *place;
    }
% endfor
    SYNC();
% else:
    group->values[lane] = *value;
    group->places[lane] = *place;
    SYNC();
    for (i32 k = 0; k < ${lanes}; ++k) {
        const i32 other = group->values[k];
        const i32 there = group->places[k];
        const i32 better = other < *value || (other == *value && there < *place);
        *value = better ? other : *value;
        *place = better ? there : *place;
    }
    SYNC();
% endif
% endif
}

FUNCTION void reset(LOCAL group_t* group, i32 lane, table_t table)
{
    for (i32 i = lane; i < ${n}; i += ${lanes}) {
        group->u[i] = table[${root} + i];
        group->v[i] = table[${root + n} + i];
        group->column[i] = table[${root + 2 * n} + i];
    }
    if (lane == 0) {
        group->last = 0;
        group->cost = 0;
        group->bound = table[${root + 3 * n}];
% if subtours:
        group->left[0] = group->left[1] = 0;
% endif
    }
}

% if subtours:
// The multipliers of those of the first 64 sets for which an arc leaves the side of city 0, as the path has done before.
FUNCTION i32 multipliers_again(LOCAL group_t* group, i32 from, i32 to, table_t table)
{
    i32 sum = 0;
    for (i32 word = 0; word < 2; ++word) {
        u32 again = LEAVES(from, to, word) & group->left[word];
        while (again) {
            const i32 bit = HIGHEST_OF_WORD(again);
            sum += table[${members + 2 * n} + 32 * word + bit];
            again ^= 1u << bit;
        }
    }
    return sum;
}
#define AGAIN(from, to) multipliers_again(group, from, to, table)
% else:
#define AGAIN(from, to) 0
% endif

// The shortest alternating paths from the rows of the open cities to column t, and the duals that follow from their lengths.
FUNCTION void shortest_paths(LOCAL group_t* group, i32 lane, i32 count, i32 t, table_t table)
{
    i32 best = NEVER, at = ${n};
    for (i32 a = lane; a < count; a += ${lanes}) {
        const i32 i = group->city[a];
        const i32 length = REDUCED(i, t);
        group->length[a] = length;
        group->next[i] = t;
        group->settled[a] = 0;
        at = length < best ? a : at;
        best = MIN(best, length);
    }
    least(group, lane, &best, &at);
    for (i32 left = count; left > 0; --left) {
        const i32 reached = best, settled = at;
        const i32 j = group->column[group->city[settled]];
        const i32 base = reached - group->v[j];
        best = NEVER;
        at = ${n};
        for (i32 a = lane; a < count; a += ${lanes}) {
            if (a == settled)
                group->settled[a] = 1;
            if (!group->settled[a]) {
                const i32 i = group->city[a];
                const i32 length = base + WEIGHT(i, j) - group->u[i];
                i32 known = group->length[a];
                if (length < known) {
                    known = length;
                    group->length[a] = length;
                    group->next[i] = j;
                }
                at = known < best ? a : at;
                best = MIN(best, known);
            }
        }
        least(group, lane, &best, &at);
    }
    for (i32 a = lane; a < count; a += ${lanes}) {
        const i32 i = group->city[a];
        group->u[i] += group->length[a];
        group->v[group->column[i]] -= group->length[a];
    }
    SYNC();
}

// Label the subtours of the assignment; how many there are.
FUNCTION i32 label_subtours(LOCAL group_t* group, i32 lane, i32 count)
{
    for (i32 a = lane; a < count; a += ${lanes}) {
        const i32 i = group->city[a];
        group->label[i] = -1;
        group->shift[i] = 0;
    }
    SYNC();
    if (lane == 0) {
        i32 found = 0;
        group->label[group->last] = 0;
        for (i32 i = count ? group->column[group->last] : 0; i; i = group->column[i])
            group->label[i] = 0;
        for (i32 a = 0; a < count; ++a) {
            i32 i = group->city[a];
            if (group->label[i] < 0) {
                ++found;
                while (group->label[i] < 0) {
                    group->label[i] = found;
                    i = group->column[i];
                }
            }
        }
        group->values[0] = found;
    }
    SYNC();
    const i32 found = group->values[0];
    SYNC();
    return found;
}

// Value of the minimum spanning arborescence of the subtours, or a part of it that is at least `most`.
FUNCTION i32 arborescence(LOCAL group_t* group, i32 lane, i32 count, i32 most, table_t table)
{
    const i32 subtours = label_subtours(group, lane, count);
    i32 total = 0;
    // source[c]: the city from which component c is entered, once it has been processed; components before `c` have been.
    for (i32 c = 1; c <= subtours && total < most;) {
        i32 best = NEVER, from = ${n};
        for (i32 b = lane; b <= count; b += ${lanes}) {
            const i32 i = b < count ? group->city[b] : group->last;
            if (group->label[i] != c) {
                for (i32 a = 0; a < count; ++a) {
                    const i32 j = group->city[a];
                    if (group->label[j] == c) {
                        const i32 value = REDUCED(i, j) - group->shift[j];
                        from = value < best ? i : from;
                        best = MIN(best, value);
                    }
                }
            }
        }
        least(group, lane, &best, &from);
        total += best;
        for (i32 a = lane; a < count; a += ${lanes}) {
            const i32 j = group->city[a];
            if (group->label[j] == c)
                group->shift[j] += best;
        }
        if (lane == 0)
            group->source[c] = from;
        SYNC();
        // Follow the entering arcs back; a cycle of components becomes one, which is entered anew.
        i32 x = group->label[from];
        while (x && x < c)
            x = group->label[group->source[x]];
        SYNC();
        if (x == c && lane == 0) {
            i32 merged = group->label[from];
            while (merged != c) {
                const i32 before = group->source[merged];
                for (i32 a = 0; a < count; ++a) {
                    const i32 j = group->city[a];
                    if (group->label[j] == merged)
                        group->label[j] = c;
                }
                merged = group->label[before];
            }
        }
        SYNC();
        c += x != c;
    }
    return total;
}

FUNCTION mask_t expand(LOCAL group_t* group, i32 lane, i32 depth, mask_t open, i32 upper, GLOBAL i32* levels, table_t table)
{
    for (i32 item = lane; item < ITEMS; item += ${lanes})
        if (HAS(open, item))
            group->city[COUNT(open & BELOW(ITEM(item)))] = item + 1;
    SYNC();
    const i32 count = COUNT(open);
    const i32 last = group->last;
    const i32 gap = LIMIT(upper) - group->bound;
    shortest_paths(group, lane, count, group->column[last], table);
    mask_t kept = NO_ITEMS;
    for (i32 a = lane; a < count; a += ${lanes}) {
        const i32 j = group->city[a];
        if (REDUCED(last, j) + AGAIN(last, j) < gap)
            kept |= ITEM(j - 1);
    }
% if lanes > 1:
    group->kept[lane] = kept;
    SYNC();
    for (i32 k = 0; k < ${lanes}; ++k)
        kept |= group->kept[k];
    SYNC();
% endif
    if (arborescence(group, lane, ANY(kept) && upper != NEVER ? count : 0, gap, table) >= gap)
        kept = NO_ITEMS;
    GLOBAL i32* const level = levels + depth * LEVEL_WORDS;
    if (count) {
        for (i32 i = lane; i < ${n}; i += ${lanes}) {
            level[i] = group->column[i] | group->next[i] << 8;
            level[${n} + i] = group->u[i];
            level[${2 * n} + i] = group->v[i];
        }
        if (lane == 0) {
            level[${3 * n}] = group->cost;
            level[${3 * n + 1}] = group->bound;
            level[${3 * n + 2}] = last;
% if subtours:
            level[${3 * n + 3}] = (i32)group->left[0];
            level[${3 * n + 4}] = (i32)group->left[1];
% endif
        }
    }
    SYNC();
    return kept;
}

// The state of the child `item` of the node stored at a level, if `active`; the barriers are for all.
FUNCTION void place(LOCAL group_t* group, i32 lane, i32 depth, i32 item, i32 active, const GLOBAL i32* levels, table_t table)
{
    const GLOBAL i32* level = levels + depth * LEVEL_WORDS;
    for (i32 i = lane; active && i < ${n}; i += ${lanes}) {
        const i32 two = level[i], column = two & 0xff;
        group->column[i] = column;
        if (column != NOWHERE)
            group->row[column] = i;
        group->next[i] = two >> 8 & 0xff;
        group->u[i] = level[${n} + i];
        group->v[i] = level[${2 * n} + i];
    }
    SYNC();
    if (active && lane == 0) {
        const i32 last = level[${3 * n + 2}], j = item + 1;
        const i32 t = group->column[last];
        group->cost = level[${3 * n}] + COST(last, j);
% if subtours:
        group->left[0] = (u32)level[${3 * n + 3}];
        group->left[1] = (u32)level[${3 * n + 4}];
% endif
        group->bound = level[${3 * n + 1}] + REDUCED(last, j) + AGAIN(last, j);
% if subtours:
        group->left[0] |= LEAVES(last, j, 0);
        group->left[1] |= LEAVES(last, j, 1);
% endif
        group->last = j;
        group->column[last] = NOWHERE;
        i32 i = group->row[j];
        for (i32 to = j; to != t;) {
            to = group->next[i];
            group->column[i] = to;
            i = group->row[to];
        }
    }
    SYNC();
}

// Cost of the tour, by one work-item.
FUNCTION i32 leaf(LOCAL group_t* group, mask_t open, table_t table)
{
    const i32 city = INDEX_OF_LOWEST(open) + 1;
    return group->cost + COST(group->last, city) + COST(city, 0);
}

KERNEL LAUNCH_BOUNDS(${lanes}, ${groups_per_unit}) explore(GLOBAL mask_t* RESTRICT rows, GLOBAL mask_t* RESTRICT sides,
    GLOBAL i32* RESTRICT depths, const GLOBAL u8* RESTRICT begins, const GLOBAL u8* RESTRICT ends,
    GLOBAL i32* RESTRICT explored, volatile GLOBAL i32* best, GLOBAL i32* RESTRICT found_value,
    GLOBAL u8* RESTRICT found_path, GLOBAL mask_t* RESTRICT found_sides, volatile GLOBAL i32* control,
    GLOBAL u64* counters, const GLOBAL i32* RESTRICT data, GLOBAL i32* RESTRICT workspace, i32 initial, i32 ivms,
    i32 slots)
{
    LOCAL_ARRAY(group_t, groups, 1);
    LOCAL group_t* const group = groups;
    table_t table = data;
    const i32 ivm = GROUP_ID;
    const i32 lane = LOCAL_ID;
    GLOBAL i32* const levels = workspace + (i64)ivm * WORKSPACE_WORDS;
    const i32 steps = control[STEPS];
    const i32 least_active = control[LEAST_ACTIVE];
    const i32 began = depths[ivm];
    // The nodes of the path are expanded first, which restores what `levels` holds of them; then the search goes on.
    i32 depth = began < 0 ? -1 : 0, walk_to = began, leave = 0;
    u32 nodes = 0, leaves = 0, pushed = 0;
    mask_t used = NO_ITEMS;
    reset(group, lane, table);
    SYNC();
    for (i32 step = 0; depth >= 0 && step < steps && !leave;) {
        const i32 walking = depth < walk_to;
        const i32 at_leaf = !walking && depth == LEAF_DEPTH;
        if (lane == 0 && !walking) {
            // One work-item reads what others change, so that all lanes see the same.
            if (step % ${poll} == 0) {
                const i32 shared = *best;
                group->upper = MIN(shared, initial);
                group->leave = control[ACTIVE] < least_active;
            }
            if (at_leaf) {
                const i32 value = leaf(group, ALL_ITEMS & ~used, table);
                if (value < group->upper) {
                    group->upper = value;
                    ATOMIC_MIN_I32(best, value);
                    if (value < found_value[ivm]) {
                        found_value[ivm] = value;
                        for (i32 level = 0; level < LEAF_DEPTH; ++level)
                            found_path[(i64)level * slots + ivm] = (u8)INDEX_OF_LOWEST(group->rows[level]);
                        found_sides[ivm] = NO_ITEMS;
                    }
                }
            }
        }
        SYNC();
        leave = walking ? 0 : group->leave;
        const i32 upper = walking ? NEVER : group->upper;
        mask_t row = expand(group, lane, depth, at_leaf ? NO_ITEMS : ALL_ITEMS & ~used, upper, levels, table);
        if (walking) {
            row = rows[(i64)depth * slots + ivm];
        } else {
            ++step;
            leaves += (u32)at_leaf;
            nodes += (u32)!at_leaf;
            pushed += (u32)COUNT(row);
            // The next node is the first open item at `depth`: a child of this node, or a sibling on the way back.
            while (depth > 0 && !ANY(row)) {
                --depth;
                row = group->rows[depth];
                used ^= LOWEST(row);
                row ^= LOWEST(row);
            }
        }
        SYNC();
        if (lane == 0)
            group->rows[depth] = row;
        place(group, lane, depth, INDEX_OF_LOWEST(row), ANY(row), levels, table);
        used |= LOWEST(row);
        depth = ANY(row) ? depth + 1 : -1;
        walk_to = depth < walk_to ? walk_to : 0;
    }
    SYNC();
    if (began >= 0 && lane == 0) {
        for (i32 level = 0; level < depth; ++level)
            rows[(i64)level * slots + ivm] = group->rows[level];
        sides[ivm] = NO_ITEMS;
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
    }
}

// As in explore.mako.
// Launch: one group of ${lanes} work-items per unit.
KERNEL LAUNCH_BOUNDS(${lanes}, 1) initialize(GLOBAL mask_t* RESTRICT rows, GLOBAL mask_t* RESTRICT sides,
    GLOBAL i32* RESTRICT depths, GLOBAL u8* RESTRICT begins, GLOBAL u8* RESTRICT ends, GLOBAL i32* RESTRICT explored,
    volatile GLOBAL i32* best, volatile GLOBAL i32* control, GLOBAL u64* counters, const GLOBAL i32* RESTRICT data,
    const GLOBAL u8* RESTRICT units, const GLOBAL i32* RESTRICT targets, GLOBAL i32* RESTRICT workspace, i32 count,
    i32 initial, i32 slots)
{
    LOCAL_ARRAY(group_t, groups, 1);
    LOCAL group_t* const group = groups;
    table_t table = data;
    const i32 lane = LOCAL_ID;
    const GLOBAL u8* begin = units + (i64)GROUP_ID * ${2 * items + 1};
    const GLOBAL u8* end = begin + ITEMS;
    const i32 fresh = begin[${2 * items}];
    const i32 ivm = targets[GROUP_ID];
    GLOBAL i32* const levels = workspace + (i64)ivm * WORKSPACE_WORDS;
    i32 down = 0;
    while (down < ITEMS - 1 && begin[down] == end[down])
        ++down;
    down = MIN(MAX(down + 1, fresh), LEAF_DEPTH);
    if (lane == 0)
        group->upper = *best;
    reset(group, lane, table);
    SYNC();
    const i32 upper = group->upper;
    mask_t used = NO_ITEMS;
    i32 depth = 0;
    u32 lost = 0, within = 1, nodes = 0, pushed = 0;
    while (depth < down && !lost) {
        const mask_t open = ALL_ITEMS & ~used;
        mask_t row = expand(group, lane, depth, open, upper, levels, table);
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
        lost = !ANY(row & chosen);
        place(group, lane, depth, INDEX_OF_LOWEST(chosen), !lost, levels, table);
        used |= lost ? NO_ITEMS : chosen;
        depth += !lost;
    }
    SYNC();
    if (lane == 0) {
        if (lost) {
            while (depth > 0 && !ANY(group->rows[depth])) {
                --depth;
                group->rows[depth] ^= LOWEST(group->rows[depth]);
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
        sides[ivm] = NO_ITEMS;
        depths[ivm] = depth;
        if (nodes) {
            ATOMIC_ADD_U64(&counters[0], nodes);
            ATOMIC_ADD_U64(&counters[2], pushed);
        }
        if (depth >= 0)
            ATOMIC_ADD_I32(&control[ACTIVE], 1);
    }
}
