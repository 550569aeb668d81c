"""Files of multiple-choice knapsacks, and of OR-Library's multidimensional knapsacks.

Multiple choice: the word ``mckp``, the number of items and the capacity, then a line "class profit weight" for each
item; classes count from 0.

``mknap`` (OR-Library): the number of instances, then for each: "n m optimum" (0 if unknown), n profits, m rows of n
weights, and m capacities, in any division into lines. Its numbers may be written with decimals if they are whole.

References
----------
J. E. Beasley, "OR-Library: distributing test problems by electronic mail", Journal of the Operational Research Society
41 (1990) 1069-1072.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import ProblemError
from ..instances import require_instance
from ..source import lines_of, read_text, write_text
from ..text import Numbers

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(\.0*)?")
Arrays = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]


@dataclass(frozen=True)
class ParsedKnap:
    """One instance of an ``mknap`` file, and how many instances the file holds."""

    profits: NDArray[np.int64]
    weights: NDArray[np.int64]
    capacities: list[int]
    optimum: int | None
    instances: int


def is_multiple_choice(head: str) -> bool:
    """Whether a file begins as one of multiple-choice knapsacks."""
    return head.split(maxsplit=1)[:1] == ["mckp"]


def is_mknap(head: str) -> bool:
    """Whether a file begins as ``mknap``: a number of instances, then n > 1, m >= 1 and an optimum alone on a line."""
    lines = [line.split() for line in head.splitlines() if line.strip()][:2]
    if [len(line) for line in lines] != [1, 3] or not all(_WHOLE.fullmatch(word) for line in lines for word in line):
        return False
    n, m, optimum = (int(word.partition(".")[0]) for word in lines[1])
    return int(lines[0][0].partition(".")[0]) >= 1 and n > 1 and m >= 1 and optimum >= 0


def read_multiple_choice(path: str | Path, instance: int = 1) -> Arrays:
    """Profits, weights, classes and the capacity of a file."""
    numbers = _numbers(path)
    if not numbers.words or numbers.words[0][0] != "mckp":
        raise ProblemError("a multiple-choice knapsack begins with the word mckp", path, 1)
    require_instance(instance, 1, path)
    numbers.at = 1
    n, capacity = _size(numbers, "items"), numbers.take("the capacity")
    table = np.array(numbers.matrix(n, 3, "class, profit or weight"), np.int64).reshape(-1, 3)
    numbers.end(f"{n} items")
    return table[:, 1], table[:, 2], table[:, 0], capacity


def write_multiple_choice(
    path: Path, profits: NDArray[np.int64], weights: NDArray[np.int64], classes: NDArray[np.int64], capacity: int
) -> None:
    """Write one instance; the file appears whole or not at all."""
    lines = [f"mckp {len(profits)} {capacity}"]
    lines += [f"{c} {p} {w}" for c, p, w in zip(classes.tolist(), profits.tolist(), weights.tolist(), strict=True)]
    write_text(path, "\n".join(lines) + "\n", "the knapsack file")


def read_mknap(path: str | Path, instance: int = 1) -> ParsedKnap:
    """One instance of an ``mknap`` file."""
    numbers = _numbers(path)
    count = numbers.take("the number of instances")
    require_instance(instance, count, path)
    for number in range(1, instance + 1):
        n, m = _size(numbers, "items"), _size(numbers, "constraints")
        optimum = numbers.take(f"the optimum of instance {number}")
        if number < instance:  # no array is made of it
            numbers.skip(n + n * m + m, f"instance {number}")
    if m > numbers.left:  # before a row is made for each, which without items takes no words
        numbers.skip(m, f"instance {instance}")
    (profits,) = numbers.matrix(1, n, "profit")
    weights = np.array(numbers.matrix(m, n, "weight"), np.int64).reshape(m, n)
    (capacities,) = numbers.matrix(1, m, "capacity")
    if instance == count:
        numbers.end("the instances")
    return ParsedKnap(np.array(profits, np.int64), weights, capacities, optimum if optimum > 0 else None, count)


def write_mknap(
    path: Path, profits: NDArray[np.int64], weights: NDArray[np.int64], capacities: tuple[int, ...], optimum: int = 0
) -> None:
    """Write a file of one instance; it appears whole or not at all."""
    rows = [profits, *weights, np.array(capacities)]
    lines = ["1", f"{len(profits)} {len(capacities)} {optimum}"]
    lines += [" ".join(map(str, row.tolist())) for row in rows]
    write_text(path, "\n".join(lines) + "\n", "the knapsack file")


def _numbers(path: str | Path) -> Numbers:
    return Numbers.of(enumerate(lines_of(read_text(path, "the knapsack file")), 1), path)


def _size(numbers: Numbers, what: str) -> int:
    size = numbers.take(f"the number of {what}")
    if size < 0:
        raise ProblemError(f"the number of {what} must be at least 0; got {size}", numbers.path, numbers.line)
    return size
