"""Programs for tests of races, and what is left behind."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import engine
from engine.solvers.linprog import solve
from engine.solvers.linprog.highs.process import release_children


def sparse_program(seed, m=60, n=90):
    """A feasible program with a bounded optimum."""
    random = np.random.default_rng(seed)
    a = sp.random_array((m, n), density=0.08, rng=random, format="csr")
    x = random.random(n)
    y = -random.random(m)
    c = a.T @ y + random.random(n)
    return engine.LinearProgram(c, A_ub=a, b_ub=a @ x + random.random(m), A_eq=a[:5], b_eq=a[:5] @ x)


def reference(problem):
    a = sp.csr_array(problem.A)
    sides = np.concatenate([problem.row_upper, -problem.row_lower])
    kept, sign = np.isfinite(sides), -1.0 if problem.maximize else 1.0
    given = {"A_ub": sp.vstack([a, -a], format="csr")[kept], "b_ub": sides[kept]}
    found = scipy.optimize.linprog(sign * problem.c, **given, bounds=np.column_stack([problem.lower, problem.upper]))
    return sign * float(found.fun) + problem.offset


def solved(owner, problem, **options):
    """The result of a race, or of the ``method`` given, whose objective is that of SciPy."""
    result = owner.solve(problem, **{"method": "race"} | options)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(reference(problem), rel=1e-6)
    return result


def settle(owner):
    """Wait for what races have left behind, and end the child processes that are ready for the next one."""
    with owner.exclusive():
        release_children()


def children():
    """Processes that this one has started and that have not ended, where the system lists them."""
    found = set()
    for listed in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # of a thread that has just ended
            found.update(int(word) for word in listed.read_text().split())
    return found


def no_interior_point(monkeypatch):
    monkeypatch.setattr(solve._Solving, "_start_interior", lambda *_: None)
