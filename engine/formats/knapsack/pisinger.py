"""The format ``pisinger-csv``: blocks of a header and comma-separated items, as the ``knapPI`` files have them."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import ProblemError
from ..instances import require_instance
from .parsed import ParsedKnapsack, check_ids, items_text, readonly
from .words import Row, Words, excerpt, fits, integer, is_integer, refusal, rows_of

NAME = "pisinger-csv"

_KEYS = ("n", "c", "z", "time")
_COLUMNS = ("id", "profit", "weight", "x")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_ITEM = re.compile(r"\+?0*[01](?: *, *[+-]?[0-9]{1,19}){2} *, *[01]")
_ROW = re.compile(rb"[^,\s]+(?:[ \t]*,[ \t]*[^,\s]+){3}")
_END = re.compile(rb"-{3,}")
_CONTENT = re.compile(rb"\S")
_BLOCK_END = re.compile(rb"^[ \t]*-{3,}[ \t]*$", re.MULTILINE)


def parse(text: bytes, first_line: int, path: str | Path | None, instance: int = 1) -> ParsedKnapsack:
    """One block of a ``knapPI`` file, counted from 1."""
    starts = _starts(text)
    require_instance(instance, len(starts), path)
    first_line += text.count(b"\n", 0, starts[instance - 1])
    rows = rows_of(text[starts[instance - 1] :], first_line)
    header = list(itertools.islice(rows, 1 + len(_KEYS)))
    values = []
    for key, row in zip(_KEYS, header[1:], strict=False):
        found = row.content.split()
        if len(found) != 2 or found[0] != key.encode():
            raise ProblemError(f"'{key} <number>' must stand here; got {excerpt(row.content)}", path, row.line)
        values.append(found[1])
    if len(values) < len(_KEYS):
        key = _KEYS[len(values)]
        raise ProblemError(f"the block ends too early: '{key} <number>' is missing", path, header[-1].line)

    names = ("the number of items", "the capacity", "the optimum z")
    for value, row, name in zip(values, header[1:], names, strict=False):
        if not is_integer(value) or not fits(value):
            raise refusal(value, name, path, row.line)
    n, capacity, optimum = (integer(value) for value in values[:3])
    if n < 0:
        raise ProblemError(f"the number of items must be at least 0; got {n}", path, header[1].line)
    items, lines = _items(rows, n, header[-1].line, path)
    return ParsedKnapsack(
        profits=readonly(items[:, 1]),
        weights=readonly(items[:, 2]),
        capacity=capacity,
        format=NAME,
        optimum=optimum if optimum > 0 else None,
        lines=readonly(lines),
        capacity_line=header[2].line,
        instances=len(starts),
    )


def _starts(text: bytes) -> list[int]:
    """Where the blocks begin; at least one."""
    ends = [match.end() for match in _BLOCK_END.finditer(text)]
    return [0, *(end for end in ends if _CONTENT.search(text, end))]


def _items(
    rows: Iterator[Row], n: int, header_line: int, path: str | Path | None
) -> tuple[NDArray[np.int64], list[int]]:
    """The items of the block whose header has just been read, shape (n, 4), and the line of each."""
    taken: list[Row] = []
    for row in itertools.takewhile(lambda row: not _END.fullmatch(row.content), rows):
        if len(taken) == n:
            rule = f"the block of {items_text(n)} has ended, so '-----' must stand here"
            raise ProblemError(f"{rule}; got {excerpt(row.content)}", path, row.line)
        if not _ROW.fullmatch(row.content):
            rule = f"item {len(taken)} '{','.join(_COLUMNS)}' must stand here (of {items_text(n)})"
            raise ProblemError(f"{rule}; got {excerpt(row.content)}", path, row.line)
        taken.append(row)
    lines = [row.line for row in taken]
    if len(taken) < n:
        rule = f"the block ends too early: item {len(taken)} is missing (there should be {items_text(n)})"
        raise ProblemError(rule, path, lines[-1] if lines else header_line)

    words = Words(b"\n".join(row.content for row in taken).replace(b",", b" "), 1, path)
    if words.faulty < words.lines.size:
        item, column = divmod(words.faulty, len(_COLUMNS))
        raise refusal(words.word(words.faulty), f"the {_COLUMNS[column]} of item {item}", path, lines[item])
    items = words.integers(words.lines.size).reshape(n, len(_COLUMNS))
    check_ids(items[:, 0], lines, path)
    marks = np.flatnonzero((items[:, 3] != 0) & (items[:, 3] != 1))
    if marks.size:
        item = int(marks[0])
        raise ProblemError(f"the x of item {item} must be 0 or 1; got {items[item, 3]}", path, lines[item])
    return items, lines


def recognize(lines: list[str]) -> bool:
    """Whether these lines begin a ``knapPI`` block."""
    header = [line.split() for line in lines[1:5]]
    if len(lines) < 6 or [row[0] for row in header] != list(_KEYS) or any(len(row) != 2 for row in header):
        return False
    if not all(_INTEGER.fullmatch(row[1]) for row in header[:3]):
        return False
    return _ITEM.fullmatch(lines[5]) is not None


def written(name: str, items: list[tuple[int, int]], capacity: int, optimum: int) -> Iterator[str]:
    # A name that could be taken for a comment or a number of items would not be read again.
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", name)
    yield name if name[:1].isalpha() else f"knapsack_{name}"
    yield from (f"n {len(items)}", f"c {capacity}", f"z {optimum}", "time 0.00")
    yield from (f"{i},{profit},{weight},0" for i, (profit, weight) in enumerate(items, 1))
    yield "-----"
