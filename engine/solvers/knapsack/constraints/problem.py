"""The knapsack problem with any number of constraints."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....base.problem import InstanceOption, frozen, require_arrays
from ....errors import ProblemError
from ....formats.instances import instance_name, located
from ....formats.knapsack import choice as formats
from ....util.text import counted, shown
from ..checks import Origin, capacity_of, check_range, integers, scaled_profits
from ..choice.problems import ItemProblem


class MultidimensionalKnapsack(ItemProblem):
    """Maximize the profit of items, each taken once or not, whose weights of several kinds keep within capacities.

    Parameters
    ----------
    profits : array-like of int or float, shape (n,)
        At least 0. Numbers with a fractional part are scaled to integers exactly (0.1 is a tenth).
    weights : array-like of int, shape (m, n)
        A row for each constraint, at least 0; at least one row.
    capacities : sequence of m int
        At least 0.
    name : str, optional

    Attributes
    ----------
    profits : ndarray of int64, shape (n,)
        As given, or times ``scale``; read-only.
    scale : int
        The least number that makes all given profits integers; objectives and what :meth:`evaluate` returns are in the
        unit of the given profits.
    weights : ndarray of int64, shape (m, n)
    capacities : tuple of int
    n, m : int
        Numbers of items and of constraints.
    optimum : int or None
        Optimal profit stated by the file the instance was read from.

    Raises
    ------
    ProblemError
        If a value is not an integer or out of its range, or there are not as many rows of weights as capacities.

    References
    ----------
    P. C. Chu, J. E. Beasley, "A genetic algorithm for the multidimensional knapsack problem", Journal of Heuristics 4
    (1998) 63-86.

    Examples
    --------
    >>> import engine
    >>> problem = engine.MultidimensionalKnapsack([3, 4, 5], [[1, 2, 3], [3, 2, 1]], capacities=(4, 4))
    >>> result = engine.solve(problem)
    >>> result.objective, result.solution
    (8, array([0, 2]))
    """

    read_options = InstanceOption

    weights: NDArray[np.int64]
    capacities: tuple[int, ...]
    m: int

    def __init__(
        self, profits: ArrayLike, weights: Sequence[ArrayLike], capacities: Sequence[int], name: str | None = None
    ) -> None:
        origin = Origin()
        weights, capacities = _listed(weights, "weights"), _listed(capacities, "capacities")
        if len(weights) != len(capacities) or not len(weights):
            given = (
                f"{counted(len(weights), 'row')} of weights and {counted(len(capacities), 'capacity', 'capacities')}"
            )
            raise ProblemError(f"there must be a row of weights for each capacity, and at least one; got {given}")
        self.profits, self.scale = scaled_profits(profits, origin)
        rows = [integers(row, "weight", origin) for row in weights]
        self.n = len(self.profits)
        for number, row in enumerate(rows):
            if len(row) != self.n:
                sizes = f"{self.n} profits and {len(row)} weights in row {number}"
                raise ProblemError(f"profits and weights must have one entry per item; got {sizes}")
        for row in rows:
            check_range(row, "weight", 0, origin)
        self.m = len(rows)
        self.weights = frozen(np.array(rows).reshape(self.m, self.n))
        self.capacities = tuple(capacity_of(capacity, origin) for capacity in capacities)
        self.name = name if name is not None else self._default_name
        self.optimum = None

    @property
    def _default_name(self) -> str:
        return f"knapsack of {counted(self.n, 'item')} and {counted(self.m, 'constraint')}"

    def describe(self) -> str:
        """One line: the sizes."""
        text = f"{self._title('multidimensional knapsack')}: {counted(self.n, 'item')}, {counted(self.m, 'constraint')}"
        if self.m <= 3:
            text += f", capacities {', '.join(f'{capacity:,}' for capacity in self.capacities)}"
        return text if self.optimum is None else f"{text}, known optimum {self.optimum:,}"

    def evaluate(self, items: ArrayLike) -> tuple[int | float, tuple[int, ...]]:
        """Profit (as of :meth:`Knapsack.evaluate`) and weights of a set of items, which may exceed the capacities.

        Raises
        ------
        ProblemError
            If an index is not one of an item, or is given twice.
        """
        profit, weights = self.sums(items)
        return self.in_units(profit), weights

    def sums(self, items: ArrayLike) -> tuple[int, tuple[int, ...]]:
        """As :meth:`evaluate`, with the profit in integers, times :attr:`scale`."""
        indices = self._set(items)
        return int(self.profits[indices].sum()), tuple(self.weights[:, indices].sum(axis=1).tolist())

    @classmethod
    def read(cls, path: str | Path, instance: int = 1) -> Self:
        """Read an instance of OR-Library's format ``mknap``, as of Chu and Beasley; ``ProblemError`` if impossible.

        Parameters
        ----------
        path : path-like
        instance : int
            Which one, counted from 1.
        """
        found = formats.read_mknap(path, instance)
        with located(path):
            name = instance_name(path, instance, found.instances)
            problem = cls(found.profits, list(found.weights), found.capacities, name)
        problem.optimum = found.optimum
        problem.instances_in_file = found.instances
        return problem

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file looks like OR-Library's ``mknap``."""
        return formats.is_mknap(head)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """``profits``: shape (n,); ``weights``: (m, n); ``capacities``: (m,); ``optimum``, ``scale`` (if any): ()."""
        capacities = np.array(self.capacities, np.int64)
        return {"profits": self.profits, "weights": self.weights, "capacities": capacities, **self._known_arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`; everything is checked again. See :meth:`Problem.from_arrays`."""
        require_arrays(arrays, ("profits", "weights", "capacities"), "a knapsack instance")
        problem = cls(arrays["profits"], list(arrays["weights"]), arrays["capacities"].tolist(), name)
        return problem._restore_known(arrays)


def _listed(values: Any, noun: str) -> list[Any]:
    try:
        return list(values)
    except TypeError as error:
        raise ProblemError(f"{noun} must be a list with an entry for each constraint; got {shown(values)}") from error
