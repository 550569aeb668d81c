"""Best known values of public instances, by the stem of the file's name.

They are in ``best_known.csv``: cuts of the G set (C. Helmberg, F. Rendl), and instances of the Biq Mac library. Each
row says whether the value is proved optimal or was found by a heuristic, where it was published, and when.
"""

import csv
import functools
from dataclasses import dataclass
from pathlib import Path

from ...formats.source import without_compression


@dataclass(frozen=True)
class BestKnown:
    """The best value published of an instance, "proved" or "heuristic", where, and when: a year, a month or a day."""

    value: float
    status: str
    source: str
    date: str


@functools.cache
def best_known_values() -> dict[str, BestKnown]:
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as stream:
        return {
            row["name"]: BestKnown(float(row["value"]), row["status"], row["source"], row["date"])
            for row in csv.DictReader(stream)
        }


def best_known(path: str) -> float | None:
    """The best known value of a public instance; None if it is not among those known here."""
    name = without_compression(Path(path)).name
    for ending in (".txt", ".mc", ".rud", ".sparse"):
        name = name.removesuffix(ending)
    found = best_known_values().get(name)
    return None if found is None else found.value
