"""What the readers of plain-text instances share: whole numbers, with the line of each for messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProblemError
from .source import require_memory

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}(\.0*)?")
_DIGITS = re.compile(r"[+-]?[0-9]+")
_MEMORY_PER_BYTE = 70
"""Bytes that :class:`Numbers` may take for one byte of text: a word of one digit and a space is two objects."""


@dataclass
class Numbers:
    """The words of some lines, taken one after another as whole numbers; ``path`` and lines are for messages."""

    words: list[tuple[str, int]]
    path: str | Path | None = None
    at: int = 0

    @classmethod
    def of(cls, lines: Iterable[tuple[int, str]], path: str | Path | None = None) -> Numbers:
        lines = list(lines)
        require_memory(_MEMORY_PER_BYTE * sum(len(line) for _, line in lines), "reading the file", path)
        return cls([(word, number) for number, line in lines for word in line.split()], path)

    @property
    def left(self) -> int:
        """How many words have not been taken."""
        return len(self.words) - self.at

    @property
    def line(self) -> int | None:
        """Line of the word taken last."""
        return self.words[min(self.at, len(self.words)) - 1][1] if self.words and self.at else None

    def take(self, what: str) -> int:
        """The next word as a whole number; :class:`ProblemError` if there is none, or it is something else."""
        if not self.left:
            last = self.words[-1][1] if self.words else None
            raise ProblemError(f"the file ends where {what} should follow", self.path, last)
        word, line = self.words[self.at]
        if not _INTEGER.fullmatch(word):
            rule = "must have at most 18 digits" if _DIGITS.fullmatch(word) else "must be an integer"
            raise ProblemError(f"{what} {rule}; got '{word[:40]}'", self.path, line)
        self.at += 1
        return int(word.partition(".")[0])

    def matrix(self, rows: int, columns: int, what: str) -> list[list[int]]:
        """The next ``rows * columns`` words, row by row."""
        taken = [word for word, _ in self.words[self.at : self.at + rows * columns]]
        if len(taken) < rows * columns or not all(map(_INTEGER.fullmatch, taken)):
            return [[self.take(f"{what} ({row}, {column})") for column in range(columns)] for row in range(rows)]
        self.at += len(taken)
        values = [int(word.partition(".")[0]) for word in taken]
        return [values[row * columns : (row + 1) * columns] for row in range(rows)]

    def skip(self, count: int, what: str) -> None:
        """Pass over words, whatever they are."""
        if self.left < count:
            last = self.words[-1][1] if self.words else None
            raise ProblemError(f"the file ends within {what}", self.path, last)
        self.at += count

    def end(self, what: str) -> None:
        """:class:`ProblemError` if there are words left after ``what``."""
        if self.left:
            word, line = self.words[self.at]
            raise ProblemError(f"there is more than {what}: '{word[:40]}'", self.path, line)
