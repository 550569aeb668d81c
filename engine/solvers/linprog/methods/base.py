"""What the solver's loop needs of a method that takes part in a race, and what a method returns to it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext
from ..interior.driver import Counters
from ..problem import LinearProgram

Vector = NDArray[np.float64]


Restore = Callable[[Vector, Vector], tuple[Vector, Vector]]
"""The way back from a point of the program that a method works on, x and y, to the program as given."""


def unchanged(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """A point of the program as given."""
    return x, y


def first_counters(problem: LinearProgram) -> Counters:
    """The counters of a result before any method has started."""
    work: Counters = dict.fromkeys(("iterations", "factorizations", "refinements", "device_bytes"), 0)
    return work | {"rows": problem.m, "variables": problem.n}


class Decided(Exception):
    """The race has been decided before all methods have started."""


@dataclass(frozen=True)
class MethodUpdate:
    """What a method has found since it was last asked."""

    # x and y of the program that the method works on, or, with `original`, of the program as given
    point: tuple[Vector, Vector] | None = None
    original: bool = False
    final: bool = False  # whether the method cannot improve the point
    farkas: Vector | None = None  # unchecked certificates of the program as given
    ray: Vector | None = None
    witness: Vector | None = None  # a point of the program as given, beside the ray, that may be feasible
    ended: bool = False  # whether the method has ended


class Method(ABC):
    """One method at work."""

    name: str  # for people
    future: Future[Any]  # done when collect has an update
    error: float = float("nan")  # error of the latest point, as the method measures it; nan if there is none
    refusals: int = 0  # points that reached the method's goal, but failed the audit of the program as given
    restore: Restore = staticmethod(unchanged)
    shows_last: bool = False  # whether present_point ends it, and takes longer than that of others

    @abstractmethod
    def collect(self) -> MethodUpdate:
        """What was found; called when ``future`` is done. Work goes on unless the method has ended."""

    @abstractmethod
    def refine(self) -> None:
        """The point that was collected is not good enough: aim at a smaller error."""

    def present_point(self) -> tuple[Vector, Vector] | None:
        """The latest point of the program that the method works on, for a run that is stopped; None without one."""
        return None

    @abstractmethod
    def report(self, run: RunContext) -> None:
        """Emit the metrics of the latest point."""

    @abstractmethod
    def count(self, counters: Counters) -> None:
        """Add the work done to the counters."""

    @abstractmethod
    def close(self) -> None:
        """End now."""
