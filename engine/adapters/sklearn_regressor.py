"""Linear regression with a horseshoe prior as a scikit-learn regressor; imported when it is first asked for."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..solvers.gibbs.problem import HorseshoeRegression
from .sklearn_base import HorseshoeEstimator

_LARGEST_MARGIN = 300.0  # of counts; beyond, the square of the mean overflows


class HorseshoeRegressor(RegressorMixin, HorseshoeEstimator):  # type: ignore[misc]
    """Regression of numbers, counts or ordered categories with a horseshoe prior, averaged over posterior draws.

    Parameters
    ----------
    family : {"normal", "student", "counts", "ordinal"}
        Normal or Student's t errors; negative binomial counts, whose mean is the exponential of the margin; or numbers
        of 2 to 16 different values, of which the order alone matters (ordinal probit).
    degrees : float
        Degrees of freedom of Student's t.
    draws : int or None
        Draws kept of each chain; None: until every quantity has an effective sample size of ``ess`` and an R-hat of
        at most 1.01, or ``max_draws`` are kept.
    ess : float
    max_draws : int
    warmup, thin, chains : int
        Iterations before the first draw, iterations per draw, and chains.
    storage : {"auto", "float32", "float16", "sparse"}
    standardize, fit_intercept : bool
    intercept_scale, tau_scale : float
        Scales of the priors of the intercept (normal) and of tau (half-Cauchy), where y has mean 0 and variance 1.
    par_ratio : float or None
        Expected number of coefficients that are not 0 over that of the others, which then sets the scale of tau.
    penalize : array-like of bool, shape (p,), sequence of str, or None
        Columns inside the horseshoe, or their names; None: all. The others have normal priors.
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
        Posterior mean of the scale of the errors (normal, student).
    dispersion_ : float
        Posterior mean of a in the variance m + a m^2 of counts of mean m (counts).
    categories_, thresholds_ : ndarray, shapes (K,) and (K - 1,)
        The different values of the target, and the posterior means of the thresholds between them (ordinal).
    result_ : engine.solvers.gibbs.posterior.Posterior
        The draws, their diagnostics and ``summary``; see :func:`engine.to_arviz`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (p,)
        Names of a data frame's columns, which ``result_.summary`` has too.
    n_iter_ : int
        Iterations of each chain.

    Notes
    -----
    In cross-validation ``ess=100`` often suffices, as means need fewer draws than intervals: sampling still ends only
    when the chains agree, which a fixed number of ``draws`` does not ensure.

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
        par_ratio: float | None = None,
        penalize: Any = None,
        prior: str = "horseshoe",
        slab: float | None = None,
        backend: str | None = None,
        devices: Any = None,
        random_state: Any = None,
    ) -> None:
        self._set_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw from the posterior; warns if the chains have not mixed.

        Parameters
        ----------
        X : array-like or SciPy sparse array, shape (N, p)
        y : array-like, shape (N,)
        sample_weight : array-like, shape (N,), optional
            What the log-likelihood of each row is multiplied by, such as how often it occurs. Fractions are sampled
            by the kernel ``hmc`` whatever the family; ``sigma_`` is the scale of the error of a row of weight 1.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True)
        if self.family not in ("normal", "student", "counts", "ordinal"):
            raise ValueError(f"family must be 'normal', 'student', 'counts' or 'ordinal'; got {self.family!r}")
        X, y, weights = self._rows(X, y, sample_weight)
        y = np.asarray(y, np.float64)
        own = {"weights": weights, "penalize": self.penalize}
        problem = HorseshoeRegression(X, y, self.family, names=self._names(), **own)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.result_ = self._sample(problem, X, seed, degrees=self.degrees)
        self.n_iter_ = int(self.result_.counters["iterations"])
        means, arrays = np.asarray(self.result_.solution), self.result_.arrays
        first = int(self.fit_intercept)
        self.intercept_ = float(means[0]) if first else 0.0
        self.coef_ = means[first:]
        if self.family == "counts":
            self.dispersion_ = float(arrays["dispersion"].mean())
        elif self.family == "ordinal":
            self.categories_ = np.array(problem.classes)
            self.thresholds_ = self._thresholds().mean(axis=0)
        else:
            self.sigma_ = float(arrays["sigma"].mean())
        return self

    def _thresholds(self) -> NDArray[np.float64]:
        """All thresholds of every draw; the first is 0."""
        count = len(self.categories_) - 2
        arrays = self.result_.arrays
        others = arrays["thresholds"].reshape(-1, count) if count else np.zeros((arrays["log_tau"].size, 0))
        return np.column_stack([np.zeros(len(others)), others])

    def _moments(self, eta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and mean square of the targets of some rows over the draws of their margins (rows, draws)."""
        if self.family == "counts":
            mean = np.exp(np.minimum(eta, _LARGEST_MARGIN))
            dispersion = self.result_.arrays["dispersion"].ravel()
            return mean.mean(axis=1), (mean + (1.0 + dispersion) * mean**2).mean(axis=1)
        from scipy.special import ndtr

        values, thresholds = self.categories_, self._thresholds()
        at_most = np.stack([ndtr(bound - eta).mean(axis=1) for bound in thresholds.T], axis=1)  # P(y <= value)
        return values[-1] - at_most @ np.diff(values), values[-1] ** 2 - at_most @ np.diff(values**2)

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
        if self.family in ("counts", "ordinal"):
            moments = [np.stack(self._moments(eta)) for _, eta in self._margins(X, self.result_)]
            first, second = np.concatenate(moments, axis=1)
            return (first, np.sqrt(np.maximum(second - first**2, 0.0))) if return_std else first
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
