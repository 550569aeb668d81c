"""Stages with options, under one or two constraints: what problems become, and the answer back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints.problem import MultidimensionalKnapsack
from .problems import MultipleChoiceKnapsack

__all__ = ["Stages", "stages_of"]


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
        found: NDArray[np.int64] = places[np.flatnonzero(np.diff(self.stage[places], prepend=-1))]
        return found

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
