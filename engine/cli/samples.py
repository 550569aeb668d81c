"""The bundled samples: one small real instance per solver, each a TOML file that ``quintet solve`` takes."""

import math
from dataclasses import dataclass
from pathlib import Path

from ..base.problem import Problem
from ..base.result import Result
from ..errors import InputError
from ..runs.folder.run_folder import read_problem
from ..settings.config import Resolved, resolve
from ..util.paths import folder_of


@dataclass(frozen=True)
class Outcome:
    """How a sample went: its problem, and its result or the error that took its place."""

    name: str
    problem: Problem | None
    result: Result | None
    error: str = ""

    @property
    def optimum(self) -> float | int | None:
        """What the answer should be, where that is known."""
        return getattr(self.problem, "optimum", None)

    @property
    def right(self) -> bool:
        """Whether there is an answer, found to the end, and no better one is known."""
        if self.result is None or self.result.status.stopped:
            return False
        if self.optimum is None:
            return True
        objective = self.result.objective
        if objective is None:
            return False
        if isinstance(objective, int) and isinstance(self.optimum, int):
            return objective == self.optimum
        return math.isclose(objective, self.optimum, rel_tol=1e-6, abs_tol=1e-9)


def samples() -> list[Path]:
    """The samples' TOML files, by name: those of the installed package, else of the working copy."""
    if found := sorted(folder_of("samples").glob("*.toml")):
        return found
    raise InputError("the samples are missing from this installation")


def load(path: Path, arguments: dict[str, object] | None = None) -> tuple[Problem, Resolved]:
    """The problem that a TOML file names, and the settings around it."""
    resolved = resolve(arguments, file=path)
    if resolved.problem is None:
        raise InputError(f'{path} names no problem; give it a line problem = "FILE"')
    return read_problem(resolved.problem), resolved
