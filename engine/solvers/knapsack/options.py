"""How to solve a knapsack problem."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.solver import SolverOptions

__all__ = ["Options"]


class Options(SolverOptions):
    """Options of the knapsack solver."""

    variant: Literal["auto", "rows", "tiles", "classes"] = Field(
        "auto",
        description="how items share kernel launches: rows (one item a launch, the paper's), tiles (several items "
        "fused in local memory), classes (items of equal weight fused in registers), or auto (the fastest mixture)",
    )
    reduce: bool = Field(True, description="fix items by upper bounds before the dynamic program")
    items: bool = Field(True, description="find the chosen items, not only the best value")
    keep_memory: float | None = Field(
        None,
        gt=0,
        description="megabytes per device for rows kept to find the items by; default: one row where device memory is "
        "the host's, else up to half of what is free",
    )
    minimum_share: int | None = Field(
        None,
        ge=1,
        description="fewest cells of a row worth a device of its own; default: 2^18 where a device is a CPU, else 2^21",
    )
