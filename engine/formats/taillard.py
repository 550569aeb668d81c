"""Permutation flowshop files: Taillard's own layout, and that of Vallada, Ruiz and Framinan.

``taillard``: a line of words ending in a colon, the numbers "jobs machines seed upper lower", a line "processing
times :", then one row of times per machine; a file may hold several instances one after another. The last three numbers
of the header may be missing.

``vrf``: "jobs machines", then one line per job with pairs "machine time" of all machines in order.

References
----------
E. Taillard, "Benchmarks for basic scheduling problems", European Journal of Operational Research 64 (1993) 278-285.
E. Vallada, R. Ruiz, J. M. Framinan, "New hard benchmark for flowshop scheduling problems minimising makespan",
European Journal of Operational Research 240 (2015) 666-677.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import ProblemError
from engine.formats.source import lines_of, read_text, require_memory, write_text
from engine.formats.text import Numbers

__all__ = ["ParsedFlowshop", "generate_times", "parse", "read", "recognize", "write"]

_HEADER = re.compile(r"number\s+of\s+jobs", re.IGNORECASE)
_TIMES = re.compile(r"processing\s+times", re.IGNORECASE)
_LARGEST_SIDE = 100_000
_SIZE = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, eq=False)
class ParsedFlowshop:
    """One instance of a file: ``times`` of shape (machines, jobs), and the bounds stated in its header, if any."""

    times: NDArray[np.int64]
    upper_bound: int | None = None
    lower_bound: int | None = None
    line: int | None = None


def read(path: str | Path) -> list[ParsedFlowshop]:
    """All instances of a flowshop file.

    Raises
    ------
    ProblemError
        If the file cannot be read or breaks its layout; with the file and the line.
    """
    return parse(read_text(path, "the flowshop file"), path)


def parse(text: str, path: str | Path | None = None) -> list[ParsedFlowshop]:
    """The instances of a file's text; ``path`` is only for messages.

    Parameters
    ----------
    text : str
    path : path-like, optional
        Only for messages.
    """
    lines = [(number, line) for number, line in enumerate(lines_of(text), 1) if line.strip()]
    if not lines:
        raise ProblemError(
            "the file is empty; a flowshop instance begins with its numbers of jobs and machines", path, 1
        )
    starts = [index for index, (_, line) in enumerate(lines) if _HEADER.search(line)]
    if not starts:
        return [_vrf(lines, path)]
    if starts[0] != 0:
        raise ProblemError("a flowshop file begins with the line 'number of jobs, number of machines, ...'", path, 1)
    ends = [*starts[1:], len(lines)]
    return [_taillard(lines[start:end], path) for start, end in zip(starts, ends, strict=True)]


def _taillard(lines: list[tuple[int, str]], path: str | Path | None) -> ParsedFlowshop:
    split = next((index for index, (_, line) in enumerate(lines) if _TIMES.search(line)), None)
    if split is None:
        raise ProblemError("an instance lacks its line 'processing times :'", path, lines[0][0])
    header = Numbers.of(lines[1:split], path)
    jobs, machines = _sizes(header)
    require_memory(8 * jobs * machines, f"an instance of {jobs} jobs and {machines} machines", path, header.line)
    stated = [header.take("a bound in the header") for _ in range(header.left)][1:]
    body = Numbers.of(lines[split + 1 :], path)
    times = [[_time(body, job, machine) for job in range(jobs)] for machine in range(machines)]
    body.end(f"{machines} x {jobs} processing times")
    bounds = [value if value > 0 else None for value in stated] + [None, None]
    return ParsedFlowshop(np.array(times, np.int64), bounds[0], bounds[1], lines[0][0])


def _vrf(lines: list[tuple[int, str]], path: str | Path | None) -> ParsedFlowshop:
    numbers = Numbers.of(lines, path)
    jobs, machines = _sizes(numbers)
    require_memory(8 * jobs * machines, f"an instance of {jobs} jobs and {machines} machines", path, numbers.line)
    times = np.zeros((machines, jobs), np.int64)
    for job in range(jobs):
        for machine in range(machines):
            named = numbers.take(f"the number of machine {machine} of job {job}")
            if named != machine:
                raise ProblemError(
                    f"job {job} must give its times as pairs of machine and time, machines in order; "
                    f"got machine {named} for {machine}",
                    path,
                    numbers.line,
                )
            times[machine, job] = _time(numbers, job, machine)
    numbers.end(f"{jobs} jobs of {machines} machines")
    return ParsedFlowshop(times, line=lines[0][0])


def _time(numbers: Numbers, job: int, machine: int) -> int:
    what = f"the processing time of job {job} on machine {machine}"
    value = numbers.take(what)
    if value < 0:
        raise ProblemError(f"{what} must be at least 0; got {value}", numbers.path, numbers.line)
    return value


def _sizes(numbers: Numbers) -> tuple[int, int]:
    jobs, machines = numbers.take("the number of jobs"), numbers.take("the number of machines")
    for name, value in (("jobs", jobs), ("machines", machines)):
        if not 1 <= value <= _LARGEST_SIDE:
            raise ProblemError(
                f"the number of {name} must be 1 to {_LARGEST_SIDE}; got {value}", numbers.path, numbers.line
            )
    return jobs, machines


def recognize(head: str) -> bool:
    """Whether a file that begins with ``head`` looks like a flowshop instance of either layout."""
    lines = [line for line in head.lstrip("\ufeff").splitlines() if line.strip()]
    if not lines:
        return False
    if _HEADER.search(lines[0]):
        return True
    first, second = lines[0].split(), lines[1].split() if len(lines) > 1 else []
    if len(first) != 2 or not all(_SIZE.fullmatch(word) for word in first):
        return False
    machines = int(first[1])
    pairs = second[: 2 * machines]
    named = pairs[::2]
    whole = len(lines) > 2 or len(head) < 4096
    return (
        machines >= 2
        and len(named) >= 2
        and named == [str(i) for i in range(len(named))]
        and (not whole or len(second) == 2 * machines)
    )


def write(
    path: str | Path,
    times: NDArray[np.int64],
    seed: int = 0,
    upper_bound: int | None = None,
    lower_bound: int | None = None,
) -> None:
    """Write one instance in Taillard's layout.

    Parameters
    ----------
    times : ndarray of int, shape (machines, jobs)
    seed, upper_bound, lower_bound : int
        The last three numbers of the header; 0 where unknown.
    """
    machines, jobs = times.shape
    rows = "\n".join(" ".join(str(value) for value in row) for row in times.tolist())
    text = (
        "number of jobs, number of machines, initial seed, upper bound and lower bound :\n"
        f"{jobs} {machines} {seed} {upper_bound or 0} {lower_bound or 0}\nprocessing times :\n{rows}\n"
    )
    write_text(path, text, "the flowshop file")


def generate_times(jobs: int, machines: int, time_seed: int) -> NDArray[np.int64]:
    """Taillard's random processing times, 1 to 99: machine by machine, from the Lehmer generator 16807 mod 2^31 - 1.

    Parameters
    ----------
    jobs, machines : int
    time_seed : int
        1 to 2^31 - 2.

    Returns
    -------
    ndarray of int64, shape (machines, jobs)
    """
    values = np.fromiter(_lehmer(time_seed, jobs * machines), np.int64, jobs * machines)
    return (1 + values * 99 // (2**31 - 1)).reshape(machines, jobs)


def _lehmer(state: int, count: int) -> Iterator[int]:
    for _ in range(count):
        state = 16807 * state % (2**31 - 1)
        yield state
