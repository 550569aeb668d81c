"""Multipliers of subtour constraints: duals of the linear program over assignments that leave every set of cities."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .arc_program import ArcProgram

_FINEST = 1024
_LARGEST = 2**21  # of a cost times its scale
_UNITS = 10**6  # capacities of whole numbers stand for these parts of one
_SHORT = 0.999  # a set that is left by less is added to the program


class SubtourRelaxation:
    """The multipliers of an instance, found when they are first asked for."""

    def __init__(self, costs: NDArray[np.int64]) -> None:
        # Multipliers, and the weights that contain them, are whole numbers of 1 / scale.
        self.scale = max(1, min(_FINEST, _LARGEST // max(1, int(costs.max()))))
        self._costs = costs
        self._sets: NDArray[np.int64] | None = None

    def multipliers(self, expired: Callable[[], bool] = lambda: False) -> NDArray[np.int64] | None:
        """By set its multiplier, the largest first, then 1 for its cities and 0 for others; None if time is up."""
        if self._sets is not None:
            return self._sets
        program = _Program(self._costs)
        while short := _sets_left_too_little(program.solve()):
            if expired():
                return None
            program.add(short)
        found = np.zeros((len(program.sets), len(self._costs) + 1), np.int64)
        found[:, 0] = np.floor(self.scale * program.multipliers())
        for row, members in enumerate(program.sets):
            found[row, 1 + members] = 1
        order = np.argsort(-found[:, 0], kind="stable")
        self._sets = found[order[: np.count_nonzero(found[:, 0])]]
        return self._sets

    def weights(self, sets: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """Shape (n, n): scale * c(i, j) - the sum of y(S) over sets S with i inside, j outside; and the sum of y."""
        inside = sets[:, 1:]
        crossed = inside.T @ (sets[:, :1] * (1 - inside))
        return self.scale * self._costs - crossed, int(sets[:, 0].sum())


class _Program:
    """The linear program over assignments, to which sets are added."""

    def __init__(self, costs: NDArray[np.int64]) -> None:
        self.n = n = len(costs)
        self.sets: list[NDArray[np.int64]] = []
        self._arcs = ArcProgram(~np.eye(n, dtype=np.bool_), costs, 1.0)
        for city in range(n):
            self._arcs.require(np.flatnonzero(self._arcs.tails == city), 1.0)
            self._arcs.require(np.flatnonzero(self._arcs.heads == city), 1.0)

    def add(self, sets: list[NDArray[np.int64]]) -> None:
        """Require that each of these sets be left at least once."""
        for members in sets:
            inside = np.zeros(self.n, np.bool_)
            inside[members] = True
            self._arcs.require(np.flatnonzero(inside[self._arcs.tails] & ~inside[self._arcs.heads]))
        self.sets += sets

    def solve(self) -> NDArray[np.float64]:
        """How much of each arc is taken, shape (n, n); of all arcs the same, which leaves every set, if HiGHS fails."""
        self._arcs.run()
        taken = np.ones((self.n, self.n))
        if self._arcs.is_solved:
            taken[self._arcs.tails, self._arcs.heads] = self._arcs.highs.getSolution().col_value
        return taken

    def multipliers(self) -> NDArray[np.float64]:
        """Dual values of the sets' constraints, at least 0; zeros if HiGHS has failed."""
        duals = self._arcs.highs.getSolution().row_dual[2 * self.n :] if self._arcs.is_solved else ()
        return np.maximum(duals, 0.0) if len(duals) else np.zeros(len(self.sets))


def _sets_left_too_little(taken: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Sets of cities that are left by less than one arc: the strong components, or else the least cuts from city 0."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow

    n = len(taken)
    whole = csr_array(np.rint(_UNITS * np.clip(taken, 0, 1)).astype(np.int32))
    whole.eliminate_zeros()
    count, labels = connected_components(whole, directed=True, connection="strong")
    if count > 1:
        components = [np.flatnonzero(labels == label) for label in range(count)]
        found = [members for members in components if taken[members][:, labels != labels[members[0]]].sum() < _SHORT]
        if found:
            return found
    cuts: dict[bytes, NDArray[np.int64]] = {}
    for city in range(1, n):
        for source, sink in ((0, city), (city, 0)):
            flow = maximum_flow(whole, source, sink)
            if flow.flow_value < _SHORT * _UNITS:
                left = csr_array(whole - flow.flow)
                left.eliminate_zeros()
                members = np.sort(breadth_first_order(left, source, return_predecessors=False)).astype(np.int64)
                cuts[members.tobytes()] = members
    return list(cuts.values())
