"""The best audited point of a program so far, or the proof that there is no optimum."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.result import Result, Status
from ..forms.balance import Balanced
from ..forms.standard import NoOptimum
from ..highs.presolve import highs_outcome
from ..highs.process import ChildError
from ..interior.driver import Counters
from ..options import Options
from ..problem import LinearProgram
from .audit import infeasibility_of_sides
from .outcome import AuditedPoint, Proof, proof_of_infeasibility, proof_of_unboundedness

Vector = NDArray[np.float64]


class Verdict:
    """Collects points and rays of a program, all in the sense of minimization, and judges them."""

    def __init__(self, problem: LinearProgram, acceptable: float) -> None:
        self.problem = problem
        self.acceptable = acceptable
        self.best: AuditedPoint | None = None
        self.proof: Proof | None = None

    def best_is(self, error: float) -> bool:
        """Whether the best point has at most this error."""
        return self.best is not None and self.best.audit.error <= error

    def consider(self, x: Vector, y: Vector) -> float:
        """Audit a point, and keep it if it is the best; its error."""
        point = AuditedPoint.of(self.problem, x, y)
        self.take(point)
        return float(point.audit.error)

    def take(self, point: AuditedPoint) -> None:
        """Keep a point if it is the best."""
        best = self.best
        if best is None or point.audit.error < best.audit.error or not np.isfinite(best.audit.error):
            self.best = point

    def proof_by_farkas(self, farkas: Vector) -> Proof | None:
        """The proof that a ray (m,), or its negative, gives that the program is infeasible; from any thread."""
        return proof_of_infeasibility(self.problem, farkas) or proof_of_infeasibility(self.problem, -farkas)

    def proof_by_ray(self, ray: Vector, x: Vector | None = None) -> Proof | None:
        """The proof that a ray gives, with a feasible point, that the objective is unbounded; from any thread."""
        found = proof_of_unboundedness(self.problem, ray)
        points = [] if self.best is None else [self.best.x]
        points += [] if x is None else [np.clip(x, self.problem.lower, self.problem.upper)]
        if not any(infeasibility_of_sides(self.problem, point) <= self.acceptable for point in points):
            return None
        return found

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


_EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # the least that HiGHS allows


def judge_by_highs(problem: LinearProgram, verdict: Verdict, poll: Callable[[], None]) -> None:
    """Ask HiGHS for the ray of a program without an optimum, or for the optimum that our methods have missed."""
    with contextlib.suppress(ChildError):
        judge(highs_outcome(problem, {"solver": "simplex"}, poll), verdict)


def judge(found: dict[str, Any], verdict: Verdict) -> None:
    """Audit the point, and check the rays, that HiGHS has returned."""
    if "x" in found and np.isfinite(found["x"]).all():
        verdict.consider(found["x"], found["row_duals"])
    if "farkas" in found:
        verdict.proof = verdict.proof or verdict.proof_by_farkas(found["farkas"])
    if "ray" in found and verdict.proof is None:
        verdict.proof = verdict.proof_by_ray(found["ray"], found.get("x"))


def judge_balanced_by_highs(balanced: Balanced, verdict: Verdict, poll: Callable[[], None]) -> None:
    """Ask HiGHS for the optimum, or a ray, of a program whose numbers have been scaled together."""
    with contextlib.suppress(ChildError):
        found = highs_outcome(balanced.program, {"solver": "simplex", **_EXACT}, poll)
        if "x" in found:
            found["x"], found["row_duals"] = balanced.restore(found["x"], found["row_duals"])
        for name, scale in (("farkas", balanced.row_scale), ("ray", balanced.column_scale)):
            if name in found:
                found[name] = scale * found[name]
        judge(found, verdict)
