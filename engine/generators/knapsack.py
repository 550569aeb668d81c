"""Random knapsack instances of the classes that papers compare on."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..base.option_models import Seed
from ..formats import knapsack as formats
from ..solvers.knapsack.problem import Knapsack

InstanceType = Literal[
    "uncorrelated",
    "weakly-correlated",
    "strongly-correlated",
    "inverse-strongly-correlated",
    "almost-strongly-correlated",
    "subset-sum",
    "exponential-groups",
]


class GeneratorOptions(BaseModel):
    """What instance to make; see :func:`generate` for the classes."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    type: InstanceType = Field("strongly-correlated", description="How profits and weights depend on each other.")
    n: int = Field(1000, ge=1, le=10_000_000, description="Number of items.")
    max_weight: int = Field(
        1000,
        ge=1,
        le=10**15,
        description="Range R: weights are drawn from 1 to R (profits, in the inverse class).",
    )
    seed: Seed = Field(0, description="Seed of the random numbers; the same seed, the same instance.")
    capacity_fraction: float = Field(
        0.5,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="Capacity as a fraction of the sum of all weights, rounded down, and at least 1.",
    )
    capacity: int = Field(100_000_000, ge=1, le=10**15, description="Capacity of exponential groups.")
    groups: int = Field(10, ge=2, le=50, description="Number of exponential groups.")
    light_fraction: float = Field(
        0.2, ge=0, le=1, allow_inf_nan=False, description="Fraction of light items beside exponential groups."
    )
    offset: float = Field(
        1e-4, ge=0, le=1, allow_inf_nan=False, description="Epsilon: what exponential groups add to powers of one half."
    )
    noise: int = Field(100, ge=1, le=10**9, description="Range S of the noise in exponential groups.")

    @model_validator(mode="after")
    def _sums_fit(self) -> Self:
        largest = self.max_weight + _part(self.max_weight, 10) + self.max_weight // 500
        if self.type == "exponential-groups":
            largest = 2 * self.capacity + self.noise
        if self.n * largest > 2**63 - 1:
            raise ValueError(
                f"n = {self.n} items of up to {largest} each may sum to more than a 64-bit integer holds; "
                "lower n or max_weight"
            )
        return self


def generate(options: GeneratorOptions) -> Knapsack:
    """Make one instance.

    With R = ``max_weight``, U[a, b] the uniform distribution on the integers from a to b, and every division rounded
    down, R/10 and R/20 to no less than 1:

    - ``uncorrelated``: w in U[1, R], p in U[1, R];
    - ``weakly-correlated``: w in U[1, R], p in U[w - R/10, w + R/10], and 1 where that is less;
    - ``strongly-correlated``: w in U[1, R], p = w + R/20. With R = 1000 that is p = w + 50, and with the default
      capacity, floor(sum of w / 2), the class of Boyer, El Baz and Elkihel. (Pisinger's offset is R/10.)
    - ``inverse-strongly-correlated``: p in U[1, R], w = p + R/10;
    - ``almost-strongly-correlated``: w in U[1, R], p in U[w + R/10 - R/500, w + R/10 + R/500];
    - ``subset-sum``: w in U[1, R], p = w.

    - ``exponential-groups``: the hard class of Jooken, Leyman and De Causmaecker. With C = ``capacity``, S = ``noise``
      and g = ``groups``, item j of the heavy ones belongs to group i = 1 + (j mod (g - 1)), and both its weight and its
      profit are (2^-i + epsilon) C, rounded down, and a number of U[1, S] of their own; the last ``light_fraction`` of
      all items have weights and profits in U[1, S].

    The third is after Boyer and others, the last after Jooken and others, the rest after Pisinger. The numbers come
    from NumPy's ``Generator(PCG64(seed))``, drawn by ``integers`` in this order: all n first values (w, or p in the
    inverse class), then, in the classes that have one, all n second values (p, or its distance from the first value's
    offset). The capacity draws nothing.

    Returns
    -------
    Knapsack
        The instance, named after its class, n, R and seed.

    References
    ----------
    V. Boyer, D. El Baz, M. Elkihel, "Solving knapsack problems on GPU", Computers & Operations Research 39
    (2012) 42-47.
    J. Jooken, P. Leyman, P. De Causmaecker, "A new class of hard problem instances for the 0-1 knapsack problem",
    European Journal of Operational Research 301 (2022) 841-854.
    D. Pisinger, "Where are the hard knapsack problems?", Computers & Operations Research 32 (2005) 2271-2284.
    """
    random = np.random.Generator(np.random.PCG64(options.seed))
    n, largest = options.n, options.max_weight
    if options.type == "exponential-groups":
        return _exponential_groups(options, random)
    tenth, twentieth = _part(largest, 10), _part(largest, 20)
    first = _uniform(random, 1, largest, n)
    profits, weights = first, first
    match options.type:
        case "uncorrelated":
            profits = _uniform(random, 1, largest, n)
        case "weakly-correlated":
            profits = np.maximum(1, weights + _uniform(random, -tenth, tenth, n))
        case "strongly-correlated":
            profits = weights + twentieth
        case "inverse-strongly-correlated":
            weights = profits + tenth
        case "almost-strongly-correlated":
            profits = weights + tenth + _uniform(random, -(largest // 500), largest // 500, n)
        case "subset-sum":
            pass
    # The fraction is taken as it is written, so that 0.1 of 10 is 1 and not a little less.
    capacity = max(1, int(Fraction(repr(options.capacity_fraction)) * int(weights.sum())))
    return Knapsack(profits, weights, capacity, name=f"{options.type}-n{n}-R{largest}-seed{options.seed}")


def _exponential_groups(options: GeneratorOptions, random: np.random.Generator) -> Knapsack:
    n, capacity, groups = options.n, options.capacity, options.groups
    heavy = n - int(Fraction(repr(options.light_fraction)) * n)
    group = 1 + np.arange(n) % (groups - 1)
    sizes = [int((Fraction(1, 2**i) + Fraction(repr(options.offset))) * capacity) for i in range(groups)]
    base = np.where(np.arange(n) < heavy, np.array(sizes, np.int64)[group], 0)
    weights = base + _uniform(random, 1, options.noise, n)
    profits = base + _uniform(random, 1, options.noise, n)
    name = f"exponential-groups-n{n}-C{capacity}-g{groups}-eps{options.offset:g}-S{options.noise}-seed{options.seed}"
    return Knapsack(profits, weights, capacity, name=name)


def write(problem: Knapsack, path: Path) -> None:
    """Write an instance in the ``jooken`` format; ProblemError if the file cannot be written."""
    formats.write(path, problem.profits, problem.weights, problem.capacity)


def _part(whole: int, parts: int) -> int:
    return max(1, whole // parts)


def _uniform(random: np.random.Generator, low: int, high: int, n: int) -> NDArray[np.int64]:
    """``n`` integers from ``low`` to ``high``, both included."""
    return random.integers(low, high, size=n, dtype=np.int64, endpoint=True)
