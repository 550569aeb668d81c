"""Solving one knapsack problem: trivial cases, reduction, the dynamic program, the items, the audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import DevicePool
from engine.devices.info import bytes_text
from engine.errors import AuditError, ProblemError
from engine.results import Result, Status
from engine.run import Run, StopRequested
from engine.solvers.knapsack.bounds import Relaxation, by_efficiency, greedy
from engine.solvers.knapsack.dense.backtrack import Backtracker, Start
from engine.solvers.knapsack.dense.schedule import Goal, GroupRules, Schedule
from engine.solvers.knapsack.dense.sweep import Row, Sweep, room_for_rows
from engine.solvers.knapsack.options import Options
from engine.solvers.knapsack.problem import Knapsack
from engine.solvers.knapsack.programs import DEPTHS, PAD, Shapes, ValueType, shapes_for

__all__ = ["solve"]

_USEFUL_ROWS = 160  # kept rows beyond which more would save less than they cost to take


@dataclass
class _Known:
    """What is known of the answer so far: items surely taken, items still open, and the best solution."""

    taken: NDArray[np.int64]
    open: NDArray[np.int64]
    capacity: int
    best: NDArray[np.int64]
    objective: int
    bound: int


def solve(problem: Knapsack, options: Options, pool: DevicePool, run: Run) -> Result:
    """Solve a 0/1 knapsack problem to optimality by dense dynamic programming.

    Bellman's recurrence ``f_k(c) = max(f_{k-1}(c), f_{k-1}(c - w_k) + p_k)`` over items by descending weight, on the
    cells that matter only (see :mod:`engine.solvers.knapsack.dense.schedule`). The returned items are added up
    again on the host before the run says optimal.

    Parameters
    ----------
    problem : Knapsack
    options : Options
    pool : DevicePool
    run : Run

    Returns
    -------
    Result
        ``solution`` holds sorted item indices; counters: ``"items"``, ``"items_fixed"``, ``"cells"``,
        ``"exchanged_bytes"``, and ``"device_bytes"`` planned on each device. A run that is stopped returns the greedy
        solution and the best proven bound.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the rows do not fit the devices.
    engine.errors.AuditError
        If the items do not add up to the value.
    """
    known = _prepare(problem, options, run)
    counters: dict[str, int | float] = {
        "items": problem.n,
        "items_fixed": problem.n - len(known.open),
        "cells": 0,
        "exchanged_bytes": 0,
        "device_bytes": 0,
    }
    run.incumbent(known.objective, known.bound)
    status = Status.OPTIMAL
    if known.bound > known.objective and len(known.open):
        program = _Program(problem, options, pool, run, known)
        try:
            program.run()
        except StopRequested as stop:
            status = stop.status
        finally:
            counters["cells"] = program.sweep.cells
            counters["exchanged_bytes"] = program.sweep.exchanged_bytes
            counters["device_bytes"] = program.device_bytes
            program.sweep.close()
    if status is Status.OPTIMAL and options.items:
        known.bound = known.objective
    run.incumbent(known.objective, known.bound)
    if not options.items and status is Status.OPTIMAL:
        return Result(status, known.bound, known.bound, None, counters=counters)
    return Result(status, known.objective, known.bound, _audited(problem, known), counters=counters)


def _audited(problem: Knapsack, known: _Known) -> NDArray[np.int64]:
    """The solution, added up again in exact integers."""
    items = np.sort(known.best)
    profit, weight = problem.evaluate(items)
    if profit != known.objective or weight > problem.capacity:
        raise AuditError(
            f"the items found have profit {profit} and weight {weight}, but profit {known.objective} "
            f"within {problem.capacity} was computed"
        )
    return items


def _prepare(problem: Knapsack, options: Options, run: Run) -> _Known:
    """Leave out what cannot fit, take all if all fit, and fix what bounds can fix."""
    profits, weights, capacity = problem.profits, problem.weights, problem.capacity
    indices = np.flatnonzero((weights <= capacity) & (profits > 0)).astype(np.int64)
    nothing = np.zeros(0, np.int64)
    if int(weights[indices].sum()) <= capacity:
        value = int(profits[indices].sum())
        return _Known(indices, nothing, capacity, indices, value, value)
    if int(profits[indices].sum()) >= 2**61:
        raise ProblemError("the sum of profits must be below 2^61 for 64-bit values")
    order = by_efficiency(profits[indices], weights[indices])
    best = indices[greedy(profits[indices], weights[indices], capacity, order)]
    objective = int(profits[best].sum())
    relaxation = Relaxation.at_break_item(profits[indices], weights[indices], capacity, order)
    known = _Known(nothing, indices, capacity, best, objective, max(objective, relaxation.bound))
    if options.reduce:
        take, leave = relaxation.fixed(objective)
        known.taken = indices[take]
        known.open = indices[~(take | leave)]
        known.capacity = capacity - int(weights[known.taken].sum())
        run.notice(f"{len(indices) - len(known.open)} of {problem.n} items fixed by bounds")
        if known.capacity < 0 or len(known.open) == 0:
            known.open = nothing
            exact = int(profits[known.taken].sum())
            if known.capacity >= 0 and exact > objective:
                known.best, known.objective = known.taken, exact
            known.bound = known.objective
    return known


class _Program:
    """The dynamic program of one run: memory, rows, checkpoints, and what a resumed run starts from."""

    def __init__(self, problem: Knapsack, options: Options, pool: DevicePool, run: Run, known: _Known) -> None:
        self._problem = problem
        self._options = options
        self._run = run
        self._known = known
        self._floor = known.objective
        self._row: NDArray[Any] | None = None
        self._row_low = 0
        done = self._restore()
        items = known.open
        weights, profits = problem.weights[items], problem.profits[items]
        value: ValueType = "i32" if int(profits.sum()) < 2**30 else "i64"
        self._shapes = [shapes_for(member.info.capabilities, value) for member in pool.members]
        self.schedule, self._first = Schedule.build(
            items, weights, profits, _rules(options, self._shapes, known.capacity), done
        )
        self.end = len(self.schedule.groups)
        self._goal = Goal(self.end, known.capacity, known.capacity)
        row_cells, store_cells, halo = self._plan_memory(pool)
        self.sweep = Sweep(
            pool,
            run,
            self.schedule,
            self._shapes,
            row_cells=row_cells,
            store_cells=store_cells,
            halo=halo,
            minimum_share=options.minimum_share or _worth_sharing(pool),
        )

    def _plan_memory(self, pool: DevicePool) -> tuple[int, int, int]:
        """Cells for a row, for kept rows, and of halo; refused here if they do not fit."""
        widths = self.schedule.widths(0, self.end, self._goal)
        widest = int(widths.max())
        size = self._shapes[0].item_bytes
        largest = max(group.weight for group in self.schedule.groups)
        halo = min(widest, max(largest, widest // (8 * len(pool))))
        row_cells = room_for_rows(widest, pool.members, halo)
        per_device = {
            label: sum(member.info.id == label for member in pool.members)
            for label in {member.info.id for member in pool.members}
        }
        store_cells = 0
        if self._options.items:
            wanted = []
            for member in pool.members:
                if self._options.keep_memory is not None:
                    wanted.append(int(self._options.keep_memory * 1e6) // size)
                elif member.info.capabilities.host_visible_memory:
                    wanted.append(widest)
                else:
                    spare = member.memory().free // per_device[member.info.id] - 2 * row_cells * size
                    useful = min(int(widths.sum()), _USEFUL_ROWS * widest)
                    wanted.append(min(useful, spare // (2 * size), member.info.max_allocation // size))
            store_cells = max(min(wanted), 1)
        needed = (2 * row_cells + store_cells + 3 * PAD) * size + 21 * len(self.schedule.order)
        what = (
            f"the table of {len(self.schedule.order)} items x {widest} capacities "
            f"(2 rows of {bytes_text(row_cells * size)} and {bytes_text(store_cells * size)} of kept rows)"
        )
        pool.require_memory(
            {member.label: needed for member in pool.members},
            what,
            "add devices, or set items = false or keep_memory",
            largest=(max(row_cells, store_cells) + PAD) * size,
        )
        self.device_bytes = needed
        return row_cells, store_cells, halo

    # --- the run ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Compute the value, then the items; fills in what is known."""
        walk = Backtracker(self.sweep, self._walked, self._checkpoint)
        start = self._start(walk)
        capacity = self._known.capacity
        if not self._options.items:
            self._found(walk.value(start, self.end, capacity))
            return
        left = walk.value_and_items(start, self.end, capacity, self._found)
        if left is None:
            return
        if start.stage:
            walk.value_and_items(walk.nothing(0), start.stage, left, lambda _: True, "backtracking")
        chosen = self.schedule.order[self.sweep.choices()]
        self._known.best = np.concatenate([self._known.taken, chosen])
        self._known.objective = self._known.bound

    def _found(self, value: int) -> bool:
        """The optimum is known; whether its items have yet to be found."""
        optimum = max(self._floor, int(self._problem.profits[self._known.taken].sum()) + value)
        self._known.bound = optimum
        self._run.incumbent(self._known.objective, optimum)
        return optimum > self._floor

    def _start(self, walk: Backtracker) -> Start:
        if self._row is None:
            return walk.nothing(0)
        values = self._row
        return Start(self._first, lambda: self.sweep.load(self._first, self._row_low, values))

    # --- checkpoints --------------------------------------------------------------------------------------------

    def _checkpoint(self, row: Row) -> None:
        """The row and the items it is of; during backtracking there is nothing newer to keep."""
        lo, hi = self.schedule.range(row.stage, self._goal)
        first = self.schedule.groups[row.stage].first if row.stage < self.end else len(self.schedule.order)
        self._run.save_checkpoint(
            {
                "taken": self._known.taken,
                "open": self._known.open,
                "done": self.schedule.order[:first],
                "row": self.sweep.read(row, lo, hi),
            },
            {"phase": "items", "capacity": self._known.capacity, "low": lo},
        )

    def _walked(self, stage: int, capacity: int) -> None:
        """Items of all groups from ``stage`` on are known: what is left is a smaller problem of the same kind."""
        if not self._run.checkpoint_due():
            return
        first = self.schedule.groups[stage].first if stage < self.end else len(self.schedule.order)
        chosen = self.schedule.order[self.sweep.choices()]
        self._run.save_checkpoint(
            {"taken": np.concatenate([self._known.taken, chosen]), "open": self.schedule.order[:first]},
            {"phase": "backtracking", "capacity": capacity},
        )

    def _restore(self) -> NDArray[np.bool_] | None:
        """Take over a checkpoint; which of the open items its row has processed, if it has a row."""
        restored = self._run.restored
        if restored is None:
            return None
        known = self._known
        known.taken = restored.arrays["taken"].astype(np.int64)
        known.open = restored.arrays["open"].astype(np.int64)
        known.capacity = int(restored.state["capacity"])
        if restored.state["phase"] == "backtracking":
            return None
        self._row = restored.arrays["row"]
        self._row_low = int(restored.state["low"])
        return np.isin(known.open, restored.arrays["done"])


def _rules(options: Options, shapes: list[Shapes], capacity: int) -> GroupRules:
    """What may share a launch, so that every device of the pool can run it."""
    halo = min(shape.halo for shape in shapes) if options.variant in ("auto", "tiles") else 0
    depths = DEPTHS if options.variant in ("auto", "classes") else ()
    serial = all(shape.serial for shape in shapes)
    deepest = 16 if serial else DEPTHS[0]
    least = 4 if options.variant == "auto" else DEPTHS[-1]
    return GroupRules(
        halo=halo,
        depths=tuple(depth for depth in depths if least <= depth <= deepest),
        tiles_first=options.variant == "auto" and serial,
    )


def _worth_sharing(pool: DevicePool) -> int:
    """Cells of a row below which a further device costs more than it brings."""
    return 1 << 21 if all(member.info.capabilities.simt for member in pool.members) else 1 << 18
