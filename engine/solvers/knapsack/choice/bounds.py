"""Problems in stages with options, under one or two constraints: bounds, good solutions, fixed options; on the host.

The Lagrangian relaxation of both constraints with multipliers lambda >= 0 is ``lambda C + sum over stages of the
greatest p - lambda w``. It is convex and piecewise linear in lambda; Kelley's cutting planes find its minimum.
Multipliers are then rounded to fractions with one denominator, with which the bound is computed exactly. An option is
removed if the bound, less what its gain is below the greatest of its stage, does not exceed the best known profit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints.problem import MultidimensionalKnapsack
from .problems import MultipleChoiceKnapsack

_CUTS = 60
_ROUNDS = 12
_MOST_SCALE = 1 << 20
_PASSES = 30  # of switches of single stages, each of up to so many options
_TRIED = 3000
_NEAR = 400  # options that are switched in pairs
_PAIR_ROUNDS = 60
_PAIR_WORK = 10_000_000  # options looked at in all rounds together


@dataclass(frozen=True)
class Stages:
    """Exactly one option of each stage is taken."""

    first: NDArray[np.int64]  # (k + 1,): the first option of each stage
    profits: NDArray[np.int64]  # (m,)
    weights: NDArray[np.int64]  # (m, 2); with one constraint the first column is zero
    labels: NDArray[np.int64]  # (m,): the item that an option takes; -1 for none
    capacities: NDArray[np.int64]  # (2,); negative where nothing fits

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def stage(self) -> NDArray[np.int64]:
        """The stage of each option, shape (m,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    def best(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """The first option of greatest value of each stage, shape (k,)."""
        greatest = np.maximum.reduceat(values, self.first[:-1])
        places = np.flatnonzero(values == greatest[self.stage])
        return np.asarray(places[np.flatnonzero(np.diff(self.stage[places], prepend=-1))])

    def keep(self, kept: NDArray[np.bool_]) -> Stages:
        """Without the other options; every stage keeps one at least."""
        counts = np.add.reduceat(kept.astype(np.int64), self.first[:-1])
        first = np.concatenate([[0], np.cumsum(counts)])
        return Stages(first, self.profits[kept], self.weights[kept], self.labels[kept], self.capacities)

    def without(self, decided: NDArray[np.bool_]) -> Stages:
        """Without the stages that are decided (they keep one option, which is taken)."""
        kept = ~decided[self.stage]
        counts = np.diff(self.first)[~decided]
        left = self.capacities - self.weights[~kept].sum(axis=0)
        first = np.concatenate([[0], np.cumsum(counts)])
        return Stages(first, self.profits[kept], self.weights[kept], self.labels[kept], left)

    def lowered(self) -> Stages:
        """The same with the least weights of each stage subtracted from its options and the capacities."""
        if not len(self):
            return self
        least = np.minimum.reduceat(self.weights, self.first[:-1], axis=0)
        left = self.capacities - least.sum(axis=0)
        return Stages(self.first, self.profits, self.weights - least[self.stage], self.labels, left)


def stages_of(problem: MultipleChoiceKnapsack | MultidimensionalKnapsack) -> Stages:
    """The stages of a problem: its classes, or for each item the options to leave and to take it (one or two rows)."""
    if isinstance(problem, MultipleChoiceKnapsack):
        order = np.lexsort((np.arange(problem.n), problem.classes))
        first = np.concatenate([[0], np.cumsum(np.bincount(problem.classes, minlength=problem.class_count))])
        weights = np.column_stack([np.zeros(problem.n, np.int64), problem.weights[order]])
        capacities = np.array([0, problem.capacity], np.int64)
        return Stages(first.astype(np.int64), problem.profits[order], weights, order.astype(np.int64), capacities)
    n, m = problem.n, problem.m
    rows = np.vstack([np.zeros((2 - m, n), np.int64), problem.weights])  # one row is the second
    taken = np.arange(2 * n) % 2 == 1
    item = np.arange(2 * n) // 2
    return Stages(
        2 * np.arange(n + 1, dtype=np.int64),
        np.where(taken, problem.profits[item], 0),
        np.where(taken[:, None], rows.T[item], 0),
        np.where(taken, item, -1).astype(np.int64),
        np.array([0] * (2 - m) + list(problem.capacities), np.int64),
    )


@dataclass
class Reduction:
    """What is known of a problem."""

    open: Stages  # lowered and not decided; only solutions better than ``best`` are among their options
    taken: list[int]  # items of the stages that are decided
    profit: int  # of those
    best: NDArray[np.int64] | None
    objective: int  # -1 if there is no solution
    bound: int  # -1 if none exists

    @property
    def solved(self) -> bool:
        """Whether the best solution known is optimal, or none exists."""
        return self.bound <= self.objective

    def improve(self, chosen: NDArray[np.int64]) -> None:
        """Take over a feasible choice of one option of each open stage, if it is the best so far."""
        objective = self.profit + int(self.open.profits[chosen].sum())
        if objective > self.objective:
            labels = self.open.labels[chosen]
            items = np.concatenate([np.array(self.taken, np.int64), labels[labels >= 0]])
            self.best, self.objective = np.sort(items), objective
            self.bound = max(self.bound, objective)

    def close(self) -> None:
        """Nothing better exists."""
        self.bound = self.objective


def reduce_stages(
    stages: Stages,
    objective: int,
    best: NDArray[np.int64] | None,
    reduce: bool,
    search: bool = True,
    is_over: Callable[[], bool] = lambda: False,
) -> Reduction:
    """Bound the optimum, find a good solution, and remove options that no better solution takes.

    Options that cannot fit are always removed, others by bounds if ``reduce``; without ``search`` nothing else is done.
    """
    largest = int(np.maximum.reduceat(stages.profits, stages.first[:-1]).sum()) if len(stages) else 0
    found = Reduction(stages.lowered(), [], 0, best, objective, max(largest, objective))
    for _ in range(_ROUNDS):
        if not _decide(found) or found.solved or not search or is_over():
            return found
        before = len(found.open.profits)
        multipliers = _multipliers(found.open, is_over)
        _search(found, multipliers, is_over)
        scale, exact = _exact(found.open, multipliers)
        gains = scale * found.open.profits - found.open.weights @ exact
        greatest = np.maximum.reduceat(gains, found.open.first[:-1])
        bound = int(exact @ found.open.capacities) + int(greatest.sum())
        found.bound = max(found.objective, min(found.bound, found.profit + bound // scale))
        if found.solved or not reduce:
            return found
        least = scale * (found.objective - found.profit + 1)
        kept: NDArray[np.bool_] = np.asarray(bound - (greatest[found.open.stage] - gains) >= least)
        if not np.logical_or.reduceat(kept, found.open.first[:-1]).all():
            found.close()
            return found
        found.open = found.open.keep(kept).lowered()
        if len(found.open.profits) > 0.9 * before:
            _decide(found)
            return found
    return found


def _decide(found: Reduction) -> bool:
    """Remove options that do not fit, and stages with a single one; False if nothing is left to decide."""
    while True:
        stages = found.open
        if (stages.capacities < 0).any():
            found.close()
            return False
        if not len(stages):
            found.improve(np.zeros(0, np.int64))
            found.close()
            return False
        fits: NDArray[np.bool_] = np.asarray((stages.weights <= stages.capacities).all(axis=1))
        if not np.logical_or.reduceat(fits, stages.first[:-1]).all():
            found.close()
            return False
        counts = np.add.reduceat(fits.astype(np.int64), stages.first[:-1])
        decided = counts == 1
        if fits.all() and not decided.any():
            return True
        stages = stages.keep(fits)
        single = np.flatnonzero(decided[stages.stage])
        labels = stages.labels[single]
        found.taken += labels[labels >= 0].tolist()
        found.profit += int(stages.profits[single].sum())
        found.open = stages.without(decided).lowered()


def _multipliers(stages: Stages, is_over: Callable[[], bool]) -> NDArray[np.float64]:
    """Real multipliers of least bound, shape (2,), by cutting planes."""
    from scipy.optimize import linprog

    profits, weights = stages.profits.astype(float), stages.weights.astype(float)
    unit = np.maximum(weights.max(axis=0), 1.0)
    weights, capacities = weights / unit, stages.capacities / unit
    scale = max(float(profits.max()), 1.0)
    profits = profits / scale
    positive = np.where(weights > 0, weights, np.inf)
    upper = np.minimum(1e9, 1.0 / positive.min(axis=0)) + 1e-9
    rows, limits = [], []
    point, best, value = np.zeros(2), np.zeros(2), np.inf
    for _ in range(_CUTS):
        gains = profits - weights @ point
        chosen = stages.best(gains)
        slope = capacities - weights[chosen].sum(axis=0)
        at = float(capacities @ point + gains[chosen].sum())
        if at < value:
            best, value = point, at
        rows.append([*slope, -1.0])
        limits.append(float(slope @ point) - at)
        bounds = [(0.0, float(upper[0])), (0.0, float(upper[1])), (0.0, None)]
        step = linprog([0.0, 0.0, 1.0], A_ub=np.array(rows), b_ub=np.array(limits), bounds=bounds, method="highs")
        if step.x is None or value - step.fun <= 1e-9 * max(1.0, value) or is_over():
            break
        point = np.array(step.x[:2])
    return np.asarray(best * scale / unit)


def _exact(stages: Stages, multipliers: NDArray[np.float64]) -> tuple[int, NDArray[np.int64]]:
    """A denominator and integer numerators near the multipliers, with which all sums fit 64 bits."""
    profits = float(np.maximum.reduceat(stages.profits, stages.first[:-1]).sum())
    weights = float((multipliers * (np.abs(stages.capacities) + len(stages) * stages.weights.max(axis=0))).sum())
    room = 2.0**60 / max(profits + weights, 1.0)
    if room < 1:
        return 1, np.zeros(2, np.int64)
    scale = int(min(_MOST_SCALE, room))
    return scale, np.round(multipliers * scale).astype(np.int64)


def _search(found: Reduction, multipliers: NDArray[np.float64], is_over: Callable[[], bool]) -> None:
    """Feasible choices near the relaxation's, for the multipliers and greater ones, improved by switches."""
    stages = found.open
    loss = stages.profits - stages.weights @ multipliers
    loss = loss[stages.best(loss)][stages.stage] - loss
    near = np.argsort(loss, kind="stable")[: _NEAR + len(stages)]  # among them the best option of each stage
    starts = []
    for factor in (1.0, 1.0 + 1e-6, 1.01, 1.1, 1.5, 3.0, 1e6):
        gains = stages.profits - stages.weights @ (multipliers * factor)
        starts.append(stages.best(gains - 1e-12 * stages.weights.sum(axis=1)))
    starts.append(stages.best(-stages.weights.sum(axis=1)))
    tried = 0
    for chosen in starts:
        if tried < 3 and (stages.weights[chosen].sum(axis=0) <= stages.capacities).all():
            found.improve(_switched_in_pairs(stages, _switched(stages, chosen), near, is_over))
            tried += 1


def _switched_in_pairs(
    stages: Stages, chosen: NDArray[np.int64], near: NDArray[np.int64], is_over: Callable[[], bool]
) -> NDArray[np.int64]:
    """Switch one or two stages to some of the options ``near`` the relaxation's, as long as that brings something."""
    stage = stages.stage
    for _ in range(max(2, min(_PAIR_ROUNDS, _PAIR_WORK // len(stage)))):
        if is_over():
            return chosen
        options = near[chosen[stage[near]] != near][:_NEAR]
        old = chosen[stage[options]]
        profit = np.append(stages.profits[options] - stages.profits[old], 0)  # the last: no second switch
        weight = np.vstack([stages.weights[options] - stages.weights[old], np.zeros((1, 2), np.int64)])
        owner = np.append(stage[options], -1)
        slack = stages.capacities - stages.weights[chosen].sum(axis=0)
        allowed = owner[:, None] != owner[None, :]
        for column in range(2):
            allowed &= weight[:, column, None] + weight[None, :, column] <= slack[column]
        gain = np.where(allowed, profit[:, None] + profit[None, :], 0)
        best = int(np.argmax(gain))
        if gain.flat[best] <= 0:
            return chosen
        chosen = chosen.copy()
        for place in divmod(best, len(owner)):
            if place < len(options):
                chosen[owner[place]] = options[place]
        chosen = _switched(stages, chosen)
    return chosen


def _switched(stages: Stages, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Switch stages to options of greater profit that fit, the most profit for the room they take first."""
    chosen = chosen.copy()
    stage = stages.stage
    for _ in range(_PASSES):
        gain = stages.profits - stages.profits[chosen][stage]
        extra = stages.weights - stages.weights[chosen][stage]
        slack = stages.capacities - stages.weights[chosen].sum(axis=0)
        options = np.flatnonzero((gain > 0) & (extra <= slack).all(axis=1))
        if not len(options):
            return chosen
        room = (np.maximum(extra[options], 0) / np.maximum(slack, 1)).max(axis=1)
        options = options[np.argsort(-gain[options] / (room + 1e-9), kind="stable")[:_TRIED]]
        first, second = slack.tolist()
        switched: set[int] = set()
        columns = (options, stage[options], extra[options, 0], extra[options, 1])
        for option, owner, a, b in zip(*(column.tolist() for column in columns), strict=True):
            if owner not in switched and a <= first and b <= second:
                chosen[owner] = option
                first, second = first - a, second - b
                switched.add(owner)
    return chosen
