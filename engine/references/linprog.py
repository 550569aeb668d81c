"""The shard of a linear program in NumPy and SciPy, for tests and benchmarks.

Its operations are those of :class:`~engine.solvers.linprog.interior.worker.DeviceShard`.

Vectors over variables are of the columns of A, then of the slacks (on the first shard only).
"""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..solvers.linprog.forms.standard import ShardData
from ..solvers.linprog.problem import sp

Vector = NDArray[np.float64]


class HostShard:
    """The operations of a shard, one after the other, as the formulas have them."""

    def __init__(self, data: ShardData) -> None:
        self.data = data
        shape = data.c.shape
        self.bounded = np.isfinite(data.upper)
        self.lower = ~data.free
        self.u = np.where(self.bounded, data.upper, 0.0)
        self.x, self.s, self.w, self.z = np.ones(shape), np.ones(shape), np.ones(shape), np.ones(shape)
        self.rd, self.ru, self.g = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.rxs, self.rwz = np.zeros(shape), np.zeros(shape)
        self.theta = np.ones(shape)
        self.steps = [{name: np.zeros(shape) for name in ("dx", "ds", "dw", "dz")} for _ in range(2)]
        self.slot = 0
        self.matrix = np.zeros((data.m, data.m))
        self.sparse_t = data.A.T.tocsr() if sp.issparse(data.A) else None

    # products
    def _times(self, v: Vector) -> Vector:
        out = np.array(self.data.A @ v[: self.data.n])
        np.add.at(out, self.data.slack_rows, self.data.slack_signs * v[self.data.n :])
        return out

    def _transposed(self, y: Vector) -> Vector:
        head = y @ self.data.A if self.sparse_t is None else self.sparse_t @ y
        return np.concatenate([head, self.data.slack_signs * y[self.data.slack_rows]])

    # the point
    def set_point(self, x: Vector, s: Vector, w: Vector, z: Vector) -> None:
        self.x, self.s, self.w, self.z = x.copy(), s.copy(), w.copy(), z.copy()

    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        return self.x.copy(), self.s.copy(), self.w.copy(), self.z.copy()

    def transposed(self, y: Vector) -> Vector:
        return self._transposed(y)

    def assess(self, y: Vector, rho: float, rho_free: float) -> tuple[Vector, Vector]:
        self.rd = (
            self.data.c - self._transposed(y) - np.where(self.lower, self.s, 0) + np.where(self.bounded, self.z, 0)
        )
        self.ru = np.where(self.bounded, self.u - self.x - self.w, 0.0)
        xs = np.where(self.lower, self.x * self.s, 0.0).sum()
        wz = np.where(self.bounded, self.w * self.z, 0.0).sum()
        cx = (self.data.c * self.x).sum()
        uz = np.where(self.bounded, self.u * self.z, 0.0).sum()
        largest = np.abs(self.rd).max(initial=0.0), np.abs(self.ru).max(initial=0.0)
        spread = self.scale(rho, rho_free)
        return self._times(self.x), np.array([xs + wz, cx, uz, *largest, *spread])

    def scale(self, rho: float, rho_free: float) -> Vector:
        inverse = np.where(self.lower, self.s / self.x, 0.0) + np.where(self.bounded, self.z / self.w, 0.0)
        inverse += np.where(self.lower | self.bounded, rho, rho_free)
        self.theta = 1.0 / inverse
        return np.array([self.theta.min(initial=np.inf), self.theta.max(initial=0.0)])

    def unit_scale(self) -> None:
        self.theta = np.ones(self.data.c.shape)

    def get_theta(self) -> Vector:
        return self.theta.copy()

    # the normal equations
    def form(self) -> None:
        theta = self.theta[: self.data.n]
        if sp.issparse(self.data.A):
            self.matrix = ((self.data.A * theta) @ self.data.A.T).toarray()
        else:
            half = self.data.A * np.sqrt(theta)
            self.matrix = half @ half.T
        np.add.at(self.matrix, (self.data.slack_rows, self.data.slack_rows), self.theta[self.data.n :])

    def factor(self, relative: float, absolute: float) -> int:
        """Cholesky factor of the regularized normal equations; LAPACK's ``info``."""
        kept = self.matrix.copy()
        diagonal = np.einsum("ii->i", kept)
        diagonal += relative * diagonal + absolute
        self.lower_factor, info = scipy.linalg.lapack.dpotrf(kept.T, lower=0, overwrite_a=1)
        return int(info)

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor."""
        return np.asarray(scipy.linalg.lapack.dpotrs(self.lower_factor, rhs, lower=0)[0])

    def normal(self, p: Vector) -> Vector:
        return self._times(self.theta * self._transposed(p))

    # directions
    def target(self, kind: str, sigma_mu: float, first: float, second: float) -> Vector:
        d = self.steps[self.slot]
        m = sigma_mu
        if kind == "affine":
            self.rxs = m - self.x * self.s
            self.rwz = m - self.w * self.z
        elif kind == "second_order":
            self.rxs = m - self.x * self.s - d["dx"] * d["ds"]
            self.rwz = m - self.w * self.z - d["dw"] * d["dz"]
        else:  # centrality: bring the products after a longer step into [0.1, 10] sigma mu
            ap, ad = first, second

            def correction(v: Vector) -> Vector:
                return np.maximum(np.clip(v, 0.1 * m, 10.0 * m) - v, -10.0 * m)

            self.rxs = self.rxs + correction((self.x + ap * d["dx"]) * (self.s + ad * d["ds"]))
            self.rwz = self.rwz + correction((self.w + ap * d["dw"]) * (self.z + ad * d["dz"]))
        self.g = -self.rd + np.where(self.lower, self.rxs / self.x, 0.0)
        self.g -= np.where(self.bounded, (self.rwz - self.z * self.ru) / self.w, 0.0)
        return self._times(self.theta * self.g)

    def swap_slots(self) -> None:
        self.slot = 1 - self.slot

    def direction(self, dy: Vector) -> Vector:
        d = self.steps[self.slot]
        d["dx"] = self.theta * (self._transposed(dy) + self.g)
        return self._times(d["dx"])

    def complete(self) -> Vector:
        d = self.steps[self.slot]
        dx = d["dx"]
        d["ds"] = np.where(self.lower, (self.rxs - self.s * dx) / self.x, 0.0)
        d["dw"] = np.where(self.bounded, self.ru - dx, 0.0)
        d["dz"] = np.where(self.bounded, (self.rwz - self.z * d["dw"]) / self.w, 0.0)
        primal = np.maximum(
            np.where(self.lower, -dx / self.x, 0.0).max(initial=0.0),
            np.where(self.bounded, -d["dw"] / self.w, 0.0).max(initial=0.0),
        )
        dual = np.maximum(
            np.where(self.lower, -d["ds"] / self.s, 0.0).max(initial=0.0),
            np.where(self.bounded, -d["dz"] / self.z, 0.0).max(initial=0.0),
        )
        dx = np.where(self.lower, dx, 0.0)  # dw and dz are zero where there is no bound
        sums = (
            (self.s * dx).sum() + (self.z * d["dw"]).sum(),
            (self.x * d["ds"]).sum() + (self.w * d["dz"]).sum(),
            (dx * d["ds"]).sum() + (d["dw"] * d["dz"]).sum(),
        )
        return np.array([primal, dual, *sums])

    def advance(self, primal: float, dual: float) -> None:
        d = self.steps[self.slot]
        ap, ad = primal, dual
        self.x = self.x + ap * d["dx"]
        self.s = np.where(self.lower, self.s + ad * d["ds"], 1.0)
        self.w = np.where(self.bounded, self.w + ap * d["dw"], 1.0)
        self.z = np.where(self.bounded, self.z + ad * d["dz"], 1.0)

    def times(self, v: Vector) -> Vector:
        return self._times(v)
