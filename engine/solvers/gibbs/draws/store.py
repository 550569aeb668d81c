"""What is kept of the draws on the host: moments of every one, and as many draws as fit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MOST_FOR_SUMMARY = 1 << 28  # bytes of draws of all quantities when only some are asked for


@dataclass(frozen=True)
class Draws:
    """Draws of (chains, quantities) numbers at a time; what takes others over returns another.

    Moments are of every draw. Of the draws themselves, ``chosen`` quantities are kept whole; of all quantities, every
    ``every``-th, the least power of 2 with which those so far are at most ``most``.
    """

    chosen: NDArray[np.int64] | None
    most: int
    mean: Floats
    squares: Floats  # of the distances from the mean, added up
    count: int = 0
    every: int = 1
    all_parts: tuple[Floats, ...] = ()  # of shape (rows, chains, quantities)
    chosen_parts: tuple[Floats, ...] = ()

    @classmethod
    def none(cls, chains: int, quantities: int, chosen: NDArray[np.int64] | None, max_bytes: int) -> Self:
        """No draws yet, of which so many bytes may be kept."""
        budget = max_bytes if chosen is None else min(max_bytes, _MOST_FOR_SUMMARY)
        zeros = np.zeros((chains, quantities))
        return cls(chosen, max(4, budget // (8 * chains * quantities)), zeros, zeros)

    @property
    def shape(self) -> tuple[int, int]:
        """Chains and quantities."""
        return self.mean.shape[0], self.mean.shape[1]

    def with_rows(self, rows: Floats) -> Self:
        """And draws of shape (rows, chains, quantities)."""
        if not len(rows):
            return self
        mean, squares = self.mean.copy(), self.squares.copy()
        for number, row in enumerate(rows, start=self.count + 1):  # one by one, so that batches make no difference
            apart = row - mean
            mean += apart / number
            squares += apart * (row - mean)
        total = self.count + len(rows)
        every, parts, some = self._interval(total), self.all_parts, self.chosen_parts
        if every > self.every and parts:
            parts = (np.concatenate(parts)[:: every // self.every].copy(),)
        parts = (*parts, rows[-self.count % every :: every].copy())
        if self.chosen is not None:
            some = (*some, rows[:, :, self.chosen].copy())
        return replace(self, mean=mean, squares=squares, count=total, every=every, all_parts=parts, chosen_parts=some)

    def _interval(self, count: int) -> int:
        every = self.every
        while -(-count // every) > self.most:
            every *= 2
        return every

    def all(self) -> Floats:
        """The kept draws of all quantities; shape (chains, draws, quantities)."""
        return _stacked(self.all_parts, self.shape)

    def some(self) -> Floats:
        """The draws of the chosen quantities, or what is kept of all; shape (chains, draws, chosen)."""
        if self.chosen is None:
            return self.all()
        return _stacked(self.chosen_parts, (self.shape[0], len(self.chosen)))

    def tail(self, columns: NDArray[np.int64], most: int) -> Floats:
        """Up to ``most`` of the latest kept draws of some quantities; shape (chains, draws, columns)."""
        parts: list[Floats] = []
        left = most
        for part in reversed(self.all_parts):
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

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, as a checkpoint keeps it."""
        arrays = {"draws_mean": self.mean, "draws_squares": self.squares, "draws_count": np.array(self.count)}
        arrays["draws_all"] = self.all()
        return arrays if self.chosen is None else {**arrays, "draws_some": self.some()}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """The inverse of :meth:`arrays`."""
        count = int(arrays["draws_count"])
        some = (arrays["draws_some"].transpose(1, 0, 2),) if "draws_some" in arrays else ()
        return replace(
            self,
            mean=arrays["draws_mean"],
            squares=arrays["draws_squares"],
            count=count,
            every=self._interval(count),
            all_parts=(arrays["draws_all"].transpose(1, 0, 2),),
            chosen_parts=some,
        )

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


def _stacked(parts: Sequence[Floats], shape: tuple[int, int]) -> Floats:
    """Parts of shape (rows, chains, quantities) as one array (chains, draws, quantities)."""
    if not parts:
        return np.zeros((shape[0], 0, shape[1]))
    return np.ascontiguousarray(np.concatenate(parts).transpose(1, 0, 2))
