"""Random instances: Taillard's flowshops, and the crane and tsmat families of the asymmetric TSP.

References
----------
E. Taillard, "Benchmarks for basic scheduling problems", European Journal of Operational Research 64 (1993) 278-285.
J. Cirasella, D. S. Johnson, L. A. McGeoch, W. Zhang, "The asymmetric traveling salesman problem: algorithms, instance
generators, and tests", ALENEX 2001.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..base.option_models import Seed
from ..errors import OptionError
from ..formats import taillard, tsplib
from ..solvers.branch_and_bound.problems.atsp import ATSP
from ..solvers.branch_and_bound.problems.flowshop import Flowshop

_SIDE = 1_000_000


class FlowshopFamily(BaseModel):
    """Which flowshop to make."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    taillard: int | None = Field(
        None, ge=1, le=120, description="Number of one of Taillard's instances; the rest is his."
    )
    jobs: int = Field(20, ge=1, le=10_000, description="Number of jobs.")
    machines: int = Field(5, ge=1, le=1000, description="Number of machines.")
    seed: int = Field(1, ge=1, le=2**31 - 2, description="Time seed of Taillard's generator.")


class ATSPFamily(BaseModel):
    """Which asymmetric TSP to make."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    type: Literal["crane", "tsmat"] = Field("crane", description="Family; see generate_atsp.")
    n: int = Field(15, ge=2, le=2000, description="Number of cities.")
    u: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Inverse reach of a crane's moves; default: the square root of n."
    )
    seed: Seed = Field(0, description="Seed of the random numbers.")


def generate_flowshop(options: FlowshopFamily) -> Flowshop:
    """One of Taillard's instances, or one of any size made by his generator: times uniform on 1 to 99."""
    if options.taillard is not None:
        if own := sorted(options.model_fields_set - {"taillard"}):
            raise OptionError(f"{', '.join(own)} cannot be chosen for taillard = {options.taillard}, which has its own")
        return Flowshop.taillard(options.taillard)
    times = taillard.generate_times(options.jobs, options.machines, options.seed)
    return Flowshop(times, f"flowshop-{options.jobs}x{options.machines}-seed{options.seed}")


def generate_atsp(options: ATSPFamily) -> ATSP:
    """Make one instance.

    - ``crane``: a crane's moves as cities. Move i goes from a source s_i, uniform on the square of side 10^6, to
      s_i + (x, y) with x and y uniform integers from -10^6/u to 10^6/u; the cost from i to j is the Euclidean distance
      from i's destination to j's source, rounded.
    - ``tsmat``: a symmetric matrix of uniform integers from 0 to 10^6, closed under shortest paths.

    The numbers come from NumPy's ``Generator(PCG64(seed))``.
    """
    random = np.random.Generator(np.random.PCG64(options.seed))
    n = options.n
    if options.type == "crane":
        reach = int(_SIDE / (options.u if options.u is not None else math.sqrt(n)))
        source = random.integers(0, _SIDE, size=(n, 2), endpoint=True)
        destination = source + random.integers(-reach, reach, size=(n, 2), endpoint=True)
        difference = destination[:, None, :] - source[None, :, :]
        costs = np.rint(np.sqrt((difference.astype(float) ** 2).sum(axis=2))).astype(np.int64)
    else:
        upper = np.triu(random.integers(0, _SIDE, size=(n, n), endpoint=True), 1)
        costs = upper + upper.T
        for via in range(n):
            costs = np.minimum(costs, costs[:, via, None] + costs[None, via, :])
    np.fill_diagonal(costs, 0)
    return ATSP(costs, f"{options.type}-{n}-seed{options.seed}")


def write_flowshop(problem: Flowshop, path: Path) -> None:
    """Write an instance in Taillard's layout."""
    taillard.write(path, problem.times)


def write_atsp(problem: ATSP, path: Path) -> None:
    """Write an instance as a TSPLIB file."""
    tsplib.write(path, problem.name, problem.costs)
