"""What a run is to solve, and how it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..base.context import Checkpoint
from ..base.result import Result

if TYPE_CHECKING:
    from ..base.problem import Problem
    from ..base.solver import Solver, SolverOptions

__all__ = ["AlreadyEnded", "Fresh", "FromCheckpoint", "Question", "Restarted", "Start"]


@dataclass(frozen=True)
class Question:
    """What a run is to solve.

    ``options``: the solver's model for the problem's class; ``backend``: what the run is labelled with; ``time_limit``:
    seconds; None without one; ``checkpoint_interval``: seconds.
    """

    problem: Problem[Any]
    solver: Solver
    options: SolverOptions
    backend: str
    seed: int = 0
    time_limit: float | None = None
    checkpoint_interval: float = 30.0


@dataclass(frozen=True)
class Fresh:
    """The run is a new one."""


@dataclass(frozen=True)
class FromCheckpoint:
    """The run goes on from a checkpoint."""

    checkpoint: Checkpoint


@dataclass(frozen=True)
class Restarted:
    """The run was started before and begins again; ``asked`` if the user wants that, so that no notice says it."""

    asked: bool = False


@dataclass(frozen=True)
class AlreadyEnded:
    """The run has ended before, and only emits its result."""

    result: Result


Start = Fresh | FromCheckpoint | Restarted | AlreadyEnded
