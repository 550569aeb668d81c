"""Some columns of a batch of linear programs, and the operations that an interior-point method needs on them."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shard", "Target", "shard_bytes"]

Vector = NDArray[np.float64]
Target = Literal["affine", "second_order", "centrality"]
_VECTORS = 22  # of length N, on the device


class Shard(Protocol):
    """The operations of an interior-point method on the columns of one device.

    Vectors over rows have shape (k, m) and are kept on the host; those over variables, (k, N), stay on the device. What
    several shards return for rows, and their sums over variables, add up to those of the whole program.
    """

    def set_point(self, x: Vector, s: Vector, w: Vector, z: Vector) -> None:
        """Take a point.

        Parameters
        ----------
        x, s, w, z : ndarray, shape (k, N)
            Values, duals of the lower bounds, slacks of the upper bounds, and their duals.
        """

    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        """The present point, as for :meth:`set_point`."""

    def transposed(self, y: Vector) -> Vector:
        """``A^T y`` (k, N)."""

    def assess(self, y: Vector, rho: Vector, rho_free: Vector) -> tuple[Vector, Vector]:
        """The products ``A x``, and what the state of the iteration is judged by.

        Returns ``A x`` (k, m), and (k, 7): sum of products, ``c x``, ``u z``, largest dual and bound residuals, and the
        smallest and the largest theta. The residuals and theta stay for what follows.

        Parameters
        ----------
        y : ndarray, shape (k, m)
        rho, rho_free : ndarray, shape (k,)
            What is added to 1 / theta, and what stands for it where there is no bound.
        """

    def scale(self, rho: Vector, rho_free: Vector) -> Vector:
        """Theta of the present point for other ``rho``; its smallest and largest value (k, 2)."""

    def unit_scale(self) -> None:
        """Theta = 1."""

    def get_theta(self) -> Vector:
        """The present theta (k, N)."""

    def times(self, v: Vector) -> Vector:
        """``A v`` (k, m) of a vector (k, N)."""

    def form(self) -> None:
        """M = A Theta A^T of these columns."""

    def normal(self, p: Vector) -> Vector:
        """``A Theta A^T p`` (k, m)."""

    def target(self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector) -> Vector:
        """Right-hand sides of complementarity for products ``sigma_mu``; ``A Theta g`` (k, m).

        Parameters
        ----------
        kind : {"affine", "second_order", "centrality"}
            Without or with the second-order terms of the last direction, or corrected for a longer step.
        sigma_mu : ndarray, shape (k,)
        primal, dual : ndarray, shape (k,)
            Lengths of the longer step.
        """

    def direction(self, dy: Vector) -> Vector:
        """The direction from dy, into the present slot; ``A dx`` (k, m)."""

    def complete(self) -> Vector:
        """Extents of the last direction, (k, 5).

        The largest ``-dx / x`` and ``-ds / s``, with w and z; the sums of ``s dx``, of ``x ds``, and of ``dx ds``, with
        them.
        """

    def advance(self, primal: Vector, dual: Vector) -> None:
        """Take the step.

        Parameters
        ----------
        primal, dual : ndarray, shape (k,)
            Lengths of the steps.
        """

    def swap_slots(self) -> None:
        """Keep the present direction; the next one is written to the other slot."""


def shard_bytes(batch: int, m: int, n: int, slacks: int, nonzeros: int | None) -> tuple[int, int]:
    """Bytes that a shard takes on its device, and those of its largest buffer.

    There are two matrices of m x m: M, and its factor, whose memory first receives the M of other shards. Shards that
    do not factorise have a packed copy of M's lower triangle instead of the factor.
    """
    vectors = _VECTORS * 8 * batch * (n + slacks)
    matrix = 8 * batch * m * n if nonzeros is None else 24 * nonzeros + 8 * (m + n)
    normal = 8 * batch * m * m
    strip = min(8 * batch * m * n, 1 << 29) if nonzeros is None else 0
    return vectors + matrix + 2 * normal + strip + (16 << 20), max(8 * batch * m * n if nonzeros is None else 0, normal)
