"""The asymmetric travelling salesman problem: the cheapest round trip through all cities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from ....base.problem import frozen
from ....errors import OptionError, ProblemError
from ....formats import tsplib
from ....formats.instances import instance_name, located
from ..tree import INFINITY, LARGEST_TREE, DeviceTree, Kept, Tree, require_permutation
from .arrays import ArrayProblem, require_size, whole_matrix
from .atsp_heuristics import Tour, guided, improve, nearest_neighbour, patched, tour_cost
from .subtours import SubtourRelaxation

if TYPE_CHECKING:
    from ....devices import Capabilities

_SUM_LIMIT = 2**30
_NOISE = 0.1  # of an arc of the tour


class ATSP(ArrayProblem):
    """Find the cheapest tour. A solution lists the cities in order, beginning with city 0.

    Parameters
    ----------
    costs : array-like of int, shape (n, n)
        Cost of going from the row's city to the column's; the diagonal is not used. The costs may differ by direction,
        are at least 0, and the costliest arcs out of all cities together must be below 2^30.
    name : str, optional

    Attributes
    ----------
    costs : ndarray of int64, shape (n, n)
        Read-only, with zeros on the diagonal.
    n : int
        Number of cities.
    relaxation : SubtourRelaxation
        The multipliers of its subtour constraints, found when they are first needed.

    Raises
    ------
    ProblemError
        If the matrix is not square, or an entry breaks these rules.

    Examples
    --------
    >>> import engine
    >>> problem = engine.ATSP([[0, 1, 9, 9], [9, 0, 2, 9], [9, 9, 0, 3], [4, 9, 9, 0]])
    >>> result = engine.solve(problem)
    >>> result.objective, result.solution
    (10, array([0, 1, 2, 3]))
    """

    kind: ClassVar[str] = "atsp"
    title: ClassVar[str] = "asymmetric TSP"
    arrays: ClassVar[tuple[str, ...]] = ("costs",)
    sizes = (("n", "city", "cities"),)
    has_diagonal: ClassVar[bool] = False

    def __init__(self, costs: ArrayLike, name: str | None = None) -> None:
        matrix = whole_matrix(costs, "costs", least=None, square=True)
        np.fill_diagonal(matrix, 0)
        matrix = whole_matrix(matrix, "costs")
        longest = sum(int(value) for value in matrix.max(axis=1))
        if longest >= _SUM_LIMIT:
            raise ProblemError(
                f"the costliest arcs out of all cities add up to {longest}; they must stay below 2^30 ({_SUM_LIMIT})"
            )
        self.costs = frozen(matrix)
        self.n = len(matrix)
        self.relaxation = SubtourRelaxation(self.costs)
        self.name = name if name is not None else self._default_name

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a TSPLIB file of type ATSP."""
        name, costs = tsplib.read(path)
        with located(path):
            return cls(costs, name or instance_name(path))

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether the head of the file says ``TYPE: ATSP``; or ``TSP``, which :meth:`read` refuses with a reason."""
        return tsplib.recognize(head)

    @override
    def only_solution(self) -> tuple[int, NDArray[np.int64]] | None:
        return (0, np.zeros(1, np.int64)) if self.n == 1 else None

    def tree(self, bound: str = "auto", branching: str = "auto") -> ATSPTree:
        """City after city from city 0; bound ``subtour`` (default), ``assignment``, ``cheapest_arcs`` or ``partial``.

        By default costs too large for the assignment bound are searched by ``cheapest_arcs``.
        """
        from .atsp_assignment import LARGEST_COST, AssignmentTree

        largest = int(self.costs.max())
        chosen = bound if bound != "auto" else "subtour" if largest <= LARGEST_COST else "cheapest_arcs"
        if chosen not in ("subtour", "assignment", "cheapest_arcs", "partial"):
            raise OptionError(
                f"bound must be subtour, assignment, cheapest_arcs or partial for the asymmetric TSP; got '{bound}'"
            )
        by_assignment = chosen in ("subtour", "assignment")
        if by_assignment and largest > LARGEST_COST:
            raise OptionError(
                f"bound = '{chosen}' takes costs up to {LARGEST_COST:,}; {self.name} has {largest:,}; set bound = "
                "'cheapest_arcs', or scale the costs"
            )
        if branching not in ("auto", "forward"):
            raise OptionError(f"the asymmetric TSP is branched city by city (forward); got branching = '{branching}'")
        require_size(self.n, "cities", self.name, LARGEST_TREE + 1)
        if by_assignment and self.n > 3:  # smaller assignments have no choice
            return AssignmentTree(self.costs, self.relaxation if chosen == "subtour" else None)
        return ATSPTree(self.costs, chosen == "cheapest_arcs")

    def given_solution(self, values: Sequence[int]) -> NDArray[np.int64]:
        """The tour that visits the cities in this order; it is rotated to begin with city 0."""
        tour = require_permutation(values, self.n)
        return np.roll(tour, -int(np.flatnonzero(tour == 0)[0]))

    def first_solution(self, method: str, seed: int, expired: Callable[[], bool] = lambda: False) -> NDArray[np.int64]:
        """The best nearest-neighbour tour of all starts, or what local search finds from it and from assignments."""
        best = nearest_neighbour(self.costs, 0)
        for start in range(1, self.n):
            if expired():
                break
            best = min(best, nearest_neighbour(self.costs, start), key=lambda tour: tour_cost(self.costs, tour))
        if method != "nearest_neighbour" and not expired():
            best = min((best, *self._improved(seed, best, expired)), key=lambda tour: tour_cost(self.costs, tour))
        return np.roll(best, -int(np.flatnonzero(best == 0)[0]))

    def _improved(self, seed: int, first: Tour, expired: Callable[[], bool]) -> Iterator[Tour]:
        """Tours by local search, one after another, until one costs no more than a bound."""
        tree = self.tree()
        least = tree.lower_bound()
        for start in (first, patched(self.costs)):
            tour = improve(self.costs, start, expired=expired)
            yield tour
            if expired() or tour_cost(self.costs, tour) <= least:
                return
        sets = self.relaxation.multipliers(expired) if self.n > 3 else None
        if sets is not None:
            tree.prepare(expired)
            least = tree.lower_bound()
            weights, _ = self.relaxation.weights(sets)
            noise = _NOISE * self.relaxation.scale * least / self.n
            yield from guided(self.costs, weights, noise, seed, least, expired)


class ATSPTree(Tree):
    """Item i is city i + 1. State: last city, cost so far, cheapest arcs out of it and the open cities."""

    def __init__(self, costs: NDArray[np.int64], cheapest: bool) -> None:
        self.costs = costs
        self.items = len(costs) - 1
        self.leaf_depth = self.items - 1
        self.cheapest = cheapest
        away = costs + np.where(np.eye(len(costs), dtype=bool), INFINITY, 0)
        self._leaving, self._entering = away.min(axis=1), away.min(axis=0)
        self._out = self._leaving if cheapest else np.zeros(len(costs), np.int64)

    @override
    def device(self, capabilities: Capabilities) -> DeviceTree:
        """Table: costs with rows of odd stride, then the cheapest arcs."""
        n = len(self.costs)
        stride = n | 1
        table = np.zeros((n + 1, stride), np.int32)
        table[:n, :n] = self.costs
        table[n, :n] = self._out
        local = capabilities.simt and table.nbytes <= capabilities.local_memory // 4
        constants = {"cities": n, "stride": stride, "cheapest": self.cheapest}
        return DeviceTree(
            "branch_and_bound/atsp", "", constants, table.ravel(), local, retract=True, child_bounds=True, poll=32
        )

    @override
    def root(self) -> tuple[int, ...]:
        return (0, 0, int(self._out.sum()))

    @override
    def place(self, state: tuple[int, ...], depth: int, item: int, side: int) -> tuple[int, ...]:
        last, cost, rest = state
        return (item + 1, cost + int(self.costs[last, item + 1]), rest - int(self._out[last]))

    @override
    def bound(self, state: tuple[int, ...], depth: int, open_items: Sequence[int], upper: int, initial: int) -> Kept:
        last, cost, rest = state
        base = cost + rest - int(self._out[last])
        return 0, [item for item in open_items if base + int(self.costs[last, item + 1]) < upper]

    @override
    def leaf(self, state: tuple[int, ...], open_items: Sequence[int]) -> int:
        """To the last city, and back."""
        last, cost = state[:2]
        city = open_items[0] + 1
        return cost + int(self.costs[last, city]) + int(self.costs[city, 0])

    @override
    def lower_bound(self) -> int:
        """Every city is left, and entered, by an arc no cheaper than its cheapest."""
        return max(int(self._leaving.sum()), int(self._entering.sum()))

    @override
    def bounds(self, paths: NDArray[np.int64], sides: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost so far, and as :meth:`lower_bound` says from there on."""
        tours = np.column_stack([np.zeros(len(paths), np.int64), paths + 1])
        cost = self.costs[tours[:, :-1], tours[:, 1:]].sum(axis=1)
        left = self._leaving.sum() - self._leaving[tours[:, :-1]].sum(axis=1)
        entered = self._entering.sum() - self._entering[tours[:, 1:]].sum(axis=1)
        return np.asarray(cost + np.maximum(left, entered))

    @override
    def solution(self, path: Sequence[int], sides: Sequence[int]) -> NDArray[np.int64]:
        last = set(range(self.items)) - set(path)
        return np.array([0, *(item + 1 for item in path), *(item + 1 for item in last)], np.int64)

    def evaluate(self, solution: NDArray[np.int64]) -> int:
        """Cost of the round trip."""
        return tour_cost(self.costs, solution)
