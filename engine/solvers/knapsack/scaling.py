"""Profits that are not integers, as integers in a smaller unit: exactly, or not at all."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.problem import frozen
from ...errors import ProblemError
from ...util.text import shown
from .checks import INT64_MAX, Origin, check_range, integers

__all__ = ["scale_of", "scaled", "scaled_profits"]


def scaled_profits(values: ArrayLike, origin: Origin) -> tuple[NDArray[np.int64], int]:
    """Profits as 64-bit integers, read-only, and how many of these make one unit."""
    numbers, scale = scaled(values)
    if scale > 1:
        total = sum(abs(value) for value in cast(list[int], numbers))
        if total > INT64_MAX:
            rule = f"must sum to at most {INT64_MAX} where they are integers; round them, or scale them yourself"
            raise origin.error(f"profits times {shown(scale)} {rule}; got a sum of {shown(total)}")
    profits = frozen(integers(numbers, "profit", origin))
    check_range(profits, "profit", 0, origin, scale)
    return profits, scale


def scale_of(arrays: Mapping[str, NDArray[Any]]) -> int:
    """The scale among the arrays of a problem, where it is text; 1 if there is none."""
    text = str(arrays.get("scale", 1))
    if not re.fullmatch("[1-9][0-9]{0,400}", text):
        raise ProblemError(f"the scale of the profits must be an integer of at least 1; got {shown(text)}")
    return int(text)


def scaled(values: ArrayLike) -> tuple[ArrayLike, int]:
    """Values as integers, and how many of these make one unit; values that need no scale are returned as given.

    A floating-point number stands for the decimal number that Python prints for it, so 0.1 is a tenth. If one is no
    number, all numbers are returned as zeros, so that the check of integers names it.
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
