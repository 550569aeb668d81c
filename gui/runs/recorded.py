"""Reading what the run folder of a finished run holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import RunFolderError
from engine.folder import RunFolder
from engine.problem import Problem
from engine.results import Result

__all__ = ["Kept", "open_run", "read_kept"]


def open_run(folder: Path) -> Problem:
    """The problem of a run folder.

    Raises
    ------
    engine.errors.RunFolderError
        If it is none, or has no events.
    """
    opened = RunFolder.open(folder)
    if next(opened.events(), None) is None:
        raise RunFolderError(f"the run in {folder} has no events yet")
    return opened.problem()


@dataclass(frozen=True)
class Kept:
    """What the folder of a run that is over holds: ``digest`` is what a dashboard shows of the result."""

    problem: Problem
    result: Result | None
    digest: Any = None


def read_kept(folder: Path, digester: Callable[[Result, Problem], Any]) -> Kept:
    """Read problem and result, and have the result made into what is shown.

    Raises
    ------
    engine.errors.RunFolderError
        If something of it cannot be read.
    """
    opened = RunFolder.open(folder)
    problem, result = opened.problem(), opened.result()
    return Kept(problem, result, None if result is None else digester(result, problem))
