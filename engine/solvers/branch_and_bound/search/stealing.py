"""Who steals from whom on one device: the launches of a stealing phase of each strategy (paper, section 3.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ....errors import OptionError
from ..options import Options

_LARGEST_RADIX = 8  # of a dimension along which every distance is looked at
_ADAPT_IDLE = 10  # while more than one in ten IVMs is idle, the window of adapt grows (the paper's Algorithm 6)
_WIDEST = 1024  # window of large and search, at most, where none is given


class Doubling(NamedTuple):
    """One round of ``doubling``: the distance, and by how many bits the mean length is shifted right."""

    offset: int
    shift: int


class Round(NamedTuple):
    """One launch of the paper's victim selection: rings, distances on them, and whether short intervals are spared."""

    stride: int
    radix: int
    first: int
    places: int
    longer: int


def radices(count: int) -> list[int]:
    """The hypercube's dimensions, small ones first: fours, as in the paper's 4 x 4 x ... x 8, and prime factors."""
    found: list[int] = []
    for factor in (4, 2, *range(3, math.isqrt(count) + 1, 2)):
        while count % factor == 0:
            found.append(factor)
            count //= factor
    if count > 1:
        found.append(count)  # the prime factor that is left
    if found.count(2) and found.count(4):  # 4 and a single 2 make the paper's last dimension of 8
        found.remove(2)
        found.remove(4)
        found.append(8)
    return sorted(found)


def doubling(ivms: int) -> list[Doubling]:
    """The rounds of ``doubling``: at first only from intervals of at least the mean length, then of a quarter of it."""
    distances = [1 << power for power in range((ivms - 1).bit_length()) if 1 << power < ivms]
    return [
        Doubling(distance, (0, 2, -1)[min(2, 3 * position // len(distances))])
        for position, distance in enumerate(distances)
    ]


@dataclass
class VictimSelection:
    """The launches of phase after phase of one of the paper's strategies; with ``each``, every distance is a launch."""

    strategy: str
    ivms: int
    window: int | None = None
    begin: int = 0
    each: bool = False

    def __post_init__(self) -> None:
        if self.window is not None and self.strategy not in ("search", "large", "adapt"):
            raise OptionError(f"window is for the strategies search, large and adapt; got {self.strategy}")
        if self.begin and self.strategy != "adapt":
            raise OptionError(f"window_begin is for the strategy adapt; got {self.strategy}")
        if self.window is not None and self.ivms % self.window:
            raise OptionError(f"window must divide the number of IVMs, {self.ivms}; got {self.window}")
        if self.begin >= self.ivms:
            raise OptionError(f"window_begin must be less than the number of IVMs, {self.ivms}; got {self.begin}")
        if self.window is None:
            most = 1 if self.strategy == "adapt" else min(_WIDEST, max(1, self.ivms // 2))
            self.window = next(width for width in range(most, 0, -1) if self.ivms % width == 0)

    @classmethod
    def of(cls, options: Options, ivms: int) -> VictimSelection:
        """What the options ask for; :class:`OptionError` if the window does not suit so many IVMs."""
        return cls(options.strategy, ivms, options.window, options.window_begin, options.window_launches == "each")

    def phase(self, idle: int) -> list[Round]:
        """The launches of the next phase; ``adapt`` follows how many IVMs are ``idle``."""
        if self.ivms < 2:
            return []
        rounds = self._rounds(idle)
        if self.each:
            return [one._replace(first=one.first + k, places=1) for one in rounds for k in range(one.places)]
        return rounds

    def _rounds(self, idle: int) -> list[Round]:
        assert self.window is not None
        ivms = self.ivms
        if self.strategy == "ring":
            return [Round(1, ivms, 1, 1, 0)]
        if self.strategy in ("search", "large"):
            return [Round(1, ivms, 1, min(self.window, ivms - 1), int(self.strategy == "large"))]
        if self.strategy == "adapt":
            self.begin = (self.begin + self.window) % ivms
            if idle * _ADAPT_IDLE > ivms and 2 * self.window <= ivms:
                self.window *= 2
            elif self.window > 1:
                self.window //= 2
            return [Round(1, ivms, self.begin, self.window + 1, 1)]
        if self.strategy == "torus":
            side = next(divisor for divisor in range(math.isqrt(ivms), 0, -1) if ivms % divisor == 0)
            return [Round(1, side, 1, 1, 1), Round(side, ivms // side, 1, 1, 1)]
        found = []
        stride = 1
        for radix in radices(ivms):
            reach = [(1, radix - 1)]
            if radix > _LARGEST_RADIX:  # a large prime, which the paper's powers of two do not have
                reach = [(1 << power, 1) for power in range((radix - 1).bit_length())]
            found += [Round(stride, radix, first, count, 1) for first, count in reach]
            stride *= radix
        return found
