"""Profits that are not integers, as integers in a smaller unit: exactly, or not at all."""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["scaled"]


def scaled(values: ArrayLike) -> tuple[ArrayLike, int]:
    """Values as integers, and how many of these make one unit; values that need no scale are returned as given.

    A floating-point number stands for the decimal number that Python prints for it, so 0.1 is a tenth.

    Parameters
    ----------
    values : array-like

    Returns
    -------
    integers : list of int
        Or ``values`` themselves, if all are integers; or with zeros for all numbers, if one of them is none.
    scale : int
        The least with which every value is an integer.
    """
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):  # the check of integers says what is wrong
        return values, 1
    if array.ndim != 1 or array.dtype.kind in "iub" or (array.dtype.kind == "f" and _all_whole(array)):
        return values, 1
    elements = values if isinstance(values, (list, tuple)) else array if array.dtype.kind == "f" else array.tolist()
    fractions = [_fraction(element) for element in elements]
    known = [fraction for fraction in fractions if fraction is not None]
    scale = math.lcm(*(fraction.denominator for fraction in known))
    is_float = (isinstance(element, (float, np.floating)) for element in elements)
    if len(known) < len(fractions):  # the check of integers names the first that is not a number
        pairs = zip(fractions, elements, strict=True)
        return [element if fraction is None else 0.0 for fraction, element in pairs], 1
    if scale == 1 and any(is_float):
        return values, 1
    return [int(fraction * scale) for fraction in known], scale


def _all_whole(array: NDArray[Any]) -> bool:
    return bool((np.isfinite(array) & (np.floor(array) == array)).all())


def _fraction(value: Any) -> Fraction | None:
    """The exact value of a number; None for anything else, and for numbers that are not finite."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, Decimal, np.number)):
        return None
    try:
        return Fraction(value) if isinstance(value, (numbers.Rational, Decimal)) else Fraction(str(value))
    except (ValueError, OverflowError, TypeError):
        return None
