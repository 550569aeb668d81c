"""What a system of linear programs asks of a solver for sparse normal equations."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .factors import Picture

__all__ = ["NormalEquations"]

Vector = NDArray[np.float64]


class NormalEquations(Protocol):
    """A solver for ``A Theta A^T`` in place of the dense factor of the first shard."""

    @property
    def factor_nonzeros(self) -> int:
        """Entries of the last factor."""

    @property
    def fronts(self) -> int:
        """Fronts of a factor on the device, else 0."""

    @property
    def device_bytes(self) -> int:
        """Bytes that the factor takes on the device."""

    @property
    def picture(self) -> Picture | None:
        """See :meth:`~engine.solvers.linprog.interior.factors.Factors.picture`; None if there has been no factor."""

    @property
    def leaves_to_shard(self) -> bool:
        """Whether :meth:`form` has found that the first shard's dense factor is the better choice, for good."""

    @property
    def is_undecided(self) -> bool:
        """Whether the last :meth:`form` has left the matrix to the first shard, as the pattern is still analysed."""

    @property
    def reads_shard(self) -> bool:
        """Whether the only shard's theta is read on its device: :meth:`form` is then given None."""

    def form(self, theta: Vector | None) -> None:
        """Compute the matrix for theta (N,)."""

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Factorise with a larger diagonal, as :meth:`DeviceShard.factor`; not 0 if that failed, (1,).

        Parameters
        ----------
        relative, absolute : ndarray, shape (1,)
            What is added to the diagonal: this part of each entry, and this amount.
        """

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor for a right-hand side (1, m)."""

    def close(self) -> None:
        """End a factorisation that is at work, and release everything; called from any thread."""
