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

    def result(self, place: int) -> Result:
        """One of the optima as a result of its own; ``seconds`` are those of all."""
        audit, x, y = self.audits[place], self.x[place], self.y[place]
        sign, iterations = float(self.family.sign[place]), int(self.iterations[place])
        counters: dict[str, int | float] = {
            "iterations": iterations,
            "factorizations": iterations + 1,
            "refinements": 0,
            "device_bytes": self.device_bytes,
            "rows": y.size,
            "variables": x.size,
            "primal_infeasibility": audit.primal_infeasibility,
            "dual_infeasibility": audit.dual_infeasibility,
            "relative_gap": audit.gap,
        }
        return Result(
            Status.OPTIMAL,
            sign * audit.primal,
            sign * audit.dual,
            x,
            seconds=self.seconds,
            backend=self.backend,
            devices=self.devices,
            counters=counters,
            arrays={
                "row_duals": sign * y,
                "reduced_costs": sign * audit.reduced_costs,
                "activities": audit.activities,
                "method": np.array("mpc, in a batch"),
            },
        )


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
        return self._others[place] if place in self._others else self._solved.result(place)

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
