"""What the host's memory holds of a sparse table that is too large for the devices: decisions, and tiles."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .buffers import DECISION_BYTES
from .worker import Decisions


class HostDecisions:
    """Decisions of consecutive steps; the oldest are dropped when there are too many."""

    def __init__(self, first_step: int, most_bytes: int) -> None:
        self.oldest = self.step = first_step
        self.most_bytes = most_bytes
        self.bytes = 0
        self._steps: dict[int, list[Decisions]] = {}

    def add(self, given: Iterable[Decisions]) -> None:
        """Take decisions of steps, each in one or several parts; those of one step are all or none among them."""
        for decisions in given:
            self._steps.setdefault(decisions.step, []).append(decisions)
            self.bytes += len(decisions.tiles) * DECISION_BYTES

    def close(self, step: int, oldest: int | None = None) -> None:
        """All decisions of the steps up to ``step`` have been added."""
        self.step = step
        if oldest is not None:
            self._drop(oldest)
        self.keep(self.most_bytes)

    def keep(self, most_bytes: int) -> None:
        """Drop the oldest beyond so many bytes."""
        while self.bytes > most_bytes and self.oldest < self.step:
            self._drop(self.oldest + 1)

    def _drop(self, oldest: int) -> None:
        for step in [step for step in self._steps if step <= oldest]:
            self.bytes -= sum(len(part.tiles) for part in self._steps.pop(step)) * DECISION_BYTES
        self.oldest = max(self.oldest, oldest)

    def trace(self, step: int, cell: int, weights: NDArray[np.int64], tile: int) -> tuple[NDArray[np.bool_], int, int]:
        """Follow the decisions back; see :meth:`SparseWorker.trace`."""
        taken: list[bool] = []
        while step > self.oldest:
            number, at = divmod(cell, tile)
            parts = self._steps.get(step, ())
            part, place = next((part, place) for part in parts for place in np.flatnonzero(part.tiles == number))
            taken.append(bool(part.words[place, at // 32] >> np.uint32(at % 32) & 1))
            step -= 1
            cell -= int(weights[step]) if taken[-1] else 0
        return np.array(taken[::-1], bool), step, cell


@dataclass(frozen=True)
class Range:
    """Tiles ``first`` to ``last`` of the next table, and the pieces of this one that they are made from."""

    first: int
    last: int
    pieces: list[tuple[NDArray[np.int32], NDArray[Any]]]


class HostTable:
    """A table in pieces, each of tiles sorted by number, which follow each other."""

    def __init__(self, pieces: list[tuple[NDArray[np.int32], NDArray[Any]]]) -> None:
        orders = [(tiles, values, np.argsort(tiles)) for tiles, values in pieces if len(tiles)]
        found = [(tiles[order], values[order]) for tiles, values, order in orders]
        self._pieces = sorted(found, key=lambda piece: int(piece[0][0]))

    @property
    def count(self) -> int:
        """How many tiles."""
        return sum(len(tiles) for tiles, _ in self._pieces)

    @property
    def bytes(self) -> int:
        """Of tiles and numbers."""
        return sum(tiles.nbytes + values.nbytes for tiles, values in self._pieces)

    def whole(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """All tiles, sorted by number."""
        tiles, values = zip(*self._pieces, strict=True)
        return np.concatenate(tiles), np.concatenate(values)

    def ranges(self, shift: int, last_tile: int, most: int) -> Iterator[Range]:
        """Ranges of the next table, the last first, each of at most ``most`` tiles, at least 4, ``shift`` below."""
        numbers = np.concatenate([tiles for tiles, _ in self._pieces]).astype(np.int64)
        ends = np.sort(np.concatenate([numbers, numbers + shift]))
        begins = ends[:: most - 2]  # to these a range may add an equal end, and one tile that reaches it from below
        begins = np.unique(begins[begins <= last_tile])
        until = last_tile
        for begin in begins[::-1].tolist():
            yield Range(begin, until, [*self._between(begin, until, begin - shift - 1, until - shift)])
            until = begin - 1
            while self._pieces and self._pieces[-1][0][0] > until:
                self._pieces.pop()

    def _between(self, first: int, last: int, low: int, high: int) -> Iterator[tuple[NDArray[np.int32], NDArray[Any]]]:
        """The tiles of either range, each once."""
        ranges = [(low, high), (first, last)] if high < first else [(low, last)]
        for tiles, values in self._pieces:
            for lowest, highest in ranges:
                begin, end = np.searchsorted(tiles, [lowest, highest + 1])
                if begin < end:
                    yield tiles[begin:end], values[begin:end]

    def replace(self, pieces: Iterable[tuple[NDArray[np.int32], NDArray[Any]]]) -> None:
        """The next table, in pieces by ascending numbers."""
        self._pieces = [(tiles, values) for tiles, values in pieces if len(tiles)]
