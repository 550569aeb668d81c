"""The n-queens problem: in how many ways n queens stand on an n x n board and none attacks another."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....base.problem import require_arrays
from ....errors import ProblemError
from ....formats.instances import instance_name, located
from ....formats.source import lines_of, read_text
from ....formats.text import Numbers
from ....util.text import counted
from ..tree import DeviceTree, Kept, PermutationProblem, Tree
from .arrays import require_no_choice

if TYPE_CHECKING:
    from ....devices import Capabilities

_LARGEST = 32
_BOTTOM_LEVELS = 10
_POLL = 4


class Queens(PermutationProblem):
    """Count the solutions of the n-queens problem; ``objective`` of the result is their number.

    Parameters
    ----------
    n : int
        Size of the board, 0 to 32: a diagonal mask of one machine word holds 2 n - 1 bits. An empty board has one
        solution.
    name : str, optional
        What the problem is called in lists and reports.

    Raises
    ------
    ProblemError
        If ``n`` is not an integer in that range.

    Examples
    --------
    >>> import engine
    >>> engine.solve(engine.Queens(6)).objective
    4
    """

    kind: ClassVar[str] = "queens"
    sense: ClassVar[str] = "count"

    def __init__(self, n: int, name: str | None = None) -> None:
        try:
            self.n = operator.index(n)
        except TypeError as error:
            raise ProblemError(f"n must be an integer; got {n!r}") from error
        if not 0 <= self.n <= _LARGEST:
            raise ProblemError(f"n must be 0 to {_LARGEST}; got {self.n}")
        self.name = name if name is not None else self._default_name

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file of one line: the word ``queens`` and n."""
        lines = enumerate(lines_of(read_text(path, "the file")), 1)
        numbers = Numbers.of(lines, path)
        if not numbers.words or numbers.words[0][0].lower() != "queens":
            raise ProblemError("a file of n-queens begins with the word 'queens'", path, 1)
        numbers.at = 1
        n = numbers.take("n")
        numbers.end("'queens' and n")
        with located(path, numbers.line):
            return cls(n, instance_name(path))

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether the file begins with the word ``queens`` and a number."""
        words = head.split()
        return len(words) >= 2 and words[0].lower() == "queens" and words[1].isdigit()

    @property
    def _default_name(self) -> str:
        return f"queens-{self.n}"

    @override
    def describe(self) -> str:
        return f"{self._title('n-queens')}: {counted(self.n, 'queen')} on a board of {self.n} x {self.n}"

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """``n``: shape ()."""
        return {"n": np.array(self.n)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`."""
        require_arrays(arrays, ("n",), "n-queens")
        return cls(int(arrays["n"]), name)

    @override
    def only_solution(self) -> tuple[int, None] | None:
        return (1, None) if self.n == 0 else None

    def tree(self, bound: str = "auto", branching: str = "auto") -> QueensTree:
        """Row by row, columns ascending; the first queen in the left half only, and its solutions twice."""
        require_no_choice("n-queens", bound, branching)
        return QueensTree(self.n)


class QueensTree(Tree):
    """State of the reference: occupied columns, and diagonals by row + column and column - row + n - 1, as masks."""

    counts = True

    def __init__(self, n: int) -> None:
        self.items = n
        self.leaf_depth = n

    @override
    def device(self, capabilities: Capabilities) -> DeviceTree:
        return DeviceTree(
            *("branch_and_bound/queens", "", {}, np.zeros(1, np.int32), False),
            retract=True,
            child_bounds=True,
            poll=_POLL,
            subtree_levels=_BOTTOM_LEVELS + (self.items > 18),
        )

    @override
    def root(self) -> tuple[int, int, int]:
        """The third entry is what a solution counts."""
        return (0, 0, 2)

    @override
    def place(self, state: tuple[int, int, int], depth: int, item: int, side: int) -> tuple[int, int, int]:
        rising, falling, weight = state
        if depth == 0 and 2 * item + 1 == self.items:
            weight = 1
        return (rising | 1 << (depth + item), falling | 1 << (item - depth + self.items - 1), weight)

    @override
    def bound(self, state: Any, depth: int, open_items: Sequence[int], upper: int, initial: int) -> Kept:
        """A column is pruned if a diagonal through its cell is taken, or by mirror symmetry."""
        rising, falling, _ = state
        half = (self.items + 1) // 2
        return 0, [
            column
            for column in open_items
            if not rising >> (depth + column) & 1
            and not falling >> (column - depth + self.items - 1) & 1
            and (depth > 0 or column < half)
        ]

    @override
    def leaf(self, state: tuple[int, int, int], open_items: Sequence[int]) -> int:
        return state[2]

    @override
    def lower_bound(self) -> int:
        return 0

    def evaluate(self, solution: NDArray[np.int64]) -> int:
        """1 if no queen attacks another, else 0."""
        rows = np.arange(len(solution))
        lines = (solution, solution + rows, solution - rows)
        return int(all(len(np.unique(line)) == self.items for line in lines))
