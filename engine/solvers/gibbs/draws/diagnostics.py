"""Have the chains mixed? Rank-normalised split R-hat, bulk and tail effective sample sizes, Monte Carlo errors.

For many quantities at once, with NumPy alone; the tests compare with ArviZ. After A. Vehtari, A. Gelman, D. Simpson,
B. Carpenter, P.-C. Bürkner, "Rank-normalization, folding, and localization: an improved R-hat for assessing convergence
of MCMC", Bayesian Analysis 16 (2021); the sum of autocorrelations is cut by
C. Geyer's initial monotone sequence (1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Diagnostics", "diagnose", "effective_sample_size", "split_r_hat"]

Floats = NDArray[np.float64]
_QUANTITIES_AT_ONCE = 1 << 22  # values


@dataclass(frozen=True)
class Diagnostics:
    """One number for each quantity; NaN where draws are too few, or all the same.

    ``mcse_mean`` is the Monte Carlo standard error of the posterior mean.
    """

    r_hat: Floats
    ess_bulk: Floats
    ess_tail: Floats
    mcse_mean: Floats


def diagnose(draws: Floats) -> Diagnostics:
    """All diagnostics of draws of shape (chains, draws, quantities)."""
    chains, count, quantities = draws.shape
    columns = max(1, _QUANTITIES_AT_ONCE // max(1, chains * count))
    parts = [_diagnose(draws[:, :, at : at + columns]) for at in range(0, quantities, columns)]
    if not parts:
        parts = [_diagnose(draws)]
    stacked = [np.concatenate([getattr(part, name) for part in parts]) for name in Diagnostics.__annotations__]
    return Diagnostics(*stacked)


def _diagnose(draws: Floats) -> Diagnostics:
    quantities = draws.shape[2]
    nothing = np.full(quantities, np.nan)
    if draws.shape[1] < 4:
        return Diagnostics(nothing, nothing, nothing, nothing)
    split = _split(draws)
    ranked = _rank_normalised(split)
    tail = np.minimum(
        *(_ess(_split((draws <= np.quantile(draws, q, axis=(0, 1))).astype(float))) for q in (0.05, 0.95))
    )
    deviation = draws.std(axis=(0, 1), ddof=1)
    constant = deviation == 0
    return Diagnostics(
        np.where(constant, np.nan, split_r_hat(draws)),
        np.where(constant, np.nan, _ess(ranked)),
        np.where(constant, np.nan, tail),
        np.where(constant, np.nan, deviation / np.sqrt(_ess(split))),
    )


def split_r_hat(draws: Floats) -> Floats:
    """The larger of the rank-normalised split R-hats of the draws and of their distances from the median."""
    split = _split(draws)
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    return np.maximum(_r_hat(_rank_normalised(split)), _r_hat(_rank_normalised(folded)))


def effective_sample_size(draws: Floats) -> Floats:
    """Bulk effective sample size of draws of shape (chains, draws, quantities)."""
    return _ess(_rank_normalised(_split(draws)))


def _split(draws: Floats) -> Floats:
    """Each chain as two, without the draw in the middle of an odd number."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _rank_normalised(draws: Floats) -> Floats:
    """Normal scores of the ranks over all chains, ties at their mean rank."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    ranks = rankdata(draws.reshape(-1, draws.shape[2]), axis=0)
    scores = ndtri((ranks - 0.375) / (len(ranks) + 0.25))
    return np.asarray(scores).reshape(draws.shape)


def _r_hat(draws: Floats) -> Floats:
    count = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((between / within) + (count - 1) / count))


def _ess(draws: Floats) -> Floats:
    """Effective sample size of chains as they are: Geyer's initial monotone sequence of the combined chains."""
    chains, count, quantities = draws.shape
    if count < 3:
        return np.full(quantities, np.nan)
    covariance = _autocovariance(draws)
    mean_variance = covariance[:, 0].mean(axis=0) * count / (count - 1)
    total = mean_variance * (count - 1) / count
    if chains > 1:
        total = total + draws.mean(axis=1).var(axis=0, ddof=1)
    constant = total <= 0
    safe = np.where(constant, 1.0, total)
    rho = 1.0 - (mean_variance - covariance.mean(axis=0)) / safe
    rho[0] = 1.0
    most = max(1, (count - 1) // 2)  # pairs; the last is never more than what follows the others
    pairs = rho[: 2 * most].reshape(most, 2, quantities).sum(axis=1)
    positive = np.logical_and.accumulate(pairs[: most - 1] > 0, axis=0)
    kept = positive.sum(axis=0)
    monotone = np.minimum.accumulate(np.where(positive, pairs[: most - 1], 0.0), axis=0)
    following = np.take_along_axis(rho, 2 * kept[None], axis=0)[0]
    time = -1.0 + 2.0 * monotone.sum(axis=0) + np.maximum(following, 0.0)
    time = np.maximum(time, 1.0 / np.log10(chains * count))
    return np.asarray(np.where(constant, float(chains * count), chains * count / time))


def _autocovariance(draws: Floats) -> Floats:
    """Biased autocovariances along axis 1, through the fast Fourier transform."""
    from scipy.fft import irfft, next_fast_len, rfft

    count = draws.shape[1]
    size = next_fast_len(2 * count)
    spectrum = rfft(draws - draws.mean(axis=1, keepdims=True), n=size, axis=1)
    covariance: Floats = irfft(spectrum * np.conjugate(spectrum), n=size, axis=1)[:, :count] / count
    return covariance
