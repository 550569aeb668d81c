"""What the scikit-learn estimators of horseshoe regressions have in common."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from .. import errors
from ..base.problem import Problem
from ..runs.run import wait_or_stop
from ..solvers.gibbs.posterior import Posterior, verdict
from .kept_engine import KEPT

_AT_ONCE = 1 << 24  # products of rows with draws
_ORDERED = 1 << 22  # values of X
_REPEATED = 8  # times as many rows as there are; more are not repeated, but have weights
_PASSED = (
    *("draws", "ess", "max_draws", "warmup", "thin", "chains", "storage"),
    *("intercept_scale", "tau_scale", "par_ratio", "prior", "slab"),
)


class HorseshoeEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators, which list their parameters themselves, as scikit-learn asks for."""

    def _set_parameters(self, given: dict[str, Any]) -> None:
        """Keep the arguments of the constructor as they are, each under its name; subclasses may have others."""
        for name in given.keys() - {"self"}:
            setattr(self, name, given[name])

    def _names(self) -> list[str] | None:
        """The names of a data frame's columns."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _rows(
        self, X: Any, y: NDArray[Any], sample_weight: Any
    ) -> tuple[Any, NDArray[Any], NDArray[np.float64] | None]:
        """The rows of weights above 0, and these; small data in an order of its own, on which fits then depend not.

        Rows of whole weights are repeated, if there are not many more of them then; the weights are None.
        """
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
            if (weights < 0).any():
                raise ValueError(f"sample_weight must be at least 0; got {weights.min():g}")
            used = np.flatnonzero(weights)
            if (weights == np.floor(weights)).all() and weights.sum() <= _REPEATED * len(weights):
                used, weights = np.repeat(used, weights[used].astype(np.int64)), None
            else:
                weights = weights[used]
            X, y = X[used], y[used]
        if X.shape[0] * X.shape[1] <= _ORDERED:
            order = np.lexsort((y, _keys(X)) if weights is None else (weights, y, _keys(X)))
            X, y, weights = X[order], y[order], None if weights is None else weights[order]
        return X, y, weights

    def _sample(self, problem: Problem, X: Any, seed: int, what: str = "", **options: Any) -> Posterior:
        """Draw from a posterior, and warn if the chains have not mixed; ``what`` begins the warning."""
        options |= {name: getattr(self, name) for name in _PASSED}
        low, high = X.min(axis=0), X.max(axis=0)
        if sparse.issparse(X):
            low, high = low.toarray(), high.toarray()
        standardize = self.standardize and bool((high > low).any())
        with KEPT.lent(self.backend, self.devices) as owner:
            run = owner.start(problem, seed=seed, standardize=standardize, intercept=self.fit_intercept, **options)
            result = wait_or_stop(run, warn=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.ConvergenceWarning)  # scikit-learn's own class follows
                run.wait()
        assert isinstance(result, Posterior)
        assert result.solution is not None
        if (warning := verdict(result)) is not None:
            warnings.warn(f"{what}{warning}", ConvergenceWarning, stacklevel=3)
        return result

    def _margins(self, X: Any, result: Posterior) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """The margins of some rows at a time at every draw, (rows, draws)."""
        beta = result.arrays["beta"]
        beta = beta.reshape(-1, beta.shape[2])
        rows = max(1, _AT_ONCE // len(beta))
        for at in range(0, X.shape[0], rows):
            part = X[at : at + rows]
            eta = part @ beta[:, -part.shape[1] :].T
            yield slice(at, at + rows), eta + beta[:, 0] if self.fit_intercept else eta


def _keys(X: Any) -> NDArray[np.uint64]:
    """A number for each row that depends on its values alone; the same for dense and sparse rows."""
    factors = np.random.default_rng(0).integers(1 << 63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if not sparse.issparse(X):
        bits: NDArray[np.uint64] = np.ascontiguousarray(X, dtype=np.float64).view(np.uint64)
        return np.asarray(bits @ factors)
    products = X.data.astype(np.float64).view(np.uint64) * factors[X.indices]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(products, dtype=np.uint64)])
    return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])
