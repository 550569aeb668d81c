"""Solving one knapsack problem: bounds, a core search, the table that suits it, and the audit of the answer."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext, StopRequested
from ...base.result import Result, Status
from ...devices import DevicePool
from ...errors import AuditError, OutOfDeviceMemory
from .bits import SubsetSums, solve_sums
from .checkpoint import Progress, StartRow, StartTiles, restore, save
from .checks import given_solution
from .core import MOST_STATES, search_core
from .dense.table import DenseTable, Plan, plan
from .mip.process import IntegerProgram, Mip
from .options import Options
from .presolve import presolve
from .problem import Knapsack
from .sparse.table import SparseTable
from .task import TableTask, stops_before_compiling
from .validate import choose_table, packs_of, undecided, validate

__all__ = ["solve", "validate"]

_CORE_SECONDS = 0.3  # for the search of the core on the host, before a table is made
_CELLS_PER_SECOND = {True: 5e11, False: 1e9}  # of a dense table on one device, by `simt`
_QUICK_SECONDS, _FEW_STATES = 0.01, 1 << 12  # estimated, of a dense table; states of a core that is left for it
_MOST_KINDS = 200  # with copies, for HiGHS's branch and bound; it is the stronger, the fewer there are
_MIP_SECONDS = 5.0  # after which it is rarely of use


def solve(problem: Knapsack, options: Options, pool: DevicePool, run: RunContext) -> Result:
    """Solve a knapsack problem to optimality.

    Bounds and a search of a growing core on the host answer what is easy. What is left goes to dynamic programming on
    the devices: Bellman's recurrence ``f_k(c) = max(f_{k-1}(c), f_{k-1}(c - w_k) + p_k)`` over items by descending
    weight, on the cells that matter only (:mod:`.dense.schedule`). The returned items are added up again on the host
    before the run says optimal. Items with counts are packs of copies in a 0/1 problem.

    A resumed run returns the same value, but where several sets of items have it, it may return another one of them,
    and its number of cells is another: the rows before the checkpoint are gone, and the best solution known then
    decides more items.
    """
    session = _Solving(problem, options, pool, run)
    run.offer(session.result)
    status = Status.OPTIMAL
    try:
        session.solve()
    except StopRequested as stop:
        if not session.progress.is_saved:  # nor has it begun a table
            save(run, session.progress, session.reduced, session.start)
        status = stop.status
    return session.result(status)


class _Solving:
    """One solving: what is known, and the route taken."""

    def __init__(self, problem: Knapsack, options: Options, pool: DevicePool, run: RunContext) -> None:
        self._original, self._options, self._pool, self._run = problem, options, pool, run
        self._devices = [member.info for member in pool.members]
        self._packs = packs_of(problem, options)
        self._problem = problem = self._packs.problem
        self.start: Any = None
        self.progress = Progress()
        self._route = ""
        self._profile: NDArray[np.int64] | None = None
        if run.restored is not None:
            self.reduced, self.progress, self.start = restore(problem, run.restored)
        else:
            given = given_solution(self._original, options.initial)
            initial = None if given is None else self._packs.packs(given[0])
            # A checkpoint is made of what presolve has finished, so that it is cut short only where there is none.
            self.reduced = presolve(
                problem,
                options.reduce,
                initial,
                lambda: not run.keeps_checkpoints and run.overdue > 0.0,
                self._packs.copies,
            )
            self.progress.items_fixed = self._packs.decided(self._original.n, self.reduced.open)
        if options.items:
            self._packs.require_listable(self.reduced.best)

    def solve(self) -> None:
        """Take the shortest route that is open; what is known is kept up to date for a stop at any time."""
        reduced, run = self.reduced, self._run
        self._publish()
        if self._options.profile:
            with stops_before_compiling(self._pool, run):
                self._profile = self._values_of_all_capacities()
        if reduced.solved or not len(reduced.open):
            self._say("bounds on the host prove the best solution found optimal" if self._original.n else "no items")
            return
        run.poll()
        if self._options.reduce and run.restored is None:
            run.notice(f"{self.progress.items_fixed} of {self._original.n} items fixed by bounds")
            if self._search_core() or self._search_kinds():
                return
            run.poll()
        with stops_before_compiling(self._pool, run):
            self._make_table()
        optimum = self.progress.optimum
        if optimum is not None and reduced.bound != optimum:
            raise AuditError(
                f"the capacity in the checkpoint allows {reduced.bound}, but its bound is {optimum}; begin again "
                "with --from-start"
            )

    def _make_table(self) -> None:
        """Solve what is left by the table that suits it."""
        reduced, run = self.reduced, self._run
        table, reason = self._choose_table()
        size = f"{len(reduced.open):,} open items x {reduced.capacity + 1:,} capacities"
        kind = "sparse table" if table is None else "row of bits" if isinstance(table, SubsetSums) else "dense table"
        self._say(f"{kind} of {size}, {reason}")
        task = TableTask(self._problem, self._options, self._pool, run, reduced, self.progress, self._publish)
        if isinstance(table, SubsetSums):
            solve_sums(task, table)
        elif table is None:
            sparse = SparseTable(task, self.start)
            try:
                sparse.solve()
            finally:
                self._route += sparse.places
        else:
            DenseTable(task, table, self.start).run()

    def _values_of_all_capacities(self) -> NDArray[np.int64]:
        everything = undecided(self._problem)
        if not len(everything.open):
            return np.zeros(self._problem.capacity + 1, np.int64)
        options = self._options.model_copy(update={"items": False})
        whole = plan(self._problem, options, everything, self._devices, profile=True)
        task = TableTask(self._problem, options, self._pool, self._run, everything, self.progress, self._publish)
        return DenseTable(task, whole).profile()

    def _choose_table(self) -> tuple[Plan | SubsetSums | None, str]:
        """That of a checkpoint, or the one that suits the open items."""
        if isinstance(self.start, StartTiles):
            return None, "from a checkpoint"
        if isinstance(self.start, StartRow):
            done = np.isin(self.reduced.open, self.start.done)
            return plan(self._problem, self._options, self.reduced, self._devices, done), "from a checkpoint"
        return choose_table(self._problem, self._options, self.reduced, self._devices)

    def _search_core(self) -> bool:
        """Whether a search of the core on the host solves the problem."""
        reduced, run = self.reduced, self._run
        cells = len(reduced.open) * reduced.capacity
        rate = sum(_CELLS_PER_SECOND[info.capabilities.simt] for info in self._devices)
        states = _FEW_STATES if cells <= _QUICK_SECONDS * rate else MOST_STATES  # beyond, a table is the quicker way
        search_core(self._problem, reduced, min(_CORE_SECONDS, max(0.0, run.time_left)), run.poll, states)
        self._publish()
        if not reduced.solved:
            reduced.fix(self._problem)
            self.progress.items_fixed = self._packs.decided(self._original.n, reduced.open)
            self._publish()
        if reduced.solved:
            self._say("core of the items, searched on the host")
        return reduced.solved

    def _search_kinds(self) -> bool:
        """Whether HiGHS's branch and bound, with one integer for all copies of an item, solves the problem."""
        reduced, packs, run = self.reduced, self._packs, self._run
        has_copies = bool((packs.copies > 1).any())
        if self._options.variant != "auto" or not has_copies or len(np.unique(packs.item)) > _MOST_KINDS:
            return False
        copies = packs.copies_of(reduced.open)
        kinds = np.flatnonzero(copies)
        fixed = int(self._problem.profits[reduced.taken].sum())
        weights = self._original.weights[kinds][None] // packs.divisor
        program = IntegerProgram(self._original.profits[kinds], weights, np.array([reduced.capacity]), copies[kinds])
        if not program.is_exact:
            return False
        run.notice(f"HiGHS searches {len(kinds)} integers")
        try:
            self._choose_table()
            seconds = _MIP_SECONDS
        except OutOfDeviceMemory:  # no table can follow
            seconds = math.inf
        with Mip(program, min(seconds, run.time_left)) as mip:
            try:
                mip.wait(run.poll)
            finally:
                if mip.best is not None and fixed + mip.objective > reduced.objective:
                    copies = packs.copies_of(reduced.taken)
                    copies[kinds] += mip.best
                    reduced.improve(packs.packs_of(copies), fixed + mip.objective)
        if mip.bound is not None:
            reduced.bound = max(reduced.objective, min(reduced.bound, fixed + mip.bound))
        self._publish()
        if reduced.solved:
            reduced.close()
            self._say(f"{len(kinds)} integers, searched by HiGHS")
        return reduced.solved

    def _say(self, route: str) -> None:
        self._route = route
        self._run.notice(f"route: {route}")

    def _publish(self) -> None:
        self._run.incumbent(self._in_units(self.reduced.objective), self._in_units(self.reduced.bound))

    def _in_units(self, profit: int) -> int | float:
        """A profit of packs as one of the original problem, in the unit of the given profits."""
        return self._original.in_units(profit + self._packs.free_profit)

    def result(self, status: Status) -> Result:
        """The answer, audited."""
        reduced, progress, units = self.reduced, self.progress, self._in_units
        counters: dict[str, int | float] = {
            "items": self._original.n,
            "items_fixed": progress.items_fixed,
            "cells": progress.cells,
            "exchanged_bytes": progress.exchanged_bytes,
            "device_bytes": progress.device_bytes,
        }
        arrays: dict[str, NDArray[Any]] = {"route": np.array(self._route)}
        if self._profile is not None:
            values = self._profile + self._packs.free_profit
            if self._packs.divisor > 1:  # capacities between two multiples of it are those of the lower one
                values = values[np.arange(self._original.capacity + 1) // self._packs.divisor]
            arrays["profile"] = values if self._original.scale == 1 else values / self._original.scale
        if status is Status.OPTIMAL and not self._options.items:
            optimum = units(reduced.bound)
            self._run.incumbent(optimum, optimum)
            return Result(status, optimum, optimum, None, counters=counters, arrays=arrays)
        if status is Status.OPTIMAL and reduced.objective != reduced.bound:
            raise AuditError(f"items of profit {reduced.objective} were found, but the optimum is {reduced.bound}")
        self._publish()
        objective, bound = units(reduced.objective), units(reduced.bound)
        return Result(status, objective, bound, self._audited(), counters=counters, arrays=arrays)

    def _audited(self) -> NDArray[np.int64]:
        """The solution, added up again in exact integers."""
        items = self._packs.original(self.reduced.best)
        profit, weight = self._original.sums(items)
        computed = self.reduced.objective + self._packs.free_profit
        if profit != computed or weight > self._original.capacity:
            raise AuditError(
                f"the items found have profit {profit} and weight {weight}, but profit {computed} within "
                f"{self._original.capacity} was computed"
            )
        return items
