"""The primal-dual hybrid gradient method with reflected Halpern iterations and restarts, on a device.

Only products with A and A^T are needed, so the method handles programs whose factors would not fit; it is less exact
than an interior-point method on badly scaled ones.

References
----------
H. Lu, J. Yang, "Restarted Halpern PDHG for linear programming", arXiv:2407.16144 (2024).
D. Applegate et al., "Practical large-scale linear programming using primal-dual hybrid gradient", NeurIPS (2021):
scaling, primal weight, restarts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...devices import Buffer, Capabilities, Device, Record
from ...devices.graph import Recordings
from ...devices.kernels.program import Kernel
from ...devices.pool.group import Communicator
from ...devices.pool.slices import SliceLength
from ...numerics.exchange import Part, Peer
from ...numerics.groups import group_size
from ...numerics.memory import Memory
from .forms.scaled import ScaledProgram
from .verification.sums import greatest

Vector = NDArray[np.float64]
Point = tuple[Vector, Vector]

_STEP = 0.998  # of 1 / |A|
_SUFFICIENT, _NECESSARY, _ARTIFICIAL = 0.2, 0.5, 0.36  # when to restart; see _restart_due
_PROPORTIONAL, _INTEGRAL = 0.99, 0.01  # gains of the controller of the primal weight
_INTEGRAL_DECAY = 0.3
_PERIOD = 64  # iterations between two checks
_SLICE_SECONDS = 0.01  # another method may wait for the device

STEP = Record("step", tau="f64", sigma="f64", since="f64")
"""The step sizes, and the iterations since the last restart."""


@dataclass(frozen=True)
class PdhgMeasures:
    """A point of the program as given: Euclidean norms of its violations, objectives as of a minimization."""

    iteration: int
    primal_objective: float
    dual_objective: float
    primal_infeasibility: float
    dual_infeasibility: float
    primal_weight: float
    restarts: int

    @property
    def gap(self) -> float:
        """Distance of the objectives relative to ``1 + |primal| + |dual|``."""
        primal, dual = self.primal_objective, self.dual_objective
        return abs(primal - dual) / (1.0 + abs(primal) + abs(dual))

    @property
    def error(self) -> float:
        """The greatest of gap and relative infeasibilities; inf for NaN."""
        return greatest(self.gap, self.primal_infeasibility, self.dual_infeasibility)


def pdhg_bytes(m: int, n: int, nonzeros: int) -> tuple[int, int]:
    """Bytes that :class:`PdhgWorker` takes on its device, and those of its largest buffer."""
    vectors = 8 * (9 * n + 8 * m) + 16 * (m + n) + (1 << 20)
    return 24 * nonzeros + pieces_bytes(nonzeros) + vectors, max(8 * nonzeros, 8 * (m + 1), 8 * (n + 1))


@dataclass(frozen=True)
class Rank:
    """A device that shares a program with others: its number, the exchange with them, and whether it is direct."""

    rank: int
    communicator: Communicator
    direct: bool


class PdhgWorker:
    """The method on one device; made and used on its thread."""

    def __init__(
        self,
        device: Device,
        program: ScaledProgram,
        x: Vector | None = None,
        y: Vector | None = None,
        weight: float = 1.0,
        place: Rank | None = None,
    ) -> None:
        self.device = device
        self._place = place
        self._peer: Peer | None = None
        self._block = group_size(device.capabilities)
        self.program = program
        self._start = x, y
        self.iteration = self.restarts = 0
        self.weight = self._best_weight = weight
        self._best_imbalance = np.inf
        self._error_sum = 0.0
        self._since_restart = 0
        self._first_residual = self._last_residual = np.inf
        self._slice = SliceLength(start=_PERIOD, least=_PERIOD, seconds=_SLICE_SECONDS)
        self._memory, self._recordings = Memory(device), Recordings(device)
        self._prepared = False

    def _prepare(self) -> None:
        """Bring the program to the device."""
        self._prepared = True
        device, (x, y) = self.device, self._start
        program = self.program
        m, n = program.rows.shape
        memory = self._memory
        kernels = self._kernels = device.program("linprog/pdhg", block=self._block, step=STEP)
        groups = device.capabilities.compute_units * 4
        row_first, column_first = (
            line_groups(part.indptr, self._block, groups) for part in (program.rows, program.columns)
        )
        row_first, column_first = self._own(row_first, program.rows), self._own(column_first, program.columns)
        self._row_groups, self._column_groups = row_first.size - 1, column_first.size - 1
        self._own_rows, self._own_columns = ((int(first[0]), int(first[-1])) for first in (row_first, column_first))
        rows, self._row_pieces = self._put_matrix(program.rows, row_first)
        columns, self._column_pieces = self._put_matrix(program.columns, column_first)
        behind_x, behind_y = self._row_pieces.count, self._column_pieces.count  # what is added up from them
        start = np.zeros(n), np.zeros(m)
        if x is not None and y is not None:
            start = program.scale_point(x, y)
        self._x = memory.put(np.clip(start[0], program.lower, program.upper))
        self._y = memory.put(np.concatenate([start[1], np.zeros(behind_y)]))
        self._x_anchor, self._y_anchor = memory.put(device.get(self._x)), memory.put(start[1])
        self._x_now, self._y_now = memory.empty((n + behind_x,)), memory.empty((m + behind_y,))
        reflected = self._reflected = memory.empty((n + behind_x,))
        bounds = {"c": program.c, "lower": program.lower, "upper": program.upper}
        sides = {"row_lower": program.row_lower, "row_upper": program.row_upper}
        on_columns = columns | {name: memory.put(values) for name, values in bounds.items()}
        on_rows = rows | {name: memory.put(values) for name, values in sides.items()}
        self._primal_results = memory.empty((2 * max(1, self._column_groups),))
        self._dual_results = memory.empty((6 * max(1, self._row_groups),))
        self._cost_results = memory.empty((4 * max(1, self._column_groups),))
        # violations in the units of the program as given
        row_units = memory.put(program.row_scale * program.bound_scale)
        column_units = memory.put(program.column_scale * program.cost_scale)
        step = self._step = memory.empty((1,), STEP.dtype)
        self._primal_step = kernels.primal_step.bind(
            **on_columns, v=self._y, anchor=self._x_anchor, x=self._x, reflected=reflected, step=step
        )
        self._dual_step = kernels.dual_step.bind(**on_rows, v=reflected, anchor=self._y_anchor, y=self._y, step=step)
        self._primal_check = kernels.primal_check.bind(
            **on_columns,
            v=self._y,
            anchor=self._x_anchor,
            x=self._x,
            projected=self._x_now,
            reflected=reflected,
            results=self._primal_results,
        )
        self._dual_check = kernels.dual_check.bind(
            **on_rows,
            v=reflected,
            w=self._x_now,
            scale=row_units,
            anchor=self._y_anchor,
            y=self._y,
            projected=self._y_now,
            results=self._dual_results,
        )
        self._reduced_costs = kernels.reduced_costs.bind(
            **on_columns, v=self._y_now, scale=column_units, x=self._x_now, results=self._cost_results
        )
        if self._place is not None:
            most = max(m, 2 * n)
            place = self._place
            self._peer = Peer(memory, place.communicator, place.rank, place.direct, {np.float64: most})

    def _own(self, first: NDArray[np.int32], part: Any) -> NDArray[np.int32]:
        """The groups of this device, by their first lines: of several devices each has groups of like much work."""
        if self._place is None:
            return first
        count = self._place.communicator.size
        work = part.indptr[first].astype(np.int64) + 4 * first
        shares = work[-1] * np.arange(count + 1) // count
        cuts = np.searchsorted(work, shares)
        cuts[0], cuts[-1] = 0, first.size - 1
        return first[cuts[self._place.rank] : cuts[self._place.rank + 1] + 1]

    def _exchange(self, lines: tuple[int, int], *vectors: Buffer) -> None:
        """Send these lines of vectors to the other devices, and take theirs."""
        if self._peer is not None:
            self._peer.exchange(*(Part(vector, *lines) for vector in vectors))

    def _sums(self, results: Buffer, groups: int, width: int) -> Vector:
        """The groups' results added, those of all devices."""
        found = self.device.get(results, 0, groups * width).reshape(groups, width)
        if self._place is not None:
            found = np.concatenate(self._place.communicator.all_gather(self._place.rank, found))
        return np.asarray(found.sum(axis=0))

    def close(self) -> None:
        """Release the device memory."""
        self._recordings.forget()
        self._memory.release()

    def _put_matrix(self, part: Any, first: NDArray[np.int32]) -> tuple[dict[str, Any], Pieces]:
        """Lines ``first[0]`` to ``first[-1] - 1`` on the device; long ones as pieces that are added up before."""
        put = self._memory.put
        (indptr, indices, values), entries, starts = split_long_lines(part, int(first[0]), int(first[-1]))
        pieces = Pieces(self._memory, self._kernels.sum_pieces, self._block, entries, starts, part.shape[1])
        return {
            "first": put(first),
            "starts": put(indptr),
            "indices": put(_not_empty(indices.astype(np.int32))),
            "values": put(_not_empty(values.astype(np.float64))),
        }, pieces

    @property
    def _steps(self) -> tuple[float, float]:
        """The step sizes tau and sigma."""
        length = _STEP / self.program.norm
        return length / self.weight, length * self.weight

    def advance(self, most: int, goal: float, rays: bool = False) -> tuple[PdhgMeasures, Point | None, Point | None]:
        """Iterate for the length of a slice, until the error is at most ``goal``, or ``most`` iterations were made.

        The measures; :meth:`point` if it goes no further, or with :meth:`differences` if they are asked for.
        """
        if not self._prepared:
            self._prepare()
        began = time.perf_counter()
        amount = self._slice.amount
        done, ended = 0, False
        while not ended and done < amount:
            if self._since_restart == 0:
                self.check()  # the fixed-point residual that restarts are judged by
            steps = max(0, min(_PERIOD, most - self.iteration))
            self._iterate(steps)
            done += steps
            found = self.check()
            ended = found.error <= goal or self.iteration >= most or not np.isfinite(found.error)
        seconds = time.perf_counter() - began
        if done:
            self._slice.took(seconds if self._peer is None else self._peer.largest(seconds), done)
        return found, self.point() if ended or rays else None, self.differences() if rays and not ended else None

    def _iterate(self, count: int) -> None:
        self.device.put(np.array([(*self._steps, self._since_restart)], STEP.dtype), self._step)
        if self._peer is None:
            self._recordings.run(count, lambda: self._launch(count))
        else:
            self._launch(count)
        self._since_restart += count
        self.iteration += count

    def _launch(self, count: int) -> None:
        columns, rows, block = self._column_groups, self._row_groups, self._block
        for turn in range(count):
            self._column_pieces.add_up(self._y)
            if columns:
                self._primal_step(columns, block, turn=turn)
            self._exchange(self._own_columns, self._reflected)
            self._row_pieces.add_up(self._reflected)
            if rows:
                self._dual_step(rows, block, turn=turn)
            self._exchange(self._own_rows, self._y)

    def check(self) -> PdhgMeasures:
        """Measure the point that the next step leads to, and restart from it if that is due."""
        tau, sigma = self._steps
        columns, rows = self._column_groups, self._row_groups
        self._column_pieces.add_up(self._y)
        if columns:
            self._primal_check(columns, self._block, tau=tau)
        self._exchange(self._own_columns, self._x_now, self._reflected)
        self._row_pieces.add_up(self._x_now, self._reflected)
        if rows:
            self._dual_check(rows, self._block, sigma=sigma)
        self._exchange(self._own_rows, self._y_now)
        self._column_pieces.add_up(self._y_now)
        if columns:
            self._reduced_costs(columns, self._block)
        primal, by_row, cost = (
            self._sums(results, groups, width)
            for results, groups, width in (
                (self._primal_results, columns, 2),
                (self._dual_results, rows, 6),
                (self._cost_results, columns, 4),
            )
        )
        residual = float(np.sqrt(max(0.0, primal[0] / tau + by_row[0] / sigma + 2.0 * by_row[2])))
        found = self._measures(by_row, cost)
        imbalance = abs(np.log(found.primal_infeasibility + 1e-300) - np.log(found.dual_infeasibility + 1e-300))
        if imbalance < self._best_imbalance:
            self._best_imbalance, self._best_weight = imbalance, self.weight
        if self._since_restart == 0:
            self._first_residual = self._last_residual = residual
        elif self._restart_due(residual):
            self._restart(float(np.sqrt(primal[1])), float(np.sqrt(by_row[1])))
        self._last_residual = residual
        return found

    def _measures(self, by_row: Vector, cost: Vector) -> PdhgMeasures:
        program = self.program
        units = max(program.bound_scale * program.cost_scale, 1e-300)
        return PdhgMeasures(
            iteration=self.iteration,
            primal_objective=float(cost[0]) / units + program.offset,
            dual_objective=float(by_row[4] + cost[1]) / units + program.offset,
            primal_infeasibility=float(np.sqrt(by_row[3])) / (1.0 + program.side_norm),
            dual_infeasibility=float(np.sqrt(cost[2])) / (1.0 + program.cost_norm),
            primal_weight=self.weight,
            restarts=self.restarts,
        )

    def _restart_due(self, residual: float) -> bool:
        """Sufficient decrease, necessary decrease without progress, or a long time since the last restart."""
        if residual <= _SUFFICIENT * self._first_residual:
            return True
        if residual <= _NECESSARY * self._first_residual and residual > self._last_residual:
            return True
        return self._since_restart >= _ARTIFICIAL * self.iteration

    def _restart(self, primal_distance: float, dual_distance: float) -> None:
        """Make the projected point the new anchor, and balance the distances travelled by the primal weight."""
        m, n = self.program.rows.shape
        for target, source, count in (
            (self._x_anchor, self._x_now, n),
            (self._y_anchor, self._y_now, m),
            (self._x, self._x_now, n),
            (self._y, self._y_now, m),
        ):
            self.device.copy(target, source, count=count)
        if 1e-10 < primal_distance < 1e10 and 1e-10 < dual_distance < 1e10:
            error = float(np.log(dual_distance) - np.log(primal_distance) - np.log(self.weight))
            self._error_sum = _INTEGRAL_DECAY * self._error_sum + error
            self.weight *= float(np.exp(_PROPORTIONAL * error + _INTEGRAL * self._error_sum))
        else:
            self.weight = self._best_weight
            self._error_sum = 0.0
        self._since_restart = 0
        self.restarts += 1

    def point(self) -> tuple[Vector, Vector]:
        """The point that was last measured, in the units of the program as given: x (n,) and row duals (m,)."""
        if not self._prepared:
            self._prepare()
            self.check()
        return self.program.unscale_point(*self._now())

    def _now(self) -> tuple[Vector, Vector]:
        """The point that was last measured, in scaled units."""
        m, n = self.program.rows.shape
        return self.device.get(self._x_now, 0, n), self.device.get(self._y_now, 0, m)

    def differences(self) -> tuple[Vector, Vector]:
        """What the last step changes in x and in y: directions that certificates may be found in."""
        x, y = self._now()
        return self.program.unscale_point(x - self.device.get(self._x_anchor), y - self.device.get(self._y_anchor))


def _not_empty(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or one element: a part of a matrix may have no entries, a buffer must have some."""
    return array if array.size else np.zeros(1, array.dtype)


def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """The template with its constants for one device."""
    yield "linprog/pdhg", {"block": group_size(capabilities), "step": STEP}


_GROUP_NONZEROS = 2048
_LONG = 8192  # nonzeros of a line that several groups add up


def pieces_bytes(nonzeros: int) -> int:
    """The most bytes that the pieces of long lines take beside the entries themselves, of both orders."""
    return 96 * nonzeros // _GROUP_NONZEROS


def line_groups(starts: NDArray[np.integer], block: int, groups: int) -> NDArray[np.int32]:
    """First line of each work-group: groups of like work, at most ``block`` lines where groups have many work-items."""
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
    """Pieces of long lines, whose sums lie behind the vector that is multiplied."""

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
    """Some lines of a matrix without the long ones' entries, which are divided into pieces."""
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
