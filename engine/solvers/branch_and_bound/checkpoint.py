"""Checkpoints of a search: what is written, and the audit of what is read."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import AuditError, ProblemError, RunFolderError
from .intervals import Units, length_of_levels
from .masks import digit_type
from .schema import SearchState, state_of
from .search.messages import Found
from .tree import INFINITY, Tree


@dataclass
class Incumbent:
    """The best solution so far, if any; ``initial`` is the upper bound that branching depends on."""

    tree: Tree
    initial: int
    value: int
    solution: NDArray[np.int64] | None
    improved: bool = False

    def accept(self, found: Found) -> bool:
        """Take over a leaf found by a device if it is better."""
        return self.take(self.tree.solution(found.path, found.sides), found.value)

    def take(self, solution: NDArray[np.int64], reported: int) -> bool:
        """Take over a solution if it is better; its value is computed again, from the instance."""
        value = self.tree.evaluate(solution)
        if value != reported:
            raise AuditError(f"a solution of value {value} was reported with the value {reported}")
        if value >= self.value:
            return False
        self.value, self.solution, self.improved = value, solution, True
        return True


@dataclass
class Progress:
    """What earlier starts of a run have done, or nothing at a first start."""

    units: Units  # the open intervals
    explored: NDArray[np.int64]  # digit sums by level, shape (items,)
    counters: dict[str, int] = field(default_factory=dict)
    bound: int = -INFINITY  # proved
    prepared: NDArray[np.int64] | None = None  # by Tree.prepare

    def added(self, counters: dict[str, int]) -> dict[str, int]:
        """Counters of a later start, with these added."""
        return {name: self.counters.get(name, 0) + value for name, value in counters.items()}


def save(
    progress: Progress, incumbent: Incumbent, counting: bool = False
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and state of a checkpoint, as :data:`.schema.SCHEMA` has them."""
    units = progress.units
    arrays: dict[str, NDArray[Any]] = {"begin": units.begin, "end": units.end, "fresh": units.fresh}
    arrays["explored"] = progress.explored
    if incumbent.solution is not None:
        arrays["solution"] = np.asarray(incumbent.solution, np.int64)
    if progress.prepared is not None:
        arrays["prepared"] = progress.prepared
    state = SearchState(
        initial=incumbent.initial,
        value=incumbent.value,
        improved=incumbent.improved,
        has_solution=incumbent.solution is not None,
        bound=progress.bound,
        counters=progress.counters,
        prepared=progress.prepared is not None,
        counting=counting,
    )
    return arrays, state.model_dump()


def restore(tree: Tree, arrays: dict[str, NDArray[Any]], state: Any) -> tuple[Progress, SearchState]:
    """What a checkpoint contains, checked against the problem; the tree's bounds are prepared as they were."""
    checked = state_of(arrays, state)
    units = Units(arrays["begin"], arrays["end"], arrays["fresh"])
    explored = arrays["explored"]
    digit = digit_type(tree.items)
    if explored.shape != (tree.items,) or units.begin.shape[1] != tree.items or units.begin.dtype != digit:
        raise RunFolderError(f"the checkpoint is not one of a problem with {tree.items} items")
    if fault := _fault_of(units):
        raise RunFolderError(f"the checkpoint cannot be used: {fault}")
    leaves = math.factorial(tree.items)
    covered = length_of_levels(explored) + units.length()
    if covered != leaves:
        raise RunFolderError(f"the checkpoint covers {covered} of the tree's {leaves} leaves")
    better = checked.value < checked.initial and checked.has_solution
    if not (better or checked.value == checked.initial) or (not tree.counts and checked.bound > checked.value):
        raise RunFolderError(
            f"the checkpoint's bounds contradict each other: initial upper bound {checked.initial}, best value "
            f"{checked.value}, lower bound {checked.bound}"
        )
    if checked.has_solution and _value(tree, arrays["solution"]) != checked.value:
        raise RunFolderError(f"the checkpoint's solution does not have the value {checked.value}")
    prepared = arrays.get("prepared")
    if prepared is not None:
        try:
            tree.restore(prepared)
        except ValueError as error:
            raise RunFolderError(f"the checkpoint cannot be used: {error}") from error
    return Progress(units, explored.astype(np.int64), dict(checked.counters), checked.bound, prepared), checked


def audit(
    tree: Tree,
    explored: NDArray[np.int64],
    open_units: Units,
    counters: dict[str, int],
    improved: bool,
    devices: int,
    *,
    stopped: bool,
) -> None:
    """Every leaf of the tree is explored or open, once; and every child that was not pruned has been visited."""
    leaves = math.factorial(tree.items)
    covered = length_of_levels(explored) + open_units.length()
    if covered != leaves:
        raise AuditError(f"the explored intervals add up to {covered} of {leaves} leaves")
    if stopped:
        return
    visited, pushed = counters["nodes"] + counters["leaves"], counters["pushed"] + 1
    # Where a better solution was found, a child may be pruned before it is visited; and, of several devices, one that
    # does not know of it yet may visit a child that another has pruned.
    unaware = improved and devices > 1
    if (visited > pushed and not unaware) or (visited < pushed and not improved):
        raise AuditError(f"{visited} nodes and leaves were visited, but {pushed} were not pruned")


def _value(tree: Tree, solution: NDArray[np.int64]) -> int | None:
    """The value of a solution; None if it is none."""
    if not np.array_equal(np.sort(solution), np.arange(len(solution))):
        return None
    try:
        return tree.evaluate(solution)
    except (ProblemError, IndexError, ValueError):
        return None


def _fault_of(units: Units) -> str:
    """What is wrong with a set of intervals; empty if nothing is."""
    if not len(units):
        return ""
    n = units.begin.shape[1]
    capacity = n - np.arange(n)
    begin, end = units.begin.astype(np.int64), units.end.astype(np.int64)
    if (begin >= capacity).any() or (end > capacity).any():
        return "a digit of an interval is out of range"
    for level in range(n - 1, 0, -1):  # a digit as large as its base is a carry
        carry = end[:, level] >= capacity[level]
        end[:, level] -= carry * capacity[level]
        end[:, level - 1] += carry
    order = np.lexsort(begin.T[::-1])
    begin, end = begin[order], end[order]
    if (_compare(begin, end) >= 0).any():
        return "an interval is empty"
    if (_compare(end[:-1], begin[1:]) > 0).any():
        return "two intervals overlap"
    if (end[-1] > np.concatenate([[n], capacity[1:]])).any() or (end[-1, 0] == n and end[-1, 1:].any()):
        return "an interval ends behind the last leaf"
    return "a level of an interval is out of range" if (units.fresh > n).any() else ""


def _compare(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sign, row by row, of the first difference between digit vectors."""
    difference = np.sign(first - second)
    return np.asarray(difference[np.arange(len(difference)), (difference != 0).argmax(axis=1)])
