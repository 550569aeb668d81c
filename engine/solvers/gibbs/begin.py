"""The start of a run: the mode, the directions of slow movement, the first chains; or a checkpoint."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext
from ...numerics.blas_threads import one_thread
from ...numerics.lbfgs import minimize
from ...numerics.philox import uniform_float64_wide, uniform_words
from .checkpoint import Adaptation, RunState, Start, snapshot_of
from .design.lines import find_lines
from .design.matrix import Design
from .design.separation import separating_columns, separating_with_intercept
from .device.chains import STATE
from .device.records import CHAIN
from .device.sampler import Sampler
from .moves.hamiltonian import FIRST_STEPS
from .options import REFRESH
from .reporting import Reporter, report_lines
from .schema import CheckpointState
from .validate import initial_point

Floats = NDArray[np.float64]

TRACED = 6
"""Coefficients that are traced, if none are named."""

METRIC_WARMUP = 4 * REFRESH
"""Fewest iterations of a warm-up in which the metric of the kernel ``hmc`` is made anew."""

MOSTLY = 0.5
"""The share of the chains, in the past too, from which a coefficient that is small in them is small."""

RIDGE = 1.0
"""Prior precision of a coefficient for the start: from 0, chains can take thousands of iterations to leave it."""

_MODE_SHARE = 0.6  # of a time limit is left at least when the search for a mode ends early
_ROUNDS = 6
_CLOSE = 0.02  # of a posterior standard deviation
_ROUNDING = 1e-7  # relative, of a log-likelihood that is added up in float32
_LEAST_SIGMA = 0.3  # of the target's standard deviation, where the columns can fit every row
_STREAM_START = 8


def begin(
    run: RunContext, sampler: Sampler, state: RunState, reporter: Reporter, arrays: dict[str, NDArray[Any]] | None
) -> RunState:
    """Bring the devices to the first iteration, or to that of a restored checkpoint, whose arrays are given."""
    run.progress("mode", 0, 1, "steps")
    run.poll()
    if arrays is not None:
        state = replace(
            state, start=restore_chains(run, sampler, state.start, state.adaptation.small, arrays, state.origin)
        )
        return replace(state, snapshot=snapshot_of(state, *sampler.snapshot()))

    allowed, options = _MODE_SHARE * run.time_left, sampler.settings.options

    def between(step: int) -> bool:
        run.progress("mode", step, max(20, step + 1), "steps")
        run.poll()
        return run.time_left < allowed

    sampler.make_gram(weighted=False)
    run.poll()
    mode, prior, auxiliary = find_mode(sampler, between)
    chosen, adaptation = state.draws.chosen, state.adaptation
    start = Start(mode, auxiliary, _largest(sampler.design, mode) if chosen is None else chosen[:TRACED])
    if options.kernel == "hmc":
        start = _with_lines(run, sampler, start, reporter)
        adaptation = Adaptation(steps=FIRST_STEPS)
        sampler.make_gram(weighted=True)
        sampler.factorise(prior)
        if options.warmup and not sampler.settings.latent:
            sampler.adapt(averaging=options.warmup >= METRIC_WARMUP)
    given = initial_point(sampler.design, options)
    first = _start_state(sampler, mode if given is None else given)
    if sampler.settings.local:
        _set_promising(sampler, mode)
    sampler.set_state(first)
    run.progress("mode", 1, 1, "steps")
    return replace(state, start=start, adaptation=adaptation)


def restore_chains(
    run: RunContext, sampler: Sampler, start: Start, small: Floats, arrays: dict[str, Any], saved: CheckpointState
) -> Start:
    """Bring the devices to a checkpoint's chains and to what was chosen in the warm-up; the start with its lines."""
    kernel = sampler.settings.options.kernel
    sampler.make_gram(weighted=False)
    if kernel == "hmc":
        sampler.set_auxiliary(start.auxiliary)
        start = _with_lines(run, sampler, start)
        sampler.restore(arrays, saved)
    if kernel in ("hmc", "cg"):
        sampler.set_small(small > MOSTLY)
    if sampler.settings.local:
        _set_promising(sampler, start.mode)
    sampler.set_state({name: arrays[name] for name in STATE})
    return start


def _set_promising(sampler: Sampler, mode: Floats) -> None:
    """Columns in the order of what each explains of the mode's residuals and its own effect, the most first."""
    design, auxiliary = sampler.design, np.zeros(len(sampler.design.auxiliary_names()))
    if design.family.targeted:
        sampler.set_auxiliary(auxiliary)  # until the state is set: a checkpoint has none of the mode
    information = design.family.information_at(auxiliary) * design.layout.rows  # columns of mean square 1
    size = np.abs(sampler.score(mode)[0] + information * mode)[design.first :]
    columns = design.first + np.argsort(-size, kind="stable")
    sampler.workers.first(lambda worker: worker.wide.set_promising(columns))


def _with_lines(run: RunContext, sampler: Sampler, start: Start, reporter: Reporter | None = None) -> Start:
    """The start with the directions of slow movement at the mode, which a reporter reports once."""
    design, mode = sampler.design, start.mode
    latent = sampler.settings.latent and not design.family.targeted
    lines = find_lines(design, sampler.gram(), sampler.weigh_at(mode), latent, run.poll)
    margins = sampler.margins()
    lines = replace(lines, separating=separating_columns(design, mode, margins))
    sampler.set_lines(lines)
    if reporter is not None and not reporter.has_lines:
        reporter.has_lines = True
        report_lines(run, design, lines, separating_with_intercept(design, mode, margins))
    return replace(start, lines=lines)


def _largest(design: Design, mode: Floats) -> NDArray[np.int64]:
    size = np.abs(mode[design.leading :])
    order = np.argsort(-size, kind="stable")[: TRACED - design.intercept]
    chosen = 1 + design.active[order]
    return np.concatenate([[0] * design.intercept, chosen]).astype(np.int64)


# --- the mode and the first chains ------------------------------------------------------------------------------------


def find_mode(sampler: Sampler, between: Callable[[int], bool | None]) -> tuple[Floats, Floats, Floats]:
    """A mode by expectation-maximisation, the last prior precisions (the first device has the factor), auxiliaries."""
    design, options = sampler.design, sampler.settings.options
    family, degrees, first = design.family, options.degrees, design.first
    prior = np.full(design.layout.columns, RIDGE)
    prior[:first] = options.intercept_scale**-2
    beta = np.zeros(len(prior))
    if design.pinned is not None:
        beta[design.pinned] = 1.0
    auxiliary, floor = _first_auxiliary(design), _least_auxiliary(design)
    if family.targeted:
        sampler.set_auxiliary(auxiliary)
    for round_ in range(_ROUNDS):
        sampler.factorise(prior)
        beta, ended = _maximise(sampler, beta, prior, between)
        if family.targeted:
            margins = sampler.margins_at(beta)
            target = design.target().astype(np.float64)
            auxiliary = np.maximum(family.fit(margins, target, auxiliary, degrees, design.problem.weights), floor)
            sampler.set_auxiliary(auxiliary)
        if ended:
            break
        if round_ < _ROUNDS - 1:
            information = family.information_at(auxiliary)
            prior[first:] = _expected_precisions(sampler, beta, prior, information)[first:]
    return beta, prior, auxiliary


def _first_auxiliary(design: Design) -> Floats:
    """Auxiliary parameters to begin with: sigma 1, or thresholds that make the shares of the categories."""
    count = len(design.auxiliary_names())
    if design.problem.family != "ordinal":
        return np.zeros(count)
    from scipy.special import ndtri

    problem = design.problem
    below = np.cumsum(np.bincount(problem.y.astype(np.int64), problem.weights, minlength=problem.categories))[:-1]
    shares = np.clip(below / design.total_weight, 1e-9, 1.0 - 1e-9)  # of weight 0, a category may have none
    return np.asarray(np.log(np.maximum(np.diff(ndtri(shares)), 1e-3)))


def _least_auxiliary(design: Design) -> float:
    """The least auxiliary parameter at the mode: chains need thousands of iterations to leave a tiny sigma."""
    if design.problem.family not in ("normal", "student") or design.layout.columns < design.layout.rows:
        return design.least_log_sigma
    return float(np.log(_LEAST_SIGMA * design.target_spread))


def _expected_precisions(sampler: Sampler, beta: Floats, prior: Floats, information: float) -> Floats:
    """E[1 / (lambda_j tau)^2] where beta_j^2 is what was found and its variance given the others."""
    first, settings = sampler.design.first, sampler.settings
    of_scales = settings.options.chosen_prior
    diagonal = sampler.workers.first(lambda worker: worker.matrices.gram_diagonal())
    squares = beta**2 + 1.0 / (information * diagonal + prior)
    inside = squares[first:]
    tau2 = max(1e-8, float(np.median(inside)))
    expected = np.ones_like(squares)
    for _ in range(20):
        b = np.clip(inside / (2.0 * tau2), 1e-12, 500.0)
        expected[first:] = np.maximum(of_scales.expected_precisions(b), 1e-12)
        tau2 = (float(inside @ expected[first:]) + 2.0 / (1.0 + tau2 / settings.tau_scale**2)) / (len(inside) + 1.0)
    precisions = expected / tau2
    if of_scales.name == "regularized":
        precisions[first:] += sampler.design.slab / of_scales.slab_scale**2
    return precisions


def _maximise(
    sampler: Sampler, beta: Floats, prior: Floats, between: Callable[[int], bool | None]
) -> tuple[Floats, bool]:
    """The maximum of log-likelihood - beta' diag(prior) beta / 2, and whether ``between`` ended the search.

    L-BFGS on u = L' beta / s, where L L' is the factor of the scaled X'X + diag(prior) on the first device,
    which bounds the curvature from above. In these coordinates the length of the gradient is about the distance from
    the maximum in posterior standard deviations.
    """
    start, passes, ended = beta.copy(), itertools.count(), False

    def beta_of(u: Floats) -> Floats:
        return np.asarray(start + sampler.solve(u, transposed=True))

    def objective(u: Floats) -> tuple[float, Floats]:
        nonlocal ended
        ended = bool(between(next(passes)))
        beta = beta_of(u)
        gradient, value = sampler.score(beta)
        return 0.5 * float(prior @ beta**2) - value, -sampler.solve(gradient - prior * beta, transposed=False)

    with one_thread():  # the vectors are short: waking other threads takes longer than all they do
        u = minimize(objective, np.zeros_like(beta), 200, _CLOSE / np.sqrt(len(beta)), _ROUNDING, lambda: ended)
    return beta_of(u), ended


def _start_state(sampler: Sampler, mode: Floats) -> dict[str, Floats]:
    """Chains about the mode, as wide as the posterior under the last precisions; the first device holds its factor."""
    settings, q = sampler.settings, len(mode)
    chains, seed = settings.chains, settings.seed
    beta = np.empty((chains, q))
    for chain in range(chains):
        words = uniform_words(seed, _STREAM_START, 0, 0, q, chain=chain)
        radius = np.sqrt(-2.0 * np.log(uniform_float64_wide(words[:, 0], words[:, 1])))
        normals = radius * np.cos(2.0 * np.pi * uniform_float64_wide(words[:, 2], words[:, 3]))
        beta[chain] = mode + sampler.solve(normals, transposed=True)
    state = np.zeros(chains, CHAIN.dtype)
    state["xi_rate"] = 1.0
    state["slab_precision"] = settings.options.chosen_prior.slab_scale**-2
    state["tau_precision"] = 1.0 / max(1e-4, float(np.mean(mode[sampler.design.first :] ** 2)))
    ones = np.ones((chains, q))
    auxiliary = sampler.state()["auxiliary"]
    numbers = CHAIN.numbers(state)
    return {"beta": beta, "local_precision": ones, "nu": ones.copy(), "chain_state": numbers, "auxiliary": auxiliary}
