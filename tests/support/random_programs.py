import numpy as np

KINDS = ("plain", "degenerate", "free", "boxed", "equalities", "infeasible", "unbounded", "scaled")


def program(kind, m, n, seed):
    """Arguments of ``linprog`` for a random program of some kind."""
    random = np.random.default_rng([seed, m, n, KINDS.index(kind)])
    a = random.integers(-3, 4, (m, n)).astype(float) * (random.random((m, n)) < 0.6)
    inside = random.integers(0, 4, n).astype(float)
    if kind != "degenerate":
        inside += random.random(n)
    equal = random.random(m) < (1.0 if kind == "equalities" else 0.3)
    room = np.zeros(m) if kind == "degenerate" else random.random(m) * 3.0
    c = a.T @ np.where(equal, random.standard_normal(m), -random.random(m)) + random.random(n)
    bounds = [(0.0, None)] * n
    if kind == "free":
        some = random.random(n) < 0.5
        bounds = [(None, None) if free else (0.0, None) for free in some]
        c = np.where(some, a.T @ np.where(equal, random.standard_normal(m), -random.random(m)), c)
        duals = np.where(equal, random.standard_normal(m), -random.random(m))
        c = a.T @ duals + np.where(some, 0.0, random.random(n))
    elif kind == "boxed":
        low = inside - random.integers(0, 3, n)
        bounds = list(zip(low, low + random.integers(0, 6, n) + (inside - low), strict=True))
        c = random.standard_normal(n)
    elif kind == "unbounded":
        a[:, 0] = np.where(equal, 0.0, -np.abs(a[:, 0]))
        c[0] = -1.0
    b = a @ inside + np.where(equal, 0.0, room)
    if kind == "scaled":
        rows, columns = 10.0 ** random.uniform(-4, 4, m), 10.0 ** random.uniform(-3, 3, n)
        a, b, c = a * rows[:, None] * columns, b * rows, c * columns
    if kind == "infeasible":
        a = np.vstack([a, a.sum(axis=0), -a.sum(axis=0)])
        top = float(b.sum())
        b, equal = np.concatenate([b, [top, -top - 1.0]]), np.concatenate([equal, [False, False]])
    return {"c": c, "A_ub": a[~equal], "b_ub": b[~equal], "A_eq": a[equal], "b_eq": b[equal], "bounds": bounds}
