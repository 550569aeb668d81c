"""What every table of a run is given."""

from __future__ import annotations

from dataclasses import dataclass

from engine.devices import DevicePool
from engine.run import Run
from engine.solvers.knapsack.options import Options
from engine.solvers.knapsack.presolve import Reduced
from engine.solvers.knapsack.problem import Knapsack
from engine.solvers.knapsack.resume import Progress

__all__ = ["TableTask"]


@dataclass(frozen=True)
class TableTask:
    """A problem of which bounds have left some items open, for a table to solve.

    Attributes
    ----------
    problem : Knapsack
        Without counts.
    options : Options
    pool : DevicePool
    run : Run
    reduced : Reduced
        Some items are open; the table takes down here what it finds.
    progress : Progress
        Counters, added to.
    """

    problem: Knapsack
    options: Options
    pool: DevicePool
    run: Run
    reduced: Reduced
    progress: Progress
