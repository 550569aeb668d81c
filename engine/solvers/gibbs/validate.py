"""The rules that join problem, options and devices; what the iterations of a run need to know follows from them."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...devices import DeviceInfo
from ...errors import OptionError
from .choice import is_wide, moves_latent, moves_local, validate_kernel, with_kernel
from .design.matrix import Design
from .device.memory import validate_memory
from .options import Options, Settings
from .problem import HorseshoeProbit

_SEEN_FIRST = 1 << 24  # values; larger X are looked at when the run has begun, under its time limit


def validate(problem: HorseshoeProbit, options: Options, devices: Sequence[DeviceInfo]) -> None:
    """Check a problem with its options and devices, before anything is opened; see :func:`solve`."""
    options = with_kernel(problem, options, devices)
    validate_kernel(problem, options)
    if options.streaming == "always" and options.storage == "sparse":
        raise OptionError("streaming = always sends rows of X, not a sparse one; use storage = float32 or float16")
    if problem.family == "ordinal" and not options.intercept:
        raise OptionError("an ordinal regression needs its intercept, because its first threshold is 0")
    seen = problem.X.shape[0] * problem.X.shape[1] <= _SEEN_FIRST
    design = Design.of(problem, options) if seen else Design.of_sizes(problem, options)
    chosen_coefficients(problem, options)
    initial_point(design, options)
    validate_memory(design, settings_for(design, options, 0), list(devices))


def settings_for(design: Design, options: Options, seed: int) -> Settings:
    """What the iterations of a run need to know, by options with a kernel in place of ``auto``."""
    tau_scale = options.tau_scale
    if options.par_ratio is not None:
        tau_scale = options.par_ratio / math.sqrt(design.total_weight)
    wide, latent, local = (rule(design, options) for rule in (is_wide, moves_latent, moves_local))
    return Settings(options, seed, options.chains, tau_scale, wide, latent, local)


def initial_point(design: Design, options: Options) -> NDArray[np.float64] | None:
    """The point of the option ``initial`` on the columns that are sampled."""
    if options.initial is None:
        return None
    columns, point = design.problem.X.shape[1], np.array(options.initial)
    if not options.intercept and len(point) == columns:  # the solution of such a run
        point = np.append(0.0, point)
    if len(point) != columns + 1 or not np.isfinite(point).all():
        raise OptionError(
            f"initial must be {columns + 1} finite numbers, the intercept and {columns} coefficients; got "
            f"{len(options.initial)} values"
        )
    return design.scaled(point)


def chosen_coefficients(problem: HorseshoeProbit, options: Options) -> NDArray[np.int64] | None:
    """The numbers of the coefficients that the options name."""
    if options.coefficients is None:
        return None
    numbers = {"intercept": 0} if options.intercept else {}
    for number, name in enumerate(problem.names, start=1):
        numbers.setdefault(name, number)
    unknown = [name for name in options.coefficients if name not in numbers]
    if unknown:
        raise OptionError(f"there is no coefficient '{unknown[0]}' (known: {', '.join([*numbers][:20])})")
    return np.array([numbers[name] for name in options.coefficients], np.int64)
