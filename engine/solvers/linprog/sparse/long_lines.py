"""Long rows and columns of a sparse matrix in chunks, so that many groups of a device add up one of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]

LONG = 1024  # entries of a line from which on a group adds it up; fewer are left to a work-item
_LONG_FORMED = 512  # entries of a row of A from which on several groups form its row of A D A^T
_CHUNK = 128  # entries that one of them takes, or more
_NO_LINE = (1 << 31) - 1


def longest_line(simt: bool) -> int:
    """Entries up to which a line is left to a work-item; on devices of few work-items there is no limit."""
    return LONG if simt else _NO_LINE


def long_lines(starts: NDArray[np.integer], simt: bool) -> NDArray[np.int32]:
    """Which lines of a compressed matrix have more entries than :func:`longest_line`."""
    return np.flatnonzero(np.diff(starts) > longest_line(simt)).astype(np.int32)


@dataclass(frozen=True)
class Chunks:
    """Chunks of the entries of long rows."""

    longest: int  # entries up to which a row is in no chunk
    rows: Index  # (rows,): the long rows
    first: Index  # (rows + 1,): first chunk of each of them
    row: Index  # (chunks,): row of each chunk, its first entry and the one after its last, and where its sums begin
    begin: Index
    end: Index
    at: Index
    size: int  # sums of all chunks


def chunks_of(starts: NDArray[np.integer], sums: Index, most: int, simt: bool) -> Chunks:
    """The chunks of a matrix in compressed rows."""
    lengths = np.diff(starts).astype(np.int64)
    rows = np.flatnonzero(lengths > _LONG_FORMED) if simt else np.zeros(0, np.int64)
    longest, length = int(lengths.max(initial=0)), _CHUNK
    while int((-(-lengths[rows] // length) * sums[rows]).sum()) > most:
        if length >= longest:
            rows = rows[:0]
        length *= 2
    count = -(-lengths[rows] // length)
    first = np.concatenate([[0], np.cumsum(count)])
    row = np.repeat(rows, count)
    begin = starts[row] + length * (np.arange(row.size) - np.repeat(first[:-1], count))
    end = np.minimum(begin + length, starts[row + 1])
    ends = np.cumsum(sums[row])
    size = int(ends[-1]) if row.size else 0
    return Chunks(_LONG_FORMED if rows.size else _NO_LINE, rows, first, row, begin, end, ends - sums[row], size)
