"""A search divided among a cluster's workers: batches of intervals, of known numbers of leaves, out and back."""

import math
import zlib
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict, override

from ...base.context import RunContext, StopRequested
from ...base.division import ClusterInfo, DividedRun, TaskContext, TaskControl, TaskRunner
from ...base.result import Result, Status
from ...devices import DevicePool
from ...errors import AuditError, OptionError
from . import solve as single
from .checkpoint import Incumbent, Progress, audit, save
from .intervals import Units, length_of_levels
from .masks import digit_type
from .options import Options
from .search.coordinator import Coordinator
from .tree import PermutationProblem
from .validate import tree_of

_BATCHES = 8
_PIECES_PER_WORKER = 2
_COUNTERS = ("nodes", "leaves", "pushed", "solutions", "steals", "exchanged")
_OF_A_TASK = (
    *("explored_here", "explored_share", "exchanged_intervals", "nodes_left", "steals"),
    *("steals_device_device", "steals_device_host", "steals_host_device", "steals_host_host"),
)
"""Metrics that begin anew with each task, or are shares and numbers of the whole search."""


class Batch(TypedDict):
    """Intervals that are handed out together, compressed."""

    data: bytes
    count: int
    leaves: int
    bound: int


class Work(TypedDict):
    """What a task does: batches, the upper bounds of the search, and what the tree's bounds are prepared with."""

    batches: list[Batch]
    initial: int
    upper: int
    prepared: list[list[int]] | None


def pack(units: Units, bound: int, parts: int = 1) -> list[Batch]:
    """Intervals as batches of about equally many, spread over all of them."""
    parts = max(1, min(parts, len(units)))
    found: list[Batch] = []
    for part in range(parts if len(units) else 0):
        chosen = units[slice(part, None, parts)]
        data = zlib.compress(chosen.packed().tobytes(), 1)
        found.append({"data": data, "count": len(chosen), "leaves": chosen.length(), "bound": bound})
    return found


def unpack(batches: Sequence[Batch], items: int) -> Units:
    """All intervals of some batches."""
    parts = [Units.none(items)]
    for batch in batches:
        packed = np.frombuffer(zlib.decompress(batch["data"]), digit_type(items))
        parts.append(Units.unpacked(packed, items))
    return Units.joined(parts)


def _leaves(batches: Sequence[Batch]) -> int:
    return sum(batch["leaves"] for batch in batches)


class DividedSearch(DividedRun):
    """A whole search: its open batches, the incumbent, the proven bound, and what is explored."""

    def __init__(self, problem: PermutationProblem, options: Options, run: RunContext, cluster: ClusterInfo) -> None:
        self._run, self._options = run, options
        self._tree = tree = tree_of(problem, options)
        self._all_leaves = math.factorial(tree.items)
        pieces = max(2, _PIECES_PER_WORKER * cluster.count)
        if getattr(options, "all_solutions", False):
            raise OptionError("all_solutions counts on the devices of one machine; leave out cluster")
        self._incumbent, before, _ = single._begin(problem, tree, options, run, pieces)
        self._root_bound = max(tree.lower_bound(), before.bound)
        self._bound = self._root_bound
        self._prepared = before.prepared
        self._explored = before.explored.copy()
        self._explored_leaves = length_of_levels(self._explored)
        self._counters = {name: before.counters.get(name, 0) for name in (*_COUNTERS, *before.counters)}
        self._nodes_before = self._counters["nodes"]
        self._out: dict[int, Batch] = {}
        self._several = cluster.count > 1
        needed = single._is_needed(tree, self._incumbent, before)
        units = before.units if needed else Units.none(tree.items)
        self._skipped = not needed
        parts = _BATCHES * max(2, cluster.count)
        self._open = deque(pack(units, self._root_bound, parts))
        self._bounds = Counter(batch["bound"] for batch in self._open)
        self._publish()

    @property
    @override
    def finished(self) -> bool:
        return not (self._open or self._out) or single.is_settled(self._incumbent, self._options, self._bound)

    @property
    def wants_work_back(self) -> bool:
        """Whether no batch is left to hand out: what a task in progress has left can be divided."""
        return not self._open

    @property
    def shared(self) -> int:
        """The best value so far."""
        return self._incumbent.value

    def take(self, slots: int, seconds: float) -> Work | None:
        """Some batches: a fair share of those that are open."""
        if not self._open:
            return None
        count = max(1, len(self._open) // max(1, slots))
        chosen = [self._open.popleft() for _ in range(count)]
        self._out.update({id(batch): batch for batch in chosen})
        prepared = None if self._prepared is None else self._prepared.tolist()
        one = self._incumbent
        return {"batches": chosen, "initial": one.initial, "upper": one.value, "prepared": prepared}

    @override
    def put_back(self, work: Work) -> None:
        self._remove(work)
        self._open.extendleft(reversed(work["batches"]))

    def _remove(self, work: Work) -> None:
        for batch in work["batches"]:
            del self._out[id(batch)]

    def accept(self, work: Work, answer: Mapping[str, Any]) -> None:
        """Take in what a task has explored, what it left open, and its best solution."""
        explored = np.asarray(answer["explored"], np.int64)
        left: list[Batch] = answer["batches"]
        given, done = _leaves(work["batches"]), length_of_levels(explored)
        if given != done + _leaves(left):
            raise AuditError(f"a task of {given} leaves was answered with {done + _leaves(left)}")
        if answer["solution"] is not None:
            self._improve(np.asarray(answer["solution"], np.int64), int(answer["value"]))
        self._remove(work)
        self._open += left
        self._bounds.update(batch["bound"] for batch in left)
        self._bounds.subtract(batch["bound"] for batch in work["batches"])
        self._bounds += Counter()  # forget bounds of no batch
        self._explored += explored
        self._explored_leaves += done
        for name, value in answer["counters"].items():
            self._counters[name] = self._counters.get(name, 0) + int(value)
        self._publish()

    def _improve(self, solution: NDArray[np.int64], value: int) -> None:
        if not self._tree.counts and value < self._incumbent.value:
            self._incumbent.take(solution, value)

    def report(self, worker: str, values: Mapping[str, Any]) -> None:
        """Take over a solution that a task has found."""
        if "solution" in values:
            self._improve(np.asarray(values["solution"], np.int64), int(values["value"]))
            self._publish()

    def _publish(self) -> None:
        """Emit the incumbent, the proven bound, and the explored share."""
        if not self._tree.counts:
            least = min(self._bounds, default=self._incumbent.value)
            self._bound = max(self._bound, min(least, self._incumbent.value))
            known = self._incumbent.solution is not None
            self._run.incumbent(self._incumbent.value if known else None, self._bound, self._incumbent.solution)
        share = self._explored_leaves / self._all_leaves
        self._run.metric("explored_share", share)
        self._run.progress("search", share, 1.0, "of all leaves")

    def _units(self) -> Units:
        return unpack([*self._out.values(), *self._open], self._tree.items)

    @override
    def checkpoint(self) -> tuple[dict[str, Any], Any]:
        """Intervals that are out count as open."""
        progress = Progress(self._units(), self._explored.copy(), dict(self._counters), self._bound, self._prepared)
        return save(progress, self._incumbent)

    def result(self, status: Status | None) -> Result:
        """The result, after the audit."""
        status = None if self.finished else status  # what the stop has called back may have been the rest
        open_units = self._units()
        if not self._skipped:
            several = 2  # tasks do not know at once what others have found
            searched = self._tree, self._explored, open_units, self._counters, self._incumbent.improved
            audit(*searched, several, stopped=len(open_units) > 0)
        if status is None and self._incumbent.solution is None and not self._tree.counts:
            self._run.notice(single._without_solution(self._tree, self._incumbent)[1])
        return single._result(
            self._tree, self._incumbent, self._bound, status, open_units, self._counters, self._explored
        )


class SearchTasks(TaskRunner):
    """Searches batches on the devices of a worker."""

    def __init__(self, problem: PermutationProblem, options: Options, seed: int, pool: DevicePool) -> None:
        self._problem, self._options, self._seed, self._pool = problem, options, seed, pool
        self._tree = tree_of(problem, options)
        single._require_memory(self._tree, options, pool)

    def prepare(self, work: Work) -> tuple[Work, Units]:
        """The work, and the intervals in its batches; the tree's bounds are those of the whole search."""
        if work["prepared"] is not None:
            self._tree.restore(np.array(work["prepared"], np.int64))
        return work, unpack(work["batches"], self._tree.items)

    def finish(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer with its open intervals in batches."""
        units: Units = answer.pop("open")
        return {**answer, "batches": pack(units, answer.pop("bound"), _BATCHES)}

    def compute(self, work: tuple[Work, Units], control: TaskControl) -> dict[str, Any]:
        """Search until nothing is left of the batches, or the task is to end."""
        (given, units), tree = work, self._tree
        bound = min(batch["bound"] for batch in given["batches"])
        incumbent = Incumbent(tree, given["initial"], min(given["upper"], _value(control.shared)), None)

        def announce() -> None:
            assert incumbent.solution is not None
            control.report({"solution": incumbent.solution.tolist(), "value": incumbent.value}, at_once=True)

        run = TaskContext(self._seed, control, _OF_A_TASK)
        with Coordinator(self._pool, run, tree, self._options, incumbent, units, bound, announce) as search:

            def take_over() -> None:
                """A value that another worker has found."""
                value = _value(control.shared)
                if value < incumbent.value:
                    incumbent.value, incumbent.solution = value, None
                    search.lower_upper(value)

            run.on_poll = take_over

            open_units = Units.none(tree.items)
            try:
                search.run()
            except StopRequested:
                open_units = search.halt()
            counters = {name: search.counters.get(name, 0) for name in _COUNTERS}
            return {
                "explored": search.explored.tolist(),
                "open": open_units,
                "bound": max(bound, search.bound),
                "counters": counters,
                "solution": None if incumbent.solution is None else incumbent.solution.tolist(),
                "value": incumbent.value,
            }


def _value(shared: Any) -> int:
    return (1 << 62) if shared is None else int(shared)
