"""What the readers of problems over bit strings share: the content of a file, and its lines with their numbers."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import ProblemError
from ..source import lines_of

INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
DIGITS = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LARGE = re.compile(r"[+-]?[0-9]{1,40}")
_MOST_GENES = 1 << 20
_LARGEST_SUM = 2**41

Terms = list[tuple[int, int, float]]


@dataclass(frozen=True)
class Parsed:
    format: str
    n: int
    # cnf, wcnf: 1-based literals, negative for negated, and the weight of each clause, None for a hard one
    clauses: list[list[int]] = field(default_factory=list)
    weights: list[int | None] = field(default_factory=list)
    # ising, maxcut, qubo: 0-based pairs with coupling, weight or entry; an entry off the diagonal stands for two
    terms: Terms = field(default_factory=list)
    maximize: bool = False  # qubo: whether the largest value is sought
    offset: float = 0.0  # qubo: added to every value
    tables: list[list[float]] = field(default_factory=list)  # nk
    neighbours: int = 0  # nk: k
    step: int = 0  # nk: the distance of neighbouring tables
    wraps: bool = False  # nk: whether the first genes follow the last ones; otherwise tables end at the last gene
    optimum: float | None = None  # as the file states it: the maximum of nk, the least energy of ising
    best: str = ""  # nk: a string of the stated maximum
    words: dict[str, str] = field(default_factory=dict)  # boa: "fitness" and the fields after the name
    code: str = ""  # boa snippet: the C code
    instances: int = 1  # that the file holds


class Lines:
    """The lines of a file that hold something, with their numbers, and errors that name them."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._rows = ((number, line.split()) for number, line in enumerate(lines_of(text), 1) if line.strip())
        self.line = 0

    def __iter__(self) -> Iterator[list[str]]:
        for number, row in self._rows:
            self.line = number
            yield row

    def next(self, what: str) -> list[str]:
        """The next line, which should hold ``what``."""
        for row in self:
            return row
        raise ProblemError(f"the file ends before {what}", self.path)

    def behind_comments(self, what: str, comments: list[tuple[int, str]] | None = None) -> list[str]:
        """The first line, which should hold ``what``, behind those that begin with ``#`` or are ``c ...``."""
        row = self.next(what)
        while row[0] == "c" or row[0][0] == "#":
            if comments is not None:
                comments.append((self.line, " ".join(row)))
            row = self.next(what)
        return row

    def error(self, message: str, line: int | None = None) -> ProblemError:
        return ProblemError(message, self.path, self.line if line is None else line)

    def whole(self, word: str, what: str) -> int:
        """A word as a whole number of at most 18 digits."""
        if not INTEGER.fullmatch(word):
            raise self.error(f"{what} must be a whole number; got {word[:40]!r}")
        return int(word)

    def large(self, word: str, what: str) -> int:
        if not _LARGE.fullmatch(word):
            raise self.error(f"{what} must be a whole number; got {word[:40]!r}")
        return int(word)

    def number(self, word: str, what: str, line: int | None = None) -> float:
        if not NUMBER.fullmatch(word) or not math.isfinite(float(word)):
            raise self.error(f"{what} must be a finite number; got {word[:40]!r}", line)
        return float(word)

    def genes(self, n: int, what: str) -> int:
        """``n``, if so many genes can be handled."""
        if not 1 <= n <= _MOST_GENES:
            raise self.error(f"{what} must be from 1 to {_MOST_GENES}; got {n}")
        return n


def check_sum(lines: Lines, weights: Iterable[float], numbers: Iterable[int]) -> None:
    """Refuse weights that are too large in sum to be whole numbers of 64 bits."""
    total = 0.0
    for weight, line in zip(weights, numbers, strict=True):
        total += abs(weight)
        if total >= _LARGEST_SUM:
            raise lines.error(f"the weights must stay below 2^41 in sum; they come to {total:g} here", line)
