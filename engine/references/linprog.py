"""The shard of a linear program in NumPy and SciPy, for tests and benchmarks.

Its operations are those of :class:`~engine.solvers.linprog.interior.worker.DeviceShard`.

Programs of a batch are along the first axis, and ``N = n + slacks`` variables along the second: the columns of A, then
the slacks (on the first shard only).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from typing_extensions import override

from ..solvers.linprog.forms.columns import ShardData
from ..solvers.linprog.interior.shard import Shard
from ..solvers.linprog.problem import sp

__all__ = ["HostShard"]

Vector = NDArray[np.float64]


class HostShard(Shard):
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
        self.matrix = np.zeros((data.batch, data.m, data.m))
        self.sparse_t = data.A.T.tocsr() if sp.issparse(data.A) else None

    # products
    def _times(self, v: Vector) -> Vector:
        data = self.data
        head = v[:, : data.n]
        out = (data.A @ head[0])[None] if sp.issparse(data.A) else (data.A @ head[:, :, None])[:, :, 0]
        if data.slack_rows.size:
            out = out.copy()
            out_by_rows: Any = (slice(None), data.slack_rows)
            np.add.at(out, out_by_rows, data.slack_signs * v[:, data.n :])
        return np.asarray(out)

    def _transposed(self, y: Vector) -> Vector:
        data = self.data
        head = (y[:, None, :] @ data.A)[:, 0] if self.sparse_t is None else (self.sparse_t @ y[0])[None]
        return np.concatenate([head, data.slack_signs * y[:, data.slack_rows]], axis=1)

    # the point
    @override
    def set_point(self, x: Vector, s: Vector, w: Vector, z: Vector) -> None:
        self.x, self.s, self.w, self.z = x.copy(), s.copy(), w.copy(), z.copy()

    @override
    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        return self.x.copy(), self.s.copy(), self.w.copy(), self.z.copy()

    @override
    def transposed(self, y: Vector) -> Vector:
        return self._transposed(y)

    @override
    def assess(self, y: Vector, rho: Vector, rho_free: Vector) -> tuple[Vector, Vector]:
        self.rd = (
            self.data.c - self._transposed(y) - np.where(self.lower, self.s, 0) + np.where(self.bounded, self.z, 0)
        )
        self.ru = np.where(self.bounded, self.u - self.x - self.w, 0.0)
        xs = np.where(self.lower, self.x * self.s, 0.0).sum(axis=1)
        wz = np.where(self.bounded, self.w * self.z, 0.0).sum(axis=1)
        cx = (self.data.c * self.x).sum(axis=1)
        uz = np.where(self.bounded, self.u * self.z, 0.0).sum(axis=1)
        largest = np.abs(self.rd).max(axis=1, initial=0.0), np.abs(self.ru).max(axis=1, initial=0.0)
        spread = self.scale(rho, rho_free)
        return self._times(self.x), np.concatenate([np.stack([xs + wz, cx, uz, *largest], axis=1), spread], axis=1)

    @override
    def scale(self, rho: Vector, rho_free: Vector) -> Vector:
        inverse = np.where(self.lower, self.s / self.x, 0.0) + np.where(self.bounded, self.z / self.w, 0.0)
        inverse += np.where(self.lower | self.bounded, rho[:, None], rho_free[:, None])
        self.theta = 1.0 / inverse
        return np.stack([self.theta.min(axis=1, initial=np.inf), self.theta.max(axis=1, initial=0.0)], axis=1)

    @override
    def unit_scale(self) -> None:
        self.theta = np.ones(self.data.c.shape)

    @override
    def get_theta(self) -> Vector:
        return self.theta.copy()

    # the normal equations
    @override
    def form(self) -> None:
        data = self.data
        theta = self.theta[:, : data.n]
        if sp.issparse(data.A):
            self.matrix = ((data.A * theta[0]) @ data.A.T).toarray()[None]
        else:
            half = data.A * np.sqrt(theta)[:, None, :]
            self.matrix = half @ half.transpose(0, 2, 1)
        index = data.slack_rows
        diagonal: Any = (slice(None), index, index)
        np.add.at(self.matrix, diagonal, self.theta[:, data.n :])

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Cholesky factors of the regularized normal equations; LAPACK's ``info`` of each."""
        status = np.zeros(self.data.batch, np.int32)
        self.factors = []
        for k, matrix in enumerate(self.matrix):
            kept = matrix.copy()
            diagonal = np.einsum("ii->i", kept)
            diagonal += relative[k] * diagonal + absolute[k]
            factor, info = scipy.linalg.lapack.dpotrf(kept.T, lower=0, overwrite_a=1)
            status[k] = info
            self.factors.append(factor)
        return status

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factors."""
        return np.stack([scipy.linalg.lapack.dpotrs(f, r, lower=0)[0] for f, r in zip(self.factors, rhs, strict=True)])

    @override
    def normal(self, p: Vector) -> Vector:
        return self._times(self.theta * self._transposed(p))

    # directions
    @override
    def target(self, kind: str, sigma_mu: Vector, first: Vector, second: Vector) -> Vector:
        d = self.steps[self.slot]
        m = sigma_mu[:, None]
        if kind == "affine":
            self.rxs = m - self.x * self.s
            self.rwz = m - self.w * self.z
        elif kind == "second_order":
            self.rxs = m - self.x * self.s - d["dx"] * d["ds"]
            self.rwz = m - self.w * self.z - d["dw"] * d["dz"]
        else:  # centrality: bring the products after a longer step into [0.1, 10] sigma mu
            ap, ad = first[:, None], second[:, None]

            def correction(v: Vector) -> Vector:
                return np.maximum(np.clip(v, 0.1 * m, 10.0 * m) - v, -10.0 * m)

            self.rxs = self.rxs + correction((self.x + ap * d["dx"]) * (self.s + ad * d["ds"]))
            self.rwz = self.rwz + correction((self.w + ap * d["dw"]) * (self.z + ad * d["dz"]))
        self.g = -self.rd + np.where(self.lower, self.rxs / self.x, 0.0)
        self.g -= np.where(self.bounded, (self.rwz - self.z * self.ru) / self.w, 0.0)
        return self._times(self.theta * self.g)

    @override
    def swap_slots(self) -> None:
        self.slot = 1 - self.slot

    @override
    def direction(self, dy: Vector) -> Vector:
        d = self.steps[self.slot]
        d["dx"] = self.theta * (self._transposed(dy) + self.g)
        return self._times(d["dx"])

    @override
    def complete(self) -> Vector:
        d = self.steps[self.slot]
        dx = d["dx"]
        d["ds"] = np.where(self.lower, (self.rxs - self.s * dx) / self.x, 0.0)
        d["dw"] = np.where(self.bounded, self.ru - dx, 0.0)
        d["dz"] = np.where(self.bounded, (self.rwz - self.z * d["dw"]) / self.w, 0.0)
        primal = np.maximum(
            np.where(self.lower, -dx / self.x, 0.0).max(axis=1, initial=0.0),
            np.where(self.bounded, -d["dw"] / self.w, 0.0).max(axis=1, initial=0.0),
        )
        dual = np.maximum(
            np.where(self.lower, -d["ds"] / self.s, 0.0).max(axis=1, initial=0.0),
            np.where(self.bounded, -d["dz"] / self.z, 0.0).max(axis=1, initial=0.0),
        )
        dx = np.where(self.lower, dx, 0.0)  # dw and dz are zero where there is no bound
        sums = (
            (self.s * dx).sum(axis=1) + (self.z * d["dw"]).sum(axis=1),
            (self.x * d["ds"]).sum(axis=1) + (self.w * d["dz"]).sum(axis=1),
            (dx * d["ds"]).sum(axis=1) + (d["dw"] * d["dz"]).sum(axis=1),
        )
        return np.stack([primal, dual, *sums], axis=1)

    @override
    def advance(self, primal: Vector, dual: Vector) -> None:
        d = self.steps[self.slot]
        ap, ad = primal[:, None], dual[:, None]
        self.x = self.x + ap * d["dx"]
        self.s = np.where(self.lower, self.s + ad * d["ds"], 1.0)
        self.w = np.where(self.bounded, self.w + ap * d["dw"], 1.0)
        self.z = np.where(self.bounded, self.z + ad * d["dz"], 1.0)

    @override
    def times(self, v: Vector) -> Vector:
        return self._times(v)
