"""Files of total weighted tardiness: the word ``tardiness`` with the number of jobs, or OR-Library's without either.

``tardiness``: the word and the number of jobs, then the times, the weights and the due dates of all jobs.

OR-Library (``wt40.txt``, ``wt50.txt``, ``wt100.txt``): 125 instances without sizes, each the times, weights and due
dates of all jobs. Three lines of as many numbers each are one instance.

References
----------
J. E. Beasley, "OR-Library: distributing test problems by electronic mail", Journal of the Operational Research Society
41 (1990) 1069-1072.
"""

import re
from pathlib import Path

from ..errors import ProblemError
from .source import lines_of, read_text
from .text import Numbers

_INSTANCES = 125
_LARGEST = 10_000
_NAME = re.compile(r"wt[0-9]+", re.IGNORECASE)
_WORD = "tardiness"


def read(path: str | Path) -> list[list[list[int]]]:
    """All instances of a file: the rows times, weights, due dates of each."""
    lines = list(enumerate(lines_of(read_text(path, "the file of a tardiness problem")), 1))
    numbers = Numbers.of(lines, path)
    if numbers.words and numbers.words[0][0].isdigit():
        return _without_sizes(lines, numbers, path)
    if not numbers.words or numbers.words[0][0].lower() != _WORD:
        raise ProblemError(f"a file of a tardiness problem begins with the word '{_WORD}'", path, 1)
    numbers.at = 1
    jobs = numbers.take("the number of jobs")
    if not 1 <= jobs <= _LARGEST:
        raise ProblemError(f"the number of jobs must be 1 to {_LARGEST}; got {jobs}", path, numbers.line)
    rows = numbers.matrix(3, jobs, "time, weight or due date")
    numbers.end(f"three rows of {jobs} numbers")
    return [rows]


def _without_sizes(lines: list[tuple[int, str]], numbers: Numbers, path: str | Path) -> list[list[list[int]]]:
    """The instances of a file of numbers alone."""
    widths = [len(line.split()) for _, line in lines if line.strip()]
    count = 1 if len(widths) == 3 and len(set(widths)) == 1 else _INSTANCES
    jobs, rest = divmod(numbers.left, 3 * count)
    if rest or not jobs:
        raise ProblemError(
            f"the file has {numbers.left} numbers; without the word '{_WORD}' and a size they must be {_INSTANCES} "
            "instances of three rows of as many numbers, or one of three lines",
            path,
            1,
        )
    return [numbers.matrix(3, jobs, "time, weight or due date") for _ in range(count)]


def recognize(path: Path, head: str) -> bool:
    """Whether a file begins with the word and a number, or has one of OR-Library's names and begins with numbers."""
    words = head.split()
    if len(words) >= 2 and words[0].lower() == _WORD and words[1].isdigit():
        return True
    return _NAME.fullmatch(path.stem) is not None and bool(words) and all(word.isdigit() for word in words)
