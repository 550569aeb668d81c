// Knapsacks with several constraints: depth-first branch and bound, one work-item a search
//
// A search is a set of decided items. Its bound is the linear relaxation  max p x,  W x + slack = b,  0 <= x <= 1,  solved
// by the bounded dual simplex method with an explicit inverse of the basis (rows x rows) and bound flipping ratio tests
// (Maros 2003; Koberstein 2005). Reduced costs do not depend on bounds, so that the basis of one node is dual feasible in the
// next, wherever in the tree it is: only the sides at which nonbasic variables stand are set again.
// In a node, items whose reduced cost exceeds the gap are decided. The search branches on the basic item with the greatest
// product of both penalties (one dual step each way; Driebeek 1966), and takes the child with the smaller one first.
// The last row is the number of items, an equation: a search has one number (Vasquez and Vimont 2005), or any (-1).
//
// Columns are n items, then the slacks of all rows, then columns of zeros up to a whole vector. Profits, weights and
// capacities are integers, so residuals are exact. A bound is trusted to 1e-6 and 1e-11 of the incumbent.
// Launch: a work-item a search.
// State is interleaved, element j of search s is j * searches + s; in groups of one each search has its state in one piece.
// reals of a search: d, t (1 at the lower bound, -1 at the upper, 0 basic or decided), alpha, ratio: columns each;
//   bounds of the levels' other children: n; residual, y: rows each; inverse: rows * rows; profit, bound.
// integers: decision (0 none, 1 left, 2 taken), place in the basis (from 1): columns each; flipped: columns; trail, and of each
//   level variable, value, open, mark: n each; head: rows; depth, decided, age, state, nodes, pivots, number of items.
#define ROWS ${rows}
#define EPSILON 1e-9
#define TOLERANCE 1e-7
#define INFINITE 1e300
#define FRESH 0
#define OPEN 1
#define DONE 2
enum { ${", ".join(name.upper() for name in counts)} };    // in the counts of a search
#define MOST_STEPS 20000     // of one relaxation; beyond, its bound so far is used
% if lanes > 1:
#define AT(j) (j)
typedef double${lanes} reals_t;
typedef double${lanes} unaligned_reals_t __attribute__((aligned(8)));
#define LOAD(pointer) (*(const GLOBAL unaligned_reals_t*)(pointer))
#define STORE(pointer, value) (*(GLOBAL unaligned_reals_t*)(pointer) = (value))
% else:
#define AT(j) ((i64)(j) * s->stride)
typedef f64 reals_t;
#define LOAD(pointer) (*(pointer))
#define STORE(pointer, value) (*(pointer) = (value))
% endif
#define ABSOLUTE(x) ((x) < 0 ? -(x) : (x))

typedef struct {
    i32 n, rows, columns, depth, decided, age, nodes, pivots;
    i64 stride;
    f64 profit, bound;
    const GLOBAL f64* profits;
    const GLOBAL f64* weights;
    const GLOBAL f64* ranges;
    GLOBAL f64 *d, *t, *alpha, *ratio, *level_bound;
    GLOBAL i32 *decision, *place, *flipped, *trail, *variable, *value, *open, *mark;
    f64 residual[ROWS], y[ROWS], basic[ROWS], inverse[ROWS * ROWS];
    i32 head[ROWS];
} search_t;

${branch_relaxation.functions()}
KERNEL LAUNCH_BOUNDS(${block}, 1) search_trees(i32 n, i32 rows, i32 columns, i32 searches, const GLOBAL f64* RESTRICT profits,
    const GLOBAL f64* RESTRICT weights, const GLOBAL f64* RESTRICT ranges, const GLOBAL f64* RESTRICT capacities, GLOBAL f64* reals,
    GLOBAL i32* integers, i64 reals_each, i64 integers_each, f64 incumbent, i32 most_pivots, GLOBAL f64* values,
    GLOBAL u8* solutions) {
    const i32 me = (i32)GLOBAL_ID;
    if (me >= searches)
        return;
    search_t state;
    search_t* s = &state;
${place_state()}
    i32 phase = counts[AT(PHASE)];
    if (phase == DONE)
        return;
    s->depth = counts[AT(DEPTH)];
    s->decided = counts[AT(DECIDED)];
    s->age = counts[AT(AGE)];
    s->nodes = 0;
    s->pivots = 0;
    if (phase == FRESH) {
        const i32 number = counts[AT(NUMBER)];
        s->profit = 0;
        s->depth = s->decided = s->age = 0;
        for (i32 i = 0; i < rows; ++i) {
            s->residual[i] = i + 1 < rows ? capacities[i] : (f64)(number < 0 ? n : number);
            s->y[i] = 0;
            s->head[i] = n + i;
            for (i32 k = 0; k < rows; ++k)
                s->inverse[i * rows + k] = i == k;
        }
        for (i32 j = 0; j < columns; ++j) {
            const i32 decision = j < n ? s->decision[AT(j)] : 0;
            s->place[AT(j)] = j >= n && j < n + rows ? j - n + 1 : 0;
            s->d[AT(j)] = profits[j];
            s->t[AT(j)] = j >= n || decision ? 0 : profits[j] > 0 ? -1 : 1;
            if (decision == 2 || (j < n && !decision && profits[j] > 0))
                move_variable(s, j, 1);
            s->decision[AT(j)] = decision;
        }
        s->decision[AT(n + rows - 1)] = number < 0 ? 0 : 1;
    } else {
        for (i32 i = 0; i < rows; ++i) {
            s->residual[i] = kept[AT(i)];
            s->y[i] = kept[AT(rows + i)];
            s->head[i] = head[AT(i)];
            for (i32 k = 0; k < rows; ++k)
                s->inverse[i * rows + k] = kept[AT(2 * rows + i * rows + k)];
        }
        s->profit = kept[AT(2 * rows + rows * rows)];
    }
    f64 subtree = phase == FRESH ? INFINITE : kept[AT(2 * rows + rows * rows + 1)];
    f64 best = MAX(incumbent, values[me]);
    phase = OPEN;
    while (s->pivots < most_pivots && phase == OPEN) {
        ++s->nodes;
        f64 margin = 1e-6 + 1e-11 * ABSOLUTE(best);
        i32 item = -1, first = 1;
        f64 other = 0;
        if (!relax(s, best + 1 - margin)) {
            i32 added[ROWS];
            const f64 value = round_down(s, added);
            if (value > best + 0.5) {
                best = value;
                margin = 1e-6 + 1e-11 * ABSOLUTE(best);
                values[me] = value;
                GLOBAL u8* solution = solutions + (i64)me * n;
                for (i32 j = 0; j < n; ++j)
                    solution[j] = (u8)(s->place[AT(j)] == 0 && (s->decision[AT(j)] ? s->decision[AT(j)] == 2 : s->t[AT(j)] < 0));
                for (i32 k = 0; k < rows; ++k)
                    if (added[k] == 1)
                        solution[s->head[k]] = 1;
            }
            const f64 cut = best + 1 - margin;
            const f64 gap = s->bound - cut;
            if (gap >= 0) {
                i32 undecided = -1;
                for (i32 j = 0; j < n; ++j) {
                    const f64 side = s->t[AT(j)];
                    if (side == 0)
                        continue;
                    const f64 cost = s->d[AT(j)];
                    if (ABSOLUTE(cost) > gap) {
                        s->trail[AT(s->decided)] = j;
                        ++s->decided;
                        s->decision[AT(j)] = side < 0 ? 2 : 1;
                        s->t[AT(j)] = 0;
                    } else
                        undecided = j;
                }
                f64 most = -1;
                i32 is_integral = 1;
                for (i32 k = 0; k < rows; ++k) {
                    const i32 j = s->head[k];
                    const f64 x = s->basic[k];
                    if (j >= n)
                        continue;
                    if (x <= TOLERANCE || x >= 1 - TOLERANCE) {
                        if (s->decision[AT(j)] == 0)
                            undecided = j;
                        is_integral &= x > -1e-5 && x < 1 + 1e-5;
                        continue;
                    }
                    is_integral = 0;
                    make_row(s, k);
                    const f64 down = x * make_ratios(s, 1);
                    const f64 up = (1 - x) * make_ratios(s, -1);
                    const f64 score = (MIN(down, gap) + EPSILON) * (MIN(up, gap) + EPSILON);
                    if (score > most) {
                        most = score;
                        item = j;
                        first = down < up ? 1 : 2;
                        other = s->bound - MAX(down, up);
                    }
                }
                // Where rounding cannot settle an integral point, whatever is left is decided one by one.
                if (item < 0 && !(is_integral && value + 0.5 > s->bound) && undecided >= 0) {
                    item = undecided;
                    first = 2;
                    other = s->bound;
                }
            }
        }
        if (item >= 0) {
            const i32 level = s->depth++;
            s->variable[AT(level)] = item;
            s->value[AT(level)] = first;
            s->open[AT(level)] = 1;
            s->mark[AT(level)] = s->decided;
            s->level_bound[AT(level)] = other;
            subtree = s->bound;
            decide_item(s, item, first);
            continue;
        }
        phase = DONE;
        while (s->depth > 0) {
            const i32 level = --s->depth;
            while (s->decided > s->mark[AT(level)]) {
                --s->decided;
                const i32 j = s->trail[AT(s->decided)];
                const i32 was_taken = s->decision[AT(j)] == 2;
                s->decision[AT(j)] = 0;
                if (s->place[AT(j)] == 0) {
                    const i32 taken = s->d[AT(j)] > 0;
                    if (taken != was_taken)
                        move_variable(s, j, taken ? 1 : -1);
                    s->t[AT(j)] = taken ? -1 : 1;
                }
            }
            if (s->open[AT(level)] && s->level_bound[AT(level)] >= best + 1 - margin) {
                s->open[AT(level)] = 0;
                s->value[AT(level)] = 3 - s->value[AT(level)];
                subtree = s->level_bound[AT(level)];
                s->depth = level + 1;
                decide_item(s, s->variable[AT(level)], s->value[AT(level)]);
                phase = OPEN;
                break;
            }
        }
    }
    for (i32 i = 0; i < rows; ++i) {
        kept[AT(i)] = s->residual[i];
        kept[AT(rows + i)] = s->y[i];
        head[AT(i)] = s->head[i];
        for (i32 k = 0; k < rows; ++k)
            kept[AT(2 * rows + i * rows + k)] = s->inverse[i * rows + k];
    }
    kept[AT(2 * rows + rows * rows)] = s->profit;
    kept[AT(2 * rows + rows * rows + 1)] = subtree;
    counts[AT(DEPTH)] = s->depth;
    counts[AT(DECIDED)] = s->decided;
    counts[AT(AGE)] = s->age;
    counts[AT(PHASE)] = phase;
    counts[AT(NODES)] = s->nodes;
    counts[AT(PIVOTS)] = s->pivots;
}
<%def name="place_state()">
    s->n = n;
    s->rows = rows;
    s->columns = columns;
    s->stride = searches;
    s->profits = profits;
    s->weights = weights;
    s->ranges = ranges;
    GLOBAL f64* real = reals + ${"me * reals_each" if lanes > 1 else "me"};
    GLOBAL i32* integer = integers + ${"me * integers_each" if lanes > 1 else "me"};
    s->d = real;
    s->t = s->d + AT(columns);
    s->alpha = s->t + AT(columns);
    s->ratio = s->alpha + AT(columns);
    s->level_bound = s->ratio + AT(columns);
    GLOBAL f64* kept = s->level_bound + AT(n);
    s->decision = integer;
    s->place = s->decision + AT(columns);
    s->flipped = s->place + AT(columns);
    s->trail = s->flipped + AT(columns);
    s->variable = s->trail + AT(n);
    s->value = s->variable + AT(n);
    s->open = s->value + AT(n);
    s->mark = s->open + AT(n);
    GLOBAL i32* head = s->mark + AT(n);
    GLOBAL i32* counts = head + AT(rows);
</%def>
