"""What problems given by arrays share: how they are stored, and how one of a file's instances is read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray

from ....base.problem import require_arrays
from ....formats.instances import instance_name, located
from ..tree import PermutationProblem

__all__ = ["ArrayProblem"]


class ArrayProblem(PermutationProblem):
    """A problem whose constructor takes arrays, which are kept as attributes, and a name."""

    arrays: ClassVar[tuple[str, ...]]
    """Names of the arrays, as the constructor takes them."""

    @abstractmethod
    def __init__(self, *arrays_and_name: Any) -> None:
        """Check the arrays, and keep them."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that the constructor takes, by name."""
        return {name: getattr(self, name) for name in self.arrays}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`."""
        require_arrays(arrays, cls.arrays, f"a problem of the kind {cls.kind}")
        return cls(*(arrays[array] for array in cls.arrays), name)

    @classmethod
    def _one_of(
        cls, path: str | Path, instance: int, found: Sequence[Sequence[ArrayLike]], lines: Sequence[int | None] = ()
    ) -> Self:
        """One instance of a file, from the arrays of all; ``lines`` are those where they begin."""
        name = instance_name(path, instance, len(found))
        with located(path, lines[instance - 1] if lines else None):
            problem = cls(*found[instance - 1], name)
        problem.instances_in_file = len(found)
        return problem
