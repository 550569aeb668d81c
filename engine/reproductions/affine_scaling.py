"""Primal-dual affine scaling as the paper has it, in NumPy, and programs for it."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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


def newton_difference(start: Start) -> float:
    """How far the steps by A D A^T dy = A x are from those of the whole Newton system, relative to the longest."""
    A, x, s = start.A, start.x, start.s
    m, n = A.shape
    blocks = [[A, np.zeros((m, m + n))], [np.zeros((n, n)), A.T, np.eye(n)], [np.diag(s), np.zeros((n, m)), np.diag(x)]]
    whole = np.linalg.solve(np.vstack([np.hstack(row) for row in blocks]), np.concatenate([np.zeros(m + n), -x * s]))
    dy = solve_normal(A, x / s, A @ x, "cholesky")
    ds = -A.T @ dy
    return float(np.abs(whole - np.concatenate([-x - x / s * ds, dy, ds])).max() / np.abs(whole).max())


def affine_scaling(
    start: Start, step: float, method: Factor, most: int = 200, tolerance: float = 1e-8, corrected: bool = True
) -> Run:
    """The paper's iteration in NumPy; ``corrected``: residuals are removed, else the right-hand side is as printed."""
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
