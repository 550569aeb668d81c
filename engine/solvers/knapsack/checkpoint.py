"""Checkpoints of the knapsack solver: what they hold, and the audit of those that are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import Checkpoint, RunContext
from ...base.schema import SchemaError
from ...errors import RunFolderError
from .presolve import Reduced
from .problem import Knapsack
from .schema import SCHEMA, CheckpointState

_QUICK_CELLS = 1 << 27  # a row of so many cells is computed again on the host, in some tenths of a second


@dataclass(frozen=True)
class StartRow:
    """A row of the dense table: the items it is of, the capacity of its first cell, and its values."""

    done: NDArray[np.int64]
    low: int
    values: NDArray[Any]


@dataclass(frozen=True)
class StartTiles:
    """The sparse table after some items: those, the numbers of its tiles, and the values of each."""

    done: NDArray[np.int64]
    tiles: NDArray[np.int64]
    values: NDArray[Any]


@dataclass
class Progress:
    """Work done, over all starts of a run, and whether this one has written a checkpoint."""

    items_fixed: int = 0
    cells: int = 0
    exchanged_bytes: int = 0
    device_bytes: int = 0
    is_saved: bool = False
    optimum: int | None = None  # to be reached by a resumed run whose capacity is that of the items not known


def save(run: RunContext, progress: Progress, reduced: Reduced, start: StartRow | StartTiles | None = None) -> None:
    """Write a checkpoint: what is known, and the table to go on from (none: a new table of the open items)."""
    arrays: dict[str, NDArray[Any]] = {"taken": reduced.taken, "open": reduced.open, "best": reduced.best}
    low = 0
    if isinstance(start, StartRow):
        arrays |= {"done": start.done, "row": start.values}
        low = start.low
    elif isinstance(start, StartTiles):
        arrays |= {"done": start.done, "tiles": start.tiles, "values": start.values}
    state = CheckpointState(
        phase="items" if start is None else "row" if isinstance(start, StartRow) else "tiles",
        capacity=reduced.capacity,
        objective=reduced.objective,
        bound=reduced.bound,
        low=low,
        items_fixed=progress.items_fixed,
        cells=progress.cells,
        exchanged_bytes=progress.exchanged_bytes,
    )
    run.save_checkpoint(arrays, state.model_dump())
    progress.is_saved = True


def restore(problem: Knapsack, checkpoint: Checkpoint) -> tuple[Reduced, Progress, StartRow | StartTiles | None]:
    """What a checkpoint of a problem without counts holds, after an audit; the table is None for a new one."""
    arrays, state = checkpoint.arrays, checked_state(checkpoint)
    audit(problem, arrays, state)
    taken, open_ = arrays["taken"], arrays["open"]
    reduced = Reduced(taken, open_, state.capacity, arrays["best"], state.objective, state.bound)
    progress = Progress(state.items_fixed, state.cells, state.exchanged_bytes)
    if state.capacity < problem.capacity - int(problem.weights[taken].sum()):
        progress.optimum = state.bound  # less is known to be enough only once the optimum is known
    if _all_fits(problem, open_, state):
        everything = np.concatenate([taken, open_])
        reduced.improve(everything, int(problem.profits[everything].sum()))
        reduced.close()
        return reduced, progress, None
    if state.phase == "items":
        return reduced, progress, None
    if state.phase == "row":
        return reduced, progress, StartRow(arrays["done"], state.low, arrays["row"])
    return reduced, progress, StartTiles(arrays["done"], arrays["tiles"], arrays["values"])


def checked_state(checkpoint: Checkpoint) -> CheckpointState:
    """The scalars of a checkpoint that is as the schema says."""
    assert SCHEMA.checkpoint is not None
    try:
        state = SCHEMA.checkpoint.check(checkpoint.arrays, checkpoint.state)
    except SchemaError as error:
        raise RunFolderError(f"the checkpoint cannot be used: {error}") from error
    assert isinstance(state, CheckpointState)
    return state


def audit(problem: Knapsack, arrays: Mapping[str, NDArray[Any]], state: CheckpointState) -> None:
    """Check a checkpoint against the problem; ``RunFolderError`` if they do not belong together."""
    taken, open_, best = arrays["taken"], arrays["open"], arrays["best"]
    decided = np.concatenate([taken, open_])
    _require(_is_set(decided, problem.n), "its items are not distinct items of the problem")
    _require(_is_set(best, problem.n), "the items of its best solution are not distinct items of the problem")
    left = problem.capacity - int(problem.weights[taken].sum())
    _require(0 <= state.capacity <= left, "its capacity is more than the items taken leave")
    profit, weight = problem.sums(best)
    _require(
        profit == state.objective <= state.bound, "its objective is not that of its best solution, or above its bound"
    )
    _require(weight <= problem.capacity, "its best solution does not fit the capacity")
    if _all_fits(problem, open_, state):
        value = max(state.objective, int(problem.profits[decided].sum()))
        _require(value >= state.bound, "all that is not decided fits, but its bound is not reached")
    elif state.phase != "items":
        done = arrays["done"]
        are_open = _is_set(done, problem.n) and bool(np.isin(done, open_).all())
        _require(are_open, "the items of its table are not open items")
        if state.phase == "row":
            row, weight_done = arrays["row"], int(problem.weights[done].sum())
            later = int(problem.weights[open_].sum()) - weight_done
            low, high = max(0, state.capacity - later), min(state.capacity, weight_done)
            _require(state.low == low and len(row) == high - low + 1, "its row has not the range of its items")
            most = int(problem.profits[done].sum())
            are_profits = bool((np.diff(row) >= 0).all()) and int(row[0]) >= 0 and int(row[-1]) <= most
            _require(are_profits, "its row is not a row of profits")
            if len(done) * high <= _QUICK_CELLS:
                again = _row(problem.profits[done], problem.weights[done], high)[low:]
                _require(np.array_equal(row, again), "its row is not that of its items")
        else:
            tiles = arrays["tiles"]
            are_tiles = len(tiles) > 0 and _is_set(tiles, state.capacity + 1)
            _require(are_tiles, "its tiles are not distinct, or there are none")


def _all_fits(problem: Knapsack, open_: NDArray[np.int64], state: CheckpointState) -> bool:
    """Whether all that was not decided fits, so that nothing is left to be done."""
    return int(problem.weights[open_].sum()) <= state.capacity


def _row(profits: NDArray[np.int64], weights: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """The optimal values of some items by capacity, item by item."""
    row = np.zeros(capacity + 1, np.int64)
    for profit, weight in zip(profits.tolist(), weights.tolist(), strict=True):
        if weight <= capacity:
            np.maximum(row[weight:], row[: capacity + 1 - weight] + profit, out=row[weight:])
    return row


def _is_set(items: NDArray[np.int64], n: int) -> bool:
    """Whether these are distinct numbers from 0 to n - 1."""
    return bool((items >= 0).all() and (items < n).all()) and len(np.unique(items)) == len(items)


def _require(condition: bool, fault: str) -> None:
    if not condition:
        raise RunFolderError(f"the checkpoint cannot be used: {fault}")
