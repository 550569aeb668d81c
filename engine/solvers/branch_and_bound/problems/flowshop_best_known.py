"""Bounds on the optimal makespans of published flowshops, with their sources.

They are in ``flowshop_best_known.csv``: the 120 instances of Taillard, by names such as ``ta056``, and the 480 of
Vallada, Ruiz and Framinan, by names such as ``VFR100_20_1``.
"""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PublishedFlowshop", "published_flowshops"]


@dataclass(frozen=True)
class PublishedFlowshop:
    """What is known of one instance.

    Attributes
    ----------
    lower, upper : int
        Bounds on the optimal makespan; ``upper`` is the makespan of a schedule.
    lower_source, upper_source : str
        A proof file, a publication, or ``root`` for the bound that the engine computes at the root.
    date : str
        When the upper bound was published.
    status : {"proved", "published", "open"}
        ``proved``: both bounds are equal. ``published``: the upper bound is optimal according to publications, without
        a proof that can be checked here. ``open``: neither.
    schedule : tuple of int
        A schedule of makespan ``upper``, where it is known and not in a proof file; else empty.
    """

    jobs: int
    machines: int
    lower: int
    lower_source: str
    upper: int
    upper_source: str
    date: str
    status: str
    note: str
    schedule: tuple[int, ...]


@functools.cache
def published_flowshops() -> dict[str, PublishedFlowshop]:
    """All of them, by name."""
    with Path(__file__).with_name("flowshop_best_known.csv").open(encoding="utf-8", newline="") as stream:
        return {
            row["name"]: PublishedFlowshop(
                jobs=int(row["jobs"]),
                machines=int(row["machines"]),
                lower=int(row["lower"]),
                lower_source=row["lower_source"],
                upper=int(row["upper"]),
                upper_source=row["upper_source"],
                date=row["date"],
                status=row["status"],
                note=row["note"],
                schedule=tuple(map(int, row["schedule"].split())),
            )
            for row in csv.DictReader(stream)
        }
