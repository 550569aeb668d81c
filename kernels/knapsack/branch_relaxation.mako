<%doc>
The relaxation of a node of branch.mako: the bounded dual simplex method with an explicit inverse of the basis, and rounding down.
</%doc>
<%def name="functions()">
// Variable j goes from its lower bound to its upper one (sign 1), or back (-1).
FUNCTION void move_variable(search_t* s, i32 j, f64 sign) {
    const f64 amount = sign * s->ranges[j];
    for (i32 i = 0; i < s->rows; ++i)
        s->residual[i] -= amount * s->weights[(i64)i * s->columns + j];
    s->profit += amount * s->profits[j];
}

FUNCTION void decide_item(search_t* s, i32 j, i32 decision) {
    s->trail[AT(s->decided)] = j;
    ++s->decided;
    s->decision[AT(j)] = decision;
    if (s->place[AT(j)] == 0) {
        const f64 side = s->t[AT(j)];
        if (side < 0 && decision == 1)
            move_variable(s, j, -1);
        if (side > 0 && decision == 2)
            move_variable(s, j, 1);
        s->t[AT(j)] = 0;
    }
}

// alpha = row r of the inverse times all columns
FUNCTION void make_row(search_t* s, i32 r) {
    const f64* factors = s->inverse + r * s->rows;
    for (i32 j = 0; j < s->columns; j += ${lanes}) {
        reals_t sum = factors[0] * LOAD(s->weights + j);
        for (i32 i = 1; i < s->rows; ++i)
            sum += factors[i] * LOAD(s->weights + (i64)i * s->columns + j);
        STORE(s->alpha + AT(j), sum);
    }
}

FUNCTION f64 least_of(reals_t values) {
% if lanes > 1:
    f64 least = values.s0;
    % for lane in range(1, lanes):
    least = MIN(least, values.s${lane});
    % endfor
    return least;
% else:
    return values;
% endif
}

// ratio = |d| / |alpha| where a step of this sign leads d to zero; the least of all
FUNCTION f64 make_ratios(search_t* s, f64 sign) {
    reals_t least = (reals_t)INFINITE;
    for (i32 j = 0; j < s->columns; j += ${lanes}) {
        const reals_t side = LOAD(s->t + AT(j));
        const reals_t slope = sign * side * LOAD(s->alpha + AT(j));
        const reals_t cost = -side * LOAD(s->d + AT(j));
        const reals_t found = slope > (reals_t)EPSILON ? MAX(cost, (reals_t)0) / slope : (reals_t)INFINITE;
        STORE(s->ratio + AT(j), found);
        least = MIN(least, found);
    }
    return least_of(least);
}

FUNCTION f64 least_ratio(search_t* s) {
    reals_t least = (reals_t)INFINITE;
    for (i32 j = 0; j < s->columns; j += ${lanes}) {
        const reals_t found = LOAD(s->ratio + AT(j));
        least = MIN(least, found);
    }
    return least_of(least);
}

// The inverse of the basis, multipliers and reduced costs from the data.
FUNCTION_APART void refactor(search_t* s) {
    const i32 m = s->rows;
    f64 basis[ROWS * ROWS];
    for (i32 i = 0; i < m; ++i)
        for (i32 k = 0; k < m; ++k) {
            basis[i * m + k] = s->weights[(i64)i * s->columns + s->head[k]];
            s->inverse[i * m + k] = i == k;
        }
    for (i32 c = 0; c < m; ++c) {
        i32 pivot = c;
        for (i32 i = c + 1; i < m; ++i)
            if (ABSOLUTE(basis[i * m + c]) > ABSOLUTE(basis[pivot * m + c]))
                pivot = i;
        for (i32 k = 0; k < m; ++k) {
            const f64 a = basis[c * m + k];
            basis[c * m + k] = basis[pivot * m + k];
            basis[pivot * m + k] = a;
            const f64 b = s->inverse[c * m + k];
            s->inverse[c * m + k] = s->inverse[pivot * m + k];
            s->inverse[pivot * m + k] = b;
        }
        const f64 scale = 1 / basis[c * m + c];
        for (i32 k = 0; k < m; ++k) {
            basis[c * m + k] *= scale;
            s->inverse[c * m + k] *= scale;
        }
        for (i32 i = 0; i < m; ++i) {
            const f64 factor = basis[i * m + c];
            if (i != c && factor != 0)
                for (i32 k = 0; k < m; ++k) {
                    basis[i * m + k] -= factor * basis[c * m + k];
                    s->inverse[i * m + k] -= factor * s->inverse[c * m + k];
                }
        }
    }
    for (i32 i = 0; i < m; ++i) {
        f64 sum = 0;
        for (i32 r = 0; r < m; ++r)
            sum += s->profits[s->head[r]] * s->inverse[r * m + i];
        s->y[i] = sum;
    }
    for (i32 j = 0; j < s->columns; ++j) {
        f64 cost = s->profits[j];
        for (i32 i = 0; i < m; ++i)
            cost -= s->y[i] * s->weights[(i64)i * s->columns + j];
        s->d[AT(j)] = cost;
    }
    for (i32 r = 0; r < m; ++r)
        s->d[AT(s->head[r])] = 0;
    for (i32 j = 0; j < s->columns; ++j) {
        const f64 side = s->t[AT(j)];
        if (side * s->d[AT(j)] > EPSILON && s->ranges[j] < INFINITE) {
            move_variable(s, j, side);
            s->t[AT(j)] = -side;
        }
    }
}

// Dual simplex: 1 if the bound falls below `cut` or nothing is feasible, else 0.
FUNCTION i32 relax(search_t* s, f64 cut) {
    const i32 m = s->rows;
    for (i32 step = 0;; ++step) {
        f64 bound = s->profit;
        i32 r = -1;
        f64 worst = TOLERANCE;
        f64 sign = 0, excess = 0;
        for (i32 k = 0; k < m; ++k) {
            f64 x = 0;
            for (i32 i = 0; i < m; ++i)
                x += s->inverse[k * m + i] * s->residual[i];
            s->basic[k] = x;
            bound += s->y[k] * s->residual[k];
            const i32 j = s->head[k];
            const i32 decision = s->decision[AT(j)];
            const f64 below = (decision == 2 ? s->ranges[j] : 0) - x;
            const f64 above = x - (decision == 1 ? 0 : s->ranges[j]);
            const f64 unit = j >= s->n ? 1e-3 : 1;
            if (below * unit > worst) {
                worst = below * unit;
                excess = below;
                r = k;
                sign = -1;
            }
            if (above * unit > worst) {
                worst = above * unit;
                excess = above;
                r = k;
                sign = 1;
            }
        }
        s->bound = bound;
        if (bound < cut)
            return 1;
        if (r < 0 || step >= MOST_STEPS)
            return 0;
        make_row(s, r);
        f64 least = make_ratios(s, sign);
        i32 flips = 0, q = -1;
        while (least < INFINITE) {
            q = 0;
            while (s->ratio[AT(q)] != least)
                ++q;
            const f64 slope = s->alpha[AT(q)];
            const f64 passed = ABSOLUTE(slope) * s->ranges[q];
            if (excess <= passed + TOLERANCE)
                break;
            excess -= passed;
            s->flipped[AT(flips)] = q;
            ++flips;
            s->ratio[AT(q)] = INFINITE;
            q = -1;
            least = least_ratio(s);
        }
        if (q < 0)
            return 1;
        ++s->pivots;
        for (i32 k = 0; k < flips; ++k) {
            const i32 j = s->flipped[AT(k)];
            const f64 side = s->t[AT(j)];
            move_variable(s, j, side);
            s->t[AT(j)] = -side;
        }
        const f64 amount = sign * least;
        for (i32 j = 0; j < s->columns; j += ${lanes}) {
            const reals_t cost = LOAD(s->d + AT(j)) + amount * LOAD(s->alpha + AT(j));
            STORE(s->d + AT(j), cost);
        }
        for (i32 i = 0; i < m; ++i)
            s->y[i] -= amount * s->inverse[r * m + i];
        if (s->t[AT(q)] < 0)
            move_variable(s, q, -1);
        s->t[AT(q)] = 0;
        s->d[AT(q)] = 0;
        const i32 leaving = s->head[r];
        const i32 decision = s->decision[AT(leaving)];
        const i32 is_upper = decision ? decision == 2 : sign > 0;
        s->place[AT(leaving)] = 0;
        if (is_upper)
            move_variable(s, leaving, 1);
        s->t[AT(leaving)] = decision ? 0 : (is_upper ? -1 : 1);
        s->d[AT(leaving)] = amount;
        f64 column[ROWS];
        for (i32 k = 0; k < m; ++k) {
            f64 sum = 0;
            for (i32 i = 0; i < m; ++i)
                sum += s->inverse[k * m + i] * s->weights[(i64)i * s->columns + q];
            column[k] = sum;
        }
        const f64 scale = 1 / column[r];
        for (i32 i = 0; i < m; ++i)
            s->inverse[r * m + i] *= scale;
        for (i32 k = 0; k < m; ++k)
            if (k != r)
                for (i32 i = 0; i < m; ++i)
                    s->inverse[k * m + i] -= column[k] * s->inverse[r * m + i];
        s->head[r] = q;
        s->place[AT(q)] = r + 1;
        if (++s->age >= 50) {
            s->age = 0;
            refactor(s);
        }
    }
}

// The nonbasic items that are taken, and those basic ones that still fit, greatest value first: a feasible point, whatever the
// number of its items. Its profit; `added` says which basic ones.
FUNCTION f64 round_down(search_t* s, i32* added) {
    const i32 m = s->rows;
    f64 left[ROWS];
    f64 profit = s->profit;
    for (i32 i = 0; i < m - 1; ++i) {
        left[i] = s->residual[i];
        if (left[i] < -0.5)
            return -1;
    }
    for (i32 k = 0; k < m; ++k)
        added[k] = 0;
    for (i32 round = 0; round < m; ++round) {
        i32 best = -1;
        for (i32 k = 0; k < m; ++k)
            if (s->head[k] < s->n && added[k] == 0 && s->decision[AT(s->head[k])] != 1 &&
                    (best < 0 || s->basic[k] > s->basic[best]))
                best = k;
        if (best < 0)
            break;
        const i32 j = s->head[best];
        i32 fits = 1;
        for (i32 i = 0; i < m - 1; ++i)
            fits &= left[i] - s->weights[(i64)i * s->columns + j] > -0.5;
        added[best] = fits ? 1 : -1;
        if (fits) {
            for (i32 i = 0; i < m - 1; ++i)
                left[i] -= s->weights[(i64)i * s->columns + j];
            profit += s->profits[j];
        }
    }
    return profit;
}

</%def>
