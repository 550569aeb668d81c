"""Best known values of public instances, by the stem of the file's name."""

from __future__ import annotations

from pathlib import Path

__all__ = ["best_known"]

# Cuts of the G set that breakout local search found: U. Benlic, J.-K. Hao, "Breakout local search for the max-cut
# problem", Engineering Applications of Artificial Intelligence 26 (2013) 1162-1173, and the authors' list of results.
_BREAKOUT = """
G1 11624  G11 564  G12 556  G13 582  G14 3064  G22 13359  G25 13340  G26 13328  G27 3341  G28 3298  G29 3405  G30 3413
G31 3309  G32 1410  G36 7678  G38 7687  G39 2408  G40 2400  G41 2405  G42 2481  G43 6660  G47 6657  G51 3848  G52 3851
G53 3850  G54 3852  G55 10294  G56 4012  G57 3492  G58 19263  G59 6078  G60 14176  G61 5789  G62 4868  G63 26997
G64 8735  G65 5558  G66 6360  G67 6940  G70 9541  G72 6998  G77 9926  G81 14030
"""

# Optima of the Biq Mac library.
_BIQ_MAC = """
g05_60.0 536  g05_60.1 532  g05_80.0 929  g05_100.0 1430  pm1s_80.0 79  pm1s_100.0 127  pm1d_80.0 227  w05_100.0 1646
gka1a -3414  gka3a -6037  gka8a -11109  gka1b -133  gka4b -129  gka1c -5058
"""


def best_known(path: str) -> float | None:
    """The best known value of a public instance; None if it is not among those known here."""
    name = Path(path).name
    for ending in (".txt", ".mc", ".rud", ".sparse"):
        name = name.removesuffix(ending)
    words = (_BREAKOUT + _BIQ_MAC).split()
    values = dict(zip(words[::2], words[1::2], strict=True))
    return float(values[name]) if name in values else None
