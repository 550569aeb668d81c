"""What the scikit-learn estimators of horseshoe regressions have in common."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .. import errors
from ..engine import wait_or_stop
from ..problem import Problem
from ..solvers.gibbs.posterior import Posterior, verdict
from .kept_engine import KEPT

__all__ = ["HorseshoeEstimator"]

_PASSED = (
    *("draws", "ess", "max_draws", "warmup", "thin", "chains", "storage"),
    *("intercept_scale", "tau_scale", "prior", "slab"),
)


class HorseshoeEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators, which list their parameters themselves, as scikit-learn asks for."""

    def _names(self) -> list[str] | None:
        """The names of a data frame's columns."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _sample(self, problem: Problem, X: Any, **options: Any) -> NDArray[np.float64]:
        """Draw from the posterior, keep ``result_`` and ``n_iter_``, and warn if the chains have not mixed.

        The posterior means are returned: of the intercept, if it is fitted, and of the coefficients.
        """
        options |= {name: getattr(self, name) for name in _PASSED}
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
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
        self.result_ = result
        self.n_iter_ = int(result.counters["iterations"])
        if (warning := verdict(result)) is not None:
            warnings.warn(warning, ConvergenceWarning, stacklevel=3)
        means: NDArray[np.float64] = result.solution
        return means
