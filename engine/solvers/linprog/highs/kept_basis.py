"""The last optimal basis of programs that differ in numbers only."""

from __future__ import annotations

from typing import Any

__all__ = ["KeptBasis"]


class KeptBasis:
    """What HiGHS's simplex method begins with; shared by programs, and by threads. A copy elsewhere begins empty.

    Attributes
    ----------
    basis : highspy.HighsBasis or None
    """

    def __init__(self) -> None:
        self.basis: Any = None
        self._failures = 0

    def __reduce__(self) -> tuple[type[KeptBasis], tuple[()]]:
        return KeptBasis, ()

    @property
    def is_of_use(self) -> bool:
        """Whether the simplex method is in time: with a basis it may fail once."""
        return self._failures <= (self.basis is not None)

    def keep(self, basis: Any) -> None:
        """Keep the basis of an optimum; None says that there was none in time."""
        self._failures = self._failures + 1 if basis is None else 0
        self.basis = self.basis if basis is None else basis
