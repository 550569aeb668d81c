"""A cluster of simulated workers on a virtual clock, to measure the coordinator and to test what happens to tasks.

A simulated worker computes one task at a time and has a second one waiting, as Dask's do. Tasks take virtual seconds;
the time that the coordinator takes is real. Answers can be lost, delayed or given twice.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from ...errors import ClusterError
from ...execution.dask.transport import Answered, Lost, Message, Reported, Transport

_BEAT_SECONDS = 5.0

Compute = Callable[[str, Any, float, Any], tuple[float, Any]]
"""``compute(worker, work, seconds, shared)`` returns how long a task takes, and its answer."""


@dataclass(frozen=True)
class Mishaps:
    """Probabilities, per task, of what may happen to it."""

    killed: float = 0.0  # the worker dies during the task, and comes back after ``restart`` seconds
    frozen: float = 0.0  # the worker is silent from then on, for ever
    twice: float = 0.0  # the answer comes, and the scheduler has it computed again all the same
    restart: float = 5.0


@dataclass
class _Worker:
    label: str
    queue: deque[_Task] = field(default_factory=deque)
    task: _Task | None = None
    alive: bool = True
    frozen: bool = False
    busy: float = 0.0
    since: float = 0.0


@dataclass(eq=False)
class _Task:
    number: int
    work: Any
    seconds: float
    shared: Any
    reported: bool = False


class SimulatedTransport(Transport):
    interval = _BEAT_SECONDS

    def __init__(
        self, count: int, compute: Compute, *, latency: float = 0.005, mishaps: Mishaps | None = None, seed: int = 0
    ) -> None:
        self.now = 0.0
        self._compute, self._latency, self._mishaps = compute, latency, mishaps or Mishaps()
        self._random = random.Random(seed)  # noqa: S311 - a simulation
        self._workers = {f"worker-{number}": _Worker(f"worker-{number}") for number in range(count)}
        self._all = list(self._workers.values())
        self._idle = deque(self._workers)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._arrived: list[Message] = []
        self._avoided: set[str] = set()
        self._holder: dict[int, _Worker] = {}
        self._ended: set[int] = set()
        self._labels: list[str] | None = None
        self.killed = self.froze = 0

    def clock(self) -> float:
        """The virtual time, for :class:`engine.execution.dask.coordinator.Coordinator`."""
        return self.now

    def busy_share(self) -> float:
        """Share of the time since the beginning that the workers computed, those that froze left out."""
        working = [one for one in self._workers.values() if not one.frozen]
        busy = sum(one.busy + (self.now - one.since if one.task is not None else 0.0) for one in working)
        return busy / max(1e-9, self.now * len(working))

    # --- the transport --------------------------------------------------------------------------------------------

    @override
    def workers(self) -> list[str]:
        if self._labels is None:
            self._labels = [one.label for one in self._workers.values() if one.alive and one.label not in self._avoided]
        return self._labels

    @override
    def submit(self, number: int, work: Any, seconds: float, shared: Any) -> None:
        """An idle worker begins at once, else it is queued on a short queue."""
        task = _Task(number, work, seconds, shared)
        self._at(self._latency, lambda: self._place(task))

    @override
    def messages(self, timeout: float) -> list[Message]:
        """The virtual clock goes on to the first message, or by ``timeout``."""
        until = self.now + timeout
        while not self._arrived and self._events and self._events[0][0] <= until:
            self._step()
        if not self._arrived:
            self.now = max(self.now, until)
        while self._events and self._events[0][0] <= self.now:
            self._step()
        found, self._arrived = self._arrived, []
        return found

    @override
    def share(self, value: Any) -> None: ...

    @override
    def end(self, numbers: list[int]) -> None:
        """The tasks end one latency later."""
        chosen = list(numbers)
        self._at(self._latency, lambda: self._ended.update(chosen))
        for number in chosen:
            self._at(2 * self._latency, functools.partial(self._finish_early, number))

    @override
    def forget(self, number: int) -> None:
        self._ended.discard(number)

    @override
    def avoid(self, worker: str) -> None:
        self._avoided.add(worker)
        self._labels = None

    # --- virtual time ---------------------------------------------------------------------------------------------

    def _at(self, delay: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + delay, next(self._order), call))

    def _step(self) -> None:
        at, _, call = heapq.heappop(self._events)
        self.now = max(self.now, at)
        call()

    def _arrived_now(self, message: Message) -> None:
        self._arrived.append(message)

    def _place(self, task: _Task) -> None:
        while self._idle:
            worker = self._workers[self._idle.popleft()]
            if worker.alive and not worker.frozen and worker.task is None and worker.label not in self._avoided:
                self._begin(worker, task)
                return
        sample = [one for one in self._sample(4) if one.alive and one.label not in self._avoided]
        if not sample and self.workers():
            sample = [self._workers[self._random.choice(self.workers())]]
        if not sample:
            self._at(1.0, lambda: self._place(task))
            return
        min(sample, key=lambda one: len(one.queue)).queue.append(task)

    def _begin(self, worker: _Worker, task: _Task) -> None:
        worker.task, worker.since = task, self.now
        self._holder[task.number] = worker
        self._arrived.append(Reported(task.number, worker.label))
        self._at(_BEAT_SECONDS, lambda: self._beat(worker, task))
        seconds = 0.0 if task.number in self._ended else task.seconds
        chance = self._random.random()
        mishaps = self._mishaps
        if chance < mishaps.killed:
            self._at(self._random.random() * max(seconds, 0.1), lambda: self._kill(worker, task))
        elif chance < mishaps.killed + mishaps.frozen:
            worker.frozen = True
            self.froze += 1
        else:
            self._answer_later(worker, task, seconds)

    def _beat(self, worker: _Worker, task: _Task) -> None:
        if worker.task is not None and worker.task.number == task.number and not worker.frozen:
            self._arrived.append(Reported(task.number, worker.label))
            self._at(_BEAT_SECONDS, lambda: self._beat(worker, task))

    def _answer_later(self, worker: _Worker, task: _Task, seconds: float) -> None:
        took, answer = self._compute(worker.label, task.work, seconds, task.shared)
        self._at(took, lambda: self._answer(worker, task, took, answer))

    def _finish_early(self, number: int) -> None:
        """Tasks are computed when they begin; one that is asked to end is computed again, as far as it came."""
        worker = self._holder.get(number)
        if worker is None or worker.frozen or worker.task is None or worker.task.number != number:
            return
        task, elapsed = worker.task, self.now - worker.since
        replaced = _Task(task.number, task.work, elapsed, task.shared)
        worker.task = replaced
        _, answer = self._compute(worker.label, task.work, elapsed, task.shared)
        self._answer(worker, replaced, elapsed, answer)

    def _answer(self, worker: _Worker, task: _Task, took: float, answer: Any) -> None:
        if worker.task is not task:  # killed, or asked to end
            return
        worker.task = None
        worker.busy += took
        message = Answered(task.number, worker.label, answer, took)
        self._at(self._latency, lambda: self._arrived.append(message))
        if self._random.random() < self._mishaps.twice:
            self._at(3 * self._latency + self._random.random(), lambda: self._arrived.append(message))
        self._go_on(worker)

    def _go_on(self, worker: _Worker) -> None:
        if worker.queue:
            self._begin(worker, worker.queue.popleft())
            return
        busiest = max(self._sample(8), key=lambda one: len(one.queue), default=None)
        if busiest is not None and busiest.queue:  # work stealing
            self._begin(worker, busiest.queue.popleft())
        else:
            self._idle.append(worker.label)

    def _sample(self, most: int) -> list[_Worker]:
        return self._random.sample(self._all, min(most, len(self._all)))

    def _kill(self, worker: _Worker, task: _Task) -> None:
        if worker.task is not task:
            return
        self.killed += 1
        lost = [task, *worker.queue]
        worker.busy += self.now - worker.since
        worker.alive, worker.task = False, None
        worker.queue.clear()
        self._labels = None
        error = ClusterError(f"{worker.label} was killed")
        for one in lost:
            message = Lost(one.number, error, fault=False, worker=worker.label)
            self._at(self._latency, functools.partial(self._arrived_now, message))
        self._at(self._mishaps.restart, lambda: self._restart(worker))

    def _restart(self, worker: _Worker) -> None:
        worker.alive = True
        self._labels = None
        self._idle.append(worker.label)
