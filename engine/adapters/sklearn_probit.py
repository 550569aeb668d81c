"""The sampler as a scikit-learn classifier; imported when it is first asked for, since scikit-learn is optional."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..solvers.gibbs.problem import HorseshoeLogit, HorseshoeProbit
from .sklearn_base import HorseshoeEstimator

__all__ = ["HorseshoeClassifier", "HorseshoeProbitClassifier"]

_AT_ONCE = 1 << 24  # products of rows with draws


class HorseshoeClassifier(ClassifierMixin, HorseshoeEstimator):  # type: ignore[misc]
    """Binary classification by probit or logistic regression with a horseshoe prior, averaged over posterior draws.

    Parameters
    ----------
    family : {"probit", "logit"}
        The distribution function F in P(y = 1) = F(margin).
    kernel : {"auto", "hmc", "cg", "px", "gibbs"}
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
        Scales of the priors of the intercept (normal) and of tau (half-Cauchy).
    prior : {"horseshoe", "regularized", "half_t", "lasso", "ridge"}
        Of the coefficients given tau; ``regularized`` bounds those of columns that separate the classes.
    slab : float or None
        The scale of its slab, 2 by default; see the option of the same name.
    backend, devices
        As for :class:`engine.Engine`.
    random_state : int, RandomState or None
        An int makes fits repeatable.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    coef_ : ndarray, shape (1, p)
        Posterior means.
    intercept_ : ndarray, shape (1,)
    result_ : engine.solvers.gibbs.posterior.Posterior
        The draws, their diagnostics and ``summary``; see :func:`engine.to_arviz`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (p,)
        Names of a data frame's columns, which ``result_.summary`` has too.
    n_iter_ : int
        Iterations of each chain.

    Notes
    -----
    Rows and classes have no weights (``sample_weight``, ``class_weight``): a weighted likelihood is not that of the
    model, and its intervals would not be those of the data. Rows that occur several times may be repeated. The cost of
    errors belongs in the decision: compare :meth:`predict_proba` with another threshold than 0.5.

    Examples
    --------
    >>> import numpy as np, engine
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(50, 2))
    >>> y = X[:, 0] + random.normal(size=50) > 0
    >>> classifier = engine.HorseshoeClassifier(random_state=1).fit(X, y)
    >>> classifier.predict([[2, 0], [-2, 0]])
    array([ True, False])
    >>> classifier.predict_proba([[2, 0], [-2, 0]]).shape
    (2, 2)
    """

    def __init__(
        self,
        *,
        family: str = "probit",
        kernel: str = "auto",
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
        self.kernel = kernel
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Draw from the posterior; warns if the chains have not mixed.

        Parameters
        ----------
        X : array-like or SciPy sparse array, shape (N, p)
            Features.
        y : array-like, shape (N,)
            Two classes.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {len(self.classes_)} classes"
            )
        if len(self.classes_) < 2:
            raise ValueError("Classifier can't train when only one class is present.")
        if self.family not in ("probit", "logit"):
            raise ValueError(f"family must be 'probit' or 'logit'; got {self.family!r}")
        kind = HorseshoeProbit if self.family == "probit" else HorseshoeLogit
        means = self._sample(kind(X, codes, names=self._names()), X, kernel=self.kernel)
        first = int(self.fit_intercept)
        self.intercept_ = means[:first] if first else np.zeros(1)
        self.coef_ = means[first:].reshape(1, -1)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The posterior mean of P(class | x); shape (N, 2)."""
        from scipy.special import expit, ndtr

        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=[np.float64, np.float32])
        beta = self.result_.arrays["beta"]
        beta = beta.reshape(-1, beta.shape[2])
        rows = max(1, _AT_ONCE // len(beta))
        ones = np.empty(X.shape[0])
        for at in range(0, X.shape[0], rows):
            part = X[at : at + rows]
            eta = part @ beta[:, -part.shape[1] :].T
            if self.fit_intercept:
                eta = eta + beta[:, 0]
            ones[at : at + rows] = (ndtr if self.family == "probit" else expit)(eta).mean(axis=1)
        return np.column_stack([1.0 - ones, ones])

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of :meth:`predict_proba`; shape (N, 2)."""
        with np.errstate(divide="ignore"):  # a probability may be 0 in float64
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class of each row."""
        likely = self.predict_proba(X)[:, 1] > 0.5
        return np.asarray(self.classes_[likely.astype(int)])


HorseshoeProbitClassifier = HorseshoeClassifier
"""The former name."""
