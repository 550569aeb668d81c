"""One device's search as the coordinator's group calls it, on the device's thread."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ....devices import Device
from ..intervals import Units
from ..options import Options
from ..tree import Improver, Tree
from .frontier import FrontierSnapshot
from .messages import Found, IntervalMessage, Report, State, Task
from .worker import SearchWorker

if TYPE_CHECKING:
    from .coordinator import Coordinator
    from .members import WorkerState

__all__ = ["DeviceSearch"]

_BEGIN_AFTER = 1.0
_SHARE, _SHARE_OF_VAIN = 0.5, 0.1
_VAIN_SECONDS = 10.0


class _Beside:
    """A search for better solutions between the turns of a tree search that takes long.

    It begins after a second and takes half of the device's time, or a tenth once it has found nothing for ten seconds.
    """

    def __init__(self, make: Callable[[], Improver | None], tree: Tree) -> None:
        self._make: Callable[[], Improver | None] | None = make
        self._sides = (0,) * tree.leaf_depth
        self._improver: Improver | None = None
        self._searched = self._owed = self._vain = 0.0

    def after(self, report: Report, upper: int, halted: Callable[[], bool]) -> Report:
        """The report of a turn, with what was found after it."""
        self._searched += report.seconds
        if self._make is not None and self._searched >= _BEGIN_AFTER:
            self._improver, self._make = self._make(), None
        if self._improver is None:
            return report
        share = _SHARE if self._vain < _VAIN_SECONDS else _SHARE_OF_VAIN
        self._owed += report.seconds * share / (1 - share)
        began = time.perf_counter()
        below = upper if report.found is None else min(upper, report.found.value)
        better = self._improver.better(self._owed, below, halted) if self._owed > 0 else None
        seconds = time.perf_counter() - began
        self._owed -= seconds
        self._vain = 0.0 if better is not None else self._vain + seconds
        found = report.found if better is None else Found(*better, self._sides)
        return dataclasses.replace(report, found=found)

    def close(self) -> None:
        """Free the device's memory."""
        if self._improver is not None:
            self._improver.close()


class DeviceSearch:
    """The search of one device, on its thread; the device is made ready by :meth:`open`."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._worker: SearchWorker | None = None
        self._beside: _Beside | None = None

    @property
    def _search(self) -> SearchWorker:
        assert self._worker is not None
        return self._worker

    def open(self, tree: Tree, options: Options, initial: int, warm_up: bool, seed: int = 0, rank: int = 0) -> int:
        """Allocate, and compile if ``warm_up`` says so; how many IVMs there are.

        Parameters
        ----------
        tree : Tree
        options : Options
        initial : int
            The initial upper bound.
        warm_up : bool
        seed, rank : int
            Of a search for better solutions beside it; see :meth:`Tree.improver`.
        """
        self._worker = SearchWorker(self._device, tree, options, initial)
        self._beside = _Beside(functools.partial(tree.improver, self._device, seed, rank), tree)
        if warm_up:
            self._worker.warm_up()
        return self._worker.shapes.ivms

    def work(self, coordinator: Coordinator, state: WorkerState) -> None:
        """Turn after turn, until nothing is left or the coordinator halts the search.

        Parameters
        ----------
        coordinator : Coordinator
        state : WorkerState
            This device as the coordinator sees it.
        """
        coordinator.take_turns(self, state)

    def turn(self, task: Task, interrupted: Callable[[], bool] | None, halted: Callable[[], bool]) -> Report:
        """See :meth:`SearchWorker.turn`; a search for better solutions may follow."""
        report = self._search.turn(task, interrupted, halted)
        if self._beside is None or task.return_all:
            return report
        return self._beside.after(report, task.upper, halted)

    def state(self) -> State:
        """See :meth:`SearchWorker.state`."""
        return self._search.state()

    def frontier(self) -> FrontierSnapshot:
        """See :meth:`SearchWorker.frontier`."""
        return self._search.frontier()

    def units(self, message: IntervalMessage) -> Units:
        """The intervals of a message that lies in this device's memory."""
        return message.units(self._device)

    def discard(self) -> None:
        """See :meth:`SearchWorker.discard`."""
        self._search.discard()

    def close(self) -> None:
        """Free the device's memory."""
        if self._beside is not None:
            self._beside.close()
            self._beside = None
        if self._worker is not None:
            self._worker.release()
            self._worker = None
