"""The models of a posterior by their definitions: derivatives of log-likelihoods and log-priors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.problem import sparse_rows
from .findings import Claim

Floats = NDArray[np.float64]

DEFAULTS = {
    "prior": "horseshoe",
    "standardize": True,
    "intercept": True,
    "intercept_scale": 10.0,
    "tau_scale": 1.0,
    "degrees": 4.0,
    "local_degrees": 3.0,
}
"""The sampler's defaults of the options that define a posterior."""


@dataclass(frozen=True)
class Model:
    """One posterior, on the scale of its priors: columns of mean 0 and variance 1 if they are standardized.

    ``centre`` and ``unit`` turn a target into that scale, ``mean`` and ``scale`` the columns; ``penalized`` says which
    of the active columns are inside the horseshoe.
    """

    family: str
    X: Any
    y: Floats
    active: NDArray[np.int64]
    mean: Floats
    scale: Floats
    centre: float
    unit: float
    options: dict[str, Any]
    names: list[str]
    weights: Floats
    offset: Floats
    penalized: NDArray[np.bool_]

    @classmethod
    def of(cls, claim: Claim) -> tuple[Model | None, str]:
        """The model of a run; or None, and why it is not checked."""
        data, arrays, options = claim.problem, claim.result.arrays, {**DEFAULTS, **claim.options}
        family = {"HorseshoeProbit": "probit", "HorseshoeLogit": "logit"}.get(claim.kind) or str(data["family"])
        if options["prior"] not in ("horseshoe", "half_t", "lasso", "ridge") or options.get("slab") is not None:
            return None, "there is no such check for priors with a slab"
        if "16" in str(arrays.get("kernel", "")):
            return None, "X was stored in half precision, which has a posterior of its own"
        y = np.asarray(data["y"], np.float64)
        weights, offset = (
            np.asarray(data.get(*pair), np.float64) for pair in (("weights", 0 * y + 1), ("offset", 0 * y))
        )
        if not len(y) or y.shape != weights.shape or y.shape != offset.shape or not weights.sum() > 0.0:
            raise ValueError("y, weights and offset do not fit")
        share = weights / weights.sum()
        if "X_codes" in data:
            return None, "there is no such check for genotypes"
        if "X_data" in data:
            rows, columns = (int(size) for size in data["X_shape"])
            X: Any = sparse_rows(data["X_data"], data["X_indices"], data["X_indptr"], (rows, columns), "X")
            X = X.astype(np.float64)
            mean = np.asarray(X.T @ share).ravel()
            scale = np.sqrt(np.maximum(np.asarray(X.multiply(X).T @ share).ravel() - mean**2, 0.0))
        else:
            X = np.asarray(data["X"], np.float64)
            if not X.size:
                raise ValueError("X is empty")
            mean = share @ X
            scale = np.sqrt(share @ (X - mean) ** 2)
        columns, intercept = X.shape[1], bool(options["intercept"])
        if arrays["beta"].shape[2] != columns + intercept:
            return None, "the draws of some coefficients were not kept"
        active = np.arange(columns)
        if options["standardize"]:
            varies = scale > 1e-12 * np.abs(mean)
            scale = np.where(varies, scale, 0.0 if intercept else np.abs(mean))
            active = np.flatnonzero(scale > 0.0)
            mean = mean if intercept else np.zeros(columns)
        else:
            mean, scale = np.zeros(columns), np.ones(columns)
        if not len(y) or X.shape[0] != len(y) or not np.isfinite(y).all():
            raise ValueError("X and y do not fit")
        centre, unit = 0.0, 1.0
        if family in ("normal", "student") and options["standardize"]:
            centre = float(share @ (y - offset)) if intercept else 0.0
            unit = float(np.sqrt(share @ (y - offset - centre) ** 2)) or 1.0
        penalized = np.asarray(data.get("penalized", np.ones(columns)), bool)[active]
        if options.get("par_ratio") is not None:
            options["tau_scale"] = options["par_ratio"] / np.sqrt(weights.sum())
        names = [f"coefficient {data['names'][column]}" for column in active]
        names += ["log tau", *(["the intercept"] if intercept else [])]
        names += ["log sigma"] if family in ("normal", "student") else []
        return cls(family, X, y, active, mean, scale, centre, unit, options, names, weights, offset, penalized), ""

    @property
    def entries(self) -> int:
        """Numbers that one pass over X reads."""
        return int(self.X.size)

    def identities(self, beta: Any, log_tau: Floats, sigma: Any, dispersion: Any, thresholds: Any) -> list[Floats]:
        """A term of each draw for each identity, shape (chains, draws), in the order of ``names``; their mean is 0."""
        intercept = int(self.options["intercept"])
        terms: list[list[Floats]] = []
        chains = len(log_tau)
        own = beta[:, :, intercept:] * self.scale / self.unit
        tau = np.exp(log_tau)
        scaled = own[:, :, self.active] / tau[:, :, None]
        priors = _PRIORS[self.options["prior"]](scaled, self.options)
        width = self.options["tau_scale"]
        of_tau = 1.0 - 2.0 * tau**2 / (tau**2 + width**2) - (1.0 + priors)[:, :, self.penalized].sum(axis=2)
        normal = -((own[:, :, self.active] / self.options["intercept_scale"]) ** 2)
        priors = np.where(self.penalized, priors, normal)
        for chain in range(chains):
            margins = self.X @ beta[chain, :, intercept:].T  # (rows, draws)
            margins = margins + self.offset[:, None] + (beta[chain, :, 0] if intercept else 0.0)
            margins = (margins - self.centre) / self.unit
            shape = None if sigma is None else sigma[chain] / self.unit
            shape = dispersion[chain] if dispersion is not None else shape
            slopes, of_sigma = self._slopes(margins, shape, None if thresholds is None else thresholds[chain])
            slopes = slopes * self.weights[:, None]
            by_column = (self.X.T @ slopes - self.mean[:, None] * slopes.sum(axis=0)) / np.where(
                self.scale > 0.0, self.scale, 1.0
            )[:, None]
            likelihood = (by_column.T * own[chain])[:, self.active]
            found = [*(1.0 + priors[chain] + likelihood).T, of_tau[chain]]
            if intercept:
                at_mean = (
                    beta[chain, :, 0] - self.centre + beta[chain, :, 1:][:, self.active] @ self.mean[self.active]
                ) / self.unit
                found.append(slopes.sum(axis=0) - at_mean / self.options["intercept_scale"] ** 2)
            if of_sigma is not None and shape is not None:
                found.append(of_sigma + 1.0 - 2.0 * shape**2 / (1.0 + shape**2))
            terms.append(found)
        return [np.stack([of_chain[place] for of_chain in terms]) for place in range(len(terms[0]))]

    def _slopes(self, m: Floats, shape: Any, thresholds: Any) -> tuple[Floats, Floats | None]:
        """Derivatives of the log-likelihood by the margins (rows, draws), and by log sigma (draws,)."""
        from scipy.special import expit, log_ndtr

        y = ((self.y - self.centre) / self.unit)[:, None]
        if self.family == "probit":
            sign = np.where(y > 0, 1.0, -1.0)
            return sign * np.exp(_log_density(m) - log_ndtr(sign * m)), None
        if self.family == "logit":
            return y - expit(m), None
        if self.family == "counts":
            size = 1.0 / shape
            return y - (y + size) * expit(m - np.log(size)), None
        if self.family == "ordinal":
            inner = np.zeros((m.shape[1], 1)) if thresholds is None else np.insert(thresholds, 0, 0.0, axis=1)
            limits = np.pad(inner, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
            k = self.y.astype(np.int64)
            low, high = limits[:, k].T - m, limits[:, k + 1].T - m
            flip = low > 0
            below, above = log_ndtr(np.where(flip, -high, low)), log_ndtr(np.where(flip, -low, high))
            between = above + np.log1p(-np.exp(below - above))
            return np.exp(_log_density(low) - between) - np.exp(_log_density(high) - between), None
        r = (y - m) / shape
        if self.family == "normal":
            return r / shape, self.weights @ (r**2 - 1.0)
        degrees = self.options["degrees"]
        weight = (degrees + 1.0) / (degrees + r**2)
        return weight * r / shape, self.weights @ (weight * r**2 - 1.0)


def _log_density(m: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(-0.5 * m**2 - 0.5 * np.log(2.0 * np.pi))


def _half_t(u: Floats, degrees: float) -> Floats:
    """``u d log p / du`` if ``u | lambda ~ N(0, lambda^2)`` and lambda is half-Student: ``-E[(u / lambda)^2 | u]``.

    The integral is over log lambda, for some log |u|, between which it is interpolated.
    """
    at = np.linspace(-45.0, 45.0, 901)
    log_lambda = np.linspace(-60.0, 60.0, 2401)
    ratio = np.exp(np.minimum(2.0 * (at[:, None] - log_lambda), 700.0))
    density = np.exp(-0.5 * ratio - 0.5 * (degrees + 1.0) * np.log1p(np.exp(2.0 * log_lambda) / degrees))
    values = -(ratio * density).sum(axis=1) / density.sum(axis=1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.interp(np.log(np.abs(u)), at, values))


_PRIORS: dict[str, Callable[[Floats, dict[str, Any]], Floats]] = {
    "horseshoe": lambda u, _: _half_t(u, 1.0),
    "half_t": lambda u, options: _half_t(u, float(options["local_degrees"])),
    "lasso": lambda u, _: -np.abs(u),
    "ridge": lambda u, _: -(u**2),
}
"""``u d log p / du`` of a coefficient divided by tau, the local scales integrated out."""
