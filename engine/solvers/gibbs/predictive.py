"""What the draws of a regression say of rows: the log-likelihood of each, and targets drawn anew."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.result import Result
from ...errors import InputError
from .design.features import is_sparse
from .families import FAMILIES
from .posterior import coefficient_count
from .problem import HorseshoeProbit

Floats = NDArray[np.float64]
_MOST_BYTES = 1 << 33
_LARGEST_MARGIN, _LARGEST_MEAN = 700.0, 1e18  # beyond, exp overflows, and a count does not fit 64 bits


def log_likelihood(problem: HorseshoeProbit, result: Result) -> Floats:
    """The log-likelihood of every row at every kept draw, as leave-one-out cross-validation takes it.

    Parameters
    ----------
    problem : HorseshoeProbit, HorseshoeLogit or HorseshoeRegression
        The data, of the run or others with the same columns.
    result : Posterior
        With the draws of all coefficients.

    Returns
    -------
    ndarray, shape (chains, draws, N)
        In the units of the target, and without the weights of the rows; `arviz.loo` takes it through
        ``engine.to_arviz(result, problem)``.

    Raises
    ------
    engine.errors.InputError
        If the result has no draws, or not of all coefficients, or the answer has more than 8 GiB.

    Examples
    --------
    >>> import numpy as np, engine
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(50, 2))
    >>> y = X[:, 0] + random.normal(size=50) > 0
    >>> problem = engine.HorseshoeProbit(X, y)
    >>> posterior = engine.solve(problem, draws=200)
    >>> engine.log_likelihood(problem, posterior).shape
    (4, 200, 50)
    """
    family = FAMILIES[problem.family]
    margins = margins_of(problem.X, result, problem.offset)
    if not family.targeted:
        margins *= np.where(problem.y, 1.0, -1.0)
    return family.log_likelihood(margins, problem.y, _auxiliary(result), _degrees(result))


def posterior_predictive(problem: HorseshoeProbit, result: Result, seed: int = 0) -> NDArray[Any]:
    """Targets drawn from the model at every kept draw, for the rows of a problem.

    Parameters
    ----------
    problem, result
        As for :func:`log_likelihood`; the target of the problem is not used.
    seed : int

    Returns
    -------
    ndarray, shape (chains, draws, N)
        Numbers, or for ``probit``, ``logit`` and ``ordinal`` the numbers of the classes.

    Raises
    ------
    engine.errors.InputError
        As for :func:`log_likelihood`.

    Examples
    --------
    >>> import numpy as np, engine
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(50, 2))
    >>> y = X[:, 0] + random.normal(size=50) > 0
    >>> problem = engine.HorseshoeProbit(X, y)
    >>> posterior = engine.solve(problem, draws=200)
    >>> engine.posterior_predictive(problem, posterior, seed=1).shape
    (4, 200, 50)
    """
    random = np.random.default_rng(seed)
    margins, family = margins_of(problem.X, result, problem.offset), problem.family
    if family == "logit":
        return margins + random.logistic(size=margins.shape) > 0
    if family == "student":
        return np.asarray(
            margins + result.arrays["sigma"][:, :, None] * random.standard_t(_degrees(result), margins.shape)
        )
    if family == "counts":
        size = 1.0 / result.arrays["dispersion"][:, :, None]
        mean = np.exp(np.minimum(margins, _LARGEST_MARGIN)) * random.gamma(size, 1.0 / size, margins.shape)
        return np.asarray(random.poisson(np.minimum(mean, _LARGEST_MEAN)))
    noise = random.standard_normal(margins.shape)
    if family == "normal":
        return np.asarray(margins + result.arrays["sigma"][:, :, None] * noise)
    latent = margins + noise
    if family == "probit":
        return latent > 0
    categories = (latent > 0).astype(np.int64)
    for number in range(result.arrays["thresholds"].shape[2]):
        categories += latent > result.arrays["thresholds"][:, :, number, None]
    return categories


def margins_of(X: Any, result: Result, offset: Floats | None = None) -> Floats:
    """b_0 + x . beta, and the offset, of every row at every kept draw; shape (chains, draws, N)."""
    arrays, columns = result.arrays, X if is_sparse(X) else np.asarray(X)
    if "beta" not in arrays:
        raise InputError("the result has no draws")
    names = arrays["names"].tolist()
    found = coefficient_count(names)
    # A column may be called like the intercept where there is none.
    first = int("intercept" in names[:1] and found != columns.shape[1])
    wanted = first + columns.shape[1]
    if found != wanted:
        raise InputError(f"the result has {found - first} coefficients, X has {columns.shape[1]} columns")
    beta = arrays["beta"]
    if arrays["kept"].tolist() != list(range(wanted)):
        raise InputError("the result has the draws of some coefficients only; solve without the option coefficients")
    if beta.shape[0] * beta.shape[1] * columns.shape[0] * 8 > _MOST_BYTES:
        sizes = f"{beta.shape[0]} x {beta.shape[1]} draws of {columns.shape[0]} rows"
        raise InputError(f"{sizes} need more than 8 GiB; use fewer rows or draws")
    if is_sparse(columns):
        flat = beta[:, :, first:].reshape(-1, beta.shape[2] - first)
        margins = np.asarray((columns @ flat.T).T).reshape(*beta.shape[:2], -1)
    else:
        margins = np.asarray(beta[:, :, first:] @ columns.T.astype(np.float64))
    margins = margins if offset is None else margins + offset
    return margins + beta[:, :, :1] if first else margins


def _auxiliary(result: Result) -> Floats:
    """The family's own parameters as :mod:`engine.solvers.gibbs.families` takes them; shape (chains, draws, count)."""
    arrays = result.arrays
    if "dispersion" in arrays:
        return np.asarray(0.5 * np.log(arrays["dispersion"])[:, :, None])
    if "sigma" in arrays:
        return np.asarray(np.log(arrays["sigma"])[:, :, None])
    if "thresholds" in arrays:
        return np.asarray(np.log(np.diff(arrays["thresholds"], axis=2, prepend=0.0)))
    return np.zeros((*arrays["log_tau"].shape, 0))


def _degrees(result: Result) -> float:
    return float(result.arrays["degrees"]) if "degrees" in result.arrays else 4.0
