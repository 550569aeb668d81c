<%namespace file="/linprog/together_start.mako" import="each, each_row, standard_form, starting_point"/>
// Small dense linear programs, each solved by one group from the start to the end by Mehrotra's predictor-corrector method:
//
//   minimize c x  subject to  row_lower <= A x <= row_upper,  lower <= x <= upper
//
// In the standard form a variable with a bound is counted from it, row i has the slack n + i, and the kinds are: 0 a variable from
// zero up, 1 one with an upper bound u too, 2 a free one, 3 a fixed one, which does not move. A variable whose upper bound alone
// is finite is mirrored: sign -1. The formulas are those of point.mako.
//
// Up to ${rows} rows. A has a matrix for each program, or one for all (matrix_stride 0); At is the same by columns, which
// work-items read side by side; where a group is one work-item, it is not read.
<%
    local_matrix = block > 1 and rows <= 64
    space = "GLOBAL" if block == 1 else "LOCAL"
    matrix_space = "LOCAL" if local_matrix else "GLOBAL"
    vectors = ["u", "cost", "sign", "kind", "x", "s", "w", "z", "dx", "ds", "dw", "dz", "rd", "ru", "theta", "rxs", "rwz", "g", "v"]
    row_vectors = ["y", "b", "rp", "dy", "q", "inverse"]
    stride = "(m + 1)" if block == 1 else rows + 1
%>
${together_algebra.functions(block, rows, space, matrix_space, stride)}
## The first two phases are in together_start.mako.
// --- the phases of the kernel below, in its own variables ---
<%def name="measure()">\
            // residuals, theta, measures
            multiply_transposed(m, n, a, sign, y, v);
            products = 0.0;
            f64 primal = 0.0, above = 0.0, worst_d = 0.0, worst_u = 0.0;
${each()} {
                const f64 k = kind[i];
                f64 d = cost[i] - v[i];
                f64 weight = k == 2.0 ? 1.0e-7 : 1.0e-10;
                ru[i] = 0.0;
                if (k < 2.0) {
                    d -= s[i];
                    products += x[i] * s[i];
                    weight += s[i] / x[i];
                }
                if (k == 1.0) {
                    const f64 r = u[i] - x[i] - w[i];
                    d += z[i];
                    products += w[i] * z[i];
                    above += u[i] * z[i];
                    ru[i] = r;
                    worst_u = MAX(worst_u, MAX(r, -r));
                    weight += z[i] / w[i];
                }
                if (k == 3.0)
                    d = 0.0;
                primal += cost[i] * x[i];
                rd[i] = d;
                worst_d = !(d <= worst_d) ? d : !(-d <= worst_d) ? -d : worst_d;
                theta[i] = k == 3.0 ? 0.0 : 1.0 / weight;
            }
            SYNCHRONIZE();
${each()}
                v[i] = sign[i] * x[i];
            multiply(m, n, a, at, v, q);
            f64 worst_p = 0.0;
            f64 dual = -above;
${each_row()} {
                const f64 r = b[i] - q[i];
                rp[i] = r;
                dual += b[i] * y[i];
                worst_p = !(r <= worst_p) ? r : !(-r <= worst_p) ? -r : worst_p;
            }
            products = sum_of(part, products);
            primal = sum_of(part, primal);
            dual = sum_of(part, dual);
            worst_p = greatest_of(part, worst_p);
            worst_d = greatest_of(part, worst_d);
            worst_u = greatest_of(part, worst_u);
            const f64 gap = MAX(primal - dual, dual - primal) / (1.0 + MAX(primal, -primal));
            f64 error = MAX(gap, MAX(worst_d / size_of_c, MAX(worst_p / size_of_b, worst_u / size_of_u)));
            if (!is_finite(gap) || !is_finite(worst_d) || !is_finite(worst_p) || !is_finite(worst_u))
                error = 1.0e300;
            if (error < best) {
                best = error;
                best_at = iteration;
                for (i64 j = LOCAL_ID; j < n; j += ${block}) {
                    const f64 low = lower[p * n + j];
                    const f64 from = is_finite(low) ? low : sign[j] < 0.0 ? upper[p * n + j] : 0.0;
                    x_out[p * n + j] = from + sign[j] * x[j];
                }
${each_row()}
                    y_out[p * m + i] = y[i];
            }
</%def>
<%def name="right_hand_side()">\
${each()} {
                    const f64 k = kind[i];
                    f64 sum = -rd[i];
                    if (k < 2.0) {
                        const f64 r = wanted - x[i] * s[i] - (mode == 1 ? dx[i] * ds[i] : 0.0);
                        rxs[i] = r;
                        sum += r / x[i];
                    }
                    if (k == 1.0) {
                        const f64 r = wanted - w[i] * z[i] - (mode == 1 ? dw[i] * dz[i] : 0.0);
                        rwz[i] = r;
                        sum -= (r - z[i] * ru[i]) / w[i];
                    }
                    g[i] = sum;
                    v[i] = sign[i] * theta[i] * sum;
                }
                multiply(m, n, a, at, v, q);
${each_row()}
                    dy[i] = rp[i] - q[i];
                solve(m, M, inverse, dy);
</%def>
<%def name="solve_direction()">\
                for (i32 turn = 0; turn < 9; ++turn) {  // dx, and refinement of dy while A dx is not rp
                    multiply_transposed(m, n, a, sign, dy, v);
${each()} {
                        dx[i] = theta[i] * (v[i] + g[i]);
                        v[i] = sign[i] * dx[i];
                    }
                    if (turn == 8)
                        break;
                    multiply(m, n, a, at, v, q);
                    f64 lacking = 0.0;
${each_row()} {
                        const f64 r = rp[i] - q[i];
                        q[i] = r;
                        lacking = !(r <= lacking) ? r : !(-r <= lacking) ? -r : lacking;
                    }
                    lacking = greatest_of(part, lacking);
                    if (!(lacking > enough))
                        break;
                    solve(m, M, inverse, q);
${each_row()}
                        dy[i] += q[i];
                }
</%def>
<%def name="step_lengths()">\
                f64 to_primal = 0.0, to_dual = 0.0, by_primal = 0.0, by_dual = 0.0, by_both = 0.0;
${each()} {
                    const f64 k = kind[i];
                    if (k < 2.0) {
                        const f64 move = dx[i];
                        const f64 d = (rxs[i] - s[i] * move) / x[i];
                        ds[i] = d;
                        to_primal = !(-move / x[i] <= to_primal) ? -move / x[i] : to_primal;
                        to_dual = !(-d / s[i] <= to_dual) ? -d / s[i] : to_dual;
                        by_primal += s[i] * move;
                        by_dual += x[i] * d;
                        by_both += move * d;
                    }
                    if (k == 1.0) {
                        const f64 up = ru[i] - dx[i];
                        const f64 d = (rwz[i] - z[i] * up) / w[i];
                        dw[i] = up;
                        dz[i] = d;
                        to_primal = !(-up / w[i] <= to_primal) ? -up / w[i] : to_primal;
                        to_dual = !(-d / z[i] <= to_dual) ? -d / z[i] : to_dual;
                        by_primal += z[i] * up;
                        by_dual += w[i] * d;
                        by_both += up * d;
                    }
                }
                to_primal = greatest_of(part, to_primal);
                to_dual = greatest_of(part, to_dual);
                if (mode == 0) {
                    by_primal = sum_of(part, by_primal);
                    by_dual = sum_of(part, by_dual);
                    by_both = sum_of(part, by_both);
                    primal_step = 1.0 / MAX(to_primal, 1.0);
                    dual_step = 1.0 / MAX(to_dual, 1.0);
                    const f64 after = products + primal_step * by_primal + dual_step * by_dual + primal_step * dual_step * by_both;
                    const f64 ratio = after / pairs / mu;
                    const f64 sigma = ratio * ratio * ratio;
                    wanted = mu * (is_finite(sigma) ? MIN(MAX(sigma, 1.0e-8), 1.0) : 1.0);
                } else {
                    const f64 near = error < 1.0e-4 ? 0.9999 : 0.99;
                    primal_step = near / MAX(to_primal, near);
                    dual_step = near / MAX(to_dual, near);
                }
</%def>
<%def name="advance()">\
${each()} {
                const f64 k = kind[i];
                if (k != 3.0)
                    x[i] += primal_step * dx[i];
                if (k < 2.0)
                    s[i] += dual_step * ds[i];
                if (k == 1.0) {
                    w[i] += primal_step * dw[i];
                    z[i] += dual_step * dz[i];
                }
            }
${each_row()}
                y[i] += dual_step * dy[i];
</%def>
// Launch: any number of groups of ${block}; program first + GROUP_ID and every GROUP_COUNT-th after it, up to first + count - 1.
// scratch: scratch_stride numbers a group, ${len(vectors)} (n + m) + ${len(row_vectors)} m + m ${stride} at least.
// x_out, y_out: the best point, by its error in the standard form, and that error; the iterations made.
KERNEL LAUNCH_BOUNDS(${block}, 1) solve_programs(i64 first, i64 count, i64 m, i64 n, i64 matrix_stride, const GLOBAL f64* A,
    const GLOBAL f64* At, const GLOBAL f64* c, const GLOBAL f64* lower, const GLOBAL f64* upper, const GLOBAL f64* row_lower,
    const GLOBAL f64* row_upper, i32 most, i32 patience, f64 goal, i64 scratch_stride, GLOBAL f64* scratch, GLOBAL f64* x_out,
    GLOBAL f64* y_out, GLOBAL f64* error_out, GLOBAL i32* iterations_out) {
    const i64 size = n + m;
% for place, name in enumerate(vectors):
    GLOBAL f64* ${name} = scratch + GROUP_ID * scratch_stride + ${place} * size;
% endfor
    GLOBAL f64* rest = scratch + GROUP_ID * scratch_stride + ${len(vectors)} * size;
    LOCAL_ARRAY(f64, part, ${block});
% if block == 1:
% for place, name in enumerate(row_vectors):
    GLOBAL f64* ${name} = rest + ${place} * m;
% endfor
% else:
% for name in row_vectors:
    LOCAL_ARRAY(f64, ${name}, ${rows});
% endfor
% endif
% if local_matrix:
    LOCAL_ARRAY(f64, M, ${rows * (rows + 1)});
% else:
    GLOBAL f64* M = rest + ${len(row_vectors)} * m;
% endif
    for (i64 p = first + GROUP_ID; p < first + count; p += GROUP_COUNT) {
        const GLOBAL f64* a = A + p * matrix_stride;
        const GLOBAL f64* at = At + p * matrix_stride;
${standard_form()}\
${starting_point()}\
        // --- iterations ---
        f64 best = 1.0e300;
        i32 best_at = 0, iteration = 0;
        while (1) {
${measure()}\
            if (error <= goal || iteration >= most || iteration - best_at > patience || error >= 1.0e300)
                break;
            const f64 mu = MAX(products / pairs, 1.0e-300);
            const f64 enough = MAX(1.0e-3 * worst_p, MAX(0.01 * goal, 1.0e-13) * size_of_b);
            form(m, n, a, at, theta, g, M);
            factor(m, 1.0e-13, 1.0e-10, M, inverse);
            // the affine direction, then the one to the centre with its second-order term
            f64 wanted = 0.0, primal_step = 0.0, dual_step = 0.0;
            for (i32 mode = 0; mode < 2; ++mode) {
${right_hand_side()}\
${solve_direction()}\
${step_lengths()}\
            }
            if (!is_finite(primal_step) || !is_finite(dual_step))
                break;
${advance()}\
            ++iteration;
        }
        if (LOCAL_ID == 0) {
            error_out[p] = best;
            iterations_out[p] = iteration;
        }
    }
}
% if block > 1:

// Each of `count` matrices by columns: out[p][j][i] = A[p][i][j]. Launch: any.
KERNEL LAUNCH_BOUNDS(${block}, 1) transpose(i64 count, i64 m, i64 n, const GLOBAL f64* A, GLOBAL f64* out) {
    for (i64 e = GLOBAL_ID; e < count * m * n; e += GLOBAL_SIZE) {
        const i64 p = e / (m * n);
        const i64 j = e % (m * n) / m;
        out[e] = A[p * m * n + e % m * n + j];
    }
}
% endif
