"""The entries of a sparse design as the devices store them: row by row, and column by column within shards of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import ProblemError
from .features import sparse_rows
from .matrix import Design, bytes_an_entry

SEGMENT = 512
"""Most entries that are added up as one: a bound on the work of a few lanes, the same on every device."""

_SHORT = 1 << 16  # numbers below are stored in 16 bits
_LONG = 1 << 31


@dataclass(frozen=True)
class Entries:
    """Rows of a design: column j is factor_j times the stored values less centre_j."""

    row_start: NDArray[Any]  # int32 or int64, (rows + 1,)
    columns: NDArray[Any]  # of the design, uint16 or int32
    values: NDArray[np.float32] | None  # None if every column has one value beside 0, which is in the factor then
    factor: NDArray[np.float64]  # (q,)
    centre: NDArray[np.float64]  # (q,), -1 for the intercept

    @property
    def nbytes(self) -> int:
        """Bytes on a device."""
        return self.row_start.nbytes + self.columns.nbytes + (0 if self.values is None else self.values.nbytes)

    @classmethod
    def of(cls, design: Design, begin: int, end: int) -> Entries:
        """The entries of rows [begin, end) of a design; rows behind the last are empty."""
        layout, first, last = design.layout, design.leading, min(end, design.layout.rows)
        whole = design.problem.X
        part = sparse_rows(whole, min(begin, last), last)
        part = part[:, design.active] if design.is_selection else part
        part.sort_indices()
        low = design.entries.low
        factor, centre = np.zeros(layout.columns), np.full(layout.columns, -1.0)
        centre[first:] = design.mean / design.scale
        values = None
        if design.entries.one_value:
            factor[first:] = np.where(low == 0, 1.0, low) / design.scale
        else:
            factor[first:] = 1.0
            full = design.entries.counts == layout.rows  # such a column is stored about its mean: no digits are lost
            centre[first:][full] = 0.0
            shift = np.where(full, design.mean, 0.0)
            with np.errstate(over="ignore"):
                values = ((part.data - shift[part.indices]) / design.scale[part.indices]).astype(np.float32)
            if not np.isfinite(values).all():
                column = int(part.indices[np.argmin(np.isfinite(values))])
                raise ProblemError(f"column '{design.name(column + first)}' has values beyond float32 after scaling")
        columns, starts = part.indices + first, part.indptr
        if design.pinned is not None:
            factor[design.pinned], centre[design.pinned] = 1.0, 0.0
            values = np.ones(part.nnz, np.float32) if values is None else values
            offset = np.asarray(design.problem.offset, np.float32)[min(begin, last) : last]
            values = np.insert(values, starts[:-1], offset)
            columns = np.insert(columns, starts[:-1], design.pinned)
            starts = starts + np.arange(len(starts))
        row_start = np.full(end - begin + 1, len(columns), np.int64)
        row_start[: part.shape[0] + 1] = starts
        return cls(
            row_start.astype(np.int32 if len(columns) < _LONG else np.int64),
            columns.astype(np.uint16 if layout.columns <= _SHORT else np.int32),
            values,
            factor,
            centre,
        )


@dataclass(frozen=True)
class Segments:
    """The same entries column by column within shards of rows, in segments of at most SEGMENT."""

    start: NDArray[Any]  # int32 or int64, (segments + 1,)
    row: NDArray[np.int32]  # first row of each segment's shard
    rows_of: NDArray[Any]  # of the entries, counted from there; uint16 or int32
    values: NDArray[np.float32] | None
    column_segment: NDArray[np.int32]  # first segment of every column of every shard, and the end of each shard

    @property
    def nbytes(self) -> int:
        """Bytes on a device."""
        arrays = (self.start, self.row, self.rows_of, self.column_segment)
        return sum(array.nbytes for array in arrays) + (0 if self.values is None else self.values.nbytes)


def column_segments(entries: Entries, first: int, bounds: NDArray[np.int64]) -> Segments:
    """The entries of rows in shards [bounds[s], bounds[s + 1]) by columns; those before ``first`` are empty."""
    from scipy import sparse

    q = len(entries.factor)
    numbers = np.arange(len(entries.columns), dtype=np.int64)
    starts, rows, rows_of, order, places = [], [], [], [], []
    segments = 0
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        low, high = int(entries.row_start[begin]), int(entries.row_start[end])
        pointers = (entries.row_start[begin : end + 1] - low).astype(np.int64)
        columns = entries.columns[low:high].astype(np.int64) - first
        shard = sparse.csr_array((numbers[low:high], columns, pointers), shape=(end - begin, q - first)).tocsc()
        counts = np.diff(shard.indptr).astype(np.int64)
        pieces = -(-counts // SEGMENT)
        places.append(segments + np.concatenate([[0], np.cumsum(pieces)]))
        column = np.repeat(np.arange(q - first), pieces)
        piece = np.arange(len(column)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        starts.append(low + shard.indptr[column].astype(np.int64) + piece * SEGMENT)
        rows.append(np.full(len(column), begin))
        rows_of.append(shard.indices)
        order.append(shard.data)
        segments += len(column)
    count = len(entries.columns)
    most = int(np.diff(bounds).max(initial=0))
    permutation = np.concatenate(order)
    return Segments(
        np.append(np.concatenate(starts), count).astype(np.int32 if count < _LONG else np.int64),
        np.concatenate(rows).astype(np.int32),
        np.concatenate(rows_of).astype(np.uint16 if most <= _SHORT else np.int32),
        None if entries.values is None else entries.values[permutation],
        np.concatenate(places).astype(np.int32),
    )


def entry_bytes(rows: int, columns: int, entries: int, one_value: bool) -> int:
    """Device memory, at most, of so many entries in both orders."""
    return entries * bytes_an_entry(rows, columns, one_value) + 8 * rows + 8 * (entries // SEGMENT + 9 * columns)
