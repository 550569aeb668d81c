"""Rounds: works that are all answered before the run goes on."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from ...base.context import RunContext
from ...base.division import DividedRun
from ...base.result import Result, Status
from .coordinator import Coordinator, Timing
from .transport import Transport


class _Round(DividedRun):
    """The works of a round, distinct objects, one a task."""

    def __init__(self, works: Sequence[Any]) -> None:
        self._works = list(works)
        self._places = {id(work): place for place, work in enumerate(self._works)}
        self._open = deque(self._works)
        self.answers: dict[int, Any] = {}

    @property
    @override
    def finished(self) -> bool:
        return len(self.answers) == len(self._works)

    def take(self, slots: int, seconds: float) -> Any | None:
        return self._open.popleft() if self._open else None

    @override
    def put_back(self, work: Any) -> None:
        self._open.appendleft(work)

    @override
    def accept(self, work: Any, answer: Any) -> None:
        self.answers[self._places[id(work)]] = answer

    def checkpoint(self) -> None:
        """None: the solver writes its checkpoints between rounds."""
        return

    def result(self, status: Status | None) -> Result:
        """The answers are in :attr:`answers`."""
        return Result(status or Status.COMPLETE, None, None, None)


class RoundCaller:
    """Calls rounds on the workers of a cluster; see :data:`engine.base.division.Rounds`."""

    def __init__(self, transport: Transport, context: RunContext, timing: Timing | None = None, **clock: Any) -> None:
        self._transport, self._context, self._timing, self._clock = transport, context, timing, clock
        self._first = 0

    def __call__(self, works: Sequence[Any]) -> list[Any]:
        parts = _Round(works)
        coordinator = Coordinator(
            self._transport, self._context, parts, self._timing, stopped=(), first=self._first, **self._clock
        )
        try:
            coordinator.solve()
        finally:
            self._first = coordinator.next_number
            coordinator.abandon()
        return [parts.answers[place] for place in range(len(works))]
