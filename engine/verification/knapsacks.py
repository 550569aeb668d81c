"""Knapsacks: the items are counted and added up again; bounds and a plain dynamic programme judge the optimum.

Everything is computed in integers. Optima are recomputed where that takes at most ``MOST_CELLS`` cells; else they are
compared with a Lagrangian bound.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.result import Status
from .findings import Claim, Findings, judge_bound

MOST_CELLS = 500_000_000
MOST_TABLE = 50_000_000
_BOUND = "a Lagrangian bound"
_NOTHING = np.iinfo(np.int64).min // 2
Whole = NDArray[np.int64]


def check(claim: Claim, found: Findings) -> None:
    """Check a knapsack's items, their profit and weight, and what is claimed of the optimum."""
    data, result = claim.problem, claim.result
    profits, weights = data["profits"].astype(np.int64), np.atleast_2d(data["weights"]).astype(np.int64)
    capacities = np.atleast_1d(data["capacities"] if "capacities" in data else data["capacity"]).astype(np.int64)
    classes = data.get("classes")
    most = data["counts"].astype(np.int64) if "counts" in data else np.ones(len(profits), np.int64)
    scale = int(str(data["scale"])) if "scale" in data else 1
    if len(weights) != len(capacities) or weights.shape[1] != len(profits):
        raise ValueError("the sizes of profits, weights and capacities do not fit")
    if any((values < 0).any() for values in (profits, weights, capacities, most)) or float(profits.sum()) > 9e18:
        raise ValueError("a profit, weight, capacity or count is out of its range")
    if result.solution is not None:
        _check_items(claim, found, profits, weights, capacities, classes, most, scale)
    if result.status == Status.INFEASIBLE:
        least = None if classes is None else sum(int(weights[0][classes == one].min()) for one in np.unique(classes))
        found.expect(
            least is not None and least > int(capacities[0]),
            f"there is no solution: the lightest items of all classes weigh {least}, more than {int(capacities[0])}",
            "the result says that there is no solution, but there is one",
        )
        return
    best, how, values, unit = _best(profits, weights, capacities, classes, most)
    judge_bound(claim, found, False, best, how, values is not None, scale)
    profile = result.arrays.get("profile")
    if profile is None:
        return
    if values is None:
        found.unverified.append("the optimal values of all other capacities (profile)")
        return
    same = len(profile) == int(capacities[0]) + 1
    if same:
        own = values[np.arange(len(profile)) // unit]
        same = np.array_equal(own if scale == 1 else own / scale, profile)
    found.expect(same, "so does the profile of all other capacities", "the profile of other capacities is wrong")


def _check_items(
    claim: Claim,
    found: Findings,
    profits: Whole,
    weights: Whole,
    capacities: Whole,
    classes: NDArray[Any] | None,
    most: Whole,
    scale: int,
) -> None:
    items = np.asarray(claim.result.solution)
    if items.dtype.kind not in "iu" or (len(items) and not 0 <= items.min() <= items.max() < len(profits)):
        found.refuted.append(f"the items must be numbers from 0 to {len(profits) - 1}")
        return
    taken = np.bincount(items, minlength=len(profits))
    if classes is None:
        rule, kept = "no item is taken more often than it may be", bool((taken <= most).all())
    else:
        rule = "one item of each class is taken"
        kept = bool((np.bincount(classes[items], minlength=int(classes.max()) + 1) == 1).all()) and taken.max() <= 1
    found.expect(kept, rule, f"it is wrong that {rule}")
    used = [sum(row[items].tolist()) for row in weights]
    fits = all(weight <= capacity for weight, capacity in zip(used, capacities.tolist(), strict=True))
    sizes = ", ".join(f"{weight} of {capacity}" for weight, capacity in list(zip(used, capacities, strict=True))[:3])
    found.expect(fits, f"the items fit (weight {sizes})", f"the items do not fit (weight {sizes})")
    profit = sum(profits[items].tolist())
    value = profit if scale == 1 else profit / scale
    objective = claim.result.objective
    found.expect(
        value == objective, f"their profit is {value}", f"their profit is {value}, but the objective says {objective}"
    )


def _best(
    profits: Whole, weights: Whole, capacities: Whole, classes: NDArray[Any] | None, most: Whole
) -> tuple[int | None, str, Whole | None, int]:
    """The optimum, or a bound on it; how it was found; of an optimum the values of all capacities, and their unit."""
    if classes is None:
        profits, weights = _packs(profits, weights, most, capacities)
    units = np.maximum(1, np.gcd.reduce(weights, axis=1)) if weights.size else np.ones(len(weights), np.int64)
    weights, capacities = weights // units[:, None], capacities // units
    cells = float(np.prod(capacities + 1.0))
    if cells <= MOST_TABLE and cells * len(profits) <= MOST_CELLS:
        values = _programme(profits, weights, capacities, classes)
        best = int(values.max())
        return best if best >= 0 else None, "a dynamic programme over all capacities", values, int(units[0])
    return *_lagrangian(profits, weights, capacities, classes), None, 1


def _packs(profits: Whole, weights: Whole, most: Whole, capacities: Whole) -> tuple[Whole, Whole]:
    """Copies of an item in packs of 1, 2, 4, ... and a rest; items that do not fit are left out."""
    fits = (weights <= capacities[:, None]).all(axis=0) & (most > 0) & (profits > 0)
    items, sizes = [], []
    for item in np.flatnonzero(fits).tolist():
        room = [int(c) // int(w) for c, w in zip(capacities, weights[:, item], strict=True) if w > 0]
        left, size = min([int(most[item]), *room]), 1
        while left > 0:
            items.append(item)
            sizes.append(min(size, left))
            left, size = left - size, 2 * size
    chosen, factor = np.array(items, np.int64), np.array(sizes, np.int64)
    return profits[chosen] * factor, weights[:, chosen] * factor


def _lagrangian(profits: Whole, rows: Whole, capacities: Whole, classes: NDArray[Any] | None) -> tuple[int, str]:
    """A bound that holds whatever its multipliers are; they are the duals of the linear relaxation, by SciPy.

    With prices ``profit - multipliers . weights`` it is ``multipliers . capacities`` and the prices above 0, or the
    best of each class. Where there are no classes, a further row says that no more items are taken than the lightest
    that fit.
    """
    n = len(profits)
    if not n:
        return 0, _BOUND
    if classes is None:
        fit = min(int((np.cumsum(np.sort(row)) <= most).sum()) for row, most in zip(rows, capacities, strict=True))
        rows, capacities = np.vstack([rows, np.ones(n, np.int64)]), np.append(capacities, fit)
    multipliers = [Fraction(value).limit_denominator(10**6) for value in _duals(profits, rows, capacities, classes)]
    unit = math.lcm(*(value.denominator for value in multipliers))
    prices = profits.astype(object) * unit
    total = 0
    for value, row, capacity in zip(multipliers, rows, capacities.tolist(), strict=True):
        whole = value.numerator * (unit // value.denominator)
        prices = prices - row.astype(object) * whole
        total += whole * capacity
    if classes is None:
        total += sum(price for price in prices.tolist() if price > 0)
    else:
        total += sum(int(prices[classes == one].max()) for one in range(int(classes.max()) + 1))
    step = max(1, int(np.gcd.reduce(profits)))
    return total // (unit * step) * step, _BOUND


def _duals(profits: Whole, rows: Whole, capacities: Whole, classes: NDArray[Any] | None) -> list[float]:
    """About the best multipliers, at least 0."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    equal = {}
    if classes is not None:
        count = int(classes.max()) + 1
        entries = np.ones(len(profits)), (classes, np.arange(len(profits)))
        equal = {"A_eq": csr_array(entries, shape=(count, len(profits))), "b_eq": np.ones(count)}
    found = linprog(
        -profits.astype(float), csr_array(rows.astype(float)), capacities.astype(float), bounds=(0, 1), **equal
    )
    if found.status != 0:
        return [0.0] * len(rows)
    return [max(0.0, -float(value)) for value in found.ineqlin.marginals]


def _programme(profits: Whole, weights: Whole, capacities: Whole, classes: NDArray[Any] | None) -> Whole:
    """The optima of all capacities by Bellman's recurrence, below 0 where there is no solution."""
    shape = [capacity + 1 for capacity in capacities.tolist()]
    table = np.zeros(shape, np.int64)
    groups = range(len(profits)) if classes is None else range(int(classes.max()) + 1)
    for group in groups:
        members = [group] if classes is None else np.flatnonzero(classes == group).tolist()
        after = table if classes is None else np.full(shape, _NOTHING)
        for item in members:
            weight = weights[:, item].tolist()
            if all(part < size for part, size in zip(weight, shape, strict=True)):
                below = tuple(slice(0, size - part) for part, size in zip(weight, shape, strict=True))
                above = tuple(slice(part, None) for part in weight)
                after[above] = np.maximum(after[above], table[below] + profits[item])
        table = after
    return table
