"""Have the chains mixed? Rank-normalised split R-hat, bulk and tail effective sample sizes, Monte Carlo errors.

For many quantities at once, with NumPy alone; the tests compare with ArviZ. After A. Vehtari, A. Gelman, D. Simpson,
B. Carpenter, P.-C. Bürkner, "Rank-normalization, folding, and localization: an improved R-hat for assessing convergence
of MCMC", Bayesian Analysis 16 (2021); the sum of autocorrelations is cut by
C. Geyer's initial monotone sequence (1992).
"""

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..device.records import CHAIN
from .store import Draws

Floats = NDArray[np.float64]
T = TypeVar("T")
_VALUES_AT_ONCE = 1 << 20
_MOST_THREADS = 16
_SLOW_FROM = 50_000  # ranks, of which Python's functions take as long as SciPy to be imported


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
    """All diagnostics of draws of shape (chains, draws, quantities).

    Examples
    --------
    >>> import numpy as np, engine
    >>> draws = np.random.default_rng(1).normal(size=(4, 500, 1))  # 4 chains of independent draws
    >>> found = engine.chain_diagnostics(draws)
    >>> found.r_hat.round(1), found.ess_bulk > 1000
    (array([1.]), array([ True]))
    """
    parts = by_columns(_diagnose, draws)
    stacked = [np.concatenate([getattr(part, name) for part in parts]) for name in Diagnostics.__annotations__]
    return Diagnostics(*stacked)


def by_columns(work: Callable[[Floats], T], draws: Floats) -> list[T]:
    """``work`` of some quantities at a time, on threads: sorting and transforming leave the interpreter to others."""
    chains, count, quantities = draws.shape
    columns = max(1, _VALUES_AT_ONCE // max(1, chains * count))
    places = range(0, max(1, quantities), columns)
    threads = min(len(places), os.cpu_count() or 1, _MOST_THREADS)
    parts = (draws[:, :, at : at + columns] for at in places)
    if threads == 1:
        return list(map(work, parts))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))


def _diagnose(draws: Floats) -> Diagnostics:
    quantities = draws.shape[2]
    nothing = np.full(quantities, np.nan)
    if draws.shape[1] < 4:
        return Diagnostics(nothing, nothing, nothing, nothing)
    values = np.ascontiguousarray(draws.transpose(2, 0, 1))
    split = _split(values)
    ranked = _rank_normalised(split)
    limits = np.quantile(values.reshape(quantities, -1), (0.05, 0.95), axis=1)[:, :, None, None]
    tail = np.minimum(*(_ess(_split((values <= limit).astype(float))) for limit in limits))
    deviation = values.std(axis=(1, 2), ddof=1)
    constant = (values == values[:, :1, :1]).all(axis=(1, 2))  # their deviation may be a rounding error
    return Diagnostics(
        np.where(constant, np.nan, _split_r_hat(split, ranked)),
        np.where(constant, np.nan, _ess(ranked)),
        np.where(constant, np.nan, tail),
        np.where(constant, np.nan, deviation / np.sqrt(_ess(split))),
    )


# From here on arrays have the shape (quantities, chains, draws), so that sorting and transforms run along memory.


def _split(values: Floats) -> Floats:
    """Each chain as two, without the draw in the middle of an odd number."""
    half = values.shape[2] // 2
    return np.concatenate([values[:, :, :half], values[:, :, values.shape[2] - half :]], axis=1)


def _split_r_hat(split: Floats, ranked: Floats) -> Floats:
    """The larger of the rank-normalised split R-hats of the draws and of their distances from the median."""
    folded = np.abs(split - np.median(split.reshape(len(split), -1), axis=1)[:, None, None])
    return np.maximum(_r_hat(ranked), _r_hat(_rank_normalised(folded)))


def _rank_normalised(values: Floats) -> Floats:
    """Normal scores of the ranks over all chains, ties at their mean rank."""
    flat = values.reshape(len(values), -1)
    return _normal_scores(flat.shape[1])[np.rint(2.0 * _mean_ranks(flat)).astype(np.int64) - 2].reshape(values.shape)


@functools.lru_cache(maxsize=2)
def _normal_scores(count: int) -> Floats:
    """Those of the ranks 1, 1.5, 2, ... ``count``."""
    levels = (np.arange(2, 2 * count + 1) / 2.0 - 0.375) / (count + 0.25)
    if count < _SLOW_FROM:
        return np.array([NormalDist().inv_cdf(level) for level in levels.tolist()])
    from scipy.special import ndtri  # slow to import

    return np.asarray(ndtri(levels))


def _mean_ranks(rows: Floats) -> Floats:
    """Ranks from 1 in each row, ties at their mean, as ``scipy.stats.rankdata``, whose package takes long to import."""
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    place = np.arange(rows.shape[1])
    begins = np.ones(rows.shape, bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.ones(rows.shape, bool)
    ends[:, :-1] = begins[:, 1:]
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, place, rows.shape[1])[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(rows.shape)
    np.put_along_axis(ranks, order, 0.5 * (first + last) + 1.0, axis=1)
    ranks[np.isnan(ordered[:, -1:]).any(axis=1)] = np.nan
    return ranks


def _r_hat(values: Floats) -> Floats:
    count = values.shape[2]
    within = values.var(axis=2, ddof=1).mean(axis=1)
    between = values.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((between / within) + (count - 1) / count))


def _ess(values: Floats) -> Floats:
    """Effective sample size of chains as they are: Geyer's initial monotone sequence of the combined chains."""
    quantities, chains, count = values.shape
    if count < 3:
        return np.full(quantities, np.nan)
    first, mean_covariance = _autocovariance(values)
    mean_variance = first * count / (count - 1)
    total = mean_variance * (count - 1) / count
    if chains > 1:
        total = total + values.mean(axis=2).var(axis=1, ddof=1)
    constant = total <= 0
    safe = np.where(constant, 1.0, total)
    rho = 1.0 - (mean_variance[:, None] - mean_covariance) / safe[:, None]
    rho[:, 0] = 1.0
    most = max(1, (count - 1) // 2)  # pairs; the last is never more than what follows the others
    pairs = rho[:, : 2 * most].reshape(quantities, most, 2).sum(axis=2)
    positive = np.logical_and.accumulate(pairs[:, : most - 1] > 0, axis=1)
    kept = positive.sum(axis=1)
    monotone = np.minimum.accumulate(np.where(positive, pairs[:, : most - 1], 0.0), axis=1)
    following = np.take_along_axis(rho, 2 * kept[:, None], axis=1)[:, 0]
    time = -1.0 + 2.0 * monotone.sum(axis=1) + np.maximum(following, 0.0)
    time = np.maximum(time, 1.0 / np.log10(chains * count))
    return np.asarray(np.where(constant, float(chains * count), chains * count / time))


def _autocovariance(values: Floats) -> tuple[Floats, Floats]:
    """Means over the chains of the biased autocovariances, at lag 0 and at all lags, by the fast Fourier transform."""
    count = values.shape[2]
    size = 1 << (2 * count - 1).bit_length()  # the transform is fast for powers of 2
    spectrum = np.fft.rfft(values - values.mean(axis=2, keepdims=True), n=size, axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    covariance: Floats = np.fft.irfft(power, n=size, axis=1)[:, :count] / count
    return covariance[:, 0].copy(), covariance


# --- what ends a run without a fixed number of draws ------------------------------------------------------------------


CHECKS = 2
"""Successive checks that must be passed."""

_FIRST_CHECK = 100
_GROWTH = 1.25
_WATCHED = 4


@dataclass(frozen=True)
class Mixing:
    """The worst of all quantities, or of those that were watched: smallest ESS (bulk and tail) and largest R-hat.

    A quantity that never changed has an ESS of 0 and an infinite R-hat. ``watched`` are the quantities with the
    smallest ESS or the largest R-hat.
    """

    ess: float
    r_hat: float
    watched: NDArray[np.int64]

    def reaches(self, ess: float, r_hat: float) -> bool:
        """Whether the targets are met."""
        return self.ess >= ess and self.r_hat <= r_hat


def check_points(most: int) -> list[int]:
    """Numbers of draws at which convergence is checked: each a quarter more than the one before."""
    points, at = [], float(_FIRST_CHECK)
    while at < most:
        points.append(int(at))
        at = max(at + 1, at * _GROWTH)
    return points


def mixing_of(draws: Draws, statistics: Draws, watched: NDArray[np.int64] | None = None) -> Mixing | None:
    """How well the kept draws, or their ``watched`` quantities, have mixed; None while they are too few."""
    reports = statistics.all()[:, :: draws.every]  # thinned as the draws are
    behind = np.concatenate([-0.5 * np.log(reports[:, :, :1]), reports[:, :, len(CHAIN.names) :]], axis=2)
    coefficients = draws.shape[1]
    chosen = np.arange(coefficients + behind.shape[2]) if watched is None or not len(watched) else watched
    values = draws.tail(chosen[chosen < coefficients], draws.count)
    count = min(values.shape[1], behind.shape[1])
    others = behind[:, :count, chosen[chosen >= coefficients] - coefficients]
    values = np.concatenate([values[:, :count], others], axis=2)
    found, stuck = diagnose(values), never_moved(values)
    ess = np.where(stuck, 0.0, np.fmin(found.ess_bulk, found.ess_tail))
    r_hat = np.where(stuck, np.inf, found.r_hat)
    known = np.logical_not(np.isnan(ess) | np.isnan(r_hat))
    if not known.any():
        return None
    worst = np.argsort(np.where(known, ess, np.inf), kind="stable")[:_WATCHED]
    apart = np.argsort(np.where(known, -r_hat, np.inf), kind="stable")[:_WATCHED]
    watch = np.unique(np.concatenate([chosen[worst[known[worst]]], chosen[apart[known[apart]]]]))
    return Mixing(float(ess[known].min()), float(r_hat[known].max()), watch.astype(np.int64))


def never_moved(values: Floats) -> NDArray[np.bool_]:
    """Quantities of draws (chains, draws, quantities) that each chain has kept for four draws or more, and not at 0."""
    if values.shape[1] < 4:
        return np.zeros(values.shape[2], bool)
    return np.asarray((values == values[:, :1]).all(axis=(0, 1)) & (values[:, 0] != 0.0).any(axis=0))
