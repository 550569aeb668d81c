"""Reading problem and result from the run folder of a finished run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.folder import RunFolder
from engine.problem import Problem
from engine.results import Result

__all__ = ["Recorded", "open_run", "read_problem_of", "read_recorded"]


def open_run(folder: Path) -> Problem:
    """The problem of a run folder that has events.

    Raises
    ------
    engine.errors.RunFolderError
        If it is none, or has no events.
    """
    opened = RunFolder.open(folder)
    opened.first_event()
    return opened.problem()


def read_problem_of(folder: Path) -> Problem:
    """The problem of a run folder, which may have no events.

    Raises
    ------
    engine.errors.RunFolderError
        If it is not a run folder.
    """
    return RunFolder.open(folder).problem()


@dataclass(frozen=True)
class Recorded:
    """Problem and result of a run that has ended.

    ``processed`` is what a dashboard shows of the result.
    """

    problem: Problem
    result: Result | None
    processed: Any = None


def read_recorded(folder: Path, postprocessor: Callable[[Result, Problem], Any]) -> Recorded:
    """Read problem and result, and apply ``postprocessor(result, problem)``.

    Raises
    ------
    engine.errors.RunFolderError
        If something of it cannot be read.
    """
    opened = RunFolder.open(folder)
    problem, result = opened.problem(), opened.result()
    return Recorded(problem, result, None if result is None else postprocessor(result, problem))
