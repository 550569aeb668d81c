"""Primal-dual affine scaling as the paper has it, in NumPy, and programs for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..solvers.linprog.problem import LinearProgram

__all__ = ["Factor", "Floats", "Run", "Start", "affine_scaling", "random_program", "solve_normal", "standard_form"]

Floats = NDArray[np.float64]
Factor = Literal["cholesky", "updates"]


@dataclass(frozen=True)
class Start:
    """min c x subject to A x = b, x >= 0, with an interior point of both programs."""

    A: Floats
    b: Floats
    c: Floats
    x: Floats
    y: Floats
    s: Floats


@dataclass(frozen=True)
class Run:
    """The smallest relative gap (or residual) reached, in which iteration, and whether it ended by the paper's rule."""

    gap: float
    iterations: int
    ended: bool = False

    @property
    def solved(self) -> bool:
        """To 1e-8."""
        return self.gap <= 1e-8


def random_program(m: int, n: int, seed: int, spread: float) -> Start:
    """A random dense program; x and s of its start are spread over so many decades each: 0 is centred."""
    random = np.random.default_rng(seed)
    A = random.standard_normal((m, n))
    x, s = 10.0 ** (random.uniform(-0.5, 0.5, (2, n)) * spread)
    y = random.standard_normal(m)
    return Start(A, A @ x, A.T @ y + s, x, y, s)


def solve_normal(A: Floats, d: Floats, rhs: Floats, method: Factor) -> Floats:
    """Solve A D A^T z = rhs by a Cholesky factor, or by the paper's updates of (A A^T)^-1 column by column."""
    if method == "cholesky":
        factor = np.linalg.cholesky((A * d) @ A.T)
        return np.linalg.solve(factor.T, np.linalg.solve(factor, rhs))
    base = np.linalg.inv(A @ A.T)
    z, rows = base @ rhs, np.ascontiguousarray(A.T)
    Y = rows @ base
    for column in range(len(d)):
        v, own, later = (d[column] - 1) * rows[column], Y[column], Y[column + 1 :]
        scale = 1 + v @ own
        z -= (v @ z) / scale * own
        later -= np.outer(later @ v / scale, own)
    return z


def affine_scaling(
    start: Start, step: float, method: Factor, most: int = 200, tolerance: float = 1e-8, corrected: bool = True
) -> Run:
    """The paper's iteration in NumPy.

    ``corrected``: the start may be infeasible, and residuals are removed; else the right-hand side is A x, as printed.
    """
    A, x, y, s = start.A, start.x.copy(), start.y.copy(), start.s.copy()
    best, at = math.inf, 0
    for iteration in range(most + 1):
        primal, dual = float(start.c @ x), float(start.b @ y)
        rd = start.c - A.T @ y - s
        residual = max(
            float(np.abs(A @ x - start.b).max() / (1 + np.abs(start.b).max())),
            float(np.abs(rd).max() / (1 + np.abs(start.c).max())),
        )
        gap = max(abs(primal - dual) / (1 + abs(primal)), residual)
        if gap < best:
            best, at = gap, iteration
        if best <= tolerance:
            break
        with np.errstate(all="ignore"):
            try:
                rhs = start.b + A @ (x / s * rd) if corrected else A @ x
                dy = solve_normal(A, x / s, rhs, method)
            except np.linalg.LinAlgError:
                break
            ds = (rd if corrected else 0.0) - A.T @ dy
            dx = -x - x / s * ds
            psi = max(float((-dx / x).max()), float((-ds / s).max()))
        if not np.isfinite(psi):
            break
        if psi == 1 or not (dx.any() or dy.any() or ds.any()):
            return Run(best, at, ended=True)
        length = min(1.0, step / psi) if psi > 0 else 1.0
        x, y, s = x + length * dx, y + length * dy, s + length * ds
    return Run(best, at)


def standard_form(problem: LinearProgram) -> Start:
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


def _mehrotra_start(A: Floats, b: Floats, c: Floats) -> Start:
    inverse = np.linalg.inv(A @ A.T)
    x, y = A.T @ (inverse @ b), inverse @ (A @ c)
    s = c - A.T @ y
    x, s = x + max(-1.5 * x.min(), 0.0), s + max(-1.5 * s.min(), 0.0)
    product = float(x @ s)
    x, s = x + 0.5 * product / max(s.sum(), 1e-10) + 1e-3, s + 0.5 * product / max(x.sum(), 1e-10) + 1e-3
    return Start(A, b, c, x, y, s)
