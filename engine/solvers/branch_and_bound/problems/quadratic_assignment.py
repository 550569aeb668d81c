"""The quadratic assignment problem: facilities on locations, so that flows travel short distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from ....base.problem import frozen
from ....errors import ProblemError
from ....formats import qaplib
from ..tree import DeviceTree, Kept, Tree
from .arrays import ArrayProblem, permutation, require_no_choice, require_size, whole_matrix
from .linear_assignment import LARGEST_SUM, assignment, costs_of_columns

if TYPE_CHECKING:
    from ....devices import Capabilities

_THREADS = 256
_LARGEST = 64  # for the assignment problem that a work-item solves in its own memory
_RESTARTS = 12


class QuadraticAssignment(ArrayProblem):
    """Find the cheapest assignment. A solution lists the location of every facility, both counted from 0.

    The cost of locations p is the sum over all i, j of ``flows[i, j] * distances[p[i], p[j]]``.

    Parameters
    ----------
    flows, distances : array-like of int, shape (n, n)
        At least 0; the largest sum of products that any pairing of flows and distances has must be below 2^28.
    name : str, optional

    Attributes
    ----------
    flows, distances : ndarray of int64, shape (n, n)
        Read-only.
    n : int
        Number of facilities.

    Raises
    ------
    ProblemError
        If the matrices are not square matrices of whole numbers of one size, or break these rules.

    Examples
    --------
    >>> import engine
    >>> problem = engine.QuadraticAssignment([[0, 3, 1], [3, 0, 2], [1, 2, 0]], [[0, 1, 4], [1, 0, 2], [4, 2, 0]])
    >>> result = engine.solve(problem)
    >>> result.objective, result.solution
    (22, array([0, 1, 2]))
    """

    kind: ClassVar[str] = "qap"
    title: ClassVar[str] = "quadratic assignment"
    arrays: ClassVar[tuple[str, ...]] = ("flows", "distances")
    sizes = (("n", "facility", "facilities"),)

    def __init__(self, flows: ArrayLike, distances: ArrayLike, name: str | None = None) -> None:
        first = whole_matrix(flows, "flows", square=True)
        second = whole_matrix(distances, "distances", square=True)
        if first.shape != second.shape:
            raise ProblemError(f"flows and distances must be of one size; got {first.shape}, {second.shape}")
        largest = sum(
            a * b for a, b in zip(*(sorted(matrix.ravel().tolist()) for matrix in (first, second)), strict=True)
        )
        if largest >= LARGEST_SUM:
            raise ProblemError(
                f"flows times distances may add up to {largest}; they must stay below 2^28 ({LARGEST_SUM})"
            )
        self.flows, self.distances = frozen(first), frozen(second)
        self.n = len(first)
        self.name = name if name is not None else self._default_name

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a QAPLIB file (``.dat``): the size, the flows, the distances."""
        return cls._one_of(path, 1, [qaplib.read(path)])

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a ``.dat`` file begins with its size alone."""
        return qaplib.recognize(path, head)

    def evaluate(self, locations: ArrayLike) -> int:
        """Cost of the location of every facility; :class:`ProblemError` if it is no permutation of 0 ... n - 1."""
        chosen = permutation(locations, self.n, f"each of the locations 0 to {self.n - 1} must be taken once")
        return _cost(self.flows, self.distances, chosen)

    @override
    def only_solution(self) -> tuple[int, NDArray[np.int64]] | None:
        value = int(self.flows[0, 0]) * int(self.distances[0, 0])
        return (value, np.zeros(1, np.int64)) if self.n == 1 else None

    def tree(self, bound: str = "auto", branching: str = "auto") -> QuadraticAssignmentTree:
        """Facility after facility, the busiest first; the bound of Gilmore and Lawler."""
        require_no_choice("quadratic assignment", bound, branching)
        require_size(self.n, "facilities", self.name, _LARGEST)
        return QuadraticAssignmentTree(self.flows, self.distances)

    def first_solution(self, method: str, seed: int, expired: Callable[[], bool] = lambda: False) -> NDArray[np.int64]:
        """The best of several local searches over exchanges of two locations."""
        random = np.random.Generator(np.random.PCG64(seed))
        best = self._improved(np.arange(self.n), expired)
        for start in range(_RESTARTS * self.n):
            if expired():
                break
            moved = best.copy()
            chosen = random.permutation(self.n)[: 2 + start % max(2, self.n // 2)]
            moved[chosen] = np.roll(moved[chosen], 1)
            moved = self._improved(moved, expired)
            if _cost(self.flows, self.distances, moved) <= _cost(self.flows, self.distances, best):
                best = moved
        return best

    def _improved(self, locations: NDArray[np.int64], expired: Callable[[], bool]) -> NDArray[np.int64]:
        """The best exchange of two locations again and again, until none is better."""
        pairs = np.array([(i, j) for i in range(self.n) for j in range(i)])
        while not expired():
            others = np.tile(locations, (len(pairs), 1))
            rows = np.arange(len(pairs))
            others[rows, pairs[:, 0]], others[rows, pairs[:, 1]] = locations[pairs[:, 1]], locations[pairs[:, 0]]
            costs = (self.flows * self.distances[others[:, :, None], others[:, None, :]]).sum(axis=(1, 2))
            if costs.min() >= _cost(self.flows, self.distances, locations):
                break
            locations = others[int(costs.argmin())]
        return locations


class QuadraticAssignmentTree(Tree):
    """Items are locations; facilities take them in order of falling flow. State: locations so far, and their cost."""

    def __init__(self, flows: NDArray[np.int64], distances: NDArray[np.int64]) -> None:
        self.items = n = len(flows)
        self.leaf_depth = n - 1
        self.order = np.argsort(-(flows.sum(axis=0) + flows.sum(axis=1)), kind="stable")
        self._flows = flows[np.ix_(self.order, self.order)]
        self._distances = distances
        self._given = flows
        away = distances + np.where(np.eye(n, dtype=np.bool_), np.iinfo(np.int64).max // 2, 0)
        self._near = np.argsort(away, axis=1, kind="stable")[:, : n - 1]

    @override
    def device(self, capabilities: Capabilities) -> DeviceTree:
        n = self.items
        near = np.zeros((n, n), np.int64)
        near[:, : n - 1] = self._near
        open_flows = np.zeros((n, n, n), np.int64)
        for depth in range(n):
            open_flows[depth, depth:, : n - 1 - depth] = self._open_flows(depth)
        parts = [self._flows, self._distances, near, open_flows]
        table = np.concatenate([part.ravel() for part in parts]).astype(np.int32)
        name = "branch_and_bound/quadratic_assignment"
        return DeviceTree(name, "", {}, table, False, retract=True, threads_per_unit=_THREADS)

    def _open_flows(self, depth: int) -> NDArray[np.int64]:
        """Of each open facility the flows to the other open ones, descending; shape (open, open - 1)."""
        inside = self._flows[depth:, depth:]
        off = ~np.eye(len(inside), dtype=np.bool_)
        return np.asarray(-np.sort(-inside[off].reshape(len(inside), -1), axis=1))

    def _costs(self, path: Sequence[int]) -> NDArray[np.int64]:
        """What each open facility costs at each free location, at least; shape (open, free)."""
        depth = len(path)
        free = np.setdiff1d(np.arange(self.items), path)
        flows, distances, placed = self._flows, self._distances, np.array(path, np.int64)
        costs = np.outer(np.diag(flows)[depth:], np.diag(distances)[free])
        costs += flows[depth:, :depth] @ distances[np.ix_(free, placed)].T
        costs += flows[:depth, depth:].T @ distances[np.ix_(placed, free)]
        inside = distances[np.ix_(free, free)]
        off = ~np.eye(len(free), dtype=np.bool_)
        away = np.sort(inside[off].reshape(len(free), -1), axis=1)
        return np.asarray(costs + self._open_flows(depth) @ away.T)

    @override
    def root(self) -> tuple[int, tuple[int, ...]]:
        return 0, ()

    @override
    def place(self, state: Any, depth: int, item: int, side: int) -> tuple[int, tuple[int, ...]]:
        cost, path = state
        return cost + self._with_placed(path, item), (*path, item)

    def _with_placed(self, path: Sequence[int], location: int) -> int:
        """What the next facility costs at a location, with those that have theirs."""
        i, placed = len(path), np.array(path, np.int64)
        own = self._flows[i, i] * self._distances[location, location]
        out = self._flows[i, :i] @ self._distances[location, placed]
        return int(own + out + self._flows[:i, i] @ self._distances[placed, location])

    @override
    def bound(self, state: Any, depth: int, open_items: Sequence[int], upper: int, initial: int) -> Kept:
        """The assignment of open facilities in which the next one takes each location."""
        cost, path = state
        values = cost + costs_of_columns(self._costs(path))
        return 0, [item for item, value in zip(open_items, values.tolist(), strict=True) if value < upper]

    @override
    def leaf(self, state: Any, open_items: Sequence[int]) -> int:
        """The last facility takes the last location."""
        cost, path = state
        return int(cost) + self._with_placed(path, open_items[0])

    @override
    def lower_bound(self) -> int:
        return assignment(self._costs(()))

    @override
    def bound_of(self, path: Sequence[int]) -> int:
        placed = np.array(path, np.int64)
        inside = self._flows[: len(path), : len(path)]
        cost = int((inside * self._distances[np.ix_(placed, placed)]).sum())
        return cost + (assignment(self._costs(path)) if len(path) < self.items else 0)

    @override
    def solution(self, path: Sequence[int], sides: Sequence[int]) -> NDArray[np.int64]:
        last = set(range(self.items)) - set(path)
        locations = np.empty(self.items, np.int64)
        locations[self.order] = [*path, *last]
        return locations

    def evaluate(self, solution: NDArray[np.int64]) -> int:
        """The cost, from the matrices alone."""
        return _cost(self._given, self._distances, solution)


def _cost(flows: NDArray[np.int64], distances: NDArray[np.int64], locations: NDArray[np.int64]) -> int:
    return int((flows * distances[np.ix_(locations, locations)]).sum())
