// Where a program of linprog/together begins: its standard form, and Mehrotra's starting point; and the loops over variables and
// rows that all phases of the kernel have. The phases are in the kernel's own variables.
<%def name="each()">
    for (i64 i = LOCAL_ID; i < size; i += ${block})</%def>
<%def name="each_row()">for (i64 i = LOCAL_ID; i < m; i += ${block})</%def>
<%def name="standard_form()">\
        f64 pairs = 0.0, size_of_c = 0.0, size_of_u = 0.0;
        SYNCHRONIZE();
        // --- the standard form; v has where variables are counted from ---
        for (i64 j = LOCAL_ID; j < n; j += ${block}) {
            const f64 low = lower[p * n + j];
            const f64 high = upper[p * n + j];
            const i32 mirrored = !is_finite(low) && is_finite(high);
            sign[j] = mirrored ? -1.0 : 1.0;
            kind[j] = low == high ? 3.0 : is_finite(low) ? (is_finite(high) ? 1.0 : 0.0) : mirrored ? 0.0 : 2.0;
            u[j] = kind[j] == 1.0 ? high - low : 0.0;
            v[j] = is_finite(low) ? low : mirrored ? high : 0.0;
            cost[j] = sign[j] * c[p * n + j];
        }
${each_row()}
            v[n + i] = 0.0;
        multiply(m, n, a, at, v, q);
${each_row()} {
            const f64 low = row_lower[p * m + i];
            const f64 high = row_upper[p * m + i];
            sign[n + i] = is_finite(low) && !is_finite(high) ? -1.0 : 1.0;
            kind[n + i] = low == high                          ? 3.0
                          : is_finite(low) && is_finite(high) ? 1.0
                          : is_finite(low) || is_finite(high) ? 0.0
                                                              : 2.0;
            u[n + i] = kind[n + i] == 1.0 ? high - low : 0.0;
            cost[n + i] = 0.0;
            b[i] = is_finite(high) ? high - q[i] : is_finite(low) ? low - q[i] : 0.0;
        }
        SYNCHRONIZE();    // row i is another work-item's than its slack, variable n + i
        f64 size_of_b = 0.0;
${each_row()}
            size_of_b = MAX(size_of_b, MAX(b[i], -b[i]));
${each()} {
            theta[i] = kind[i] == 3.0 ? 0.0 : 1.0;
            pairs += kind[i] == 0.0 ? 1.0 : kind[i] == 1.0 ? 2.0 : 0.0;
            size_of_c = MAX(size_of_c, MAX(cost[i], -cost[i]));
            size_of_u = MAX(size_of_u, u[i]);
            v[i] = kind[i] == 3.0 ? 0.0 : sign[i] * cost[i];
        }
        pairs = MAX(sum_of(part, pairs), 1.0);
        size_of_b = 1.0 + greatest_of(part, size_of_b);
        size_of_c = 1.0 + greatest_of(part, size_of_c);
        size_of_u = 1.0 + greatest_of(part, size_of_u);
</%def>
<%def name="starting_point()">\
        // --- Mehrotra's starting point ---
        form(m, n, a, at, theta, g, M);
        factor(m, 1.0e-12, 1.0e-10, M, inverse);
        multiply(m, n, a, at, v, y);
${each_row()}
            q[i] = b[i];
        solve(m, M, inverse, y);
        solve(m, M, inverse, q);
        multiply_transposed(m, n, a, sign, q, x);
        multiply_transposed(m, n, a, sign, y, v);
        f64 least_primal = 0.0, least_dual = 0.0;
${each()} {
            const f64 reduced = cost[i] - v[i];
            const f64 k = kind[i];
            w[i] = k == 1.0 ? u[i] - x[i] : 1.0;
            s[i] = k == 1.0 ? MAX(reduced, 0.0) : k == 0.0 ? reduced : 1.0;
            z[i] = k == 1.0 ? MAX(-reduced, 0.0) : 1.0;
            if (k == 3.0)
                x[i] = 0.0;
            if (k < 2.0) {
                least_primal = MAX(least_primal, -x[i]);
                least_dual = MAX(least_dual, -s[i]);
            }
            if (k == 1.0)
                least_primal = MAX(least_primal, -w[i]);
        }
        const f64 primal_shift = 1.5 * greatest_of(part, least_primal);
        const f64 dual_shift = 1.5 * greatest_of(part, least_dual);
        f64 products = 0.0, primal_sum = 0.0, dual_sum = 0.0;
${each()} {
            if (kind[i] < 2.0) {
                x[i] += primal_shift;
                s[i] += dual_shift;
                products += x[i] * s[i];
                primal_sum += x[i];
                dual_sum += s[i];
            }
            if (kind[i] == 1.0) {
                w[i] += primal_shift;
                z[i] += dual_shift;
                products += w[i] * z[i];
                primal_sum += w[i];
                dual_sum += z[i];
            }
        }
        products = sum_of(part, products);
        primal_sum = sum_of(part, primal_sum);
        dual_sum = sum_of(part, dual_sum);
        const f64 more_primal =
            products > 0.0 ? MAX(0.5 * products / MAX(dual_sum, 1.0e-300), primal_shift == 0.0 ? 1.0e-3 : 0.0) : 1.0;
        const f64 more_dual =
            products > 0.0 ? MAX(0.5 * products / MAX(primal_sum, 1.0e-300), dual_shift == 0.0 ? 1.0e-3 : 0.0) : 1.0;
${each()} {
            if (kind[i] < 2.0) {
                x[i] = 3.0 * (x[i] + more_primal);
                s[i] += more_dual;
            }
            if (kind[i] == 1.0) {
                w[i] = 3.0 * (w[i] + more_primal);
                z[i] += more_dual;
            }
        }
</%def>
