"""Sampling one posterior: the start, warm-up, draws, events, checkpoints, the answer."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import DevicePool
from engine.devices.info import bytes_text
from engine.errors import AuditError, OptionError
from engine.results import Status
from engine.run import SLICE_SECONDS, Run, StopRequested
from engine.solvers.gibbs.answer import posterior_of
from engine.solvers.gibbs.chains import REPORT, STATE, Settings
from engine.solvers.gibbs.design import Design
from engine.solvers.gibbs.diagnostics import diagnose
from engine.solvers.gibbs.draws import Draws
from engine.solvers.gibbs.options import REFRESH, Options
from engine.solvers.gibbs.posterior import Posterior
from engine.solvers.gibbs.problem import HorseshoeProbit
from engine.solvers.gibbs.run_state import RunState, checkpoint_of, restore_draws, snapshot_of
from engine.solvers.gibbs.sampler import Sampler
from engine.solvers.gibbs.start import find_mode, set_reference, start_state
from engine.solvers.gibbs.worker import Worker

__all__ = ["settings_for", "solve"]

Floats = NDArray[np.float64]

_TRACED = 6
_TELL_EVERY = 0.1
_DIAGNOSE_EVERY = 2.0
_DIAGNOSED = 2000
_REFERENCE_WARMUP = 4 * REFRESH


def settings_for(design: Design, options: Options, seed: int) -> Settings:
    """What the iterations of a run need to know."""
    return Settings(
        kernel=options.kernel,
        chains=options.chains,
        seed=seed,
        prior_precision=options.intercept_scale**-2,
        tau_scale=options.tau_scale,
        keep_scales=options.keep_scales,
        provider=None if options.provider == "auto" else options.provider,
        streaming=options.streaming,
        batch=REFRESH,
        thin=options.thin,
    )


def solve(problem: HorseshoeProbit, options: Options, pool: DevicePool, run: Run) -> Posterior:
    """Draw from the posterior of a horseshoe probit regression.

    Parameters
    ----------
    problem : HorseshoeProbit
    options : Options
    pool : DevicePool
        Up to eight devices, which share the rows.
    run : Run

    Returns
    -------
    Posterior
        Complete, or with the draws so far if the run was stopped.

    Raises
    ------
    engine.errors.InputError
        If no column can be sampled, or an option names a coefficient that is not there.
    engine.errors.OutOfDeviceMemory
        If the matrices do not fit the devices.
    engine.errors.AuditError
        If a chain has left the finite numbers.
    """
    design = Design.of(problem, options)
    state = _new_state(design, options)
    _tell_design(run, design)
    status = Status.COMPLETE
    with Sampler(pool, design, settings_for(design, options, run.seed)) as sampler:
        if sampler.streamed:
            size = design.layout.strips * design.layout.strip_rows * design.layout.stride
            size *= 4 if options.storage == "float32" else 2
            run.notice(
                f"X ({bytes_text(size)}) is sent from host memory to {', '.join(sampler.streamed)} at every iteration; "
                "about a second for 25 to 50 GB. More chains share each pass",
                level="warning",
            )
        try:
            snapshot = _begin(problem, options, run, sampler, state)
            _sample(options, run, sampler, state, snapshot)
        except StopRequested as stop:
            status = stop.status
        rows = sampler.collect()
        _take(options, run, state, *rows)
        streamed = bool(sampler.streamed)
    return posterior_of(problem, options, run, state, status, streamed)


def _new_state(design: Design, options: Options) -> RunState:
    quantities = design.problem.X.shape[1] + 1
    names = ["intercept", *design.problem.names]
    chosen = None
    if options.coefficients is not None:
        unknown = [name for name in options.coefficients if name not in names]
        if unknown:
            raise OptionError(f"there is no coefficient '{unknown[0]}' (known: {', '.join(names[:20])})")
        chosen = np.array([names.index(name) for name in options.coefficients], np.int64)
    bytes_of_draws = options.max_kept
    draws = Draws(options.chains, quantities, options.draws, chosen, bytes_of_draws)
    statistics = Draws(options.chains, len(REPORT), options.draws, None, 1 << 40)
    scales = None
    if options.keep_scales:
        scales = Draws(options.chains, len(design.active), options.draws, None, bytes_of_draws)
    traced = np.arange(min(_TRACED, quantities)) if chosen is None else chosen[:_TRACED]
    return RunState(design, draws, statistics, scales, traced)


def _tell_design(run: Run, design: Design) -> None:
    left = [name for column, name in enumerate(design.problem.names) if column not in set(design.active.tolist())]
    if left:
        some = ", ".join(f"'{name}'" for name in left[:5]) + (", ..." if len(left) > 5 else "")
        run.notice(
            f"{len(left)} column{'s are' if len(left) > 1 else ' is'} constant ({some}): nothing can be said of "
            f"{'their coefficients' if len(left) > 1 else 'its coefficient'} beside an intercept; 0 is reported",
            level="warning",
        )


# --- the start --------------------------------------------------------------------------------------------------


def _begin(
    problem: HorseshoeProbit, options: Options, run: Run, sampler: Sampler, state: RunState
) -> dict[str, Any] | None:
    """Bring the devices to the first iteration, or to where a checkpoint was."""
    run.progress("map", 0, 1, "steps")
    run.poll()
    restored = run.restored
    ellipse = options.kernel == "ellipse"
    if restored is not None:
        arrays = restored.arrays
        state.iteration, state.mode, state.reference = (
            int(restored.state["iteration"]),
            arrays["mode"],
            arrays["reference"],
        )
        restore_draws(state, arrays)
        if ellipse:
            sampler.make_gram(weighted=False)
            averaged, averaging = int(restored.state["averaged"]), bool(restored.state["averaging"])
            sampler.each(lambda worker: worker.slices.set_reference_rows(arrays, averaged, averaging))
            set_reference(sampler, state.reference)
        else:
            sampler.make_gram(weighted=False)
        chains = {name: arrays[name] for name in STATE}
        sampler.each(lambda worker: worker.chains.set_state(chains))
        state.began_at = state.iteration
        return snapshot_of(sampler, state)

    def between(step: int) -> None:
        run.progress("map", step, max(20, step + 1), "steps")
        run.poll()

    sampler.make_gram(weighted=False)
    state.mode, prior = find_mode(sampler, options.intercept_scale**-2, options.tau_scale, between)
    state.reference = state.mode
    if ellipse:
        sampler.each(lambda worker: worker.slices.refer_to(state.mode))
        set_reference(sampler, state.mode)
        sampler.first(Worker.factorise, prior)
        sampler.each(_average, options.warmup >= _REFERENCE_WARMUP)
    begin = start_state(sampler, state.mode, run.seed)
    if options.coefficients is None:
        state.traced = _most_telling(state)
    sampler.each(lambda worker: worker.chains.set_state(begin))
    run.progress("map", 1, 1, "steps")
    state.began, state.began_at = time.monotonic(), 0
    return None


def _most_telling(state: RunState) -> NDArray[np.int64]:
    """The coefficients of largest size at the mode, in the numbering of the result."""
    design = state.design
    size = np.abs(state.mode[design.first :])
    order = np.argsort(-size, kind="stable")[: _TRACED - design.first]
    chosen = 1 + design.active[order]
    return np.concatenate([[0] * design.first, chosen]).astype(np.int64)


# --- the iterations ---------------------------------------------------------------------------------------------


def _sample(options: Options, run: Run, sampler: Sampler, state: RunState, snapshot: dict[str, Any] | None) -> None:
    """Batch after batch, each about a slice long, that never pass over a point where a run can be cut."""
    total = options.warmup + options.draws * options.thin
    seconds_each = 0.0
    refer_at = _reference_points(options)
    while state.iteration < total:
        step = state.iteration
        if step % REFRESH == 0:
            if run.folder is not None or step in refer_at:
                _take(options, run, state, *sampler.collect())
            if step in refer_at and state.warming:
                _refer_anew(sampler, state, last=step == refer_at[-1])
            if run.folder is not None:
                snapshot = snapshot_of(sampler, state)
        try:
            run.poll()
        except StopRequested:
            if snapshot is not None:
                run.save_checkpoint(*checkpoint_of(state, snapshot))
            raise
        if snapshot is not None and step % REFRESH == 0 and run.checkpoint_due():
            run.save_checkpoint(*checkpoint_of(state, snapshot))
        count = 1 if seconds_each == 0 else max(1, int(SLICE_SECONDS / seconds_each))
        count = min(count, REFRESH - step % REFRESH, total - step)
        if step < options.warmup:
            count = min(count, options.warmup - step)
        began = time.monotonic()
        rows = sampler.advance(step, count, options.warmup)
        state.iteration += count
        _take(options, run, state, *rows)
        seconds_each = max((time.monotonic() - began) / count, 1e-6)
        _tell(options, run, state, total)


def _reference_points(options: Options) -> list[int]:
    """Iterations of the warm-up at which the stand-in for the likelihood is made anew; then it stays."""
    if options.kernel != "ellipse" or options.warmup < _REFERENCE_WARMUP:
        return []
    points = {options.warmup * part // 8 // REFRESH * REFRESH for part in (1, 2, 4, 6)}
    return sorted(points - {0})


def _refer_anew(sampler: Sampler, state: RunState, last: bool) -> None:
    """Let the stand-in for the likelihood have its mean slope and curvature where the chains have been since."""
    rows = np.concatenate(state.warming)
    state.reference, state.warming = rows.mean(axis=(0, 1)), []
    sampler.each(lambda worker: worker.slices.refer_to_averages())
    set_reference(sampler, state.reference)
    sampler.each(_average, not last)


def _average(worker: Worker, on: bool) -> None:
    """Whether the chains' points are averaged for another stand-in."""
    worker.slices.averaging = on


def _take(options: Options, run: Run, state: RunState, iterations: list[int], rows: Floats, failed: int) -> None:
    """Take over draws that have come from the devices."""
    if not iterations:
        return
    q = state.design.layout.columns
    if not np.isfinite(rows).all():
        bad = iterations[int(np.argmin(np.isfinite(rows).all(axis=(1, 2))))]
        raise AuditError(
            f"a chain has left the finite numbers in iteration {bad}; "
            f"{failed} Cholesky factorisations have failed so far"
        )
    if failed > state.failed:
        run.notice(
            f"{failed - state.failed} Cholesky factorisations failed and a chain kept its coefficients for these "
            "iterations: X has columns that nearly depend on each other",
            level="warning",
        )
        state.failed = failed
    warm = np.array(iterations) < options.warmup
    if warm.any() and _reference_points(options):
        state.warming.append(rows[warm][:, :, :q].copy())
    kept = rows[~warm]
    if len(kept):
        state.draws.add(state.design.unscaled(kept[:, :, :q]))
        state.statistics.add(kept[:, :, q : q + len(REPORT)])
        if state.scales is not None:
            first = q + len(REPORT) + state.design.first
            state.scales.add(-0.5 * np.log(kept[:, :, first:]))
    now = time.monotonic()
    if now - state.told >= _TELL_EVERY:
        state.told = now
        _trace(run, state, iterations[-1], rows[-1])


def _trace(run: Run, state: RunState, iteration: int, row: Floats) -> None:
    """The latest values of the traced coefficients and of log tau, chain by chain."""
    q = state.design.layout.columns
    names = ["intercept", *state.design.problem.names]
    values = state.design.unscaled(row[:, :q])[:, state.traced]
    for chain in range(min(len(row), 16)):
        run.trace("log_tau", iteration, [float(-0.5 * np.log(row[chain, q]))], chain)
        for place, number in enumerate(state.traced.tolist()):
            run.trace(names[number], iteration, [float(values[chain, place])], chain)


def _tell(options: Options, run: Run, state: RunState, total: int) -> None:
    """Progress, speed, and now and then how well the chains mix."""
    now = time.monotonic()
    step = state.iteration
    if step <= options.warmup and options.warmup:
        run.progress("warm-up", step, options.warmup, "iterations")
    else:
        run.progress("sampling", step - options.warmup, total - options.warmup, "iterations")
    rate = (step - state.began_at) / max(now - state.began, 1e-9)
    run.metric("iterations_per_second", rate)
    run.metric("eta", (total - step) / rate)
    if now - state.diagnosed < _DIAGNOSE_EVERY:
        return
    latest = state.draws.tail(state.traced, _DIAGNOSED)
    log_tau = -0.5 * np.log(
        state.statistics.tail(np.array([0]), _DIAGNOSED * state.draws.every)[:, :: state.draws.every]
    )
    count = min(latest.shape[1], log_tau.shape[1])
    if count >= 8:
        found = diagnose(np.concatenate([latest[:, -count:], log_tau[:, -count:]], axis=2))
        if np.isfinite(found.r_hat).any():
            run.metric("r_hat", float(np.nanmax(found.r_hat)))
            ess = float(np.nanmin(found.ess_bulk)) * state.draws.count / count / state.draws.every
            run.metric("ess", ess)
            run.metric("ess_per_second", ess / max(1e-9, run.elapsed))
    state.diagnosed = time.monotonic()
