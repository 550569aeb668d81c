"""Solving one permutation problem: the first solution, the search over the pool, the audit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext, StopRequested
from ...base.result import Result, Status
from ...devices import DevicePool
from ...errors import AuditError, DeviceError
from . import checkpoint
from .checkpoint import Progress
from .heuristics.search import first_schedule, improves, solve_without_tree
from .intervals import Units, cut
from .options import Options
from .problems.flowshop import Flowshop
from .search.coordinator import Coordinator
from .search.messages import Found
from .search.progress import Remaining
from .tree import INFINITY, PermutationProblem, Tree
from .validate import first_solution, is_brief, planned_bytes, tree_of

__all__ = ["solve"]

_PIECES_PER_DEVICE = 16


def _without_search(options: Options, value: int, solution: NDArray[np.int64] | None) -> Result:
    """The result of a problem with one solution, or of a count that is known."""
    counters: dict[str, int | float] = {"nodes": 0, "leaves": 1}
    upper = getattr(options, "upper_bound", None)
    if getattr(options, "all_solutions", False):
        counters["solutions"] = 1
    if solution is None:
        return Result(Status.COMPLETE, value, value, None, counters=counters)
    if upper is not None and value >= upper and isinstance(getattr(options, "initial", ""), str):
        return Result(Status.BOUND_PROVED, None, max(value, upper), None, counters=counters)
    return Result(Status.OPTIMAL, value, value, solution, counters=counters)


@dataclass
class _Incumbent:
    """The best solution so far, if any; ``initial`` is the upper bound that branching depends on."""

    tree: Tree
    initial: int
    value: int
    solution: NDArray[np.int64] | None
    improved: bool = False

    def accept(self, found: Found) -> bool:
        """Take over a leaf found by a device if it is better; its value is computed again from the instance.

        Raises
        ------
        engine.errors.AuditError
            If the device's value is not that of its solution.
        """
        solution = self.tree.solution(found.path, found.sides)
        value = self.tree.evaluate(solution)
        if value != found.value:
            raise AuditError(f"a solution of value {value} was reported with the value {found.value}")
        if value >= self.value:
            return False
        self.value, self.solution, self.improved = value, solution, True
        return True


def solve(problem: PermutationProblem, options: Options, pool: DevicePool, run: RunContext) -> Result:
    """Search the whole tree of a permutation problem, or count its solutions.

    Returns
    -------
    Result
        ``optimal`` with the best solution; ``bound_proved``, without a solution, where no solution is below
        ``upper_bound`` and ``initial`` is none of that value; its ``bound`` is ``upper_bound``, or the root's bound
        where that is higher. ``infeasible`` where there is no solution at all; ``complete`` where solutions are
        counted. Counters: ``nodes`` (decomposed nodes, the root among them), ``leaves``, ``steals``,
        ``exchanged_intervals``. A run that is stopped has the counter ``nodes_left`` where that has been estimated, and
        its open intervals in ``arrays``: ``begin`` and ``end``, shape (units, n), as digits (see
        :mod:`engine.solvers.branch_and_bound.intervals`), and ``fresh``, shape (units,). The digit sums by level of all
        that was explored, shape (n,), are the array ``explored``. With ``all_solutions`` these are of the second
        search, and ``solutions`` counts the optimal solutions.

    Raises
    ------
    engine.errors.AuditError
        If the explored intervals do not add up to n! exactly, if nodes were lost, or if a solution does not have the
        value it was found with.
    engine.errors.DeviceError
        If every device has failed; a checkpoint has been written then.
    """
    only = problem.only_solution()
    if only is not None:
        return _without_search(options, *only)
    if isinstance(problem, Flowshop) and not problem.has_tree:
        return solve_without_tree(problem, options, pool, run)
    tree = tree_of(problem, options)
    tree.improved = isinstance(problem, Flowshop) and improves(problem, options)
    _require_memory(tree, options, pool)
    if options.strategy == "ring":
        run.notice("strategy = 'ring' keeps few IVMs at work; the default, siblings, spreads the work over all of them")
    incumbent, before, counting = _begin(problem, tree, options, run, _dealt_to(pool), pool)
    if not counting:
        result = _search(tree, incumbent, before, options, pool, run)
        if result.status is not Status.OPTIMAL or not getattr(options, "all_solutions", False):
            return result
        incumbent = _Incumbent(tree, incumbent.value + 1, incumbent.value, incumbent.solution)
        before = Progress(cut(tree.items, 0), np.zeros(tree.items, np.int64), {}, incumbent.value)
    tree.counts, tree.counts_below, tree.improved = True, True, False
    return _search(tree, incumbent, before, options, pool, run)


def _search(
    tree: Tree, incumbent: _Incumbent, before: Progress, options: Options, pool: DevicePool, run: RunContext
) -> Result:
    """Search the rest of a tree: for a better solution, or to count its leaves."""
    lower = max(tree.lower_bound(), before.bound)
    needed = _is_needed(tree, incumbent, before)

    def publish() -> None:
        if not tree.counts:
            known = incumbent.solution is not None
            run.incumbent(incumbent.value if known else None, search.bound, incumbent.solution)

    def improved(found: Found) -> int:
        if incumbent.accept(found):
            publish()
        return incumbent.value

    def keep(units: Units, explored: NDArray[np.int64], counters: dict[str, int]) -> None:
        done = before.explored + explored
        progress = Progress(units, done, before.added(counters), search.bound, before.prepared)
        arrays, state = checkpoint.save(
            progress,
            incumbent.solution,
            incumbent.initial,
            incumbent.value,
            incumbent.improved,
            counting=tree.counts_below,
        )
        run.save_checkpoint(arrays, state)

    status: Status | None = None
    open_units = Units.none(tree.items)
    with Coordinator(
        pool, run, tree, options, incumbent.initial, before.units, lower, before.counters.get("nodes", 0)
    ) as search:
        try:
            publish()
            if needed:
                search.run(incumbent.initial if tree.counts else incumbent.value, improved, lambda _: publish(), keep)
        except (StopRequested, DeviceError) as reason:
            open_units = search.halt(improved, lambda _: publish())
            keep(open_units, search.explored, search.counters)
            if isinstance(reason, DeviceError):
                raise
            status = reason.status if len(open_units) else None  # else the stop came when nothing was left to search
    counters, explored = before.added(search.counters), before.explored + search.explored
    if needed:
        stopped, devices = status is not None, len(pool)
        checkpoint.audit(tree, explored, open_units, counters, incumbent.improved, devices, stopped=stopped)
    if status is None and incumbent.solution is None and not tree.counts:
        run.notice(_without_solution(tree, incumbent)[1])
    left = None if status is None else search.remaining
    if left is not None:
        run.notice(f"about {left.nodes:.2g} nodes are left (probably {left.low:.2g} to {left.high:.2g})")
    result = _result(tree, incumbent, search.bound, status, open_units, counters, explored, left)
    if search.chosen:
        result.arrays["search"] = np.array(search.chosen)
    return result


def _require_memory(tree: Tree, options: Options, pool: DevicePool) -> None:
    """Refuse a search that does not fit the memory that is free now."""
    plans = {member.label: planned_bytes(tree, options, member.info) for member in pool.members}
    ivms = max(count for _, count in plans.values())
    needed = {label: planned for label, (planned, _) in plans.items()}
    pool.require_memory(needed, f"the search with {ivms} IVMs", "set ivms to fewer")


def _is_needed(tree: Tree, incumbent: _Incumbent, before: Progress) -> bool:
    """Whether there is anything to search: not where nothing can be better than the first solution.

    A search that has begun goes on to its end whatever has been proved, so that all of its intervals are accounted for.
    """
    return tree.counts or before.counters.get("nodes", 0) > 0 or max(tree.lower_bound(), before.bound) < incumbent.value


def _dealt_to(pool: DevicePool) -> int:
    """How many devices the tree is dealt out to at the beginning; CPUs beside GPUs are given work later."""
    others = sum(not member.info.capabilities.shares_host_cores for member in pool.members)
    return others or len(pool)


def _begin(
    problem: PermutationProblem,
    tree: Tree,
    options: Options,
    run: RunContext,
    devices: int,
    pool: DevicePool | None = None,
) -> tuple[_Incumbent, Progress, bool]:
    """Where to start: a checkpoint, or the first solution (see :func:`first_solution`) and the whole tree.

    The third entry says whether the optimum is proved, and optimal solutions are being counted.
    """

    def expired() -> bool:
        try:
            run.poll()
        except StopRequested:
            return True
        return False

    def prepared(value: int) -> NDArray[np.int64] | None:
        return tree.prepare(expired) if tree.lower_bound() < value else None

    if run.restored is not None:
        progress, state = checkpoint.restore(tree, run.restored.arrays, run.restored.state)
        if not state.prepared and progress.counters.get("nodes", 0) == 0:  # it was stopped before
            progress.prepared = prepared(state.value)
        solution = run.restored.arrays.get("solution")
        return _Incumbent(tree, state.initial, state.value, solution, state.improved), progress, state.counting
    depth = 0
    while devices > 1 and depth < tree.leaf_depth and math.perm(tree.items, depth) < _PIECES_PER_DEVICE * devices:
        depth += 1
    before = Progress(cut(tree.items, depth), np.zeros(tree.items, np.int64))
    if tree.counts:
        return _Incumbent(tree, INFINITY, INFINITY, None), before, False
    upper, solution = getattr(options, "upper_bound", None), None
    if upper is None or not isinstance(getattr(options, "initial", ""), str):
        run.progress("first solution", 0, 1)
        if pool is not None and isinstance(problem, Flowshop) and tree.improved:
            first, before.bound = first_schedule(problem, pool, run, expired)
            solution = first.order
        else:
            brief = pool is not None and is_brief(member.info for member in pool.members)
            solution = first_solution(problem, options, run.seed, expired, brief)
        run.progress("first solution", 1, 1)
        upper = INFINITY if solution is None else tree.evaluate(solution)
        if solution is not None:
            run.incumbent(upper, min(upper, max(tree.lower_bound(), before.bound)), solution)
    value = min(upper, INFINITY)
    before.prepared = prepared(value)
    return _Incumbent(tree, value, value, solution), before, False


def _without_solution(tree: Tree, incumbent: _Incumbent) -> tuple[Status, str]:
    """What a whole search without a solution proves: the status, and a sentence."""
    if incumbent.initial == INFINITY:
        return Status.INFEASIBLE, "there is no solution"
    text = f"there is no solution below the given upper_bound of {incumbent.initial}"
    if (lower := tree.lower_bound()) > incumbent.initial:
        text += f"; the lower bound of all solutions is {lower}"
    return Status.BOUND_PROVED, text


def _result(
    tree: Tree,
    incumbent: _Incumbent,
    bound: int,
    status: Status | None,
    open_units: Units,
    counters: dict[str, int],
    explored: NDArray[np.int64],
    left: Remaining | None = None,
) -> Result:
    shown: dict[str, int | float] = {
        "nodes": counters["nodes"],
        "leaves": counters["leaves"],
        "steals": counters["steals"],
        "exchanged_intervals": counters["exchanged"],
    }
    if left is not None:
        shown["nodes_left"] = round(left.nodes)
    arrays: dict[str, NDArray[Any]] = {"explored": explored}
    if status is not None:
        arrays |= {"begin": open_units.begin, "end": open_units.end, "fresh": open_units.fresh}
    if tree.counts_below:
        shown["solutions"] = counters["solutions"]
        return Result(
            status or Status.OPTIMAL,
            incumbent.value,
            incumbent.value,
            incumbent.solution,
            counters=shown,
            arrays=arrays,
        )
    if tree.counts:
        count = counters["solutions"]
        return Result(
            status or Status.COMPLETE, count, count if status is None else None, None, counters=shown, arrays=arrays
        )
    value = incumbent.value if incumbent.solution is not None else None
    if status is not None:
        return Result(status, value, bound, incumbent.solution, counters=shown, arrays=arrays)
    if value is None:
        status, reason = _without_solution(tree, incumbent)
        proved = None if status is Status.INFEASIBLE else max(incumbent.value, tree.lower_bound())
        return Result(status, None, proved, None, counters=shown, arrays=arrays, reason=reason)
    return Result(Status.OPTIMAL, value, value, incumbent.solution, counters=shown, arrays=arrays)
