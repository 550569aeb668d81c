"""What results and checkpoints of the sampler contain."""

from math import inf
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...base.schema import ArraySpec, CheckpointSpec, CounterSpec, Schema
from .families import AUXILIARY

MOST_STEPS = 8
"""Of a trajectory of the kernel ``hmc``."""

_WITHIN = (-1e100, 1e100)
"""What no number of a chain exceeds, so that its square is finite."""

_FINITE = (-1.7e308, 1.7e308)


class CheckpointState(BaseModel):
    """Scalars of a checkpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kernel: Literal["latent", "hmc", "cg"]
    iteration: int = Field(ge=0)
    warmup: int | None = Field(None, ge=0)
    passed: int = Field(ge=0)
    failed: int = Field(ge=0)
    passes: int = Field(ge=0)
    exchanged_bytes: int = Field(ge=0)
    averaged: int = Field(0, ge=0)
    averaging: bool = False
    adapting: bool = False
    steps: int = Field(3, ge=1, le=MOST_STEPS)


def name_in_checkpoints(kernel: str) -> str:
    """What checkpoints call a kernel."""
    return kernel if kernel in ("hmc", "cg") else "latent"


def _is_hmc(state: Any) -> bool:
    return bool(state.kernel == "hmc")


def _knows_small(state: Any) -> bool:
    return bool(state.kernel in ("hmc", "cg"))


def _draws(name: str, quantities: str, optional: bool = False) -> tuple[ArraySpec, ...]:
    return (
        ArraySpec(f"{name}.draws_mean", "float64", ("chains", quantities), optional=optional, within=_WITHIN),
        ArraySpec(f"{name}.draws_squares", "float64", ("chains", quantities), optional=optional, within=(0, 1e250)),
        ArraySpec(f"{name}.draws_all", "float64", ("chains", None, quantities), optional=optional, within=_WITHIN),
        ArraySpec(f"{name}.draws_count", "integer", (), optional=optional),
        ArraySpec(f"{name}.draws_some", "float64", ("chains", None, None), optional=True, within=_WITHIN),
    )


SCHEMA = Schema(
    arrays=(
        ArraySpec("names", "text", ("quantities",), title="Intercept, coefficients, log tau"),
        ArraySpec("feature_names", "text", (None,), title="Columns that were sampled"),
        ArraySpec("mean", "float64", ("quantities",), title="Posterior mean"),
        ArraySpec("sd", "float64", ("quantities",), title="Posterior standard deviation"),
        ArraySpec("quantiles", "float64", ("quantities", 3), title="Lower bound, median, upper bound"),
        ArraySpec("r_hat", "float64", ("quantities",), title="R-hat"),
        ArraySpec("ess_bulk", "float64", ("quantities",), title="ESS, bulk", unit="draws"),
        ArraySpec("ess_tail", "float64", ("quantities",), title="ESS, tail", unit="draws"),
        ArraySpec("mcse_mean", "float64", ("quantities",), title="Monte Carlo error of the mean"),
        ArraySpec("kept", "integer", ("kept",), title="Coefficients whose draws are kept"),
        ArraySpec("beta", "float64", ("chains", None, "kept"), title="Draws of the coefficients"),
        ArraySpec("log_tau", "float64", ("chains", "draws"), title="Draws of log tau"),
        ArraySpec("log_lambda", "float64", ("chains", None, None), title="Draws of log lambda", optional=True),
        ArraySpec("lp", "float64", ("chains", "draws"), title="Log-likelihood", optional=True),
        ArraySpec("acceptance", "float64", ("chains", "draws"), title="Probability of acceptance", optional=True),
        ArraySpec("energy", "float64", ("chains", "draws"), title="Hamiltonian", optional=True),
        ArraySpec("jumps", "float64", ("chains", "draws"), title="Accepted jumps along lines", optional=True),
        ArraySpec("expansion", "float64", ("chains", "draws"), title="Factor of the expansion", optional=True),
        ArraySpec("prior", "text", (), title="Prior of the coefficients", optional=True),
        ArraySpec("slab", "float64", ("chains", "draws"), title="Draws of the slab's scale", optional=True),
        ArraySpec("kernel", "text", (), title="Kernel and storage, which auto chooses by the devices", optional=True),
        ArraySpec("interval", "float64", (), title="Probability of the intervals"),
        ArraySpec("ess_target", "float64", (), title="ESS asked for", unit="draws", optional=True),
        ArraySpec("r_hat_target", "float64", (), title="R-hat asked for", optional=True),
        ArraySpec("y", "bool|float64", ("rows",), title="Target"),
        ArraySpec("sigma", "float64", ("chains", "draws"), title="Draws of sigma", optional=True),
        ArraySpec("dispersion", "float64", ("chains", "draws"), title="Draws of the dispersion", optional=True),
        ArraySpec("degrees", "float64", (), title="Degrees of freedom of the errors", optional=True),
        ArraySpec("thresholds", "float64", ("chains", "draws", None), title="Draws of the thresholds", optional=True),
        ArraySpec("separable", "text", (None,), title="Columns whose unusual value is in one class", optional=True),
        ArraySpec("separating", "text", (None,), title="Columns that separate the classes together", optional=True),
        ArraySpec("collinear_names", "text", ("members",), title="Members of exactly collinear groups", optional=True),
        ArraySpec("collinear_group", "integer", ("members",), title="Number of their group", optional=True),
        ArraySpec("rare", "text", (None,), title="Columns with few informative rows", optional=True),
    ),
    counters=(
        CounterSpec("iterations", "Iterations of each chain", "iterations"),
        CounterSpec("draws", "Draws kept of each chain", "draws"),
        CounterSpec("warmup", "Iterations of a warm-up that the time limit cut short", "iterations"),
        CounterSpec("chains", "Chains", "chains"),
        CounterSpec("passes", "Passes over X of all chains", "passes"),
        CounterSpec("streamed", "X was sent to a device at every pass"),
        CounterSpec("failed_factorisations", "Cholesky factorisations that failed"),
        CounterSpec("exchanged_bytes", "Copied between devices", "bytes"),
        CounterSpec("survivors", "Coefficients whose interval excludes 0"),
        CounterSpec("worst_r_hat", "Largest R-hat"),
        CounterSpec("least_ess", "Smallest ESS", "draws"),
    ),
    checkpoint=CheckpointSpec(
        version=5,
        arrays=(
            ArraySpec("beta", "float64", ("chains", "columns"), within=_WITHIN),
            ArraySpec("local_precision", "float64", ("chains", "columns"), within=(5e-324, inf)),
            ArraySpec("nu", "float64", ("chains", "columns"), within=_FINITE),
            ArraySpec("chain_state", "float64", ("chains", 8), within=_FINITE),
            ArraySpec("auxiliary", "float64", ("chains", AUXILIARY), within=_FINITE),
            ArraySpec("mode", "float64", ("columns",), within=_FINITE),
            ArraySpec("traced", "integer", (None,)),
            ArraySpec("watched", "integer", (None,)),
            ArraySpec("weight", "float32", ("rows",), required_if=_is_hmc),
            ArraySpec("curvature", "float32", ("rows",), required_if=_is_hmc),
            ArraySpec("control", "float64", (8,), required_if=_is_hmc),
            ArraySpec("mode_auxiliary", "float64", (None,), required_if=_is_hmc),
            ArraySpec("small", "float64", ("columns",), required_if=_knows_small),
            *_draws("draws", "quantities"),
            *_draws("statistics", "reports"),
            *_draws("scales", "features", optional=True),
        ),
        state=CheckpointState,
    ),
)
