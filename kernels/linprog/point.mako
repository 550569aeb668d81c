// One pass over the variables of a program, columns and then slacks: residuals, scaling, right-hand sides, directions, steps.
//
// A variable x >= 0 has a dual s; a bounded one (kind 1) has an upper slack w = u - x with a dual z; a free one (kind 2) has
// neither.
//
//   rd = c - A^T y - s + z       ru = u - x - w
//   1 / theta = s / x + z / w + rho                                     (rho_free alone for a free variable)
//   dx = theta (A^T dy + g)      g = -rd + rxs / x - (rwz - z ru) / w
//   ds = (rxs - s dx) / x        dw = ru - dx        dz = (rwz - z dw) / w
//
// where rxs, rwz are the right-hand sides of complementarity: s dx + x ds = rxs, z dw + w dz = rwz.
// Launch: groups of ${block}, each with `span` variables; group q writes its sums, minima and maxima to results[q * width ...], and
// the host combines them in order.
<%def name="arguments()">i64 variables, i64 span</%def>
<%def name="vectors(names)">${", ".join(f"const GLOBAL f64* {name}" for name in names.split())}</%def>
<%def name="point()">${vectors("x s w z")}, const GLOBAL u8* kind</%def>
<%def name="step()">${vectors("dx ds dw dz")}</%def>
<%def name="each_variable()">
    const i64 q = GROUP_ID;
    const i64 end = MIN((q + 1) * span, variables);
    for (i64 i = q * span + LOCAL_ID; i < end; i += ${block}) {
</%def>
<%def name="write(names)">
% if block > 1:
    LOCAL_ARRAY(f64, part, ${len(names) * block});
% endif
    ${reduce.group_reduce("part", "f64", block, names)}
    if (LOCAL_ID == 0) {
% for place, (name, operation) in enumerate(names):
        results[(i64)GROUP_ID * ${len(names)} + ${place}] = ${name};
% endfor
    }
</%def>

// Residuals of a point, theta, and the right-hand sides for zero products (`target`, mode 0).
KERNEL LAUNCH_BOUNDS(${block}, 1) assess(${arguments()}, ${point()}, f64 rho, f64 rho_free, const GLOBAL f64* c,
    const GLOBAL f64* u, const GLOBAL f64* aty, GLOBAL f64* rd, GLOBAL f64* ru, GLOBAL f64* theta, GLOBAL f64* rxs,
    GLOBAL f64* rwz, GLOBAL f64* g, GLOBAL f64* weighed, GLOBAL f64* results) {
    f64 products = 0.0, cost = 0.0, above = 0.0, worst_d = 0.0, worst_u = 0.0, least = 1.0e300, most = 0.0;
${each_variable()}
        f64 d = c[i] - aty[i];
        f64 more = 0.0;
        f64 inverse = kind[i] == 2 ? rho_free : rho + s[i] / x[i];
        cost += c[i] * x[i];
        if (kind[i] != 2) {
            const f64 product = x[i] * s[i];
            d -= s[i];
            products += product;
            rxs[i] = -product;
            more = -product / x[i];
        }
        if (kind[i] == 1) {
            const f64 r = u[i] - x[i] - w[i];
            const f64 product = w[i] * z[i];
            d += z[i];
            products += product;
            above += u[i] * z[i];
            ru[i] = r;
            worst_u = r > worst_u ? r : -r > worst_u ? -r : worst_u;
            rwz[i] = -product;
            more -= (-product - z[i] * r) / w[i];
            inverse += z[i] / w[i];
        }
        rd[i] = d;
        worst_d = !(d <= worst_d) ? d : !(-d <= worst_d) ? -d : worst_d;
        const f64 t = 1.0 / inverse;
        theta[i] = t;
        least = t < least ? t : least;
        most = t > most ? t : most;
        g[i] = more - d;
        weighed[i] = t * (more - d);
    }
${write([("products", "sum"), ("cost", "sum"), ("above", "sum"), ("worst_d", "max"), ("worst_u", "max"), ("least", "min"),
         ("most", "max")])}
}

KERNEL LAUNCH_BOUNDS(${block}, 1) scale(${arguments()}, ${point()}, f64 rho, f64 rho_free, GLOBAL f64* theta,
    GLOBAL f64* results) {
    f64 least = 1.0e300, most = 0.0;
${each_variable()}
        f64 inverse = kind[i] == 2 ? rho_free : rho + s[i] / x[i];
        if (kind[i] == 1)
            inverse += z[i] / w[i];
        const f64 t = 1.0 / inverse;
        theta[i] = t;
        least = t < least ? t : least;
        most = t > most ? t : most;
    }
${write([("least", "min"), ("most", "max")])}
}

FUNCTION f64 toward_centre(f64 v, f64 m) {
    // the change that brings a product v into [0.1 m, 10 m], by at most 10 m downwards (Gondzio)
    const f64 inside = v < 0.1 * m ? 0.1 * m : v > 10.0 * m ? 10.0 * m : v;
    const f64 change = inside - v;
    return change < -10.0 * m ? -10.0 * m : change;
}

// mode 0: rxs = m - x s; 1: rxs = m - x s - dx ds; 2: rxs += toward_centre((x + a dx)(s + b ds)); rwz alike.
KERNEL LAUNCH_BOUNDS(${block}, 1) target(${arguments()}, ${point()}, ${step()}, i32 mode, f64 m, f64 a, f64 b,
    const GLOBAL f64* rd, const GLOBAL f64* ru, const GLOBAL f64* theta, GLOBAL f64* rxs, GLOBAL f64* rwz, GLOBAL f64* g,
    GLOBAL f64* weighed) {
${each_variable()}
        f64 sum = -rd[i];
        if (kind[i] != 2) {
            f64 r = mode == 2 ? rxs[i] + toward_centre((x[i] + a * dx[i]) * (s[i] + b * ds[i]), m) : m - x[i] * s[i];
            if (mode == 1)
                r -= dx[i] * ds[i];
            rxs[i] = r;
            sum += r / x[i];
        }
        if (kind[i] == 1) {
            f64 r = mode == 2 ? rwz[i] + toward_centre((w[i] + a * dw[i]) * (z[i] + b * dz[i]), m) : m - w[i] * z[i];
            if (mode == 1)
                r -= dw[i] * dz[i];
            rwz[i] = r;
            sum -= (r - z[i] * ru[i]) / w[i];
        }
        g[i] = sum;
        weighed[i] = theta[i] * sum;
    }
}

// out = theta aty
KERNEL LAUNCH_BOUNDS(${block}, 1) weigh(${arguments()}, const GLOBAL f64* theta, const GLOBAL f64* aty, GLOBAL f64* out) {
${each_variable()}
        out[i] = theta[i] * aty[i];
    }
}

// The direction that belongs to A^T dy; the largest -dx / x and -ds / s (w and z included), and the sums of s dx, x ds and dx ds,
// which give the sum of the products after any step.
KERNEL LAUNCH_BOUNDS(${block}, 1) direct(${arguments()}, ${point()}, const GLOBAL f64* aty, const GLOBAL f64* theta,
    const GLOBAL f64* g, const GLOBAL f64* rxs, const GLOBAL f64* rwz, const GLOBAL f64* ru, GLOBAL f64* dx, GLOBAL f64* ds,
    GLOBAL f64* dw, GLOBAL f64* dz, GLOBAL f64* results) {
    f64 primal = 0.0, dual = 0.0, by_primal = 0.0, by_dual = 0.0, by_both = 0.0;
${each_variable()}
        const f64 move = theta[i] * (aty[i] + g[i]);
        f64 a = 0.0, b = 0.0;
        dx[i] = move;
        if (kind[i] != 2) {
            const f64 d = (rxs[i] - s[i] * move) / x[i];
            ds[i] = d;
            a = -move / x[i];
            b = -d / s[i];
            by_primal += s[i] * move;
            by_dual += x[i] * d;
            by_both += move * d;
        }
        if (kind[i] == 1) {
            const f64 up = ru[i] - move;
            const f64 d = (rwz[i] - z[i] * up) / w[i];
            dw[i] = up;
            dz[i] = d;
            a = !(-up / w[i] <= a) ? -up / w[i] : a;
            b = !(-d / z[i] <= b) ? -d / z[i] : b;
            by_primal += z[i] * up;
            by_dual += w[i] * d;
            by_both += up * d;
        }
        primal = !(a <= primal) ? a : primal;
        dual = !(b <= dual) ? b : dual;
    }
${write([("primal", "max"), ("dual", "max"), ("by_primal", "sum"), ("by_dual", "sum"), ("by_both", "sum")])}
}

KERNEL LAUNCH_BOUNDS(${block}, 1) advance(${arguments()}, GLOBAL f64* x, GLOBAL f64* s, GLOBAL f64* w, GLOBAL f64* z,
    const GLOBAL u8* kind, ${step()}, f64 a, f64 b) {
${each_variable()}
        if (a != 0.0)
            x[i] += a * dx[i];
        if (kind[i] != 2 && b != 0.0)
            s[i] += b * ds[i];
        if (kind[i] == 1) {
            if (a != 0.0)
                w[i] += a * dw[i];
            if (b != 0.0)
                z[i] += b * dz[i];
        }
    }
}
