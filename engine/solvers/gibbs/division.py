"""Chains divided among the workers of a cluster, with the draws of one machine.

The start and, for the kernel ``hmc``, the warm-up need all chains together and are done by one worker. Then each worker
has a group of chains: four, as many as share a pass over X on a GPU, or fewer on CPUs, whose sums do not depend on it.
Groups go ahead of each other up to the next but one check of convergence; draws are taken in when all groups have them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ...base.context import Checkpoint, RunContext
from ...base.division import ClusterInfo, DividedRun, TaskContext, TaskControl, TaskRunner
from ...base.result import Result, Status
from ...devices import DevicePool
from ...errors import AuditError
from . import solve as single
from .begin import begin, restore_chains
from .checkpoint import Start, checkpoint_of, restore, snapshot_of
from .choice import with_kernel
from .design.layout import chain_groups
from .design.lines import Lines
from .design.matrix import Design
from .device.chains import STATE, Recorded
from .device.sampler import Sampler
from .draws.diagnostics import CHECKS, check_points
from .draws.summary import posterior_of
from .options import REFRESH, Options
from .problem import HorseshoeProbit
from .reporting import Reporter, report_design
from .schema import CheckpointState
from .validate import settings_for

Arrays = dict[str, NDArray[Any]]

_TOGETHER = 4
_ADAPTED = ("weight", "curvature", "control", "small", "mode_auxiliary")
_OF_A_TASK = ("eta", "r_hat", "ess", "ess_per_second")
"""Metrics that are of all chains, of which a task has some."""


def _common_from(options: Options) -> int:
    """The first iteration at which chains can be divided: nothing is adapted any more, and a run can be resumed."""
    return -(-options.warmup // REFRESH) * REFRESH if options.kernel in ("hmc", "cg") else 0


@dataclass
class _Group:
    """A group of chains: what has come of it and is not taken in yet."""

    first: int
    count: int
    done: int  # the iteration it has come to
    states: dict[int, Arrays]  # of its chains by iteration, multiples of REFRESH
    rows: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    failed: int = 0
    out: bool = False


class DividedSampling(DividedRun):
    """All chains of a run: draws, checks of convergence, checkpoints."""

    def __init__(self, problem: HorseshoeProbit, options: Options, run: RunContext, cluster: ClusterInfo) -> None:
        asked, limit = options.kernel, math.inf if cluster.simt else run.time_left  # costs are those of CPUs
        options = with_kernel(problem, options, (), limit, run.restored)
        self._options, self._run = options, run
        self._design = Design.of(problem, options)
        self._state, self._reporter = single.new_state(self._design, options), Reporter(options, run)
        report_design(run, self._design, options, asked)
        each = _TOGETHER if cluster.simt else max(1, min(_TOGETHER, options.chains // max(1, cluster.count)))
        self._shares = list(chain_groups(options.chains, each))
        self._groups: list[_Group] = []
        self._checkpoint: tuple[Arrays, dict[str, Any]] | None = None
        self._common: dict[str, Any] = {}
        self._has_lines = options.kernel != "hmc"
        self._is_out = self._converged = False
        if len(self._shares) < cluster.count:
            run.notice(
                f"{options.chains} chains keep {len(self._shares)} of {cluster.count} workers busy: "
                f"{each} share every pass over X. Set chains to more for more draws in the same time"
            )
        if run.restored is not None:
            self._restore(run.restored, "the run folder")

    @override
    def options_of_tasks(self, options: Options) -> Options:
        return self._options

    # --- what there is to do --------------------------------------------------------------------------------------

    @property
    def _total(self) -> int:
        return self._state.warmup + self._options.most_draws * self._options.thin

    @property
    def _checks(self) -> list[int]:
        options = self._options
        return [self._state.warmup + draws * options.thin for draws in check_points(options.most_draws)]

    @property
    @override
    def finished(self) -> bool:
        return self._converged or self._state.iteration >= self._total

    @override
    def take(self, slots: int, seconds: float) -> dict[str, Any] | None:
        """The start and the warm-up; then one group of chains after the other."""
        if not self._groups:
            if self._is_out:
                return None
            self._is_out = True
            return {"kind": "start", "checkpoint": self._checkpoint}
        limit = self._limit()
        for group in sorted(self._groups, key=lambda one: one.done):
            if not group.out and group.done < limit:
                group.out = True
                return {
                    "kind": "draws",
                    "first": group.first,
                    "count": group.count,
                    "from": group.done,
                    "until": limit,
                    "warmup": self._state.warmup,
                    "chains": group.states[group.done],
                    "common": self._common,
                    "lines": not self._has_lines,
                }
        return None

    def _limit(self) -> int:
        """How far groups may go: to the next but one check, where the draws may end."""
        if self._options.draws is not None:
            return self._total
        coming = [check for check in self._checks if check > self._state.iteration]
        wanted = coming[min(1, len(coming) - 1)] if coming else self._total
        return min(self._total, -(-wanted // REFRESH) * REFRESH)

    @override
    def put_back(self, work: Mapping[str, Any]) -> None:
        if work["kind"] == "start":
            self._is_out = False
        else:
            self._group_of(work).out = False

    def _group_of(self, work: Mapping[str, Any]) -> _Group:
        return next(group for group in self._groups if group.first == work["first"])

    # --- answers --------------------------------------------------------------------------------------------------

    def accept(self, work: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Take in a checkpoint of the warm-up, or draws of a group."""
        if answer.get("lines") is not None:
            start = replace(self._state.start, lines=answer["lines"])
            self._state = replace(self._state, start=start)
            self._has_lines = True
        if work["kind"] == "start":
            self._is_out = False
            self._restore(Checkpoint(answer["arrays"], answer["scalars"], 0.0), "a worker's answer")
            return
        group, done = self._group_of(work), int(answer["done"])
        rows: NDArray[np.float64] = answer["rows"]
        shape = (len(answer["iterations"]), group.count, rows.shape[2] if rows.ndim == 3 else -1)
        if rows.shape != shape or not group.done < done <= work["until"] or done not in answer["states"]:
            raise AuditError(f"a task of the chains from {group.first} on was answered with other draws")
        if not np.isfinite(rows).all():
            raise AuditError("a chain has reached a number that is not finite")
        group.out, group.done = False, done
        group.failed += int(answer["failed"])
        group.states |= answer["states"]
        group.rows.update(zip(answer["iterations"], rows, strict=True))
        self._take_in()

    def _restore(self, checkpoint: Checkpoint, source: str) -> None:
        """Continue from a checkpoint of all chains: with the warm-up, or with the groups."""
        state = self._state = restore(self._state, checkpoint, self._options, source)
        arrays = checkpoint.arrays
        scalars = state.origin.model_dump()
        self._checkpoint = (arrays, scalars)
        if state.iteration < min(_common_from(self._options), self._total):
            self._run.progress("warm-up", state.iteration, self._options.warmup, "iterations")
            return
        self._common = {name: arrays[name] for name in ("mode", *_ADAPTED) if name in arrays}
        self._common["scalars"] = scalars
        for first, count in self._shares:
            chains = {name: arrays[name][first : first + count] for name in STATE}
            self._groups.append(_Group(first, count, state.iteration, {state.iteration: chains}))
        self._note_snapshot()

    def _take_in(self) -> None:
        """Take in the draws that all groups have, up to the next multiple of REFRESH after the next."""
        options = self._options
        while not self.finished:
            begin = self._state.iteration
            end = min(self._total, begin - begin % REFRESH + REFRESH)
            if min(group.done for group in self._groups) < end:
                return
            stops = [check for check in self._checks if begin < check < end and options.draws is None]
            for first, last in zip([begin, *stops], [*stops, end], strict=True):
                self._take_between(first, last)
                if options.draws is None and last in self._checks:
                    convergence = single.checked(options, self._state, self._reporter)
                    self._state = replace(self._state, convergence=convergence)
                    self._converged = convergence.passed >= CHECKS
                    if self._converged:
                        return
            self._note_snapshot()
            self._reporter.progress(self._state, self._total)

    def _take_between(self, first: int, last: int) -> None:
        """Take in the draws of iterations from ``first`` to before ``last``."""
        state = self._state
        iterations = [at for at in range(first, last) if at in self._groups[0].rows]
        if iterations:
            rows = np.array([np.concatenate([one.rows.pop(at) for one in self._groups]) for at in iterations])
            failed = sum(group.failed for group in self._groups)
            state = single.take(state, iterations, rows, failed, self._reporter)
        passes = state.passes + single.passes_of(self._options, state, last - first)
        self._state = replace(state, iteration=last, passes=passes)

    def _note_snapshot(self) -> None:
        """Remember this point for checkpoints; states of the groups before it are forgotten."""
        state, at = self._state, self._state.iteration
        if any(at not in group.states for group in self._groups):
            return  # the end of a run whose length is no multiple of REFRESH
        chains = {name: np.concatenate([group.states[at][name] for group in self._groups]) for name in STATE}
        adapted: dict[str, Any] = {name: self._common[name] for name in _ADAPTED[:3] if name in self._common}
        if adapted:
            scalars = self._common["scalars"]
            adapted |= {name: scalars[name] for name in ("averaged", "averaging", "adapting", "steps")}
        self._state = replace(state, snapshot=snapshot_of(state, chains, adapted))
        for group in self._groups:
            group.states = {when: chains for when, chains in group.states.items() if when >= at}

    # --- the run's own --------------------------------------------------------------------------------------------

    @override
    def checkpoint(self) -> tuple[dict[str, Any], Any] | None:
        if self._state.snapshot is not None:
            return checkpoint_of(self._state, self._state.snapshot, 0)
        return self._checkpoint

    def result(self, status: Status | None) -> Result:
        """The posterior of the draws that all groups have."""
        return posterior_of(self._options, self._run, self._state, status or Status.COMPLETE)


class SamplingTasks(TaskRunner):
    """Samples chains on the devices of a worker, by options whose kernel is chosen; keeps the last group's sampler."""

    def __init__(self, problem: HorseshoeProbit, options: Options, seed: int, pool: DevicePool) -> None:
        self._options, self._seed, self._pool = options, seed, pool
        self._design = Design.of(problem, options)
        self._settings = settings_for(self._design, options, seed)
        self._sampler: Sampler | None = None
        self._holds: tuple[int, int, int] | None = None
        self._failed, self._lines = 0, Lines()

    def close(self) -> None:
        """Free the sampler's memory."""
        self._holds = None
        if self._sampler is not None:
            self._sampler.__exit__(None, None, None)
        self._sampler = None

    def _context_of(self, control: TaskControl) -> TaskContext:
        """A context that is not stopped within an iteration: the task ends at the next multiple of REFRESH."""
        endless = TaskControl(float("inf"), control.send, control.interval)
        return TaskContext(self._seed, endless, _OF_A_TASK)

    def compute(self, work: Mapping[str, Any], control: TaskControl) -> dict[str, Any]:
        """A part of the warm-up, or draws of a group of chains."""
        return self._start(work, control) if work["kind"] == "start" else self._draw(work, control)

    def _start(self, work: Mapping[str, Any], control: TaskControl) -> dict[str, Any]:
        self.close()
        options, run = self._options, self._context_of(control)
        state = single.new_state(self._design, options)
        arrays = None
        if work["checkpoint"] is not None:
            arrays, scalars = work["checkpoint"]
            state = restore(state, Checkpoint(arrays, scalars, 0.0), options, "the run folder")
        began, last, reporter = state.iteration, _common_from(options), Reporter(options, run)
        with Sampler(self._pool, self._design, self._settings) as sampler:
            state = begin(run, sampler, state, reporter, arrays)

            def ends(iteration: int) -> bool:
                return iteration >= last or (control.ended and iteration > began)

            state = single.sample(run, sampler, state, reporter, ends=ends)
            state = single.take(state, *sampler.collect(), reporter)
            snapshot = snapshot_of(state, *sampler.snapshot())
            arrays, scalars = checkpoint_of(state, snapshot, sampler.exchanged_bytes())
        return {"arrays": arrays, "scalars": scalars, "lines": state.start.lines}

    def _draw(self, work: Mapping[str, Any], control: TaskControl) -> dict[str, Any]:
        sampler = self._prepared(work)
        kept_from, until = int(work["warmup"]), int(work["until"])
        at = int(work["from"])
        found: list[Recorded] = []
        states: dict[int, Arrays] = {}
        while at < until:
            count = min(REFRESH - at % REFRESH, until - at)
            found.append(sampler.advance(at, count, kept_from))
            at += count
            found.append(sampler.collect())
            states[at] = sampler.state()
            if control.ended and at % REFRESH == 0:
                break
        self._holds = (int(work["first"]), int(work["count"]), at)
        found = [batch for batch in found if batch[0]]
        before, self._failed = self._failed, found[-1][2] if found else self._failed
        iterations = [iteration for batch in found for iteration in batch[0]]
        rows = np.concatenate([batch[1] for batch in found]) if found else np.zeros((0, int(work["count"]), 1))
        lines = self._lines if work["lines"] else None
        done = {"done": at, "iterations": iterations, "rows": rows, "states": states}
        return {**done, "failed": self._failed - before, "lines": lines}

    def _prepared(self, work: Mapping[str, Any]) -> Sampler:
        """A sampler with the chains of a task: the one that was left there, or another."""
        first, count, at = int(work["first"]), int(work["count"]), int(work["from"])
        if self._sampler is not None and self._holds == (first, count, at):
            return self._sampler
        self.close()
        settings = replace(self._settings, chains=count, first_chain=first)
        sampler = self._sampler = Sampler(self._pool, self._design, settings)
        common = work["common"]
        saved = CheckpointState.model_validate(common["scalars"])
        start = Start(common["mode"], common.get("mode_auxiliary", np.zeros(0)))
        arrays = {**work["chains"], **{name: common[name] for name in _ADAPTED if name in common}}
        context, small = self._context_of(TaskControl(float("inf"))), common.get("small", np.zeros(0))
        self._lines = restore_chains(context, sampler, start, small, arrays, saved).lines
        self._failed = 0
        return sampler
