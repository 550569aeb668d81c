"""Solving a problem in stages: bounds on the host, then a table on one device, then the audit."""

import bisect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext, StopRequested
from ....base.result import Result, Status
from ....devices import DeviceInfo, DevicePool, SliceLength, WorkerGroup
from ....devices.info import bytes_text
from ....errors import AuditError, OutOfDeviceMemory, ProblemError, RunFolderError
from ....util.text import counted
from ..checkpoint import checked_state
from ..checks import evaluated, given_solution, require_host_memory
from ..constraints.problem import MultidimensionalKnapsack
from ..options import ChoiceOptions
from ..schema import CheckpointState
from .bounds import reduce_stages, stages_of
from .problems import MultipleChoiceKnapsack
from .table import ChoiceTable, ChoiceWorker

_FIRST_CELLS = {True: 1e9, False: 1e7}  # of the first slice, by `simt`
_MOST_PROFIT = 2**55
_SHARE = 0.6  # of the free memory
_PIECE = 1 << 25  # cells that are copied at once

ChoiceProblem = MultipleChoiceKnapsack | MultidimensionalKnapsack


def validate(problem: ChoiceProblem, options: ChoiceOptions, devices: Sequence[DeviceInfo]) -> None:
    """Check that profits and weights are not too large, and without ``reduce`` that the table fits a device."""
    if int(problem.profits.sum()) >= _MOST_PROFIT:
        raise ProblemError("the sum of profits must be below 2^55")
    if sum(int(row.sum()) for row in np.atleast_2d(problem.weights)) >= _MOST_PROFIT:  # of each, 64 bits hold the sum
        raise ProblemError("the sum of weights must be below 2^55")
    given_solution(problem, options.initial)
    if options.reduce:  # how much bounds leave is found by the run
        return
    reduction = reduce_stages(stages_of(problem), -1, None, reduce=False, search=False)
    if not reduction.solved:
        reasons = [ChoiceTable.of(reduction.open).shortage(info) for info in devices]
        if all(reasons):
            raise OutOfDeviceMemory(f"{reasons[0]}; add a device with more memory")


def solve(problem: ChoiceProblem, options: ChoiceOptions, pool: DevicePool, run: RunContext) -> Result:
    """Solve a multiple-choice knapsack, or one with two constraints, to optimality.

    The Lagrangian relaxation of the constraints bounds the optimum and removes options (:mod:`.bounds`). What is left
    is solved by Bellman's recurrence over the stages on the first GPU of the pool (or the first device), in a table of
    all values of the capacities. If its choices do not fit the device's memory, the table is made twice: the first time
    some of its rows are kept on the host, from which blocks of stages are made again. A run that is stopped resumes
    with its best solution and bound, and makes its table again.
    """
    return _ChoiceRun(problem, options, pool, run).solve()


def save_solution(run: RunContext, best: NDArray[np.int64] | None, objective: int, bound: int, cells: int) -> None:
    """Write a checkpoint, which holds the best solution alone; none without a solution."""
    if best is None:
        return
    nothing = np.zeros(0, np.int64)
    state = CheckpointState(phase="items", capacity=0, objective=objective, bound=max(bound, objective), cells=cells)
    run.save_checkpoint({"taken": nothing, "open": nothing, "best": best}, state.model_dump())


def restored_solution(problem: ChoiceProblem, run: RunContext) -> tuple[NDArray[np.int64] | None, int, int]:
    """The best solution of a checkpoint, after an audit, its profit (-1 if there is none), and the cells computed."""
    checkpoint = run.restored
    if checkpoint is None:
        return None, -1, 0
    state, best = checked_state(checkpoint), checkpoint.arrays["best"]
    try:
        profit = evaluated(problem, best)
    except (ProblemError, AuditError) as error:
        raise RunFolderError(f"the checkpoint cannot be used: {error}") from error
    if profit != state.objective:
        raise RunFolderError("the checkpoint cannot be used: its objective is not that of its best solution")
    return best, profit, state.cells


class _ChoiceRun:
    """One solving: what is known, and how it was found."""

    def __init__(self, problem: ChoiceProblem, options: ChoiceOptions, pool: DevicePool, run: RunContext) -> None:
        self._problem, self._options, self._pool, self._run = problem, options, pool, run
        self._bytes = 0
        self._route = ""
        best, objective, self._cells = restored_solution(problem, run)
        given = given_solution(problem, options.initial)
        if given is not None and given[1] > objective:
            best, objective = given
        stages = stages_of(problem)
        self._found = reduce_stages(stages, objective, best, options.reduce, is_over=lambda: run.overdue > 0.0)
        self._fixed = problem.n - int((self._found.open.labels >= 0).sum())

    def solve(self) -> Result:
        """Bounds, table, audit."""
        status = Status.OPTIMAL
        self._run.offer(self._result)
        self._publish()
        try:
            if self._found.solved:
                self._say("bounds on the host prove the best solution found optimal")
            else:
                self._make_table()
        except StopRequested as stop:
            status = stop.status
            self._save()
        return self._result(status)

    def _make_table(self) -> None:
        found, run = self._found, self._run
        run.notice(f"{self._fixed} of {self._problem.n} items decided by bounds")
        table = ChoiceTable.of(found.open)
        capacities = " x ".join(f"{capacity + 1:,}" for capacity in table.capacities.tolist() if capacity)
        self._say(f"table of {counted(len(table.stages), 'stage')} and {capacities} capacities")
        fitting = [member for member in self._pool.members if table.shortage(member.info) is None]
        if not fitting:
            raise OutOfDeviceMemory(f"{table.shortage(self._pool.members[0].info)}; add a device with more memory")
        member = min(fitting, key=lambda member: not member.info.capabilities.simt)
        memory = min(int(_SHARE * member.memory().free), table.row_bytes * 2 + member.info.max_allocation)
        blocks = table.blocks(memory)
        room = max(int(table.cells[first:end].sum()) for first, end in blocks)
        self._bytes = 2 * table.row_bytes + room
        if self._options.items:
            each = table.row_bytes // table.row_cells
            size = sum(table.kept(first)[1] for first, _ in blocks[1:]) * each
            shared = self._bytes if member.info.capabilities.host_visible_memory else 0
            what = f"keeping {len(blocks) - 1} tables of {bytes_text(table.row_bytes)} to find the items by"
            require_host_memory(size + shared, what, "set items = false, or add a device with more memory")
        self._length = SliceLength(_FIRST_CELLS[member.info.capabilities.simt], growth=4.0)
        with WorkerGroup([member], ChoiceWorker, [(table, room)]) as workers:
            self._workers, self._table = workers, table
            best = found.profit + self._forward(blocks)
            if best <= found.objective:
                found.close()
            else:
                found.bound = best
                self._publish()
                if self._options.items:
                    labels = table.stages.labels[self._backward(blocks)]
                    items = np.concatenate([np.array(found.taken, np.int64), labels[labels >= 0]])
                    found.best, found.objective = np.sort(items), best

    def _forward(self, blocks: Sequence[tuple[int, int]]) -> int:
        """The value of the whole table; if items are wanted, rows before all blocks but the first are kept."""
        self._rows: list[list[NDArray[np.generic]]] = [[]]
        workers = self._workers
        workers.first(ChoiceWorker.start)
        for first, end in blocks:
            if first and self._options.items:
                parts = []
                for cell, count in self._pieces(first):
                    self._run.poll()
                    parts.append(workers.first(ChoiceWorker.get, cell, count))
                self._rows.append(parts)
            self._advance(first, end, "stages")
        return workers.first(ChoiceWorker.value)

    def _backward(self, blocks: Sequence[tuple[int, int]]) -> list[int]:
        """The options chosen; blocks whose choices were overwritten are made again."""
        workers, (c1, c2) = self._workers, self._table.capacities.tolist()
        cell = (c1, c2)
        options: list[int] = []
        for number in reversed(range(len(blocks))):
            first, end = blocks[number]
            if number + 1 < len(blocks):
                workers.first(ChoiceWorker.start)
                for part, (place, _) in zip(self._rows[number], self._pieces(first), strict=bool(number)):
                    self._run.poll()
                    workers.first(ChoiceWorker.put, part, place)
                self._advance(first, end, "backtracking")
            chosen, cell = workers.first(ChoiceWorker.trace, first, end, cell)
            options += chosen
        return options

    def _pieces(self, stage: int) -> list[tuple[int, int]]:
        """What has all cells before a stage, in pieces that take little time to copy: first element, and how many."""
        begin, count = self._table.kept(stage)
        return [(begin + at, min(_PIECE, count - at)) for at in range(0, count, _PIECE)]

    def _advance(self, first: int, end: int, phase: str) -> None:
        """Stages ``first`` .. ``end - 1``, in slices of several stages, or of parts of one that takes longer."""
        table, length = self._table, self._length
        work = [0, *np.cumsum(np.diff(table.stages.first) * table.cells).tolist()]
        at = first
        while at < end:
            self._run.poll()
            until = max(at + 1, min(end, bisect.bisect_right(work, work[at] + length.amount) - 1))
            if work[at + 1] - work[at] > length.amount:
                self._advance_in_parts(at, first, work[at + 1] - work[at])
            else:
                self._slice(work[until] - work[at], at, until, first)
            self._run.progress(phase, until, len(table.stages), "stages")
            at = until

    def _advance_in_parts(self, stage: int, first: int, work: int) -> None:
        """One stage that takes longer than a slice should."""
        at, lines = 0, self._table.lines(stage)
        while at < lines:
            self._run.poll()
            until = min(lines, at + max(1, lines * self._length.amount // work))
            self._slice((until - at) * (work // lines), stage, stage + 1, first, (at, until))
            at = until

    def _slice(self, done: int, *arguments: Any) -> None:
        """One slice on the device, of so many cells; a checkpoint is written if it is due."""
        seconds = self._workers.first(ChoiceWorker.advance, *arguments)
        self._length.took(seconds, done)
        self._cells += done
        self._run.metric("cells_per_second", done / max(seconds, 1e-9), self._workers.members[0].label)
        if self._run.checkpoint_due():
            self._save()

    def _say(self, route: str) -> None:
        self._route = route
        self._run.notice(f"route: {route}")

    def _publish(self) -> None:
        if self._found.best is not None:
            units = self._problem.in_units
            self._run.incumbent(units(self._found.objective), units(self._found.bound))

    def _save(self) -> None:
        found = self._found
        save_solution(self._run, found.best, found.objective, found.bound, self._cells)

    def _reason(self) -> str:
        """Why no items can be chosen: one of each class has to be."""
        problem = self._problem
        if not isinstance(problem, MultipleChoiceKnapsack):  # nothing is a choice, too
            return ""
        lightest = np.full(problem.class_count, np.iinfo(np.int64).max)
        np.minimum.at(lightest, problem.classes, problem.weights)
        return f"the lightest items of all classes weigh {lightest.sum()} together; the capacity is {problem.capacity}"

    def _result(self, status: Status) -> Result:
        found, units = self._found, self._problem.in_units
        counters: dict[str, int | float] = {
            "items": self._problem.n,
            "items_fixed": self._fixed,
            "cells": self._cells,
            "device_bytes": self._bytes,
        }
        arrays = {"route": np.array(self._route)}
        if status is Status.OPTIMAL and not self._options.items and found.bound >= 0:
            optimum = units(found.bound)
            self._run.incumbent(optimum, optimum)
            return Result(status, optimum, optimum, None, counters=counters, arrays=arrays)
        if found.best is None:
            status = Status.INFEASIBLE if status is Status.OPTIMAL else status
            bound = None if status is Status.INFEASIBLE else units(found.bound)
            reason = self._reason() if status is Status.INFEASIBLE else ""
            return Result(status, None, bound, None, counters=counters, arrays=arrays, reason=reason)
        if evaluated(self._problem, found.best) != found.objective:
            raise AuditError(f"the items found do not have the profit {found.objective} that was computed")
        self._publish()
        objective, bound = units(found.objective), units(found.bound)
        return Result(status, objective, bound, found.best, counters=counters, arrays=arrays)
