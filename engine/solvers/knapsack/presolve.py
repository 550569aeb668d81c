"""Before any dynamic program: trivial cases, bounds, good solutions, and items that bounds decide."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bounds import Relaxation, exchange, greedy
from .ordering import by_efficiency
from .problem import Knapsack

_SAMPLE = 5000  # items on which multipliers are searched for first
_FEW, _MANY = 60, 160  # items inside and outside that exchanges look at, first and last
_ROUNDS = 8  # of exchanges, each of which must improve the solution


@dataclass
class Reduced:
    """What is known of the answer so far."""

    taken: NDArray[np.int64]  # items that every solution better than ``best`` takes
    open: NDArray[np.int64]  # items not decided; no other matters before ``best`` is known to be optimal
    capacity: int  # what the items taken leave
    best: NDArray[np.int64]
    objective: int
    bound: int

    @property
    def solved(self) -> bool:
        """Whether the best solution known is optimal."""
        return self.bound <= self.objective

    def improve(self, items: NDArray[np.int64], objective: int) -> None:
        """Keep a solution if it is better than the best so far."""
        if objective > self.objective:
            self.best, self.objective = items, objective
            self.bound = max(self.bound, objective)

    def close(self) -> None:
        """The best solution known has been proved optimal."""
        self.open = self.open[:0]
        self.bound = self.objective

    def fix(self, problem: Knapsack) -> None:
        """Decide open items by Dantzig's bound, again and again while that decides a tenth of them."""
        while len(self.open):
            before = len(self.open)
            weights, profits = problem.weights[self.open], problem.profits[self.open]
            fixed = int(problem.profits[self.taken].sum())
            if int(weights.sum()) <= self.capacity:  # the rest fits
                items = np.concatenate([self.taken, self.open])
                self.improve(items, int(problem.profits[items].sum()))
                self.close()
                return
            fits = weights <= self.capacity
            if not fits.all():
                self._decide(problem, np.zeros(before, bool), ~fits)
                continue
            relaxation = Relaxation.at_break_item(profits, weights, self.capacity, by_efficiency(profits, weights))
            self.bound = max(self.objective, min(self.bound, fixed + relaxation.bound))
            if self.solved:
                self.close()
                return
            self._decide(problem, *relaxation.fixed(self.objective - fixed))
            if len(self.open) > 0.9 * before and int(problem.weights[self.open].sum()) > self.capacity:
                return

    def _decide(self, problem: Knapsack, take: NDArray[np.bool_], leave: NDArray[np.bool_]) -> None:
        """Take and leave open items; if what is taken does not fit, no better solution exists."""
        self.taken = np.concatenate([self.taken, self.open[take]])
        self.capacity -= int(problem.weights[self.open[take]].sum())
        self.open = self.open[~(take | leave)]
        if self.capacity >= 0:
            self.improve(self.taken, int(problem.profits[self.taken].sum()))
        if self.capacity < 0 or not len(self.open):
            self.close()


def presolve(
    problem: Knapsack,
    reduce: bool,
    initial: NDArray[np.int64] | None = None,
    is_over: Callable[[], bool] = lambda: False,
    copies: NDArray[np.int64] | None = None,
) -> Reduced:
    """Leave out items that cannot fit, take all if all fit, bound the optimum, and fix what bounds can fix.

    Without ``reduce`` only Dantzig's bound is computed. ``copies``: how many equal items each item stands for. Once
    ``is_over``, what is known so far is returned.
    """
    indices = np.flatnonzero((problem.weights <= problem.capacity) & (problem.profits > 0)).astype(np.int64)
    profits, weights, capacity = problem.profits[indices], problem.weights[indices], problem.capacity
    nothing = np.zeros(0, np.int64)
    if int(weights.sum()) <= capacity:
        value = int(profits.sum())
        return Reduced(indices, nothing, capacity - int(weights.sum()), indices, value, value)
    order = by_efficiency(profits, weights)
    solution = greedy(profits, weights, capacity, order)
    objective = int(profits[solution].sum())
    if initial is not None and int(problem.profits[initial].sum()) > objective:
        solution = np.flatnonzero(np.isin(indices, initial)).astype(np.int64)
        objective = int(profits[solution].sum())
    relaxations = [Relaxation.at_break_item(profits, weights, capacity, order)]
    bound = max(objective, relaxations[0].bound)
    reduced = Reduced(nothing, indices, capacity, indices[solution], objective, bound)
    if not reduce or reduced.solved or is_over():
        return reduced

    def search(relaxation: Relaxation, rounds: int) -> None:
        """Exchange up to two items for up to two others while that improves the solution, at most so often."""
        nonlocal solution
        candidates = _FEW
        for _ in range(rounds):
            if reduced.solved or is_over():
                return
            better = exchange(profits, weights, capacity, solution, relaxation.gains, candidates)
            objective = int(profits[better].sum())
            if objective > reduced.objective:
                solution = better
                reduced.improve(indices[better], objective)
            elif candidates == _MANY:
                return
            else:
                candidates = _MANY

    search(relaxations[0], 2)
    for every in (len(indices) // _SAMPLE, 1) if len(indices) > 4 * _SAMPLE else (1,):
        if reduced.solved or is_over():
            break
        number = None if copies is None else copies[indices]
        counted = Relaxation.with_cardinality(profits, weights, capacity, reduced.objective, every, is_over, number)
        if counted is not None:
            relaxations.append(counted)
            reduced.bound = max(reduced.objective, min(reduced.bound, counted.bound))
            if not reduced.solved:
                search(counted, 2)
    if not reduced.solved:
        search(min(relaxations, key=lambda relaxation: relaxation.bound), _ROUNDS)
    if reduced.solved:
        reduced.close()
    if reduced.solved or is_over():
        return reduced
    take, leave = (np.zeros(len(indices), bool) for _ in range(2))
    for relaxation in relaxations:
        taken, left = relaxation.fixed(reduced.objective)
        take |= taken
        leave |= left
    if (take & leave).any():  # no solution is better
        reduced.close()
        return reduced
    reduced._decide(problem, take, leave)
    reduced.fix(problem)
    return reduced
