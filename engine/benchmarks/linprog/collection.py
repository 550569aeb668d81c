"""``quintet bench linprog --set FOLDER`` and ``--families``: sparse programs, other solvers beside our methods."""

from __future__ import annotations

import csv
import math
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ...generators.linprog import GeneratorOptions, generate
from ...solvers.linprog.problem import LinearProgram
from ..tables import number_table
from .peers import Answer, Peer

if TYPE_CHECKING:
    from ...api.engine import Engine

_SHIFT = 1.0  # seconds, of the shifted geometric mean
_CLOSE = 1e-6  # relative error up to which an objective is right
_LARGE = (
    ("multicommodity", 500, 1500),
    ("staircase", 20_000, 60_000),
    ("sparse", 2000, 6000),
    ("pagerank", 100_000, 300_000),
    ("multicommodity", 2500, 7000),
    ("transport", 500, 600),
    ("staircase", 100_000, 300_000),
    ("sparse", 4000, 12_000),
    ("pagerank", 300_000, 900_000),
    ("transport", 1000, 1000),
)
_QUICK = (
    ("multicommodity", 50, 200),
    ("staircase", 500, 1500),
    ("transport", 20, 50),
    ("sparse", 200, 600),
    ("pagerank", 500, 1500),
)


@dataclass
class _Time:
    """Seconds on one program; ``error`` of what is claimed: inf of no optimum, None if nothing is claimed or known."""

    seconds: float
    solved: bool
    error: float | None = None
    remark: str = ""

    @property
    def is_right(self) -> bool:
        return self.solved and (self.error is None or self.error <= _CLOSE)

    def __str__(self) -> str:
        wrong = f" (wrong by {self.error:.0e})" if self.error is not None and self.error > _CLOSE else ""
        wrong = " (wrong: no optimum)" if self.error == math.inf else wrong
        return f"{self.seconds:.2f}{wrong}{self.remark if self.solved or self.remark else ' (unsolved)'}"


def programs(folder: Path | None, families: bool, quick: bool) -> Iterator[tuple[LinearProgram, float | None]]:
    """The programs of a folder with their optima in ``optima.csv``, then generated ones, whose optima are not known."""
    if folder is not None:
        with (folder / "optima.csv").open(encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                paths = sorted(folder.glob(f"{row['name']}.mps*"))
                if paths and row["highs_optimum"]:
                    yield LinearProgram.read(paths[0], relax=True), float(row["highs_optimum"])
    for family, m, n in (_QUICK if quick else _LARGE) if families else ():
        yield generate(GeneratorOptions.model_validate({"type": family, "m": m, "n": n, "seed": 1})), None


def bench_collection(
    engine: Engine,
    found: Iterator[tuple[LinearProgram, float | None]],
    methods: Sequence[str],
    others: Sequence[Peer],
    limit: float,
    console: Console,
) -> bool:
    """Solve every program by each of our methods and by the others; whether ours were all right.

    Where no optimum is known it is the first one that ours have found and audited. The process is warm when it is
    measured.
    """
    columns = [*methods, *(other.name for other in others)]
    table = number_table(
        f"seconds (limit {limit:.0f} s)", ("program", "rows", "variables", "nonzeros", *columns), ["program"]
    )
    times: dict[str, list[_Time]] = {column: [] for column in columns}
    try:
        for problem, optimum in found:
            if not table.rows:  # kernels are compiled and libraries loaded by first solves, which are not measured
                for method in dict.fromkeys((*methods, "mpc")):
                    _ours(engine, problem, optimum, method, limit)
            entries = []
            for method in methods:
                entry, objective = _ours(engine, problem, optimum, method, limit)
                entries.append(entry)
                optimum = objective if optimum is None else optimum
            entries += [_judged(answer, optimum) for answer in _answers(problem, others, limit)]
            for column, entry in zip(columns, entries, strict=True):
                times[column].append(entry)
            table.add_row(problem.name, f"{problem.m:,}", f"{problem.n:,}", f"{problem.nonzeros:,}", *map(str, entries))
            console.print(f"  {problem.name}: " + ", ".join(f"{c} {e}" for c, e in zip(columns, entries, strict=True)))
    finally:  # what there is, where the user has had enough
        for other in others:
            other.close()
        console.print(table)
        console.print(_summary(times, limit))
    return all(entry.is_right for method in methods for entry in times[method])


def _summary(times: dict[str, list[_Time]], limit: float) -> Any:
    headings = ("solver", "right", "wrong", "unsolved", "mean, s", "most, s", "most / best")
    table = number_table(
        "shifted geometric means (1 s); what is wrong or unsolved counts as the limit", headings, ["solver"]
    )
    counted = {
        column: [entry.seconds if entry.is_right else limit for entry in found] for column, found in times.items()
    }
    best = [min(seconds) for seconds in zip(*counted.values(), strict=True)]
    for column, found in times.items():
        seconds, right = counted[column], sum(entry.is_right for entry in found)
        unsolved = sum(not entry.solved for entry in found)
        ratio = max((one / least for one, least in zip(seconds, best, strict=True)), default=math.nan)
        numbers = (f"{_shifted_mean(seconds):.2f}", f"{max(seconds, default=math.nan):.2f}", f"{ratio:.1f}")
        table.add_row(column, str(right), str(len(found) - right - unsolved), str(unsolved), *numbers)
    return table


def _ours(
    engine: Engine, problem: LinearProgram, optimum: float | None, method: Any, limit: float
) -> tuple[_Time, float | None]:
    began = time.perf_counter()
    result = engine.solve(problem, method=method, time_limit=limit)
    seconds = time.perf_counter() - began
    with engine.exclusive():  # what a race leaves behind would disturb what is measured next
        pass
    racers = result.arrays.get("racers")
    objective = result.objective if str(result.status) == "optimal" else None
    entry = _judged(Answer(seconds, None if objective is None else float(objective)), optimum)
    entry.remark = f" ({racers[0]})" if racers is not None and entry.solved else ""
    return entry, None if objective is None else float(objective)


def _judged(answer: Answer, optimum: float | None) -> _Time:
    if answer.claimed == math.inf:
        return _Time(answer.seconds, True, math.inf)
    if answer.claimed is None or optimum is None:
        return _Time(answer.seconds, answer.claimed is not None, remark=" (no answer)" if answer.ended else "")
    return _Time(answer.seconds, True, abs(answer.claimed - optimum) / (1.0 + abs(optimum)))


def _answers(problem: LinearProgram, others: Sequence[Peer], limit: float) -> list[Answer]:
    """Of the others in their order: those without a lane alone, then the lanes side by side."""
    if not others:
        return []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "program.mps"
        problem.write(path)
        found = {other.name: other.solve(problem, path, limit) for other in others if other.lane is None}
        lanes = {other.lane for other in others if other.lane is not None}

        stopped = threading.Event()

        def work(lane: str) -> dict[str, Answer]:
            own = (other for other in others if other.lane == lane)
            return {other.name: other.solve(problem, path, limit) for other in own if not stopped.is_set()}

        with ThreadPoolExecutor(max(1, len(lanes))) as pool:
            try:
                for answers in pool.map(work, lanes):
                    found |= answers
            finally:  # Ctrl-C waits for the solves in progress, not for all that would follow
                stopped.set()
    return [found[other.name] for other in others]


def _shifted_mean(seconds: Sequence[float]) -> float:
    if not seconds:
        return math.nan
    return math.exp(sum(math.log(value + _SHIFT) for value in seconds) / len(seconds)) - _SHIFT
