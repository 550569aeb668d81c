"""The start of a run: the mode, the directions of slow movement, the first chains; or a checkpoint."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import Checkpoint, RunContext
from .checkpoint import Adaptation, RunState, Snapshot, Start, restore, snapshot_of
from .design.lines import find_lines
from .design.separation import separating_columns, separating_with_intercept
from .device.chains import STATE
from .device.sampler import Sampler
from .device.start import find_mode, start_state
from .moves.hamiltonian import FIRST_STEPS
from .notices import report_lines
from .options import REFRESH, Options
from .schema import CheckpointState
from .validate import initial_point

__all__ = ["METRIC_WARMUP", "MOSTLY", "TRACED", "begin", "restore_chains"]

Floats = NDArray[np.float64]

TRACED = 6
"""Coefficients that are traced, if none are named."""

METRIC_WARMUP = 4 * REFRESH
"""Fewest iterations of a warm-up in which the metric of the kernel ``hmc`` is made anew."""

MOSTLY = 0.5
"""The share of the chains, in the past too, from which a coefficient that is small in them is small."""


def begin(options: Options, run: RunContext, sampler: Sampler, state: RunState) -> Snapshot | None:
    """Bring the devices to the first iteration, or to the iteration of a checkpoint.

    Parameters
    ----------
    state : RunState
        New, or with a checkpoint to go on from.

    Returns
    -------
    Snapshot or None
        That of the checkpoint.
    """
    run.progress("mode", 0, 1, "steps")
    run.poll()
    restored = state.restored or run.restored
    if restored is not None:
        return _resume(options, run, sampler, state, restored)

    def between(step: int) -> None:
        run.progress("mode", step, max(20, step + 1), "steps")
        run.poll()

    with sampler.attended(run.poll):
        sampler.make_gram(weighted=False)
        run.poll()
        mode, prior, auxiliary = find_mode(sampler, options.intercept_scale**-2, sampler.settings.tau_scale, between)
        state.start = Start(mode, auxiliary)
        if options.kernel == "hmc":
            state.start = _with_lines(run, sampler, state)
            state.adaptation = Adaptation(steps=FIRST_STEPS)
            sampler.make_gram(weighted=True)
            sampler.factorise(prior)
    if options.kernel == "hmc" and options.warmup and not sampler.settings.latent:
        sampler.adapt(averaging=options.warmup >= METRIC_WARMUP)
    given = initial_point(sampler.design, options)
    first = start_state(sampler, mode if given is None else given, run.seed)
    if options.coefficients is None:
        state.traced = _largest(state)
    sampler.set_state(first)
    run.progress("mode", 1, 1, "steps")
    return None


def _resume(options: Options, run: RunContext, sampler: Sampler, state: RunState, restored: Checkpoint) -> Snapshot:
    """Take a checkpoint over; the run goes on with the same draws as if it had not been stopped."""
    arrays, saved = restored.arrays, CheckpointState.model_validate(restored.state, from_attributes=True)
    restore(state, arrays, saved, options, "the run folder")
    restore_chains(options, run, sampler, state, arrays, saved)
    state.snapshot = snapshot_of(sampler, state)
    return state.snapshot


def restore_chains(
    options: Options, run: RunContext, sampler: Sampler, state: RunState, arrays: dict[str, Any], saved: CheckpointState
) -> None:
    """Bring the devices to a checkpoint's chains and to what was chosen in the warm-up, which the state has already."""
    sampler.make_gram(weighted=False)
    if options.kernel == "hmc":
        sampler.set_auxiliary(state.start.auxiliary)
        state.start = _with_lines(run, sampler, state)
        adapted = {name: getattr(saved, name) for name in ("averaged", "averaging", "adapting", "steps")}
        sampler.set_small(state.adaptation.small > MOSTLY)
        sampler.restore(arrays["weight"], arrays["curvature"], arrays["control"], adapted)
    elif options.kernel == "cg":
        sampler.set_small(state.adaptation.small > MOSTLY)
    sampler.set_state({name: arrays[name] for name in STATE})


def _with_lines(run: RunContext, sampler: Sampler, state: RunState) -> Start:
    """The start with the directions of slow movement at the mode, which are reported."""
    design, mode = state.design, state.start.mode
    latent = sampler.settings.latent and not design.family.targeted
    lines = find_lines(design, sampler.gram(), sampler.weigh_at(mode), latent)
    margins = sampler.margins()
    lines = dataclasses.replace(lines, separating=separating_columns(design, mode, margins))
    sampler.set_lines(lines)
    if run.restored is None and not state.notified:
        state.notified = True
        report_lines(run, design, lines, separating_with_intercept(design, mode, margins))
    return dataclasses.replace(state.start, lines=lines)


def _largest(state: RunState) -> NDArray[np.int64]:
    """The coefficients of largest size at the mode, in the numbering of the result."""
    design = state.design
    size = np.abs(state.start.mode[design.leading :])
    order = np.argsort(-size, kind="stable")[: TRACED - design.intercept]
    chosen = 1 + design.active[order]
    return np.concatenate([[0] * design.intercept, chosen]).astype(np.int64)
