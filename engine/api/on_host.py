"""Problems that are solved sooner than a run starts."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base.problem import Problem
from ..base.result import Result
from ..base.solver import Begun
from ..settings import config
from ..solvers import solver_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..runs.publisher import Observer
    from .option_types import AnyOptions

    class RunArguments(AnyOptions, total=False):
        """The keyword arguments of :meth:`engine.Engine.start`."""

        time_limit: float | None
        seed: int | None
        on_event: Observer | Sequence[Observer] | None
        run_folder: str | Path | None
        checkpoint_interval: float | None


def solved_on_host(
    own: config.Resolved, is_open: bool, problem: Problem, arguments: dict[str, Any]
) -> Result | Begun | None:
    """The result of a problem that needs no run; else what has begun for it, or None, also if a run is asked for."""
    began = time.perf_counter()
    watched = arguments.pop("on_event", None) is not None, arguments.pop("run_folder", None) is not None
    asked = any(watched) or own.settings.run_folder is not None or own.settings.devices is not None
    solver = solver_for(problem)
    if solver.solve_on_host is None or asked or own.settings.backend != "auto":
        return None
    resolved = own.with_arguments(
        {name: arguments.pop(name, None) for name in ("time_limit", "seed", "checkpoint_interval")}
    )
    chosen = config.solver_options(solver, resolved, arguments, type(problem))
    found = solver.solve_on_host(problem, chosen, resolved.settings.time_limit, is_open)
    if not isinstance(found, Result):
        return found
    return replace(found, seed=resolved.settings.seed, backend="host", seconds=time.perf_counter() - began)
