"""How devices share a population: nodes to learn and offspring to sample, by how fast each device was before."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .options import Parameters

_LEAST = 0.01
_MEMORY = 0.5


@dataclass(frozen=True)
class Share:
    """What one of several devices does: nodes [first_node, last_node), offspring words [first_word, last_word)."""

    first_node: int
    last_node: int
    first_word: int
    last_word: int


class Balance:
    """Shares of some devices, equal at first; together they cover every node and every word of offspring once."""

    def __init__(self, parameters: Parameters, devices: int) -> None:
        self._parameters = parameters
        self._learning = np.full(devices, 1 / devices)
        self._sampling = np.full(devices, 1 / devices)
        self._share_out()

    def note(self, learning: Sequence[float], sampling: Sequence[float]) -> None:
        """Take into account the seconds that each device took for its share (0: it did nothing)."""
        candidates = [share.last_node**2 - share.first_node**2 for share in self.shares]  # a node has those before it
        words = [share.last_word - share.first_word for share in self.shares]
        self._learning = _fractions(self._learning, candidates, learning)
        self._sampling = _fractions(self._sampling, words, sampling)
        self._share_out()

    def _share_out(self) -> None:
        words = -(-self._parameters.offspring // 32)
        nodes = np.rint(self._parameters.n * np.sqrt(_ends(self._learning))).astype(int).tolist()
        columns = np.rint(words * _ends(self._sampling)).astype(int).tolist()
        self.shares = [Share(nodes[i], nodes[i + 1], columns[i], columns[i + 1]) for i in range(len(self._learning))]


def _ends(fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([0.0, *np.minimum(1.0, np.cumsum(fractions)[:-1]), 1.0])


def _fractions(before: NDArray[np.float64], work: Sequence[int], seconds: Sequence[float]) -> NDArray[np.float64]:
    """New fractions from the speeds measured, halfway from those before; a device without work keeps its fraction."""
    done, taken = np.array(work, float), np.maximum(seconds, 1e-9)
    known = (done > 0) & (np.array(seconds) > 0)
    if not known.any():
        return before
    speed = done / taken
    fair = np.where(known, speed / speed[known].sum() * before[known].sum(), before)
    mixed = np.maximum(_MEMORY * before + (1 - _MEMORY) * fair, _LEAST / len(before))
    return np.asarray(mixed / mixed.sum(), np.float64)
