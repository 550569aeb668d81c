"""What every table of a run is given."""

from __future__ import annotations

from collections.abc import Callable
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
    """A problem of which bounds have left some items open, for a table to solve."""

    problem: Knapsack
    options: Options
    pool: DevicePool
    run: RunContext
    reduced: Reduced  # some items are open; the table takes down here what it finds
    progress: Progress
    publish: Callable[[], None]  # of the best objective and bound of the problem that was given
