"""What to solve: the base class of every problem.

A problem is immutable and validated when it is made, and knows nothing of devices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeVar

if TYPE_CHECKING:
    from engine.results import Result

__all__ = ["Problem"]

R = TypeVar("R", bound="Result", default="Result", covariant=True)


class Problem(ABC, Generic[R]):
    """One instance of one family of problems.

    ``R`` is the class of the results that its solver returns, for type checkers: ``class Probit(Problem[Posterior])``.

    Subclasses validate in ``__init__`` (raising :class:`engine.errors.ProblemError`), freeze their arrays, and set
    ``name`` to something a person recognises (the file's stem, or the generator and its seed).
    """

    kind: ClassVar[str]
    """The family's word, as used in run folders and events."""

    sense: ClassVar[str] = "maximize"
    """``"maximize"``, ``"minimize"`` or ``"count"``: which way the objective improves."""

    name: str

    @property
    def native_code(self) -> str | None:
        """C code of the user's that solving the problem executes on the devices; None where there is none."""
        return None

    @classmethod
    @abstractmethod
    def read(cls, path: str | Path) -> Self:
        """Read an instance file of any supported format."""

    @classmethod
    @abstractmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file looks like an instance of this problem, from its name and first few kilobytes."""

    @abstractmethod
    def describe(self) -> str:
        """One line for people: the family, the sizes and what matters."""

    @abstractmethod
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The whole instance as named arrays, for a run folder."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`."""


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous copy that refuses to be written to."""
    copy = np.array(array, order="C", copy=True)
    copy.setflags(write=False)
    return copy
