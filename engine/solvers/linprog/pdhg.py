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

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Capabilities, Device
from engine.devices.slices import SliceLength
from engine.numerics.groups import group_size
from engine.numerics.memory import Memory
from engine.solvers.linprog.problem import LinearProgram, sp

__all__ = ["PdhgMeasures", "PdhgWorker", "ScaledProgram", "kernel_variants", "pdhg_bytes", "scaled"]

Vector = NDArray[np.float64]

_RUIZ_PASSES = 10
_STEP = 0.998  # of 1 / |A|
_SUFFICIENT, _NECESSARY, _ARTIFICIAL = 0.2, 0.5, 0.36  # when to restart; see _restart_due
_PROPORTIONAL, _INTEGRAL = 0.99, 0.01  # gains of the controller of the primal weight
_INTEGRAL_DECAY = 0.3
_PERIOD = 64  # iterations between two checks
_GROUP_NONZEROS = 2048


@dataclass(frozen=True)
class ScaledProgram:
    """A linear program with rows, columns, bounds and costs scaled.

    A point of the program as given is ``x = column_scale * x_scaled / bound_scale`` and ``y = row_scale * y_scaled /
    cost_scale``.
    """

    rows: Any
    columns: Any
    c: Vector
    lower: Vector
    upper: Vector
    row_lower: Vector
    row_upper: Vector
    row_scale: Vector
    column_scale: Vector
    bound_scale: float
    cost_scale: float
    norm: float
    cost_norm: float
    side_norm: float
    offset: float

    def scale_point(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """A point of the program as given in scaled units."""
        return x / self.column_scale * self.bound_scale, y / self.row_scale * self.cost_scale

    def unscale_point(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """The inverse of :meth:`scale_point`."""
        return x * self.column_scale / self.bound_scale, y * self.row_scale / self.cost_scale


def scaled(problem: LinearProgram, poll: Callable[[], None] = lambda: None) -> ScaledProgram:
    """Scale a program: Ruiz's equilibration, then Pock and Chambolle's with alpha = 1, then bounds and costs.

    The objective is taken as a minimization. ``poll`` is called between the passes, and may raise.
    """
    sign = -1.0 if problem.maximize else 1.0
    matrix = sp.csr_array(problem.A)
    size = np.abs(matrix.data)
    m, n = matrix.shape
    row_scale, column_scale = np.ones(m), np.ones(n)

    def current() -> Any:
        poll()
        values = size * np.repeat(row_scale, np.diff(matrix.indptr))
        values *= column_scale[matrix.indices]
        return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)

    for _ in range(_RUIZ_PASSES):
        now = current()
        row_scale /= np.sqrt(_or_one(_dense(now.max(axis=1)))) if n else 1.0
        column_scale /= np.sqrt(_or_one(_dense(now.max(axis=0)))) if m else 1.0
    now = current()
    row_sums, column_sums = np.asarray(now.sum(axis=1)).ravel(), np.asarray(now.sum(axis=0)).ravel()
    row_scale /= np.sqrt(_or_one(row_sums))
    column_scale /= np.sqrt(_or_one(column_sums))
    rows = sp.csr_array(sp.diags_array(row_scale) @ matrix @ sp.diags_array(column_scale))
    rows.sort_indices()
    c = sign * problem.c * column_scale
    lower, upper = problem.lower / column_scale, problem.upper / column_scale
    row_lower, row_upper = problem.row_lower * row_scale, problem.row_upper * row_scale
    bound_scale = 1.0 / (1.0 + _side_norm(row_lower, row_upper))
    cost_scale = 1.0 / (1.0 + float(np.linalg.norm(c)))
    return ScaledProgram(
        rows=rows,
        columns=sp.csr_array(rows.T),
        c=c * cost_scale,
        lower=lower * bound_scale,
        upper=upper * bound_scale,
        row_lower=row_lower * bound_scale,
        row_upper=row_upper * bound_scale,
        row_scale=row_scale,
        column_scale=column_scale,
        bound_scale=bound_scale,
        cost_scale=cost_scale,
        norm=_spectral_norm(rows),
        cost_norm=float(np.linalg.norm(problem.c)),
        side_norm=_side_norm(problem.row_lower, problem.row_upper),
        offset=sign * problem.offset,
    )


def _dense(values: Any) -> Vector:
    return np.asarray(values.todense(), np.float64).ravel()


def _or_one(values: Vector) -> Vector:
    return np.where(values > 0.0, values, 1.0)


def _side_norm(lower: Vector, upper: Vector) -> float:
    """Euclidean norm of the larger finite side of each row."""
    sides = np.maximum(
        np.where(np.isfinite(lower), np.abs(lower), 0.0), np.where(np.isfinite(upper), np.abs(upper), 0.0)
    )
    return float(np.linalg.norm(sides))


def _spectral_norm(matrix: Any, passes: int = 60) -> float:
    """The largest singular value by the power method, from a fixed start."""
    columns = sp.csr_array(matrix.T)
    v = np.random.default_rng(0).standard_normal(matrix.shape[1])
    value = 0.0
    for _ in range(passes):
        length = float(np.linalg.norm(v))
        if length == 0.0:
            break
        image = matrix @ (v / length)
        before, value = value, float(np.linalg.norm(image))
        if abs(value - before) <= 1e-4 * value:
            break
        v = columns @ image
    return value if value > 0.0 else 1.0


@dataclass(frozen=True)
class PdhgMeasures:
    """A point of the program as given: Euclidean norms of its violations, objectives as of a minimization."""

    iteration: int
    primal_objective: float
    dual_objective: float
    primal_violation: float
    dual_violation: float
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
        worst = max(self.gap, self.primal_infeasibility, self.dual_infeasibility)
        return worst if worst == worst else float("inf")


def pdhg_bytes(m: int, n: int, nonzeros: int) -> tuple[int, int]:
    """Bytes that :class:`PdhgWorker` takes on its device, and those of its largest buffer."""
    vectors = 8 * (9 * n + 8 * m) + 16 * (m + n) + (1 << 20)
    return 24 * nonzeros + vectors, max(8 * nonzeros, 8 * (m + 1), 8 * (n + 1))


class Abandoned(Exception):
    """The race has ended while a worker was preparing."""


class PdhgWorker:
    """The method on one device; made and used on its thread.

    Parameters
    ----------
    device : Device
    program : LinearProgram
        It is scaled at the first call of :meth:`advance`.
    x, y : ndarray, optional
        The point to start from, in the units of the program as given; zero by default.
    weight : float
        Initial primal weight.
    ended : threading.Event, optional
        Once it is set, a preparation that is going on is given up, by :class:`Abandoned`.
    """

    def __init__(
        self,
        device: Device,
        program: LinearProgram,
        x: Vector | None = None,
        y: Vector | None = None,
        weight: float = 1.0,
        ended: threading.Event | None = None,
    ) -> None:
        self.device = device
        self._ended = ended or threading.Event()
        self._block = group_size(device.capabilities)
        self._given = program
        self._start = x, y
        self.iteration = self.restarts = 0
        self.weight = self._best_weight = weight
        self._best_imbalance = np.inf
        self._error_sum = 0.0
        self._since_restart = 0
        self._first_residual = self._last_residual = np.inf
        self._slice = SliceLength(start=_PERIOD, least=_PERIOD)
        self._memory = Memory(device)
        self._prepared = False

    def _prepare(self) -> None:
        """Scale the program and bring it to the device."""
        self._prepared = True
        device, (x, y) = self.device, self._start
        program = self.program = scaled(self._given, self._require_going_on)
        m, n = program.rows.shape
        memory = self._memory
        kernels = device.program("linprog/pdhg", block=self._block)
        groups = device.capabilities.compute_units * 4
        row_first, column_first = (
            _line_groups(part.indptr, self._block, groups) for part in (program.rows, program.columns)
        )
        self._row_groups, self._column_groups = row_first.size - 1, column_first.size - 1
        rows, columns = self._put_matrix(program.rows, row_first), self._put_matrix(program.columns, column_first)
        start = np.zeros(n), np.zeros(m)
        if x is not None and y is not None:
            start = program.scale_point(x, y)
        self._x, self._y = memory.put(np.clip(start[0], program.lower, program.upper)), memory.put(start[1])
        self._x_anchor, self._y_anchor = memory.put(device.get(self._x)), memory.put(start[1])
        self._x_now, self._y_now = memory.empty((n,)), memory.empty((m,))
        reflected = memory.empty((n,))
        bounds = {"c": program.c, "lower": program.lower, "upper": program.upper}
        sides = {"row_lower": program.row_lower, "row_upper": program.row_upper}
        on_columns = columns | {name: memory.put(values) for name, values in bounds.items()}
        on_rows = rows | {name: memory.put(values) for name, values in sides.items()}
        anchors = {"x": self._x_anchor, "y": self._y_anchor}
        self._primal_results = memory.empty((2 * self._column_groups,))
        self._dual_results = memory.empty((6 * self._row_groups,))
        self._cost_results = memory.empty((4 * self._column_groups,))
        # violations in the units of the program as given
        row_units = memory.put(program.row_scale * program.bound_scale)
        column_units = memory.put(program.column_scale * program.cost_scale)
        self._primal_step = kernels.primal_step.bind(
            **on_columns, v=self._y, anchor=anchors["x"], x=self._x, reflected=reflected
        )
        self._dual_step = kernels.dual_step.bind(**on_rows, v=reflected, anchor=anchors["y"], y=self._y)
        self._primal_check = kernels.primal_check.bind(
            **on_columns,
            v=self._y,
            anchor=anchors["x"],
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
            anchor=anchors["y"],
            y=self._y,
            projected=self._y_now,
            results=self._dual_results,
        )
        self._reduced_costs = kernels.reduced_costs.bind(
            **on_columns, v=self._y_now, scale=column_units, x=self._x_now, results=self._cost_results
        )

    def _require_going_on(self) -> None:
        if self._ended.is_set():
            raise Abandoned

    def close(self) -> None:
        """Release the device memory."""
        self._memory.release()

    def _put_matrix(self, part: Any, first: NDArray[np.int32]) -> dict[str, Any]:
        put = self._memory.put
        return {
            "first": put(first),
            "starts": put(part.indptr.astype(np.int64)),
            "indices": put(part.indices.astype(np.int32)),
            "values": put(part.data.astype(np.float64)),
        }

    @property
    def _steps(self) -> tuple[float, float]:
        """The step sizes tau and sigma."""
        length = _STEP / self.program.norm
        return length / self.weight, length * self.weight

    def advance(self, most: int, goal: float) -> PdhgMeasures:
        """Iterate for the length of a slice, until the error is at most ``goal``, or ``most`` iterations were made."""
        if not self._prepared:
            self._prepare()
        began = time.perf_counter()
        amount = self._slice.amount
        done = 0
        while True:
            if self._since_restart == 0:
                self.check()  # the fixed-point residual that restarts are judged by
            self._iterate(_PERIOD)
            done += _PERIOD
            found = self.check()
            if found.error <= goal or done >= amount or self.iteration >= most or not np.isfinite(found.error):
                break
        self._slice.took(time.perf_counter() - began, done)
        return found

    def _iterate(self, count: int) -> None:
        tau, sigma = self._steps
        columns, rows, block = self._column_groups, self._row_groups, self._block
        for k in range(self._since_restart, self._since_restart + count):
            weight = (k + 1.0) / (k + 2.0)
            self._primal_step(columns, block, tau=tau, weight=weight)
            self._dual_step(rows, block, sigma=sigma, weight=weight)
        self._since_restart += count
        self.iteration += count

    def check(self) -> PdhgMeasures:
        """Measure the point that the next step leads to, and restart from it if that is due."""
        tau, sigma = self._steps
        self._primal_check(self._column_groups, self._block, tau=tau)
        self._dual_check(self._row_groups, self._block, sigma=sigma)
        self._reduced_costs(self._column_groups, self._block)
        primal = self.device.get(self._primal_results).reshape(-1, 2).sum(axis=0)
        by_row = self.device.get(self._dual_results).reshape(-1, 6)[:, :5].sum(axis=0)
        cost = self.device.get(self._cost_results).reshape(-1, 4)[:, :3].sum(axis=0)
        residual = float(np.sqrt(max(0.0, primal[0] / tau + by_row[0] / sigma + 2.0 * by_row[2])))
        found = self._measures(by_row, cost)
        imbalance = abs(np.log((found.primal_infeasibility + 1e-300) / (found.dual_infeasibility + 1e-300)))
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
        units = program.bound_scale * program.cost_scale
        primal_violation, dual_violation = float(np.sqrt(by_row[3])), float(np.sqrt(cost[2]))
        return PdhgMeasures(
            iteration=self.iteration,
            primal_objective=float(cost[0]) / units + program.offset,
            dual_objective=float(by_row[4] + cost[1]) / units + program.offset,
            primal_violation=primal_violation,
            dual_violation=dual_violation,
            primal_infeasibility=primal_violation / (1.0 + program.side_norm),
            dual_infeasibility=dual_violation / (1.0 + program.cost_norm),
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
        self.device.copy(self._x_anchor, self._x_now)
        self.device.copy(self._y_anchor, self._y_now)
        self.device.copy(self._x, self._x_now)
        self.device.copy(self._y, self._y_now)
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
        return self.program.unscale_point(self.device.get(self._x_now), self.device.get(self._y_now))

    def differences(self) -> tuple[Vector, Vector]:
        """What the last step changes in x and in y: directions that certificates may be found in."""
        x, y = self.device.get(self._x_now), self.device.get(self._y_now)
        return self.program.unscale_point(x - self.device.get(self._x_anchor), y - self.device.get(self._y_anchor))


def _line_groups(starts: NDArray[np.integer], block: int, groups: int) -> NDArray[np.int32]:
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


def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """The template with its constants for one device."""
    yield "linprog/pdhg", {"block": group_size(capabilities)}
