"""Matrices of whole numbers and permutations, as users give them, and the sizes and options that a search takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....errors import OptionError, ProblemError
from ..tree import LARGEST_TREE

__all__ = ["order_of_jobs", "permutation", "require_no_choice", "require_size", "whole_matrix"]

_EXACT_FLOAT = 2**53


def whole_matrix(values: ArrayLike, what: str, axes: tuple[str, str]) -> NDArray[np.int64]:
    """A matrix as 64-bit integers, or :class:`ProblemError`; ``what`` it is and its ``axes`` are for messages."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ProblemError(f"{what} must be a matrix of integers: {error}") from error
    if array.ndim != 2 or array.size == 0:
        raise ProblemError(f"{what} must be a matrix with at least one entry; got an array of shape {array.shape}")
    if array.dtype.kind == "f":
        sound = (np.abs(array) <= _EXACT_FLOAT) & (np.floor(array) == array)
    elif array.dtype.kind == "u":
        sound = array < np.uint64(2**63)
    elif array.dtype.kind == "i":
        sound = np.ones(array.shape, bool)
    else:
        raise ProblemError(f"{what} must be integers; got an array of {array.dtype}")
    if not sound.all():
        row, column = np.argwhere(~sound)[0]
        raise ProblemError(f"{what} must be integers; got {array[row, column]} at {axes[0]} {row}, {axes[1]} {column}")
    return array.astype(np.int64)


def permutation(values: ArrayLike, size: int, rule: str) -> NDArray[np.int64]:
    """A permutation of 0 ... size - 1, shape (size,); otherwise a :class:`ProblemError` that begins with ``rule``."""
    try:
        found = np.asarray(values)
        sound = found.ndim == 1 and found.dtype.kind in "iuf" and sorted(found.tolist()) == list(range(size))
    except (TypeError, ValueError, OverflowError) as error:
        raise ProblemError(f"{rule}: {error}") from error
    if not sound:
        raise ProblemError(f"{rule}; got {found.tolist()}")
    return found.astype(np.int64)


def order_of_jobs(values: ArrayLike, jobs: int) -> NDArray[np.int64]:
    """An order of all jobs, shape (jobs,); :class:`ProblemError` if it is none."""
    return permutation(values, jobs, f"an order must list each of the jobs 0 to {jobs - 1} once")


def require_no_choice(what: str, bound: str, branching: str) -> None:
    """Refuse a bound or a branching rule (:class:`OptionError`) where a problem has one of each."""
    if bound != "auto" or branching not in ("auto", "forward"):
        raise OptionError(f"{what} has no choice of bounds or branching rules")


def require_size(size: int, what: str, name: str, most: int = LARGEST_TREE) -> None:
    """Refuse a problem with more than ``most`` items (:class:`ProblemError`), which are called ``what``."""
    if size > most:
        raise ProblemError(f"branch and bound takes at most {most} {what} here; {name} has {size}")
