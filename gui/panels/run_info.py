"""What a dashboard knows of its run before the first event."""

from dataclasses import dataclass
from pathlib import Path

from engine.base.problem import Problem
from engine.base.schema import Schema
from engine.base.solver import MetricSpec
from gui.runs.notes import RunNote


@dataclass(frozen=True)
class RunInfo:
    """The run of a panel."""

    solver: str
    metrics: tuple[MetricSpec, ...] = ()
    problem: Problem | None = None
    folder: Path | None = None
    title: str = ""
    schema: Schema | None = None
    note: RunNote | None = None
