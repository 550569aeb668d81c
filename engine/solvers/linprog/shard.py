"""Some columns of a batch of linear programs, and what an interior-point method asks of whoever has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shard", "ShardData", "Target", "cut", "shard_bytes"]

Vector = NDArray[np.float64]
Target = Literal["affine", "second_order", "centrality"]
_VECTORS = 22  # of length N, on the device


@dataclass(frozen=True)
class ShardData:
    """Columns of a batch of k programs in standard form, all of m rows.

    ``A`` is (k, m, n), or a sparse (m, n) matrix for k = 1; ``c`` and ``upper`` are (k, N), ``free`` likewise; slack
    i is in row ``slack_rows[i]`` with coefficient ``slack_signs[i]``.
    """

    A: Any
    c: Vector
    upper: Vector
    free: NDArray[np.bool_]
    slack_rows: NDArray[np.int64]
    slack_signs: Vector
    m: int

    @property
    def batch(self) -> int:
        """Programs."""
        return int(self.c.shape[0])

    @property
    def n(self) -> int:
        """Columns of A."""
        return int(self.A.shape[-1])

    @property
    def N(self) -> int:
        """Columns and slacks."""
        return int(self.c.shape[1])


class Shard(Protocol):
    """What a method asks of the columns of one device.

    Vectors over rows have shape (k, m) and live on the host; those over variables, (k, N), stay where the shard is.
    With several shards the sum of what they return over rows, and of sums over variables, is that of the whole program.
    A shard that is ``small`` also has ``go``: what :meth:`engine.solvers.linprog.system.System.go` does, at once.
    """

    def set_point(self, x: Vector, s: Vector, w: Vector, z: Vector) -> None:
        """Take a point: values, duals of the lower bounds, room below the upper bounds, their duals; (k, N) each."""

    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        """The present point, as for :meth:`set_point`."""

    def transposed(self, y: Vector) -> Vector:
        """``A^T y`` (k, N)."""

    def assess(self, y: Vector, rho: Vector, rho_free: Vector) -> tuple[Vector, Vector]:
        """``A x`` (k, m), and (k, 7): sum of products, ``c x``, ``u z``, greatest dual and bound residuals, and
        the least and the greatest theta.

        The residuals and theta stay for what follows.
        """

    def scale(self, rho: Vector, rho_free: Vector) -> Vector:
        """Theta of the present point, if it is to be another; its least and greatest value (k, 2)."""

    def unit_scale(self) -> None:
        """Theta = 1."""

    def form(self) -> None:
        """M = A Theta A^T of these columns."""

    def normal(self, p: Vector) -> Vector:
        """``A Theta A^T p`` (k, m)."""

    def target(self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector) -> Vector:
        """Right-hand sides for the products to become ``sigma_mu``; ``A Theta g`` (k, m)."""

    def direction(self, dy: Vector) -> Vector:
        """The direction from dy, into the present slot; ``A dx`` (k, m)."""

    def complete(self) -> Vector:
        """What the last direction allows and does, (k, 5): the greatest ``-dx / x`` and ``-ds / s``, with w and z;
        the sums of ``s dx``, of ``x ds``, and of ``dx ds``, with them."""

    def advance(self, primal: Vector, dual: Vector) -> None:
        """Take the step."""

    def other_slot(self) -> None:
        """Keep the present direction aside, and let the next one go to the other place."""


def shard_bytes(batch: int, m: int, n: int, slacks: int, nonzeros: int | None) -> tuple[int, int]:
    """Bytes that a shard takes on its device, and those of its largest buffer; ``nonzeros`` is None for a dense A.

    There are two matrices of m x m: M, and its factor, in whose place the M of another shard is first taken up. A shard
    that does not factorise has M's lower triangle, packed for the one that does, instead.
    """
    vectors = _VECTORS * 8 * batch * (n + slacks)
    matrix = 8 * batch * m * n if nonzeros is None else 24 * nonzeros + 8 * (m + n)
    normal = 8 * batch * m * m
    strip = min(8 * batch * m * n, 1 << 29) if nonzeros is None else 0
    return vectors + matrix + 2 * normal + strip + (16 << 20), max(8 * batch * m * n if nonzeros is None else 0, normal)


def cut(data: ShardData, ends: list[int]) -> list[ShardData]:
    """The columns of A cut at ``ends``; the slacks stay with the first part."""
    parts = []
    begin = 0
    for rank, end in enumerate(ends):
        columns = np.arange(begin, end)
        if rank == 0:
            columns = np.concatenate([columns, np.arange(data.n, data.N)])
        keep = slice(None) if rank == 0 else slice(0, 0)
        parts.append(
            ShardData(
                data.A[..., begin:end],
                data.c[:, columns],
                data.upper[:, columns],
                data.free[:, columns],
                data.slack_rows[keep],
                data.slack_signs[keep],
                data.m,
            )
        )
        begin = end
    return parts
