"""The result of a run."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Result", "Status", "relative_gap"]


class Status(enum.StrEnum):
    """How a run ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    TIME_LIMIT = "time_limit"
    ITERATION_LIMIT = "iteration_limit"

    @property
    def stopped(self) -> bool:
        """Whether the run was stopped before it was complete."""
        return self in (Status.INTERRUPTED, Status.TIME_LIMIT)


@dataclass(frozen=True)
class Result:
    """The answer of a run, and how it was found.

    Attributes
    ----------
    status : Status
    objective, bound : int, float or None
        Objective of ``solution`` and its proven bound, both in the problem's unit. None where there is none.
    solution : ndarray or None
        In the problem's own form (see the problem class).
    seconds : float
        Time the run took, pauses left out.
    seed, backend, devices
        Of the run; ``devices`` are pool labels.
    counters : dict
        Work done over all starts of the run: ``"nodes"``, ``"cells"``, ``"iterations"``, ...; see the solver's schema.
    arrays : dict of str to ndarray
        Further results of this solver, saved with the run.
    """

    status: Status
    objective: float | int | None
    bound: float | int | None
    solution: NDArray[Any] | None
    seconds: float = 0.0
    seed: int = 0
    backend: str = ""
    devices: tuple[str, ...] = ()
    counters: dict[str, int | float] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Relative distance between objective and bound; ``inf`` while one of them is missing."""
        return relative_gap(self.objective, self.bound)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as plain JSON values."""
        return {
            "status": str(self.status),
            "objective": self.objective,
            "bound": self.bound,
            "gap": None if math.isinf(self.gap) else self.gap,
            "seconds": self.seconds,
            "seed": self.seed,
            "backend": self.backend,
            "devices": list(self.devices),
            "counters": self.counters,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Result:
        """The inverse of :meth:`to_dict`; ``arrays`` may hold ``"solution"``."""
        others = dict(arrays)
        solution = others.pop("solution", None)
        return cls(
            status=Status(values["status"]),
            objective=values["objective"],
            bound=values["bound"],
            solution=None if solution is None else np.asarray(solution),
            seconds=values["seconds"],
            seed=values["seed"],
            backend=values["backend"],
            devices=tuple(values["devices"]),
            counters=values["counters"],
            arrays=others,
        )


def relative_gap(incumbent: float | int | None, bound: float | int | None) -> float:
    """Distance between the best known objective and its proven bound.

    Parameters
    ----------
    incumbent : float, int or None
        Objective of the best solution found, in the problem's own unit.
    bound : float, int or None
        Proven bound on the optimum, same unit.

    Returns
    -------
    float
        ``|incumbent - bound| / max(1, |incumbent|)``; ``inf`` while either is missing.
    """
    if incumbent is None or bound is None:
        return math.inf
    return float(abs(incumbent - bound) / max(1, abs(incumbent)))
