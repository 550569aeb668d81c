"""Results of many programs that share their matrix, as arrays and one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ....base.result import Result, Status
from ....util.display import ROWS, Display, Displayed, entries_text
from ....util.text import counted, number_text
from ..verification.audit import Audit
from .family import Family

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Solved:
    """Points of the k programs of a family."""

    family: Family
    x: Vector  # (k, n)
    y: Vector  # (k, m)
    audits: Audit
    iterations: NDArray[np.int32]  # (k,)
    good: NDArray[np.bool_]  # (k,): which of them are optimal to the tolerance
    seconds: float
    device_bytes: int
    backend: str
    devices: tuple[str, ...]

    @classmethod
    def none(cls, family: Family) -> Solved:
        """What is known when no program has been solved together with the others."""
        k, m, n = len(family), family.row_lower.shape[1], family.c.shape[1]
        rows, columns, numbers = np.full((k, m), np.nan), np.full((k, n), np.nan), np.full(k, np.nan)
        audits = Audit(*(numbers,) * 5, rows.copy(), columns.copy(), numbers)
        return cls(family, columns, rows, audits, np.zeros(k, np.int32), np.zeros(k, bool), 0.0, 0, "", ())

    def results(self, places: NDArray[np.int64]) -> list[Result]:
        """Some of the optima as results of their own; ``seconds`` are those of all."""
        audits, sign = self.audits, self.family.sign[places, None]
        numbers = np.stack([sign[:, 0] * audits.primal[places], sign[:, 0] * audits.dual[places]])
        errors = np.stack([audits.primal_infeasibility[places], audits.dual_infeasibility[places], audits.gap[places]])
        duals, costs = sign * self.y[places], sign * audits.reduced_costs[places]
        points = zip(self.x[places], duals, costs, audits.activities[places], strict=True)
        common: dict[str, int | float] = {
            "refinements": 0,
            "device_bytes": self.device_bytes,
            "rows": self.y.shape[1],
            "variables": self.x.shape[1],
        }
        method = np.array("mpc, in a batch")
        return [
            Result(
                Status.OPTIMAL,
                objective,
                bound,
                x,
                seconds=self.seconds,
                backend=self.backend,
                devices=self.devices,
                counters={"iterations": iterations, "factorizations": iterations + 1, **common}
                | dict(zip(("primal_infeasibility", "dual_infeasibility", "relative_gap"), reached, strict=True)),
                arrays={"row_duals": y, "reduced_costs": z, "activities": activities, "method": method},
            )
            for (objective, bound), reached, iterations, (x, y, z, activities) in zip(
                numbers.T.tolist(), errors.T.tolist(), self.iterations[places].tolist(), points, strict=True
            )
        ]


class FamilyResult(Displayed, Sequence[Result]):
    """Results of programs that share their matrix: arrays of all of them, and a sequence of :class:`Result`.

    Parameters
    ----------
    solved : Solved
        Those that were solved together; its arrays are taken over.
    others : mapping of int to Result
        Those that were solved alone, by index.

    Attributes
    ----------
    status : ndarray of str, shape (k,)
    objective : ndarray, shape (k,)
    solution : ndarray, shape (k, n)
    row_duals, activities : ndarray, shape (k, m)
    reduced_costs : ndarray, shape (k, n)
        NaN where a program has no such number.
    """

    def __init__(self, solved: Solved, others: Mapping[int, Result]) -> None:
        self._solved, self._others = solved, dict(others)
        family, audits = solved.family, solved.audits
        sign = family.sign[:, None]
        self.status = np.full(len(family), Status.OPTIMAL.value, dtype="U16")
        self.objective = family.sign * audits.primal
        self.solution, self.activities = solved.x, audits.activities
        self.row_duals, self.reduced_costs = sign * solved.y, sign * audits.reduced_costs
        for index, result in self._others.items():
            self.status[index] = result.status.value
            self.objective[index] = np.nan if result.objective is None else result.objective
            self.solution[index] = np.nan if result.solution is None else result.solution
            for name in ("row_duals", "reduced_costs", "activities"):
                getattr(self, name)[index] = result.arrays.get(name, np.nan)

    def __len__(self) -> int:
        return len(self._solved.family)

    @overload
    def __getitem__(self, index: int) -> Result: ...

    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...

    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self._others[place] if place in self._others else self._solved.results(np.array([place]))[0]

    def display(self) -> Display:
        """What is shown of it: how the programs ended, and their objectives and first variables."""
        names, counts = np.unique(self.status, return_counts=True)
        return Display(
            f"FamilyResult of {counted(len(self), 'program')}",
            [(name, str(count)) for name, count in zip(names.tolist(), counts, strict=True)],
            ("", "status", "objective", "solution"),
            [
                (str(i), str(self.status[i]), number_text(float(self.objective[i])), entries_text(self.solution[i], 5))
                for i in range(min(len(self), ROWS))
            ],
            total=len(self),
        )
