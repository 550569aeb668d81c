"""Checks of what a user gives, with messages that name the entry and the rule; and profits in smaller units."""

from __future__ import annotations

import math
import numbers
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.problem import frozen
from ...errors import AuditError, OptionError, ProblemError
from ...util.memory import total_memory
from ...util.text import bytes_text, shown

if TYPE_CHECKING:
    from ...devices import DeviceInfo

INT64_MAX = 2**63 - 1
_EXACT_FLOAT = 2**53


@dataclass(frozen=True)
class Origin:
    """Where an instance came from, so that its errors can say so."""

    path: str | Path | None = None
    lines: NDArray[np.int64] | None = None
    capacity_line: int | None = None

    def item_error(self, message: str, item: int) -> ProblemError:
        """An error of one item, with its line."""
        line = int(self.lines[item]) if self.lines is not None else None
        return ProblemError(message, self.path, line)

    def capacity_error(self, message: str) -> ProblemError:
        """An error of the capacity, with its line."""
        return ProblemError(message, self.path, self.capacity_line)

    def error(self, message: str) -> ProblemError:
        """An error of the whole instance."""
        return ProblemError(message, self.path)


def integers(values: ArrayLike, noun: str, origin: Origin) -> NDArray[np.int64]:
    """One-dimensional values as 64-bit integers without any loss; an error names the first that is not one."""
    plural = {"solution": "item indices", "class": "classes"}.get(noun, f"{noun}s")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise origin.error(f"{plural} must be a one-dimensional array of integers; got {shown(values)}") from error
    if hasattr(values, "mask") and np.ma.is_masked(values):  # asked for last: NumPy imports its module then
        raise origin.error(f"{plural} must be integers; got a masked array that lacks some")
    if array.ndim == 0:
        raise origin.error(f"{plural} must be a one-dimensional array of integers; got {shown(values)}")
    if array.ndim != 1:
        raise origin.error(f"{plural} must be one-dimensional; got an array of shape {array.shape}")
    if array.dtype.kind == "b":
        raise origin.error(f"{plural} must be integers; got an array of booleans")
    if array.dtype.kind in "iu" or (array.dtype.kind == "f" and isinstance(values, np.ndarray)):
        sound = _sound(array)
        if not sound.all():
            item = int(np.argmin(sound))
            raise _refusal(array[item].item(), noun, item, origin)
        return array.astype(np.int64)
    # Anything else is looked at one by one: a list that mixes kinds has been through a conversion that may round.
    elements = values if isinstance(values, (list, tuple)) else array.tolist()
    wholes = [_whole(value) for value in elements]
    for item, whole in enumerate(wholes):
        if isinstance(whole, str):
            raise _refusal(elements[item], noun, item, origin)
    return np.array(wholes, dtype=np.int64)


def item_indices(items: ArrayLike, n: int) -> NDArray[np.int64]:
    """Indices of items as integers from 0 to ``n - 1``; an error names the first that is not one."""
    indices = integers(items, "solution", Origin())
    outside = np.flatnonzero((indices < 0) | (indices >= n))
    if outside.size:
        allowed = f"the items run from 0 to {n - 1}" if n else "there are no items"
        raise ProblemError(f"there is no item {indices[outside[0]]}; {allowed}")
    return indices


def _sound(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries are 64-bit integers, as :func:`_whole` has it."""
    if array.dtype.kind == "f":
        wide = array.astype(np.promote_types(array.dtype, np.float64))
        return np.asarray((np.abs(wide) <= _EXACT_FLOAT) & (np.floor(wide) == wide))
    return np.asarray(array <= np.uint64(INT64_MAX)) if array.dtype.kind == "u" else np.ones(array.shape, bool)


def _whole(value: Any) -> int | str:
    """The value as a 64-bit integer, or the rule that it breaks."""
    if isinstance(value, (float, np.floating)):
        if not float(value).is_integer():
            return "must be an integer"
        if abs(float(value)) > _EXACT_FLOAT:
            return "must be given as an integer, as floating-point numbers are not exact beyond 2**53"
        return int(value)
    if isinstance(value, (bool, np.bool_)):
        return "must be an integer"
    try:
        number = operator.index(value)
    except TypeError:
        return "must be an integer"
    return number if -INT64_MAX - 1 <= number <= INT64_MAX else "must fit a 64-bit signed integer"


def _refusal(value: object, noun: str, item: int, origin: Origin) -> ProblemError:
    entry = f"entry {item} of the solution" if noun == "solution" else f"the {noun} of item {item}"
    return origin.item_error(f"{entry} {_whole(value)}; got {shown(value)}", item)


def check_range(values: NDArray[np.int64], noun: str, least: int, origin: Origin, scale: int = 1) -> None:
    """Require entries of at least ``least`` and a sum that fits 64 bits; messages divide an entry by ``scale``."""
    low = values < least
    if low.any():
        item = int(np.argmax(low))
        shown = values[item] if scale == 1 else values[item] / scale
        raise origin.item_error(f"item {item} has {noun} {shown}; {noun}s must be at least {least}", item)
    total = (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
    if total > INT64_MAX:
        raise origin.error(f"the {noun}s sum to {total}; their sum must fit a 64-bit signed integer ({INT64_MAX})")


def capacity_of(value: object, origin: Origin, noun: str = "capacity") -> int:
    """A capacity as an integer of at least 0."""
    capacity = _whole(value)
    if isinstance(capacity, str):
        raise origin.capacity_error(f"{noun} {capacity}; got {shown(value)}")
    if capacity < 0:
        raise origin.capacity_error(f"{noun} must be at least 0; got {capacity}")
    return capacity


def device_shortage(what: str, needed: int, largest: int, info: DeviceInfo, share: float = 1.0) -> str | None:
    """What does not fit a share of a device's memory, or one buffer, in words; None if all does."""
    usable = int(share * info.memory)
    if needed > usable:
        has = "which has" if share == 1 else "where this may be used:"
        return f"{what} needs {bytes_text(needed)} on {info.id}, {has} {bytes_text(usable)}"
    if largest > info.max_allocation:
        most = bytes_text(info.max_allocation)
        return f"{what} needs one buffer of {bytes_text(largest)} on {info.id}, which allows {most} at once"
    return None


def scalar(arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    """The one value of an array of a problem."""
    if arrays[name].size != 1:
        raise ProblemError(f"{name} must be one value; got an array of shape {arrays[name].shape}")
    return arrays[name].item()


def require_host_memory(size: int, what: str, advice: str) -> None:
    """Refuse ``size`` bytes that the host's memory, where it is known, cannot hold."""
    memory = total_memory()
    if memory is not None and size > memory:
        raise OptionError(
            f"{what} takes {bytes_text(size)} of the host's memory, which is {bytes_text(memory)}; {advice}"
        )


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
    is_whole = array.dtype.kind == "f" and bool((np.isfinite(array) & (np.floor(array) == array)).all())
    if array.ndim != 1 or array.dtype.kind in "iub" or is_whole:
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


def _fraction(value: Any) -> Fraction | None:
    """The exact value of a number; None for anything else, and for numbers that are not finite."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, Decimal, np.number)):
        return None
    try:
        return Fraction(value) if isinstance(value, (numbers.Rational, Decimal)) else Fraction(str(value))
    except (ValueError, OverflowError, TypeError):
        return None


def evaluated(problem: Any, items: NDArray[np.int64]) -> int:
    """The profit of items of a problem of any class; ``AuditError`` if they do not fit."""
    profit, weights = problem.sums(items)
    limits = problem.capacities if isinstance(weights, tuple) else (problem.capacity,)
    weights = weights if isinstance(weights, tuple) else (weights,)
    if any(weight > limit for weight, limit in zip(weights, limits, strict=True)):
        text = [" and ".join(map(str, values)) for values in (weights, limits)]
        raise AuditError(f"its items weigh {text[0]}, more than {text[1]}")
    return int(profit)


def given_solution(problem: Any, initial: tuple[int, ...] | None) -> tuple[NDArray[np.int64], int] | None:
    """The solution of the option ``initial``, checked, and its profit."""
    if initial is None:
        return None
    try:
        items = integers(sorted(initial), "solution", Origin())
        return items, evaluated(problem, items)
    except (ProblemError, AuditError) as error:
        raise OptionError(f"initial is not a solution: {error}") from error
