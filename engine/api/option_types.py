"""The options of the solvers, for type checkers: made from their models by ``python -m tools.option_types``.

A name that is an option of several solvers has the types of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from numpy.typing import NDArray


class BOAOptions(TypedDict, total=False):
    """Options of BOA."""

    counting: Literal["auto", "popcount", "tensor", "histogram"]
    flips: int | None
    initial: Sequence[int] | NDArray[Any] | None
    islands: Literal["devices"] | int
    local_search: Literal["auto", "none", "steepest", "tabu", "anneal", "walk"]
    local_search_share: float | None
    max_evaluations: int | None
    max_generations: int
    max_parents: int
    migration_fraction: float
    migration_interval: int
    mixing: Literal["auto", "none", "partition"]
    patience: int | None
    population: Literal["auto"] | int
    probabilities: Literal["frequency", "laplace"]
    restarts: int
    search: Literal["auto", "network", "pyramid"]
    selection_fraction: float | None
    share: Literal["auto", "always"]
    target: float | None


class LinearProgramOptions(TypedDict, total=False):
    """Options of linear programs."""

    acceptable: float
    basis: bool
    block: int
    correctors: int
    initial: Sequence[float] | NDArray[Any] | None
    initial_basis: Sequence[int] | NDArray[Any] | None
    initial_duals: Sequence[float] | NDArray[Any] | None
    linear_solver: Literal["auto", "cholesky", "sparse_cholesky", "multifrontal", "augmented", "sherman_morrison"]
    max_iterations: int
    method: Literal["auto", "race", "mpc", "pdhg", "pdas"]
    mip_gap: float
    pdhg_iterations: int
    presolve: bool
    provider: Literal["auto", "cusolver", "lapack", "kernels"]
    ranging: bool
    scale: bool
    step: float
    tolerance: float


class AnyOptions(TypedDict, total=False):
    """Options of every solver."""

    acceptable: float
    all_solutions: bool
    basis: bool
    block: int
    bound: Literal["one_machine", "two_machine", "mixed", "auto", "subtour", "assignment", "cheapest_arcs", "partial"]
    branching: Literal["forward", "backward", "alternating", "max_sum", "max_sum_back", "min_branch"]
    chains: int
    coefficients: Sequence[str] | None
    correctors: int
    counting: Literal["auto", "popcount", "tensor", "histogram"]
    degrees: float
    draws: int | None
    ess: float
    flips: int | None
    initial: (
        Literal["iterated_greedy", "neh", "infinity", "local_search", "nearest_neighbour", "heuristic"]
        | Sequence[int]
        | NDArray[Any]
        | Sequence[float]
        | None
    )
    initial_basis: Sequence[int] | NDArray[Any] | None
    initial_duals: Sequence[float] | NDArray[Any] | None
    intercept: bool
    intercept_scale: float
    interval: float
    islands: Literal["devices"] | int
    items: bool
    ivms: int | None
    keep_memory: float | None
    keep_scales: bool
    kernel: Literal["auto", "gibbs", "px", "hmc", "cg"]
    linear_solver: Literal["auto", "cholesky", "sparse_cholesky", "multifrontal", "augmented", "sherman_morrison"]
    local_degrees: float
    local_search: Literal["auto", "none", "steepest", "tabu", "anneal", "walk"]
    local_search_share: float | None
    max_draws: int
    max_evaluations: int | None
    max_generations: int
    max_iterations: int
    max_kept: int
    max_parents: int
    method: Literal["auto", "race", "mpc", "pdhg", "pdas"]
    migration_fraction: float
    migration_interval: int
    minimum_share: int | None
    mip_gap: float
    mixing: Literal["auto", "none", "partition"]
    par_ratio: float | None
    patience: int | None
    pdhg_iterations: int
    population: Literal["auto"] | int
    presolve: bool
    prior: Literal["horseshoe", "regularized", "half_t", "lasso", "ridge"]
    probabilities: Literal["frequency", "laplace"]
    profile: bool
    provider: Literal["auto", "cusolver", "lapack", "kernels"]
    r_hat: float
    ranging: bool
    reduce: bool
    restarts: int
    scale: bool
    search: Literal["auto", "network", "pyramid"]
    selection_fraction: float | None
    share: Literal["auto", "always"]
    sharing: Literal["farmer", "symmetric"]
    slab: float | None
    slab_degrees: float
    standardize: bool
    steal_trigger: float
    step: float
    storage: Literal["auto", "float32", "float16", "sparse"]
    strategy: Literal["siblings", "doubling", "hypercube", "torus", "adapt", "large", "search", "ring"]
    streaming: Literal["auto", "never", "always"]
    target: float | None
    tau_scale: float
    thin: int
    tolerance: float
    upper_bound: int | None
    variant: Literal[
        "pte", "pte_peb", "auto", "dense", "rows", "tiles", "classes", "sparse", "bits", "search", "table", "highs"
    ]
    warmup: int
    window: int | None
    window_begin: int
    window_launches: Literal["one", "each"]


class BatchOptions(AnyOptions, total=False):
    """Options of the runs of ``engine.map``."""

    seed: int
