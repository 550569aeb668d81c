"""Sampling one posterior: warm-up, draws, checks of convergence, events, checkpoints, the result."""

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...base.context import Checkpoint, RunContext, StopRequested
from ...base.result import Status
from ...devices import DevicePool
from ...devices.pool.slices import SliceLength
from ...errors import AuditError, DeviceLost, OutOfDeviceMemory
from .begin import METRIC_WARMUP, MOSTLY, begin
from .checkpoint import Adaptation, Convergence, RunState, checkpoint_of, restore, save, snapshot_of
from .choice import is_wide, moves_latent, moves_local, with_kernel
from .design.matrix import Design
from .device.records import CHAIN
from .device.sampler import Sampler
from .device.worker import Worker
from .draws.diagnostics import CHECKS, check_points, mixing_of
from .draws.store import Draws
from .draws.summary import posterior_of
from .moves.independence import are_independent
from .moves.rescale import rescale_interval
from .options import REFRESH, Options
from .posterior import Posterior
from .problem import HorseshoeProbit
from .reporting import Rate, Reporter, report_design, report_streamed
from .validate import chosen_coefficients, settings_for

Floats = NDArray[np.float64]

_SNAPSHOT_INTERVAL = 2.0
_SMALL = 3.0  # in units of tau


def solve(problem: HorseshoeProbit, options: Options, pool: DevicePool, run: RunContext) -> Posterior:
    """Draw from the posterior, with other devices where one is lost; the draws so far where the run is stopped."""
    asked = options.kernel
    options = with_kernel(problem, options, [member.info for member in pool.members], run.time_left, run.restored)
    run.progress("columns", 0, 1)
    run.poll()
    design = Design.of(problem, options, run.poll)
    report_design(run, design, options, asked)
    settings = settings_for(design, options, run.seed)
    if settings.single_device and len(pool.members) > 1:
        run.notice(f"X has more columns than rows; the kernel {options.kernel} uses {pool.members[0].label} alone")
    members, left, restored = pool.members, None, run.restored
    state, reporter, streamed = new_state(design, options), Reporter(options, run), False

    def stop() -> None:
        if run.overdue > 0.0 or run.state == "ended":  # the run has left this call
            raise StopRequested(Status.INTERRUPTED)

    def keep(found: RunState) -> None:
        nonlocal state
        state = found

    def summary(status: Status) -> Posterior:
        return posterior_of(options, run, state, status, streamed)

    while True:
        if restored is not None:  # before all else, so that a stop leaves its draws
            state = restore(state, restored, options, "the run folder")
        run.progress("upload of X", 0, 1)
        try:
            with Sampler(pool, design, settings, left, tolerant=True, between=stop) as sampler:
                streamed = report_streamed(run, design, sampler.streamed)
                run.offer(summary)
                status = Status.COMPLETE
                try:
                    keep(begin(run, sampler, state, reporter, None if restored is None else restored.arrays))
                    keep(sample(run, sampler, state, reporter, keep))
                except StopRequested as stopped:
                    status = _why(run, stopped)
                    save(run, state, sampler.exchanged_bytes())
                keep(take(state, *sampler.collect(), reporter))
                return posterior_of(options, run, state, status, streamed, sampler.exchanged_bytes())
        except StopRequested as stopped:
            return posterior_of(options, run, state, _why(run, stopped))
        except DeviceLost as lost:
            members = left = [member for member in members if member.label != lost.label]
            if not left or isinstance(lost.__cause__, OutOfDeviceMemory):
                raise lost.__cause__ or lost from None
            where = "begin again" if restored is None else f"go on from iteration {state.origin.iteration}"
            if state.snapshot is not None:  # draws do not depend on the devices
                restored = Checkpoint(*checkpoint_of(state, state.snapshot, 0), run.elapsed)
                where = f"go on from iteration {state.snapshot.scalars['iteration']}"
            state = new_state(design, options)
            run.notice(f"{lost}; the chains {where} on {', '.join(member.label for member in left)}", level="warning")


def _why(run: RunContext, stopped: StopRequested) -> Status:
    """Why the run ends, which it finds out here: the threads of the devices may not poll it."""
    try:
        run.poll()
    except StopRequested as noticed:
        return noticed.status
    return stopped.status


def new_state(design: Design, options: Options) -> RunState:
    """A run before its start."""
    quantities = design.problem.X.shape[1] + 1
    chosen = chosen_coefficients(design.problem, options)
    draws = Draws.none(options.chains, quantities, chosen, options.max_kept)
    reports = len(CHAIN.names) + len(design.auxiliary_names())
    statistics = Draws.none(options.chains, reports, None, 1 << 40)
    scales = None
    if options.keep_scales:
        scales = Draws.none(options.chains, len(design.active) - design.unpenalized, None, options.max_kept)
    return RunState(design, draws, statistics, scales, options.warmup)


# --- the iterations ---------------------------------------------------------------------------------------------


def sample(
    run: RunContext,
    sampler: Sampler,
    state: RunState,
    reporter: Reporter,
    keep: Callable[[RunState], None] = lambda state: None,
    ends: Callable[[int], bool] = lambda iteration: False,
) -> RunState:
    """Batch after batch, each about a slice long, to the end, or a multiple of REFRESH of which ``ends`` is true.

    What ends the run may be raised here; before, ``keep`` has taken the run with all draws so far.
    """
    options = sampler.settings.options
    points = check_points(options.most_draws) if options.draws is None else []
    length, kept_at = SliceLength(most=REFRESH), 0.0
    while state.iteration < state.warmup + options.most_draws * options.thin:
        step = state.iteration
        if state.origin.iteration < step <= state.warmup:
            state = replace(state, warmup=_affordable_warmup(run, state, options.warmup, reporter.rate))
        stops = [state.warmup + draws * options.thin for draws in (0, *points, options.most_draws)]
        if step <= state.warmup and (step % REFRESH == 0 or step == state.warmup):
            state = replace(state, adaptation=_adapted(sampler, state))
        if points and step in stops[1:-1] and step > state.origin.iteration:
            state = take(state, *sampler.collect(), reporter)
            if run.time_left > _summary_seconds(state):
                state = replace(state, convergence=checked(options, state, reporter))
                if state.convergence.passed >= CHECKS:
                    break
        if step % REFRESH == 0:
            if ends(step):
                break
            if run.keeps_checkpoints or (sampler.has_spare and time.monotonic() - kept_at >= _SNAPSHOT_INTERVAL):
                state = take(state, *sampler.collect(), reporter)
                state = replace(state, snapshot=snapshot_of(state, *sampler.snapshot()))
                kept_at = time.monotonic()
        keep(state)
        run.poll()
        if state.snapshot is not None and step % REFRESH == 0 and run.checkpoint_due():
            save(run, state, sampler.exchanged_bytes())
        following = min(stop for stop in stops if stop > step)
        count = min(length.amount, REFRESH - step % REFRESH, following - step)
        began = time.monotonic()
        rows = sampler.advance(step, count, state.warmup)
        if options.kernel == "cg":
            passes = state.origin.passes + sampler.workers.first(Worker.passes)
        else:
            passes = state.passes + passes_of(options, state, count)
        state = take(replace(state, iteration=step + count, passes=passes), *rows, reporter)
        keep(state)
        took = time.monotonic() - began
        length.took(took, count)
        run.reserve(_summary_seconds(state) + took)  # a batch is under way
        reporter.progress(state, stops[-1])
    return state


def _affordable_warmup(run: RunContext, state: RunState, asked: int, of_late: Rate) -> int:
    """The warm-up, or what leaves as many iterations for draws within the time limit."""
    rate = of_late.at(time.monotonic(), state.iteration)
    if rate is None or math.isinf(run.time_left):
        return state.warmup
    possible = state.iteration + run.time_left * rate
    warmup = min(asked, max(state.iteration, int(0.5 * possible)))
    if state.iteration == warmup < asked:
        run.notice(
            f"the time limit leaves {warmup} of {asked} iterations for the warm-up: the draws may still "
            "depend on where the chains began",
            level="warning",
        )
    return warmup


def _summary_seconds(state: RunState) -> float:
    chains, quantities = state.draws.shape
    return state.convergence.value_seconds * chains * quantities * state.draws.count / state.draws.every


def _metric_points(options: Options) -> list[int]:
    """Iterations of the warm-up at which the metric of the kernel ``hmc`` is made anew."""
    if options.warmup < METRIC_WARMUP:
        return []
    points = {options.warmup * part // 8 // REFRESH * REFRESH for part in (1, 2, 4, 6)}
    return sorted(points - {0})


def _adapted(sampler: Sampler, state: RunState) -> Adaptation:
    """Which coefficients are small, the length and number of steps so far, another metric; in the end all is final."""
    options, adaptation, step = sampler.settings.options, state.adaptation, state.iteration
    points = _metric_points(options)
    if options.kernel not in ("hmc", "cg"):
        return adaptation
    if step > state.origin.iteration or not len(adaptation.small):
        small = small_coefficients(adaptation.small, sampler.state(), state.design.first)
        adaptation = replace(adaptation, small=small)
        sampler.set_small(small > MOSTLY)
    if options.kernel == "cg" or sampler.settings.latent:
        return adaptation
    if step == state.warmup:
        return replace(adaptation, steps=sampler.choose_steps(last=True)[1]) if step else adaptation
    if step == 0 or step <= state.origin.iteration:
        return adaptation
    found, steps = sampler.choose_steps(last=False)
    if step in points:
        sampler.take_weights()
        sampler.adapt(averaging=step != points[-1], restart=found)
    return replace(adaptation, steps=steps)


def small_coefficients(before: Floats, chains: dict[str, Floats], first: int) -> Floats:
    """How often each coefficient was small beside tau, in the chains now and, half as much, before; (q,)."""
    tau_precision = CHAIN.view(chains["chain_state"])["tau_precision"]
    now = (np.abs(chains["beta"]) * np.sqrt(tau_precision[:, None]) < _SMALL).mean(axis=0)
    now[:first] = 0.0
    return np.asarray(0.5 * (before + now) if len(before) else now)


def passes_of(options: Options, state: RunState, count: int) -> int:
    """Passes over X of the next iterations."""
    if options.kernel != "hmc":
        latent = moves_local(state.design, options) and not state.design.family.targeted
        return count * (3 + latent if is_wide(state.design, options) else 1)
    if moves_latent(state.design, options):
        return count * (5 if (state.adaptation.small > MOSTLY).any() else 4)
    every = rescale_interval(state.design.layout.rows, state.design.layout.columns)
    rescaled = (state.iteration + count - 1) // every - (state.iteration - 1) // every
    renewed = count if state.start.lines.count else rescaled
    each = state.adaptation.steps + are_independent(state.design.layout.columns, options)
    return count * each + renewed + rescaled * bool((state.adaptation.small > MOSTLY).any())


def checked(options: Options, state: RunState, reporter: Reporter) -> Convergence:
    """Whether the targets are met, at this check too; all quantities are looked at if the worst are good."""
    before, watched, value_seconds = state.convergence, state.convergence.watched, state.convergence.value_seconds
    began, found = time.monotonic(), mixing_of(state.draws, state.statistics, watched)
    if len(watched) and (found is None or found.reaches(options.ess, options.r_hat)):
        watched = np.zeros(0, np.int64)
        began, found = time.monotonic(), mixing_of(state.draws, state.statistics)
    if not len(watched):
        value_seconds *= 1.5 * (time.monotonic() - began) / max(1e-9, _summary_seconds(state))
    if found is None:
        return replace(before, passed=0, watched=watched, value_seconds=value_seconds)
    reporter.mixing(found)
    return Convergence(
        passed=before.passed + 1 if found.reaches(options.ess, options.r_hat) else 0,
        watched=watched if len(watched) else found.watched,
        expected=int(state.draws.count * max(1.25, 1.25 * options.ess / max(found.ess, 1.0))),
        value_seconds=value_seconds,
    )


def take(state: RunState, iterations: list[int], rows: Floats, failed: int, reporter: Reporter) -> RunState:
    """The run with draws that have come from the devices."""
    if not iterations:
        return state
    q, first = state.design.layout.columns, state.design.first
    failed += state.origin.failed
    if not np.isfinite(rows).all():
        bad = iterations[int(np.argmin(np.isfinite(rows).all(axis=(1, 2))))]
        raise AuditError(
            f"a chain has reached a number that is not finite in iteration {bad}; "
            f"{failed} Cholesky factorisations have failed so far"
        )
    if failed > state.failed:
        reporter.failures(failed - state.failed)
    reporter.trace(state, iterations[-1], rows[-1])
    kept = rows[np.array(iterations) >= state.warmup]
    after = q + state.statistics.shape[1]
    return replace(
        state,
        failed=max(failed, state.failed),
        draws=state.draws.with_rows(state.design.unscaled(kept[:, :, :q])),
        statistics=state.statistics.with_rows(kept[:, :, q:after]),
        scales=state.scales and state.scales.with_rows(-0.5 * np.log(kept[:, :, after + first :])),
    )
