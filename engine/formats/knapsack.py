"""The text formats of the 0/1 knapsack problem: one reader that tells them apart, one writer for all of them.

================= ==================================================== ==========================================
name              layout                                               used by
================= ==================================================== ==========================================
``jooken``        n, then n lines "id profit weight", then capacity    Jooken et al. (2022); Pisinger's generators
``kplib``         n, capacity, a blank line, n lines "profit weight"   kplib, Pisinger's classes 00 to 12
``unicauca``      "n capacity", then n lines "profit weight"           the low- and large-scale sets of Unicauca
``capacity-last`` n, then n lines "profit weight", then capacity       copies of the Unicauca sets
``pisinger-csv``  blocks of "n N", "c C", "z Z", "time T" and n lines  Pisinger (2005), the ``knapPI`` files
                  "id,profit,weight,x", each ended by "-----"
================= ==================================================== ==========================================

Every value is a decimal integer that fits 64 bits. Ids count up by one from 0 or from 1, so an item's position in the
file is its index. Blank lines, spaces at the end of a line, Windows line ends, a byte-order mark and lines starting
with ``#`` before the first number are all allowed. Of a ``pisinger-csv`` file the first block is read. A ``unicauca``
file may end with one line of n zeros and ones (a solution, as the large-scale set has); it is not used.

References
----------
D. Pisinger, "Where are the hard knapsack problems?", Computers & Operations Research 32 (2005) 2271-2284.
J. Jooken, P. Leyman, P. De Causmaecker, "A new class of hard problem instances for the 0-1 knapsack problem",
European Journal of Operational Research 301 (2022) 841-854.
"""

from __future__ import annotations

import itertools
import operator
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.errors import ProblemError, nearest

__all__ = ["FORMATS", "ParsedKnapsack", "parse", "read", "recognize", "write"]

HEAD_BYTES = 4096
"""How much of a file :func:`recognize` is shown; a shorter head is a whole file."""

_INT64_MAX = 2**63 - 1
_CSV = "pisinger-csv"
_CSV_KEYS = ("n", "c", "z", "time")
_CSV_COLUMNS = ("id", "profit", "weight", "x")
_SPACES = b"\t\n\v\f "
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_CSV_ITEM = re.compile(r"\+?0*[01](?: *, *[+-]?[0-9]{1,19}){2} *, *[01]")
_CSV_ROW = re.compile(rb"[^,\s]+(?:[ \t]*,[ \t]*[^,\s]+){3}")
_CSV_END = re.compile(rb"-{3,}")


@dataclass(frozen=True)
class _Layout:
    """Where the numbers of a format stand: lines before the items, columns of an item, lines after them."""

    name: str
    header: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    footer: tuple[tuple[str, ...], ...] = ()


_N, _CAPACITY = "number of items", "capacity"
_LAYOUTS = {
    layout.name: layout
    for layout in (
        _Layout("jooken", ((_N,),), ("id", "profit", "weight"), ((_CAPACITY,),)),
        _Layout("kplib", ((_N,), (_CAPACITY,)), ("profit", "weight")),
        _Layout("unicauca", ((_N, _CAPACITY),), ("profit", "weight")),
        _Layout("capacity-last", ((_N,),), ("profit", "weight"), ((_CAPACITY,),)),
    )
}

FORMATS: tuple[str, ...] = (*_LAYOUTS, _CSV)
"""Names of the formats, as :func:`read` reports them and :func:`write` takes them."""


@dataclass(frozen=True, eq=False)
class ParsedKnapsack:
    """What a knapsack file says, before the rules of the problem are checked.

    Attributes
    ----------
    profits, weights : ndarray of int64, shape (n,)
        One entry per item, in the file's order; read-only. Signs are as in the file.
    capacity : int
        Capacity of the knapsack, in the unit of the weights.
    format : str
        Which of :data:`FORMATS` the file is in. With no items, ``jooken``, ``kplib`` and ``capacity-last`` are the same
        text, and it is called ``jooken``.
    optimum : int or None
        Optimal profit stated by the file, when it states one that is positive.
    lines : ndarray of int64, shape (n,)
        1-based line of each item, for messages.
    capacity_line : int
        1-based line of the capacity.
    """

    profits: NDArray[np.int64]
    weights: NDArray[np.int64]
    capacity: int
    format: str
    optimum: int | None
    lines: NDArray[np.int64]
    capacity_line: int


def read(path: str | Path) -> ParsedKnapsack:
    """Read a knapsack file of any of the known formats.

    Parameters
    ----------
    path : path-like
        The file; its name plays no part in telling the format.

    Returns
    -------
    ParsedKnapsack
        The numbers, and the name of the format they came in.

    Raises
    ------
    ProblemError
        If there is no such file, it is not text, or it breaks its format; the message has the path and the line.
    """
    try:
        data = Path(path).read_bytes()
    except IsADirectoryError as error:
        raise ProblemError("a knapsack instance is a file; this is a directory", path) from error
    except OSError as error:
        raise ProblemError(f"the knapsack file cannot be read: {error.strerror or error}", path) from error
    except ValueError as error:
        raise ProblemError(f"the knapsack file cannot be read: {error}", repr(str(path))) from error
    return parse(data, path)


def parse(data: bytes, path: str | Path | None = None) -> ParsedKnapsack:
    """Parse the content of a knapsack file; ``path`` is only for messages.

    Raises
    ------
    ProblemError
        If the content is not text or breaks its format.
    """
    text, first_line = _text(data, path)
    head = list(itertools.islice(_rows(text, first_line), 2))
    if not head:
        raise ProblemError("the file is empty; a knapsack instance begins with its number of items", path, 1)
    if len(head) == 2 and head[1].content.split()[0] == b"n":
        return _parse_csv(text, first_line, path)
    words = _Words(text, first_line, path)
    return _parse_table(words, _sniff(words))


def recognize(head: str) -> str | None:
    """Name of the format a file seems to be in, from its beginning.

    Parameters
    ----------
    head : str
        The first 4096 bytes of the file, decoded; a longer file may be cut in the middle of a line.

    Returns
    -------
    str or None
        One of :data:`FORMATS`, or ``None`` if this is no knapsack instance. Two-column files shorter than the head must
        be complete, because any list of pairs looks like one otherwise; the others may still hold mistakes that
        :func:`read` explains.
    """
    whole = len(head.encode("utf-8", errors="replace")) < HEAD_BYTES
    lines = re.split(r"\r\n|\r|\n", head.removeprefix("\ufeff"))
    if not whole:
        lines.pop()
    lines = [line.strip() for line in lines]
    start = next((i for i, line in enumerate(lines) if line and not line.startswith("#")), len(lines))
    lines = [line for line in lines[start:] if line]
    if len(lines) >= 2 and lines[1].split()[0] == "n":
        return _CSV if _is_csv_head(lines) else None
    rows = [line.split() for line in lines]
    if not all(_INTEGER.fullmatch(word) for row in rows for word in row):
        return None
    return _recognize_table([[int(word) for word in row] for row in rows], whole)


def write(
    path: str | Path,
    profits: ArrayLike,
    weights: ArrayLike,
    capacity: int,
    format: str = "jooken",
    *,
    optimum: int | None = None,
) -> None:
    """Write an instance; the file appears whole or not at all.

    Parameters
    ----------
    path : path-like
        The file to make or replace.
    profits, weights : array-like of int, shape (n,)
        One entry per item.
    capacity : int
        Capacity, in the unit of the weights.
    format : str
        One of :data:`FORMATS`.
    optimum : int, optional
        Optimal profit, for the ``z`` line of ``pisinger-csv``; the other formats have no place for it.

    Raises
    ------
    ProblemError
        If the format is unknown, the arrays are not integers of one length, or the file cannot be written.
    """
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise ProblemError(f"unknown knapsack format '{format}'{nearest(format, FORMATS)} (known: {known})", path)
    columns = [np.asarray(profits), np.asarray(weights)]
    if any(c.ndim != 1 or (c.size and c.dtype.kind not in "iu") for c in columns) or columns[0].size != columns[1].size:
        shapes = " and ".join(f"{c.dtype} {c.shape}" for c in columns)
        raise ProblemError(f"profits and weights must be integer arrays of one length; got {shapes}", path)
    values = [c.tolist() for c in columns]
    lines = _written(Path(path).stem, values[0], values[1], operator.index(capacity), format, optimum or 0)
    _write_whole(Path(path), "\n".join(lines) + "\n")


class _Row(NamedTuple):
    """A line that is not blank: its number, and its content without the spaces around it."""

    line: int
    content: bytes


class _Words:
    """The words of a text, with the line of each; nothing is converted until :meth:`integers` is asked."""

    def __init__(self, text: bytes, first_line: int, path: str | Path | None) -> None:
        self.text = text
        self.path = path
        raw = np.frombuffer(text, np.uint8)
        inside = ~np.isin(raw, np.frombuffer(_SPACES, np.uint8))
        edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
        self.starts, self.stops = edges[0::2], edges[1::2]
        breaks = np.flatnonzero(raw == ord("\n"))
        self.lines = np.searchsorted(breaks, self.starts) + first_line
        self.rows, self.row_starts, self.row_sizes = np.unique(self.lines, return_index=True, return_counts=True)
        self.faulty = self._first_faulty(raw, inside)

    def _first_faulty(self, raw: NDArray[np.uint8], inside: NDArray[np.bool_]) -> int:
        """Index of the first word that is not a 64-bit integer, or the number of words."""
        wrong = inside & ((raw < ord("0")) | (raw > ord("9")))
        first = raw[self.starts]
        signed = ((first == ord("-")) | (first == ord("+"))) & (self.stops - self.starts > 1)
        wrong[self.starts[signed]] = False
        position = int(np.argmax(wrong)) if wrong.any() else len(self.text)
        limit = int(np.searchsorted(self.starts, position, side="right")) - (position < len(self.text))
        wide = self.wide(limit)
        return next((int(k) for k in wide if not _fits(self.word(int(k)))), limit)

    def wide(self, count: int) -> NDArray[np.intp]:
        """Which of the first ``count`` words are long enough to need a second look for overflow."""
        return np.flatnonzero((self.stops - self.starts)[:count] > 18)

    def word(self, index: int) -> bytes:
        """The word itself."""
        return self.text[self.starts[index] : self.stops[index]]

    def row(self, index: int) -> bytes:
        """The words of one line that is not blank, from the first to the last."""
        first = int(self.row_starts[index])
        return self.text[self.starts[first] : self.stops[first + int(self.row_sizes[index]) - 1]]

    def integers(self, count: int) -> NDArray[np.int64]:
        """The first ``count`` words as numbers; all of them must be sound."""
        end = int(self.stops[count - 1]) if count else 0
        # NumPy takes an empty text for an error, and a word of more than 18 digits for whatever strtoll makes of it.
        values = np.fromstring(self.text[:end], dtype=np.int64, sep=" ") if count else np.empty(0, np.int64)
        for index in self.wide(count):
            values[index] = _integer(self.word(int(index)))
        return values

    def refuse(self, index: int, what: str) -> ProblemError:
        """The error for a word that is not a 64-bit integer."""
        return _refusal(self.word(index), what, self.path, int(self.lines[index]))

    def error(self, message: str, row: int) -> ProblemError:
        """An error about one line that is not blank."""
        return ProblemError(message, self.path, int(self.rows[row]))


def _text(data: bytes, path: str | Path | None) -> tuple[bytes, int]:
    """The text after its opening comments with plain line ends, and the number of its first line."""
    text = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        text.decode("utf-8")
        fault = text.find(b"\0")
    except UnicodeDecodeError as error:
        fault = error.start
    if fault >= 0:
        line = text.count(b"\n", 0, fault) + 1
        raise ProblemError(f"the file is not UTF-8 text; it holds the byte 0x{text[fault]:02x}", path, line)
    position, first_line = 0, 1
    while position < len(text):
        end = text.find(b"\n", position)
        end = end if end >= 0 else len(text)
        content = text[position:end].strip()
        if content and not content.startswith(b"#"):
            break
        position, first_line = end + 1, first_line + 1
    return text[position:], first_line


def _rows(text: bytes, first_line: int) -> Iterator[_Row]:
    """The lines that are not blank, one by one."""
    position = 0
    while position < len(text):
        end = text.find(b"\n", position)
        end = end if end >= 0 else len(text)
        content = text[position:end].strip()
        position = end + 1
        if content:
            yield _Row(first_line, content)
        first_line += 1


def _sniff(words: _Words) -> _Layout:
    """Which table this is, from the number of words on its first two lines."""
    sizes = words.row_sizes
    name = _table_name(sizes[:2].tolist())
    if name is not None:
        return _LAYOUTS[name]
    if sizes[0] > 2:
        shown = _shown(words.row(0))
        raise words.error(f"the first line must be the number of items, or 'n capacity'; got {shown}", 0)
    raise words.error(
        "the line after the number of items must be 'id profit weight', 'profit weight' or the capacity; "
        f"got {sizes[1]} words: {_shown(words.row(1))}",
        1,
    )


def _table_name(sizes: Sequence[int]) -> str | None:
    """Name of the table whose first two lines have so many words; a file of one line may be any of them."""
    if sizes[0] == 2:
        return "unicauca"
    if sizes[0] == 1:
        return {0: "jooken", 1: "kplib", 2: "capacity-last", 3: "jooken"}.get(sizes[1] if len(sizes) > 1 else 0)
    return None


def _parse_table(words: _Words, layout: _Layout) -> ParsedKnapsack:
    if words.faulty == 0:
        raise words.refuse(0, f"the {_N}")
    n = _integer(words.word(0))
    if n < 0:
        raise words.error(f"the {_N} must be at least 0; got {n}", 0)
    if n == 0 and layout.name == "kplib":
        layout = _LAYOUTS["jooken"]
    _check_rows(words, layout, n)
    if words.faulty < _word_count(layout, n):
        raise words.refuse(words.faulty, _meaning(layout, n, words.faulty))

    values = words.integers(_word_count(layout, n))
    before = sum(map(len, layout.header))
    items = values[before : before + n * len(layout.columns)].reshape(n, len(layout.columns))
    lines = words.rows[len(layout.header) : len(layout.header) + n]
    if "id" in layout.columns:
        _check_ids(items[:, 0], lines, words.path)
    # The capacity is the last number of the header, or the only one of the footer.
    place = before - 1 if not layout.footer else values.size - 1
    return ParsedKnapsack(
        profits=_readonly(items[:, layout.columns.index("profit")]),
        weights=_readonly(items[:, layout.columns.index("weight")]),
        capacity=int(values[place]),
        format=layout.name,
        optimum=None,
        lines=_readonly(lines),
        capacity_line=int(words.lines[place]),
    )


def _check_rows(words: _Words, layout: _Layout, n: int) -> None:
    """Every line has its number of words and no line is missing or left over, or the first fault is raised."""
    sizes, head = words.row_sizes, len(layout.header)
    expected = np.full(min(sizes.size, head + n + len(layout.footer)), len(layout.columns))
    expected[:head] = [len(row) for row in layout.header][: expected.size]
    expected[head + n :] = 1
    wrong = np.flatnonzero(sizes[: expected.size] != expected)
    if wrong.size:
        row = int(wrong[0])
    elif sizes.size > expected.size and not _is_solution(words, layout, n, expected.size):
        row = expected.size
    elif expected.size < head + n + len(layout.footer):
        row = sizes.size
    else:
        return
    last = int(words.row_starts[row]) if row < sizes.size else words.lines.size
    if words.faulty < last:
        raise words.refuse(words.faulty, _meaning(layout, n, words.faulty))
    if row == sizes.size == 1:
        raise words.error(f"the file ends after its first line (there should be {_items(n)})", 0)
    if row == sizes.size:
        missing = _row_meaning(layout, n, row)
        raise words.error(f"the file ends too early: {missing} is missing (there should be {_items(n)})", row - 1)
    shown = _shown(words.row(row))
    if row == expected.size:
        raise words.error(f"the instance of {_items(n)} has ended, but the file goes on: {shown}", row)
    raise words.error(f"{_row_meaning(layout, n, row)} must stand here (of {_items(n)}); got {shown}", row)


def _is_solution(words: _Words, layout: _Layout, n: int, row: int) -> bool:
    """Whether the rest is one line of n zeros and ones after a Unicauca table, too long to be another item."""
    if layout.name != "unicauca" or n <= 2 or words.row_sizes.size != row + 1 or words.row_sizes[row] != n:
        return False
    return set(words.row(row).split()) <= {b"0", b"1"}


def _word_count(layout: _Layout, n: int) -> int:
    return sum(map(len, layout.header + layout.footer)) + n * len(layout.columns)


def _meaning(layout: _Layout, n: int, index: int) -> str:
    """What the word of that index says in a sound file."""
    before = [what for row in layout.header for what in row]
    if index < len(before):
        return f"the {before[index]}"
    item, column = divmod(index - len(before), len(layout.columns))
    return f"the {layout.columns[column]} of item {item}" if item < n else f"the {_CAPACITY}"


def _row_meaning(layout: _Layout, n: int, row: int) -> str:
    """What the line of that index (blank ones not counted) says in a sound file."""
    item = row - len(layout.header)
    if item < 0:
        return f"the {layout.header[row][0]}"
    return f"item {item} '{' '.join(layout.columns)}'" if item < n else f"the {_CAPACITY}"


def _parse_csv(text: bytes, first_line: int, path: str | Path | None) -> ParsedKnapsack:
    """The first block of a ``knapPI`` file."""
    rows = _rows(text, first_line)
    header = list(itertools.islice(rows, 1 + len(_CSV_KEYS)))
    values = []
    for key, row in zip(_CSV_KEYS, header[1:], strict=False):
        found = row.content.split()
        if len(found) != 2 or found[0] != key.encode():
            raise ProblemError(f"'{key} <number>' must stand here; got {_shown(row.content)}", path, row.line)
        values.append(found[1])
    if len(values) < len(_CSV_KEYS):
        key = _CSV_KEYS[len(values)]
        raise ProblemError(f"the block ends too early: '{key} <number>' is missing", path, header[-1].line)

    names = (f"the {_N}", "the capacity", "the optimum z")
    for value, row, name in zip(values, header[1:], names, strict=False):
        if not _is_integer(value) or not _fits(value):
            raise _refusal(value, name, path, row.line)
    n, capacity, optimum = (_integer(value) for value in values[:3])
    if n < 0:
        raise ProblemError(f"the {_N} must be at least 0; got {n}", path, header[1].line)
    items, lines = _csv_items(rows, n, header[-1].line, path)
    return ParsedKnapsack(
        profits=_readonly(items[:, 1]),
        weights=_readonly(items[:, 2]),
        capacity=capacity,
        format=_CSV,
        optimum=optimum if optimum > 0 else None,
        lines=_readonly(lines),
        capacity_line=header[2].line,
    )


def _csv_items(
    rows: Iterator[_Row], n: int, header_line: int, path: str | Path | None
) -> tuple[NDArray[np.int64], list[int]]:
    """The items of the block whose header has just been read, shape (n, 4), and the line of each."""
    taken: list[_Row] = []
    for row in itertools.takewhile(lambda row: not _CSV_END.fullmatch(row.content), rows):
        if len(taken) == n:
            rule = f"the block of {_items(n)} has ended, so '-----' must stand here"
            raise ProblemError(f"{rule}; got {_shown(row.content)}", path, row.line)
        if not _CSV_ROW.fullmatch(row.content):
            rule = f"item {len(taken)} '{','.join(_CSV_COLUMNS)}' must stand here (of {_items(n)})"
            raise ProblemError(f"{rule}; got {_shown(row.content)}", path, row.line)
        taken.append(row)
    lines = [row.line for row in taken]
    if len(taken) < n:
        rule = f"the block ends too early: item {len(taken)} is missing (there should be {_items(n)})"
        raise ProblemError(rule, path, lines[-1] if lines else header_line)

    words = _Words(b"\n".join(row.content for row in taken).replace(b",", b" "), 1, path)
    if words.faulty < words.lines.size:
        item, column = divmod(words.faulty, len(_CSV_COLUMNS))
        raise _refusal(words.word(words.faulty), f"the {_CSV_COLUMNS[column]} of item {item}", path, lines[item])
    items = words.integers(words.lines.size).reshape(n, len(_CSV_COLUMNS))
    _check_ids(items[:, 0], lines, path)
    marks = np.flatnonzero((items[:, 3] != 0) & (items[:, 3] != 1))
    if marks.size:
        item = int(marks[0])
        raise ProblemError(f"the x of item {item} must be 0 or 1; got {items[item, 3]}", path, lines[item])
    return items, lines


def _check_ids(ids: NDArray[np.int64], lines: Sequence[int] | NDArray[np.int64], path: str | Path | None) -> None:
    """Ids count up by one from 0 or 1, so that an item's position is its index."""
    if not ids.size:
        return
    first = int(ids[0])
    if first not in (0, 1):
        raise ProblemError(f"the id of item 0 must be 0 or 1; got {first}", path, int(lines[0]))
    wrong = np.flatnonzero(ids != np.arange(first, first + ids.size))
    if wrong.size:
        item = int(wrong[0])
        rule = f"the id of item {item} must be {first + item} (ids count up by one from {first})"
        raise ProblemError(f"{rule}; got {ids[item]}", path, int(lines[item]))


def _recognize_table(rows: list[list[int]], whole: bool) -> str | None:
    """Name of the table these lines begin, if they do."""
    if len(rows) < 2:
        return None
    name, n = _table_name([len(row) for row in rows[:2]]), rows[0][0]
    if name is None or n < 0:
        return None
    if n == 0:
        return "jooken" if name == "kplib" and whole and len(rows) == 2 else None
    layout = _LAYOUTS[name]
    head = len(layout.header)
    items, after = rows[head : head + n], rows[head + n :]
    if not items or any(len(row) != len(layout.columns) for row in items):
        return None
    if any(len(row) != 1 for row in after[: len(layout.footer)]):
        return None
    if "id" in layout.columns:
        first = items[0][0]
        return name if first in (0, 1) and all(row[0] == first + i for i, row in enumerate(items)) else None
    if any(min(row) < 0 for row in rows):
        return None
    left_over = after[len(layout.footer) :]
    if left_over and not (name == "unicauca" and n > 2 and len(left_over) == 1 and set(left_over[0]) <= {0, 1}):
        return None
    complete = len(items) == n and len(after) >= len(layout.footer)
    return name if complete or not whole else None


def _is_csv_head(lines: list[str]) -> bool:
    """Whether these lines begin a ``knapPI`` block."""
    header = [line.split() for line in lines[1:5]]
    if len(lines) < 6 or [row[0] for row in header] != list(_CSV_KEYS) or any(len(row) != 2 for row in header):
        return False
    if not all(_INTEGER.fullmatch(row[1]) for row in header[:3]):
        return False
    return _CSV_ITEM.fullmatch(lines[5]) is not None


def _written(
    name: str, profits: list[int], weights: list[int], capacity: int, format: str, optimum: int
) -> Iterator[str]:
    """The lines of a file."""
    n = len(profits)
    if format == _CSV:
        # A name that could be taken for a comment or a number of items would not be read again.
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", name)
        yield name if name[:1].isalpha() else f"knapsack_{name}"
        yield from (f"n {n}", f"c {capacity}", f"z {optimum}", "time 0.00")
        yield from (f"{i},{p},{w},0" for i, (p, w) in enumerate(zip(profits, weights, strict=True), 1))
        yield "-----"
        return
    yield f"{n} {capacity}" if format == "unicauca" else f"{n}"
    if format == "kplib":
        yield from (f"{capacity}", "")
    if format == "jooken":
        yield from (f"{i} {p} {w}" for i, (p, w) in enumerate(zip(profits, weights, strict=True)))
    else:
        yield from (f"{p} {w}" for p, w in zip(profits, weights, strict=True))
    if format in ("jooken", "capacity-last"):
        yield f"{capacity}"


def _write_whole(path: Path, text: str) -> None:
    """Write to a temporary name in the same folder, then rename."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        try:
            with partial.open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise ProblemError(f"the knapsack file cannot be written: {error.strerror or error}", path) from error


def _is_integer(word: bytes) -> bool:
    return re.fullmatch(rb"[+-]?[0-9]+", word) is not None


def _fits(word: bytes) -> bool:
    """Whether the digits of a whole number fit a 64-bit signed integer; safe for words of any length."""
    digits = word.lstrip(b"+-").lstrip(b"0")
    return len(digits) <= 19 and -_INT64_MAX - 1 <= _integer(word) <= _INT64_MAX


def _integer(word: bytes) -> int:
    """The number; leading zeros are dropped first, as Python limits the length of what it converts."""
    return int(word.lstrip(b"+-").lstrip(b"0") or b"0") * (-1 if word.startswith(b"-") else 1)


def _refusal(word: bytes, what: str, path: str | Path | None, line: int) -> ProblemError:
    rule = "must fit a 64-bit signed integer" if _is_integer(word) else "must be an integer"
    return ProblemError(f"{what} {rule}; got {_shown(word)}", path, line)


def _shown(words: bytes) -> str:
    """Some of the file's own words, short enough for a message."""
    text = words.decode("utf-8", errors="replace").strip()
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _items(n: int) -> str:
    return "1 item" if n == 1 else f"{n} items"


def _readonly(values: ArrayLike) -> NDArray[np.int64]:
    copy = np.array(values, dtype=np.int64)
    copy.setflags(write=False)
    return copy
