"""R-hat, effective sample sizes and Monte Carlo errors of one quantity after the other, as they are published.

A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner, "Rank-normalization, folding, and localization: an
improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16 (2021), with Geyer's initial monotone sequence.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def diagnostics(draws: Floats) -> dict[str, Floats]:
    """Of draws of shape (chains, draws, quantities): arrays of one number for each quantity, NaN where undefined."""
    names = ("r_hat", "ess_bulk", "ess_tail", "mcse_mean")
    found = np.full((draws.shape[2], len(names)), np.nan)
    for quantity in range(draws.shape[2]):
        values = draws[:, :, quantity]
        if values.shape[1] >= 4 and (values != values[0, 0]).any():
            found[quantity] = _of_one(values)
    return dict(zip(names, found.T, strict=True))


def effective_size(values: Floats) -> float:
    """Effective sample size for the mean of draws of shape (chains, draws)."""
    return _effective_size(_halves(values)) if values.shape[1] >= 4 else 0.0


def _of_one(values: Floats) -> tuple[float, float, float, float]:
    halves = _halves(values)
    ranked, folded = _scores(halves), _scores(np.abs(halves - np.median(halves)))
    low, high = np.quantile(values, (0.05, 0.95))
    tail = min(_effective_size(_halves((values <= limit).astype(np.float64))) for limit in (low, high))
    error = float(values.std(ddof=1)) / np.sqrt(_effective_size(halves))
    return max(_r_hat(ranked), _r_hat(folded)), _effective_size(ranked), tail, error


def _halves(values: Floats) -> Floats:
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def _scores(values: Floats) -> Floats:
    """Normal scores of the ranks of all values together."""
    from scipy.special import ndtri

    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - 0.5 * (counts - 1)  # of equal values the mean
    return np.asarray(ndtri((ranks[places].reshape(values.shape) - 0.375) / (values.size + 0.25)))


def _r_hat(values: Floats) -> float:
    count = values.shape[1]
    within, between = values.var(axis=1, ddof=1).mean(), values.mean(axis=1).var(ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt((between + (count - 1) / count * within) / within))


def _effective_size(values: Floats) -> float:
    """Of chains as they are; all draws if they are all the same."""
    chains, count = values.shape
    if count < 3:
        return np.nan
    apart = values - values.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(apart, n=1 << (2 * count - 1).bit_length(), axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :count].mean(axis=0) / count
    within = covariance[0] * count / (count - 1)
    total = covariance[0] + (values.mean(axis=1).var(ddof=1) if chains > 1 else 0.0)
    if total <= 0.0:
        return float(chains * count)
    rho = 1.0 - (within - covariance) / total
    rho[0] = 1.0
    time, pair, least = -1.0, 0, np.inf
    while 2 * pair + 4 < count:  # Geyer: while sums of neighbours are above 0, and never more than the one before
        both = rho[2 * pair] + rho[2 * pair + 1]
        if not both > 0.0:
            break
        least = min(least, both)
        time += 2.0 * least
        pair += 1
    time = max(time + max(0.0, rho[2 * pair]), 1.0 / np.log10(chains * count))
    return float(chains * count / time)
