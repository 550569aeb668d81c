"""``engine.map`` on a cluster: groups of problems as slices."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.batch import Failure, Item
from engine.cluster.connection import Connection
from engine.cluster.coordinator import Coordinator, Timing
from engine.engine import Engine
from engine.errors import AuditError, QuintetError
from engine.farming import FarmedRun, SliceControl, SliceWorker
from engine.mapping import BatchProgress, Entries, solve_items
from engine.results import Result, Status

__all__ = ["solve_items_on"]


class MapRun(FarmedRun):
    """The items of a batch, and the entries found so far.

    Parameters
    ----------
    items : sequence of Item
    report : BatchProgress
    """

    def __init__(self, items: Sequence[Item], report: BatchProgress) -> None:
        self._items = {item.index: item for item in items}
        self._open = [item.index for item in items]
        self._report = report
        self.entries: Entries = {}
        self._seconds_each = 0.0

    @property
    def finished(self) -> bool:
        """See :class:`FarmedRun`."""
        return len(self.entries) == len(self._items)

    @property
    def wants_work_back(self) -> bool:
        """True: a slice returns the items that it has not begun."""
        return not self._open

    def take(self, slots: int, seconds: float) -> dict[str, Any] | None:
        """Some items: half of a fair share of those that are left, so that the last slices are short."""
        if not self._open:
            return None
        count = max(1, math.ceil(len(self._open) / (2 * max(1, slots))))
        chosen, self._open = self._open[:count], self._open[count:]
        return {"indices": chosen, "items": pickle.dumps([self._items[index] for index in chosen])}

    def put_back(self, work: dict[str, Any]) -> None:
        """See :class:`FarmedRun`."""
        self._open = [*work["indices"], *self._open]

    def accept(self, work: dict[str, Any], answer: bytes) -> None:
        """Take in entries; items without one are open again.

        Raises
        ------
        engine.errors.AuditError
            If there are entries of other items.
        """
        found: Entries = pickle.loads(answer)  # noqa: S301 - from a worker of the session
        if not set(found) <= set(work["indices"]):
            raise AuditError("a slice was answered with entries of other problems")
        self.entries |= found
        self._open = [index for index in work["indices"] if index not in found] + self._open
        self._report.at(len(self.entries))

    def checkpoint(self) -> None:
        """None: a batch has no run folder."""
        return

    def result(self, status: Status | None) -> Result:
        """The entries are in :attr:`entries`."""
        return Result(status or Status.COMPLETE, None, None, None)


@dataclass(frozen=True)
class _MapWorkerMaker:
    """Makes the slice worker of a batch; sent to the workers."""

    common: dict[str, Any]
    time_limit: float | None

    def __call__(self, engine: Engine) -> SliceWorker:
        return _MapSlices(engine, self.common, self.time_limit)


class _MapSlices(SliceWorker):
    """Solves items on a worker's engine."""

    def __init__(self, engine: Engine, common: dict[str, Any], time_limit: float | None) -> None:
        self._engine, self._common, self._time_limit = engine, common, time_limit

    def compute(self, work: Mapping[str, Any], control: SliceControl) -> bytes:
        """The entries of the items, pickled; items are missing if the slice was asked to end."""
        items: list[Item] = pickle.loads(work["items"])  # noqa: S301 - from the client of the session
        report = BatchProgress(len(items), [])
        report.ended = lambda: control.asked_to_end
        entries = solve_items(self._engine, items, self._common, self._time_limit, report)
        return pickle.dumps({index: _portable(entry) for index, entry in entries.items()})


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


class _BatchOwner:
    """What the coordinator needs of a run, for a batch: it has no controls but Ctrl-C, and no folder."""

    state = "running"

    def __init__(self, warnings: list[str]) -> None:
        self.warnings = warnings

    def poll(self) -> None:
        """Nothing stops a batch but an exception."""

    def metric(self, name: str, value: float, device: str | None = None) -> None:
        """A batch has no metrics."""

    def notice(self, message: str, level: Any = "info") -> None:
        """Keep warnings."""
        if level == "warning":
            self.warnings.append(message)

    def checkpoint_due(self) -> bool:
        """False."""
        return False

    def save_checkpoint(self, arrays: dict[str, Any], state: Any) -> None:
        """Nothing is kept."""


def solve_items_on(
    connection: Connection,
    items: Sequence[Item],
    common: dict[str, Any],
    time_limit: float | None,
    report: BatchProgress,
    timing: Timing | None = None,
) -> Entries:
    """As :func:`engine.mapping.solve_items`, on the workers of a cluster."""
    if not items:
        return {}
    parts = MapRun(items, report)
    with connection.run(_MapWorkerMaker(common, time_limit)) as transport:
        Coordinator(transport, _BatchOwner([]), parts, timing).solve()
    return parts.entries
