"""Linear regression with a horseshoe prior as a scikit-learn regressor; imported when it is first asked for."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..solvers.gibbs.problem import HorseshoeRegression
from .sklearn_base import HorseshoeEstimator

__all__ = ["HorseshoeRegressor"]


class HorseshoeRegressor(RegressorMixin, HorseshoeEstimator):  # type: ignore[misc]
    """Linear regression with a horseshoe prior and normal or Student's t errors, averaged over posterior draws.

    Parameters
    ----------
    family : {"normal", "student"}
        The distribution of the errors.
    degrees : float
        Degrees of freedom of Student's t.
    draws : int or None
        Draws kept of each chain; None: until every quantity has an effective sample size of ``ess`` and an R-hat of
        at most 1.01, or ``max_draws`` are kept.
    ess : float
    max_draws : int
    warmup, thin, chains : int
        Iterations before the first draw, iterations per draw, and chains.
    storage : {"auto", "float32", "float16", "bfloat16", "sparse"}
    standardize, fit_intercept : bool
    intercept_scale, tau_scale : float
        Scales of the priors of the intercept (normal) and of tau (half-Cauchy), where y has mean 0 and variance 1.
    prior : {"horseshoe", "regularized", "half_t", "lasso", "ridge"}
        Of the coefficients given tau.
    slab : float or None
        The scale of the slab of ``regularized``, 2 by default; see the option of the same name.
    backend, devices
        As for :class:`engine.Engine`.
    random_state : int, RandomState or None
        An int makes fits repeatable.

    Attributes
    ----------
    coef_ : ndarray, shape (p,)
        Posterior means.
    intercept_ : float
    sigma_ : float
        Posterior mean of the scale of the errors.
    result_ : engine.solvers.gibbs.posterior.Posterior
        The draws, their diagnostics and ``summary``; see :func:`engine.to_arviz`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (p,)
        Names of a data frame's columns, which ``result_.summary`` has too.
    n_iter_ : int
        Iterations of each chain.

    Examples
    --------
    >>> import numpy as np, engine
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(50, 2))
    >>> y = 3 * X[:, 0] + 0.1 * random.normal(size=50)
    >>> regressor = engine.HorseshoeRegressor(random_state=1).fit(X, y)
    >>> regressor.predict([[2, 0], [-2, 0]]).round()
    array([ 6., -6.])
    """

    def __init__(
        self,
        *,
        family: str = "normal",
        degrees: float = 4.0,
        draws: int | None = None,
        ess: float = 400.0,
        max_draws: int = 10_000,
        warmup: int = 300,
        thin: int = 1,
        chains: int = 4,
        storage: str = "auto",
        standardize: bool = True,
        fit_intercept: bool = True,
        intercept_scale: float = 10.0,
        tau_scale: float = 1.0,
        prior: str = "horseshoe",
        slab: float | None = None,
        backend: str | None = None,
        devices: Any = None,
        random_state: Any = None,
    ) -> None:
        self.family = family
        self.degrees = degrees
        self.draws = draws
        self.ess = ess
        self.max_draws = max_draws
        self.warmup = warmup
        self.thin = thin
        self.chains = chains
        self.storage = storage
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.intercept_scale = intercept_scale
        self.tau_scale = tau_scale
        self.prior = prior
        self.slab = slab
        self.backend = backend
        self.devices = devices
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Draw from the posterior; warns if the chains have not mixed.

        Parameters
        ----------
        X : array-like or SciPy sparse array, shape (N, p)
        y : array-like, shape (N,)
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True)
        if self.family not in ("normal", "student"):
            raise ValueError(f"family must be 'normal' or 'student'; got {self.family!r}")
        problem = HorseshoeRegression(X, np.asarray(y, np.float64), self.family, names=self._names())
        means = self._sample(problem, X, degrees=self.degrees)
        first = int(self.fit_intercept)
        self.intercept_ = float(means[0]) if first else 0.0
        self.coef_ = means[first:]
        self.sigma_ = float(self.result_.arrays["sigma"].mean())
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The posterior mean of the target of each row, and with ``return_std`` its predictive standard deviation.

        Parameters
        ----------
        X : array-like or SciPy sparse array, shape (N, p)
        return_std : bool

        Notes
        -----
        With Student's t errors of at most 2 degrees of freedom the standard deviation is infinite.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=[np.float64, np.float32])
        mean: NDArray[np.float64] = X @ self.coef_ + self.intercept_
        if not return_std:
            return mean
        X = X.toarray() if sparse.issparse(X) else X
        arrays = self.result_.arrays
        draws = arrays["beta"].reshape(-1, arrays["beta"].shape[2])[:, -X.shape[1] :]
        apart = X - X.mean(axis=0)  # of the intercept at the mean row and the slopes about it
        at_mean = arrays["beta"].reshape(len(draws), -1)[:, 0] if self.fit_intercept else np.zeros(len(draws))
        at_mean = at_mean + draws @ X.mean(axis=0)
        covariance = np.cov(np.column_stack([at_mean, draws]).T)
        rows = np.column_stack([np.ones(len(X)), apart])
        variance = ((rows @ covariance) * rows).sum(axis=1)
        noise = np.mean(arrays["sigma"] ** 2)
        if self.family == "student":
            noise *= self.degrees / (self.degrees - 2.0) if self.degrees > 2.0 else np.inf
        return mean, np.sqrt(variance + noise)
