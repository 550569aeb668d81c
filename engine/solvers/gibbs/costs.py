"""What an iteration is predicted to cost, within a factor of about two: seconds and bytes of a kernel and storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...devices import DeviceInfo

Kernel = Literal["gibbs", "px", "hmc", "cg"]

WEIGHTS: dict[Kernel, float] = {"hmc": 1.0, "px": 4.0, "gibbs": 4.0, "cg": 8.0}
"""Iterations that are worth about one of ``hmc``, roughly: latent variables depend on those before."""

STEPS_OF_CG = 20
"""Steps of the conjugate gradients of an iteration; they depend on the data."""

SPARSE_PENALTY = 3.0
"""A byte of entries, which are read in no order, takes so much longer than one of rows."""

FACTORS = 8
"""Factors of N x N of an iteration that moves lambda, sigma and tau with beta integrated out."""

_PASSES = {"hmc": 7, "px": 1, "gibbs": 1}
_ITERATIONS = 1000  # over which X'X is spread
_ITEMS = {"float32": 4, "float16": 2}


@dataclass(frozen=True)
class Traits:
    """How fast a kind of device is."""

    bandwidth: float = 1.5e10  # bytes a second of a pass over rows
    pass_rate: float = 1.2e10  # multiplications and additions a second of a pass, in float32; half of it in float64
    factor_rate: float = 3e10  # the same of factorisations in float64
    launch: float = 1e-5  # seconds
    memory: float = float("inf")  # bytes of a device

    @classmethod
    def of(cls, devices: Sequence[DeviceInfo]) -> Traits:
        """Of some devices together, which share the rows; of a CPU with two cores without any."""
        if not devices:
            return cls()
        bandwidth, pass_rate, factor_rate, launch, memory = zip(*map(_traits_of, devices), strict=True)
        return cls(sum(bandwidth), sum(pass_rate), sum(factor_rate), max(launch), min(memory))


def _traits_of(info: DeviceInfo) -> tuple[float, ...]:
    capabilities = info.capabilities
    units = capabilities.compute_units
    if not capabilities.simt:
        factor = 1.5e10 if capabilities.linear_algebra == "lapack" else 3e9
        return min(units, 16) * 7.5e9, units * 6e9, units * factor, 1e-5, info.memory
    factor = 2.3e11 if capabilities.linear_algebra == "cusolver" else 2e10
    return units * 3.2e10, units * 2e11, units * factor, 5e-6, info.memory


@dataclass(frozen=True)
class Shape:
    """A design: ``entries`` of ``entry_bytes`` each are not 0; ``entries`` is None where X is not sparse at all."""

    rows: int
    columns: int
    chains: int
    entries: int | None = None
    entry_bytes: int = 16


@dataclass(frozen=True)
class Cost:
    """A prediction."""

    seconds: float  # of an iteration of all chains
    bytes: float  # of device memory, for X and what grows with its sizes
    start: float = 0.0  # seconds before the first iteration, but for the search of a mode, which ends under a limit

    def weighted(self, kernel: Kernel) -> float:
        """Seconds of what is worth an iteration of ``hmc``."""
        return self.seconds * WEIGHTS[kernel]

    def rank(self, kernel: Kernel, limit: float) -> tuple[float, float]:
        """The less, the more draws can be expected within a limit in seconds."""
        left = limit - self.start
        return (0.0 if left == float("inf") else -max(0.0, left) / self.weighted(kernel)), self.weighted(kernel)


def predicted_cost(kernel: Kernel, storage: str, shape: Shape, traits: Traits, factors: int = 0) -> Cost:
    """What an iteration takes; with ``factors`` of N x N of each chain instead of one of the columns."""
    rows, columns, chains = shape.rows, shape.columns, shape.chains
    values = rows * columns
    if storage == "sparse":
        size = float(values if shape.entries is None else shape.entries) * shape.entry_bytes
        read = SPARSE_PENALTY * size
    else:
        size = float(_ITEMS[storage] * values)
        read = size * (2.0 if kernel == "cg" else 1.0)  # twice in a pass
    handled = read / _ITEMS.get(storage, 4)
    one_pass = max(read / traits.bandwidth, 4.0 * handled * chains / traits.pass_rate) + 4 * traits.launch
    if kernel == "cg":
        sums = 8.0 * chains * columns * min(4096, 1 + rows // 16) if storage != "sparse" else 16.0 * size / 512
        vectors = 8.0 * chains * (10 * columns + 6 * rows)
        return Cost(STEPS_OF_CG * (one_pass + 4 * traits.launch), size + sums + vectors)
    if factors:
        flops = chains * (float(rows) * rows * columns + factors * rows**3 / 3)
        seconds = flops / traits.factor_rate + chains * factors * rows / 8 * traits.launch + 3 * one_pass
        matrices = chains + 1 if factors == 1 else 3 * chains + 1
        return Cost(seconds, size + 8.0 * rows * rows * matrices)
    flops = chains * columns**3 / 3 + float(rows) * columns**2 / _ITERATIONS
    seconds = flops / traits.factor_rate + _PASSES[kernel] * one_pass
    start = (rows * columns**2 + columns**3 / 3) / traits.factor_rate  # X'X, and a factor for the search of a mode
    return Cost(seconds, size + 8.0 * columns * columns * (chains + 3), start)
