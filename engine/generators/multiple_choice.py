"""Random multiple-choice knapsacks, and knapsacks with several constraints."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..base.option_models import Seed
from ..formats.knapsack import choice as formats
from ..solvers.knapsack.choice.problems import MultipleChoiceKnapsack
from ..solvers.knapsack.constraints.problem import MultidimensionalKnapsack


class MultipleChoiceOptions(BaseModel):
    """What instance :func:`multiple_choice` makes."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    type: Literal["uncorrelated", "weakly-correlated", "strongly-correlated", "subset-sum"] = Field(
        "uncorrelated", description="How profits and weights depend on each other."
    )
    classes: int = Field(100, ge=1, le=1_000_000, description="Number of classes.")
    class_size: int = Field(10, ge=1, le=10_000, description="Items of each class.")
    max_weight: int = Field(1000, ge=1, le=10**9, description="Range R: weights are drawn from 1 to R.")
    seed: Seed = Field(0, description="Seed of the random numbers; the same seed, the same instance.")


def multiple_choice(options: MultipleChoiceOptions) -> MultipleChoiceKnapsack:
    """Make an instance of the classes of Pisinger (1995).

    With R = ``max_weight`` and N = ``class_size``: ``uncorrelated``: w and p in U[1, R]; ``weakly-correlated``: p in
    U[w - 10, w + 10], and 1 where that is less; ``subset-sum``: p = w; ``strongly-correlated``: of each class, N
    weights in U[1, R] in ascending order, each with a profit greater by 10, and item j has the sums of the first j of
    both. The capacity is half the sum over the classes of the least and the greatest weight, rounded down. Numbers are
    drawn by ``Generator(PCG64(seed)).integers``: all weights, then all profits or their differences, if any.

    References
    ----------
    D. Pisinger, "A minimal algorithm for the multiple-choice knapsack problem", European Journal of Operational
    Research 83 (1995) 394-410.
    """
    random = np.random.Generator(np.random.PCG64(options.seed))
    shape = (options.classes, options.class_size)
    weights = random.integers(1, options.max_weight, shape, endpoint=True)
    profits = weights
    if options.type == "uncorrelated":
        profits = random.integers(1, options.max_weight, shape, endpoint=True)
    elif options.type == "weakly-correlated":
        profits = np.maximum(1, weights + random.integers(-10, 10, shape, endpoint=True))
    elif options.type == "strongly-correlated":
        ordered = np.sort(weights, axis=1)
        weights, profits = np.cumsum(ordered, axis=1), np.cumsum(ordered + 10, axis=1)
    classes = np.repeat(np.arange(options.classes), options.class_size)
    capacity = max(1, int((weights.min(axis=1) + weights.max(axis=1)).sum()) // 2)
    name = f"{options.type}-k{options.classes}-n{options.class_size}-R{options.max_weight}-seed{options.seed}"
    return MultipleChoiceKnapsack(profits.ravel(), weights.ravel(), classes, capacity, name)


class MultidimensionalOptions(BaseModel):
    """What instance :func:`multidimensional` makes."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    n: int = Field(100, ge=1, le=1_000_000, description="Number of items.")
    constraints: int = Field(2, ge=1, le=1000, description="Number of constraints.")
    max_weight: int = Field(100, ge=1, le=10**9, description="Range R: weights are drawn from 1 to R.")
    tightness: float = Field(
        0.5, gt=0, le=1, allow_inf_nan=False, description="Capacities as a fraction of the sums of weights."
    )
    correlated: bool = Field(True, description="Whether profits depend on the weights.")
    seed: Seed = Field(0, description="Seed of the random numbers; the same seed, the same instance.")


def multidimensional(options: MultidimensionalOptions) -> MultidimensionalKnapsack:
    """Make an instance as Chu and Beasley (1998) do.

    With R = ``max_weight``: the weights of an item are in U[1, R]; its profit is their mean, rounded down, plus a
    number in U[1, R/2], or without ``correlated`` a number in U[1, R] alone; the capacities are ``tightness`` times the
    sums of weights, rounded down, and at least 1. Numbers are drawn by ``Generator(PCG64(seed)).integers``: weights,
    then profits.

    References
    ----------
    P. C. Chu, J. E. Beasley, "A genetic algorithm for the multidimensional knapsack problem", Journal of Heuristics 4
    (1998) 63-86.
    """
    random = np.random.Generator(np.random.PCG64(options.seed))
    weights = random.integers(1, options.max_weight, (options.constraints, options.n), endpoint=True)
    most = max(1, options.max_weight // 2) if options.correlated else options.max_weight
    profits = random.integers(1, most, options.n, endpoint=True)
    if options.correlated:
        profits = profits + weights.sum(axis=0) // options.constraints
    tightness = Fraction(repr(options.tightness))
    capacities = [max(1, int(tightness * total)) for total in weights.sum(axis=1).tolist()]
    name = f"constraints{options.constraints}-n{options.n}-R{options.max_weight}-seed{options.seed}"
    return MultidimensionalKnapsack(profits, list(weights), capacities, name)


def write_multiple_choice(problem: MultipleChoiceKnapsack, path: Path) -> None:
    """Write an instance in the format of :mod:`engine.formats.knapsack.choice`."""
    formats.write_multiple_choice(path, problem.profits, problem.weights, problem.classes, problem.capacity)


def write_multidimensional(problem: MultidimensionalKnapsack, path: Path) -> None:
    """Write an instance in OR-Library's format ``mknap``."""
    formats.write_mknap(path, problem.profits, problem.weights, problem.capacities, problem.optimum or 0)
