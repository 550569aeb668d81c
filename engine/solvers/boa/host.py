"""What the host does for a Python function: evaluate individuals, and improve them by flips of single genes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.solvers.boa.fitness import Bits, Fitness, Function, Keys
from engine.solvers.boa.options import STREAM_IMPROVE, STREAM_IMPROVE_INITIAL, Improvement, Options, Parameters

__all__ = ["Evaluated", "HostEvaluation", "choose_host_improvement"]

_SHARE = 0.05
_MOST_AT_ONCE = 1 << 16
"""Strings given to the function in one call by a local search."""


@dataclass(frozen=True)
class Evaluated:
    """Individuals (m, n), changed where local search improved them, and their keys (m,).

    ``evaluations`` counts those of local search: more than one an individual. ``flips`` counts the genes it flipped.
    """

    bits: Bits
    keys: Keys
    evaluations: int = 0
    flips: int = 0


def choose_host_improvement(fitness: Fitness, options: Options) -> Improvement | None:
    """The local search that the options ask for, of individuals of a Python function; None for none.

    ``flips`` counts flips that are tried, each of which is an evaluation.

    Parameters
    ----------
    fitness : Fitness
    options : Options
    """
    rule = options.local_search
    if not isinstance(fitness, Function) or rule not in ("first", "steepest"):
        return None
    tries = options.flips or (4 * fitness.n if rule == "first" else max(4, fitness.n // 2) * fitness.n)
    share = _SHARE if options.local_search_share is None else options.local_search_share
    return Improvement(rule, tries, 0, 1, share)


class HostEvaluation:
    """Evaluates individuals on the host, and improves some of them.

    Parameters
    ----------
    keys : callable
        From individuals (m, n) to their keys (m,).
    improvement : Improvement, optional
        ``flips`` limits how many flips are tried for each individual; one evaluation each. The best ``share`` of the
        individuals is improved.
    most_evaluations : int, optional
        Of all local searches.
    """

    def __init__(
        self,
        keys: Callable[[Bits], Keys],
        improvement: Improvement | None = None,
        most_evaluations: float = math.inf,
    ) -> None:
        self._keys = keys
        self._improvement = improvement
        self.left = most_evaluations

    @property
    def improves(self) -> bool:
        """Whether individuals may be changed."""
        return self._improvement is not None

    def __call__(self, bits: Bits, parameters: Parameters, generation: int | None) -> Evaluated:
        """Evaluate the initial population (``generation`` None) or a generation's offspring."""
        keys = self._keys(bits)
        improvement = self._improvement
        if improvement is None:
            return Evaluated(bits, keys)
        stream = STREAM_IMPROVE_INITIAL if generation is None else STREAM_IMPROVE
        random = np.random.default_rng([parameters.seed, parameters.chain, stream, generation or 0])
        chosen = np.sort(np.argsort(-keys, kind="stable")[: improvement.count(len(keys))])
        search = _FirstImprovement if improvement.rule == "first" else _SteepestAscent
        found = search(self._keys, improvement.flips, self.left, random).improve(bits[chosen], keys[chosen])
        self.left -= found.evaluations
        bits, keys = bits.copy(), keys.copy()
        bits[chosen], keys[chosen] = found.bits, found.keys
        return Evaluated(bits, keys, found.evaluations, found.flips)


class _Search:
    """Improves individuals side by side, so that the function is called with many strings at a time."""

    def __init__(self, keys: Callable[[Bits], Keys], tries: int, left: float, random: np.random.Generator) -> None:
        self._keys, self._tries, self._left, self._random = keys, tries, left, random
        self.evaluations = 0

    def _afford(self, strings: int) -> int:
        """How many of so many strings may still be evaluated."""
        return int(min(strings, self._left - self.evaluations))

    def _evaluate(self, bits: Bits) -> Keys:
        self.evaluations += len(bits)
        return self._keys(bits)


class _FirstImprovement(_Search):
    """Genes in a random order; a flip is kept unless it makes the individual worse.

    Flips that change nothing are kept too, so that plateaus are crossed. An individual is left when as many flips in
    a row as it has genes have not improved it.
    """

    def improve(self, bits: Bits, keys: Keys) -> Evaluated:
        count, n = bits.shape
        bits, keys = bits.copy(), keys.copy()
        orders = np.argsort(self._random.random((count, n)), axis=1)
        barren, flips = np.zeros(count, np.int64), 0
        for turn in range(self._tries):
            active = np.flatnonzero(barren < n)
            active = active[: self._afford(len(active))]
            if not active.size:
                break
            genes = orders[active, turn % n]
            candidates = bits[active]
            candidates[np.arange(len(active)), genes] ^= 1
            found = self._evaluate(candidates)
            kept = found >= keys[active]
            barren[active] = np.where(found > keys[active], 0, barren[active] + 1)
            bits[active[kept]], keys[active[kept]] = candidates[kept], found[kept]
            flips += int(kept.sum())
        return Evaluated(bits, keys, self.evaluations, flips)


class _SteepestAscent(_Search):
    """Every gene is tried, and the flip that improves most is kept, until none does; ties are broken at random."""

    def improve(self, bits: Bits, keys: Keys) -> Evaluated:
        count, n = bits.shape
        bits, keys = bits.copy(), keys.copy()
        together = max(1, _MOST_AT_ONCE // n)
        active, flips = np.arange(count), 0
        for _ in range(self._tries // n):
            remaining: list[NDArray[np.int64]] = []
            for start in range(0, len(active), together):
                some = active[start : start + together]
                some = some[: self._afford(len(some) * n) // n]
                if not some.size:
                    continue
                candidates = np.repeat(bits[some], n, axis=0).reshape(len(some), n, n)
                candidates ^= np.eye(n, dtype=np.uint8)
                found = self._evaluate(candidates.reshape(-1, n)).reshape(len(some), n)
                best = np.lexsort((self._random.random(found.shape), found), axis=1)[:, -1]
                rows = np.arange(len(some))
                better = found[rows, best] > keys[some]
                bits[some[better]] = candidates[rows, best][better]
                keys[some[better]] = found[rows, best][better]
                flips += int(better.sum())
                remaining.append(some[better])
            active = np.concatenate(remaining) if remaining else active[:0]
            if not active.size:
                break
        return Evaluated(bits, keys, self.evaluations, flips)
