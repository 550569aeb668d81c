"""Posteriors: summaries computed again from the stored draws, and identities that draws from the posterior satisfy.

For a density ``pi`` and a function ``f`` for which nothing is lost at infinity, integration by parts gives
``E[f'(theta) + f(theta) d log pi / d theta] = 0`` (Stein's identity; with ``f = 1`` the expected score is zero). The
scores are computed from the data, the model and the prior as they are defined, the local scales integrated out: one
identity with ``f = beta_j`` for each coefficient, and one with ``f = 1`` for the intercept, log tau and log sigma. If
the draws come from another distribution, the mean of some identity differs from 0 by more than its Monte Carlo error.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .diagnostics import diagnostics, effective_size
from .findings import Claim, Findings
from .scores import Model

CHANCE = 1e-6
"""Probability that draws from the posterior are refuted, over all identities together, as far as they are normal."""

_WORK = 4e9  # products of an entry of X and a draw
_MARGINS = 1e7  # margins of a chain at a time
_MOST_R_HAT = 1.05  # of the terms of an identity
_CAUTION = 1.25
"""Monte Carlo errors are taken so much larger: those of dependent draws are estimated too small at times.

Without it the deviations of 150 identities in 25 runs of all families and kernels had the standard deviation 1.14.
"""

_FEWEST = 100  # effective draws of an identity whose error is believed
_ROUNDED = 1e-6
Floats = NDArray[np.float64]


def check(claim: Claim, found: Findings) -> None:
    """Check the draws, their summaries, and the identities of the posterior."""
    arrays = claim.result.arrays
    if "beta" not in arrays:
        found.unverified.append("there are no draws: the run was stopped before the first")
        return
    sampled = [name for name in ("beta", "log_tau", "sigma", "dispersion", "thresholds") if name in arrays]
    if not found.expect(
        all(bool(np.isfinite(arrays[name]).all()) for name in sampled),
        f"all {arrays['log_tau'].size:,} draws are finite",
        "some draws are not finite",
    ):
        return
    _check_summaries(claim, found)
    _check_identities(claim, found)


def _quantities(arrays: Any) -> Floats | None:
    """The draws of all quantities in the order of their names; None if some were not kept."""
    beta, log_tau = arrays["beta"], arrays["log_tau"]
    thinned = len(range(0, log_tau.shape[1], _every(arrays))) == beta.shape[1]
    others = [log_tau[:, :, None]]
    for name in ("sigma", "dispersion", "thresholds"):
        if name in arrays:
            others.append(arrays[name].reshape(*log_tau.shape, -1))
    behind = np.concatenate(others, axis=2)
    if not thinned or beta.shape[2] + behind.shape[2] != len(arrays["names"]):
        return None
    return np.concatenate([beta, behind[:, :: _every(arrays)]], axis=2)


def _every(arrays: Any) -> int:
    """How many draws there were for each that is stored."""
    return max(1, math.ceil(int(arrays["log_tau"].shape[1]) / max(1, int(arrays["beta"].shape[1]))))


def _check_summaries(claim: Claim, found: Findings) -> None:
    arrays = claim.result.arrays
    draws = _quantities(arrays)
    if draws is None or _every(arrays) > 1:
        found.unverified.append("the summaries, which are of more draws than those that are stored")
        return
    outside = 0.5 * (1.0 - float(arrays["interval"]))
    flat = draws.reshape(-1, draws.shape[2])
    own = {
        "mean": flat.mean(axis=0),
        "sd": flat.std(axis=0, ddof=1),
        "quantiles": np.quantile(flat, (outside, 0.5, 1.0 - outside), axis=0).T,
        **diagnostics(draws),
    }
    titles = {"mean": "means", "sd": "standard deviations", "quantiles": "quantiles", "r_hat": "R-hat"}
    titles |= {"ess_bulk": "bulk ESS", "ess_tail": "tail ESS", "mcse_mean": "Monte Carlo errors"}
    spread = np.maximum(own["sd"], 1e-300)
    wrong = []
    for name, values in own.items():
        sizes = spread[:, None] if values.ndim == 2 else spread if name in ("mean", "sd") else np.abs(values) + 1e-300
        apart = np.abs(values - arrays[name])
        same = (values == arrays[name]) | np.isnan(values) & np.isnan(arrays[name])
        if not (same | (apart <= _ROUNDED * sizes + 1e-12 * np.abs(values))).all():
            wrong.append(titles[name])
    found.expect(
        not wrong,
        f"{', '.join(titles[name] for name in own)} agree with the draws",
        f"{', '.join(wrong)} do not agree with the draws",
    )
    solution = claim.result.solution
    same = solution is not None and np.array_equal(solution, arrays["mean"][: len(solution)])
    found.expect(same, "the solution is the posterior mean", "the solution is not the posterior mean")


def _check_identities(claim: Claim, found: Findings) -> None:
    arrays = claim.result.arrays
    model, reason = Model.of(claim)
    if model is None:
        found.unverified.append(f"whether the draws are from the posterior: {reason}")
        return
    chains, count, _ = arrays["beta"].shape
    most = max(1, int(min(_WORK / max(1, model.entries) / chains, _MARGINS / len(model.y))))
    step = max(1, math.ceil(count / most))
    every = _every(arrays) * step

    def some(name: str) -> Floats | None:
        if name not in arrays:
            return None
        values = arrays[name][:, :: step if name == "beta" else every]
        return np.asarray(values, np.float64)

    log_tau = some("log_tau")
    assert log_tau is not None
    terms = model.identities(some("beta"), log_tau, some("sigma"), some("dispersion"), some("thresholds"))
    sizes = np.array([effective_size(values) for values in terms])
    worst_chains = float(np.nanmax(diagnostics(np.stack(terms, axis=2))["r_hat"]))
    few = ~(sizes >= _FEWEST)
    means = np.array([float(values.mean()) for values in terms])
    errors = _CAUTION * np.array([float(values.std(ddof=1)) for values in terms]) / np.sqrt(sizes)
    z = np.abs(means) / np.maximum(errors, 1e-300)
    from scipy.special import ndtri

    limit = float(-ndtri(0.5 * CHANCE / len(terms)))
    few |= ~np.isfinite(z)
    worst = int(np.argmax(np.where(few, 0.0, z)))
    figures = (
        f"{len(terms)} identities; the largest deviation is {z[worst]:.2f} Monte Carlo errors, {limit:.2f} would refute"
    )
    if worst_chains > _MOST_R_HAT:
        found.unverified.append(f"whether the draws are from the posterior: the chains disagree ({figures})")
    elif z[worst] > limit and not few[worst]:
        sentence = f"the draws are not from the posterior: the identity of {model.names[worst]} fails ({figures})"
        found.refuted.append(sentence)
    elif few.any():
        found.unverified.append(f"whether the draws are from the posterior: they are too few ({figures})")
    else:
        found.verified.append(f"the draws agree with the posterior in the identities of its scores ({figures})")
