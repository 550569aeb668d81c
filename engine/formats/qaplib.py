"""Quadratic assignment files of QAPLIB: the size, then two square matrices.

A second number on the first line, as the best known value, is passed over.

References
----------
R. E. Burkard, S. E. Karisch, F. Rendl, "QAPLIB - a quadratic assignment problem library", Journal of Global
Optimization 10 (1997) 391-403.
"""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from .source import lines_of, read_text, write_text
from .text import Numbers

_LARGEST = 1000
_SIZE = re.compile(r"[0-9]{1,9}")
_HEAD_BYTES = 4096
_COLUMNS_OF_ITEMS = 3


def read(path: str | Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The matrices A and B, both of shape (n, n), of a ``.dat`` file."""
    return parse(read_text(path, "the QAPLIB file"), path)


def parse(text: str, path: str | Path | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """:func:`read` of a file's text; ``path`` is only for messages."""
    numbers = Numbers.of(enumerate(lines_of(text), 1), path)
    n = numbers.take("the size")
    if not 1 <= n <= _LARGEST:
        raise ProblemError(f"the size must be 1 to {_LARGEST}; got {n}", path, numbers.line)
    if numbers.left == 1 + 2 * n * n and numbers.words[0][1] == numbers.words[1][1]:
        numbers.take("the best known value")
    first, second = (np.array(numbers.matrix(n, n, f"entry of matrix {name}"), np.int64) for name in "AB")
    numbers.end(f"two {n} x {n} matrices")
    return first, second


def recognize(path: Path, head: str) -> bool:
    """Whether a ``.dat`` file begins with its size, alone or with another number, and whole numbers of two matrices.

    A list of items, as of a knapsack, may begin so too: short files must have as many numbers as two matrices have, and
    lines of longer ones more than an item. Short files may have any name.
    """
    rows = [line.split() for line in head.splitlines() if line.strip()]
    if len(rows) < 2 or len(rows[0]) > 2 or not all(map(_SIZE.fullmatch, rows[0])):
        return False
    if not all(word.lstrip("-").isdigit() for word in rows[1]):
        return False
    n = int(rows[0][0])
    if len(head.encode("utf-8", errors="replace")) < _HEAD_BYTES:
        named = path.suffix.lower() == ".dat" or (n > _COLUMNS_OF_ITEMS and len(rows[1]) == n)
        return named and sum(map(len, rows[1:])) == 2 * n * n
    return path.suffix.lower() == ".dat" and max(map(len, rows)) > _COLUMNS_OF_ITEMS


def write(path: str | Path, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
    """Write a file with the matrices A and B, both of shape (n, n)."""
    parts = ("\n".join(" ".join(map(str, row)) for row in matrix.tolist()) for matrix in (first, second))
    write_text(path, "\n\n".join([str(len(first)), *parts, ""]), "the QAPLIB file")
