"""Linear programs over arcs, solved again by HiGHS's dual simplex method after rows were added."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class ArcProgram:
    """How much of each arc is taken at the least cost, from 0 to ``most``; ``arcs``, shape (n, n), says which exist."""

    def __init__(self, arcs: NDArray[np.bool_], costs: NDArray[np.int64], most: float, **options: Any) -> None:
        import highspy

        from ....util.quirks.highspy_banner import quiet_highs  # the package loads the devices

        self.tails, self.heads = np.nonzero(arcs)
        # The threads are not set: HiGHS refuses another number than this process has used, and the method uses one.
        self.highs = quiet_highs(presolve="off", solver="simplex", **options)
        self._status = highspy.HighsModelStatus
        count, none = len(self.tails), np.zeros(0, np.int32)
        cost = costs[self.tails, self.heads].astype(np.float64)
        starts = np.zeros(count, np.int32)
        self.highs.addCols(count, cost, np.zeros(count), np.full(count, most), 0, starts, none, np.zeros(0))

    def require(self, arcs: NDArray[np.integer[Any]], most: float = np.inf) -> None:
        """Require that at least 1 of these arcs, given by their numbers, be taken, and at most so much."""
        self.highs.addRow(1.0, most, len(arcs), arcs.astype(np.int32), np.ones(len(arcs)))

    def run(self) -> None:
        """Solve, or go on where the iterations of the last run were up."""
        self.highs.run()
        status = self.highs.getModelStatus()
        self.is_solved, self.is_limited = status == self._status.kOptimal, status == self._status.kIterationLimit
