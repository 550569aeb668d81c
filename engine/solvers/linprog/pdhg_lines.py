"""Rows and columns of a sparse matrix for work-groups: like much work for each, and long lines in pieces.

"Lines" are the rows of A, or its columns: PDHG keeps the matrix in both orders.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...devices import Buffer
from ...devices.kernels.program import Kernel
from ...numerics.memory import Memory

__all__ = ["Pieces", "line_groups", "pieces_bytes", "split_long_lines"]

Vector = NDArray[np.float64]

_GROUP_NONZEROS = 2048
_LONG = 8192  # nonzeros of a line that several groups add up


def pieces_bytes(nonzeros: int) -> int:
    """The most bytes that the pieces of long lines take beside the entries themselves, of both orders."""
    return 96 * nonzeros // _GROUP_NONZEROS


def line_groups(starts: NDArray[np.integer], block: int, groups: int) -> NDArray[np.int32]:
    """First line of each work-group: groups of like work, at most ``block`` lines where groups have many work-items.

    Parameters
    ----------
    starts : ndarray, shape (lines + 1,)
        First entry of each line.
    block : int
        Work-items a group.
    groups : int
        Groups where they have one work-item.
    """
    lines = starts.size - 1
    work = starts.astype(np.int64) + 4 * np.arange(starts.size)  # a line's vectors count too
    if block == 1:
        ends = np.searchsorted(work, np.linspace(0, work[-1], min(groups, max(1, lines)) + 1))
        first = np.unique(np.concatenate([[0], np.minimum(ends, lines), [lines]]))
        return first.astype(np.int32)
    begins = [0]
    while begins[-1] < lines:
        begin = begins[-1]
        end = int(np.searchsorted(starts, starts[begin] + _GROUP_NONZEROS, side="right")) - 1
        begins.append(min(max(end, begin + 1), begin + block, lines))
    return np.array(begins if lines else [0, 0], np.int32)


class Pieces:
    """Pieces of long lines, whose sums lie behind the vector that is multiplied.

    Parameters
    ----------
    memory : Memory
    kernel : Kernel
        ``sum_pieces``.
    block : int
        Its work-items a group.
    entries : tuple of ndarray
        Indices and values of all pieces.
    starts : ndarray of int64, shape (count + 1,)
    behind : int
        Elements of the vector.
    """

    def __init__(
        self,
        memory: Memory,
        kernel: Kernel,
        block: int,
        entries: tuple[NDArray[Any], ...],
        starts: NDArray[np.int64],
        behind: int,
    ) -> None:
        self.count = starts.size - 1
        indices, values = entries
        self._block = block
        if self.count:
            self._kernel = kernel.bind(
                starts=memory.put(starts),
                indices=memory.put(indices.astype(np.int32)),
                values=memory.put(values.astype(np.float64)),
                behind=behind,
            )

    def add_up(self, *vectors: Buffer) -> None:
        """Write the sums behind each vector."""
        if self.count:
            for vector in vectors:
                self._kernel(self.count, self._block, v=vector)


Lines = tuple[NDArray[np.int64], NDArray[Any], Vector]


def split_long_lines(part: Any, first: int, last: int) -> tuple[Lines, tuple[NDArray[Any], ...], NDArray[np.int64]]:
    """Some lines of a matrix without the long ones' entries, which are divided into pieces.

    Parameters
    ----------
    part : sparse array, shape (lines, width)
        In compressed lines.
    first, last : int
        Which lines: ``first`` to ``last - 1``.

    Returns
    -------
    lines : tuple of ndarray
        Starts of all lines, counted from the first of these; indices and values. A long line has a one for each of its
        pieces, at ``width`` plus the number of the piece.
    entries : tuple of ndarray
        Indices and values of the pieces.
    starts : ndarray of int64, shape (pieces + 1,)
    """
    indptr = part.indptr.astype(np.int64)
    lengths = np.diff(indptr)
    long = first + np.flatnonzero(lengths[first:last] > _LONG)
    pieces, kept, taken, entries = [np.zeros(0, np.int64)], [], [slice(0, 0)], 0
    begin = indptr[first]
    for line in long:
        kept.append((part.indices[begin : indptr[line]], part.data[begin : indptr[line]]))
        taken.append(slice(indptr[line], indptr[line + 1]))
        pieces.append(entries + np.arange(0, lengths[line], _GROUP_NONZEROS))
        here = part.shape[1] + sum(some.size for some in pieces[:-1]) + np.arange(pieces[-1].size)
        kept.append((here, np.ones(here.size)))
        entries, begin = entries + lengths[line], indptr[line + 1]
        lengths[line] = here.size
    kept.append((part.indices[begin : indptr[last]], part.data[begin : indptr[last]]))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    indices, values = (np.concatenate(arrays) for arrays in zip(*kept, strict=True))
    long_entries = tuple(np.concatenate([array[some] for some in taken]) for array in (part.indices, part.data))
    return (starts - starts[first], indices, values), long_entries, np.concatenate([*pieces, [entries]])
