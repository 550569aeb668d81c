"""``quintet bench linprog --set FOLDER``: sparse programs with known optima, HiGHS beside our methods."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ...solvers.linprog.highs.model import model_of
from ...solvers.linprog.highs.process import ChildError, ChildProcess
from ...solvers.linprog.problem import LinearProgram
from ..tables import number_table

if TYPE_CHECKING:
    from ...api.engine import Engine

__all__ = ["bench_collection"]

_SHIFT = 1.0  # seconds, of the shifted geometric mean
_GRACE = 10.0


@dataclass
class _Time:
    """Seconds of one method on one program; ``right`` if it found the optimum within the limit."""

    seconds: float
    right: bool
    remark: str = ""

    def __str__(self) -> str:
        return f"{self.seconds:.2f}{'' if self.right else ' (unsolved)'}{self.remark}"


def bench_collection(
    engine: Engine, folder: Path, methods: Sequence[str], limit: float, threads: int, console: Console
) -> bool:
    """Solve every program of a folder with ``optima.csv`` by each method and by HiGHS; whether ours were all right.

    A row of it has the ``name`` of an MPS file and its ``highs_optimum``. The process is warm when it is measured.
    """
    columns = [*methods, *(["HiGHS simplex", "HiGHS IPM"] if threads else [])]
    headings = ("program", "rows", "variables", "nonzeros", *columns)
    table = number_table(f"{folder.name}, seconds (limit {limit:.0f} s)", headings, ["program"])
    times: dict[str, list[_Time]] = {column: [] for column in columns}
    for place, (problem, optimum) in enumerate(_programs(folder)):
        if place == 0:  # kernels are compiled and libraries loaded by a first solve, which is not measured
            for method in methods:
                _ours(engine, problem, optimum, method, limit)
        found = [_ours(engine, problem, optimum, method, limit) for method in methods]
        if threads:
            found += [_highs(problem, optimum, solver, limit, threads) for solver in ("simplex", "ipm")]
        for column, entry in zip(columns, found, strict=True):
            times[column].append(entry)
        table.add_row(problem.name, f"{problem.m:,}", f"{problem.n:,}", f"{problem.nonzeros:,}", *map(str, found))
        console.print(f"  {problem.name}: " + ", ".join(f"{c} {e}" for c, e in zip(columns, found, strict=True)))
    console.print(table)
    for column in columns:
        mean = _shifted_mean([entry.seconds if entry.right else limit for entry in times[column]])
        solved = sum(entry.right for entry in times[column])
        console.print(f"{column}: {solved} of {len(times[column])} solved, shifted geometric mean {mean:.2f} s")
    return all(entry.right for method in methods for entry in times[method])


def _programs(folder: Path) -> Iterator[tuple[LinearProgram, float]]:
    with (folder / "optima.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            paths = sorted(folder.glob(f"{row['name']}.mps*"))
            if paths and row["highs_optimum"]:
                yield LinearProgram.read(paths[0], relax=True), float(row["highs_optimum"])


def _is(objective: float | int | None, optimum: float) -> bool:
    return objective is not None and abs(objective - optimum) <= 1e-6 * (1.0 + abs(optimum))


def _ours(engine: Engine, problem: LinearProgram, optimum: float, method: Any, limit: float) -> _Time:
    began = time.perf_counter()
    result = engine.solve(problem, method=method, time_limit=limit)
    seconds = time.perf_counter() - began
    with engine.exclusive():  # what a race leaves behind would disturb what is measured next
        pass
    racers = result.arrays.get("racers")
    remark = f" ({racers[0]})" if racers is not None else ""
    return _Time(seconds, str(result.status) == "optimal" and _is(result.objective, optimum), remark)


def _highs(problem: LinearProgram, optimum: float, solver: str, limit: float, threads: int) -> _Time:
    """HiGHS in a process of its own; its seconds are its own, without the transfer of the program."""
    options = {"solver": solver, "time_limit": limit, "threads": threads, "parallel": "on" if threads > 1 else "off"}
    sign = -1.0 if problem.maximize else 1.0
    with ChildProcess() as process:
        try:
            found = process.request("solve", model_of(problem), options).result(limit + _GRACE)
        except (TimeoutError, ChildError):
            return _Time(limit, False)
    right = found["status"] == "optimal" and _is(sign * float(found["objective"]), optimum)
    return _Time(float(found["seconds"]), right)


def _shifted_mean(seconds: Sequence[float]) -> float:
    if not seconds:
        return math.nan
    return math.exp(sum(math.log(value + _SHIFT) for value in seconds) / len(seconds)) - _SHIFT
