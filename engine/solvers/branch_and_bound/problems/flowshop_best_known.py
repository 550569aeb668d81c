"""Bounds, with their sources, on Taillard's flowshops (``ta056``) and on those of Vallada, Ruiz and Framinan."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["PublishedFlowshop", "published_flowshops"]


@dataclass(frozen=True)
class PublishedFlowshop:
    """What is known of one instance."""

    jobs: int
    machines: int
    lower: int
    lower_source: str  # a proof file, a publication, or `root` for the bound that the engine computes at the root
    upper: int  # the makespan of a schedule
    upper_source: str
    date: str  # when the upper bound was published
    status: str  # `proved`: equal bounds; `published`: optimal, by a proof that cannot be checked here; `open`
    note: str
    schedule: tuple[int, ...]  # of makespan `upper`; empty if unknown, or in a proof file


@functools.cache
def published_flowshops() -> dict[str, PublishedFlowshop]:
    """All of them, by name."""
    with Path(__file__).with_name("flowshop_best_known.csv").open(encoding="utf-8", newline="") as stream:
        return {row.pop("name"): _published(row) for row in csv.DictReader(stream)}


def _published(row: dict[str, str]) -> PublishedFlowshop:
    given: dict[str, Any] = {**row, "schedule": tuple(map(int, row["schedule"].split()))}
    return PublishedFlowshop(**given | {name: int(row[name]) for name in ("jobs", "machines", "lower", "upper")})
