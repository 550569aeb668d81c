"""The draws of the Gibbs sampler in the data structures of ArviZ, which is optional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..base.result import Result, missing_package
from ..errors import InputError
from ..solvers.gibbs.design.features import is_sparse
from ..solvers.gibbs.predictive import log_likelihood, posterior_predictive
from ..solvers.gibbs.problem import HorseshoeProbit

if TYPE_CHECKING:
    from xarray import DataTree

_STATISTICS = {"acceptance": "acceptance_rate"}


def to_arviz(
    result: Result, problem: HorseshoeProbit | None = None, row_names: Sequence[Any] | NDArray[Any] | None = None
) -> DataTree:
    """The draws as ArviZ takes them: an ``xarray.DataTree`` for ArviZ 1, an ``InferenceData`` for ArviZ 0.

    The group ``sample_stats`` has what the kernel reports, in ArviZ's names. Of ``hmc``: ``acceptance_rate``;
    ``energy``, the Hamiltonian of the coefficients given lambda and tau at the end of each trajectory; ``diverging``,
    true where a trajectory was so wrong that it had no chance of acceptance; ``lp``, which is the log-likelihood, as
    the joint density with the local scales is not computed; and ``jumps`` along lines, which ArviZ does not know. With
    fewer rows than columns, where ``hmc`` may move latent variables, there are no ``energy`` and ``diverging``; of
    ``px`` there is ``expansion``, and of ``gibbs`` and ``cg`` nothing. No kernel builds trees (``tree_depth``).

    Parameters
    ----------
    result : Posterior
    problem : HorseshoeProbit, HorseshoeLogit or HorseshoeRegression, optional
        The data, for the groups ``log_likelihood`` (as `arviz.loo` needs it) and ``posterior_predictive``, which have
        a number for every draw and row, and ``constant_data`` with X, unless that is sparse.
    row_names : sequence, optional
        What the rows are called, such as the index of a data frame; numbers by default.

    Raises
    ------
    ModuleNotFoundError
        If ArviZ is not installed.
    engine.errors.InputError
        If the run was stopped before the first draw, the number of names is not that of the rows, or the result has
        not the draws of all coefficients and a problem is given.

    Examples
    --------
    >>> import numpy as np, engine
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(50, 2))
    >>> y = X[:, 0] + random.normal(size=50) > 0
    >>> problem = engine.HorseshoeProbit(X, y)
    >>> posterior = engine.solve(problem, draws=200)
    >>> data = engine.to_arviz(posterior, problem)
    >>> dict(data.posterior.sizes)
    {'chain': 4, 'draw': 200, 'coefficient': 3}
    """
    try:
        import arviz
    except ModuleNotFoundError as error:
        raise missing_package("to_arviz", "arviz") from error
    arrays = result.arrays
    if "kept" not in arrays:
        raise InputError(f"there are no draws: the run was stopped before the first one ({result.status})")
    names = [str(arrays["names"][i]) for i in arrays["kept"].tolist()]
    posterior: dict[str, NDArray[Any]] = {"beta": arrays["beta"], "log_tau": arrays["log_tau"]}
    posterior["tau"] = np.exp(arrays["log_tau"])
    posterior.update({name: arrays[name] for name in ("sigma", "dispersion", "thresholds") if name in arrays})
    rows = len(arrays["y"]) if problem is None else problem.X.shape[0]
    if row_names is not None and len(row_names) != rows:
        raise InputError(f"row_names must have a name for each of the {rows:,} rows; got {len(row_names):,}")
    coordinates: dict[str, Any] = {
        "coefficient": names,
        "row": np.arange(rows) if row_names is None else np.asarray(row_names),
    }
    dimensions = {"beta": ["coefficient"], "y": ["row"]}
    if "log_lambda" in arrays:
        posterior["log_lambda"] = arrays["log_lambda"]
        coordinates["feature"] = [str(name) for name in arrays["feature_names"]]
        dimensions["log_lambda"] = ["feature"]
    statistics = {
        _STATISTICS.get(name, name): arrays[name]
        for name in ("lp", "acceptance", "energy", "jumps", "expansion")
        if name in arrays
    }
    if "energy" in arrays:
        statistics["diverging"] = arrays["acceptance"] == 0.0
    groups: dict[str, Any] = {"posterior": posterior, "observed_data": {"y": _numbers(arrays["y"])}}
    if problem is not None:
        groups["log_likelihood"] = {"y": log_likelihood(problem, result)}
        groups["posterior_predictive"] = {"y": _numbers(posterior_predictive(problem, result, seed=result.seed or 0))}
        if not is_sparse(problem.X):
            groups["constant_data"] = {"X": problem.X}
            coordinates["column"], dimensions["X"] = list(problem.names), ["row", "column"]
    if statistics:
        groups["sample_stats"] = statistics
    if int(arviz.__version__.partition(".")[0]) >= 1:
        data = arviz.from_dict(groups, coords=coordinates, dims=dimensions)
    else:
        data = arviz.from_dict(**groups, coords=coordinates, dims=dimensions)
    data.attrs.update(
        {
            "inference_library": "quintet",
            "seed": result.seed,
            "sampling_time": result.seconds,
            "backend": result.backend,
        }
    )
    return cast("DataTree", data)


def _numbers(y: NDArray[Any]) -> NDArray[Any]:
    return y.astype(np.int8) if y.dtype == bool else y
