"""HiGHS's points and rays, judged as those of any method."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..forms.balance import Balanced
from ..highs.presolve import highs_outcome
from ..highs.process import ChildError
from ..problem import LinearProgram
from .verdict import Verdict

__all__ = ["judge", "judge_balanced_by_highs", "judge_by_highs"]

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
        verdict.judge_farkas(found["farkas"])
    if "ray" in found and verdict.proof is None:
        verdict.judge_ray(found["ray"], found.get("x"))


def judge_balanced_by_highs(balanced: Balanced, verdict: Verdict, poll: Callable[[], None]) -> None:
    """Ask HiGHS for the optimum of a program whose numbers have been scaled together."""
    with contextlib.suppress(ChildError):
        found = highs_outcome(balanced.program, {"solver": "simplex", **_EXACT}, poll)
        if "x" in found and np.isfinite(found["x"]).all():
            verdict.consider(*balanced.restore(found["x"], found["row_duals"]))
