"""Fitness that is known by evaluation only: what the host evaluates, and local search by flips of single genes.

A Python function is evaluated by the host, a C snippet or a hierarchy by a device. Either way the host decides which
flips are tried and kept, so that the search is the same, and many flips are evaluated in one call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .fitness import Bits, Fitness, Function, Keys
from .fitness.autocorrelation import Autocorrelation
from .fitness.tables import Decomposable
from .options import STREAM_IMPROVE, STREAM_IMPROVE_INITIAL, Improvement, Options, Parameters

__all__ = ["Evaluated", "FlippedKeys", "HostEvaluation", "choose_host_improvement"]

_MOST_AT_ONCE, _MOST_GENES_AT_ONCE = 1 << 16, 1 << 24
"""Strings that are evaluated in one call by a local search, and their genes: a run ends between two calls."""

Genes = NDArray[np.int64]
FlippedKeys = Callable[[Bits, Genes], Keys]
"""From individuals (m, n), and genes (m, f) of which one at a time is flipped, to keys (m, f)."""


@dataclass(frozen=True)
class Evaluated:
    """Individuals (m, n), changed where local search improved them, and their keys (m,).

    ``evaluations`` counts those of local search: more than one an individual. ``flips`` counts the genes it flipped.
    ``is_interrupted``: the local search has ended early, because the run is to end.
    """

    bits: Bits
    keys: Keys
    evaluations: int = 0
    flips: int = 0
    is_interrupted: bool = False


def choose_host_improvement(fitness: Fitness, options: Options) -> Improvement | None:
    """The local search that the options ask for, or that suits a fitness that is not given by tables; None for none.

    ``flips`` counts flips that are tried, each of which is an evaluation. By default the best individual alone is
    improved: on 24 functions of 20 to 120 genes, first improvement of that one took 0.43 of the evaluations to the
    optimum in the geometric mean, from a twentieth (leading ones) to 1.5 and 2.2 times as many (a trap, a knapsack);
    of 1 % of the individuals the same, of 5 % more. As it calls the function with one string at a time, up to 4 times a
    gene and generation, ``auto`` uses it only where a Python function takes strings one by one, in one process.
    """
    rule = options.local_search
    if rule == "auto" and isinstance(fitness, Function) and fitness.each and fitness.processes == 1:
        rule = "first"
    if isinstance(fitness, (Autocorrelation, Decomposable)) or rule not in ("first", "steepest"):
        return None
    tries = options.flips or (4 * fitness.n if rule == "first" else max(4, fitness.n // 2) * fitness.n)
    return Improvement(rule, tries, 0, 1, options.local_search_share or 0.0)


class HostEvaluation:
    """Evaluates individuals on the host, improves some of those that were evaluated, or both.

    Parameters
    ----------
    keys : callable or None
        From individuals (m, n) to their keys (m,); None where devices evaluate.
    improvement : Improvement, optional
        ``flips`` limits how many flips are tried for each individual; one evaluation each. The best ``share`` of the
        individuals is improved.
    most_evaluations : int, optional
        Of all local searches.
    """

    def __init__(
        self,
        keys: Callable[[Bits], Keys] | None,
        improvement: Improvement | None = None,
        most_evaluations: float = math.inf,
    ) -> None:
        self._keys = keys
        self._improvement = improvement
        self.left = most_evaluations

    @property
    def evaluates(self) -> bool:
        """Whether the host evaluates individuals; otherwise devices do."""
        return self._keys is not None

    @property
    def improves(self) -> bool:
        """Whether individuals may be changed."""
        return self._improvement is not None

    def evaluate(self, bits: Bits) -> Keys:
        """Keys (m,) of individuals (m, n), by the host."""
        assert self._keys is not None
        return self._keys(bits)

    def flipped_keys(self, bits: Bits, genes: Genes) -> Keys:
        """Keys of individuals with one gene flipped, by the host.

        Parameters
        ----------
        bits : ndarray of uint8, shape (m, n)
        genes : ndarray of int, shape (m, f)
            Those to flip in each individual, one at a time.

        Returns
        -------
        ndarray of int64, shape (m, f)
        """
        count, each = genes.shape
        strings = np.repeat(bits, each, axis=0)
        strings[np.arange(count * each), genes.ravel()] ^= 1
        return self.evaluate(strings).reshape(count, each)

    def improve(
        self,
        bits: Bits,
        keys: Keys,
        parameters: Parameters,
        generation: int | None,
        flipped_keys: FlippedKeys | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Evaluated:
        """Local search of the best of the initial population (``generation`` None) or of a generation's offspring.

        Parameters
        ----------
        bits : ndarray of uint8, shape (m, n)
        keys : ndarray of int64, shape (m,)
        parameters : Parameters
        generation : int or None
        flipped_keys : callable, optional
            How flips are evaluated where the host does not evaluate.
        interrupted : callable, optional
            Whether the run is to end.
        """
        improvement = self._improvement
        if improvement is None:
            return Evaluated(bits, keys)
        stream = STREAM_IMPROVE_INITIAL if generation is None else STREAM_IMPROVE
        random = np.random.default_rng([parameters.seed, parameters.chain, stream, generation or 0])
        chosen = np.sort(np.argsort(-keys, kind="stable")[: improvement.count(len(keys))])
        evaluate = self.flipped_keys if flipped_keys is None else flipped_keys
        search = _Search(evaluate, improvement.flips, self.left, random, interrupted)
        improve = search.first_improvement if improvement.rule == "first" else search.steepest_ascent
        bits, keys = bits.copy(), keys.copy()
        bits[chosen], keys[chosen] = improve(bits[chosen], keys[chosen])
        self.left -= search.evaluations
        return Evaluated(bits, keys, search.evaluations, search.flips, search.is_interrupted)


class _Search:
    """Improves individuals side by side, so that many flips are evaluated at a time."""

    def __init__(
        self,
        flipped_keys: FlippedKeys,
        tries: int,
        left: float,
        random: np.random.Generator,
        interrupted: Callable[[], bool],
    ) -> None:
        self._flipped_keys, self._tries, self._left, self._random = flipped_keys, tries, left, random
        self._interrupted = interrupted
        self.is_interrupted = False
        self.evaluations = self.flips = 0

    def _affordable(self, active: Genes, flips: int) -> Genes:
        """The first of some individuals, so many that the evaluations left suffice for ``flips`` of each."""
        return active[: int(min(len(active), (self._left - self.evaluations) // flips))]

    def _evaluate(self, bits: Bits, genes: Genes) -> Keys:
        self.evaluations += genes.size
        return self._flipped_keys(bits, genes)

    def _ends(self) -> bool:
        """Whether the run is to end, so that no further call is made."""
        self.is_interrupted = self.is_interrupted or self._interrupted()
        return self.is_interrupted

    def first_improvement(self, bits: Bits, keys: Keys) -> tuple[Bits, Keys]:
        """Genes in a random order; a flip is kept unless it makes the individual worse.

        Flips that change nothing are kept too, so that plateaus are crossed. An individual is left when as many flips
        in a row as it has genes have not improved it.
        """
        count, n = bits.shape
        bits, keys = bits.copy(), keys.copy()
        orders = np.argsort(self._random.random((count, n)), axis=1)
        stagnant = np.zeros(count, np.int64)
        for turn in range(self._tries):
            active = self._affordable(np.flatnonzero(stagnant < n), 1)
            if not active.size or self._ends():
                break
            genes = orders[active, turn % n]
            found = np.concatenate(
                [
                    self._evaluate(bits[active[part]], genes[part, None])[:, 0]
                    for start in range(0, len(active), _MOST_AT_ONCE)
                    for part in (slice(start, start + _MOST_AT_ONCE),)
                ]
            )
            kept = found >= keys[active]
            stagnant[active] = np.where(found > keys[active], 0, stagnant[active] + 1)
            bits[active[kept], genes[kept]] ^= 1
            keys[active[kept]] = found[kept]
            self.flips += int(kept.sum())
        return bits, keys

    def steepest_ascent(self, bits: Bits, keys: Keys) -> tuple[Bits, Keys]:
        """Every gene is tried, and the flip that improves most is kept, until none does.

        Of equal ones it is the first from a random gene on.
        """
        count, n = bits.shape
        bits, keys = bits.copy(), keys.copy()
        together = max(1, min(_MOST_AT_ONCE, _MOST_GENES_AT_ONCE // n) // n)
        active = np.arange(count)
        for _ in range(self._tries // n):
            origins = self._random.integers(0, n, (count, 1))
            remaining: list[Genes] = []
            active = self._affordable(active, n)
            for start in range(0, len(active), together):
                if self._ends():
                    return bits, keys
                some = active[start : start + together]
                found = self._evaluate(bits[some], np.broadcast_to(np.arange(n), (len(some), n)))
                distance = (np.arange(n) - origins[some]) % n
                best = np.where(found == found.max(axis=1, keepdims=True), distance, n).argmin(axis=1)
                rows = np.arange(len(some))
                better = found[rows, best] > keys[some]
                improved = some[better]
                bits[improved, best[better]] ^= 1
                keys[improved] = found[rows, best][better]
                self.flips += len(improved)
                remaining.append(improved)
            active = np.concatenate(remaining) if remaining else active[:0]
            if not active.size:
                break
        return bits, keys
