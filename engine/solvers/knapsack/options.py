"""How to solve a knapsack problem."""

from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator

from ...base.solver import SolverOptions


class _Initial(SolverOptions):
    @field_validator("initial", mode="before", check_fields=False)
    @classmethod
    def _numbers(cls, value: Any) -> Any:
        """A mask, with true for each item taken, would otherwise be read as the items 0 and 1."""
        if isinstance(value, list | tuple | np.ndarray) and any(isinstance(item, bool | np.bool_) for item in value):
            raise ValueError("must be the numbers of items, not true or false for each")
        return value


class Options(_Initial):
    """Options of the knapsack solver."""

    variant: Literal["auto", "dense", "rows", "tiles", "classes", "sparse", "bits"] = Field(
        "auto",
        description="which table: sparse (tiles of capacities where a state can still win), dense (one row of all "
        "capacities; rows, tiles and classes restrict its launches to one item each, as in the paper, to several items "
        "fused in local memory, and to items of equal weight, fused in registers or by sliding-window maxima), bits "
        "(one bit for each capacity, for profits in proportion to weights), or auto (the one estimated faster)",
    )
    reduce: bool = Field(
        True, description="bounds, local search, fixing of items and a core search on the host before any table is made"
    )
    profile: bool = Field(
        False, description="also compute the optimal value for every capacity from 0 to the given one (array profile)"
    )
    items: bool = Field(True, description="find the chosen items, not only the best value")
    keep_memory: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="megabytes per device for stored rows (or decisions of the sparse table), from which the chosen "
        "items are found; default: one row on a CPU, else up to half of the free memory, where one GPU keeps all rows "
        "if they fit; for decisions, up to a quarter of each device's memory, and more in the host's",
    )
    initial: tuple[int, ...] | None = Field(
        None,
        description="a known solution: its items, each as often as it is taken; the run begins with this or the greedy "
        "solution, whichever is better",
    )
    minimum_share: int | None = Field(
        None,
        ge=1,
        description="least number of cells of a row for which a further device is used; default: 2^18 if one of the "
        "devices is a CPU, else 2^21",
    )


class ChoiceOptions(_Initial):
    """Options for multiple choice."""

    reduce: bool = Field(True, description="fix items by bounds on the host before any table is made")
    items: bool = Field(True, description="find the chosen items, not only the best value")
    initial: tuple[int, ...] | None = Field(
        None, description="a known solution: its items; the run begins with this or its own, whichever is better"
    )


class ConstraintOptions(ChoiceOptions):
    """Options for several constraints."""

    variant: Literal["auto", "search", "table", "highs"] = Field(
        "auto",
        description="search (branch and bound on the device), table (of all values of one or two capacities), highs "
        "(HiGHS's branch and bound, in a process of its own), or auto (the search; the table or HiGHS where they are "
        "estimated faster or the search cannot be made)",
    )
