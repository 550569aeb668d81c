"""The asymmetric TSP under the assignment bound, with an arborescence and multipliers of subtour constraints."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from typing_extensions import override

from ....devices import Capabilities
from ..masks import bytes_for
from ..tree import CooperativeTree, DeviceTree, Kept
from .atsp import ATSPTree
from .subtours import SubtourRelaxation

LARGEST_COST = 2**22
"""Costs up to this leave the kernels' 32-bit duals room for paths through all cities."""

_FORBIDDEN = 2**29
_SETS = 64
_LANES = 32
_POLL = 4
_REGISTERS = 64


class AssignmentTree(ATSPTree):
    """State: last city, cost so far, weight so far with multipliers added again, and the sets left, as bits."""

    def __init__(self, costs: NDArray[np.int64], relaxation: SubtourRelaxation | None = None) -> None:
        super().__init__(costs, cheapest=True)
        self._relaxation = relaxation
        self._take(costs.copy(), 1, np.zeros((0, len(costs) + 1), np.int64))

    def _take(self, weights: NDArray[np.int64], scale: int, sets: NDArray[np.int64]) -> None:
        np.fill_diagonal(weights, _FORBIDDEN)
        self._weights, self._scale, self._total = weights, scale, int(sets[:, 0].sum())
        self._multipliers = np.zeros(_SETS, np.int64)
        self._side = np.ones((_SETS, len(weights)), np.bool_)
        first = sets[:_SETS]
        self._multipliers[: len(first)] = first[:, 0]
        self._side[: len(first)] = first[:, 1:] == first[:, 1:2]

    @override
    def prepare(self, expired: Callable[[], bool]) -> NDArray[np.int64] | None:
        """The sets of cities and their multipliers."""
        if self._relaxation is None:
            return None
        found = self._relaxation.multipliers(expired)
        if found is None or np.abs(self._relaxation.weights(found)[0]).max() > LARGEST_COST:
            return None
        self.restore(found)
        return found

    @override
    def restore(self, prepared: NDArray[np.int64]) -> None:
        if self._relaxation is None:
            return super().restore(prepared)
        if prepared.ndim != 2 or prepared.shape[1] != len(self.costs) + 1 or (prepared < 0).any():
            raise ValueError(f"the multipliers of subtour constraints do not belong to {len(self.costs)} cities")
        weights, total = self._relaxation.weights(prepared)
        if (prepared[:, 1:] > 1).any() or np.abs(weights).max() > LARGEST_COST or total >= _FORBIDDEN:
            raise ValueError("the multipliers of subtour constraints are out of range")
        self._take(weights, self._relaxation.scale, prepared)
        return None

    def _in_costs(self, bound: Any) -> Any:
        """A bound in units of weights as one on costs, which are whole numbers."""
        return -(-(bound + self._total) // self._scale)

    @override
    def device(self, capabilities: Capabilities) -> DeviceTree:
        """An IVM is a group of 32 work-items, or one work-item on CPUs."""
        n = len(self.costs)
        stride = n | 1
        columns, rows, entering = self._root_duals()
        value = rows.sum() + entering.sum()
        table = np.concatenate([_by_column(self._weights, stride), rows, entering, columns, [value]])
        if self._relaxation is not None:
            bits = np.packbits(np.ascontiguousarray(self._side.T), axis=1, bitorder="little")
            costs = _by_column(self.costs, stride)
            sets = np.concatenate([np.frombuffer(bits.tobytes(), "<i4"), self._multipliers])
            table = np.concatenate([table, [self._scale, self._total], costs, sets])
        constants = {"cities": n, "stride": stride, "subtours": self._relaxation is not None}
        constants |= {"shuffle": capabilities.shuffle, "poll": _POLL}
        lanes = _LANES if capabilities.simt else 1
        words = (3 * n + (3 if self._relaxation is None else 5)) * max(1, self.leaf_depth)
        local = 4 * 11 * n + (8 + bytes_for(self.items)) * lanes + bytes_for(self.items) * self.items + 32
        name = "branch_and_bound/atsp_assignment"
        cooperative = CooperativeTree(name, constants, table.astype(np.int32), lanes, local, _REGISTERS, words)
        return DeviceTree(name, "", constants, cooperative.table, False, cooperative=cooperative)

    def _root_duals(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """An optimal assignment of the root, the column of each row, with the duals of rows and of columns."""
        n = len(self._weights)
        _, columns = linear_sum_assignment(self._weights)
        own = self._weights[np.arange(n), columns]
        steps = self._weights[:, columns] - own[:, None]  # of the dual of a row's column, from row to row
        duals = np.zeros(n, np.int64)
        for _ in range(n):
            shorter = np.minimum(duals, (duals[:, None] + steps).min(axis=0))
            if (shorter == duals).all():
                break
            duals = shorter
        entering = np.empty(n, np.int64)
        entering[columns] = duals
        return columns.astype(np.int64), own - duals, entering

    @override
    def root(self) -> tuple[int, ...]:
        return (0, 0, 0, 0)

    @override
    def place(self, state: tuple[int, ...], depth: int, item: int, side: int) -> tuple[int, ...]:
        last, cost, weight, left = state
        city = item + 1
        leaves = sum(1 << number for number in np.flatnonzero(self._side[:, last] & ~self._side[:, city]).tolist())
        weight += int(self._weights[last, city]) + self._again(last, city, left)
        return (city, cost + int(self.costs[last, city]), weight, left | leaves)

    def _again(self, last: int, city: int, left: int) -> int:
        """The multipliers of the sets for which an arc leaves the side of city 0, as the path has done before."""
        leaves = np.flatnonzero(self._side[:, last] & ~self._side[:, city]).tolist()
        return sum(int(self._multipliers[number]) for number in leaves if left >> number & 1)

    def bound(self, state: tuple[int, ...], depth: int, open_items: Sequence[int], upper: int, initial: int) -> Kept:
        """Bounds of the children, by an assignment problem for each."""
        last, _, weight, left = state
        cities = np.array(open_items) + 1
        # rest[j]: the cheapest assignment of the open cities' rows if column j is taken; j = 0 comes last.
        columns = np.append(cities, 0)
        rest = np.array([self._assignment(cities, np.delete(columns, k)) for k in range(len(columns))])
        through = self._weights[last, columns] + rest
        value = weight + int(through.min())
        again = np.array([self._again(last, int(city), left) for city in cities], np.int64)
        kept = self._in_costs(weight + through[:-1] + again) < upper
        if kept.any():
            leaving = (self._weights[np.ix_(cities, columns)] + rest).min(axis=1)
            weights = np.full((len(columns), len(columns)), _FORBIDDEN)
            weights[1:, 1:] = self._weights[np.ix_(cities, cities)] + rest[:-1] - leaving[:, None]
            weights[0, 1:] = through[:-1] - through.min()
            if self._in_costs(value + arborescence(weights)) >= upper:
                kept[:] = False
        return 0, [item for item, stays in zip(open_items, kept, strict=True) if stays]

    def _assignment(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> int:
        weights = self._weights[np.ix_(rows, columns)]
        return int(weights[linear_sum_assignment(weights)].sum())

    @override
    def lower_bound(self) -> int:
        """The assignment bound of the root, with the arborescence."""
        _, rows, entering = self._root_duals()
        weights = self._weights - rows[:, None] - entering
        np.fill_diagonal(weights, _FORBIDDEN)
        return int(self._in_costs(int(rows.sum() + entering.sum()) + arborescence(weights)))

    @override
    def bounds(self, paths: NDArray[np.int64], sides: NDArray[np.int64]) -> NDArray[np.int64]:
        """The assignment bound of each node."""
        found = super().bounds(paths, sides)
        for node, path in enumerate(paths.tolist()):
            tour = [0, *(item + 1 for item in path)]
            left = np.setdiff1d(np.arange(1, len(self.costs)), tour)
            weights = self._weights[np.ix_(np.append(left, tour[-1]), np.append(left, 0))].copy()
            if len(left):
                weights[-1, -1] = _FORBIDDEN
            times = (self._side[:, tour[:-1]] & ~self._side[:, tour[1:]]).sum(axis=1)
            again = int(self._multipliers @ np.maximum(times - 1, 0))
            weight = int(self._weights[tour[:-1], tour[1:]].sum()) + again
            bound = self._in_costs(weight + int(weights[linear_sum_assignment(weights)].sum()))
            found[node] = max(found[node], bound)
        return found

    @override
    def strata(self, paths: NDArray[np.int64], sides: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bounds without an assignment problem for every node, which would take too long."""
        return super().bounds(paths, sides)


def _by_column(matrix: NDArray[np.int64], stride: int) -> NDArray[np.int64]:
    """A square matrix column after column, ``stride`` words apart."""
    return np.pad(matrix.T, ((0, 0), (0, stride - len(matrix)))).ravel()


def arborescence(weights: NDArray[np.int64]) -> int:
    """Weight of the minimum spanning arborescence from vertex 0 by Edmonds' algorithm; the diagonal is not used."""
    weights = weights.copy()
    n = len(weights)
    if n == 1:
        return 0
    np.fill_diagonal(weights, np.iinfo(np.int64).max // 4)
    entered_from = weights.argmin(axis=0)
    least = weights[entered_from, np.arange(n)]
    least[0] = 0
    cycle = np.array(_cycle(entered_from), np.intp)
    if not len(cycle):
        return int(least.sum())
    # The cycle becomes one vertex, the last; entering it at j saves the arc of the cycle into j.
    inside = np.zeros(n, np.bool_)
    inside[cycle] = True
    outside = np.flatnonzero(~inside)
    smaller = np.empty((len(outside) + 1, len(outside) + 1), np.int64)
    smaller[:-1, :-1] = weights[np.ix_(outside, outside)]
    smaller[:-1, -1] = (weights[np.ix_(outside, cycle)] - least[cycle]).min(axis=1)
    smaller[-1, :-1] = weights[np.ix_(cycle, outside)].min(axis=0)
    smaller[-1, -1] = 0
    return int(least[cycle].sum()) + arborescence(smaller)


def _cycle(entered_from: NDArray[np.intp]) -> list[int]:
    """A cycle of the arcs into every vertex but 0; empty if there is none."""
    state = np.zeros(len(entered_from), np.int64)  # the walk that has visited a vertex
    state[0] = -1
    for start in range(1, len(entered_from)):
        vertex = start
        while state[vertex] == 0:
            state[vertex] = start
            vertex = int(entered_from[vertex])
        if state[vertex] == start:
            cycle, vertex_in = [vertex], int(entered_from[vertex])
            while vertex_in != vertex:
                cycle.append(vertex_in)
                vertex_in = int(entered_from[vertex_in])
            return cycle
    return []
