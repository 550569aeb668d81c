"""Every string of bits that :func:`engine.minimize_bits` evaluates of a random function, with its mean."""

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..runs.run import Run
from .bits_evaluator import Evaluator

GOOD = 0.25  # of all strings, those that are evaluated again
_FINALISTS = 8
PROBED, PROBES = 24, 4  # strings, and samples of each, to learn of the noise
_CLEAR = 0.6  # variance of the noise for that between strings, up to which the pyramid found better strings


@dataclass
class String:
    """Samples of one string: how many, their mean, and the sum of squared deviations (Welford)."""

    bits: NDArray[np.uint8]
    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        change = value - self.mean
        self.mean += change / self.count
        self.squares += change * (value - self.mean)

    @property
    def standard_error(self) -> float:
        """Of the mean; ``nan`` of a single sample."""
        if self.count < 2:
            return math.nan
        return math.sqrt(self.squares / (self.count - 1) / self.count)


class Archive:
    """Every string that was evaluated; the function as the solver calls it."""

    def __init__(
        self, evaluator: Evaluator, sign: int, batch: bool, samples: int, budget: float, reserve: float
    ) -> None:
        self.strings: dict[bytes, String] = {}
        self.evaluations = 0
        self.run: Run | None = None
        self.started = threading.Event()
        self.until = math.inf
        self._evaluate, self._sign, self._batch, self._samples = evaluator, sign, batch, samples
        self._budget, self._reserve = budget, reserve

    @property
    def left(self) -> float:
        """Evaluations that remain, without those kept for the end."""
        return self._budget - self._reserve - self.evaluations

    def __call__(self, bits: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Means of some strings, the less the better; those the budget does not suffice for get the worst of all."""
        own = {row.tobytes(): row.copy() for row in bits}
        new = [String(row) for key, row in own.items() if key not in self.strings]
        new = new[: max(0, int(min(self.left, len(new))))]
        new = self._first_samples(new)
        self.strings.update({string.bits.tobytes(): string for string in new})
        known = [self.strings[key] for key in own if key in self.strings]
        for _ in range(self._samples - 1):
            if time.monotonic() >= self.until:
                break
            good = float(np.quantile([string.mean for string in self.strings.values()], GOOD))
            again = [string for string in known if string.count < self._samples and string.mean <= good]
            again = again[: max(0, int(min(self.left, len(again))))]
            if not again:
                break
            self._sample(again)
        if self.left < 1:
            self.started.wait()
            assert self.run is not None
            self.run.stop()
        worst = max(string.mean for string in self.strings.values())
        means = [self.strings[key].mean if (key := row.tobytes()) in self.strings else worst for row in bits]
        return np.array(means)

    def means(self, rows: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Means of all samples of new strings, in the function's own sense; of the first ones if the time is up."""
        strings = [String(row.copy()) for row in rows]
        for group in [strings] if self._batch else [[string] for string in strings]:
            if self.strings and time.monotonic() >= self.until:
                break
            for _ in range(self._samples):
                self._sample(group)
            self.strings.update({string.bits.tobytes(): string for string in group})
        return self._sign * np.array([string.mean for string in strings if string.count])

    def is_clear(self, n: int, seed: int) -> bool:
        """Whether random strings differ more in their means than the noise makes one string differ from itself."""
        random = np.random.default_rng(seed)
        strings = {row.tobytes(): String(row) for row in random.integers(0, 2, (PROBED, n), np.uint8)}
        for _ in range(PROBES):
            self._sample(list(strings.values()))
        self.strings.update(strings)
        noise = float(np.mean([string.squares for string in strings.values()])) / (PROBES - 1)
        between = float(np.var([string.mean for string in strings.values()], ddof=1)) if len(strings) > 1 else 0.0
        return noise < _CLEAR * (between - noise / PROBES)

    def _first_samples(self, new: list[String]) -> list[String]:
        """Evaluate new strings, and return them: one at least, as many as there is time for if each is a call."""
        if self._batch:
            self._sample(new)
            return new
        done: list[String] = []
        for string in new:
            if (done or self.strings) and time.monotonic() >= self.until:
                break
            self._sample([string])
            done.append(string)
        return done

    def _sample(self, strings: Sequence[String]) -> None:
        """Evaluate each string once more."""
        if not strings:
            return
        rows = np.stack([string.bits for string in strings])
        values = self._evaluate(rows)
        if np.isnan(values).any():  # what failed counts as the worst of all
            known = [string.mean for string in self.strings.values() if string.count]
            values[np.isnan(values)] = self._sign * max([*known, *(self._sign * values[~np.isnan(values)])])
        for string, value in zip(strings, values.tolist(), strict=True):
            string.add(self._sign * value)
        self.evaluations += len(strings)

    def best(self, until: float) -> String:
        """The string with the best mean, after the reserve has been spent on comparing the best ones, or by a time."""
        ranked = sorted(self.strings.values(), key=lambda string: (string.mean, -string.count))
        if self._samples == 1:
            return ranked[0]
        finalists = sorted(ranked, key=lambda string: (-min(string.count, self._samples), string.mean))[:_FINALISTS]
        end = min(self._budget, self.evaluations + max(0.0, self._reserve))
        while len(finalists) > 1 and end - self.evaluations >= len(finalists):
            rounds = max(1, int((end - self.evaluations) / len(finalists) / 2))
            for _ in range(rounds):
                if time.monotonic() >= until:
                    return min(finalists, key=lambda string: string.mean)
                self._sample(finalists)
            finalists = sorted(finalists, key=lambda string: string.mean)[: max(1, len(finalists) // 2)]
        return min(finalists, key=lambda string: string.mean)
