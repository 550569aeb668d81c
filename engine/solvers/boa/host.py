"""Fitness that is known by evaluation only: what the host evaluates, and local search by flips of single genes.

The host decides which flips are kept, also where a device evaluates; many flips are evaluated in one call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .fitness import Bits, Fitness, Function, Keys
from .fitness.autocorrelation import Autocorrelation
from .fitness.tables import Decomposable
from .options import STREAM_IMPROVE, STREAM_IMPROVE_INITIAL, Improvement, Options, Parameters

__all__ = ["Evaluated", "FlippedKeys", "HostEvaluation", "choose_host_improvement"]

_MOST_AT_ONCE = 1 << 16  # strings that a local search evaluates in one call: a run ends between two calls

Genes = NDArray[np.int64]
FlippedKeys = Callable[[Bits, Genes], Keys]
"""From individuals (m, n), and genes (m, f) of which one at a time is flipped, to keys (m, f)."""


@dataclass(frozen=True)
class Evaluated:
    """Individuals (m, n) and their keys (m,), and what a local search of them took beyond one evaluation each."""

    bits: Bits
    keys: Keys
    evaluations: int = 0
    flips: int = 0
    is_interrupted: bool = False


def choose_host_improvement(fitness: Fitness, options: Options) -> Improvement | None:
    """The local search that the options ask for, or that suits a fitness that is not given by tables; None for none.

    By default the best individual alone is improved: on 24 functions of 20 to 120 genes that took 0.43 of the
    evaluations to the optimum in the geometric mean, from a twentieth (leading ones) to 2.2 times as many (a knapsack).
    As it calls the function with single strings, ``auto`` uses it only where a Python function takes them one by one,
    in one process.
    """
    rule = options.local_search
    if rule == "auto" and isinstance(fitness, Function) and fitness.each and fitness.processes == 1:
        rule = "first"
    if isinstance(fitness, (Autocorrelation, Decomposable)) or rule != "first":
        return None
    return Improvement(rule, options.flips or 4 * fitness.n, 0, 1, options.local_search_share or 0.0)


class HostEvaluation:
    """Evaluates individuals on the host (with ``keys``; else devices do), improves some of them, or both."""

    def __init__(
        self,
        keys: Callable[[Bits], Keys] | None,
        improvement: Improvement | None = None,
        most_evaluations: float = math.inf,
    ) -> None:
        self._keys, self._improvement, self.left = keys, improvement, most_evaluations
        self.evaluates = keys is not None
        self.improves = improvement is not None

    def evaluate(self, bits: Bits) -> Keys:
        """Keys (m,) of individuals (m, n), by the host."""
        assert self._keys is not None
        return self._keys(bits)

    def flipped_keys(self, bits: Bits, genes: Genes) -> Keys:
        """Keys (m, f) of individuals (m, n) with one of their genes (m, f) flipped at a time, by the host."""
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
        """Local search of the best of the initial population (``generation`` None) or of a generation's offspring."""
        improvement = self._improvement
        if improvement is None:
            return Evaluated(bits, keys)
        stream = STREAM_IMPROVE_INITIAL if generation is None else STREAM_IMPROVE
        random = np.random.default_rng([parameters.seed, parameters.chain, stream, generation or 0])
        chosen = np.sort(np.argsort(-keys, kind="stable")[: improvement.count(len(keys))])
        evaluate = self.flipped_keys if flipped_keys is None else flipped_keys
        found = _first_improvement(
            *(bits[chosen], keys[chosen], evaluate, improvement.flips, self.left, random, interrupted)
        )
        bits, keys = bits.copy(), keys.copy()
        bits[chosen], keys[chosen] = found.bits, found.keys
        self.left -= found.evaluations
        return replace(found, bits=bits, keys=keys)


def _first_improvement(
    bits: Bits,
    keys: Keys,
    flipped_keys: FlippedKeys,
    tries: int,
    left: float,
    random: np.random.Generator,
    interrupted: Callable[[], bool],
) -> Evaluated:
    """Genes in a random order, many individuals side by side; a flip is kept unless it makes the individual worse.

    An individual is left when as many flips in a row as it has genes have not improved it.
    """
    count, n = bits.shape
    bits, keys = bits.copy(), keys.copy()
    orders = np.argsort(random.random((count, n)), axis=1)
    stagnant = np.zeros(count, np.int64)
    evaluations, flips, is_interrupted = 0, 0, False
    for turn in range(tries):
        active = np.flatnonzero(stagnant < n)
        active = active[: int(min(len(active), left - evaluations))]
        is_interrupted = bool(active.size) and interrupted()
        if not active.size or is_interrupted:
            break
        evaluations += len(active)
        genes = orders[active, turn % n]
        starts = range(0, len(active), _MOST_AT_ONCE)
        parts = [slice(start, start + _MOST_AT_ONCE) for start in starts]
        found = np.concatenate([flipped_keys(bits[active[part]], genes[part, None])[:, 0] for part in parts])
        kept = found >= keys[active]
        stagnant[active] = np.where(found > keys[active], 0, stagnant[active] + 1)
        bits[active[kept], genes[kept]] ^= 1
        keys[active[kept]] = found[kept]
        flips += int(kept.sum())
    return Evaluated(bits, keys, evaluations, flips, is_interrupted)
