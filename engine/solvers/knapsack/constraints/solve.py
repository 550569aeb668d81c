"""Solving a knapsack with several constraints: reduction, branch and bound on a device, a table or HiGHS, the audit."""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext, StopRequested
from ....base.result import Result, Status
from ....devices import DeviceInfo, DevicePool
from ....errors import AuditError, OptionError, ProblemError
from ....util.text import counted
from ..checks import evaluated, given_solution
from ..choice import solve as stages
from ..choice.bounds import stages_of
from ..choice.table import ChoiceTable
from ..mip.process import IntegerProgram, Mip
from ..options import ConstraintOptions
from ..task import stops_before_compiling
from .core import Core
from .problem import MultidimensionalKnapsack
from .search import Search
from .worker import MOST_ROWS

_TABLE_CELLS_PER_SECOND = {True: 2e10, False: 3e8}  # by `simt`
_TABLE_SECONDS = 0.3  # of a search, before a table of fewer estimated seconds replaces it


def validate(problem: MultidimensionalKnapsack, options: ConstraintOptions, devices: Sequence[DeviceInfo]) -> None:
    """Check what joins the problem, the options and the devices."""
    given_solution(problem, options.initial)
    if options.variant == "table" and problem.m > 2:
        raise OptionError(f"variant = table needs one or two constraints; the problem has {problem.m}")
    if options.variant == "search" and problem.m >= MOST_ROWS:
        raise OptionError(f"variant = search needs less than {MOST_ROWS} constraints; the problem has {problem.m}")
    searchable = _program(Core.of(problem)).is_exact
    if options.variant == "table" or (options.variant == "auto" and not searchable and problem.m <= 2):
        stages.validate(problem, options, devices)
    elif not searchable:
        raise ProblemError("the sums of the profits and of each row of weights must be below 2^50")
    elif options.variant == "search" and not any(info.capabilities.fp64 for info in devices):
        raise OptionError("variant = search needs a device with 64-bit floating-point numbers")


def solve(problem: MultidimensionalKnapsack, options: ConstraintOptions, pool: DevicePool, run: RunContext) -> Result:
    """Solve a knapsack with several constraints to optimality.

    Items are decided by Lagrangian bounds (:mod:`.core`); what is left is searched by branch and bound on the first CPU
    of the pool, or the first device (:mod:`.search`). With one or two constraints a table of all values of the
    capacities replaces a search that has taken longer than the table is estimated to take. HiGHS solves what the search
    cannot be made for. A run that is stopped resumes with its best solution and bound, and searches again.
    """
    if options.variant == "table" or (not _program(Core.of(problem)).is_exact and options.variant == "auto"):
        return stages.solve(problem, options, pool, run)
    return _ConstraintRun(problem, options, pool, run).solve()


def _program(core: Core) -> IntegerProgram:
    """What is left as an integer program."""
    return IntegerProgram(core.profits, core.weights, core.capacities, np.ones(len(core), np.int64))


class _TablePreferred(Exception):
    """A table is estimated to be faster than what is left of the search."""


class _ConstraintRun:
    """One solving: the best solution and bound, and how they were found."""

    def __init__(
        self, problem: MultidimensionalKnapsack, options: ConstraintOptions, pool: DevicePool, run: RunContext
    ) -> None:
        self._problem, self._options, self._pool, self._run = problem, options, pool, run
        self._able = [member for member in pool.members if member.info.capabilities.fp64]
        self._core = Core.of(problem)
        self._best = np.zeros(0, np.int64)
        self._objective, self._nodes, self._fixed, self._route = 0, 0, 0, ""
        self._bound = int(self._core.profits.sum())
        restored, _, _ = stages.restored_solution(problem, run)
        given = given_solution(problem, options.initial)
        for items in (restored, None if given is None else given[0], self._core.chosen(self._core.greedy())):
            if items is not None:
                self._improve(items)

    def _improve(self, items: NDArray[np.int64]) -> int:
        """Take over a solution, added up in exact integers, if it is the best so far; the objective."""
        profit = evaluated(self._problem, items)
        if profit > self._objective:
            self._best, self._objective = np.sort(items), profit
            self._bound = max(self._bound, profit)
            self._publish()
        return self._objective

    def _publish(self) -> None:
        units = self._problem.in_units
        self._run.incumbent(units(self._objective), units(self._bound))

    def _lower(self, bound: int) -> None:
        if bound < self._bound:
            self._bound = max(bound, self._objective)
            self._publish()

    def solve(self) -> Result:
        """Reduction, search, audit."""
        status, began = Status.OPTIMAL, time.monotonic()
        self._run.offer(self._result)
        self._publish()
        try:
            if self._objective >= self._bound:
                self._say("all items that fit alone fit together, or none brings profit")
            elif self._options.variant == "highs" or self._problem.m >= MOST_ROWS or not self._able:
                self._by_highs()
            else:
                with stops_before_compiling(self._pool, self._run):
                    self._by_search(began)
            self._bound = self._objective
        except _TablePreferred:
            table = self._options.model_copy(update={"initial": tuple(self._best.tolist())})
            result = stages.solve(self._problem, table, self._pool, self._run)
            return replace(result, counters={**result.counters, "nodes": self._nodes})
        except StopRequested as stop:
            status = stop.status
            stages.save_solution(self._run, self._best, self._objective, self._bound, 0)
        return self._result(status)

    def _by_search(self, began: float) -> None:
        member = min(self._able, key=lambda member: member.info.capabilities.simt)
        self._say(f"branch and bound over {self._size()}")
        table_seconds = self._table_seconds()
        saved = time.monotonic()

        def poll(bound: int, nodes: int, seconds: float) -> None:
            nonlocal saved
            self._lower(bound)
            self._nodes += nodes
            self._run.metric("nodes_per_second", nodes / max(seconds, 1e-9), member.label)
            self._run.poll()
            if self._run.checkpoint_due():
                stages.save_solution(self._run, self._best, self._objective, self._bound, 0)
            if time.monotonic() - began > max(_TABLE_SECONDS, table_seconds):
                raise _TablePreferred

        search = Search(member, self._core, self._options.reduce, self._improve, poll)
        try:
            search.run(self._objective)
        finally:
            self._lower(search.bound)
            self._fixed = self._problem.n - len(self._core) + search.fixed

    def _size(self) -> str:
        return f"{counted(len(self._core), 'item')} and {counted(self._problem.m, 'constraint')}"

    def _table_seconds(self) -> float:
        """How long a table of all values of the capacities may take; infinite where there is none."""
        if self._problem.m > 2 or self._options.variant != "auto":
            return np.inf
        table = ChoiceTable.of(stages_of(self._problem))
        able = [member.info for member in self._pool.members if table.shortage(member.info) is None]
        if not able:
            return np.inf
        rate = max(_TABLE_CELLS_PER_SECOND[info.capabilities.simt] for info in able)
        return 4.0 * float(table.cells.astype(np.float64).sum()) / rate

    def _by_highs(self) -> None:
        core, base = self._core, self._core.base
        self._say(f"HiGHS's branch and bound over {self._size()}")
        start = np.isin(core.items, self._best).astype(np.int64)
        with Mip(_program(core), self._run.time_left, start) as mip:
            while not mip.step():
                if mip.best is not None and base + mip.objective > self._objective:
                    self._improve(core.chosen(mip.best > 0))
                self._run.poll()
        if mip.best is not None:
            self._improve(core.chosen(mip.best > 0))
        if mip.bound is not None:
            self._lower(base + mip.bound)
        if self._bound > self._objective:
            self._run.poll()
            why = mip.fault or "or its solution is not feasible in exact integers"
            raise AuditError(f"HiGHS ended without a proof, {why}")

    def _say(self, route: str) -> None:
        self._route = route
        self._run.notice(f"route: {route}")

    def _result(self, status: Status) -> Result:
        counters: dict[str, int | float] = {"items": self._problem.n, "items_fixed": self._fixed, "nodes": self._nodes}
        arrays = {"route": np.array(self._route)}
        if evaluated(self._problem, self._best) != self._objective:
            raise AuditError(f"the items found do not have the profit {self._objective} that was computed")
        self._publish()
        objective, bound = self._problem.in_units(self._objective), self._problem.in_units(self._bound)
        solution = None if status is Status.OPTIMAL and not self._options.items else self._best
        return Result(status, objective, bound, solution, counters=counters, arrays=arrays)
