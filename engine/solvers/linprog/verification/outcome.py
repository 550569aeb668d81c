"""What a linear program's solution ends with: an audited point, or a proof that there is no optimum."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....base.result import Result, Status
from ..interior.driver import Counters
from ..options import Options
from ..problem import LinearProgram
from .audit import Audit, admissible, audit
from .rays import (
    cleaned,
    polished,
    polished_ray,
    proves_infeasible,
    proves_unbounded,
    reach_is_enough,
    reason_of_infeasibility,
    reason_of_unboundedness,
)

Vector = NDArray[np.float64]
_MANY_ENTRIES = 500_000


@dataclass(frozen=True)
class AuditedPoint:
    """A point and its row duals, in the sense of minimization, and their audit."""

    x: Vector
    y: Vector
    audit: Audit

    @classmethod
    def of(cls, problem: LinearProgram, x: Vector, y: Vector) -> AuditedPoint:
        """Audit a point of the program as given; values are clipped to their bounds, impossible prices are removed."""
        values, duals = admissible(problem, x, y)
        return cls(values, duals, audit(problem, values, duals))

    def result(self, problem: LinearProgram, options: Options, otherwise: Status, counters: Counters) -> Result:
        """*Optimal* if the audit allows it."""
        found = self.audit
        sign = -1.0 if problem.maximize else 1.0
        counters["primal_infeasibility"] = found.primal_infeasibility
        counters["dual_infeasibility"] = found.dual_infeasibility
        counters["relative_gap"] = found.gap
        arrays = {
            "row_duals": sign * self.y + 0.0,  # minus 0 is 0
            "reduced_costs": sign * found.reduced_costs,
            "activities": found.activities,
        }
        return Result(
            Status.OPTIMAL if found.error <= options.acceptable else otherwise,
            sign * found.primal,
            sign * found.dual if found.dual_infeasibility <= options.acceptable else None,
            self.x,
            counters=counters,
            arrays=arrays,
        )


@dataclass(frozen=True)
class Proof:
    """*Infeasible* by a Farkas ray (m,), which holds for all ``sum |x| <= reach``; or *unbounded* by a ray (n,)."""

    status: Status
    farkas: Vector | None = None
    ray: Vector | None = None
    reach: float = 0.0

    def result(self, problem: LinearProgram, counters: Counters) -> Result:
        """A result without a solution, with its certificate and what that says."""
        arrays, reason = {}, ""
        if self.farkas is not None:
            arrays["farkas"] = self.farkas
            counters["certificate_reach"] = self.reach
            reason = reason_of_infeasibility(problem, self.farkas)
        if self.ray is not None:
            arrays["ray"] = self.ray
            reason = reason_of_unboundedness(problem, self.ray)
        return Result(self.status, None, None, None, counters=counters, arrays=arrays, reason=reason)


def proof_of_infeasibility(problem: LinearProgram, farkas: Vector) -> Proof | None:
    """The proof that a Farkas ray, cleaned of rounding errors or mended, gives; None if it proves too little."""
    rays = _affordable(cleaned(farkas), problem)
    for candidate in itertools.chain(rays, (polished(problem, ray) for ray in rays)):
        reach = proves_infeasible(problem, candidate)
        if reach_is_enough(problem, reach):
            return Proof(Status.INFEASIBLE, farkas=candidate, reach=reach)
    return None


def _affordable(rays: list[Vector], problem: LinearProgram) -> list[Vector]:
    """The rays that are tried: of a large program, the given one and the next, since each takes several products."""
    return rays if problem.nonzeros <= _MANY_ENTRIES else rays[:2]


def proof_of_unboundedness(problem: LinearProgram, ray: Vector) -> Proof | None:
    """The proof that a ray, cleaned or mended, gives if some point is feasible; None if it gives none."""
    sizes = np.where(problem.column_sizes > 0.0, problem.column_sizes, 1.0)
    rays = _affordable(cleaned(ray) + cleaned(ray, sizes)[1:], problem)
    for candidate in itertools.chain(rays, (polished_ray(problem, found) for found in rays)):
        if proves_unbounded(problem, candidate):
            return Proof(Status.UNBOUNDED, ray=candidate / np.abs(candidate).max())
    return None
