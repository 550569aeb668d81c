"""What ``kernel = auto`` stands for: ``hmc``, or with very many columns what is predicted to cost least."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...base.context import Checkpoint
from ...devices import DeviceInfo
from ...errors import OptionError
from .costs import FACTORS, Cost, Kernel, Shape, Traits, predicted_cost
from .design.features import dense_rows, density, is_sparse
from .design.matrix import DENSE, Design, bytes_an_entry, has_offset_column
from .options import Options
from .priors import CONJUGATE
from .problem import HorseshoeProbit
from .schema import CheckpointState, name_in_checkpoints

_MOST_COLUMNS = 8192
"""Columns up to which ``hmc`` is the choice on any device where it fits, so that draws do not depend on the device."""

_ITERATIONS = 100
"""Iterations for which a time limit must be predicted to suffice then."""

_MOST_ROWS = 4096
"""Rows up to which matrices of N x N are made for moves of latent normals."""

_BESIDE_COLLAPSED = 10.0
"""Iterations of ``cg`` for one of ``px``, beyond what weights say, where that moves lambda with beta integrated out.

Roughly: such moves find effects among correlated columns that ``cg`` does not reach.
"""

_ROWS_AT_ONCE = 64

_MOST_SHARE = 0.8
"""Of a device's memory that a kernel may be predicted to need."""


def with_kernel(
    problem: HorseshoeProbit,
    options: Options,
    devices: Sequence[DeviceInfo] = (),
    seconds: float = math.inf,
    restored: Checkpoint | None = None,
) -> Options:
    """The options, with the kernel that is predicted to come furthest in some seconds in place of ``auto``.

    Without devices that is on a CPU; a run that is resumed from a checkpoint keeps its kernel.
    """
    if options.kernel != "auto":
        return options
    begun = None
    if restored is not None:
        begun = CheckpointState.model_validate(restored.state, from_attributes=True).kernel
    memory = _MOST_SHARE * Traits.of(devices).memory
    costs = kernel_costs(problem, options, devices)
    fitting = {kernel: cost for kernel, cost in costs.items() if cost.bytes <= memory} or costs
    if begun is not None:
        same = {kernel: cost for kernel, cost in costs.items() if begun == name_in_checkpoints(kernel)}
        fitting = same or fitting
    chosen = min(fitting, key=lambda kernel: fitting[kernel].rank(kernel, seconds))
    pace = min(cost.seconds for kernel, cost in costs.items() if kernel != "cg")  # hmc moves latent normals too
    affordable = costs["hmc"].bytes <= memory and seconds - costs["hmc"].start >= _ITERATIONS * pace
    if problem.X.shape[1] <= _MOST_COLUMNS and affordable and begun is None:
        chosen = "hmc"
    return options.model_copy(update={"kernel": chosen})


def kernel_costs(problem: HorseshoeProbit, options: Options, devices: Sequence[DeviceInfo] = ()) -> dict[Kernel, Cost]:
    """The predicted cost of every kernel that can be chosen, with its cheapest storage."""
    traits, shape, family = Traits.of(devices), _shape(problem, options), problem.family
    storages = ["float32", "sparse"] if options.storage == "auto" else [options.storage]
    if options.streaming == "always" or (shape.entries is None and options.storage == "auto"):
        storages = [storage for storage in storages if storage != "sparse"] or storages[:1]

    def cheapest(kernel: Kernel) -> Cost:
        found = [predicted_cost(kernel, storage, shape, traits) for storage in storages]
        return min(found, key=lambda cost: cost.seconds)

    costs: dict[Kernel, Cost] = {"hmc": cheapest("hmc")}
    if problem.weights is not None or has_offset_column(problem):  # which latent variables have not
        return costs
    if family in ("probit", "logit"):
        costs["cg"] = cheapest("cg")
    plain = options.storage in ("auto", "float32") and options.streaming != "always" and options.prior in CONJUGATE
    wide: Kernel | None = {"probit": "px", "normal": "gibbs", "student": "gibbs"}.get(family)  # type: ignore[assignment]
    if wide is not None and plain and shape.columns > shape.rows and _are_more(problem, options):
        factors = FACTORS if wide == "gibbs" or shape.columns > _MOST_COLUMNS else 1
        costs[wide] = predicted_cost(wide, "float32", shape, traits, factors)
        if wide == "px" and factors > 1:
            costs["cg"] = replace(costs["cg"], seconds=_BESIDE_COLLAPSED * costs["cg"].seconds)
    return costs


def _shape(problem: HorseshoeProbit, options: Options) -> Shape:
    """The sizes of X, and its entries unless too many are not 0."""
    rows, columns = problem.X.shape
    share = density(problem.X)
    entries = None if share > DENSE and not is_sparse(problem.X) else int(share * rows * columns)
    return Shape(rows, columns, options.chains, entries, bytes_an_entry(rows, columns, one_value=False))


def _are_more(problem: HorseshoeProbit, options: Options) -> bool:
    """Whether there are more columns than rows without the constant ones; looks at no more rows than it takes."""
    rows, columns = problem.X.shape
    if not options.standardize:
        return bool(columns > rows)
    first, varies = dense_rows(problem.X, 0, 1), np.zeros(columns, bool)
    for begin in range(0, rows, _ROWS_AT_ONCE):
        varies |= (dense_rows(problem.X, begin, min(rows, begin + _ROWS_AT_ONCE)) != first).any(axis=0)
        if np.count_nonzero(varies) > rows:
            return True
    return False


def validate_kernel(problem: HorseshoeProbit, options: Options) -> None:
    """Check that a kernel samples a family."""
    kernel, family = options.kernel, problem.family
    if problem.weights is not None and kernel != "hmc":
        raise OptionError(
            f"kernel = {kernel} draws latent variables, which rows with weights have not; use kernel = hmc, or "
            "repeat rows whose weights are whole numbers"
        )
    if has_offset_column(problem) and kernel != "hmc":
        raise OptionError(f"kernel = {kernel} samples no {family} regressions with an offset; use kernel = hmc")
    if has_offset_column(problem) and options.storage == "float16":
        raise OptionError("storage = float16 would round the offset to three digits; use storage = float32 or sparse")
    if kernel == "cg" and family not in ("probit", "logit"):
        raise OptionError(f"kernel = cg samples probit and logit regressions; {family} needs kernel = hmc")
    if kernel in ("cg", "hmc") or family == "probit":
        return
    linear = family in ("normal", "student")
    if kernel == "px" or not linear:
        sampled = "probit" if kernel == "px" else "probit, normal and student"
        other = "gibbs or kernel = hmc" if linear else "hmc"
        raise OptionError(f"kernel = {kernel} samples {sampled} regressions only; use kernel = {other}")
    design = Design.of(problem, options)
    if not is_wide(design, options):
        raise OptionError(
            f"kernel = gibbs samples {family} regressions with more columns than rows, storage = float32 and without "
            f"streaming only; here {design.layout.columns:,} columns and {design.layout.rows:,} rows, storage = "
            f"{options.storage}, streaming = {options.streaming}; use kernel = hmc"
        )


def is_wide(design: Design, options: Options) -> bool:
    """Whether the kernels ``gibbs`` and ``px`` make matrices of N x N in place of those of p x p."""
    usable = design.storage == "float32" and options.streaming != "always" and options.kernel in ("gibbs", "px")
    return usable and design.layout.columns > design.layout.rows


def moves_local(design: Design, options: Options) -> bool:
    """Whether ``gibbs`` and ``px`` move lambda of some columns with beta integrated out too; see moves/local.py."""
    plain = options.prior == "horseshoe" and not design.slab.any() and not design.unpenalized
    return plain and is_wide(design, options) and design.layout.columns > _MOST_COLUMNS


def moves_latent(design: Design, options: Options) -> bool:
    """Whether the kernel ``hmc`` moves latent normals, or sigma, with beta integrated out and matrices of N x N."""
    usable = design.storage == "float32" and options.streaming != "always" and options.kernel == "hmc"
    usable &= design.problem.weights is None and design.pinned is None
    family, rows, columns = design.problem.family, design.layout.rows, design.layout.columns
    few = family == "probit" or (family in ("normal", "student") and 2 * rows <= columns)  # else sigma mixes without
    return usable and few and rows < columns and rows <= _MOST_ROWS
