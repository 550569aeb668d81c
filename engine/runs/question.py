"""What a run is to solve, and how it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..base.context import Checkpoint
from ..base.result import Result

if TYPE_CHECKING:
    from ..base.problem import Problem
    from ..base.solver import Solver, SolverOptions


@dataclass(frozen=True)
class Question:
    """What a run is to solve."""

    problem: Problem[Any]
    solver: Solver
    options: SolverOptions  # the solver's model for the problem's class
    backend: str  # what the run is labelled with
    seed: int = 0
    time_limit: float | None = None  # seconds
    checkpoint_interval: float = 30.0  # seconds


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
