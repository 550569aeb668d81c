"""The best audited point of a program so far, or the proof that there is no optimum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....base.result import Result, Status
from ..forms.standard import NoOptimum
from ..interior.driver import Counters
from ..options import Options
from ..problem import LinearProgram
from .audit import infeasibility_of_sides
from .outcome import (
    AuditedPoint,
    Proof,
    proof_of_infeasibility,
    proof_of_unboundedness,
)

__all__ = ["Verdict"]

Vector = NDArray[np.float64]


class Verdict:
    """Collects points and rays of a program, all in the sense of minimization, and judges them.

    Parameters
    ----------
    problem : LinearProgram
    acceptable : float
        Largest error of an optimum.

    Attributes
    ----------
    best : AuditedPoint or None
    proof : Proof or None
    """

    def __init__(self, problem: LinearProgram, acceptable: float) -> None:
        self.problem = problem
        self.acceptable = acceptable
        self.best: AuditedPoint | None = None
        self.proof: Proof | None = None

    def best_is(self, error: float) -> bool:
        """Whether the best point has at most this error."""
        return self.best is not None and self.best.audit.error <= error

    def consider(self, x: Vector, y: Vector) -> float:
        """Audit a point, and keep it if it is the best; its error.

        Parameters
        ----------
        x : ndarray, shape (n,)
        y : ndarray, shape (m,)
            Row duals.
        """
        point = AuditedPoint.of(self.problem, x, y)
        self.take(point)
        return point.audit.error

    def take(self, point: AuditedPoint) -> None:
        """Keep a point if it is the best."""
        best = self.best
        if best is None or point.audit.error < best.audit.error or not np.isfinite(best.audit.error):
            self.best = point

    def proof_by_farkas(self, farkas: Vector) -> Proof | None:
        """The proof that a ray (m,), or its negative, gives that the program is infeasible; from any thread."""
        return proof_of_infeasibility(self.problem, farkas) or proof_of_infeasibility(self.problem, -farkas)

    def judge_farkas(self, farkas: Vector) -> None:
        """Accept a ray (m,), or its negative, if it proves that the program is infeasible."""
        self.proof = self.proof or self.proof_by_farkas(farkas)

    def proof_by_ray(self, ray: Vector, x: Vector | None = None) -> Proof | None:
        """The proof that a ray gives, with a feasible point, that the objective is unbounded; from any thread.

        Parameters
        ----------
        ray : ndarray, shape (n,)
        x : ndarray, shape (n,), optional
            A point that may be feasible, besides the best.
        """
        found = proof_of_unboundedness(self.problem, ray)
        points = [] if self.best is None else [self.best.x]
        points += [] if x is None else [np.clip(x, self.problem.lower, self.problem.upper)]
        return found if found is not None and any(self.is_feasible(point) for point in points) else None

    def judge_ray(self, ray: Vector, x: Vector | None = None) -> None:
        """Accept a ray as a proof that the objective is unbounded, if the best point or x is feasible.

        Parameters
        ----------
        ray : ndarray, shape (n,)
        x : ndarray, shape (n,), optional
        """
        self.proof = self.proof_by_ray(ray, x) or self.proof

    def is_feasible(self, x: Vector) -> bool:
        """Whether a point (n,) shows that the program is feasible: its rows and bounds hold relative to their sides."""
        return infeasibility_of_sides(self.problem, x) <= self.acceptable

    def judge_no_optimum(self, found: NoOptimum) -> None:
        """Check what the standard form has found."""
        if found.farkas is not None:
            self.proof = proof_of_infeasibility(self.problem, found.farkas)
        elif found.ray is not None:
            self.proof = proof_of_unboundedness(self.problem, found.ray)

    def result(self, otherwise: Status, options: Options, counters: Counters) -> Result:
        """What the proof or the audit of the best point allows to say of the program."""
        if self.proof is not None:
            return self.proof.result(self.problem, counters)
        if self.best is None:
            return Result(otherwise, None, None, None, counters=counters)
        return self.best.result(self.problem, options, otherwise, counters)
