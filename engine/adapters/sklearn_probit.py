"""The sampler as a scikit-learn classifier; imported when it is first asked for, since scikit-learn is optional."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..solvers.gibbs.posterior import Posterior
from ..solvers.gibbs.problem import HorseshoeLogit, HorseshoeProbit
from .sklearn_base import HorseshoeEstimator


class HorseshoeClassifier(ClassifierMixin, HorseshoeEstimator):  # type: ignore[misc]
    """Classification by probit or logistic regression with a horseshoe prior, averaged over posterior draws.

    Of three and more classes each is separated from all others by a regression of its own (one-vs-rest), and the
    probabilities are divided by their sum.

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
    storage : {"auto", "float32", "float16", "sparse"}
    standardize, fit_intercept : bool
    intercept_scale, tau_scale : float
        Scales of the priors of the intercept (normal) and of tau (half-Cauchy).
    par_ratio : float or None
        Expected number of coefficients that are not 0 over that of the others, which then sets the scale of tau.
    penalize : array-like of bool, shape (p,), sequence of str, or None
        Columns inside the horseshoe, or their names; None: all. The others have normal priors.
    prior : {"horseshoe", "regularized", "half_t", "lasso", "ridge"}
        Of the coefficients given tau; ``regularized`` bounds them if columns separate the classes.
    slab : float or None
        The scale of its slab, 2 by default; see the option of the same name.
    class_weight : dict, "balanced" or None
        What the weights of the rows of each class are multiplied by, as in other estimators; ``"balanced"``:
        n / (K n_k) of a class of n_k of n rows. Fits are as if rows occurred so often: probabilities hold for such
        a population, and intervals for so much data of each class.
    backend, devices
        As for :class:`engine.Engine`.
    random_state : int, RandomState or None
        An int makes fits repeatable.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
    coef_ : ndarray, shape (1, p) or (K, p)
        Posterior means; a row for each of three and more classes.
    intercept_ : ndarray, shape (1,) or (K,)
    result_ : engine.solvers.gibbs.posterior.Posterior
        Of two classes: the draws, their diagnostics and ``summary``; see :func:`engine.to_arviz`.
    results_ : list of Posterior
        The same for each regression.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (p,)
        Names of a data frame's columns, which ``result_.summary`` has too.
    n_iter_ : int
        Iterations of each chain, the most of all regressions.

    Notes
    -----
    In cross-validation ``ess=100`` often suffices, as means need fewer draws than intervals: sampling still ends only
    when the chains agree, which a fixed number of ``draws`` does not ensure.

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
        par_ratio: float | None = None,
        penalize: Any = None,
        prior: str = "horseshoe",
        slab: float | None = None,
        class_weight: Any = None,
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
            Features.
        y : array-like, shape (N,)
            Two classes or more.
        sample_weight : array-like, shape (N,), optional
            What the log-likelihood of each row is multiplied by, such as how often it occurs. Fractions, of
            ``class_weight`` too, are sampled by the kernel ``hmc``.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        X, y, weights = self._rows(X, y, sample_weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        if count < 2:
            raise ValueError("Classifier can't train when only one class is present.")
        if self.family not in ("probit", "logit"):
            raise ValueError(f"family must be 'probit' or 'logit'; got {self.family!r}")
        weights = self._of_classes(codes, weights)
        kind = HorseshoeProbit if self.family == "probit" else HorseshoeLogit
        random = check_random_state(self.random_state)
        self.results_: list[Posterior] = []
        for number in range(count) if count > 2 else (1,):
            problem = kind(
                X, (codes == number).astype(np.int64), names=self._names(), weights=weights, penalize=self.penalize
            )
            what = f"{self.classes_[number]}: " if count > 2 else ""
            seed = int(random.randint(2**31 - 1))
            self.results_.append(self._sample(problem, X, seed, what, kernel=self.kernel))
        if count == 2:
            self.result_ = self.results_[0]
        self.n_iter_ = max(int(result.counters["iterations"]) for result in self.results_)
        means = np.stack([np.asarray(result.solution) for result in self.results_])
        first = int(self.fit_intercept)
        self.intercept_ = means[:, 0] if first else np.zeros(len(means))
        self.coef_ = means[:, first:]
        return self

    def _of_classes(self, codes: NDArray[np.int64], weights: NDArray[np.float64] | None) -> Any:
        """The weights of the rows times those of their classes."""
        if self.class_weight is None:
            return weights
        rows = np.ones(len(codes)) if weights is None else weights
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            counts = np.bincount(codes, rows)
            return rows * (rows.sum() / (len(counts) * counts))[codes]
        return rows * compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])[codes]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The posterior mean of P(class | x); shape (N, K)."""
        from scipy.special import expit, ndtr

        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=[np.float64, np.float32])
        F = ndtr if self.family == "probit" else expit
        found = np.empty((X.shape[0], len(self.results_)))
        for number, result in enumerate(self.results_):
            for rows, eta in self._margins(X, result):
                found[rows, number] = F(eta).mean(axis=1)
        if len(self.results_) == 1:
            found = np.column_stack([1.0 - found, found])
        return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), np.finfo(float).tiny))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of :meth:`predict_proba`; shape (N, K)."""
        with np.errstate(divide="ignore"):  # a probability may be 0 in float64
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        likely = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likely])


HorseshoeProbitClassifier = HorseshoeClassifier
"""The former name."""
