"""Linear ordering files of LOLIB: lines of text, which may be missing, then the size and one square matrix.

References
----------
R. Marti, G. Reinelt, A. Duarte, "A benchmark library and a comparison of heuristic methods for the linear ordering
problem", Computational Optimization and Applications 51 (2012) 1297-1317.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from .source import lines_of, read_text, write_text
from .text import Numbers

_LARGEST = 1000
_SIZE = re.compile(r"[0-9]{1,9}")
_NUMBERS = re.compile(r"\s*[+-]?[0-9]+(?:\s+[+-]?[0-9]+)*\s*")
_HEAD_BYTES = 4096
_COLUMNS_OF_ITEMS = 3


def read(path: str | Path) -> NDArray[np.int64]:
    """The matrix of a file, shape (n, n)."""
    return parse(read_text(path, "the LOLIB file"), path)


def parse(text: str, path: str | Path | None = None) -> NDArray[np.int64]:
    """:func:`read` of a file's text; ``path`` is only for messages."""
    lines = lines_of(text)
    begin = _begin(lines)
    first = next((line.strip() for line in lines[begin:] if line.strip()), "0")
    if begin and not _SIZE.fullmatch(first):  # without a line: it may be any text
        raise ProblemError("the lines of text must be followed by the size alone on a line", path)
    numbers = Numbers.of(enumerate(lines[begin:], begin + 1), path)
    n = numbers.take("the size")
    if not 1 <= n <= _LARGEST:
        raise ProblemError(f"the size must be 1 to {_LARGEST}; got {n}", path, numbers.line)
    matrix = np.array(numbers.matrix(n, n, "entry"), np.int64)
    numbers.end(f"one {n} x {n} matrix")
    if len(text) > _HEAD_BYTES and np.array_equal(matrix, matrix.T):  # more than is seen when it is recognised
        raise ProblemError("the matrix is symmetric: all orders have the same value", path, begin + 1)
    return matrix


def recognize(path: Path, head: str) -> bool:
    """Whether lines of text, if any, are followed by the size alone on a line, and whole numbers of one matrix.

    Short files must have as many numbers as the matrix has. Long ones must not be ``.dat`` files, which are QAPLIB's,
    and lines must have more numbers than an item of a knapsack. The matrix must not be symmetric: all orders would
    have the same value, so it is another problem.
    """
    entries = _entries(path, head)
    return entries is not None and not _is_symmetric(entries, path)


def recognize_symmetric(path: Path, head: str) -> bool:
    """Whether the size is followed by a symmetric matrix; a ``.mat`` file of which too little is seen counts as one."""
    entries = _entries(path, head)
    return entries is not None and _is_symmetric(entries, path)


def _entries(path: Path, head: str) -> list[int] | None:
    """The size and the entries that are seen, if these are the size of a matrix alone on a line and its entries."""
    lines = head.splitlines()
    rows = [line.split() for line in lines[_begin(lines) :] if line.strip()]
    whole = len(head.encode("utf-8", errors="replace")) < _HEAD_BYTES
    if not whole:
        last = rows.pop() if rows else []
        rows += [last[:-1]] if len(rows) == 1 else []  # a row that is longer than the head
    if len(rows) < 2 or len(rows[0]) != 1 or not _SIZE.fullmatch(rows[0][0]):
        return None
    if not all(_NUMBERS.fullmatch(" ".join(row)) for row in rows):
        return None
    entries = [int(word) for row in rows for word in row]
    if entries[0] < 1:
        return None
    if whole:
        return entries if len(entries) == 1 + entries[0] ** 2 else None
    return entries if path.suffix.lower() != ".dat" and max(map(len, rows)) > _COLUMNS_OF_ITEMS else None


def _is_symmetric(entries: list[int], path: Path) -> bool:
    """Whether no entry that is seen differs from its mirror, and one that is not 0 equals it."""
    n, seen = entries[0], entries[1:]
    mirrored = False
    for at in range(n, len(seen)):
        i, j = divmod(at, n)
        if j < i:
            if seen[at] != seen[j * n + i]:
                return False
            mirrored = mirrored or seen[at] != 0
    return n > 1 and (mirrored or len(seen) == n * n or path.suffix.lower() == ".mat")


def write(path: str | Path, matrix: NDArray[np.int64]) -> None:
    """Write a file with a matrix of shape (n, n)."""
    rows = (" ".join(map(str, row)) for row in matrix.tolist())
    write_text(path, "\n".join([str(len(matrix)), *rows, ""]), "the LOLIB file")


def _begin(lines: Sequence[str]) -> int:
    """The first line that is not text: which is empty, or has numbers alone."""
    return next((at for at, line in enumerate(lines) if not line.strip() or _NUMBERS.fullmatch(line)), len(lines))
