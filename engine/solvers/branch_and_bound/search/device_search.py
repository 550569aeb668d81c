"""One device's search as the coordinator's group calls it, on the device's thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....devices import Device
from ..intervals import Units
from ..options import Options
from ..tree import Tree
from .frontier import FrontierSnapshot
from .messages import IntervalMessage, Report, State, Task
from .worker import SearchWorker

if TYPE_CHECKING:
    from .coordinator import Coordinator
    from .members import WorkerState

__all__ = ["DeviceSearch"]


class DeviceSearch:
    """The search of one device, on its thread; the device is made ready by :meth:`open`."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._worker: SearchWorker | None = None

    @property
    def _search(self) -> SearchWorker:
        assert self._worker is not None
        return self._worker

    def open(self, tree: Tree, options: Options, initial: int, warm_up: bool) -> int:
        """Allocate, and compile if ``warm_up`` says so; how many IVMs there are.

        Parameters
        ----------
        tree : Tree
        options : Options
        initial : int
            The initial upper bound.
        warm_up : bool
        """
        self._worker = SearchWorker(self._device, tree, options, initial)
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

    def turn(self, task: Task, interrupted: Callable[[], bool] | None) -> Report:
        """See :meth:`SearchWorker.turn`."""
        return self._search.turn(task, interrupted)

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
        if self._worker is not None:
            self._worker.release()
            self._worker = None
