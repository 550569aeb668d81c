"""NumPy reference of the dynamic program, for tests and benchmarks; shares no code with the solver."""

import numpy as np

from ..solvers.knapsack.problem import Knapsack


def optimal_value(problem: Knapsack) -> int:
    """The optimal value by Bellman's recurrence over one row, item by item, in the order given."""
    best = np.zeros(problem.capacity + 1, np.int64)
    for profit, weight in zip(problem.profits.tolist(), problem.weights.tolist(), strict=True):
        if weight <= problem.capacity:
            best[weight:] = np.maximum(best[weight:], best[: problem.capacity + 1 - weight] + profit)
    return int(best[-1])


def optimum_by_cut_rows(problem: Knapsack, cut: bool = True) -> int:
    """The optimum by NumPy row sweeps; with ``cut`` in the order and over the ranges of the solver: a fair peer."""
    profits, weights, capacity = problem.profits, problem.weights, problem.capacity
    fits = weights <= capacity
    order = np.flatnonzero(fits)
    if cut:
        order = order[np.argsort(-weights[fits], kind="stable")]
    kind = np.int32 if int(profits.sum()) < 2**31 else np.int64
    old, new = np.zeros(capacity + 1, kind), np.zeros(capacity + 1, kind)
    later = int(weights[order].sum())
    reach = full = 0
    for item in order.tolist():
        weight, profit = int(weights[item]), int(profits[item])
        later -= weight
        top = min(capacity, reach + weight) if cut else capacity
        old[reach + 1 : top + 1] = full
        low = max(0, capacity - later) if cut else 0
        split = max(low, min(weight, top + 1))
        new[low:split] = old[low:split]
        np.add(old[split - weight : top + 1 - weight], kind(profit), out=new[split : top + 1])
        np.maximum(new[split : top + 1], old[split : top + 1], out=new[split : top + 1])
        reach, full = top, full + profit
        old, new = new, old
    return int(old[min(capacity, reach)])
