"""Sampling one posterior: warm-up, draws, checks of convergence, events, checkpoints, the result."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...base.context import Checkpoint, RunContext, StopRequested
from ...base.result import Status
from ...devices import DevicePool, Member
from ...devices.info import bytes_text
from ...devices.pool.slices import SliceLength
from ...errors import AuditError, DeviceLost, OutOfDeviceMemory
from .begin import METRIC_WARMUP, MOSTLY, TRACED, begin
from .checkpoint import RunState, Snapshot, checkpoint_of, snapshot_of
from .choice import is_wide, moves_latent, with_kernel
from .design.matrix import Design
from .device.records import CHAIN
from .device.sampler import Sampler
from .device.worker import Worker
from .draws.convergence import CHECKS, check_points, mixing_of
from .draws.store import Draws
from .draws.summary import posterior_of
from .moves.hamiltonian import rescale_interval
from .notices import failure_text, report_design, report_kernel
from .options import REFRESH, Options
from .posterior import Posterior
from .problem import HorseshoeProbit
from .reporting import report_mixing, report_progress, trace
from .schema import CheckpointState
from .validate import chosen_coefficients, settings_for

__all__ = ["solve"]

Floats = NDArray[np.float64]

_TRACE_INTERVAL = 0.1
_SNAPSHOT_INTERVAL = 2.0
_SMALL = 3.0  # in units of tau


def solve(problem: HorseshoeProbit, options: Options, pool: DevicePool, run: RunContext) -> Posterior:
    """Draw from the posterior of a horseshoe probit regression.

    Parameters
    ----------
    pool : DevicePool
        Up to eight devices, which divide the rows among them.

    Returns
    -------
    Posterior
        Complete, or with the draws so far if the run was stopped.

    Raises
    ------
    engine.errors.AuditError
        If a chain has reached a number that is not finite.
    engine.errors.DeviceError
        If the last device fails; the draws up to the last checkpoint are in the run folder. While there are others,
        the chains go on with them.
    """
    asked, options = options.kernel, with_kernel(problem, options, [member.info for member in pool.members])
    run.progress("columns", 0, 1)
    run.poll()
    design = Design.of(problem, options, run.poll)
    report_design(run, design, options)
    if asked == "auto":
        report_kernel(run, design, options.kernel)
    settings = settings_for(design, options, run.seed)
    if settings.single_device and len(pool.members) > 1:
        run.notice(f"X has more columns than rows; the kernel {options.kernel} uses {pool.members[0].label} alone")
    members, left = pool.members, None
    state = _new_state(design, options)
    state.notified = run.restored is not None
    while True:
        state.others = len(members) > 1
        run.progress("upload of X", 0, 1)
        try:
            with Sampler(pool, design, settings, left, tolerant=True) as sampler:
                return _draw(problem, options, run, sampler, state)
        except DeviceLost as lost:
            members = left = _others(lost, members)
            state = _state_without(state, options, run, lost, members)


def _draw(problem: HorseshoeProbit, options: Options, run: RunContext, sampler: Sampler, state: RunState) -> Posterior:
    """All draws, or those up to a stop."""
    design, status, streamed = state.design, Status.COMPLETE, sampler.streamed
    if streamed:
        size = design.layout.strips * design.layout.strip_rows * design.layout.stride
        size *= 4 if design.storage == "float32" else 2
        run.notice(
            f"X ({bytes_text(size)}) is sent from host memory to {', '.join(streamed)} at every iteration; "
            "about a second for 25 to 50 GB. More chains share each pass",
            level="warning",
        )

    def summary(status: Status) -> Posterior:
        with state.lock:
            return posterior_of(problem, options, run, state, status, bool(streamed), state.exchanged_before)

    run.offer(summary)
    try:
        snapshot = begin(options, run, sampler, state)
        _sample(options, run, sampler, state, snapshot)
    except StopRequested as stop:
        status = stop.status
    _take(options, run, state, *sampler.collect())
    exchanged = state.exchanged_before + sampler.exchanged_bytes()
    return posterior_of(problem, options, run, state, status, bool(streamed), exchanged)


def _others(lost: DeviceLost, members: list[Member]) -> list[Member]:
    """The devices that can go on; the error of the one that is lost if there are none, or its memory was too small."""
    left = [member for member in members if member.label != lost.label]
    if not left or isinstance(lost.__cause__, OutOfDeviceMemory):
        raise lost.__cause__ or lost from None
    return left


def _state_without(
    state: RunState, options: Options, run: RunContext, lost: DeviceLost, left: list[Member]
) -> RunState:
    """What the other devices go on from: the last snapshot, for the draws do not depend on the devices."""
    again = _new_state(state.design, options)
    again.restored, again.notified = state.restored or run.restored, state.notified
    if state.snapshot is not None:
        again.restored = Checkpoint(*checkpoint_of(state, state.snapshot, state.exchanged_before), run.elapsed)
    where = "begin again"
    if again.restored is not None:
        saved = CheckpointState.model_validate(again.restored.state, from_attributes=True)
        where = f"go on from iteration {saved.iteration}"
    run.notice(f"{lost}; the chains {where} on {', '.join(member.label for member in left)}", level="warning")
    return again


def _new_state(design: Design, options: Options) -> RunState:
    quantities = design.problem.X.shape[1] + 1
    chosen = chosen_coefficients(design.problem, options)
    most = options.most_draws
    draws = Draws(options.chains, quantities, most, chosen, options.max_kept)
    reports = len(CHAIN.names) + len(design.auxiliary_names())
    statistics = Draws(options.chains, reports, most, None, 1 << 40)
    scales = None
    if options.keep_scales:
        scales = Draws(options.chains, len(design.active), most, None, options.max_kept)
    traced = np.arange(min(TRACED, quantities)) if chosen is None else chosen[:TRACED]
    return RunState(design, draws, statistics, scales, traced)


# --- the iterations ---------------------------------------------------------------------------------------------


def _sample(
    options: Options,
    run: RunContext,
    sampler: Sampler,
    state: RunState,
    snapshot: Snapshot | None,
    ends: Callable[[int], bool] = lambda iteration: False,
) -> Snapshot | None:
    """Batch after batch, each about a slice long, up to the next point where something is decided.

    Returns a snapshot at the first multiple of REFRESH of which ``ends`` is true.
    """
    total = options.warmup + options.most_draws * options.thin
    checks = {options.warmup + draws * options.thin for draws in check_points(options.most_draws)}
    stops = sorted({options.warmup, total} | (checks if options.draws is None else set()))
    length = SliceLength(most=REFRESH)
    while state.iteration < total:
        step = state.iteration
        if step <= options.warmup and (step % REFRESH == 0 or step == options.warmup):
            _adapt(options, sampler, state)
        if options.draws is None and step in checks and step > state.began_at:
            _take(options, run, state, *sampler.collect())
            if run.time_left > _summary_seconds(state) and _has_converged(options, run, state):
                break
        leave = step % REFRESH == 0 and ends(step)
        if leave or (step % REFRESH == 0 and _is_kept(run, state)):
            _take(options, run, state, *sampler.collect())
            snapshot = state.snapshot = snapshot_of(sampler, state)
            state.snapshot_at = time.monotonic()
        if leave:
            return snapshot
        _poll(run, sampler, state, snapshot)
        if snapshot is not None and step % REFRESH == 0 and run.checkpoint_due():
            _save(run, sampler, state, snapshot)
        following = min(stop for stop in stops if stop > step)
        count = min(length.amount, REFRESH - step % REFRESH, following - step)
        began = time.monotonic()
        passes = sampler.workers.first(Worker.passes) if options.kernel == "cg" else 0
        rows = sampler.advance(step, count, options.warmup)
        state.iteration += count
        if options.kernel == "cg":
            state.passes += sampler.workers.first(Worker.passes) - passes
        else:
            state.passes += _passes(options, state, step, count)
        _take(options, run, state, *rows)
        length.took(time.monotonic() - began, count)
        run.reserve(_summary_seconds(state))
        report_progress(options, run, state, total)
    return None


def _summary_seconds(state: RunState) -> float:
    """What it takes to diagnose all the draws so far."""
    chains, quantities = state.draws.shape
    return state.value_seconds * chains * quantities * state.draws.count / state.draws.every


def _is_kept(run: RunContext, state: RunState) -> bool:
    """Whether a snapshot is due: for a run folder, or now and then for the case that one of several devices fails."""
    due = state.others and time.monotonic() - state.snapshot_at >= _SNAPSHOT_INTERVAL
    return due or run.keeps_checkpoints


def _poll(run: RunContext, sampler: Sampler, state: RunState, snapshot: Snapshot | None) -> None:
    """Pause, stop or go on; a stop leaves a checkpoint."""
    try:
        run.poll()
    except StopRequested:
        if snapshot is not None:
            _save(run, sampler, state, snapshot)
        raise


def _save(run: RunContext, sampler: Sampler, state: RunState, snapshot: Snapshot) -> None:
    run.save_checkpoint(*checkpoint_of(state, snapshot, state.exchanged_before + sampler.exchanged_bytes()))


def _metric_points(options: Options) -> list[int]:
    """Iterations of the warm-up at which the metric of the kernel ``hmc`` is made anew."""
    if options.warmup < METRIC_WARMUP:
        return []
    points = {options.warmup * part // 8 // REFRESH * REFRESH for part in (1, 2, 4, 6)}
    return sorted(points - {0})


def _adapt(options: Options, sampler: Sampler, state: RunState) -> None:
    """Which coefficients are small, the length and number of steps so far, another metric; in the end all is final."""
    if options.kernel not in ("hmc", "cg"):
        return
    step, points = state.iteration, _metric_points(options)
    if step > state.began_at or not len(state.small):
        state.small = small_coefficients(state.small, sampler.state(), state.design.first)
        sampler.set_small(state.small > MOSTLY)
    if options.kernel == "cg" or sampler.settings.latent:
        return
    if step == options.warmup:
        if options.warmup:
            state.steps = sampler.choose_steps(last=True)[1]
        return
    if step == 0 or step <= state.began_at:
        return
    found, state.steps = sampler.choose_steps(last=False)
    if step in points:
        sampler.take_weights()
        sampler.adapt(averaging=step != points[-1], restart=found)


def small_coefficients(before: Floats, chains: dict[str, Floats], first: int) -> Floats:
    """How often every column's coefficient was small beside tau, in the chains now and, half as much, before; (q,).

    ``chains`` is a state, see :data:`engine.solvers.gibbs.device.chains.STATE`; the ``first`` columns are outside the
    horseshoe and never small.
    """
    tau_precision = CHAIN.view(chains["chain_state"])["tau_precision"]
    now = (np.abs(chains["beta"]) * np.sqrt(tau_precision[:, None]) < _SMALL).mean(axis=0)
    now[:first] = 0.0
    return np.asarray(0.5 * (before + now) if len(before) else now)


def _passes(options: Options, state: RunState, first: int, count: int) -> int:
    """Passes over X of so many iterations."""
    if options.kernel != "hmc":
        return count * (3 if is_wide(state.design, options) else 1)
    if moves_latent(state.design, options):
        return count * (5 if (state.small > MOSTLY).any() else 4)
    every = rescale_interval(state.design.layout.rows)
    rescaled = (first + count - 1) // every - (first - 1) // every
    renewed = count if state.lines.count else rescaled
    return count * state.steps + renewed + rescaled * bool((state.small > MOSTLY).any())


def _has_converged(options: Options, run: RunContext, state: RunState) -> bool:
    """Whether the targets are met at this check and the one before; all quantities are looked at if the worst are."""
    found = mixing_of(state.draws, state.statistics, state.watched)
    if len(state.watched) and (found is None or found.reaches(options.ess, options.r_hat)):
        began = time.monotonic()
        found = mixing_of(state.draws, state.statistics)
        state.value_seconds *= (time.monotonic() - began) / max(1e-9, _summary_seconds(state))
        state.watched = np.zeros(0, np.int64)
    if found is not None and not len(state.watched):
        state.watched = found.watched
    good = found is not None and found.reaches(options.ess, options.r_hat)
    state.passed = state.passed + 1 if good else 0
    if found is not None:
        report_mixing(run, found)
        state.expected = int(state.draws.count * max(1.25, 1.25 * options.ess / max(found.ess, 1.0)))
    return state.passed >= CHECKS


def _take(options: Options, run: RunContext, state: RunState, iterations: list[int], rows: Floats, failed: int) -> None:
    """Take over draws that have come from the devices."""
    if not iterations:
        return
    q = state.design.layout.columns
    failed += state.failed_before
    if not np.isfinite(rows).all():
        bad = iterations[int(np.argmin(np.isfinite(rows).all(axis=(1, 2))))]
        raise AuditError(
            f"a chain has reached a number that is not finite in iteration {bad}; "
            f"{failed} Cholesky factorisations have failed so far"
        )
    if failed > state.failed:
        run.notice(failure_text(options.kernel, failed - state.failed), level="warning")
        state.failed = failed
    kept = rows[np.array(iterations) >= options.warmup]
    if len(kept):
        with state.lock:
            state.draws.add(state.design.unscaled(kept[:, :, :q]))
            reports = state.statistics.shape[1]
            state.statistics.add(kept[:, :, q : q + reports])
            if state.scales is not None:
                first = q + reports + state.design.first
                state.scales.add(-0.5 * np.log(kept[:, :, first:]))
    now = time.monotonic()
    if now - state.traced_at >= _TRACE_INTERVAL:
        state.traced_at = now
        trace(run, state, iterations[-1], rows[-1])
