"""``engine.map`` on a cluster: groups of problems as tasks."""

import math
import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import cloudpickle
from typing_extensions import override

from ...api.engine import Engine
from ...api.map import BatchProgress, Entries, read_items, solve_items
from ...base.batch import Failure, Item
from ...base.context import QuietContext
from ...base.division import DividedRun, TaskControl, TaskRunner
from ...base.result import Result, Status
from ...errors import AuditError, ClusterWarning, QuintetError, QuintetWarning, issue_warning
from . import columns
from .connection import Connection
from .coordinator import Coordinator, Timing

_LEAST_SECONDS = 0.05  # of a task: Dask takes some milliseconds for each, in one process for all workers
_MOST_TASKS_A_SECOND = 200


class MapRun(DividedRun):
    """The items of a batch, and the entries found so far; ``done`` other items have theirs."""

    def __init__(self, items: Sequence[Item], report: BatchProgress, done: int = 0) -> None:
        self._items = {item.index: item for item in items}
        self._open = [item.index for item in items]
        self._report, self._done = report, done
        self.entries: Entries = {}
        self._slots = 1
        self._taken = {"items": 0, "seconds": 0.0}

    @property
    @override
    def finished(self) -> bool:
        return len(self.entries) == len(self._items)

    @property
    def wants_work_back(self) -> bool:
        """True: a task returns the items that it has not begun."""
        return not self._open

    def take(self, slots: int, seconds: float) -> dict[str, Any] | None:
        """Half of a fair share of what is left, to end with short tasks, not tiny ones; see :class:`DividedRun`."""
        if not self._open:
            return None
        self._slots = max(self._slots, slots)
        count = math.ceil(len(self._open) / (2 * self._slots))
        if self._taken["seconds"]:
            rate = self._taken["items"] / self._taken["seconds"]
            least = min(max(_LEAST_SECONDS, self._slots / _MOST_TASKS_A_SECOND) * rate, len(self._open) / slots)
            count = int(min(max(count, least), max(1.0, seconds * rate)))
        count = max(1, count)
        chosen, self._open = self._open[:count], self._open[count:]
        return {"indices": chosen, "items": _dump_items([self._items[index] for index in chosen])}

    @override
    def put_back(self, work: dict[str, Any]) -> None:
        self._open = [*work["indices"], *self._open]

    def accept(self, work: dict[str, Any], answer: bytes) -> None:
        """Take in entries; items without one are open again. See :class:`DividedRun`."""
        found, seconds = _load_entries(answer)
        if not set(found) <= set(work["indices"]):
            raise AuditError("a task was answered with entries of other problems")
        self.entries |= found
        self._taken["items"] += len(found)
        self._taken["seconds"] += seconds
        self._open = [index for index in work["indices"] if index not in found] + self._open
        self._report.at(self._done + len(self.entries))

    def checkpoint(self) -> None:
        """None: a batch has no run folder."""
        return

    def result(self, status: Status | None) -> Result:
        """The entries are in :attr:`entries`."""
        return Result(status or Status.COMPLETE, None, None, None)


@dataclass(frozen=True)
class _MapRunnerMaker:
    common: dict[str, Any]
    time_limit: float | None

    def __call__(self, engine: Engine) -> TaskRunner:
        return _MapTasks(engine, self.common, self.time_limit)


class _MapTasks(TaskRunner):
    def __init__(self, engine: Engine, common: dict[str, Any], time_limit: float | None) -> None:
        self._engine, self._common, self._time_limit = engine, common, time_limit

    def prepare(self, work: Mapping[str, Any]) -> list[Item]:
        return _load_items(work["items"])

    def compute(self, work: list[Item], control: TaskControl) -> tuple[Entries, float]:
        """The entries of the items, and the seconds taken; items are missing if the task was asked to end."""
        report = BatchProgress(len(work), [])
        report.ended = lambda: control.asked_to_end
        began = time.monotonic()
        entries = solve_items(self._engine, work, self._common, self._time_limit, report)
        return entries, time.monotonic() - began

    def finish(self, answer: tuple[Entries, float]) -> bytes:
        entries, seconds = answer
        return pickle.dumps((list(entries), columns.dump([_portable(one) for one in entries.values()]), seconds))


def _dump_items(items: Sequence[Item]) -> bytes:
    places = [item.index for item in items]
    own = [(item.options or None, item.seed) for item in items]
    return bytes(cloudpickle.dumps((places, columns.dump([item.problem for item in items]), own)))


def _load_items(data: bytes) -> list[Item]:
    places, problems, own = pickle.loads(data)  # noqa: S301 - from the client of the session
    return [
        Item(place, problem, options or {}, seed)
        for place, problem, (options, seed) in zip(places, columns.load(problems), own, strict=True)
    ]


def _load_entries(data: bytes) -> tuple[Entries, float]:
    places, entries, seconds = pickle.loads(data)  # noqa: S301 - from a worker of the session
    return dict(zip(places, columns.load(entries), strict=True)), float(seconds)


def _portable(entry: Result | Failure) -> Result | Failure:
    """An entry that can be unpickled: errors whose classes need other arguments lose their class."""
    if isinstance(entry, Result):
        return entry
    try:
        pickle.loads(pickle.dumps(entry.error))  # noqa: S301 - its own
        return entry
    except Exception:
        error = entry.error
        exit_code = getattr(error, "exit_code", 1)
        plain = QuintetError(f"{type(error).__name__}: {error}")
        plain.exit_code = exit_code
        return Failure(entry.name, plain)


class _BatchContext(QuietContext):
    """Tells the observers of a batch now, and keeps warnings, which Python issues at the end."""

    def __init__(self, report: BatchProgress) -> None:
        super().__init__()
        self._report = report
        self.warnings: list[str] = []

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        self._report.notice(message, level)
        if level == "warning":
            self.warnings.append(message)

    def warn(self, warning: QuintetWarning, late: bool = False) -> None:
        self.notice(str(warning), "warning")


def solve_items_on(
    connection: Connection,
    items: Sequence[Item],
    common: dict[str, Any],
    time_limit: float | None,
    report: BatchProgress,
    timing: Timing | None = None,
) -> tuple[Entries, QuintetError | None]:
    """As :func:`engine.api.map.solve_items`, on workers; also what ended the batch before all items had entries."""
    entries: Entries = {}
    read = [replace(item, problem=problem) for item, problem in read_items(items, entries)]
    if entries:
        report.at(len(entries))
    if not read:
        return entries, None
    parts, context = MapRun(read, report, len(entries)), _BatchContext(report)
    fault: QuintetError | None = None
    for message in connection.warnings:
        context.notice(message, "warning")
    try:
        with connection.run(_MapRunnerMaker(common, time_limit)) as transport:
            Coordinator(transport, context, parts, timing, stopped=KeyboardInterrupt).solve()
    except QuintetError as error:
        if not parts.entries:
            raise
        fault = error
    for message in dict.fromkeys(context.warnings):
        issue_warning(ClusterWarning(message))
    names = {item.index: item.name for item in items}  # files by their paths
    found = parts.entries.items()
    entries |= {at: replace(one, name=names[at]) if isinstance(one, Failure) else one for at, one in found}
    return entries, fault
