"""What is told of a linear program in the end: a point with its audit, or a proof that there is no optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.results import Result, Status
from engine.solvers.linprog.audit import Audit, audit
from engine.solvers.linprog.certificates import Proof
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.session import Counters
from engine.solvers.linprog.standard import Prepared

__all__ = ["Answer"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """A point and its row duals, in the sense of minimization, and what the audit says of them."""

    x: Vector
    y: Vector
    audit: Audit

    @classmethod
    def of(cls, prepared: Prepared, x: Vector, y: Vector) -> Answer:
        """The audited point of the program as given that a point of the standard form stands for."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows fails the audit
            values, duals = prepared.back(x, y)
            return cls(values, duals, audit(prepared.problem, values, duals))

    def result(self, problem: LinearProgram, options: Options, otherwise: Status, counters: Counters) -> Result:
        """*Optimal* if the audit allows it, else what it is ``otherwise``; what the audit found goes into counters."""
        found = self.audit
        sign = -1.0 if problem.maximize else 1.0
        counters["primal_infeasibility"] = found.primal_infeasibility
        counters["dual_infeasibility"] = found.dual_infeasibility
        counters["relative_gap"] = found.gap
        arrays = {
            "row_duals": sign * self.y,
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


def proven(proof: Proof, counters: Counters) -> Result:
    """A result without a solution, with its certificate."""
    arrays = {}
    if proof.farkas is not None:
        arrays["farkas"] = proof.farkas
        counters["certificate_reach"] = proof.reach
    if proof.ray is not None:
        arrays["ray"] = proof.ray
    return Result(proof.status, None, None, None, counters=counters, arrays=arrays)
