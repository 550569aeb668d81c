"""The multiple-choice knapsack problem, and what other problems of sets of items share with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....base.problem import InstanceOption, Problem, frozen, require_arrays
from ....errors import ProblemError
from ....formats.instances import instance_name, located
from ....formats.knapsack import choice as formats
from ....util.text import counted
from ..checks import Origin, capacity_of, check_range, integers, item_indices, scalar, scale_of, scaled_profits


class ItemProblem(Problem):
    """Items with profits, and solutions that are sets of items."""

    kind: ClassVar[str] = "knapsack"
    sense: ClassVar[str] = "maximize"

    profits: NDArray[np.int64]
    scale: int
    n: int
    optimum: int | None

    def in_units(self, profit: int) -> int | float:
        """A sum of :attr:`profits` in the unit of the profits that were given: exact, or the nearest float."""
        return profit if self.scale == 1 else profit / self.scale

    def _known_arrays(self) -> dict[str, NDArray[Any]]:
        """The scale, unless it is 1, and the optimum, if it is known, among the arrays of a problem."""
        arrays = {} if self.scale == 1 else {"scale": np.array(str(self.scale))}
        return arrays if self.optimum is None else {**arrays, "optimum": np.array(self.optimum, np.int64)}

    def _restore_known(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        self.scale = scale_of(arrays)
        self.optimum = capacity_of(scalar(arrays, "optimum"), Origin(), "optimum") if "optimum" in arrays else None
        return self

    def _set(self, items: ArrayLike) -> NDArray[np.int64]:
        """Indices of distinct items, checked."""
        indices = item_indices(items, self.n)
        seen = np.bincount(indices, minlength=self.n)
        if (seen > 1).any():
            raise ProblemError(f"item {int(np.argmax(seen > 1))} is given more than once")
        return indices


class MultipleChoiceKnapsack(ItemProblem):
    """Maximize the profit of items, exactly one of each class, whose weight is at most the capacity.

    Parameters
    ----------
    profits : array-like of int or float, shape (n,)
        At least 0. Numbers with a fractional part are scaled to integers exactly (0.1 is a tenth).
    weights : array-like of int, shape (n,)
        At least 0.
    classes : array-like of int, shape (n,)
        Class of each item, counted from 0; every class up to the last has an item.
    capacity : int
        At least 0.
    name : str, optional

    Attributes
    ----------
    profits, weights, classes : ndarray of int64, shape (n,)
        As given, or profits times ``scale``; read-only.
    scale : int
        The least number that makes all given profits integers; objectives and what :meth:`evaluate` returns are in the
        unit of the given profits.
    capacity, n : int
    class_count : int

    Raises
    ------
    ProblemError
        If a value is not an integer or out of its range, or a class has no item.

    References
    ----------
    D. Pisinger, "A minimal algorithm for the multiple-choice knapsack problem", European Journal of Operational
    Research 83 (1995) 394-410.

    Examples
    --------
    >>> import engine
    >>> problem = engine.MultipleChoiceKnapsack([3, 4, 5, 6], [1, 2, 2, 3], classes=[0, 0, 1, 1], capacity=4)
    >>> result = engine.solve(problem)
    >>> result.objective, result.solution
    (9, array([1, 2]))
    """

    read_options = InstanceOption

    def __init__(
        self, profits: ArrayLike, weights: ArrayLike, classes: ArrayLike, capacity: int, name: str | None = None
    ) -> None:
        origin = Origin()
        self.profits, self.scale = scaled_profits(profits, origin)
        self.weights, self.classes = (
            frozen(integers(values, noun, origin)) for values, noun in ((weights, "weight"), (classes, "class"))
        )
        self.n = len(self.profits)
        if not self.n == len(self.weights) == len(self.classes):
            sizes = f"{self.n}, {len(self.weights)} and {len(self.classes)}"
            raise ProblemError(f"profits, weights and classes must have one entry per item; got {sizes}")
        check_range(self.weights, "weight", 0, origin)
        used = np.unique(self.classes)
        if not np.array_equal(used, np.arange(len(used))):
            raise ProblemError("classes must be numbered from 0 without gaps, each with at least one item")
        self.class_count = len(used)
        self.capacity = capacity_of(capacity, origin)
        self.name = name if name is not None else self._default_name
        self.optimum = None

    @property
    def _default_name(self) -> str:
        return f"multiple choice of {counted(self.class_count, 'class', 'classes')}"

    def describe(self) -> str:
        """One line: the sizes and the ranges of weights and profits."""
        classes = counted(self.class_count, "class", "classes")
        text = f"{self._title('multiple-choice knapsack')}: {counted(self.n, 'item')} in {classes}"
        return f"{text}, capacity {self.capacity:,}"

    def evaluate(self, items: ArrayLike) -> tuple[int | float, int]:
        """Profit (as of :meth:`Knapsack.evaluate`) and weight of one item of each class, which may exceed the capacity.

        Raises
        ------
        ProblemError
            If an index is not one of an item, or a class has not exactly one item.
        """
        profit, weight = self.sums(items)
        return self.in_units(profit), weight

    def sums(self, items: ArrayLike) -> tuple[int, int]:
        """As :meth:`evaluate`, with the profit in integers, times :attr:`scale`."""
        indices = self._set(items)
        taken = np.bincount(self.classes[indices], minlength=self.class_count)
        wrong = np.flatnonzero(taken != 1)
        if wrong.size:
            raise ProblemError(f"class {wrong[0]} has {taken[wrong[0]]} items in the solution; it must have 1")
        return int(self.profits[indices].sum()), int(self.weights[indices].sum())

    @classmethod
    def read(cls, path: str | Path, instance: int = 1) -> Self:
        """Read a file of the format of :mod:`engine.formats.knapsack.choice`; ``ProblemError`` if that is impossible.

        Parameters
        ----------
        path : path-like
        instance : int
            1, as such a file holds one instance.
        """
        found = formats.read_multiple_choice(path, instance)
        with located(path):
            return cls(*found, name=instance_name(path))

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file begins with the word ``mckp``. See :meth:`Problem.recognizes`."""
        return formats.is_multiple_choice(head)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """``profits``, ``weights`` and ``classes``: shape (n,); ``capacity``, ``scale`` (unless 1): shape ()."""
        return {
            "profits": self.profits,
            "weights": self.weights,
            "classes": self.classes,
            "capacity": np.array(self.capacity, np.int64),
            **self._known_arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`; everything is checked again. See :meth:`Problem.from_arrays`."""
        require_arrays(arrays, ("profits", "weights", "classes", "capacity"), "a knapsack instance")
        problem = cls(arrays["profits"], arrays["weights"], arrays["classes"], scalar(arrays, "capacity"), name)
        return problem._restore_known(arrays)
