"""Notices on how a linear program was solved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...base.context import RunContext
from ...base.result import Result, Status
from .methods.base import Method
from .options import Options
from .verification.audit import Audit

__all__ = ["report_error", "report_race"]


def report_error(run: RunContext, found: Audit, options: Options, ended: Status | None) -> None:
    """Report an optimum that misses the tolerance, or how far from an optimum the best point is."""
    if found.error <= options.acceptable:
        if found.error > options.tolerance:
            run.notice(f"optimal to {found.error:.1e}; the tolerance is {options.tolerance:.0e}")
    elif ended is not None and not ended.stopped:
        run.notice(
            f"no optimum was found: gap {found.gap:.1e}, primal infeasibility {found.primal_infeasibility:.1e}, "
            f"dual infeasibility {found.dual_infeasibility:.1e}",
            level="warning",
        )


def report_race(
    run: RunContext, winner: Method | None, closed: Sequence[Method], ended: Sequence[Method], result: Result
) -> None:
    """Report who has won and how far the others were, also as arrays of the result."""
    others = [method for method in closed if method is not winner]
    order = [*([winner] if winner is not None else []), *others]
    if not order:
        return
    result.arrays["racers"] = np.array([method.name for method in order])
    result.arrays["racer_errors"] = np.array([method.error for method in order])
    result.arrays["racer_outcomes"] = np.array(
        ["won" if method is winner else "ended" if method in ended else "stopped" for method in order]
    )
    first = f"{winner.name} has won" if winner is not None else "no method has won"
    rest = ", ".join(f"{method.name}: error {method.error:.1e}" for method in others)
    run.notice(f"race: {first}" + (f"; {rest}" if rest else ""))
