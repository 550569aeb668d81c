"""Solving one permutation problem: the first solution, the search over the pool, the audit."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext, StopRequested
from ...base.result import Result, Status
from ...devices import DevicePool
from ...errors import DeviceError
from . import checkpoint
from .checkpoint import Incumbent, Progress
from .heuristics.search import expiry, first_solution, improves, is_searched, solve_without_tree
from .intervals import Units, cut
from .options import Options
from .problems.flowshop import Flowshop
from .search.coordinator import Coordinator
from .search.programs import begin_builds
from .search.progress import Remaining
from .tree import INFINITY, LARGEST_TREE, PermutationProblem, Tree
from .validate import planned_bytes, tree_of

_PIECES_PER_DEVICE = 16


def _without_search(options: Options, value: int, solution: NDArray[np.int64] | None) -> Result:
    """The result of a problem with one solution, or of a count that is known."""
    counters: dict[str, int | float] = {"nodes": 0, "leaves": 1}
    if solution is None:
        return Result(Status.COMPLETE, value, value, None, counters=counters)
    upper = getattr(options, "upper_bound", None)
    if upper is not None and value >= upper and isinstance(getattr(options, "initial", ""), str):
        reason = _nothing_below(upper, value)
        return Result(Status.BOUND_PROVED, None, max(value, upper), None, counters=counters, reason=reason)
    return Result(Status.OPTIMAL, value, value, solution, counters=counters)


def solve(problem: PermutationProblem, options: Options, pool: DevicePool, run: RunContext) -> Result:
    """Search a permutation problem's tree, or count its solutions; with ``all_solutions`` in a second search."""
    only = problem.only_solution()
    if only is not None:
        return _without_search(options, *only)
    if isinstance(problem, Flowshop) and not is_searched(problem, options):
        return solve_without_tree(problem, options, pool, run)
    tree = tree_of(problem, options)
    tree.improved = isinstance(problem, Flowshop) and improves(problem, options)
    _require_memory(tree, options, pool)
    if options.strategy == "ring":
        run.notice("strategy = 'ring' keeps few IVMs at work; the default, siblings, spreads the work over all of them")
    for member in pool.members:
        member.submit(begin_builds, tree, options.ivms)
    fast = sum(not member.info.capabilities.shares_host_cores for member in pool.members)
    dealt_to = fast or len(pool)  # CPUs beside GPUs are given work later
    incumbent, before, counting = _begin(problem, tree, options, run, dealt_to, pool)
    if tree.items > LARGEST_TREE:
        tree.known = incumbent.solution
    if not counting:
        result = _search(tree, incumbent, before, options, pool, run)
        if result.status is not Status.OPTIMAL or not getattr(options, "all_solutions", False):
            return result
        incumbent = Incumbent(tree, incumbent.value + 1, incumbent.value, incumbent.solution)
        before = Progress(cut(tree.items, 0), np.zeros(tree.items, np.int64), {}, incumbent.value)
    tree.counts, tree.counts_below, tree.improved = True, True, False
    return _search(tree, incumbent, before, options, pool, run)


def _search(
    tree: Tree, incumbent: Incumbent, before: Progress, options: Options, pool: DevicePool, run: RunContext
) -> Result:
    """Search the rest of a tree: for a better solution, or to count its leaves."""
    lower = max(tree.lower_bound(), before.bound)
    needed = _is_needed(tree, incumbent, before)

    def publish() -> None:
        if not tree.counts:
            known = incumbent.solution is not None
            run.incumbent(incumbent.value if known else None, search.bound, incumbent.solution)

    def settled() -> bool:
        return is_settled(incumbent, options, search.bound)

    def keep(units: Units, explored: NDArray[np.int64], counters: dict[str, int]) -> None:
        done = before.explored + explored
        progress = Progress(units, done, before.added(counters), search.bound, before.prepared)
        run.save_checkpoint(*checkpoint.save(progress, incumbent, tree.counts_below))

    status: Status | None = None
    open_units = Units.none(tree.items)
    nodes = before.counters.get("nodes", 0)
    with Coordinator(pool, run, tree, options, incumbent, before.units, lower, publish, publish, nodes) as search:
        try:
            publish()
            if needed:
                open_units = search.run(keep, settled)
        except (StopRequested, DeviceError) as reason:
            open_units = search.halt()
            keep(open_units, search.explored, search.counters)
            if isinstance(reason, DeviceError):
                raise
            status = reason.status if len(open_units) and not settled() else None  # else the stop came at the end
    counters, explored = before.added(search.counters), before.explored + search.explored
    if needed:
        stopped, devices = len(open_units) > 0, len(pool)
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


def is_settled(incumbent: Incumbent, options: Options, bound: int) -> bool:
    """Whether the best solution is as good as the bound: with an upper bound a search ends with its tree alone."""
    ends = not incumbent.tree.counts and getattr(options, "upper_bound", None) is None
    return ends and incumbent.solution is not None and incumbent.value <= bound


def _is_needed(tree: Tree, incumbent: Incumbent, before: Progress) -> bool:
    """Whether anything can be better, or a search has begun, all of whose intervals are accounted for."""
    return tree.counts or before.counters.get("nodes", 0) > 0 or max(tree.lower_bound(), before.bound) < incumbent.value


def _begin(
    problem: PermutationProblem,
    tree: Tree,
    options: Options,
    run: RunContext,
    devices: int,
    pool: DevicePool | None = None,
) -> tuple[Incumbent, Progress, bool]:
    """A checkpoint, or the first solution and the whole tree; and whether optimal solutions are being counted."""
    expired = expiry(run)

    def prepared(value: int) -> NDArray[np.int64] | None:
        return tree.prepare(expired) if tree.lower_bound() < value else None

    if run.restored is not None:
        progress, state = checkpoint.restore(tree, run.restored.arrays, run.restored.state)
        if not state.prepared and progress.counters.get("nodes", 0) == 0:  # it was stopped before
            progress.prepared = prepared(state.value)
        solution = run.restored.arrays.get("solution")
        return Incumbent(tree, state.initial, state.value, solution, state.improved), progress, state.counting
    depth = 0
    while devices > 1 and depth < tree.leaf_depth and math.perm(tree.items, depth) < _PIECES_PER_DEVICE * devices:
        depth += 1
    before = Progress(cut(tree.items, depth), np.zeros(tree.items, np.int64))
    if tree.counts:
        return Incumbent(tree, INFINITY, INFINITY, None), before, False
    upper, solution = getattr(options, "upper_bound", None), None
    if upper is None or not isinstance(getattr(options, "initial", ""), str):
        run.progress("first solution", 0, 1)
        solution, before.bound = first_solution(problem, options, run, expired, pool)
        run.progress("first solution", 1, 1)
        upper = INFINITY if solution is None else tree.evaluate(solution)
        if solution is not None:
            run.incumbent(upper, min(upper, max(tree.lower_bound(), before.bound)), solution)
    value = min(upper, INFINITY)
    before.prepared = prepared(value)
    return Incumbent(tree, value, value, solution), before, False


def _without_solution(tree: Tree, incumbent: Incumbent) -> tuple[Status, str]:
    """What a whole search without a solution proves: the status, and a sentence."""
    if incumbent.initial == INFINITY:
        return Status.INFEASIBLE, "there is no solution"
    return Status.BOUND_PROVED, _nothing_below(incumbent.initial, tree.lower_bound())


def _nothing_below(upper: int, lower: int) -> str:
    text = f"there is no solution below the given upper_bound of {upper}"
    return f"{text}; the lower bound of all solutions is {lower}" if lower > upper else text


def _result(
    tree: Tree,
    incumbent: Incumbent,
    bound: int,
    status: Status | None,
    open_units: Units,
    counters: dict[str, int],
    explored: NDArray[np.int64],
    left: Remaining | None = None,
) -> Result:
    shown: dict[str, int | float] = {name: counters[name] for name in ("nodes", "leaves", "steals")}
    shown["exchanged_intervals"] = counters["exchanged"]
    if left is not None:
        shown["nodes_left"] = round(left.nodes)
    arrays: dict[str, NDArray[Any]] = {"explored": explored}
    if status is not None:
        arrays |= {"begin": open_units.begin, "end": open_units.end, "fresh": open_units.fresh}
    solution, reason = incumbent.solution, ""
    value = None if solution is None else incumbent.value
    proved: int | None = bound
    if tree.counts_below:
        shown["solutions"] = counters["solutions"]
        value = proved = incumbent.value
    elif tree.counts:
        value = counters["solutions"]
        proved, status = (value, Status.COMPLETE) if status is None else (None, status)
    elif status is None and value is None:
        status, reason = _without_solution(tree, incumbent)
        proved = None if status is Status.INFEASIBLE else max(incumbent.value, tree.lower_bound())
    elif status is None:
        proved = value
    return Result(status or Status.OPTIMAL, value, proved, solution, counters=shown, arrays=arrays, reason=reason)
