"""What is kept of the draws on the host: moments of every one, and as many draws as fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MOST_FOR_SUMMARY = 1 << 28  # bytes of draws of all quantities when only some are asked for


class Draws:
    """Draws of (chains, quantities) numbers at a time.

    Moments are of every draw. Of the draws themselves, ``chosen`` quantities are kept whole; of all quantities, every
    ``every``-th, the least power of 2 with which those so far fit ``max_bytes``.
    """

    def __init__(self, chains: int, quantities: int, chosen: NDArray[np.int64] | None, max_bytes: int) -> None:
        self.shape = chains, quantities
        self.chosen = chosen
        self.count = 0
        self.mean, self.squares = np.zeros(self.shape), np.zeros(self.shape)
        budget = max_bytes if chosen is None else min(max_bytes, _MOST_FOR_SUMMARY)
        self._most, self.every = max(4, budget // (8 * chains * quantities)), 1
        self._all: list[Floats] = []
        self._some: list[Floats] = []

    def add(self, rows: Floats) -> None:
        """Take over draws of shape (rows, chains, quantities)."""
        if not len(rows):
            return
        for number, row in enumerate(rows, start=self.count + 1):  # one by one, so that batches make no difference
            apart = row - self.mean
            self.mean += apart / number
            self.squares += apart * (row - self.mean)
        total = self.count + len(rows)
        every = self._interval(total)
        if every > self.every:
            self._all = [np.concatenate(self._all)[:: every // self.every].copy()] if self._all else []
            self.every = every
        first = -self.count % self.every
        self._all.append(rows[first :: self.every].copy())
        if self.chosen is not None:
            self._some.append(rows[:, :, self.chosen].copy())
        self.count = total

    def _interval(self, count: int) -> int:
        every = self.every
        while -(-count // every) > self._most:
            every *= 2
        return every

    def all(self) -> Floats:
        """The kept draws of all quantities; shape (chains, draws, quantities)."""
        return _stacked(self._all, (*self.shape,))

    def some(self) -> Floats:
        """The draws of the chosen quantities, or what is kept of all; shape (chains, draws, chosen)."""
        if self.chosen is None:
            return self.all()
        return _stacked(self._some, (self.shape[0], len(self.chosen)))

    def tail(self, columns: NDArray[np.int64], most: int) -> Floats:
        """Up to ``most`` of the latest kept draws of some quantities; shape (chains, draws, columns)."""
        parts: list[Floats] = []
        left = most
        for part in reversed(self._all):
            if left <= 0:
                break
            parts.append(part[-left:][:, :, columns])
            left -= len(part)
        return _stacked(parts[::-1], (self.shape[0], len(columns)))

    def overall(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation over all chains and draws; shape (quantities,)."""
        chains = self.shape[0]
        mean = self.mean.mean(axis=0)
        squares = self.squares.sum(axis=0) + self.count * ((self.mean - mean) ** 2).sum(axis=0)
        return mean, np.sqrt(squares / max(1, chains * self.count - 1))

    # --- checkpoints --------------------------------------------------------------------------------------------

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """The inverse of :meth:`arrays_at`."""
        self.mean, self.squares = arrays["draws_mean"].copy(), arrays["draws_squares"].copy()
        self.count = int(arrays["draws_count"])
        self.every = self._interval(self.count)
        self._all = [arrays["draws_all"].transpose(1, 0, 2).copy()]
        self._some = [arrays["draws_some"].transpose(1, 0, 2).copy()] if "draws_some" in arrays else []

    def is_whole(self) -> bool:
        """Whether there are as many draws as are counted, and the moments, where all draws are kept, are theirs."""
        kept, some = self.all(), self.some()
        if kept.shape[1] != -(-self.count // self.every) or (self.chosen is not None and some.shape[1] != self.count):
            return False
        if self.every > 1 or not self.count:
            return True
        mean = kept.mean(axis=1)
        squares = ((kept - mean[:, None]) ** 2).sum(axis=1)
        near = 1e-9 * np.abs(kept).max(axis=1)  # both are rounded
        return bool(
            (np.abs(mean - self.mean) <= near).all()
            and (np.abs(squares - self.squares) <= 1e-6 * squares + self.count * near**2).all()
        )

    def mark(self) -> tuple[Any, ...]:
        """A point that :meth:`arrays_at` can come back to."""
        return self.count, self.mean.copy(), self.squares.copy(), list(self._all), list(self._some)

    def arrays_at(self, mark: tuple[Any, ...]) -> dict[str, NDArray[Any]]:
        """Everything as it was at a mark, as arrays."""
        count, mean, squares, kept, some = mark
        arrays = {"draws_mean": mean, "draws_squares": squares, "draws_count": np.array(count)}
        arrays["draws_all"] = _stacked(kept, self.shape)
        if self.chosen is not None:
            arrays["draws_some"] = _stacked(some, (self.shape[0], len(self.chosen)))
        return arrays


def _stacked(parts: list[Floats], shape: tuple[int, int]) -> Floats:
    """Parts of shape (rows, chains, quantities) as one array (chains, draws, quantities)."""
    if not parts:
        return np.zeros((shape[0], 0, shape[1]))
    return np.ascontiguousarray(np.concatenate(parts).transpose(1, 0, 2))
