"""Matrices of whole numbers and permutations, as users give them, and the sizes that a search takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.errors import ProblemError
from engine.solvers.branch_and_bound.tree import LARGEST_TREE

__all__ = ["permutation", "require_size", "whole_matrix"]

_EXACT_FLOAT = 2**53


def whole_matrix(values: ArrayLike, what: str, axes: tuple[str, str]) -> NDArray[np.int64]:
    """A matrix as 64-bit integers, without any loss.

    Raises
    ------
    ProblemError
        If it is not two-dimensional or an entry, named by its ``axes``, is not an integer that fits.
    """
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
    """A permutation of 0 ... size - 1, shape (size,).

    Raises
    ------
    ProblemError
        If it is none; the message begins with ``rule``.
    """
    found = np.asarray(values)
    if found.ndim != 1 or sorted(found.tolist()) != list(range(size)):
        raise ProblemError(f"{rule}; got {found.tolist()}")
    return found.astype(np.int64)


def require_size(size: int, what: str, name: str, most: int = LARGEST_TREE) -> None:
    """Refuse a problem, called ``name``, with more than ``most`` items; ``what`` these are."""
    if size > most:
        raise ProblemError(f"branch and bound takes at most {most} {what} here; {name} has {size}")
