"""Where chains begin: about the mode of the posterior under a ridge, found by L-BFGS in the metric of X'X.

A chain that begins at 0 can take thousands of iterations to leave it where classes are rare; one that begins at the
mode does not. The first metric of the kernel ``hmc`` is made at the same point.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ....numerics.blas_threads import one_thread
from ....numerics.philox import uniform_float64_wide, uniform_words
from ..design.matrix import Design
from .records import CHAIN
from .sampler import Sampler
from .worker import Worker

__all__ = ["RIDGE", "find_mode", "start_state"]

Floats = NDArray[np.float64]

RIDGE = 1.0
"""Prior precision of a coefficient for the start, in standard units."""

_ROUNDS = 6
_MEMORY = 12
_CLOSE = 0.02  # of a posterior standard deviation
_ROUNDING = 1e-7  # relative, of a log-likelihood that is added up in float32
_LEAST_SIGMA = 0.3  # of the target's standard deviation, where the columns can fit every row
_STREAM_START = 8


def find_mode(
    sampler: Sampler, intercept_precision: float, tau_scale: float, between: Callable[[int], None]
) -> tuple[Floats, Floats, Floats]:
    """A mode of the horseshoe posterior by a few rounds of expectation-maximisation.

    Returns the mode, the prior precisions and the family's own parameters there.

    A round maximises the likelihood under normal priors, then puts E[1 / lambda^2 | beta, tau] and the tau of that in
    their place. The first round is a ridge. The devices hold X'X, and the first one the factor for the last precisions
    afterwards.

    Parameters
    ----------
    intercept_precision : float
        Prior precision of the intercept.
    between : callable
        Called with the number of passes before each.
    """
    first = sampler.design.first
    prior = np.full(sampler.design.layout.columns, RIDGE)
    prior[:first] = intercept_precision
    beta = np.zeros(len(prior))
    if (pinned := sampler.design.pinned) is not None:
        beta[pinned] = 1.0
    family, degrees = sampler.design.family, sampler.settings.degrees
    auxiliary = first_auxiliary(sampler.design)
    floor = _least_auxiliary(sampler.design)
    if family.targeted:
        sampler.set_auxiliary(auxiliary)
    for round_ in range(_ROUNDS):
        sampler.factorise(prior)
        beta = _maximise(sampler, beta, prior, between)
        if family.targeted:
            margins = sampler.margins_at(beta)
            target = sampler.design.target().astype(np.float64)
            weights = sampler.design.problem.weights
            auxiliary = np.maximum(family.fit(margins, target, auxiliary, degrees, weights), floor)
            sampler.set_auxiliary(auxiliary)
        if round_ < _ROUNDS - 1:
            information = family.information_at(auxiliary)
            prior[first:] = _expected_precisions(sampler, beta, prior, tau_scale, information)[first:]
    return beta, prior, auxiliary


def first_auxiliary(design: Design) -> Floats:
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
    """The least auxiliary parameter at the mode: with as many columns as rows one can fit every row.

    Sigma changes by a factor of about exp(1 / sqrt(2 N)) in an iteration, so that chains need thousands of them to
    leave a tiny one.
    """
    if design.problem.family not in ("normal", "student") or design.layout.columns < design.layout.rows:
        return design.least_log_sigma
    return float(np.log(_LEAST_SIGMA * design.target_spread))


def _expected_precisions(sampler: Sampler, beta: Floats, prior: Floats, tau_scale: float, information: float) -> Floats:
    """E[1 / (lambda_j tau)^2] where beta_j^2 is what was found and its variance given the others."""
    first = sampler.design.first
    squares = beta**2 + 1.0 / (information * sampler.workers.first(Worker.gram_diagonal) + prior)
    inside = squares[first:]
    tau2 = max(1e-8, float(np.median(inside)))
    expected = np.ones_like(squares)
    for _ in range(20):
        b = np.clip(inside / (2.0 * tau2), 1e-12, 500.0)
        expected[first:] = np.maximum(sampler.settings.prior.expected_precisions(b), 1e-12)
        tau2 = (float(inside @ expected[first:]) + 2.0 / (1.0 + tau2 / tau_scale**2)) / (len(inside) + 1.0)
    precisions = expected / tau2
    if sampler.settings.prior.name == "regularized":
        precisions[first:] += sampler.design.slab / sampler.settings.prior.slab_scale**2
    return precisions


def _maximise(sampler: Sampler, beta: Floats, prior: Floats, between: Callable[[int], None]) -> Floats:
    """The maximum of log-likelihood - beta' diag(prior) beta / 2; ``between`` is called before every pass.

    SciPy's L-BFGS-B on u = L' beta / s, where L L' is the factor of the scaled X'X + diag(prior) on the first device,
    which bounds the curvature from above. In these coordinates the length of the gradient is about the distance from
    the maximum in posterior standard deviations.
    """
    from scipy.optimize import minimize

    first, start, passes = sampler.workers.first, beta.copy(), itertools.count()

    def beta_of(u: Floats) -> Floats:
        return np.asarray(start + first(Worker.solve_upper, u))

    def objective(u: Floats) -> tuple[float, Floats]:
        between(next(passes))
        beta = beta_of(u)
        gradient, value = sampler.score(beta)
        return 0.5 * float(prior @ beta**2) - value, -np.asarray(first(Worker.solve_lower, gradient - prior * beta))

    options = {"maxcor": _MEMORY, "maxiter": 200, "gtol": _CLOSE / np.sqrt(len(beta)), "ftol": _ROUNDING}
    with one_thread():  # the vectors are short: waking other threads takes longer than all they do
        found = minimize(objective, np.zeros_like(beta), jac=True, method="L-BFGS-B", options=options)
    return beta_of(found.x)


def start_state(sampler: Sampler, mode: Floats, seed: int, spread: float = 1.0) -> dict[str, Floats]:
    """Chains about the mode, ``spread`` times as wide as the ridge's posterior; the first device holds its factor.

    Parameters
    ----------
    mode : ndarray, shape (q,)
    spread : float
        In standard deviations of the ridge's posterior.

    Returns
    -------
    dict of ndarray
        See :data:`engine.solvers.gibbs.device.chains.STATE`.
    """
    chains, q, first = sampler.settings.chains, len(mode), sampler.design.first
    beta = np.empty((chains, q))
    for chain in range(chains):
        words = uniform_words(seed, _STREAM_START, 0, 0, q, chain=chain)
        radius = np.sqrt(-2.0 * np.log(uniform_float64_wide(words[:, 0], words[:, 1])))
        normals = radius * np.cos(2.0 * np.pi * uniform_float64_wide(words[:, 2], words[:, 3]))
        beta[chain] = mode + spread * sampler.workers.first(Worker.solve_upper, normals)
    state = np.zeros(chains, CHAIN.dtype)
    state["xi_rate"] = 1.0
    state["slab_precision"] = sampler.settings.prior.slab_scale**-2
    state["tau_precision"] = 1.0 / max(1e-4, float(np.mean(mode[first:] ** 2)))
    ones = np.ones((chains, q))
    auxiliary = sampler.state()["auxiliary"]
    numbers = CHAIN.numbers(state)
    return {"beta": beta, "local_precision": ones, "nu": ones.copy(), "chain_state": numbers, "auxiliary": auxiliary}
