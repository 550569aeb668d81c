"""What is known of a run so far, and how a run folder keeps it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.solvers.gibbs.design import Design
from engine.solvers.gibbs.draws import Draws
from engine.solvers.gibbs.sampler import Sampler

__all__ = ["RunState", "checkpoint_of", "restore_draws", "snapshot_of"]

Floats = NDArray[np.float64]


@dataclass
class RunState:
    """What is known so far."""

    design: Design
    draws: Draws
    statistics: Draws
    scales: Draws | None
    traced: NDArray[np.int64]
    iteration: int = 0
    mode: Floats = field(default_factory=lambda: np.zeros(0))
    reference: Floats = field(default_factory=lambda: np.zeros(0))
    warming: list[Floats] = field(default_factory=list)
    failed: int = 0
    began: float = field(default_factory=time.monotonic)
    began_at: int = 0
    told: float = 0.0
    diagnosed: float = field(default_factory=time.monotonic)


def restore_draws(state: RunState, arrays: dict[str, NDArray[Any]]) -> None:
    """Take the draws of a checkpoint over."""
    for name, draws in (("draws", state.draws), ("statistics", state.statistics), ("scales", state.scales)):
        if draws is not None:
            start = name + "."
            part = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
            draws.restore(part)
    if "warming" in arrays:
        state.warming = [arrays["warming"]]
    state.traced = arrays["traced"]


def snapshot_of(sampler: Sampler, state: RunState) -> dict[str, Any]:
    """Where the run can be taken up again."""
    return {
        "chains": sampler.state(),
        "iteration": state.iteration,
        "draws": state.draws.mark(),
        "statistics": state.statistics.mark(),
        "scales": None if state.scales is None else state.scales.mark(),
        "warming": len(state.warming),
        "reference": state.reference,
        "rows": sampler.reference_rows() if sampler.settings.kernel == "ellipse" else {},
    }


def checkpoint_of(state: RunState, snapshot: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A snapshot as a run folder keeps it."""
    rows = dict(snapshot["rows"])
    scalars = {"iteration": snapshot["iteration"], "averaged": rows.pop("averaged", 0)}
    scalars["averaging"] = rows.pop("averaging", False)
    arrays: dict[str, Any] = {**snapshot["chains"], **rows, "mode": state.mode, "reference": snapshot["reference"]}
    for name, draws in (("draws", state.draws), ("statistics", state.statistics), ("scales", state.scales)):
        if draws is not None:
            arrays.update({f"{name}.{key}": array for key, array in draws.arrays_at(snapshot[name]).items()})
    if snapshot["warming"]:
        arrays["warming"] = np.concatenate(state.warming[: snapshot["warming"]])
    arrays["traced"] = state.traced
    return arrays, scalars
