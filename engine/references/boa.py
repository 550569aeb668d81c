"""The algorithm in NumPy: what every kernel is compared with, bit for bit.

A generation: select, learn a network greedily under a permutation, sample offspring from it, evaluate, replace.

References
----------
M. Pelikan, D. E. Goldberg, E. Cantu-Paz, "BOA: the Bayesian optimization algorithm", GECCO 1999, 525-532.
A. Munawar, M. Wahib, M. Munetomo, K. Akama, "Theoretical and empirical analysis of a GPU based parallel Bayesian
optimization algorithm", PDCAT 2009, 457-462.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.philox import uniform_words
from ..solvers.boa.fitness.tables import Decomposable
from ..solvers.boa.network import individuals
from ..solvers.boa.options import (
    GENE_STRIDE,
    STREAM_INITIAL,
    STREAM_OFFSPRING,
    STREAM_PERMUTATION,
    Parameters,
)
from .boa_partition import partition_child

Bits = NDArray[np.uint8]
Keys = NDArray[np.int64]


def permutation(parameters: Parameters, generation: int) -> NDArray[np.int32]:
    """Genes in the order in which they are sampled; an edge goes from an earlier to a later one."""
    words = uniform_words(parameters.seed, STREAM_PERMUTATION, generation, 0, parameters.n, chain=parameters.chain)
    return np.asarray(np.lexsort((words[:, 1], words[:, 0])), np.int32)


def initial_population(parameters: Parameters) -> Bits:
    """Uniform individuals, shape (N, n)."""
    columns = -(-parameters.population // 32)
    planes = np.empty((parameters.n, columns), np.uint32)
    for gene in range(parameters.n):
        words = uniform_words(
            parameters.seed, STREAM_INITIAL, 0, gene * GENE_STRIDE, -(-columns // 4), chain=parameters.chain
        )
        planes[gene] = words.reshape(-1)[:columns]
    return individuals(planes, parameters.population)


def best_first(keys: Keys) -> NDArray[np.int64]:
    """Individuals by fitness, the best first; of equals the one with the lower number."""
    return np.argsort(-keys, kind="stable")


@dataclass(frozen=True)
class Learned:
    """A network over genes in sampling order.

    ``order`` holds the gene of each rank; ``parents[r]`` the ranks of the parents of rank ``r``, in the order they were
    added; ``counts[r]`` has shape (2, 2^s): individuals by the gene's value and by the configuration of its s parents.
    """

    order: NDArray[np.int32]
    parents: list[list[int]]
    counts: list[NDArray[np.int64]]


def learn(chosen: Bits, order: NDArray[np.int32], max_parents: int) -> Learned:
    """Greedy edge additions under a permutation, for each node the best first, of equals that of the lower rank."""
    ranked, factorials = chosen[:, order].astype(np.float64), _log_factorials(len(chosen))
    parents: list[list[int]] = []
    counts: list[NDArray[np.int64]] = []
    for node in range(len(order)):
        own: list[int] = []
        code = ranked[:, node].astype(np.int64)
        totals = np.bincount(code, minlength=2)
        while len(own) < max_parents and node > len(own):
            level = len(own)
            rows = 2 << level
            ones = (code == np.arange(rows)[:, None]).astype(np.float64) @ ranked[:, :node]
            with_one = np.rint(ones).astype(np.int64)
            gains = -np.full(node, _score(factorials, totals[0::2], totals[1::2]))
            for part in (with_one, totals[:, None] - with_one):
                gains += _score(factorials, part[0::2], part[1::2])
            gains[own] = np.iinfo(np.int64).min
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            own.append(best)
            code += ranked[:, best].astype(np.int64) << (level + 1)
            totals = np.bincount(code, minlength=2 * rows)
        parents.append(own)
        counts.append(totals.reshape(-1, 2).T.astype(np.int64))
    return Learned(order, parents, counts)


def _log_factorials(selected: int) -> NDArray[np.int64]:
    """Logarithms of i! for i up to ``selected + 1``: multiples of a power of 1/2, so that 31 bits hold any score."""
    bits = min(14, int(30.5 - math.log2(max(2.0, selected * math.log(2)))))
    return np.array([round(math.lgamma(i + 1) * 2**bits) for i in range(selected + 2)], np.int64)


def _score(factorials: NDArray[np.int64], zeros: NDArray[np.int64], ones: NDArray[np.int64]) -> NDArray[np.int64]:
    """The K2 score: a sum over configurations (the first axis) of ln zeros! + ln ones! - ln (zeros + ones + 1)!."""
    return np.asarray((factorials[zeros] + factorials[ones] - factorials[zeros + ones + 1]).sum(axis=0))


def probabilities(counts: NDArray[np.int64], laplace: bool) -> NDArray[np.int64]:
    """Chance of a one for each configuration, in units of 2^-31, rounded down; half where nothing is known."""
    zeros, ones = counts
    both = zeros + ones
    if laplace:
        return np.asarray(((ones + 1) << 31) // (both + 2), np.int64)
    return np.where(both > 0, (ones << 31) // np.maximum(both, 1), 1 << 30)


def sample(parameters: Parameters, learned: Learned, generation: int) -> Bits:
    """Offspring by ancestral sampling, shape (M, n).

    The random number of an individual and a gene has 31 bits, the highest first: bit b is that of the individual in
    word b of the eight blocks drawn for this gene and these 32 individuals.
    """
    columns = -(-parameters.offspring // 32)
    ranked = np.zeros((32 * columns, parameters.n), np.uint8)
    for rank, gene in enumerate(learned.order):
        blocks = [
            uniform_words(
                parameters.seed,
                STREAM_OFFSPRING,
                generation,
                int(gene) * GENE_STRIDE,
                columns,
                chain=parameters.chain,
                attempt=attempt,
            )
            for attempt in range(8)
        ]
        digits = np.concatenate(blocks, axis=1)[:, :31].T
        number = np.zeros(32 * columns, np.int64)
        for digit in np.ascontiguousarray(digits):
            number = 2 * number + individuals(digit[None, :], 32 * columns)[:, 0]
        code = np.zeros(32 * columns, np.int64)
        for place, parent in enumerate(learned.parents[rank]):
            code += ranked[:, parent].astype(np.int64) << place
        ranked[:, rank] = number < probabilities(learned.counts[rank], parameters.laplace)[code]
    made = np.empty((parameters.offspring, parameters.n), np.uint8)
    made[:, learned.order] = ranked[: parameters.offspring]
    return made


def improve(
    parameters: Parameters, fitness: Decomposable, bits: Bits, stream: int, step: int, count: int
) -> tuple[Bits, int]:
    """Local search of the first ``count`` of bits (m, n), gains by evaluating flipped strings; and all flips."""
    improved, flips = bits.copy(), 0
    for individual in range(count):
        improved[individual], own = _improve_one(parameters, fitness, bits[individual], stream, step, individual)
        flips += own
    return improved, flips


def _improve_one(
    parameters: Parameters, fitness: Decomposable, start: Bits, stream: int, step: int, individual: int
) -> tuple[Bits, int]:
    search = parameters.improvement
    assert search is not None
    n, present, last = fitness.n, start.copy(), np.zeros(fitness.n, np.int64)
    value = best_value = int(fitness.keys(present[None])[0])
    best, flips = present.copy(), 0
    for number in range(search.flips):
        words = uniform_words(parameters.seed, stream, step, (individual << 24) + number, 1, chain=parameters.chain)[0]
        gains = fitness.keys(present ^ np.eye(n, dtype=np.uint8)) - value
        origin = (int(words[0]) * n) >> 32
        if search.rule == "walk":
            gene = _walk(fitness, present, gains, last, words)
            if gene is None:
                break
        else:
            around = np.roll(np.arange(n), -origin)
            if search.rule == "tabu":
                around = around[(last[around] <= number) | (gains[around] > best_value - value)]
            else:
                around = around[gains[around] > 0]
            if not len(around):
                if search.rule == "tabu":
                    continue
                break
            gene = int(around[np.argmax(gains[around])])
        present[gene] ^= 1
        value += int(gains[gene])
        flips += 1
        spread = (int(words[1]) * search.tenure_spread) >> 32
        last[gene] = number + 1 + (search.tenure + spread if search.rule == "tabu" else 0)
        if value > best_value:
            best_value, best = value, present.copy()
    return (best if search.rule in ("tabu", "walk") else present), flips


def anneal(
    parameters: Parameters,
    fitness: Decomposable,
    start: Bits,
    individual: int,
    stream: int,
    step: int,
    schedule: Mapping[str, Any],
) -> tuple[Bits, int]:
    """Simulated annealing of one individual, gene after gene, every gain found by evaluating the flipped string.

    After each round it gets the components back that were better before.

    ``start``, shape (n,); ``individual``: its number in the population; ``stream``, ``step``: of the random words;
    ``schedule``: ``order``, ``temperatures``, ``quantiles``, ``shift`` and ``ends`` as the device takes them. Returns
    ``bits``, shape (n,).
    """
    present, flips = start.copy(), 0
    before_round, ends = present, schedule["ends"]
    order, quantiles = schedule["order"].tolist(), schedule["quantiles"].tolist()
    for sweep, temperature in enumerate(schedule["temperatures"].tolist()):
        words = uniform_words(
            *(parameters.seed, stream, step, individual << 20, len(order) // 4),
            chain=parameters.chain,
            attempt=sweep,
        )
        for place, gene in enumerate(order):
            if gene < 0:
                continue
            flipped = present.copy()
            flipped[gene] ^= 1
            before, after = fitness.keys(np.stack([present, flipped])).tolist()
            word = int(words[place // 4, place % 4])
            if before - after <= (temperature * quantiles[word >> 20]) >> schedule["shift"]:
                present, flips = flipped, flips + 1
        if sweep + 1 in ends[1:]:
            present = partition_child(fitness, present, before_round, copies=True)
        if sweep + 1 in ends:
            before_round = present
    return present, flips


def _walk(
    fitness: Decomposable, present: Bits, gains: NDArray[np.int64], last: NDArray[np.int64], words: NDArray[np.uint32]
) -> int | None:
    """A gene of the first function below its maximum, from a random one on, by Hoos's Novelty+; None if none is."""
    functions = len(fitness.table_starts)
    for place in np.roll(np.arange(functions), -((int(words[0]) * functions) >> 32)):
        scope = fitness.genes[fitness.scope_starts[place] : fitness.scope_starts[place + 1]]
        table = fitness.tables[fitness.table_starts[place] :][: 1 << len(scope)]
        if table[int(present[scope].astype(np.int64) @ (1 << np.arange(len(scope))))] < table.max():
            break
    else:
        return None
    if words[1] < int(0.01 * 2**32):
        return int(scope[(int(words[2]) * len(scope)) >> 32])
    ranked = sorted(range(len(scope)), key=lambda at: (-gains[scope[at]], last[scope[at]], at))
    latest = max(last[gene] for gene in scope)
    first = scope[ranked[0]]
    if len(scope) > 1 and last[first] == latest > 0 and words[3] >> 31:
        return int(scope[ranked[1]])
    return int(first)


class ReferenceRun:
    """A run in NumPy.

    ``evaluate``: from (m, n) uint8 to (m,) int64: the fitness to maximise, exactly. ``bits``, ``keys``: the population
    and its fitness, slot by slot; ``learned``: the last network.
    """

    def __init__(self, parameters: Parameters, evaluate: Callable[[Bits], Keys]) -> None:
        self.parameters = parameters
        self._evaluate = evaluate
        self.generation = 0
        self.bits = initial_population(parameters)
        self.keys = evaluate(self.bits)
        self.learned: Learned | None = None

    def select(self) -> NDArray[np.int32]:
        """Individuals to learn from."""
        return np.sort(best_first(self.keys)[: self.parameters.selected]).astype(np.int32)

    def step(self) -> None:
        """One generation."""
        parameters, generation = self.parameters, self.generation
        chosen = self.bits[self.select()]
        self.learned = learn(chosen, permutation(parameters, generation), parameters.max_parents)
        offspring = sample(parameters, self.learned, generation)
        slots = np.sort(best_first(self.keys)[parameters.selected :])
        self.bits[slots], self.keys[slots] = offspring, self._evaluate(offspring)
        self.generation += 1


def migrate(references: Sequence[ReferenceRun], count: int) -> None:
    """The ``count`` best of each population replace the worst of the next, the last one's those of the first."""
    groups = []
    for reference in references:
        best = np.sort(best_first(reference.keys)[:count])
        groups.append((reference.bits[best], reference.keys[best]))
    for reference, (bits, keys) in zip(references, groups[-1:] + groups[:-1], strict=True):
        worst = np.sort(best_first(reference.keys)[len(reference.keys) - count :])
        reference.bits[worst], reference.keys[worst] = bits, keys
