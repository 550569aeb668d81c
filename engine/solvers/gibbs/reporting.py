"""Progress, speed, traces and mixing of a run, as events."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext
from .checkpoint import RunState
from .draws.convergence import Mixing
from .draws.diagnostics import diagnose
from .options import Options

__all__ = ["report_mixing", "report_progress", "trace"]

Floats = NDArray[np.float64]

_DIAGNOSE_INTERVAL = 2.0
_DIAGNOSED = 2000


def report_mixing(run: RunContext, found: Mixing) -> None:
    """R-hat, ESS, and ESS a second as metrics."""
    run.metric("r_hat", found.r_hat)
    run.metric("ess", found.ess)
    run.metric("ess_per_second", found.ess / max(1e-9, run.elapsed))


def trace(run: RunContext, state: RunState, iteration: int, row: Floats) -> None:
    """The latest values of the traced coefficients and of log tau, chain by chain.

    Parameters
    ----------
    row : ndarray
        What the chains returned of this iteration.
    """
    q = state.design.layout.columns
    names = ["intercept", *state.design.problem.names]
    values = state.design.unscaled(row[:, :q])[:, state.traced]
    for chain in range(min(len(row), 16)):
        run.trace("log_tau", iteration, [float(-0.5 * np.log(row[chain, q]))], chain)
        for place, number in enumerate(state.traced.tolist()):
            run.trace(names[number], iteration, [float(values[chain, place])], chain)


def report_progress(options: Options, run: RunContext, state: RunState, total: int) -> None:
    """Progress, speed, and at intervals how well the chains mix.

    Parameters
    ----------
    total : int
        Iterations in all, if the chains do not converge before.
    """
    now, step = time.monotonic(), state.iteration
    rate = state.reports.rate.at(now, step)
    if rate is not None:
        run.metric("iterations_per_second", rate)
    if step > options.warmup and options.draws is not None and now - state.reports.diagnosed_at >= _DIAGNOSE_INTERVAL:
        _diagnose(run, state)
    if step <= options.warmup and options.warmup:
        run.progress("warm-up", step, options.warmup, "iterations")
        if rate is not None:
            run.metric("eta", (total - step) / rate)
        return
    wanted = total - options.warmup
    if options.draws is None and state.convergence.expected:
        wanted = min(wanted, max(step - options.warmup, state.convergence.expected * options.thin))
    run.progress("sampling", step - options.warmup, wanted, "iterations")
    if rate is not None:
        run.metric("eta", (options.warmup + wanted - step) / rate)


def _diagnose(run: RunContext, state: RunState) -> None:
    """R-hat and ESS of the traced quantities, from their latest draws."""
    latest = state.draws.tail(state.traced, _DIAGNOSED)
    every = state.draws.every
    log_tau = -0.5 * np.log(state.statistics.tail(np.array([0]), _DIAGNOSED * every)[:, ::every])
    count = min(latest.shape[1], log_tau.shape[1])
    if count >= 8:
        found = diagnose(np.concatenate([latest[:, -count:], log_tau[:, -count:]], axis=2))
        if np.isfinite(found.r_hat).any():
            ess = float(np.nanmin(found.ess_bulk)) * state.draws.count / count / every
            report_mixing(run, Mixing(ess, float(np.nanmax(found.r_hat)), state.convergence.watched))
    state.reports.diagnosed_at = time.monotonic()
