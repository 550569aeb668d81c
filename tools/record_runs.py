"""Record the runs in ``samples/recorded`` again: ``python -m tools.record_runs [SOLVER ...]``.

Needed when what a run folder holds has changed. With PoCL, ``POCL_DEVICES="pthread pthread"`` gives the two devices.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import random_array

import engine
from tests.support.environment import ROOT

FOLDER = Path("samples") / "recorded"
DEVICES = ["opencl:0", "opencl:1"]


def branch_and_bound() -> tuple[Any, dict[str, Any]]:
    return engine.Flowshop.taillard(30), {"initial": "neh"}  # so that better ones are found


def knapsack() -> tuple[Any, dict[str, Any]]:
    random = np.random.default_rng(12)
    weights = random.integers(1, 20_000, 800)
    profits = weights + random.integers(-20, 60, 800).clip(1 - weights.min(), None) + 40
    problem = engine.Knapsack(profits, weights, int(weights.sum()) // 2, name="weakly-correlated-800")
    return problem, {"variant": "dense", "reduce": False, "minimum_share": 4096}  # a table, on both devices


def boa() -> tuple[Any, dict[str, Any]]:
    return engine.BOA("trap-5", 130), {"local_search": "none"}


def gibbs() -> tuple[Any, dict[str, Any]]:
    random = np.random.default_rng(4)
    names = ["age", "dose", "weight", "smoker", "pressure", "sodium", "iron", "glucose", "height", "pulse", "visits"]
    X = random.standard_normal((200, 12)).astype(np.float32).astype(float)
    y = X @ np.array([1.3, -1, 0.5, 0.25, *[0] * 8]) + random.standard_normal(200) > 0.2
    options = {"draws": 150, "warmup": 300, "thin": 4, "chains": 3}
    return engine.HorseshoeProbit(X, y.astype(int), names=[*names, "sleep"], name="trial"), options


def linprog() -> tuple[Any, dict[str, Any]]:
    random = np.random.default_rng(8)
    m, n = 1200, 1800
    A = random_array((m, n), density=5 / m, rng=random, data_sampler=lambda size: random.integers(1, 10, size)).tocsr()
    x = random.random(n) * 3
    b = A @ x + random.random(m) * (random.random(m) < 0.5)
    c = A.T @ -random.random(m) + random.random(n) * (x > 1.5)
    return engine.LinearProgram(c.round(3), A, b.round(3), bounds=(0, 4), name="blending"), {
        "method": "mpc",
        "linear_solver": "cholesky",
    }


RUNS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    run.__name__: run for run in (branch_and_bound, knapsack, boa, gibbs, linprog)
}


def record(solver: str) -> None:
    """Solve, and remove the checkpoints."""
    problem, options = RUNS[solver]()
    os.chdir(ROOT)  # so that the paths in run.toml are relative
    folder = FOLDER / solver
    shutil.rmtree(folder, ignore_errors=True)
    result = engine.solve(problem, backend="opencl", devices=DEVICES, run_folder=folder, seed=1, **options)
    for checkpoint in folder.glob("checkpoint*"):
        checkpoint.unlink()
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{solver}: {result.status} after {result.seconds:.1f} s, {size / 1000:.0f} kB")


if __name__ == "__main__":
    for name in sys.argv[1:] or RUNS:
        record(name)
