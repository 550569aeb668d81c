"""Whether the chains of a running sampler have mixed: what ends a run without a fixed number of draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..device.records import CHAIN
from .diagnostics import Diagnostics, diagnose
from .store import Draws

__all__ = ["CHECKS", "Mixing", "check_points", "mixing_of", "never_moved"]

Floats = NDArray[np.float64]

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
    """How well the kept draws have mixed; None while they are too few.

    Of draws that are thinned for memory the effective size is that of those kept: that of all is not smaller, but how
    much larger it is they do not say. Of ``watched`` quantities those behind the coefficients are log tau and the
    family's own.
    """
    values = draws.all()
    reports = statistics.all()[:, :: draws.every]
    log_tau, auxiliary = -0.5 * np.log(reports[:, :, :1]), reports[:, :, len(CHAIN.names) :]
    count = min(values.shape[1], log_tau.shape[1])
    values = np.concatenate([values[:, :count], log_tau[:, :count], auxiliary[:, :count]], axis=2)
    chosen = np.arange(values.shape[2]) if watched is None or not len(watched) else watched
    found: Diagnostics = diagnose(values[:, :, chosen])
    stuck = never_moved(values[:, :, chosen])
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
