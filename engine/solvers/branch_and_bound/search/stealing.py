"""Who steals from whom on one device: the rounds of each strategy.

IVMs lie on rings of ``radix`` at ``stride``; in a round every idle one looks at the one ``offset`` further on its ring,
and takes the upper half of its interval if that is long enough: at least the mean length shifted right by ``shift``, or
of any length for a negative shift. ``siblings`` works otherwise (see ``steal.mako``) and has no rounds.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Round", "radices", "rounds_of"]

_SEARCHED = 8
_LARGEST_RADIX = 8


class Round(NamedTuple):
    """One round of stealing over a distance."""

    stride: int
    radix: int
    offset: int
    shift: int


def radices(count: int) -> list[int]:
    """Factors of ``count``, each 2 to 8 where it has such: the dimensions of the hypercube, small ones first.

    Fours are preferred, as in the paper's 4 x 4 x ... x 8; a prime factor above 8 is a dimension of its own.
    """
    found: list[int] = []
    for factor in (4, 2, 3, 5, 7):
        while count % factor == 0:
            found.append(factor)
            count //= factor
    if found.count(2) and found.count(4):  # 4 and a single 2 make the paper's last dimension of 8
        found.remove(2)
        found.remove(4)
        found.append(8)
    divisor = 11
    while count > 1:
        if divisor * divisor > count:
            found.append(count)
            break
        if count % divisor == 0:
            found.append(divisor)
            count //= divisor
        else:
            divisor += 2
    return sorted(found)


def rounds_of(strategy: str, ivms: int) -> list[Round]:
    """The rounds of one stealing phase.

    Parameters
    ----------
    strategy : str
        ``ring``: the next IVM. ``search``: the next eight, one after another. ``large``: the same, but only
        from intervals of at least the mean length. ``adapt``: at distances 1, 2, 4, ...; at first only from
        intervals of at least the mean length, then of a quarter of it, then of any. ``hypercube``: along
        every dimension of a mixed-radix hypercube, from intervals of at least the mean length.
    ivms : int
        How many IVMs there are.
    """
    if ivms < 2:
        return []
    near = range(1, min(_SEARCHED, ivms - 1) + 1)
    if strategy == "ring":
        return [Round(1, ivms, 1, -1)]
    if strategy == "search":
        return [Round(1, ivms, offset, -1) for offset in near]
    if strategy == "large":
        return [Round(1, ivms, offset, 0) for offset in near]
    if strategy == "adapt":
        distances = [1 << power for power in range((ivms - 1).bit_length()) if 1 << power < ivms]
        found: list[Round] = []
        for position, distance in enumerate(distances):
            shift = (0, 2, -1)[min(2, 3 * position // len(distances))]
            found.append(Round(1, ivms, distance, shift))
        return found
    found = []
    stride = 1
    for radix in radices(ivms):
        reach = range(1, radix) if radix <= _LARGEST_RADIX else [1 << p for p in range((radix - 1).bit_length())]
        found += [Round(stride, radix, offset, 0) for offset in reach]
        stride *= radix
    return found
