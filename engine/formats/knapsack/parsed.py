"""What every reader of a knapsack format returns, and the checks and messages they share."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ProblemError


@dataclass(frozen=True, eq=False)
class ParsedKnapsack:
    """The content of a knapsack file, before the rules of the problem are checked; arrays are read-only, shape (n,)."""

    profits: NDArray[np.int64]
    weights: NDArray[np.int64]
    capacity: int
    format: str  # of FORMATS; without items, jooken, kplib and capacity-last are the same text, called jooken
    optimum: int | None  # as the file states it, if it is positive
    lines: NDArray[np.int64]  # of the items, from 1, for messages
    capacity_line: int
    instances: int = 1  # that the file holds
    counts: NDArray[np.int64] | None = None  # how often each item may be taken, where the file says so


def check_ids(ids: NDArray[np.int64], lines: Sequence[int] | NDArray[np.int64], path: str | Path | None) -> None:
    """Ids count up by one from 0 or 1, so that an item's position is its index."""
    if not ids.size:
        return
    first = int(ids[0])
    if first not in (0, 1):
        raise ProblemError(f"the id of item 0 must be 0 or 1; got {first}", path, int(lines[0]))
    wrong = np.flatnonzero(ids != np.arange(first, first + ids.size))
    if wrong.size:
        item = int(wrong[0])
        rule = f"the id of item {item} must be {first + item} (ids count up by one from {first})"
        raise ProblemError(f"{rule}; got {ids[item]}", path, int(lines[item]))


def items_text(n: int) -> str:
    return "1 item" if n == 1 else f"{n} items"


def readonly(values: ArrayLike) -> NDArray[np.int64]:
    copy = np.array(values, dtype=np.int64)
    copy.setflags(write=False)
    return copy
