"""How a run is divided among the workers of a cluster: what a solver declares and implements.

A *task* is a bounded piece of a run: it takes state in, works on the devices of one worker for some seconds, and
returns an answer with the state it came to. The side that owns the run (:class:`DividedRun`) hands tasks out and
takes answers in; :class:`TaskRunner` computes them. A task whose answer is lost is computed again from the same
state, and only the first answer to a task is accepted, so that nothing is lost and nothing counts twice.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from .context import QuietContext, StopRequested
from .result import Status

if TYPE_CHECKING:
    from ..devices.pool.pool import DevicePool
    from ..errors import QuintetWarning
    from .context import RunContext
    from .result import Result

Rounds = Callable[[Sequence[Any]], list[Any]]
"""Has works computed by the workers of a cluster; returns the answers in their order."""


@dataclass(frozen=True)
class ClusterInfo:
    """The workers of a cluster, as far as the division of a run depends on them."""

    count: int
    simt: bool  # whether devices of some of them run work-items in lanes, as GPUs do


@dataclass(frozen=True)
class Division:
    """What a solver declares if its runs can be divided among workers; it has ``run`` or ``solve``."""

    runner: Callable[[Any, Any, int, DevicePool], TaskRunner]  # called with problem, options, seed and pool
    # for workers that need not wait for each other
    run: Callable[[Any, Any, RunContext, ClusterInfo], DividedRun] | None = None
    # for work in rounds: ``rounds(works)`` returns the answers to all works in their order
    solve: Callable[[Any, Any, RunContext, ClusterInfo, Rounds], Result] | None = None
    # why this run cannot be divided, as a sentence; None if it can
    refusal: Callable[[Any, Any], str | None] | None = None
    # the options of what a worker has at a time, for the checks against its devices
    one: Callable[[Any], Any] | None = None


class DividedRun(ABC):
    """The side of a divided run that knows all of it, on one thread. Work and answers are plain values and arrays."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether nothing is left to do."""

    @abstractmethod
    def take(self, slots: int, seconds: float) -> Any | None:
        """The next task of ``slots`` that are free, for about so many seconds; None if there is nothing now."""

    @abstractmethod
    def accept(self, work: Any, answer: Any) -> None:
        """Take in a worker's answer to what :meth:`take` returned; AuditError, and no more, if it cannot be one."""

    @abstractmethod
    def put_back(self, work: Any) -> None:
        """Take back what was handed out and not done."""

    def options_of_tasks(self, options: Any) -> Any:
        """The options for the workers' tasks: those of the run, maybe with what was chosen for them."""
        return options

    @property
    def shared(self) -> Any:
        """What all tasks should know as soon as it changes, such as the best value so far; None if there is none."""
        return None

    @property
    def wants_work_back(self) -> bool:
        """Whether tasks in progress should end early when workers have nothing to do, so that work can be divided."""
        return False

    def report(self, worker: str, values: Mapping[str, Any]) -> None:  # noqa: B027
        """Take in what a task in progress of that worker reports, beside metrics."""

    @abstractmethod
    def checkpoint(self) -> tuple[dict[str, Any], Any] | None:
        """Arrays and state of a checkpoint, as on one machine: tasks in progress count as not begun."""

    @abstractmethod
    def result(self, status: Status | None) -> Result:
        """The result; ``status`` is that of a run which was stopped."""


class TaskRunner(ABC):
    """The side of a divided run on a worker, closed when the run leaves the worker.

    While one task is computed, the next one is prepared and the answer of the one before is finished, on other
    threads; :meth:`prepare` and :meth:`finish` must not change what :meth:`compute` uses.
    """

    def prepare(self, work: Any) -> Any:
        """What :meth:`compute` is given: the work itself, or what has been made of it."""
        return work

    @abstractmethod
    def compute(self, work: Any, control: TaskControl) -> Any:
        """The answer to what :meth:`prepare` returned, soon after ``control.ended`` is True; for one task at a time."""

    def finish(self, answer: Any) -> Any:
        """The answer as it is sent: what :meth:`compute` returned, or what is made of that."""
        return answer

    def close(self) -> None:  # noqa: B027 - not every solver keeps something
        """Free what is kept from one task to the next."""


@dataclass
class TaskControl:
    """The length of a task in progress, its signal to stop, and its way to report."""

    seconds: float  # how long it should work
    send: Callable[[dict[str, Any]], None] = lambda values: None  # passes live values to the owner of the run
    interval: float = 1.0  # seconds between two calls of it
    shared: Any = None
    _began: float = field(default_factory=time.monotonic)
    _sent_at: float = -float("inf")
    _end: threading.Event = field(default_factory=threading.Event)

    @property
    def ended(self) -> bool:
        """Whether the task's time is up, or it was asked to end."""
        return self._end.is_set() or time.monotonic() - self._began >= self.seconds

    @property
    def asked_to_end(self) -> bool:
        return self._end.is_set()

    def end(self) -> None:
        """Ask the task to end; from any thread."""
        self._end.set()

    def report(self, values: Mapping[str, Any], at_once: bool = False) -> None:
        """Pass live values on, unless others were less than a second ago and it is not to be ``at_once``."""
        now = time.monotonic()
        if at_once or now - self._sent_at >= self.interval:
            self._sent_at = now
            self.send(dict(values))


class TaskContext(QuietContext):
    """The context of a solver's code that works on a task, whose metrics and messages go to the owner of the run.

    Metrics that are ``private`` are the task's alone where those of the run are meant, and not sent.
    """

    def __init__(
        self,
        seed: int,
        control: TaskControl,
        private: Iterable[str] = (),
        on_poll: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(seed)
        self.control, self.private, self.on_poll = control, frozenset(private), on_poll
        self._values: dict[tuple[str, str | None], float] = {}

    def poll(self) -> None:
        self.on_poll()
        if self._values:
            self.control.report(self.totals())
        if self.control.ended:
            raise StopRequested(Status.INTERRUPTED)

    def totals(self) -> dict[str, float]:
        """The latest values of the metrics that are not private, added up over the devices."""
        sums: dict[str, float] = {}
        for (name, _), value in self._values.items():
            if name not in self.private:
                sums[name] = sums.get(name, 0.0) + value
        return sums

    @override
    def metric(self, name: str, value: float, device: str | None = None) -> None:
        """Sent with the task's next report."""
        self._values[name, device] = float(value)

    @override
    def notice(self, message: str, level: str = "info") -> None:
        self.control.report({"notice": [message, level]}, at_once=True)

    @override
    def warn(self, warning: QuintetWarning, late: bool = False) -> None:
        self.notice(str(warning), "warning")
