"""The report of a search to its run: figures of every device, the estimate, and the proven bound."""

import threading
import time
from collections.abc import Callable, Sequence

from ....base.context import RunContext
from ..intervals import Units
from ..tree import Tree
from .frontier import FrontierSnapshot, IntervalBounds, proven_bound
from .members import SnapshotSchedule, Store, WorkerState, share_of
from .messages import Report
from .profile import DepthProfiles
from .progress import SearchEstimate
from .sharing import Sharing

_SNAPSHOT_SECONDS = 0.02


class Reporting:
    """The reports of one search; ``bound``, proved so far, never falls.

    ``workers`` is the coordinator's own list, which shrinks where a device is lost, and ``changed`` its lock, under
    which ``upper`` gives the best value found by now. ``nodes`` were decomposed in earlier starts of the run.
    """

    def __init__(
        self,
        run: RunContext,
        tree: Tree,
        initial: int,
        workers: list[WorkerState],
        store: Store,
        sharing: Sharing,
        changed: threading.Condition,
        bound: int,
        nodes: int,
        upper: Callable[[], int],
        proved: Callable[[], None],
    ) -> None:
        self._run = run
        self._tree = tree
        self._workers = workers
        self._store = store
        self._sharing = sharing
        self._changed = changed
        self._interval_bounds = IntervalBounds(tree, initial)
        self._nodes_before = nodes
        self._upper, self._proved = upper, proved
        self._announced: list[WorkerState] = []
        began = time.perf_counter()
        self.bound = bound
        self.schedule = SnapshotSchedule(began)
        self.estimate = SearchEstimate(began, run.seed, tree.items)
        self.profiles = DepthProfiles(began)

    def publish(self, reports: Sequence[tuple[WorkerState, Report, float]], nodes: int) -> None:
        """Publish what the devices have reported, each with the share of its time that it spent stealing."""
        for worker, report, stealing in reports:
            label = worker.member.label
            self._run.metric("active_ivms", report.active, label)
            self._run.metric("stealing_share", stealing, label)
            self._run.metric("steals", report.steals, label)
            self._run.metric("nodes_per_second", worker.rate, label)
            self._run.metric("explored_here", worker.explored, label)
            self.profiles.take(worker, report.active, report.profile, self._run)
        self._announce_dropped()
        if reports:
            self._publish_shares()
            self._publish_progress(nodes)
        for worker, report, _ in reports:
            if report.frontier is not None:
                self.prove(worker, report.frontier, _SNAPSHOT_SECONDS)

    def end(self, nodes: int, left: Units) -> None:
        """Publish that nothing is left, or nothing that matters."""
        nodes += self._nodes_before
        if nodes:
            self._run.metric("explored_share", 1.0 - share_of(left))
            self._run.progress("search", nodes, nodes, "nodes", seconds_left=(0.0, 0.0, 0.0))

    def _announce_dropped(self) -> None:
        with self._changed:
            dropped = [worker for worker in self._workers if worker.dropped and worker not in self._announced]
            self._announced += dropped
        for worker in dropped:
            part = worker.full_rate / max(1e-9, sum(one.full_rate for one in self._workers))
            self._run.notice(
                f"{worker.member.label} contributes {100 * part:.1f} % of the pool's node rate; it gets no more work",
                level="warning",
            )

    def _publish_shares(self) -> None:
        with self._changed:
            open_share = sum(worker.open_share for worker in self._workers) + share_of(self._store.units)
            moved = dict(self._sharing.moved)
        self._run.metric("explored_share", max(0.0, 1.0 - open_share))
        self._run.metric("exchanged_intervals", sum(moved.values()))
        if len(self._workers) > 1:
            for kind, count in moved.items():
                self._run.metric(f"steals_{kind}", count)

    def _publish_progress(self, nodes: int) -> None:
        with self._changed:
            remaining = self.estimate.remaining(nodes)
            rate = sum(worker.rate for worker in self._workers if worker.has_work)
        done = nodes + self._nodes_before
        if remaining is None or not rate:
            self._run.progress("search", done, 0.0, "nodes")
            return
        self._run.metric("nodes_left", remaining.nodes)
        self._run.progress("search", done, done + remaining.nodes, "nodes", seconds_left=remaining.seconds(rate))

    def prove(self, worker: WorkerState, frontier: FrontierSnapshot, seconds: float) -> None:
        """Raise the bounds of a device and of the store by their open nodes, and with these the proven bound."""
        began = time.perf_counter()
        with self._changed:
            units = self._store.snapshot()
        stored = self._interval_bounds.proven_bound(units, seconds)
        bound = proven_bound(self._tree, frontier, seconds)
        if bound is None:
            return
        with self._changed:
            self.schedule.note(began, time.perf_counter())
            worker.prove(bound)
            if stored is not None:
                self._store.prove(stored)
            bounds = [one.bound for one in self._workers if one.has_work]
            if len(self._store):
                bounds.append(self._store.bound)
            # A device without work may have found a better value since the reports were taken.
            least = min([self._upper(), *bounds])
        if least > self.bound:
            self.bound = least
            self._proved()
