"""Solving one knapsack problem: bounds, a core search, the table that suits it, and the audit of the answer."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext, StopRequested
from ...base.result import Result, Status
from ...devices import DeviceInfo, DevicePool
from ...errors import AuditError, OptionError, OutOfDeviceMemory, ProblemError
from .bits.table import BitTable, SubsetSums
from .bounded import ZeroOne
from .checks import require_host_memory, shown
from .compilation import stops_before_compiling
from .core import MOST_STATES
from .dense.table import DenseTable, Plan, plan
from .mip.process import IntegerProgram, Mip
from .options import Options
from .presolve import Reduced, presolve
from .problem import Knapsack
from .programs import PAD
from .resume import Progress, StartRow, StartTiles, restore
from .sparse.table import SparseTable, fault, preference, sparse_items
from .task import TableTask

__all__ = ["solve", "validate"]

_VALIDATION_SECONDS = 0.2  # for bounds before the run begins; beyond, the run checks its memory itself
_VALIDATION_ITEMS = 50_000  # beyond, the first step alone takes a good part of that
_CORE_SECONDS = 0.3  # for the search of the core on the host, before a table is made
_CELLS_PER_SECOND = {True: 5e11, False: 1e9}  # of a dense table on one device, by `simt`
_SPARSE_WEIGHT = 1 << 14  # of the heaviest item, below which a sparse table soon is a dense one
_BIT_SECONDS = 2.0  # estimated, of a row of bits that is preferred to other tables
_QUICK_SECONDS, _FEW_STATES = 0.01, 1 << 12  # estimated, of a dense table; states of a core that is left for it
_MOST_KINDS = 200  # with copies, for HiGHS's branch and bound; it is the stronger, the fewer there are
_MIP_SECONDS = 5.0  # after which it is rarely of use
_SMALL_CELLS = {True: 7e9, False: 5e7}  # for each device: of a dense table that is not worth a sparse one, by `simt`


def validate(problem: Knapsack, options: Options, devices: Sequence[DeviceInfo]) -> None:
    """Check what joins the problem, the options and the devices.

    Parameters
    ----------
    problem : Knapsack
    options : Options
    devices : sequence of DeviceInfo

    Raises
    ------
    engine.errors.ProblemError
        If the profits are too large for the tables.
    engine.errors.OptionError
        If ``variant`` does not go with the problem or with a profile, the host's memory does not hold the profile, or
        ``initial`` is not a solution.
    engine.errors.OutOfDeviceMemory
        If the table cannot fit the devices.
    """
    _given(problem, options)
    packs = _packs(problem, options)
    problem = packs.problem
    fits = (problem.weights <= problem.capacity) & (problem.profits > 0)
    if options.profile:
        require_host_memory(
            8 * (problem.capacity * packs.divisor + 1), "the profile of every capacity", "set profile = false"
        )
    all_fit = int(problem.weights[fits].sum()) <= problem.capacity
    if (options.profile or not all_fit) and int(problem.profits[fits].sum()) >= 2**61:
        raise ProblemError("the sum of profits must be below 2^61 for 64-bit values")
    if options.profile and fits.any():
        if options.variant in ("sparse", "bits"):
            raise OptionError(f"the profile needs a dense table; variant must not be {options.variant}")
        short = plan(problem, options, _undecided(problem), devices, profile=True).shortage(devices)
        if short is not None:
            raise OutOfDeviceMemory(f"{short}; add devices, or set profile = false")
    if all_fit:
        return
    if (
        problem.n > _VALIDATION_ITEMS
        or packs.is_for_mip(_MOST_KINDS, options.variant)
        or (options.variant not in ("sparse", "bits") and _surely_fits(problem, fits, devices))
    ):
        return
    until = time.monotonic() + _VALIDATION_SECONDS
    reduced = presolve(problem, options.reduce, is_over=lambda: time.monotonic() > until, copies=packs.copies)
    if not reduced.solved and len(reduced.open) and time.monotonic() <= until:
        _choose(problem, options, reduced, devices)  # else the run finds out, on its own time


def _packs(problem: Knapsack, options: Options) -> ZeroOne:
    """The 0/1 problem to solve; a table that the user has chosen is made of the items as they are."""
    return ZeroOne.of(problem, merge=options.reduce and options.variant == "auto" and not options.profile)


def _given(problem: Knapsack, options: Options) -> NDArray[np.int64] | None:
    """The solution of the option ``initial``, checked.

    Raises
    ------
    engine.errors.OptionError
        If it is not a feasible solution.
    """
    if options.initial is None:
        return None
    outside = [item for item in options.initial if not 0 <= item < problem.n]
    if outside:
        raise OptionError(f"initial must hold items from 0 to {problem.n - 1}; got {shown(outside[0])}")
    items = np.array(options.initial, np.int64)
    copies = np.bincount(items, minlength=problem.n)
    most = np.ones(problem.n, np.int64) if problem.counts is None else problem.counts
    if (copies > most).any():
        item = int(np.argmax(copies > most))
        raise OptionError(f"initial takes item {item} {copies[item]} times; at most {most[item]} is allowed")
    weight = sum(problem.weights[items].tolist())
    if weight > problem.capacity:
        raise OptionError(f"initial has the weight {weight}; the capacity is {problem.capacity}")
    return items


def _undecided(problem: Knapsack) -> Reduced:
    """All items that fit and bring something, none decided."""
    items = np.flatnonzero((problem.weights <= problem.capacity) & (problem.profits > 0)).astype(np.int64)
    return Reduced(items[:0], items, problem.capacity, items[:0], 0, int(problem.profits[items].sum()))


def _surely_fits(problem: Knapsack, fits: NDArray[np.bool_], devices: Sequence[DeviceInfo]) -> bool:
    """Whether a dense table of all items certainly fits; cheaper than a plan."""
    row = 8 * (min(problem.capacity, int(problem.weights[fits].sum())) + 1 + PAD)
    needed = (4 * row + 32 * problem.n) * len(devices)
    return all(needed <= info.memory and 2 * row <= info.max_allocation for info in devices)


def _choose(
    problem: Knapsack, options: Options, reduced: Reduced, devices: Sequence[DeviceInfo]
) -> tuple[Plan | SubsetSums | None, str]:
    """The plan of the dense table or the row of bits, or None for the sparse table, and why; raises if none fits."""
    sums = SubsetSums.of(problem, reduced) if options.variant in ("auto", "bits") else None
    if options.variant == "bits":
        if sums is None:
            raise OptionError("variant = bits needs profits in proportion to the weights")
        if all(sums.shortage(info) is not None for info in devices):
            raise OutOfDeviceMemory(f"{sums.shortage(devices[0])}; add a device with more memory")
        return sums, "chosen by the option variant"
    fitting = [] if sums is None else [info for info in devices if sums.shortage(info) is None]
    if sums is not None and fitting and min(map(sums.seconds, fitting)) <= _BIT_SECONDS:
        return sums, "since profits are in proportion to weights"
    if options.variant == "sparse":
        items = sparse_items(problem, reduced)
        no_sparse = fault(items, min(devices, key=preference))
        if no_sparse is not None:
            raise (OutOfDeviceMemory if items.fits else OptionError)(f"the sparse table is impossible: {no_sparse}")
        return None, "chosen by the option variant"
    dense = plan(problem, options, reduced, devices)
    short = dense.shortage(devices)
    if short is None:
        if options.variant != "auto":
            return dense, "chosen by the option variant"
        if dense.cost <= sum(_SMALL_CELLS[info.capabilities.simt] for info in devices):
            return dense, f"chosen for the work of few cells ({dense.cost:.2g})"
        if int(problem.weights[reduced.open].max()) < _SPARSE_WEIGHT:
            return dense, "since light items reach every capacity"
    items = sparse_items(problem, reduced)
    no_sparse = fault(items, min(devices, key=preference))
    if short is not None:
        if options.variant != "auto" and no_sparse is None:
            raise OutOfDeviceMemory(f'{short}; add devices, or set variant = "sparse"')
        if options.variant != "auto" or no_sparse is not None:
            raise OutOfDeviceMemory(f"{short}; add devices")
        return None, "since a dense table does not fit the devices"
    if no_sparse is not None:
        return dense, f"since a sparse table is impossible: {no_sparse}"
    return None, f"since a dense table has the work of {dense.cost:.2g} cells"


def solve(problem: Knapsack, options: Options, pool: DevicePool, run: RunContext) -> Result:
    """Solve a knapsack problem to optimality.

    Bounds and a search of a growing core on the host answer what is easy. What is left goes to dynamic programming on
    the devices: Bellman's recurrence ``f_k(c) = max(f_{k-1}(c), f_{k-1}(c - w_k) + p_k)`` over items by descending
    weight, on the cells that matter only (see :mod:`engine.solvers.knapsack.dense.schedule`). The returned items are
    added up again on the host before the run says optimal. Items with counts are packs of copies in a 0/1 problem.

    A resumed run returns the same value, but where several sets of items have it, it may return another one of them,
    and its number of cells is another: the rows before the checkpoint are gone, and the best solution known then
    decides more items.

    Parameters
    ----------
    problem : Knapsack
    options : Options
    pool : DevicePool
    run : RunContext

    Returns
    -------
    Result
        ``solution`` holds sorted item indices; counters: ``"items"``, ``"items_fixed"``, ``"cells"``,
        ``"exchanged_bytes"``, and ``"device_bytes"`` planned on each device; arrays: ``"route"`` says how the problem
        was solved, and ``"profile"``, shape (capacity + 1,), has the optimal value of every capacity if it was asked
        for. A run that is stopped returns the best solution found and the best proven bound.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the table does not fit the devices.
    engine.errors.RunFolderError
        If the checkpoint to resume from does not belong to the problem.
    engine.errors.AuditError
        If the items do not add up to the value.
    """
    session = _Solving(problem, options, pool, run)
    run.offer(session.result)
    status = Status.OPTIMAL
    try:
        session.solve()
    except StopRequested as stop:
        status = stop.status
    return session.result(status)


class _Solving:
    """One solving: what is known, and the route taken."""

    def __init__(self, problem: Knapsack, options: Options, pool: DevicePool, run: RunContext) -> None:
        self._original = problem
        self._packs = _packs(problem, options)
        self._problem = problem = self._packs.problem
        self._options = options
        self._pool = pool
        self._run = run
        self._start: Any = None
        self._progress = Progress()
        self._route = ""
        self._profile: NDArray[np.int64] | None = None
        if run.restored is not None:
            self._reduced, self._progress, self._start = restore(problem, run.restored)
        else:
            given = _given(self._original, options)
            initial = None if given is None else self._packs.packs(given)
            # A checkpoint is made of what presolve has finished, so that it is cut short only where there is none.
            self._reduced = presolve(
                problem,
                options.reduce,
                initial,
                lambda: not run.keeps_checkpoints and run.overdue > 0.0,
                self._packs.copies,
            )
            self._progress.items_fixed = problem.n - len(self._reduced.open)
        if options.items:
            self._packs.require_listable(self._reduced.best)

    def solve(self) -> None:
        """Take the shortest route that is open; what is known is kept up to date for a stop at any time."""
        reduced, run = self._reduced, self._run
        self._publish()
        try:
            self._solve()
            optimum = self._progress.optimum
            if optimum is not None and reduced.bound != optimum:
                raise AuditError(
                    f"the capacity in the checkpoint allows {reduced.bound}, but its bound is {optimum}; begin again "
                    "with --from-start"
                )
        except StopRequested:
            if not self._progress.is_saved:  # no table was begun
                self._progress.save(run, reduced, self._start)
            raise

    def _solve(self) -> None:
        reduced, run = self._reduced, self._run
        if self._options.profile:
            with stops_before_compiling(self._pool, run):
                self._profile = self._values_of_all_capacities()
        if reduced.solved or not len(reduced.open):
            self._say("bounds on the host prove the best solution found optimal" if self._original.n else "no items")
            return
        run.poll()
        if self._options.reduce and run.restored is None:
            run.notice(f"{self._progress.items_fixed} of {self._problem.n} items fixed by bounds")
            if self._search_core() or self._search_kinds():
                return
            run.poll()
        with stops_before_compiling(self._pool, run):
            self._make_table()

    def _make_table(self) -> None:
        """Solve what is left by the table that suits it."""
        reduced, run = self._reduced, self._run
        table, reason = self._choice()
        size = f"{len(reduced.open):,} open items x {reduced.capacity + 1:,} capacities"
        kind = "sparse table" if table is None else "row of bits" if isinstance(table, SubsetSums) else "dense table"
        self._say(f"{kind} of {size}, {reason}")
        task = TableTask(self._problem, self._options, self._pool, run, reduced, self._progress)
        if isinstance(table, SubsetSums):
            BitTable(task, table).run()
        elif table is None:
            tiles = self._start if isinstance(self._start, StartTiles) else None
            sparse = SparseTable(task, tiles)
            try:
                sparse.solve()
            finally:
                self._route += sparse.places
        else:
            row = self._start if isinstance(self._start, StartRow) else None
            DenseTable(task, table, row).run()

    def _values_of_all_capacities(self) -> NDArray[np.int64]:
        everything = _undecided(self._problem)
        if not len(everything.open):
            return np.zeros(self._problem.capacity + 1, np.int64)
        devices = [member.info for member in self._pool.members]
        options = self._options.model_copy(update={"items": False})
        whole = plan(self._problem, options, everything, devices, profile=True)
        task = TableTask(self._problem, options, self._pool, self._run, everything, self._progress)
        return DenseTable(task, whole).profile()

    def _choice(self) -> tuple[Plan | SubsetSums | None, str]:
        """The table that :func:`_choose` takes; a checkpoint's table is continued."""
        devices = [member.info for member in self._pool.members]
        if isinstance(self._start, StartTiles):
            return None, "from a checkpoint"
        if isinstance(self._start, StartRow):
            done = np.isin(self._reduced.open, self._start.done)
            return plan(self._problem, self._options, self._reduced, devices, done), "from a checkpoint"
        return _choose(self._problem, self._options, self._reduced, devices)

    def _search_core(self) -> bool:
        """Whether a search of the core on the host solves the problem."""
        reduced = self._reduced
        core = reduced.search_core(self._problem)
        try:
            core.run(min(_CORE_SECONDS, max(0.0, self._run.time_left)), self._run.poll, self._core_states())
        except StopRequested:
            reduced.adopt(self._problem, core)
            self._progress.save(self._run, reduced)
            raise
        reduced.adopt(self._problem, core)
        self._publish()
        if not core.proved:
            reduced.fix(self._problem)
            self._progress.items_fixed = self._problem.n - len(reduced.open)
            self._publish()
        if reduced.solved:
            self._say("core of the items, searched on the host")
        return reduced.solved

    def _search_kinds(self) -> bool:
        """Whether HiGHS's branch and bound, with one integer for all copies of an item, solves the problem."""
        reduced, packs, run = self._reduced, self._packs, self._run
        if not packs.is_for_mip(_MOST_KINDS, self._options.variant):
            return False
        copies = packs.copies_of(reduced.open)
        kinds = np.flatnonzero(copies)
        fixed = int(self._problem.profits[reduced.taken].sum())
        weights = self._original.weights[kinds][None] // packs.divisor
        program = IntegerProgram(self._original.profits[kinds], weights, np.array([reduced.capacity]), copies[kinds])
        if not program.is_exact:
            return False
        run.notice(f"HiGHS searches {len(kinds)} integers")
        with Mip(program, min(self._mip_seconds(), run.time_left)) as mip:
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

    def _mip_seconds(self) -> float:
        """For how long HiGHS may search: without limit where no table can follow."""
        try:
            self._choice()
        except OutOfDeviceMemory:
            return math.inf
        return _MIP_SECONDS

    def _core_states(self) -> int:
        """States of a core beyond which a table is the quicker way."""
        cells = len(self._reduced.open) * self._reduced.capacity
        rate = sum(_CELLS_PER_SECOND[member.info.capabilities.simt] for member in self._pool.members)
        return _FEW_STATES if cells <= _QUICK_SECONDS * rate else MOST_STATES

    def _say(self, route: str) -> None:
        self._route = route
        self._run.notice(f"route: {route}")

    def _publish(self) -> None:
        self._run.incumbent(self._in_units(self._reduced.objective), self._in_units(self._reduced.bound))

    def _in_units(self, profit: int) -> int | float:
        """A profit of packs as one of the original problem, in the unit of the given profits."""
        return self._original.in_units(profit + self._packs.free_profit)

    def result(self, status: Status) -> Result:
        """The answer, audited."""
        reduced, progress, units = self._reduced, self._progress, self._in_units
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
        items = self._packs.original(self._reduced.best)
        profit, weight = self._original.sums(items)
        computed = self._reduced.objective + self._packs.free_profit
        if profit != computed or weight > self._original.capacity:
            raise AuditError(
                f"the items found have profit {profit} and weight {weight}, but profit {computed} within "
                f"{self._original.capacity} was computed"
            )
        return items
