"""Notices on how a linear program was solved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...base.context import RunContext
from ...base.result import Result, Status
from .options import Options
from .racers.base import Racer
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
    run: RunContext, winner: Racer | None, closed: Sequence[Racer], ended: Sequence[Racer], result: Result
) -> None:
    """Report who has won and how far the others were, also as arrays of the result."""
    others = [racer for racer in closed if racer is not winner]
    order = [*([winner] if winner is not None else []), *others]
    if not order:
        return
    result.arrays["racers"] = np.array([racer.name for racer in order])
    result.arrays["racer_errors"] = np.array([racer.error for racer in order])
    result.arrays["racer_outcomes"] = np.array(
        ["won" if racer is winner else "ended" if racer in ended else "stopped" for racer in order]
    )
    first = f"{winner.name} has won" if winner is not None else "no method has won"
    rest = ", ".join(f"{racer.name}: error {racer.error:.1e}" for racer in others)
    run.notice(f"race: {first}" + (f"; {rest}" if rest else ""))
