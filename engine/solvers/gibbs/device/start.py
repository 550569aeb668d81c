"""Where chains begin: about the mode of the posterior under a ridge, found by L-BFGS with X'X as its first metric.

A chain that begins at 0 can take thousands of iterations to leave it where classes are rare; one that begins at the
mode does not. The first metric of the kernel ``hmc`` is made at the same point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.numerics.philox import uniform_float64_wide, uniform_words
from engine.solvers.gibbs.device.chains import WHOLE
from engine.solvers.gibbs.device.sampler import Sampler
from engine.solvers.gibbs.device.worker import Worker

__all__ = ["RIDGE", "find_mode", "start_state"]

Floats = NDArray[np.float64]

RIDGE = 1.0
"""Prior precision of a coefficient for the start, in standard units."""

_ROUNDS = 6
_MEMORY = 12
_CLOSE = 0.02  # of a posterior standard deviation
_STREAM_START = 8


def find_mode(
    sampler: Sampler, intercept_precision: float, tau_scale: float, between: Callable[[int], None]
) -> tuple[Floats, Floats]:
    """A mode of the horseshoe posterior, and the prior precisions there, by a few rounds of expectation-maximisation.

    A round maximises the likelihood under normal priors, then puts E[1 / lambda^2 | beta, tau] and the tau of that in
    their place. The first round is a ridge. The devices hold X'X, and the first one the factor for the last precisions
    afterwards.
    """
    first = sampler.design.first
    prior = np.full(sampler.design.layout.columns, RIDGE)
    prior[:first] = intercept_precision
    beta = np.zeros(len(prior))
    for round_ in range(_ROUNDS):
        sampler.workers.first(Worker.factorise, prior)
        beta = _maximise(sampler, beta, prior, between)
        if round_ < _ROUNDS - 1:
            prior[first:] = _expected_precisions(sampler, beta, prior, tau_scale)[first:]
    return beta, prior


def _expected_precisions(sampler: Sampler, beta: Floats, prior: Floats, tau_scale: float) -> Floats:
    """E[1 / (lambda_j tau)^2] where beta_j^2 is what was found and its variance given the others."""
    from scipy.special import exp1

    first = sampler.design.first
    squares = beta**2 + 1.0 / (sampler.workers.first(Worker.curvature) + prior)
    inside = squares[first:]
    tau2 = max(1e-8, float(np.median(inside)))
    expected = np.ones_like(squares)
    for _ in range(20):
        b = np.clip(inside / (2.0 * tau2), 1e-12, 500.0)
        expected[first:] = np.maximum((1.0 / b) / (np.exp(b) * exp1(b)) - 1.0, 1e-12)
        tau2 = (float(inside @ expected[first:]) + 2.0 / (1.0 + tau2 / tau_scale**2)) / (len(inside) + 1.0)
    return expected / tau2


def _maximise(sampler: Sampler, beta: Floats, prior: Floats, between: Callable[[int], None]) -> Floats:
    """The maximum of log-likelihood - beta' diag(prior) beta / 2; ``between`` is called before every pass.

    The first device holds the factor of X'X + diag(prior), which bounds the curvature from above, so that a first step
    of that metric never overshoots.
    """
    pairs: list[tuple[Floats, Floats, float]] = []
    gradient, value = _penalised(sampler, beta, prior)
    for iteration in range(200):
        between(iteration)
        direction = _two_loops(sampler, gradient, pairs)
        slope = float(gradient @ direction)
        if slope < _CLOSE**2:
            break
        step = 1.0
        for _ in range(30):
            trial = beta + step * direction
            trial_gradient, trial_value = _penalised(sampler, trial, prior)
            if trial_value >= value + 1e-4 * step * slope - 1e-6 * abs(value):
                break
            step /= 2
        else:
            break
        moved, turned = trial - beta, gradient - trial_gradient
        if (curvature := float(moved @ turned)) > 1e-12 * float(moved @ moved):
            pairs = [*pairs[-_MEMORY + 1 :], (moved, turned, curvature)]
        beta, gradient, value = trial, trial_gradient, trial_value
    return beta


def _penalised(sampler: Sampler, beta: Floats, prior: Floats) -> tuple[Floats, float]:
    gradient, value = sampler.score(beta)
    return gradient - prior * beta, value - 0.5 * float(prior @ beta**2)


def _two_loops(sampler: Sampler, gradient: Floats, pairs: list[tuple[Floats, Floats, float]]) -> Floats:
    """Nocedal's two loops (uphill), with the factorised matrix in the middle."""
    q = gradient.copy()
    weights = []
    for moved, turned, curvature in reversed(pairs):
        weight = float(moved @ q) / curvature
        q -= weight * turned
        weights.append(weight)
    r = sampler.workers.first(Worker.precondition, q)
    if pairs:
        moved, turned, curvature = pairs[-1]
        metric = sampler.workers.first(Worker.precondition, turned)
        r = r * (curvature / float(turned @ metric))
    for (moved, turned, curvature), weight in zip(pairs, reversed(weights), strict=True):
        r = r + moved * (weight - float(turned @ r) / curvature)
    return np.asarray(r)


def start_state(sampler: Sampler, mode: Floats, seed: int, spread: float = 1.0) -> dict[str, Floats]:
    """Chains about the mode, ``spread`` times as wide as the ridge's posterior; the first device holds its factor."""
    chains, q, first = sampler.settings.chains, len(mode), sampler.design.first
    beta = np.empty((chains, q))
    for chain in range(chains):
        words = uniform_words(seed, _STREAM_START, 0, 0, q, chain=chain)
        radius = np.sqrt(-2.0 * np.log(uniform_float64_wide(words[:, 0], words[:, 1])))
        normals = radius * np.cos(2.0 * np.pi * uniform_float64_wide(words[:, 2], words[:, 3]))
        beta[chain] = mode + spread * sampler.workers.first(Worker.precondition, normals, True)
    whole = np.zeros((chains, WHOLE))
    whole[:, 1] = 1.0
    whole[:, 0] = 1.0 / max(1e-4, float(np.mean(mode[first:] ** 2)))
    return {"beta": beta, "local_precision": np.ones((chains, q)), "nu": np.ones((chains, q)), "whole": whole}
