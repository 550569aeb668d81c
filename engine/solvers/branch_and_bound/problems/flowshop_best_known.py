"""Taillard's flowshops (``ta056``) and those of Vallada, Ruiz and Framinan: seeds, and bounds with their sources."""

import csv
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MACHINES = {20: (5, 10, 20), 50: (5, 10, 20), 100: (5, 10, 20), 200: (10, 20), 500: (20,)}

SIZES = tuple((jobs, machines) for jobs, several in _MACHINES.items() for machines in several)
"""Jobs and machines of each group of ten instances."""

_SEEDS = """
    873654221 379008056 1866992158 216771124 495070989 402959317 1369363414 2021925980 573109518 88325120
    587595453 1401007982 873136276 268827376 1634173168 691823909 73807235 1273398721 2065119309 1672900551
    479340445 268827376 1958948863 918272953 555010963 2010851491 1519833303 1748670931 1923497586 1829909967
    1328042058 200382020 496319842 1203030903 1730708564 450926852 1303135678 1273398721 587288402 248421594
    1958948863 575633267 655816003 1977864101 93805469 1803345551 49612559 1899802599 2013025619 578962478
    1539989115 691823909 655816003 1315102446 1949668355 1923497586 1805594913 1861070898 715643788 464843328
    896678084 1179439976 1122278347 416756875 267829958 1835213917 1328833962 1418570761 161033112 304212574
    1539989115 655816003 960914243 1915696806 2013025619 1168140026 1923497586 167698528 1528387973 993794175
    450926852 1462772409 1021685265 83696007 508154254 1861070898 26482542 444956424 2115448041 118254244
    471503978 1215892992 135346136 1602504050 160037322 551454346 519485142 383947510 1968171878 540872513
    2013025619 475051709 914834335 810642687 1019331795 2056065863 1342855162 1325809384 1988803007 765656702
    1368624604 450181436 1927888393 1759567256 606425239 19268348 1298201670 2041736264 379756761 28837162
"""

TIME_SEEDS = tuple(map(int, _SEEDS.split()))


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
