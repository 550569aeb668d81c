"""Multipliers of subtour constraints, which raise the assignment bound of the asymmetric TSP to that of Held and Karp.

A tour leaves every set S of cities, so it costs at least the cheapest assignment of

    w(i, j) = c(i, j) - sum of y(S) over the sets S with i in S and j outside, plus the sum of all y(S),

whatever the multipliers y(S) >= 0 are. The best of them are dual values of the linear program over assignments that
leave every set (Dantzig, Fulkerson and Johnson), whose optimum is the bound of Held and Karp. Sets are added to the
program while its solution leaves one of them by less than one.

References
----------
G. Dantzig, R. Fulkerson, S. Johnson, "Solution of a large-scale traveling-salesman problem", Journal of the Operations
Research Society of America 2 (1954) 393-410.
M. Held, R. M. Karp, "The traveling-salesman problem and minimum spanning trees", Operations Research 18 (1970)
1138-1162.
M. Fischetti, P. Toth, "An additive bounding procedure for the asymmetric travelling salesman problem", Mathematical
Programming 53 (1992) 173-197.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["SubtourRelaxation"]

_FINEST = 1024
_LARGEST = 2**21
"""Of a cost times its scale."""
_UNITS = 10**6
"""Capacities of whole numbers stand for these parts of one."""
_SHORT = 0.999
"""A set that is left by less is added to the program."""


class SubtourRelaxation:
    """The multipliers of an instance, found when they are first asked for."""

    def __init__(self, costs: NDArray[np.int64]) -> None:
        # Multipliers, and the weights that contain them, are whole numbers of 1 / scale.
        self.scale = max(1, min(_FINEST, _LARGEST // max(1, int(costs.max()))))
        self._costs = costs
        self._sets: NDArray[np.int64] | None = None

    def multipliers(self, expired: Callable[[], bool] = lambda: False) -> NDArray[np.int64] | None:
        """The multiplier of each set of cities, rounded down, the largest first; None if time is up.

        Shape (sets, n + 1): the multiplier, then 1 for the cities of the set and 0 for the others.
        """
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
        """The weights w, shape (n, n), for sets as :meth:`multipliers` returns them, and the sum of the multipliers."""
        inside = sets[:, 1:]
        crossed = inside.T @ (sets[:, :1] * (1 - inside))
        return self.scale * self._costs - crossed, int(sets[:, 0].sum())


class _Program:
    """The linear program over arcs, solved again by HiGHS's dual simplex method after sets were added."""

    def __init__(self, costs: NDArray[np.int64]) -> None:
        self.n = n = len(costs)
        self.sets: list[NDArray[np.int64]] = []
        self._tails, self._heads = np.nonzero(~np.eye(n, dtype=np.bool_))
        import highspy

        from ....util.quirks.highspy_banner import quiet_highs  # the package loads the devices

        # The threads are not set: HiGHS refuses another number than this process has used, and the method uses one.
        self._highs = quiet_highs(presolve="off", solver="simplex")
        self._solved = highspy.HighsModelStatus.kOptimal
        arcs = len(self._tails)
        none = np.zeros(0, np.int32)
        zeros = np.zeros(arcs, np.int32)
        cost = costs[self._tails, self._heads].astype(np.float64)
        self._highs.addCols(arcs, cost, np.zeros(arcs), np.ones(arcs), 0, zeros, none, np.zeros(0))
        for city in range(n):
            self._require(np.flatnonzero(self._tails == city), 1.0)
            self._require(np.flatnonzero(self._heads == city), 1.0)

    def _require(self, arcs: NDArray[np.intp], most: float) -> None:
        self._highs.addRow(1.0, most, len(arcs), arcs.astype(np.int32), np.ones(len(arcs)))

    def add(self, sets: list[NDArray[np.int64]]) -> None:
        """Require that each of these sets be left at least once."""
        for members in sets:
            inside = np.zeros(self.n, np.bool_)
            inside[members] = True
            self._require(np.flatnonzero(inside[self._tails] & ~inside[self._heads]), np.inf)
        self.sets += sets

    def solve(self) -> NDArray[np.float64]:
        """How much of each arc is taken, shape (n, n); of all arcs the same, which leaves every set, if HiGHS fails."""
        self._highs.run()
        taken = np.ones((self.n, self.n))
        values = self._highs.getSolution().col_value
        if self._highs.getModelStatus() == self._solved:
            taken[self._tails, self._heads] = values
        return taken

    def multipliers(self) -> NDArray[np.float64]:
        """Dual values of the sets' constraints, at least 0; zeros if HiGHS has failed."""
        duals = np.zeros(len(self.sets))
        if self._highs.getModelStatus() == self._solved:
            duals[:] = self._highs.getSolution().row_dual[2 * self.n :]
        return np.maximum(duals, 0.0)


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
