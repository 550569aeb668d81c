"""The text formats of 0/1 and bounded knapsacks: one reader that detects the format, one writer for all of them.

================= ==================================================== ==========================================
name              layout                                               used by
================= ==================================================== ==========================================
``jooken``        n, then n lines "id profit weight", then capacity    Jooken et al. (2022); Pisinger's generators
``bounded``       the same with lines "id profit weight count"         bounded problems
``kplib``         n, capacity, a blank line, n lines "profit weight"   kplib, Pisinger's classes 00 to 12
``unicauca``      "n capacity", then n lines "profit weight"           the low- and large-scale sets of Unicauca
``capacity-last`` n, then n lines "profit weight", then capacity       copies of the Unicauca sets
``pisinger-csv``  blocks of "n N", "c C", "z Z", "time T" and n lines  Pisinger (2005), the ``knapPI`` files
                  "id,profit,weight,x", each ended by "-----"
``table``         titles, among them profit, weight and perhaps count, spreadsheets; read only, with a capacity beside
                  then a line an item; separated by , ; or tabs
================= ==================================================== ==========================================

Every value is a decimal integer that fits 64 bits, but profits of a ``table`` may have decimals. Ids count up by one
from 0 or from 1, so an item's position in the file is its index. Blank lines, spaces at the end of a line, Windows line
ends, a byte-order mark and lines starting with ``#`` before the first number are all allowed. A ``pisinger-csv`` file
may hold several instances, one block each. A ``unicauca`` file may end with one line of n zeros and ones (a solution,
as the large-scale set has); it is not used.

References
----------
D. Pisinger, "Where are the hard knapsack problems?", Computers & Operations Research 32 (2005) 2271-2284.
J. Jooken, P. Leyman, P. De Causmaecker, "A new class of hard problem instances for the 0-1 knapsack problem",
European Journal of Operational Research 301 (2022) 841-854.
"""

import itertools
import operator
import re
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ProblemError, nearest
from ..instances import require_instance
from ..source import read_bytes, write_text
from . import pisinger, table, titled
from .parsed import ParsedKnapsack
from .words import Words, plain_text, rows_of

__all__ = ["FORMATS", "ParsedKnapsack", "parse", "read", "recognize", "write"]

HEAD_BYTES = 4096
"""How much of a file :func:`recognize` is shown; a shorter head is a whole file."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")

FORMATS: tuple[str, ...] = (*table.NAMES, pisinger.NAME)
"""Names of the formats, as :func:`read` reports them and :func:`write` takes them."""


def read(path: str | Path, instance: int = 1, capacity: int | None = None) -> ParsedKnapsack:
    """Read a knapsack file of any of the known formats; a table of items needs a capacity, and only that takes one."""
    return parse(read_bytes(path, "the knapsack file"), path, instance, capacity)


def parse(
    data: bytes, path: str | Path | None = None, instance: int = 1, capacity: int | None = None
) -> ParsedKnapsack:
    """Parse the content of a knapsack file; ``path`` is only for messages."""
    if recognize(data[:HEAD_BYTES].decode(errors="replace")) == titled.NAME:
        return titled.parse(data.decode("utf-8-sig", "replace"), path, capacity)
    if capacity is not None:
        raise ProblemError("the file has a capacity of its own; capacity is for tables of items", path)
    text, first_line = plain_text(data, path)
    head = list(itertools.islice(rows_of(text, first_line), 2))
    if not head:
        raise ProblemError("the file is empty; a knapsack instance begins with its number of items", path, 1)
    if len(head) == 2 and head[1].content.split()[0] == b"n":
        return pisinger.parse(text, first_line, path, instance)
    require_instance(instance, 1, path)
    return table.parse(Words(text, first_line, path))


def recognize(head: str) -> str | None:
    """The name of one of :data:`FORMATS` that a file seems to be in, from its beginning; None if of none.

    Two-column files shorter than the head must be complete, because any list of pairs looks like one otherwise.
    """
    whole = len(head.encode("utf-8", errors="replace")) < HEAD_BYTES
    lines = re.split(r"\r\n|\r|\n", head.removeprefix("\ufeff"))
    if not whole:
        lines.pop()
    lines = [line.strip() for line in lines]
    start = next((i for i, line in enumerate(lines) if line and not line.startswith("#")), len(lines))
    lines = [line for line in lines[start:] if line]
    if lines and titled.titles(lines[0])[0]:
        return titled.NAME
    if len(lines) >= 2 and lines[1].split()[0] == "n":
        return pisinger.NAME if pisinger.recognize(lines) else None
    rows = [line.split() for line in lines]
    if not all(_INTEGER.fullmatch(word) for row in rows for word in row):
        return None
    return table.recognize([[int(word) for word in row] for row in rows], whole)


def write(
    path: str | Path,
    profits: ArrayLike,
    weights: ArrayLike,
    capacity: int,
    format: str = "jooken",
    *,
    optimum: int | None = None,
    counts: ArrayLike | None = None,
) -> None:
    """Write an instance; the file appears whole or not at all."""
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise ProblemError(f"unknown knapsack format '{format}'{nearest(format, FORMATS)} (known: {known})", path)
    if counts is not None and format != "bounded":
        raise ProblemError(f"the knapsack format '{format}' has no place for counts; 'bounded' has", path)
    columns = [np.asarray(values) for values in (profits, weights, *(() if counts is None else (counts,)))]
    if any(c.ndim != 1 or (c.size and c.dtype.kind not in "iu") for c in columns) or len({c.size for c in columns}) > 1:
        shapes = " and ".join(f"{c.dtype} {c.shape}" for c in columns)
        what = "profits and weights" if counts is None else "profits, weights and counts"
        raise ProblemError(f"{what} must be integer arrays of one length; got {shapes}", path)
    values = [c.tolist() for c in columns]
    items, limit = list(zip(*values[:2], strict=True)), operator.index(capacity)
    if format == pisinger.NAME:
        lines = pisinger.written(Path(path).stem, items, limit, optimum or 0)
    else:
        lines = table.written(format, items, limit, None if counts is None else values[2])
    write_text(path, "\n".join(lines) + "\n", "the knapsack file")
