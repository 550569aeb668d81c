"""Vertices: HiGHS's crossover from an optimal point, audited."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext, StopRequested
from ..highs.presolve import to_vertex
from ..highs.process import ChildError
from ..options import Options
from ..problem import LinearProgram
from .outcome import AuditedPoint
from .verdict import Verdict


def basis_arrays(problem: LinearProgram, found: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays of a result that describe a basis of HiGHS's; empty if there is none."""
    arrays: dict[str, NDArray[Any]] = {key: found[key] for key in ("column_status", "row_status") if key in found}
    if "cost_from" in found:
        costs = found["cost_from"], found["cost_to"]
        arrays["cost_from"], arrays["cost_to"] = (-costs[1], -costs[0]) if problem.maximize else costs
        arrays |= {name: found[name] for name in ("side_from", "side_to")}
    return arrays


def lacks_basis(arrays: dict[str, NDArray[Any]], options: Options) -> bool:
    """Whether these arrays of an optimum lack a basis, or ranges, that the options ask for."""
    wanted = "cost_from" if options.ranging else "column_status" if options.basis else None
    return wanted is not None and wanted not in arrays


def move_to_vertex(
    verdict: Verdict, options: Options, poll: Callable[[], None], run: RunContext, counters: dict[str, int | float]
) -> dict[str, NDArray[Any]]:
    """Replace the best point by a vertex that passes the audit, if there is one; the arrays of its basis."""
    problem, point = verdict.problem, verdict.best
    assert point is not None
    given = {
        "x": point.x,
        "row_duals": point.y,
        "reduced_costs": point.audit.reduced_costs,
        "activities": point.audit.activities,
    }
    found: dict[str, Any] = {}
    missing = ""
    try:
        found = to_vertex(problem, given, poll, options.ranging)
    except StopRequested:
        missing = "the run was stopped during crossover"
    except ChildError as error:
        missing = str(error)
    if not missing and ("column_status" not in found or not np.isfinite(found.get("x", np.nan)).all()):
        missing = "HiGHS's crossover has failed"
    if not missing:
        vertex = AuditedPoint.of(problem, found["x"], found["row_duals"])
        if vertex.audit.error > max(options.acceptable, point.audit.error):
            missing = f"the vertex has an error of {vertex.audit.error:.1e}"
    if missing:
        run.notice(f"no basis: {missing}", level="warning")
        return {}
    arrays = basis_arrays(problem, found)
    if options.ranging and "cost_from" not in arrays:
        run.notice("no ranges: HiGHS has computed none for this basis", level="warning")
    verdict.best = vertex
    counters["crossover_iterations"] = int(found["crossover_iterations"])
    return arrays
