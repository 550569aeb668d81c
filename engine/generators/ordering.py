"""Random instances of the linear ordering problem.

References
----------
R. Marti, G. Reinelt, A. Duarte, "A benchmark library and a comparison of heuristic methods for the linear ordering
problem", Computational Optimization and Applications 51 (2012) 1297-1317.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..base.option_models import Seed
from ..formats import lolib
from ..solvers.branch_and_bound.problems.linear_ordering import LinearOrdering


class LinearOrderingFamily(BaseModel):
    """Which linear ordering problem to make."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    type: Literal["ranking", "uniform"] = Field("ranking", description="Family; see generate_linear_ordering.")
    n: int = Field(25, ge=2, le=200, description="Number of items.")
    comparisons: int = Field(5, ge=1, le=10**4, description="Comparisons of each pair; family ranking only.")
    upsets: float = Field(0.3, ge=0, le=1, description="Share of comparisons against the ranking; family ranking only.")
    seed: Seed = Field(0, description="Seed of the random numbers.")


def generate_linear_ordering(options: LinearOrderingFamily) -> LinearOrdering:
    """Make one instance.

    - ``ranking``: an order of the items is drawn, and every pair is compared ``comparisons`` times, each time
      against that order with the probability ``upsets``. The entry (i, j) counts those that i wins.
    - ``uniform``: entries uniform on 0 to 99 (as the class RandA1 of LOLIB, with 0 to 100).

    The numbers come from NumPy's ``Generator(PCG64(seed))``.
    """
    random = np.random.Generator(np.random.PCG64(options.seed))
    n = options.n
    if options.type == "ranking":
        rank = random.permutation(n)
        wins = np.triu(random.binomial(options.comparisons, 1 - options.upsets, (n, n)), 1)
        ordered = wins + np.tril(options.comparisons - wins.T, -1)
        weights = ordered[np.ix_(rank, rank)]
    else:
        weights = random.integers(0, 100, (n, n))
        np.fill_diagonal(weights, 0)
    return LinearOrdering(weights, f"{options.type}-{n}-seed{options.seed}")


def write_linear_ordering(problem: LinearOrdering, path: Path) -> None:
    """Write an instance as a LOLIB file."""
    lolib.write(path, problem.weights)
