"""Permutation flowshop files: Taillard's own layout, that of Vallada, Ruiz and Framinan, and OR-Library's.

``taillard``: a line of words ending in a colon, the numbers "jobs machines seed upper lower", a line "processing
times :", then one row of times per machine; a file may hold several instances one after another. The last three numbers
of the header may be missing.

``vrf``: "jobs machines", then one line per job with pairs "machine time" of all machines in order.

OR-Library: lines of text, then several instances of the layout ``vrf``, each after a line "instance NAME", a line of
plus signs and a line of text.

Lines of text may come before any of these. Job shops have the layout of ``vrf`` or OR-Library with the machines of a
job in another order; they are recognised in order to be refused.

References
----------
E. Taillard, "Benchmarks for basic scheduling problems", European Journal of Operational Research 64 (1993) 278-285.
E. Vallada, R. Ruiz, J. M. Framinan, "New hard benchmark for flowshop scheduling problems minimising makespan",
European Journal of Operational Research 240 (2015) 666-677.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from .source import lines_of, read_text, require_memory, write_text
from .text import Numbers

_HEADER = re.compile(r"number\s+of\s+jobs", re.IGNORECASE)
_TIMES = re.compile(r"processing\s+times", re.IGNORECASE)
_JOB_SHOP = re.compile(r"machine\s+seed", re.IGNORECASE)
_INSTANCE = re.compile(r"\s*instance\s+(\S+)\s*", re.IGNORECASE)
_RULE = re.compile(r"\s*\+{3,}\s*")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.0*)?")
_MOST_TITLES = 20
_OTHER_RULES = ("flowtime", "blocking", "nowait")
"""Words on the first line of flowshops with other rules, which are other problems."""
_LARGEST_SIDE = 100_000
_SIZE = re.compile(r"[0-9]{1,9}")
_NOT_HERE = "which is not among the problems; OR-tools CP-SAT solves it"


@dataclass(frozen=True, eq=False)
class ParsedFlowshop:
    """One instance of a file: ``times`` of shape (machines, jobs), and the bounds stated in its header, if any."""

    times: NDArray[np.int64]
    upper_bound: int | None = None
    lower_bound: int | None = None
    line: int | None = None


def read(path: str | Path) -> list[ParsedFlowshop]:
    return parse(read_text(path, "the flowshop file"), path)


def parse(text: str, path: str | Path | None = None) -> list[ParsedFlowshop]:
    """The instances of a file's text; ``path`` is only for messages."""
    lines = [(number, line) for number, line in enumerate(lines_of(text), 1) if line.strip()]
    if not lines:
        raise ProblemError(
            "the file is empty; a flowshop instance begins with its numbers of jobs and machines", path, 1
        )
    if job_shop := next((number for number, line in lines[:_MOST_TITLES] if _JOB_SHOP.search(line)), None):
        raise ProblemError(f"the file is one of a job shop, {_NOT_HERE}", path, job_shop)
    starts = [index for index, (_, line) in enumerate(lines) if _HEADER.search(line)]
    if not starts:
        blocks = [index for index, (_, line) in enumerate(lines) if _INSTANCE.fullmatch(line)]
        if not blocks:
            return [_vrf(lines[_titles(lines) :], path)]
        ends = [*blocks[1:], len(lines)]
        return [_block(lines[start:end], path) for start, end in zip(blocks, ends, strict=True)]
    if starts[0] > _titles(lines):
        raise ProblemError("a flowshop file begins with the line 'number of jobs, number of machines, ...'", path, 1)
    ends = [*starts[1:], len(lines)]
    return [_taillard(lines[start:end], path) for start, end in zip(starts, ends, strict=True)]


def _titles(lines: list[tuple[int, str]]) -> int:
    """How many lines of text come before the first number; none where the first is the word of another problem."""
    if lines[0][1].strip().lower() in _OTHER_RULES:
        return 0
    return next((index for index, (_, line) in enumerate(lines) if _NUMBER.fullmatch(line.split()[0])), 0)


def _block(lines: list[tuple[int, str]], path: str | Path | None) -> ParsedFlowshop:
    """An instance of OR-Library: the line with its name, text, numbers, and perhaps more text."""
    begin = _titles(lines)
    body = lines[begin:]
    end = next((index for index, (_, line) in enumerate(body) if _RULE.fullmatch(line)), len(body))
    if not begin:
        raise ProblemError(f"{lines[0][1].strip()} has no numbers", path, lines[0][0])
    return _vrf(body[:end], path)


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
                _refuse_job_shop(numbers, machines, machine)
                raise ProblemError(
                    f"job {job} must give its times as pairs of machine and time, machines in order; "
                    f"got machine {named} for {machine}; a row of times for each machine follows the lines "
                    "'number of jobs, number of machines :', the two numbers, and 'processing times :'",
                    path,
                    numbers.line,
                )
            times[machine, job] = _time(numbers, job, machine)
    numbers.end(f"{jobs} jobs of {machines} machines")
    return ParsedFlowshop(times, line=lines[0][0])


def _refuse_job_shop(numbers: Numbers, machines: int, machine: int) -> None:
    """Raise :class:`ProblemError` if the machines of a job are in another order than 0, 1, ..."""
    begin = numbers.at - 1 - 2 * machine
    order = [word for word, _ in numbers.words[begin : begin + 2 * machines : 2]]
    if sorted(order) == sorted(map(str, range(machines))):
        shown = ", ".join(order[:6]) + (", ..." if machines > 6 else "")
        raise ProblemError(
            f"a job passes the machines in the order {shown}: the file is one of a job shop, {_NOT_HERE}",
            numbers.path,
            numbers.line,
        )


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
    """Whether a file that begins with ``head`` looks like a flowshop instance of any layout, or a job shop."""
    lines = [line for line in head.lstrip("\ufeff").splitlines() if line.strip()]
    if lines and lines[0].strip().lower() in _OTHER_RULES:
        return False
    titles = next((index for index, line in enumerate(lines) if _SIZE.fullmatch(line.split()[0])), len(lines))
    for line, following in itertools.pairwise([*lines[: titles + 1], ""]):
        if _HEADER.search(line) or (_INSTANCE.fullmatch(line) and _RULE.fullmatch(following)):
            return True
        if _JOB_SHOP.search(line) and "jobs" in line.lower():
            return True
    lines = lines[titles:]
    if not lines or titles > _MOST_TITLES:
        return False
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
        and (named == [str(i) for i in range(len(named))] or _is_job_shop(named, machines))
        and (not whole or len(second) == 2 * machines)
    )


def _is_job_shop(named: list[str], machines: int) -> bool:
    """Whether these are all machines, in another order."""
    return len(named) == machines and sorted(named) == sorted(map(str, range(machines)))


def write(
    path: str | Path,
    times: NDArray[np.int64],
    seed: int = 0,
    upper_bound: int | None = None,
    lower_bound: int | None = None,
) -> None:
    """Write one instance in Taillard's layout."""
    machines, jobs = times.shape
    rows = "\n".join(" ".join(str(value) for value in row) for row in times.tolist())
    text = (
        "number of jobs, number of machines, initial seed, upper bound and lower bound :\n"
        f"{jobs} {machines} {seed} {upper_bound or 0} {lower_bound or 0}\nprocessing times :\n{rows}\n"
    )
    write_text(path, text, "the flowshop file")


def generate_times(jobs: int, machines: int, time_seed: int) -> NDArray[np.int64]:
    """Taillard's times, 1 to 99, shape (machines, jobs): by machines, from the Lehmer generator 16807 mod 2^31 - 1."""
    values = np.fromiter(_lehmer(time_seed, jobs * machines), np.int64, jobs * machines)
    return (1 + values * 99 // (2**31 - 1)).reshape(machines, jobs)


def _lehmer(state: int, count: int) -> Iterator[int]:
    for _ in range(count):
        state = 16807 * state % (2**31 - 1)
        yield state
