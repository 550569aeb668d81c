"""The likelihoods of a row given its margin; ``kernels/gibbs/likelihoods.mako`` has the same formulas."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FamilyName = Literal["probit", "logit", "normal", "student", "ordinal", "counts"]

WIDE_FAMILIES: tuple[FamilyName, ...] = ("probit", "normal", "student")
"""What is sampled by matrices of the size of the rows where X has more columns."""

AUXILIARY = 16
"""Most auxiliary parameters of a chain, and one more than the most thresholds."""

THRESHOLD_SCALE = 2.0
"""Standard deviation of the normal prior of the logarithm of a difference of thresholds."""


@dataclass(frozen=True)
class Family:
    """One likelihood; auxiliary are log sigma, logarithms of differences of thresholds, or -log(size) / 2 of counts."""

    name: FamilyName
    targeted: bool  # rows have a value of their own; those of the others are multiplied by y = +-1
    information: float  # about the largest curvature of a row's log-likelihood, at auxiliary parameters of 0
    log_likelihood: Callable[..., Floats]  # of margins, targets, auxiliary parameters, degrees

    @property
    def scaled(self) -> bool:
        """Whether there is a scale sigma of the errors."""
        return self.name in ("normal", "student")

    def auxiliary_names(self, categories: int) -> list[str]:
        """What the auxiliary parameters are called in results, in the units of the target."""
        if self.name == "ordinal":
            return [f"threshold {number}" for number in range(2, categories)]
        if self.name == "counts":
            return ["dispersion"]
        return ["sigma"] if self.targeted else []

    def reported(self, auxiliary: Floats, scale: float) -> Floats:
        """The auxiliary parameters as results have them: sigma, thresholds, or 1 / r; shape (..., count)."""
        if self.name == "ordinal":
            return np.asarray(np.cumsum(np.exp(auxiliary), axis=-1))
        if self.name == "counts":
            return np.asarray(np.exp(2.0 * auxiliary))
        return np.asarray(np.exp(auxiliary) * scale)

    def steps(self, target: NDArray[Any], categories: int, degrees: float, weights: Floats | None = None) -> Floats:
        """Standard deviations of the moves of the auxiliary parameters, about 1.5 times those of the posterior."""
        if self.name == "counts":
            return np.ones(1)
        if self.name == "ordinal":
            counts = np.bincount(target.astype(np.int64), weights, minlength=categories)[1:]
            least = np.minimum(counts[:-1], np.maximum(1, counts[1:]))
            return np.asarray(np.minimum(1.0, 1.2 / np.sqrt(np.maximum(1, least))) / np.sqrt(max(1, categories - 2)))
        share = (degrees + 3.0) / degrees if self.name == "student" else 1.0
        total = len(target) if weights is None else float(weights.sum())
        return np.full(int(self.targeted), min(1.0, 1.5 * np.sqrt(share / (2.0 * max(1.0, total)))))

    def information_at(self, auxiliary: Floats) -> float:
        """About the curvature of a row's log-likelihood."""
        return self.information * math.exp(-2.0 * float(auxiliary[0])) if self.scaled else self.information

    def fit(
        self, margins: Floats, target: Floats, start: Floats, degrees: float, weights: Floats | None = None
    ) -> Floats:
        """The auxiliary parameters that are most likely given the margins, with their prior."""
        if not self.targeted or not len(start):
            return start
        from scipy.optimize import minimize

        def objective(auxiliary: Floats) -> float:
            with np.errstate(over="ignore", invalid="ignore"):  # far from the mode, where the density is 0
                rows = self.log_likelihood(margins, target, auxiliary, degrees)
                value = (rows.sum() if weights is None else rows @ weights) + self.log_prior(auxiliary)
            return np.inf if np.isnan(value) else -float(value)

        found = minimize(objective, start, method="Nelder-Mead", options={"maxfev": 60 * len(start), "xatol": 1e-3})
        return np.asarray(found.x)

    def log_prior(self, auxiliary: Floats) -> float:
        """Half-Cauchy of scale 1 for sigma on the sampler's scale and for r^-1/2; normal for those of thresholds."""
        if self.name == "ordinal":
            return float(-0.5 * (auxiliary**2).sum() / THRESHOLD_SCALE**2)
        return float((auxiliary - np.log1p(np.exp(2.0 * auxiliary))).sum())


def _probit(margins: Floats, target: Any, auxiliary: Any, degrees: float) -> Floats:
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr(margins))


def _logit(margins: Floats, target: Any, auxiliary: Any, degrees: float) -> Floats:
    from scipy.special import log_expit

    return np.asarray(log_expit(margins))


def _normal(margins: Floats, target: Floats, auxiliary: Floats, degrees: float) -> Floats:
    residual = (target - margins) * np.exp(-auxiliary[..., :1])
    return np.asarray(-0.5 * residual**2 - auxiliary[..., :1] - 0.5 * np.log(2.0 * np.pi))


def _student(margins: Floats, target: Floats, auxiliary: Floats, degrees: float) -> Floats:
    from scipy.special import gammaln

    residual = (target - margins) * np.exp(-auxiliary[..., :1])
    constant = gammaln(0.5 * degrees + 0.5) - gammaln(0.5 * degrees) - 0.5 * np.log(degrees * np.pi)
    kernel = -0.5 * (degrees + 1.0) * np.log1p(residual**2 / degrees)
    return np.asarray(constant - auxiliary[..., :1] + kernel)


def _counts(margins: Floats, target: Floats, auxiliary: Floats, degrees: float) -> Floats:
    softplus = np.logaddexp(0.0, margins + 2.0 * auxiliary[..., :1])
    size = np.exp(-2.0 * auxiliary[..., :1])
    return np.asarray(constant_of_counts(target, auxiliary) + target * margins - (target + size) * softplus)


def constant_of_counts(target: Any, auxiliary: Floats) -> Floats:
    """The terms of the log-likelihood of counts without the margin: log(Gamma(y + r) / (Gamma(r) r^y y!))."""
    from scipy.special import gammaln

    size = np.exp(-2.0 * auxiliary[..., :1])
    large = np.maximum(size, 1e4)  # Stirling's formula where the terms are large
    near = (large + target - 0.5) * np.log1p(target / large) - target
    small = np.minimum(size, 1e4)
    exact = gammaln(target + small) - gammaln(small) - target * np.log(small)
    return np.asarray(np.where(size > 1e4, near, exact) - gammaln(target + 1.0))


def _ordinal(margins: Floats, target: Floats, auxiliary: Floats, degrees: float) -> Floats:
    from scipy.special import log_ndtr

    shape = (*auxiliary.shape[:-1], 1)
    inner = np.cumsum(np.exp(auxiliary), axis=-1)
    bounds = np.concatenate([np.full(shape, -np.inf), np.zeros(shape), inner, np.full(shape, np.inf)], axis=-1)
    k = np.asarray(target, np.int64)
    low, high = np.take(bounds, k, axis=-1) - margins, np.take(bounds, k + 1, axis=-1) - margins
    flipped = low > 0
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    above, below = log_ndtr(high), log_ndtr(low)
    return np.asarray(above + np.log1p(-np.exp(below - above)))


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("probit", False, 2.0 / np.pi, _probit),
        Family("logit", False, 2.0 / np.pi, _logit),
        Family("normal", True, 1.0, _normal),
        Family("student", True, 1.0, _student),
        Family("ordinal", True, 2.0 / np.pi, _ordinal),
        Family("counts", True, 1.0, _counts),
    )
}
