"""Solving one permutation problem: the first solution, the search over the pool, the audit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import DevicePool
from engine.errors import AuditError, OptionError, RunFolderError
from engine.results import Result, Status
from engine.run import Run, StopRequested
from engine.solvers.branch_and_bound.coordinator import Coordinator
from engine.solvers.branch_and_bound.intervals import Units, cut, length_of_levels
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.tree import INFINITY, PermutationProblem, Tree
from engine.solvers.branch_and_bound.turns import Found

__all__ = ["solve"]

_PIECES_PER_DEVICE = 16


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


@dataclass
class _Before:
    """What earlier sittings of a resumed run have done."""

    units: Units
    explored: NDArray[np.int64]
    counters: dict[str, int] = field(default_factory=dict)
    bound: int = 0


def solve(problem: PermutationProblem, options: Options, pool: DevicePool, run: Run) -> Result:
    """Search the whole tree of a permutation problem, or count its solutions.

    Parameters
    ----------
    problem : PermutationProblem
    options : Options
    pool : DevicePool
    run : Run

    Returns
    -------
    Result
        ``optimal`` with the best solution; ``infeasible``, with the given bound as its ``bound``, where
        ``upper_bound`` was given and no solution is below it; ``complete`` where solutions are counted. Counters:
        ``nodes`` (decomposed nodes, the root among them), ``leaves``, ``steals``, ``exchanged`` (intervals that changed
        device). A run that is stopped has its open intervals in ``arrays``: ``begin`` and ``end``, shape (units, n), as
        digits (see :mod:`engine.solvers.branch_and_bound.intervals`), and ``fresh``, shape (units,).

    Raises
    ------
    engine.errors.AuditError
        If the explored intervals do not add up to n! exactly, if nodes were lost, or if a solution does not have the
        value it was found with.
    """
    tree = problem.tree(options.bound, options.branching)
    if tree.counts and options.upper_bound is not None:
        raise OptionError("upper_bound has no meaning where solutions are counted")
    incumbent, before = _begin(problem, tree, options, run, _dealt_to(pool))
    lower = max(tree.lower_bound(), before.bound)
    search = Coordinator(pool, run, tree, options, incumbent.initial, before.units, lower)

    def tell() -> None:
        if not tree.counts:
            known = incumbent.solution is not None
            run.incumbent(incumbent.value if known else None, search.bound, incumbent.solution)

    def improved(found: Found) -> int:
        if incumbent.accept(found):
            tell()
        return incumbent.value

    def keep(units: Units, explored: NDArray[np.int64], counters: dict[str, int]) -> None:
        _save(run, incumbent, before, units, explored, counters, search.bound)

    status: Status | None = None
    open_units = Units.none(tree.items)
    try:
        tell()
        if tree.counts or lower < incumbent.value:
            search.run(incumbent.value, improved, lambda _: tell(), keep)
        else:
            before.units = open_units  # nothing can be better than the first solution
    except StopRequested as stop:
        status = stop.status
        open_units = search.rest(improved, lambda _: tell())
        keep(open_units, search.explored, search.counters)
    finally:
        search.close()
    counters = _added(before.counters, search.counters)
    if tree.counts or lower < incumbent.initial or search.counters["nodes"]:
        _audit(
            tree,
            before.explored + search.explored,
            open_units,
            counters,
            incumbent,
            len(pool),
            stopped=status is not None,
        )
    if status is None and incumbent.solution is None and not tree.counts:
        run.notice(f"there is no solution below the given bound of {incumbent.initial}")
    return _result(tree, incumbent, search.bound, status, open_units, counters)


def _dealt_to(pool: DevicePool) -> int:
    """How many devices the tree is dealt out to at the beginning; CPUs beside GPUs are given work later."""
    gpus = sum(member.info.capabilities.kind != "cpu" for member in pool.members)
    return gpus or len(pool)


def _begin(
    problem: PermutationProblem, tree: Tree, options: Options, run: Run, devices: int
) -> tuple[_Incumbent, _Before]:
    """Where to start: a checkpoint, or the first solution and the whole tree."""
    levels = np.zeros(tree.items, np.int64)
    if run.restored is not None:
        arrays, state = run.restored.arrays, run.restored.state
        try:
            units = Units(arrays["begin"], arrays["end"], arrays["fresh"])
            solution = arrays.get("solution")
            incumbent = _Incumbent(tree, state["initial"], state["value"], solution, state["improved"])
            counters = {str(name): int(value) for name, value in state["counters"].items()}
            return incumbent, _Before(units, arrays["explored"].astype(np.int64), counters, int(state.get("bound", 0)))
        except KeyError as error:
            raise RunFolderError(f"the checkpoint lacks {error}") from error
    depth = 0
    while devices > 1 and depth < tree.leaf_depth and math.perm(tree.items, depth) < _PIECES_PER_DEVICE * devices:
        depth += 1
    before = _Before(cut(tree.items, depth), levels)
    if tree.counts:
        return _Incumbent(tree, INFINITY, INFINITY, None), before
    if options.upper_bound is not None:
        bound = min(options.upper_bound, INFINITY)
        return _Incumbent(tree, bound, bound, None), before
    run.progress("first solution", 0, 1)
    solution = problem.first_solution(options.initial, run.seed)
    run.progress("first solution", 1, 1)
    value = INFINITY if solution is None else tree.evaluate(solution)
    return _Incumbent(tree, value, value, solution), before


def _save(
    run: Run,
    incumbent: _Incumbent,
    before: _Before,
    units: Units,
    explored: NDArray[np.int64],
    counters: dict[str, int],
    bound: int,
) -> None:
    arrays: dict[str, NDArray[Any]] = {
        "begin": units.begin,
        "end": units.end,
        "fresh": units.fresh,
        "explored": before.explored + explored,
    }
    if incumbent.solution is not None:
        arrays["solution"] = incumbent.solution
    run.save_checkpoint(
        arrays,
        {
            "initial": incumbent.initial,
            "value": incumbent.value,
            "improved": incumbent.improved,
            "bound": bound,
            "counters": _added(before.counters, counters),
        },
    )


def _added(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + value for name, value in second.items()}


def _audit(
    tree: Tree,
    explored: NDArray[np.int64],
    open_units: Units,
    counters: dict[str, int],
    incumbent: _Incumbent,
    devices: int,
    stopped: bool,
) -> None:
    """Every leaf of the tree is explored or open, once; and every child that was not pruned has been visited.

    Where a better solution was found, a child may be pruned before it is visited; and, of several devices, one that has
    not heard of it may visit a child that another has pruned.
    """
    whole = math.factorial(tree.items)
    covered = length_of_levels(explored) + open_units.length()
    if covered != whole:
        raise AuditError(f"the explored intervals add up to {covered} of {whole} leaves")
    if stopped:
        return
    visited, pushed = counters["nodes"] + counters["leaves"], counters["pushed"] + 1
    unheard = incumbent.improved and devices > 1
    if (visited > pushed and not unheard) or (visited < pushed and not incumbent.improved):
        raise AuditError(f"{visited} nodes and leaves were visited, but {pushed} were not pruned")


def _result(
    tree: Tree,
    incumbent: _Incumbent,
    bound: int,
    status: Status | None,
    open_units: Units,
    counters: dict[str, int],
) -> Result:
    shown: dict[str, int | float] = {
        "nodes": counters["nodes"],
        "leaves": counters["leaves"],
        "steals": counters["steals"],
        "exchanged": counters["exchanged"],
    }
    arrays: dict[str, NDArray[Any]] = {}
    if status is not None:
        arrays = {"begin": open_units.begin, "end": open_units.end, "fresh": open_units.fresh}
    if tree.counts:
        count = counters["solutions"]
        return Result(
            status or Status.COMPLETE, count, count if status is None else None, None, counters=shown, arrays=arrays
        )
    value = incumbent.value if incumbent.solution is not None else None
    if status is not None:
        return Result(status, value, bound, incumbent.solution, counters=shown, arrays=arrays)
    if value is None:
        return Result(Status.INFEASIBLE, None, incumbent.value, None, counters=shown)
    return Result(Status.OPTIMAL, value, value, incumbent.solution, counters=shown)
