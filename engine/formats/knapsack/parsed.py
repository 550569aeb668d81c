"""What every reader of a knapsack format returns, and the checks and messages they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ProblemError

__all__ = ["ParsedKnapsack", "check_ids", "items_text", "readonly"]


@dataclass(frozen=True, eq=False)
class ParsedKnapsack:
    """The content of a knapsack file, before the rules of the problem are checked.

    Attributes
    ----------
    profits, weights : ndarray of int64, shape (n,)
        One entry per item, in the file's order; read-only. Signs are as in the file.
    capacity : int
        Capacity of the knapsack, in the unit of the weights.
    format : str
        Which of :data:`engine.formats.knapsack.FORMATS` the file is in. With no items, ``jooken``, ``kplib`` and
        ``capacity-last`` are the same text, and it is called ``jooken``.
    optimum : int or None
        Optimal profit stated by the file, when it states one that is positive.
    lines : ndarray of int64, shape (n,)
        1-based line of each item, for messages.
    capacity_line : int
        1-based line of the capacity.
    instances : int
        How many instances the file holds.
    counts : ndarray of int64, shape (n,), or None
        How often each item may be taken, where the file says so; read-only.
    """

    profits: NDArray[np.int64]
    weights: NDArray[np.int64]
    capacity: int
    format: str
    optimum: int | None
    lines: NDArray[np.int64]
    capacity_line: int
    instances: int = 1
    counts: NDArray[np.int64] | None = None


def check_ids(ids: NDArray[np.int64], lines: Sequence[int] | NDArray[np.int64], path: str | Path | None) -> None:
    """Ids count up by one from 0 or 1, so that an item's position is its index.

    Parameters
    ----------
    ids : ndarray of int64, shape (n,)
    lines : sequence of int
        The line of each.
    path : path-like or None
        Only for messages.
    """
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
    """``3 items``: a number of items for people."""
    return "1 item" if n == 1 else f"{n} items"


def readonly(values: ArrayLike) -> NDArray[np.int64]:
    """A copy that cannot be changed."""
    copy = np.array(values, dtype=np.int64)
    copy.setflags(write=False)
    return copy
