"""What every table of a run is given."""

from __future__ import annotations

from dataclasses import dataclass

from ...base.context import RunContext
from ...devices import DevicePool
from .checkpoint import Progress
from .options import Options
from .presolve import Reduced
from .problem import Knapsack

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
    run : RunContext
    reduced : Reduced
        Some items are open; the table takes down here what it finds.
    progress : Progress
        Counters, added to.
    """

    problem: Knapsack
    options: Options
    pool: DevicePool
    run: RunContext
    reduced: Reduced
    progress: Progress
