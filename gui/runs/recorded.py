"""Reading problem and result from the run folder of a finished run."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.base.problem import Problem
from engine.base.result import Result
from engine.errors import RunFolderError
from engine.runs.folder.run_folder import RunFolder


@dataclass(frozen=True)
class Opened:
    """The problem of a run folder that has events; None, with the reason, if only the problem's file is damaged."""

    problem: Problem | None
    damage: str = ""


def open_run(folder: Path) -> Opened:
    """Open a run folder that has events; :class:`engine.errors.QuintetError` if it has none, or code not trusted."""
    opened = RunFolder.open(folder)
    opened.first_event()
    try:
        return Opened(opened.problem())
    except RunFolderError as error:
        return Opened(None, str(error))


def read_problem_of(folder: Path) -> Problem:
    """The problem of a run folder, which may have no events."""
    return RunFolder.open(folder).problem()


@dataclass(frozen=True)
class Recorded:
    """Problem and result of a run that has ended; the problem is None if its file is damaged."""

    problem: Problem | None
    result: Result | None
    processed: Any = None
    folder: Path | None = None


def read_recorded(folder: Path, postprocessor: Callable[[Result, Problem | None], Any]) -> Recorded:
    """Read problem and result, and apply ``postprocessor(result, problem)``; errors are those of :func:`open_run`."""
    opened = RunFolder.open(folder)
    result = opened.result()
    problem: Problem | None = None
    with contextlib.suppress(RunFolderError):
        problem = opened.problem()
    return Recorded(problem, result, None if result is None else postprocessor(result, problem), Path(folder))
