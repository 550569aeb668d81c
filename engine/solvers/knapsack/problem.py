"""The knapsack problem: which items to take so that their profit is greatest and their weight fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, model_validator

from ...base.problem import InstanceOption, frozen, require_arrays
from ...errors import ProblemError
from ...formats import knapsack as formats
from ...formats.instances import instance_name
from ...util.text import counted
from .checks import INT64_MAX, Origin, capacity_of, check_range, integers, item_indices, scalar, scaled_profits
from .choice.problems import ItemProblem
from .constraints.problem import MultidimensionalKnapsack


class ItemOptions(InstanceOption):
    """For files that say nothing of how often an item may be taken, or of the capacity."""

    copies: int | None = Field(None, ge=1, description="how often each item may be taken; default: as the file says")
    unbounded: bool = Field(False, description="take each item as often as it fits")
    capacity: int | None = Field(None, ge=0, description="the greatest weight, for a table of items, which has none")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.unbounded and self.copies is not None:
            raise ValueError("copies and unbounded exclude each other")
        return self


class Knapsack(ItemProblem):
    """Maximize the profit of items whose weight is at most the capacity; by default each is taken once or not.

    Parameters
    ----------
    profits : array-like of int or float, shape (n,)
        Profit of each item, at least 0. Numbers with a fractional part are scaled to integers exactly (0.1 is a tenth).
    weights : array-like of int, shape (n,)
        Weight of each item, at least 0. Items heavier than the capacity are allowed; no solution has them.
    capacity : int
        Greatest weight of a solution, at least 0, in the unit of the weights.
    name : str, optional
        What to call the instance.
    counts : array-like of int, shape (n,), optional
        How often each item may be taken, at least 0 (the bounded problem); by default once (the 0/1 problem). See also
        :meth:`unbounded`. A solution lists an item as often as it takes it.

    Attributes
    ----------
    profits, weights : ndarray of int64, shape (n,)
        As given, or profits times ``scale``; read-only.
    scale : int
        The least number that makes all given profits integers; 1 if they are. Objectives, bounds and what
        :meth:`evaluate` returns are in the unit of the given profits.
    capacity, n : int
        The capacity and the number of items, which may be 0.
    counts : ndarray of int64, shape (n,), or None
        None for the 0/1 problem.
    optimum : int or None
        Optimal profit stated by the file the instance was read from.
    format : str or None
        Format of that file, one of :data:`engine.formats.knapsack.FORMATS`.

    Raises
    ------
    ProblemError
        If a weight, the capacity or a count is not an integer (floating-point arrays of whole numbers up to ``2**53``
        are taken), a value is out of its range, or the weights or the scaled profits (of all copies) sum to more than
        ``2**63 - 1``. Items are counted from 0.

    Examples
    --------
    >>> import engine
    >>> problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
    >>> result = engine.solve(problem)
    >>> result.objective, result.solution
    (220, array([1, 2]))
    >>> bounded = engine.Knapsack([60, 100, 120], [10, 20, 30], 50, counts=[2, 1, 1])
    >>> engine.solve(bounded).objective
    240
    """

    read_options = ItemOptions

    weights: NDArray[np.int64]
    capacity: int
    counts: NDArray[np.int64] | None
    format: str | None

    def __init__(
        self,
        profits: ArrayLike,
        weights: ArrayLike,
        capacity: int,
        name: str | None = None,
        counts: ArrayLike | None = None,
    ) -> None:
        self._fill(profits, weights, capacity, name, Origin())
        if counts is not None:
            self._bound(counts, Origin())

    def _bound(self, counts: ArrayLike, origin: Origin) -> None:
        """Take over how often each item may be taken."""
        self.counts = frozen(integers(counts, "count", origin))
        if self.counts.size != self.n:
            raise ProblemError(f"counts must have one entry per item; got {self.counts.size} for {self.n} items")
        negative = np.flatnonzero(self.counts < 0)
        if negative.size:
            item = int(negative[0])
            raise origin.item_error(f"item {item} has count {self.counts[item]}; counts must be at least 0", item)
        useful = np.minimum(self.counts, self._most_copies(self.counts)).tolist()
        for values, noun in ((self.profits, "profits"), (self.weights, "weights")):
            total = sum(value * count for value, count in zip(values.tolist(), useful, strict=True))
            if total > INT64_MAX:
                limit = f"their sum must fit a 64-bit signed integer ({INT64_MAX})"
                raise origin.error(f"the {noun} of all copies sum to {total}; {limit}")

    def _most_copies(self, of_light: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """How often each item fits alone; those without weight as often as is given."""
        has_weight = self.weights > 0
        return np.where(has_weight, self.capacity // np.where(has_weight, self.weights, 1), of_light)

    def _unbound(self, origin: Origin) -> None:
        """Let every item be taken as often as it fits."""
        endless = np.flatnonzero((self.weights == 0) & (self.profits > 0))
        if endless.size:
            item = int(endless[0])
            raise origin.item_error(f"item {item} has weight 0: taken without limit, its profit has none", item)
        self._bound(self._most_copies(0), origin)

    @classmethod
    def unbounded(cls, profits: ArrayLike, weights: ArrayLike, capacity: int, name: str | None = None) -> Self:
        """The problem in which every item may be taken as often as it fits.

        Parameters
        ----------
        profits, weights : array-like of int, shape (n,)
        capacity : int
        name : str, optional

        Examples
        --------
        >>> import engine
        >>> result = engine.solve(engine.Knapsack.unbounded([60, 100], [10, 20], 50))
        >>> result.objective
        300
        """
        problem = cls(profits, weights, capacity, name)
        problem._unbound(Origin())
        return problem

    @classmethod
    def from_ortools(
        cls, values: ArrayLike, weights: Sequence[ArrayLike], capacities: Sequence[int], name: str | None = None
    ) -> Knapsack | MultidimensionalKnapsack:
        """From the arguments of ``Init`` of OR-tools' ``KnapsackSolver``, with any number of capacities.

        Parameters
        ----------
        values : array-like of int or float, shape (n,)
        weights : sequence of array-likes of int, shape (n,)
            A row for each capacity.
        capacities : sequence of as many int
        name : str, optional
            What the problem is called in lists and reports.

        Raises
        ------
        ProblemError
            If there is no row of weights, or not one for each capacity.

        Examples
        --------
        >>> import engine
        >>> engine.solve(engine.Knapsack.from_ortools([60, 100, 120], [[10, 20, 30]], [50])).objective
        220
        """
        if len(weights) != 1 or len(capacities) != 1:
            return MultidimensionalKnapsack(values, weights, capacities, name)
        return cls(values, weights[0], capacities[0], name)

    def _fill(self, profits: ArrayLike, weights: ArrayLike, capacity: object, name: str | None, origin: Origin) -> None:
        """Check everything, then keep it."""
        self.profits, self.scale = scaled_profits(profits, origin)
        self.weights = frozen(integers(weights, "weight", origin))
        if self.profits.size != self.weights.size:
            raise origin.error(
                f"profits and weights must have one entry per item; got {self.profits.size} profits "
                f"and {self.weights.size} weights"
            )
        check_range(self.weights, "weight", 0, origin)
        self.capacity = capacity_of(capacity, origin)
        self.n = int(self.profits.size)
        self.counts = None
        self.name = name if name is not None else self._default_name
        self.optimum = None
        self.format = None

    @classmethod
    def read(
        cls,
        path: str | Path,
        instance: int = 1,
        copies: int | None = None,
        unbounded: bool = False,
        capacity: int | None = None,
    ) -> Self:
        """Read an instance file of any format of :mod:`engine.formats.knapsack`.

        Parameters
        ----------
        path : path-like
        instance : int
            Which one, counted from 1, of a file that holds several.
        copies : int, optional
            How often each item may be taken; by default as the file says (once, except in ``bounded``).
        unbounded : bool
            Take each item as often as it fits.
        capacity : int, optional
            Greatest weight of a solution, for a table with the titles profit and weight; other files have their own.

        Raises
        ------
        ProblemError
            If the file cannot be read or breaks its format or a rule of the problem, with the file and the line; or if
            it holds fewer instances.
        """
        if copies is not None and (unbounded or copies < 1):
            given = "unbounded as well" if unbounded else str(copies)
            raise ProblemError(f"copies must be at least 1, and not be given for an unbounded problem; got {given}")
        parsed = formats.read(path, instance, capacity)
        name = instance_name(path, instance, parsed.instances)
        problem = cls.__new__(cls)
        origin = Origin(path, parsed.lines, parsed.capacity_line)
        problem._fill(parsed.profits, parsed.weights, parsed.capacity, name, origin)
        problem.optimum = parsed.optimum
        problem.format = parsed.format
        problem.instances_in_file = parsed.instances
        if unbounded or copies is not None:
            problem.optimum = None
        if unbounded:
            problem._unbound(origin)
        elif copies is not None and copies > 1:
            problem._bound(np.full(problem.n, copies), origin)
        elif copies is None and parsed.counts is not None:
            problem._bound(parsed.counts, origin)
        return problem

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file looks like a knapsack instance: by the shape of its first lines, whatever it is called."""
        return formats.recognize(head) is not None

    @property
    def _default_name(self) -> str:
        return f"knapsack of {counted(self.n, 'item')}"

    def describe(self) -> str:
        """One line: the sizes and the ranges of weights and profits."""
        kind = "0/1" if self.counts is None else "bounded"
        text = f"{self._title(f'{kind} knapsack')}: {counted(self.n, 'item')}, capacity {self.capacity:,}"
        if self.n:
            text += f", weights {self.weights.min():,} to {self.weights.max():,}"
            low, high = (self.in_units(int(profit)) for profit in (self.profits.min(), self.profits.max()))
            text += f", profits {low:,} to {high:,}"
        if self.optimum is not None:
            text += f", known optimum {self.optimum:,}"
        return text

    def evaluate(self, items: ArrayLike) -> tuple[int | float, int]:
        """Profit and weight of a set of items; whether it fits the capacity is for the caller to compare.

        Parameters
        ----------
        items : array-like of int, shape (k,)
            Indices of the items, from 0 to ``n - 1``, in any order; an item that is taken several times, as often.

        Returns
        -------
        profit : int or float
            The exact sum; where profits are scaled, the float nearest to it.
        weight : int
            The exact sum.

        Raises
        ------
        ProblemError
            If an index is not an integer, is out of range, or is given more often than the item can be taken.
        """
        profit, weight = self.sums(items)
        return self.in_units(profit), weight

    def sums(self, items: ArrayLike) -> tuple[int, int]:
        """As :meth:`evaluate`, with the profit in integers, times :attr:`scale`."""
        indices = item_indices(items, self.n)
        seen = np.bincount(indices, minlength=self.n)
        repeated = np.flatnonzero(seen > (1 if self.counts is None else self.counts))
        if repeated.size:
            item = int(repeated[0])
            most = "an item can be taken once" if self.counts is None else f"it can be taken {self.counts[item]} times"
            raise ProblemError(f"item {item} is given {seen[item]} times; {most}")
        copies = seen if self.counts is None else seen.astype(object)  # more copies than fit may not fit 64 bits
        return int(copies @ self.profits), int(copies @ self.weights)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The instance as named arrays.

        ``profits``, ``weights`` and, of a bounded problem, ``counts``: shape (n,); ``capacity`` and, where known,
        ``optimum`` and ``format``: shape (). Profits are integers, times ``scale`` (shape (), unless it is 1).
        """
        arrays: dict[str, NDArray[Any]] = {
            "profits": self.profits,
            "weights": self.weights,
            "capacity": np.array(self.capacity, np.int64),
        }
        if self.counts is not None:
            arrays["counts"] = self.counts
        arrays |= self._known_arrays()
        if self.format is not None:
            arrays["format"] = np.array(self.format)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`; everything is checked again."""
        require_arrays(arrays, ("profits", "weights", "capacity"), "a knapsack instance")
        problem = cls(arrays["profits"], arrays["weights"], scalar(arrays, "capacity"), name, arrays.get("counts"))
        problem.format = str(arrays["format"]) if "format" in arrays else None
        return problem._restore_known(arrays)
