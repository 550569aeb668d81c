"""Random instances of quadratic assignment and of total weighted tardiness.

References
----------
C. E. Nugent, T. E. Vollmann, J. Ruml, "An experimental comparison of techniques for the assignment of facilities to
locations", Operations Research 16 (1968) 150-173.
E. Taillard, "Robust taboo search for the quadratic assignment problem", Parallel Computing 17 (1991) 443-455.
C. N. Potts, L. N. Van Wassenhove, "A branch and bound algorithm for the total weighted tardiness problem", Operations
Research 33 (1985) 363-377.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..base.option_models import Seed
from ..formats import qaplib
from ..formats.source import write_text
from ..solvers.branch_and_bound.problems.quadratic_assignment import QuadraticAssignment
from ..solvers.branch_and_bound.problems.tardiness import Tardiness


class QuadraticAssignmentFamily(BaseModel):
    """Which quadratic assignment problem to make."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    type: Literal["grid", "uniform"] = Field("grid", description="Family; see generate_quadratic_assignment.")
    n: int = Field(12, ge=2, le=200, description="Number of facilities.")
    seed: Seed = Field(0, description="Seed of the random numbers.")


class TardinessFamily(BaseModel):
    """Which tardiness problem to make."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    jobs: int = Field(15, ge=2, le=200, description="Number of jobs.")
    tardiness_factor: float = Field(0.6, ge=0, le=1, description="How early due dates are on average; 1: all at once.")
    due_range: float = Field(0.6, ge=0, le=1, description="Range of the due dates, as a part of all processing times.")
    seed: Seed = Field(0, description="Seed of the random numbers.")


def generate_quadratic_assignment(options: QuadraticAssignmentFamily) -> QuadraticAssignment:
    """Make one instance, with symmetric flows and distances.

    - ``grid``: locations on a square grid, filled row by row, with Manhattan distances; flows uniform on 0 to 10 (as
      Nugent, Vollmann and Ruml).
    - ``uniform``: flows and distances uniform on 0 to 99 (as Taillard's a).

    The numbers come from NumPy's ``Generator(PCG64(seed))``.
    """
    random = np.random.Generator(np.random.PCG64(options.seed))
    n = options.n
    if options.type == "grid":
        rows, columns = np.divmod(np.arange(n), math.ceil(math.sqrt(n)))
        distances = abs(rows[:, None] - rows) + abs(columns[:, None] - columns)
        flows = np.triu(random.integers(0, 11, (n, n)), 1)
    else:
        flows, distances = (np.triu(random.integers(0, 100, (n, n)), 1) for _ in range(2))
        distances = distances + distances.T
    return QuadraticAssignment(flows + flows.T, distances, f"{options.type}-{n}-seed{options.seed}")


def generate_tardiness(options: TardinessFamily) -> Tardiness:
    """Make one instance, as Potts and Van Wassenhove did.

    Times are uniform on 1 to 100, weights on 1 to 10, and due dates on an interval of the length ``due_range`` P around
    (1 - ``tardiness_factor``) P, where P is the sum of the times.
    """
    random = np.random.Generator(np.random.PCG64(options.seed))
    times = random.integers(1, 101, options.jobs)
    weights = random.integers(1, 11, options.jobs)
    total = int(times.sum())
    middle, half = 1.0 - options.tardiness_factor, options.due_range / 2
    low, high = (max(0, round(total * (middle + part))) for part in (-half, half))
    due = random.integers(low, high, options.jobs, endpoint=True)
    return Tardiness(times, weights, due, f"tardiness-{options.jobs}-seed{options.seed}")


def write_quadratic_assignment(problem: QuadraticAssignment, path: Path) -> None:
    """Write an instance as a QAPLIB file."""
    qaplib.write(path, problem.flows, problem.distances)


def write_tardiness(problem: Tardiness, path: Path) -> None:
    """Write an instance in the layout that :meth:`Tardiness.read` reads."""
    rows = (" ".join(map(str, row.tolist())) for row in (problem.times, problem.weights, problem.due))
    write_text(path, "\n".join([f"tardiness {problem.jobs}", *rows, ""]), "the file of a tardiness problem")
