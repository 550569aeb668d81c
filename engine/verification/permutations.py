"""Permutations and n-queens: the order is evaluated from the instance's definition, and small optima are found again.

Optima are found by dynamic programmes over subsets (weighted tardiness, linear ordering, tours) or by trying all orders
(flowshops, quadratic assignment) while that takes a second or so; beyond, simple bounds are compared. A search of
billions of nodes is not repeated; of flowshops ``quintet reproduce flowshop`` writes proofs that can be checked.
"""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .findings import Claim, Findings, judge_bound
from .objectives import VALUES, Arrays, Orders, delays, size_of

MOST_TRIED, MOST_SUBSETS, MOST_TOUR, MOST_RECOUNTED = 9, 18, 15, 9
"""Most items of which all orders are tried, all subsets, and all subsets with a last one; most queens counted again."""

# fmt: off
QUEENS = (
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512, 95815104, 666090624,
    4968057848, 39029188884, 314666222712, 2691008701644, 24233937684440, 227514171973736, 2207893435808352,
    22317699616364044, 234907967154122528,
)
# fmt: on
"""Solutions of n-queens for n = 0 ... 27, as published (OEIS A000170)."""


def check(claim: Claim, found: Findings) -> None:
    """Check an order, its objective, and what is claimed of the optimum; or the number of solutions of n-queens."""
    data, result = claim.problem, claim.result
    if claim.kind == "Queens":
        if int(data["n"]) < 0:
            raise ValueError("n is negative")
        _check_queens(claim, found, int(data["n"]))
        return
    n = size_of(claim.kind, data)
    values = VALUES[claim.kind]
    if result.solution is not None:
        order = np.asarray(result.solution)
        if not found.expect(
            order.dtype.kind in "iu" and sorted(order.tolist()) == list(range(n)),
            f"the solution is an order of all {n}",
            f"the solution is no order of 0 to {n - 1}",
        ):
            return
        value = int(values(data, order[None].astype(np.int64))[0])
        found.expect(
            value == result.objective,
            f"its objective is {value}",
            f"its objective is {value}, but the result says {result.objective}",
        )
    best, how, exact = _best(claim.kind, data, n)
    judge_bound(claim, found, True, best, how, exact)
    solutions = result.counters.get("solutions")
    if solutions is not None and result.status == "optimal":
        if n > MOST_TRIED:
            found.unverified.append(f"there are {solutions} optimal solutions (all orders of {n} are not tried)")
        else:
            own = int((values(data, _all_orders(n)) == result.objective).sum())
            found.expect(
                solutions == own,
                f"there are {own} optimal solutions: all orders were tried",
                f"there are {own} solutions of this objective, not {solutions}",
            )
    explored = result.arrays.get("explored")
    if found.unverified and explored is not None and _number(explored) == math.factorial(len(explored)):
        found.unverified.append(
            f"the run's own account: its search has covered all {len(explored)}! leaves of its tree"
        )


def _number(levels: NDArray[Any]) -> int:
    """The number of leaves whose digit sums in the factorial number system are given."""
    number = 0
    for radix, level in zip(range(len(levels), 0, -1), levels.tolist(), strict=True):
        number = number * radix + level
    return number


def _check_queens(claim: Claim, found: Findings, n: int) -> None:
    count, bound = claim.result.objective, claim.result.bound
    if bound is None:
        known = QUEENS[n] if n < len(QUEENS) else None
        if count is not None and known is not None and not 0 <= count <= known:
            found.refuted.append(f"{count} solutions were counted so far, but there are {known} in all")
        found.unverified.append("the number of solutions: the run was stopped before it had counted them all")
    elif n <= MOST_RECOUNTED:
        own = _count(n)
        found.expect(
            count == bound == own,
            f"there are {own} solutions, counted again",
            f"there are {own} solutions, not {count}",
        )
    elif n < len(QUEENS):
        own = QUEENS[n]
        found.expect(
            count == bound == own,
            f"there are {own} solutions, as published (OEIS A000170)",
            f"there are {own} solutions as published (OEIS A000170), not {count}",
        )
    else:
        found.unverified.append(f"the number of solutions of {n} queens: none is published")


def _count(n: int, row: int = 0, columns: int = 0, left: int = 0, right: int = 0) -> int:
    if row == n:
        return 1
    free, total = ((1 << n) - 1) & ~(columns | left | right), 0
    while free:
        bit = free & -free
        free ^= bit
        total += _count(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1)
    return total


# --- optima and bounds ----------------------------------------------------------------------------------------------


def _best(kind: str, data: Arrays, n: int) -> tuple[int | None, str, bool]:
    """The optimum, or a bound on it; how it was found; whether it is the optimum."""
    subsets, whole = "a dynamic programme over all subsets", "a trial of all orders"
    if kind == "ATSP" and n <= MOST_TOUR:
        return _shortest(data["costs"][1:, 1:], data["costs"][0, 1:], data["costs"][1:, 0]), subsets, True
    if kind == "NoWaitFlowshop" and n <= MOST_TOUR:
        return _shortest(delays(data), np.zeros(n, np.int64), data["times"].sum(axis=0)), subsets, True
    if kind in ("Tardiness", "LinearOrdering") and n <= MOST_SUBSETS:
        return _over_subsets(kind, data, n), subsets, True
    if n <= MOST_TRIED:
        return int(VALUES[kind](data, _all_orders(n)).min()), whole, True
    if kind in ("Flowshop", "BlockingFlowshop", "NoWaitFlowshop"):
        times = data["times"]
        heads, tails = np.cumsum(times, axis=0) - times, times.sum(axis=0) - np.cumsum(times, axis=0)
        return int((heads.min(axis=1) + times.sum(axis=1) + tails.min(axis=1)).max()), "the load of one machine", False
    if kind == "LinearOrdering":
        pairs = np.triu(np.minimum(data["weights"], data["weights"].T), 1)
        return int(pairs.sum()), "the sum of the smaller weights of all pairs", False
    return None, f"a search of {n}! orders is not repeated", False


def _all_orders(n: int) -> Orders:
    return np.array(list(itertools.permutations(range(n))), np.int64).reshape(-1, n)


def _over_subsets(kind: str, data: Arrays, n: int) -> int:
    """The least sum of what each item costs behind the set of those before it, ``best[set]``."""
    masks = np.arange(1 << n)
    inside = (masks[:, None] >> np.arange(n)) & 1
    if kind == "Tardiness":
        until = inside @ data["times"]
        costs = [data["weights"][j] * np.maximum(0, until + data["times"][j] - data["due"][j]) for j in range(n)]
    else:  # an item behind others costs its weights towards them
        costs = [inside @ data["weights"][j] for j in range(n)]
    best = np.full(1 << n, np.iinfo(np.int64).max // 2)
    best[0] = 0
    for of_size in _by_size(n):
        for j in range(n):
            without = of_size[(of_size >> j) & 1 == 0]
            target = without | 1 << j
            best[target] = np.minimum(best[target], best[without] + costs[j][without])
    return int(best[-1])


def _shortest(costs: Orders, first: Orders, last: Orders) -> int:
    """The cheapest path through all, with what its ends cost (Held and Karp): ``best[set, item at its end]``."""
    n = len(costs)
    if not n:
        return 0
    best = np.full((1 << n, n), np.iinfo(np.int64).max // 2)
    best[1 << np.arange(n), np.arange(n)] = first
    for of_size in _by_size(n)[1:]:
        for j in range(n):
            without = of_size[(of_size >> j) & 1 == 0]
            best[without | 1 << j, j] = (best[without] + costs[:, j]).min(axis=1)
    return int((best[-1] + last).min())


def _by_size(n: int) -> list[Orders]:
    """The sets of 0, 1, ... n - 1 items, as masks."""
    masks = np.arange(1 << n)
    sizes = ((masks[:, None] >> np.arange(n)) & 1).sum(axis=1)
    return [masks[sizes == size] for size in range(n)]
