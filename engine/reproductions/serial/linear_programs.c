/* Linear programs min c x, A x = b, x >= 0 with dense A (m x n, row by row), serially:
 *
 * affine_scaling: Divakar's method; A D A^T z = A x by Cholesky, or by the updates of Egidi and Maponi.
 * predictor_corrector: Mehrotra's method with a Cholesky factor, as Jung and O'Leary's.
 * simplex: two phases on a dense tableau with Dantzig's rule.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double dot(const double *a, const double *b, int n) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int i = 0;
    for (; i + 3 < n; i += 4) s0 += a[i] * b[i], s1 += a[i + 1] * b[i + 1], s2 += a[i + 2] * b[i + 2], s3 += a[i + 3] * b[i + 3];
    for (; i < n; i++) s0 += a[i] * b[i];
    return (s0 + s1) + (s2 + s3);
}

static void axpy(double t, const double *a, double *b, int n) {
    for (int i = 0; i < n; i++) b[i] += t * a[i];
}

static double *doubles(size_t count) { return calloc(count ? count : 1, sizeof(double)); }

/* The lower triangle of A D A^T (D = I if d is NULL) becomes its Cholesky factor; 0 if it is not positive. */
static int factor(int m, int n, const double *A, const double *d, double *L) {
    double *row = doubles(n);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) row[j] = A[(size_t)i * n + j] * (d ? d[j] : 1);
        for (int k = 0; k <= i; k++) L[(size_t)i * m + k] = dot(row, A + (size_t)k * n, n);
    }
    free(row);
    for (int i = 0; i < m; i++)
        for (int k = 0; k <= i; k++) {
            double *at = L + (size_t)i * m + k, rest = *at - dot(L + (size_t)i * m, L + (size_t)k * m, k);
            if (k < i) *at = rest / L[(size_t)k * m + k];
            else if (rest > 0) *at = sqrt(rest);
            else return 0;
        }
    return 1;
}

static void solve_factored(int m, const double *L, double *z) {
    for (int i = 0; i < m; i++) z[i] = (z[i] - dot(L + (size_t)i * m, z, i)) / L[(size_t)i * m + i];
    for (int i = m - 1; i >= 0; i--) {
        z[i] /= L[(size_t)i * m + i];
        axpy(-z[i], L + (size_t)i * m, z, i);
    }
}

typedef struct {
    int m, n;
    const double *A, *d;
    double *At, *Y0, *Y, *L; /* columns of A; (A A^T)^-1 A, column by column, and what becomes of it; a factor */
} Normal;

/* Solve A D A^T z = z in place; with updates, the inverse of A A^T is changed by one column after another. */
static int solve_normal(Normal *s, int updates, double *z, const double *base) {
    int m = s->m, n = s->n;
    if (!updates) {
        if (!factor(m, n, s->A, s->d, s->L)) return 0;
        solve_factored(m, s->L, z);
        return 1;
    }
    double *v = doubles(m);
    memcpy(s->Y, s->Y0, sizeof(double) * m * n);
    solve_factored(m, base, z);
    for (int l = 0; l < n; l++) {
        double *own = s->Y + (size_t)l * m;
        for (int i = 0; i < m; i++) v[i] = (s->d[l] - 1) * s->At[(size_t)l * m + i];
        double scale = 1 + dot(v, own, m);
        axpy(-dot(v, z, m) / scale, own, z, m);
        for (int k = l + 1; k < n; k++) {
            double *other = s->Y + (size_t)k * m;
            axpy(-dot(v, other, m) / scale, own, other, m);
        }
    }
    free(v);
    return 1;
}

static double relative(double a, double b) { return fabs(a - b) / (1 + fabs(a)); }

static double worst_ratio(const double *d, const double *v, int n, double least) {
    for (int i = 0; i < n; i++)
        if (-d[i] / v[i] > least) least = -d[i] / v[i];
    return least;
}

/* From an interior point (x, y, s) of both programs, which is moved. `step`: fraction of the way to the boundary. Ends
 * at a relative gap of `tolerance`, or after `most` iterations, or if no step can be computed.
 * found: [0] the smallest gap, [1] iterations, [2] CPU seconds for the normal equations, [3] for all, [4] seconds before
 * the first iteration. */
void affine_scaling(int m, int n, const double *A, const double *b, const double *c, double *x, double *y, double *s,
                    double step, int updates, double tolerance, int most, double *found) {
    clock_t began = clock(), normal = 0;
    double *d = doubles(n), *dx = doubles(n), *ds = doubles(n), *dy = doubles(m), *base = doubles((size_t)m * m);
    size_t kept = updates ? (size_t)m * n : 0;
    Normal system = {m, n, A, d, doubles(kept), doubles(kept), doubles(kept), doubles((size_t)m * m)};
    if (updates) {
        factor(m, n, A, NULL, base);
        for (int j = 0; j < n; j++) {
            for (int i = 0; i < m; i++) system.At[(size_t)j * m + i] = A[(size_t)i * n + j];
            memcpy(system.Y0 + (size_t)j * m, system.At + (size_t)j * m, sizeof(double) * m);
            solve_factored(m, base, system.Y0 + (size_t)j * m);
        }
    }
    found[0] = relative(dot(c, x, n), dot(b, y, m));
    found[4] = (double)(clock() - began) / CLOCKS_PER_SEC;
    int iteration = 0;
    while (iteration < most && found[0] > tolerance) {
        for (int j = 0; j < n; j++) d[j] = x[j] / s[j];
        for (int i = 0; i < m; i++) dy[i] = dot(A + (size_t)i * n, x, n);
        clock_t at = clock();
        int good = solve_normal(&system, updates, dy, base);
        normal += clock() - at;
        memset(ds, 0, sizeof(double) * n);
        for (int i = 0; i < m; i++) axpy(-dy[i], A + (size_t)i * n, ds, n);
        for (int j = 0; j < n; j++) dx[j] = -x[j] - d[j] * ds[j];
        double psi = worst_ratio(ds, s, n, worst_ratio(dx, x, n, 1e-300)), length = step / psi < 1 ? step / psi : 1;
        if (!good || !isfinite(psi)) break;
        axpy(length, dx, x, n), axpy(length, dy, y, m), axpy(length, ds, s, n);
        iteration++;
        double gap = relative(dot(c, x, n), dot(b, y, m));
        if (gap < found[0]) found[0] = gap;
    }
    found[1] = iteration;
    found[2] = (double)normal / CLOCKS_PER_SEC;
    found[3] = (double)(clock() - began) / CLOCKS_PER_SEC;
    free(d), free(dx), free(ds), free(dy), free(base), free(system.At), free(system.Y0), free(system.Y), free(system.L);
}

/* As above, by Mehrotra's predictor and corrector; found: [0] the last gap, [1] iterations, [3] CPU seconds. */
void predictor_corrector(int m, int n, const double *A, const double *b, const double *c, double *x, double *y, double *s,
                         double tolerance, int most, double *found) {
    clock_t began = clock();
    double *d = doubles(n), *dx = doubles(n), *ds = doubles(n), *dy = doubles(m), *r = doubles(n);
    double *L = doubles((size_t)m * m);
    int iteration = 0;
    for (; iteration < most && (found[0] = relative(dot(c, x, n), dot(b, y, m))) > tolerance; iteration++) {
        double mu = dot(x, s, n) / n, primal, dual;
        for (int j = 0; j < n; j++) d[j] = x[j] / s[j], r[j] = -x[j] * s[j];
        if (!factor(m, n, A, d, L)) break;
        for (int part = 0;; part++) { /* the predictor, then the corrector: A D A^T dy = -A (r / s) */
            for (int j = 0; j < n; j++) dx[j] = r[j] / s[j];
            for (int i = 0; i < m; i++) dy[i] = -dot(A + (size_t)i * n, dx, n);
            solve_factored(m, L, dy);
            memset(ds, 0, sizeof(double) * n);
            for (int i = 0; i < m; i++) axpy(-dy[i], A + (size_t)i * n, ds, n);
            for (int j = 0; j < n; j++) dx[j] -= d[j] * ds[j];
            double near = part ? 0.99 : 1;
            primal = fmin(1, near / worst_ratio(dx, x, n, DBL_MIN));
            dual = fmin(1, near / worst_ratio(ds, s, n, DBL_MIN));
            if (part) break;
            double after = 0;
            for (int j = 0; j < n; j++) after += (x[j] + primal * dx[j]) * (s[j] + dual * ds[j]) / n;
            double target = mu * pow(after / mu, 3);
            for (int j = 0; j < n; j++) r[j] = target - x[j] * s[j] - dx[j] * ds[j];
        }
        axpy(primal, dx, x, n), axpy(dual, dy, y, m), axpy(dual, ds, s, n);
    }
    found[1] = iteration;
    found[3] = (double)(clock() - began) / CLOCKS_PER_SEC;
    free(d), free(dx), free(ds), free(dy), free(r), free(L);
}

static void pivot(double *T, int *basis, int m, int width, int row, int column) {
    double *chosen = T + (size_t)row * width, divisor = chosen[column];
    for (int j = 0; j < width; j++) chosen[j] /= divisor;
    for (int i = 0; i <= m; i++)
        if (i != row && T[(size_t)i * width + column] != 0) axpy(-T[(size_t)i * width + column], chosen, T + (size_t)i * width, width);
    basis[row] = column;
}

/* found: [0] the objective, NAN if there is no optimum; [1] pivots, [3] CPU seconds. */
void simplex(int m, int n, const double *A, const double *b, const double *c, int most, double *found) {
    clock_t began = clock();
    int width = n + 1, pivots = 0, *basis = malloc(sizeof(int) * m), fine = 1;
    double *T = doubles((size_t)(m + 1) * width), *cost = T + (size_t)m * width;
    for (int i = 0; i < m; i++) {
        double sign = b[i] < 0 ? -1 : 1;
        for (int j = 0; j < n; j++) T[(size_t)i * width + j] = sign * A[(size_t)i * n + j];
        T[(size_t)i * width + n] = sign * b[i];
        basis[i] = n + i; /* an artificial variable, whose column is not kept */
    }
    for (int phase = 1; phase <= 2 && fine; phase++) {
        memset(cost, 0, sizeof(double) * width);
        if (phase == 2) memcpy(cost, c, sizeof(double) * n);
        for (int i = 0; i < m; i++) {
            double of = phase == 1 ? (basis[i] >= n) : (basis[i] < n ? c[basis[i]] : 0);
            axpy(-of, T + (size_t)i * width, cost, width);
        }
        for (;; pivots++) {
            int column = 0, row = -1;
            for (int j = 1; j < n; j++)
                if (cost[j] < cost[column]) column = j;
            if (cost[column] > -1e-9 || (phase == 1 && cost[n] > -1e-9)) break;
            double least = INFINITY;
            for (int i = 0; i < m; i++) {
                double entry = T[(size_t)i * width + column];
                if (entry > 1e-9 && T[(size_t)i * width + n] / entry < least) least = T[(size_t)i * width + n] / entry, row = i;
            }
            if (row < 0 || pivots >= most) {
                fine = 0;
                break;
            }
            pivot(T, basis, m, width, row, column);
        }
        if (phase == 1 && cost[n] < -1e-6) fine = 0;
        for (int i = 0; i < m && fine && phase == 1; i++) /* artificial variables that stayed at 0 leave */
            for (int j = 0; j < n && basis[i] >= n; j++)
                if (fabs(T[(size_t)i * width + j]) > 1e-7) pivot(T, basis, m, width, i, j);
    }
    found[0] = fine ? -cost[n] : NAN;
    found[1] = pivots;
    found[3] = (double)(clock() - began) / CLOCKS_PER_SEC;
    free(T), free(basis);
}
