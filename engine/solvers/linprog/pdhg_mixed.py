"""Steps of PDHG in single precision: what has changed since the last restart, whose point is kept in double precision.

Restarts begin without the rounding errors before them, so that the accuracy of the method is that of double precision;
a step reads little more than half as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...devices import Buffer
from ...numerics.memory import Memory
from .options import Precision
from .pdhg_lines import Pieces

__all__ = ["MixedSteps", "Side", "is_mixed", "mixed_bytes"]

_LARGE = 500_000  # nonzeros from which reading them takes most of a step


def is_mixed(precision: Precision, nonzeros: int) -> bool:
    """Whether a program of so many nonzeros is solved with steps in single precision.

    Parameters
    ----------
    precision : {"auto", "double", "mixed"}
    nonzeros : int
    """
    return precision == "mixed" or (precision == "auto" and nonzeros >= _LARGE)


def mixed_bytes(m: int, n: int, nonzeros: int) -> int:
    """Bytes on the device beside those of double precision.

    Parameters
    ----------
    m, n, nonzeros : int
        Rows, variables, and entries of A.
    """
    return 8 * nonzeros + 20 * n + 20 * m


@dataclass(frozen=True)
class Side:
    """Columns or rows: of the matrix by these lines, and their bounds or sides, as the kernels take them.

    Attributes
    ----------
    arguments : dict
        ``first``, ``starts``, ``indices``, ``values``, and what the lines have in double precision.
    groups : int
        Work-groups that have these lines.
    lines : tuple of int
        First and end of the lines of this device.
    count : int
        Lines of all devices.
    pieces : Pieces
        Of long lines; they lie behind the vector that is multiplied.
    """

    arguments: dict[str, Any]
    groups: int
    lines: tuple[int, int]
    count: int
    pieces: Pieces


class MixedSteps:
    """The steps of one device.

    Parameters
    ----------
    memory : Memory
    kernels : Program
        ``linprog/pdhg``.
    block : int
        Work-items a group.
    columns, rows : Side
    x, y, x_anchor, y_anchor : Buffer
        The iterate and the point of the last restart; y has room for the pieces of columns.
    whole_x : Buffer
        Room for x with the pieces of rows.
    """

    def __init__(
        self,
        memory: Memory,
        kernels: Any,
        block: int,
        columns: Side,
        rows: Side,
        *,
        x: Buffer,
        y: Buffer,
        x_anchor: Buffer,
        y_anchor: Buffer,
        whole_x: Buffer,
    ) -> None:
        self._device, self._block, self._columns, self._rows = memory.device, block, columns, rows
        self._x, self._y, self._whole_x = x, y, whole_x
        n, m = columns.count, rows.count
        self._column_pieces, self._row_pieces = (
            side.pieces.in_single_precision(memory, kernels.sum_pieces_single) for side in (columns, rows)
        )
        self._dx, self._dy = memory.empty((n,), np.float32), memory.empty((m + columns.pieces.count,), np.float32)
        self._reflected = memory.empty((n + rows.pieces.count,), np.float32)
        on_columns = {name: memory.empty((n,), np.float32) for name in ("gradient", "below", "above")}
        on_rows = {name: memory.empty((m,), np.float32) for name in ("minus_y", "below", "above")}
        self._anchor_columns = kernels.anchor_columns.bind(**columns.arguments, **on_columns, v=y, x=x)
        self._anchor_rows = kernels.anchor_rows.bind(**rows.arguments, **on_rows, v=whole_x, y=y)
        self._primal_step = kernels.primal_step_single.bind(
            **self._matrix(memory, columns), **on_columns, v=self._dy, dx=self._dx, reflected=self._reflected
        )
        self._dual_step = kernels.dual_step_single.bind(
            **self._matrix(memory, rows), **on_rows, v=self._reflected, dy=self._dy
        )
        self._add_x = kernels.add_change.bind(anchor=x_anchor, change=self._dx, out=x)
        self._add_y = kernels.add_change.bind(anchor=y_anchor, change=self._dy, out=y)

    def _matrix(self, memory: Memory, side: Side) -> dict[str, Any]:
        names = "first", "starts", "indices"
        values = memory.device.get(side.arguments["values"]).astype(np.float32)
        return {name: side.arguments[name] for name in names} | {"values": memory.put(values)}

    def begin(self) -> None:
        """Begin at x and y, which are the anchors: nothing has changed."""
        columns, rows = self._columns, self._rows
        self._device.copy(self._whole_x, self._x, count=columns.count)
        columns.pieces.add_up(self._y)
        rows.pieces.add_up(self._whole_x)
        for change in (self._dx, self._dy):
            self._device.zero(change)
        if columns.groups:
            self._anchor_columns(columns.groups, self._block)
        if rows.groups:
            self._anchor_rows(rows.groups, self._block)

    def advance(self, since_restart: Iterable[int], tau: float, sigma: float, exchange: Callable[..., None]) -> None:
        """Make the steps of these numbers since the last restart, and bring x and y up to date.

        Parameters
        ----------
        since_restart : iterable of int
        tau, sigma : float
            Step sizes.
        exchange : callable
            Sends lines of vectors to the other devices, and takes theirs.
        """
        columns, rows, block = self._columns, self._rows, self._block
        for k in since_restart:
            weight = (k + 1.0) / (k + 2.0)
            self._column_pieces.add_up(self._dy)
            if columns.groups:
                self._primal_step(columns.groups, block, tau=tau, weight=weight)
            exchange(columns.lines, self._reflected)
            self._row_pieces.add_up(self._reflected)
            if rows.groups:
                self._dual_step(rows.groups, block, sigma=sigma, weight=weight)
            exchange(rows.lines, self._dy)
        groups = 4 * self._device.capabilities.compute_units
        begin, end = columns.lines  # nobody reads the others' part of x
        self._add_x(groups, block, begin=begin, end=end)
        self._add_y(groups, block, begin=0, end=rows.count)
