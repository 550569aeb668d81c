// Reflected, restarted Halpern iterations of the primal-dual hybrid gradient method for
//
//   minimize c x  subject to  row_lower <= A x <= row_upper,  lower <= x <= upper
//
//   x^ = clip(x - tau (c - A^T y), lower, upper)            x <- weight (2 x^ - x) + (1 - weight) x_anchor
//   t = y - sigma A (2 x^ - x)                              y <- weight (2 y^ - y) + (1 - weight) y_anchor
//   y^ = t - clip(t, -sigma row_upper, -sigma row_lower)
//
// with weight = (k + 1) / (k + 2) in the k-th iteration since the last restart (Lu and Yang, "Restarted Halpern PDHG for linear
// programming", arXiv:2407.16144). A is stored twice, so that both products are gathers: by rows (A x) and by columns (A^T y).
//
// Launch: a group of ${block} for each entry of `first` but the last; group g has the lines first[g] .. first[g + 1] - 1 of the
// matrix (columns for x, rows for y). Where groups have many work-items, each line is shared by a power of two of them.
${step.declaration()}
<%def name="matrix()">const GLOBAL i32* first, const GLOBAL i64* starts, const GLOBAL i32* indices, const GLOBAL f64* values</%def>
<%def name="each_line(*vectors)">
    const i32 begin = first[GROUP_ID];
    const i32 end = first[GROUP_ID + 1];
% if block == 1:
    for (i32 i = begin; i < end; ++i) {
% for v in vectors:
        f64 sum_${v} = 0;
% endfor
        for (i64 k = starts[i]; k < starts[i + 1]; ++k) {
% for v in vectors:
            sum_${v} += values[k] * ${v}[indices[k]];
% endfor
        }
        const i32 mine = 1;
% else:
    LOCAL_ARRAY(f64, part, ${block * len(vectors)});
    i32 width = ${block};
    while (width > 1 && width * (end - begin) > ${block})
        width /= 2;
    const i32 i = begin + LOCAL_ID / width;
    const i32 lane = LOCAL_ID % width;
    const i32 mine = i < end && lane == 0;
% for v in vectors:
    f64 sum_${v} = 0;
% endfor
    if (i < end) {
        for (i64 k = starts[i] + lane; k < starts[i + 1]; k += width) {
            const f64 value = values[k];
            const i32 at = indices[k];
% for v in vectors:
            sum_${v} += value * ${v}[at];
% endfor
        }
    }
% for place, v in enumerate(vectors):
    part[${place * block} + LOCAL_ID] = sum_${v};
% endfor
    for (i32 reach = width / 2; reach > 0; reach /= 2) {
        BARRIER();
        if (lane < reach) {
% for place in range(len(vectors)):
            part[${place * block} + LOCAL_ID] += part[${place * block} + LOCAL_ID + reach];
% endfor
        }
    }
    {
% for place, v in enumerate(vectors):
        sum_${v} = part[${place * block} + LOCAL_ID];
% endfor
% endif
        if (mine) {
</%def>
<%def name="end_line()">
        }
    }
</%def>
<%def name="write(sums, greatest=())">
<% names = [*sums, *greatest] %>
% if block > 1:
    LOCAL_ARRAY(f64, found, ${len(names) * block});
% endif
    ${reduce.group_reduce("found", "f64", block, [(name, "sum" if name in sums else "max") for name in names])}
    if (LOCAL_ID == 0) {
% for place, name in enumerate(names):
        results[GROUP_ID * ${len(names)} + ${place}] = ${name};
% endfor
    }
</%def>
// v[behind + g] = the sum of entry times v over the entries starts[g] .. starts[g + 1] - 1: pieces of long lines, whose own entries
// are then ones at these places. Launch: a group of ${block} for each piece.
KERNEL LAUNCH_BOUNDS(${block}, 1) sum_pieces(const GLOBAL i64* starts, const GLOBAL i32* indices,
    const GLOBAL f64* values, GLOBAL f64* v, i32 behind) {
    const i64 end = starts[GROUP_ID + 1];
    f64 sum = 0;
    for (i64 k = starts[GROUP_ID] + LOCAL_ID; k < end; k += ${block})
        sum += values[k] * v[indices[k]];
% if block > 1:
    LOCAL_ARRAY(f64, part, ${block});
% endif
    ${reduce.group_reduce("part", "f64", block, [("sum", "sum")])}
    if (LOCAL_ID == 0)
        v[behind + GROUP_ID] = sum;
}

// x -> the next x; reflected = 2 x^ - x. Lines are columns, v is y. turn counts the iterations of a recording.
KERNEL LAUNCH_BOUNDS(${block}, 1) primal_step(${matrix()}, const GLOBAL f64* v, const GLOBAL f64* c, const GLOBAL f64* lower,
    const GLOBAL f64* upper, const GLOBAL f64* anchor, GLOBAL f64* x, GLOBAL f64* reflected,
    const GLOBAL step_t* step, i32 turn) {
    const f64 tau = step->tau, weight = (step->since + turn + 1.0) / (step->since + turn + 2.0);
${each_line("v")}
            const f64 old = x[i];
            const f64 moved = old - tau * (c[i] - sum_v);
            const f64 mirror = 2.0 * MIN(MAX(moved, lower[i]), upper[i]) - old;
            reflected[i] = mirror;
            x[i] = weight * mirror + (1.0 - weight) * anchor[i];
${end_line()}
}

// y -> the next y. Lines are rows, v is 2 x^ - x.
KERNEL LAUNCH_BOUNDS(${block}, 1) dual_step(${matrix()}, const GLOBAL f64* v, const GLOBAL f64* row_lower,
    const GLOBAL f64* row_upper, const GLOBAL f64* anchor, GLOBAL f64* y, const GLOBAL step_t* step,
    i32 turn) {
    const f64 sigma = step->sigma, weight = (step->since + turn + 1.0) / (step->since + turn + 2.0);
${each_line("v")}
            const f64 old = y[i];
            const f64 t = old - sigma * sum_v;
            const f64 projected = t - MIN(MAX(t, -sigma * row_upper[i]), -sigma * row_lower[i]);
            y[i] = weight * (2.0 * projected - old) + (1.0 - weight) * anchor[i];
${end_line()}
}

// x^ and 2 x^ - x without a step; |x^ - x|^2 and |x^ - anchor|^2 of each group. Lines are columns, v is y.
KERNEL LAUNCH_BOUNDS(${block}, 1) primal_check(${matrix()}, const GLOBAL f64* v, const GLOBAL f64* c, const GLOBAL f64* lower,
    const GLOBAL f64* upper, const GLOBAL f64* anchor, const GLOBAL f64* x, GLOBAL f64* projected, GLOBAL f64* reflected, f64 tau,
    GLOBAL f64* results) {
    f64 moved = 0.0, travelled = 0.0;
${each_line("v")}
            const f64 old = x[i];
            const f64 now = MIN(MAX(old - tau * (c[i] - sum_v), lower[i]), upper[i]);
            projected[i] = now;
            reflected[i] = 2.0 * now - old;
            moved += (now - old) * (now - old);
            travelled += (now - anchor[i]) * (now - anchor[i]);
${end_line()}
${write(["moved", "travelled"])}
}

// y^; for each group |y^ - y|^2, |y^ - anchor|^2, (y^ - y) A (x^ - x), the squared violation of the rows by x^ in the program's
// own units, the rows' part of the dual objective of y^, and the greatest violation. Lines are rows, v is 2 x^ - x, w is x^.
KERNEL LAUNCH_BOUNDS(${block}, 1) dual_check(${matrix()}, const GLOBAL f64* v, const GLOBAL f64* w, const GLOBAL f64* row_lower,
    const GLOBAL f64* row_upper, const GLOBAL f64* scale, const GLOBAL f64* anchor, const GLOBAL f64* y, GLOBAL f64* projected,
    f64 sigma, GLOBAL f64* results) {
    f64 moved = 0.0, travelled = 0.0, crossed = 0.0, violated = 0.0, objective = 0.0, worst = 0.0;
${each_line("v", "w")}
            const f64 old = y[i];
            const f64 t = old - sigma * sum_v;
            const f64 now = t - MIN(MAX(t, -sigma * row_upper[i]), -sigma * row_lower[i]);
            projected[i] = now;
            moved += (now - old) * (now - old);
            travelled += (now - anchor[i]) * (now - anchor[i]);
            crossed += (now - old) * (sum_v - sum_w);
            const f64 outside = MAX(MAX(row_lower[i] - sum_w, sum_w - row_upper[i]), 0.0) / scale[i];
            violated += outside * outside;
            worst = MAX(worst, outside);
            if (now > 0.0)
                objective += now * row_lower[i];
            else if (now < 0.0)
                objective += now * row_upper[i];
${end_line()}
${write(["moved", "travelled", "crossed", "violated", "objective"], ["worst"])}
}

// For each group: c x, the columns' part of the dual objective, and the squared dual infeasibility in the program's own units: of
// the reduced costs c - A^T y what prices a bound that is not there; and its greatest entry. Lines are columns, v is y^.
KERNEL LAUNCH_BOUNDS(${block}, 1) reduced_costs(${matrix()}, const GLOBAL f64* v, const GLOBAL f64* c, const GLOBAL f64* lower,
    const GLOBAL f64* upper, const GLOBAL f64* scale, const GLOBAL f64* x, GLOBAL f64* results) {
    f64 cost = 0.0, objective = 0.0, violated = 0.0, worst = 0.0;
${each_line("v")}
            const f64 reduced = c[i] - sum_v;
            const f64 bound = reduced > 0.0 ? lower[i] : upper[i];
            cost += c[i] * x[i];
            if (reduced != 0.0) {
                if (bound - bound == 0.0)
                    objective += reduced * bound;
                else {
                    const f64 outside = reduced / scale[i];
                    violated += outside * outside;
                    worst = MAX(worst, MAX(outside, -outside));
                }
            }
${end_line()}
${write(["cost", "objective", "violated"], ["worst"])}
}
