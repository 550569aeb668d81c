"""The coordinator of a divided run: tasks out, answers in, each task counted once.

At most two tasks a worker are out at a time, so that a worker always finds the next one. A task whose worker was
lost, or is silent for too long, is submitted again; the first answer is accepted and all others are dropped. When
workers have nothing to do and the run can be divided further, tasks in progress are asked to end early.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...base.context import RunContext, StopRequested
from ...base.division import DividedRun
from ...base.result import Result, Status
from ...errors import AuditError, ClusterError, ClusterWarning
from ...events import DeviceStatus
from ...util.text import counted
from .transport import Answered, Left, Lost, Message, Reported, Transport

_WAIT = 0.05
_LOOK_SECONDS = 0.1
_OVERDUE_SECONDS = 1.0
_TASKS_A_SECOND = 100  # at most, all workers together: Dask's scheduler takes milliseconds for each
_REPORTS_MISSED = 3  # before a worker is taken to be frozen, where many workers report seldom
_MOST_FAULTS = 3
_MOST_LOSSES = 20


@dataclass(frozen=True)
class Timing:
    first: float = 3.0  # of the first tasks; longer with more than a hundred workers for each second of it
    longest: float = 30.0  # of the tasks of a long run; longer likewise
    share: float = 0.5  # a task takes up to this share of the time that the run has taken so far
    least: float = 0.5  # a task works so long before it is asked to end early
    patience: float = 60.0  # silence beyond the length of its tasks after which a worker is taken to be frozen
    backup: float = 15.0  # the same while other workers have nothing to do
    grace: float = 15.0  # a run that is stopped waits so long for the answers of tasks in progress
    in_flight: int = 2  # tasks that are out at a time, per worker

    def length(self, elapsed: float) -> float:
        return min(self.longest, max(self.first, self.share * elapsed))


@dataclass
class _Task:
    work: Any
    seconds: float
    submitted: float
    heard: float | None = None
    worker: str = ""
    ending: bool = False
    faults: int = 0
    losses: int = 0


@dataclass
class Statistics:
    """Of one divided run: tasks that were accepted, repeated and dropped, and the coordinator's processor seconds."""

    accepted: int = 0
    repeated: int = 0
    dropped: int = 0
    own_seconds: float = 0.0
    by_worker: dict[str, int] = field(default_factory=dict)


class Coordinator:
    """Runs one divided run to its end.

    ``context``: its controls, events and folder; ``stopped``: what ends the run with a result; anything else that is
    raised leaves the tasks that are out as they are; ``clock``: seconds; ``first``: number of the first task; numbers
    must not be used twice on one transport.
    """

    def __init__(
        self,
        transport: Transport,
        context: RunContext,
        divided: DividedRun,
        timing: Timing | None = None,
        stopped: type[BaseException] | tuple[()] = StopRequested,
        clock: Callable[[], float] = time.monotonic,
        first: int = 0,
    ) -> None:
        self._transport, self._context, self._divided = transport, context, divided
        self._timing = timing or Timing()
        self._stopped = stopped
        self._clock = clock
        self._out: dict[int, _Task] = {}
        self.next_number = first
        self._shared = divided.shared
        self._began = clock()
        self._looked_at = self._overdue_at = -float("inf")
        self._answered: dict[str, float] = {}
        self._reported: dict[str, set[str]] = {}
        self._moved: dict[str, set[int]] = {}  # tasks that another worker has now, by the worker that had them
        self._silent: set[str] = set()
        self._idle_since: float | None = None
        self._alone_since: float | None = None
        self.statistics = Statistics()

    def solve(self) -> Result:
        """The result, also of a run that was stopped."""
        status: Status | None = None
        try:
            while not self._divided.finished:
                self._control()
                self._hand_out()
                self._receive(_WAIT)
                self._look_after()
            for worker in sorted(set(self._moved) - self._silent):  # nobody has noticed yet that it is gone
                self._has_left(worker)
        except self._stopped as reason:
            status = getattr(reason, "status", Status.INTERRUPTED)
            self._recall()
            self._save()
        except ClusterError:
            self._take_back()
            self._save()
            raise
        self.abandon()
        return self._divided.result(status)

    def abandon(self) -> None:
        if self._out:
            self._transport.end(list(self._out))
        for number in list(self._out):
            self._transport.forget(number)
        self._out.clear()

    # --- tasks out ---------------------------------------------------------------------------------------------

    def _control(self) -> None:
        """Pause and stop; a run that pauses lets its tasks end first."""
        if self._context.state == "paused" and self._out:
            self._transport.end(list(self._out))
            deadline = self._clock() + self._timing.grace
            while self._out and self._context.state == "paused" and self._clock() < deadline:
                self._receive(_WAIT)
        self._context.poll()

    def _hand_out(self) -> None:
        """Fill the workers, and let them know what has changed."""
        began = time.thread_time()
        self._fill()
        self._publish()
        self.statistics.own_seconds += time.thread_time() - began

    def _fill(self) -> None:
        workers = len(self._transport.workers())
        most = self._timing.in_flight * workers
        seconds = max(self._timing.length(self._clock() - self._began), workers / _TASKS_A_SECOND)
        while len(self._out) < most:
            work = self._divided.take(most - len(self._out), seconds)
            if work is None:
                break
            self._out[self.next_number] = _Task(work, seconds, self._clock())
            self._transport.submit(self.next_number, work, seconds, self._shared)
            self.next_number += 1
        starving = len(self._out) < workers
        self._idle_since = (self._idle_since or self._clock()) if starving else None

    def _publish(self) -> None:
        shared = self._divided.shared
        if shared != self._shared:
            self._shared = shared
            self._transport.share(shared)

    def _divide_again(self) -> None:
        """Ask the longest tasks to end if workers have nothing to do and what is out can be divided."""
        if self._idle_since is None or not self._divided.wants_work_back:
            return
        now = self._clock()
        idle = len(self._transport.workers()) - len(self._out)
        working = [
            (number, one)
            for number, one in self._out.items()
            if not one.ending
            and one.heard is not None
            and now - one.heard >= 0
            and now - one.submitted >= self._timing.least
        ]
        working.sort(key=lambda pair: pair[1].submitted)
        chosen = working[: max(1, idle)]
        for _, one in chosen:
            one.ending = True
        if chosen:
            self._transport.end([number for number, _ in chosen])

    # --- answers in ---------------------------------------------------------------------------------------------

    def _receive(self, timeout: float) -> None:
        messages = self._transport.messages(timeout)
        began = time.thread_time()
        for message in messages:
            self._handle(message)
        self.statistics.own_seconds += time.thread_time() - began

    def _handle(self, message: Message) -> None:
        if isinstance(message, Left):
            self._has_left(message.worker)
            return
        one = self._out.get(message.number)
        if one is None:  # answered before
            self.statistics.dropped += isinstance(message, Answered)
            return
        if isinstance(message, Reported):
            self._is_with(message.worker, message.number, one)
            one.heard = self._clock()
            self._report(message)
        elif isinstance(message, Lost):
            self._is_gone(message.worker or one.worker)
            self._again(message.number, one, message)
        else:
            self._accept(message, one)

    def _accept(self, message: Answered, one: _Task) -> None:
        try:
            self._divided.accept(one.work, message.answer)
        except AuditError as error:
            self._again(message.number, one, Lost(message.number, error, fault=True, worker=message.worker))
            return
        self._is_with(message.worker, message.number, one)
        del self._out[message.number]
        self._transport.forget(message.number)
        self.statistics.accepted += 1
        counts = self.statistics.by_worker
        counts[message.worker] = counts.get(message.worker, 0) + 1
        self._note_busy(message.worker, message.seconds)

    def _note_busy(self, worker: str, seconds: float) -> None:
        """Emit the share of the time since a worker's last answer that it has computed."""
        now = self._clock()
        since, self._answered[worker] = self._answered.get(worker, self._began), now
        if now > since:
            self._emit_busy(worker, min(100.0, 100.0 * seconds / (now - since)))

    def _emit_busy(self, worker: str, busy: float) -> None:
        self._context.emit(DeviceStatus(time=self._context.elapsed, device=worker, busy=busy))

    def _report(self, message: Reported) -> None:
        values = dict(message.values)
        if "notice" in values:
            text, level = values.pop("notice")
            self._context.notice(f"{message.worker}: {text}", level=level)
        for name, value in values.items():
            if isinstance(value, (int, float)):
                self._context.metric(name, float(value), message.worker)
                self._reported.setdefault(message.worker, set()).add(name)
        self._divided.report(message.worker, values)

    def _is_with(self, worker: str, number: int, one: _Task) -> None:
        """A task is at a worker; if it was at another before, that has lost it."""
        if one.worker not in ("", worker):
            self._moved.setdefault(one.worker, set()).add(number)
        one.worker = worker

    def _has_left(self, worker: str) -> None:
        """Tell the user of a worker that is gone, and what is computed again for that reason; Dask has others do it."""
        repeated = self._moved.pop(worker, set())
        for number, one in self._out.items():
            if one.worker == worker:
                repeated.add(number)
                one.submitted, one.heard, one.worker, one.ending = self._clock(), None, "", False
        self._is_gone(worker)
        self.statistics.repeated += len(repeated)
        if repeated:
            verb = "is" if len(repeated) == 1 else "are"
            again = f"{counted(len(repeated), 'task')} in progress {verb} computed again"
            self._context.warn(ClusterWarning(f"{worker} is lost; {again}"))
        elif not all(one.worker for one in self._out.values()):  # it may have had one, and not reported it yet
            self._context.warn(ClusterWarning(f"{worker} is lost; what it had begun is computed again"))
        else:
            self._context.notice(f"{worker} has left; it had no work in progress")

    def _is_gone(self, worker: str) -> None:
        """A worker that is lost has no rate any more, and nothing that is active."""
        for name in sorted(self._reported.pop(worker, ())):
            if name.endswith("_per_second") or name.startswith("active_"):
                self._context.metric(name, 0.0, worker)
        self._emit_busy(worker, 0.0)

    def _look_after(self) -> None:
        """Ten times a second at most: what is overdue, idle workers, and checkpoints."""
        if self._clock() - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = self._clock()
        began = time.thread_time()
        self._divide_again()
        self._require_workers()
        if self._clock() - self._overdue_at >= _OVERDUE_SECONDS:
            self._overdue_at = self._clock()
            self._repeat_overdue()
        self.statistics.own_seconds += time.thread_time() - began
        if self._context.checkpoint_due():
            self._save()

    # --- tasks that are lost -----------------------------------------------------------------------------------

    def _again(self, number: int, one: _Task, lost: Lost) -> None:
        """Submit a task once more, unless that has been tried too often, or nothing is left to do."""
        if self._divided.finished:
            return
        one.faults += lost.fault
        one.losses += not lost.fault
        where = lost.worker or one.worker or "a worker"
        if one.faults >= _MOST_FAULTS:
            raise lost.error
        if one.losses >= _MOST_LOSSES:
            raise ClusterError(f"{one.losses} workers were lost with the same task; the last: {lost.error}")
        if lost.fault:
            self._context.notice(f"a task failed on {where} and is computed again: {lost.error}", level="warning")
        self._submit_again(number, one)

    def _submit_again(self, number: int, one: _Task) -> None:
        self.statistics.repeated += 1
        one.submitted, one.heard, one.ending = self._clock(), None, False
        self._transport.submit(number, one.work, one.seconds, self._shared)

    def _repeat_overdue(self) -> None:
        """Tasks of workers that are silent are submitted again."""
        now, timing = self._clock(), self._timing
        patience = timing.patience if self._idle_since is None else min(timing.backup, timing.patience)
        patience = max(patience, _REPORTS_MISSED * self._transport.interval)
        for number, one in list(self._out.items()):
            if one.heard is not None:
                overdue = now - one.heard > patience
            else:  # it may wait for the tasks before it
                overdue = now - one.submitted > patience + (1 + timing.in_flight) * one.seconds
            if not overdue:
                continue
            if one.heard is not None and one.worker:
                self._context.notice(
                    f"{one.worker} has been silent for {now - one.heard:.0f} s; its task is computed elsewhere",
                    level="warning",
                )
                self._transport.avoid(one.worker)
                self._silent.add(one.worker)
            self._submit_again(number, one)

    def _require_workers(self) -> None:
        """Wait for workers if there are none, but not for ever."""
        if self._transport.workers():
            self._alone_since = None
            return
        now = self._clock()
        if self._alone_since is None:
            self._alone_since = now
            self._context.notice("the cluster has no workers; the run waits for some", level="warning")
        if now - self._alone_since > 10 * self._timing.patience:
            raise ClusterError(f"the cluster has had no workers for {now - self._alone_since:.0f} s")

    def _recall(self) -> None:
        """Let the tasks in progress end, and take in their answers; what does not answer soon is taken back."""
        self._transport.end(list(self._out))
        deadline = self._clock() + self._timing.grace
        try:
            while self._out and self._clock() < deadline:
                self._receive(_WAIT)
        except ClusterError as error:
            self._context.notice(str(error), level="warning")
        self._take_back()

    def _take_back(self) -> None:
        for number, one in self._out.items():
            self._divided.put_back(one.work)
            self._transport.forget(number)
        self._out.clear()

    def _save(self) -> None:
        found = self._divided.checkpoint()
        if found is not None:
            self._context.save_checkpoint(*found)
