// Asymmetric TSP with the assignment bound: item i is city i + 1; the tour begins at city 0. Functions for
// explore_cooperative.mako.
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
#define NOWHERE 255
#define WEIGHT(from, to) table[(to) * ${stride} + (from)]
#define REDUCED(from, to) (WEIGHT(from, to) - group->u[from] - group->v[to])
% if subtours:
#define COST(from, to) table[${exact} + (to) * ${stride} + (from)]
#define LEAVES(from, to, word) ((u32)table[${members} + 2 * (from) + (word)] & ~(u32)table[${members} + 2 * (to) + (word)])
// What the bound of a node that may lead to a tour cheaper than `upper` is less than.
#define LIMIT(upper) ((i32)MIN((i64)table[${scale}] * ((upper) - 1) + 1 - table[${scale + 1}], (i64)UNBOUNDED))
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
    i32 u[${n}], v[${n}], column[${n}], row[${n}], next[${n}], city[${n}], length[${n}];
    i32 settled[${n}], label[${n}], shift[${n}], source[${n}], values[${lanes}], places[${lanes}];
    mask_t kept[${lanes}];
    i32 last, cost, bound, upper;
% if subtours:
    u32 left[2];
% endif
    i32 leave;
    mask_t rows[${leaf_depth or 1}];
} group_t;

FUNCTION void take_lesser(i32* value, i32* place, i32 other, i32 other_place) {
    const i32 better = other < *value || (other == *value && other_place < *place);
    *value = better ? other : *value;
    *place = better ? other_place : *place;
}

// The least value of all lanes and its place, the smaller of equals; the same in every lane.
FUNCTION void least(LOCAL group_t* group, i32 lane, i32* value, i32* place) {
% if lanes > 1:
% if shuffle:
% for offset in (16, 8, 4, 2, 1):
    {
        const i32 other = __shfl_xor_sync(0xffffffffu, *value, ${offset});
        const i32 other_place = __shfl_xor_sync(0xffffffffu, *place, ${offset});
        take_lesser(value, place, other, other_place);
    }
% endfor
    SYNC();
% else:
    group->values[lane] = *value;
    group->places[lane] = *place;
    SYNC();
    for (i32 k = 0; k < ${lanes}; ++k) {
        take_lesser(value, place, group->values[k], group->places[k]);
    }
    SYNC();
% endif
% endif
}

FUNCTION void reset(LOCAL group_t* group, i32 lane, table_t table) {
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
FUNCTION i32 multipliers_again(LOCAL group_t* group, i32 from, i32 to, table_t table) {
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
FUNCTION void shortest_paths(LOCAL group_t* group, i32 lane, i32 count, i32 t, table_t table) {
    i32 best = UNBOUNDED, at = ${n};
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
        best = UNBOUNDED;
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

<%include file="/branch_and_bound/atsp_arborescence.mako"/>

FUNCTION mask_t expand(LOCAL group_t* group, i32 lane, i32 depth, mask_t open, i32 upper, i32 initial, i32* side,
    GLOBAL i32* levels, table_t table) {
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
    if (arborescence(group, lane, ANY(kept) && upper != UNBOUNDED ? count : 0, gap, table) >= gap)
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

FUNCTION void enter_child(LOCAL group_t* group, i32 lane, i32 depth, i32 active, i32 back, mask_t path_sides,
    const GLOBAL i32* levels, table_t table) {
    SYNC();
    const i32 item = active ? INDEX_OF_LOWEST(group->rows[depth]) : 0;
    const GLOBAL i32* level = levels + depth * LEVEL_WORDS;
    for (i32 i = lane; active && i < ${n}; i += ${lanes}) {
        const i32 columns = level[i], column = columns & 0xff;
        group->column[i] = column;
        if (column != NOWHERE)
            group->row[column] = i;
        group->next[i] = columns >> 8 & 0xff;
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
FUNCTION i32 leaf(LOCAL group_t* group, mask_t open, table_t table) {
    const i32 city = INDEX_OF_LOWEST(open) + 1;
    return group->cost + COST(group->last, city) + COST(city, 0);
}
