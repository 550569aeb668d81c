"""``quintet reproduce pdas``: the measurements of Divakar's primal-dual affine scaling on GPUs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..generators.linprog import GeneratorOptions, generate
from ..reports.study import Study, run_study
from ..solvers.linprog.problem import LinearProgram

__all__ = ["reproduce"]

TITLE = "Primal-dual affine scaling on GPUs"
SOURCE = (
    "Divakar: Primal dual affine scaling on GPUs; with R. Saigal (1994) and N. Egidi, P. Maponi: A Sherman-Morrison "
    "approach to the solution of linear systems, J. Comput. Appl. Math. 189 (2006) 703-718."
)
_NETLIB = ("afiro", "sc50b", "adlittle", "blend", "share2b", "sc105", "kb2", "stocfor1", "recipe", "brandy", "lotfi",
           "share1b", "beaconfd", "e226", "israel")  # fmt: skip
_STEPS = (0.5, 0.7, 0.9, 0.99)

Floats = NDArray[np.float64]
Factor = Literal["cholesky", "updates", "updates in descending order"]


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    return run_study(
        "pdas", TITLE, SOURCE, _study, arguments,
        instances="Folder with Netlib's programs as NAME.mps; without it only generated programs are solved.",
    )  # fmt: skip


def _study(study: Study) -> None:
    _measure_steps(study)
    _measure_updates(study)
    _measure_time(study)
    _measure_netlib(study)


@dataclass(frozen=True)
class _Start:
    """min c x subject to A x = b, x >= 0, with an interior point of both programs."""

    A: Floats
    b: Floats
    c: Floats
    x: Floats
    y: Floats
    s: Floats


def _program(m: int, n: int, seed: int, spread: float) -> _Start:
    """A random dense program; x and s of its start are spread over so many decades each: 0 is centred."""
    random = np.random.default_rng(seed)
    A = random.standard_normal((m, n))
    x, s = 10.0 ** (random.uniform(-0.5, 0.5, (2, n)) * spread)
    y = random.standard_normal(m)
    return _Start(A, A @ x, A.T @ y + s, x, y, s)


def _solve_normal(A: Floats, d: Floats, rhs: Floats, method: Factor) -> Floats:
    """Solve A D A^T z = rhs by a Cholesky factor, or by the paper's updates of (A A^T)^-1 column by column."""
    if method == "cholesky":
        factor = np.linalg.cholesky((A * d) @ A.T)
        return np.linalg.solve(factor.T, np.linalg.solve(factor, rhs))
    order = np.argsort(-d) if method == "updates in descending order" else np.arange(len(d))
    base = np.linalg.inv(A @ A.T)
    z, Y = base @ rhs, base @ A
    for place, column in enumerate(order):
        later = order[place + 1 :]
        v = (d[column] - 1) * A[:, column]
        own = Y[:, column].copy()
        scale = 1 + v @ own
        z = z - (v @ z) / scale * own
        Y[:, later] -= np.outer(own, (v @ Y[:, later]) / scale)
    return z


def _affine_scaling(start: _Start, step: float, method: Factor, most: int = 200) -> tuple[bool, int, float]:
    """The paper's iteration in NumPy, from a point that may be infeasible.

    Returns whether gap and residuals came to 1e-8, the iterations, and the last primal objective.
    """
    A, x, y, s = start.A, start.x.copy(), start.y.copy(), start.s.copy()
    primal = float(start.c @ x)
    for iteration in range(most):
        primal, dual = float(start.c @ x), float(start.b @ y)
        rd = start.c - A.T @ y - s
        residual = max(
            float(np.abs(A @ x - start.b).max() / (1 + np.abs(start.b).max())),
            float(np.abs(rd).max() / (1 + np.abs(start.c).max())),
        )
        if max(abs(primal - dual) / (1 + abs(primal)), residual) <= 1e-8:
            return True, iteration, primal
        with np.errstate(all="ignore"):
            try:
                dy = _solve_normal(A, x / s, start.b + A @ (x / s * rd), method)
            except np.linalg.LinAlgError:
                return False, iteration, primal
            ds = rd - A.T @ dy
            dx = -x - x / s * ds
            psi = max(float((-dx / x).max()), float((-ds / s).max()))
        if not np.isfinite(psi):
            return False, iteration, primal
        length = min(1.0, step / psi) if psi > 0 else 1.0
        x, y, s = x + length * dx, y + length * dy, s + length * ds
    return False, most, primal


def _standard(problem: LinearProgram) -> _Start:
    """A program as min c x, A x = b, x >= 0 with Mehrotra's start.

    Variables are shifted, free ones are split, and dependent rows are left out. Rows with two sides and upper bounds
    become further rows with slacks.
    """
    from scipy.linalg import qr

    A = problem.to_dense().A
    sign = -1.0 if problem.maximize else 1.0
    flipped = np.isneginf(problem.lower) & np.isfinite(problem.upper)
    free = np.isneginf(problem.lower) & np.isposinf(problem.upper)
    shift = np.where(free, 0.0, np.where(flipped, problem.upper, problem.lower))
    A = A * np.where(flipped, -1.0, 1.0)
    c = sign * problem.c * np.where(flipped, -1.0, 1.0)
    offset = problem.to_dense().A @ shift
    width = np.where(flipped | free, np.inf, problem.upper - problem.lower)
    rows: list[tuple[Floats, float, int]] = []  # the row, its side, and the sign of its slack
    for row, low, high in zip(A, problem.row_lower - offset, problem.row_upper - offset, strict=True):
        if low == high:
            rows.append((row, high, 0))
        else:
            rows += [(row, side, kind) for side, kind in ((high, 1), (low, -1)) if np.isfinite(side)]
    unit = np.eye(len(c))
    rows += [(unit[column], width[column], 1) for column in np.flatnonzero(np.isfinite(width))]
    sides = np.array([side for _, side, _ in rows])
    full, kinds = np.array([row for row, _, _ in rows]), np.array([kind for _, _, kind in rows])
    part = np.diag(kinds.astype(float))[:, kinds != 0]
    full = np.hstack([full, -full[:, free], part])
    costs = np.concatenate([c, -c[free], np.zeros(part.shape[1])])
    _, triangle, order = qr(full.T, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(triangle)) > 1e-9 * abs(triangle[0, 0])).sum())
    kept = np.sort(order[:rank])
    return _mehrotra_start(full[kept], sides[kept], costs)


def _mehrotra_start(A: Floats, b: Floats, c: Floats) -> _Start:
    inverse = np.linalg.inv(A @ A.T)
    x, y = A.T @ (inverse @ b), inverse @ (A @ c)
    s = c - A.T @ y
    x, s = x + max(-1.5 * x.min(), 0.0), s + max(-1.5 * s.min(), 0.0)
    product = float(x @ s)
    x, s = x + 0.5 * product / max(s.sum(), 1e-10) + 1e-3, s + 0.5 * product / max(x.sum(), 1e-10) + 1e-3
    return _Start(A, b, c, x, y, s)


def _programs(study: Study, spread: float) -> list[_Start]:
    sizes: Sequence[tuple[int, int]] = study.pick(((10, 30),), *[((30, 90), (60, 180), (100, 200))] * 2)
    seeds: Sequence[int] = study.pick((1,), *[(1, 2, 3)] * 2)
    return [_program(m, n, seed, spread) for (m, n), seed in itertools.product(sizes, seeds)]


def _counted(programs: Sequence[_Start], step: float, method: Factor) -> tuple[int, str]:
    """How many programs are solved, and the iterations of those."""
    results = [_affine_scaling(program, step, method) for program in programs]
    iterations = [count for good, count, _ in results if good]
    return len(iterations), f"{min(iterations)} to {max(iterations)}" if iterations else ""


def _measure_steps(study: Study) -> None:
    """The fraction of the way to the boundary that a step may go."""
    study.section(
        "Length of the steps",
        "The method as in the paper, in NumPy with Cholesky factors, on random dense programs. The products x_j s_j of "
        "the start are equal (centred), or x and s are spread over two decades each (badly centred).",
    )
    rows = []
    solved: dict[tuple[str, float], int] = {}
    total = 0
    for name, spread in (("centred", 0.0), ("badly centred", 2.0)):
        programs = _programs(study, spread)
        total = len(programs)
        for step in _STEPS:
            solved[name, step], iterations = _counted(programs, step, "cholesky")
            rows.append((name, step, f"{solved[name, step]}/{total}", iterations))
    study.table("Relative gap of 1e-8", ("start", "step", "solved", "iterations"), rows, "at most 200 iterations")
    study.figure(
        "steps",
        "Programs solved by length of the steps",
        lambda axes: _plot_steps(axes, solved, total),
        "Share of programs solved, by the fraction of the way to the boundary.",
    )
    bad = {step: solved["badly centred", step] for step in _STEPS}
    study.finding(
        "long steps (0.9 and more) converge from any interior start",
        bad[0.9] == bad[0.99] == total,
        f"from badly centred starts {bad[0.9]} of {total} programs with 0.9 and {bad[0.99]} with 0.99, "
        f"against {bad[0.5]} with 0.5",
    )


def _plot_steps(axes: Any, solved: dict[tuple[str, float], int], total: int) -> None:
    for name in ("centred", "badly centred"):
        axes.plot(_STEPS, [solved[name, step] / total for step in _STEPS], marker="o", label=name)
    axes.set(xlabel="step", ylabel="share of programs solved", ylim=(-0.02, 1.05))
    axes.legend(frameon=False)


def _measure_updates(study: Study) -> None:
    """The paper's way to solve the normal equations."""
    study.section(
        "Sherman-Morrison updates",
        "The paper solves A D A^T z = r by updating the inverse of A A^T by one column after another (Egidi and "
        "Maponi). Steps of 0.5 from centred starts, in NumPy; the devices update in blocks, check the residual and "
        "fall back on a Cholesky factor.",
    )
    programs = _programs(study, 0.0)
    rows = []
    counts = {}
    methods: tuple[Factor, ...] = ("cholesky", "updates", "updates in descending order")
    for method in methods:
        counts[method], iterations = _counted(programs, 0.5, method)
        rows.append((method, f"{counts[method]}/{len(programs)}", iterations))
    study.table("Relative gap of 1e-8", ("normal equations by", "solved", "iterations"), rows)
    study.finding(
        "the updates as written solve linear programs to 1e-8",
        counts["updates"] == len(programs),
        f"{counts['updates']} of {len(programs)} random programs, {counts['cholesky']} with Cholesky factors",
    )


def _measure_time(study: Study) -> None:
    """Time of an iteration on the devices, by way of solving the normal equations."""
    sizes: Sequence[tuple[int, int]] = study.pick(((20, 60),), ((100, 300), (200, 600), (300, 1200)),
                                                  ((500, 1500), (1000, 3000), (2000, 6000)))  # fmt: skip
    study.section(
        "Time of an iteration",
        "Dense programs on the devices; block = 1 is the paper's own update of one column at a time.",
    )
    ways: dict[str, dict[str, Any]] = {
        "updates, block 1": {"linear_solver": "sherman_morrison", "block": 1},
        "updates, block 64": {"linear_solver": "sherman_morrison", "block": 64},
        "Cholesky": {"linear_solver": "cholesky"},
    }
    rows = []
    for m, n in sizes:
        problem = generate(GeneratorOptions(type="dense", m=m, n=n, seed=1))
        times = []
        for options in ways.values():
            few = {"method": "pdas", "presolve": False, "max_iterations": 3, "acceptable": 1e-2, **options}
            study.engine.solve(problem, **few)
            began = time.perf_counter()
            result = study.engine.solve(problem, **few)
            iterations = max(1, int(result.counters["iterations"]))
            times.append(1e3 * (time.perf_counter() - began) / iterations)
        rows.append((f"{m} x {n}", *(f"{ms:.1f}" for ms in times), f"{times[0] / times[2]:.0f}"))
    study.table(
        "Milliseconds", ("program", *ways, "block 1 / Cholesky"), rows, "three iterations, host's work included"
    )


def _measure_netlib(study: Study) -> None:
    """Netlib's programs, where their files are given: solved by this solver's methods."""
    if study.instances is None:
        return
    paths = [study.instances / f"{name}.mps" for name in _NETLIB]
    found = [path for path in paths if path.is_file()]
    if not found:
        raise InputError(f"none of Netlib's programs is in {study.instances}, such as {paths[0].name}")
    if study.profile == "quick":
        found = found[:2]
    study.section(
        "Netlib",
        "The smallest of Netlib's programs: the method as in the paper, in NumPy with Mehrotra's start, and the "
        "methods of this solver, which presolve, scale, refine and check. HiGHS gives the optima.",
    )
    written: dict[str, tuple[float, Factor]] = {
        "NumPy, updates, 0.9": (0.9, "updates"),
        "NumPy, Cholesky, 0.9": (0.9, "cholesky"),
        "NumPy, Cholesky, 0.99": (0.99, "cholesky"),
    }
    methods: dict[str, dict[str, Any]] = {
        "pdas, step 0.8": {"method": "pdas"},
        "pdas, step 0.99": {"method": "pdas", "step": 0.99},
        "pdas, updates": {"method": "pdas", "linear_solver": "sherman_morrison"},
        "mpc": {"method": "mpc"},
    }
    solved = dict.fromkeys([*written, *methods], 0)
    rows = []
    for path in found:
        problem = LinearProgram.read(path, relax=True)
        dense = problem.to_dense()
        optimum = _highs_optimum(problem)
        cells = []
        start = _standard(problem)
        for name, (step, method) in written.items():
            good, iterations, _ = _affine_scaling(start, step, method, 100)
            solved[name] += good
            cells.append(f"{iterations}" if good else "no")
        for name, options in methods.items():
            target = dense if name == "pdas, updates" else problem
            good, iterations = _solved(study, target, optimum, options)
            solved[name] += good
            cells.append(f"{iterations}" if good else "no")
        rows.append((problem.name, f"{optimum:.8g}", *cells))
    study.table(
        "Iterations",
        ("program", "optimum", *written, *methods),
        rows,
        "no: not solved to 1e-8 within 100 iterations (NumPy), or to 1e-6 within 300",
    )
    study.finding(
        "the updates as written solve these programs",
        solved["NumPy, updates, 0.9"] == len(found),
        f"{solved['NumPy, updates, 0.9']} of {len(found)}, {solved['NumPy, Cholesky, 0.9']} with Cholesky factors",
    )
    study.finding(
        "the method solves these programs with steps of 0.99",
        solved["NumPy, Cholesky, 0.99"] == len(found),
        f"{solved['NumPy, Cholesky, 0.99']} of {len(found)} as in the paper, with Cholesky factors; "
        f"{solved['pdas, step 0.99']} in this solver, {solved['mpc']} with mpc",
    )


def _solved(study: Study, problem: LinearProgram, optimum: float, options: dict[str, Any]) -> tuple[bool, int]:
    """Whether a method comes to the optimum to 1e-6, and its iterations."""
    result = study.engine.solve(problem, time_limit=30, **options)
    objective = result.objective
    good = result.status == "optimal" and objective is not None
    good = good and abs(float(objective or 0) - optimum) <= 1e-6 * (1 + abs(optimum))
    return good, int(result.counters["iterations"])


def _highs_optimum(problem: LinearProgram) -> float:
    """The optimum by SciPy's interface to HiGHS."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    sign = -1.0 if problem.maximize else 1.0
    found = milp(
        sign * problem.c,
        constraints=LinearConstraint(problem.A, problem.row_lower, problem.row_upper),
        bounds=Bounds(problem.lower, problem.upper),
    )
    return float(sign * found.fun + problem.offset)
