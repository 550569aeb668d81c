"""What results and checkpoints of the knapsack solver contain."""

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ...base.schema import ArraySpec, CheckpointSpec, CounterSpec, Schema


class CheckpointState(BaseModel):
    """The scalars of a checkpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # What a resumed run starts from: a row of the dense table, the tiles of the sparse table, or the open items alone.
    phase: Literal["row", "tiles", "items"]
    capacity: int = Field(ge=0)  # what the items taken leave for the open ones
    objective: int = Field(ge=0)
    bound: int = Field(ge=0)
    low: int = Field(0, ge=0)  # the capacity of the row's first cell
    items_fixed: int = Field(0, ge=0)
    cells: int = Field(0, ge=0)
    exchanged_bytes: int = Field(0, ge=0)


def _phase(*names: str) -> Callable[[CheckpointState], bool]:
    return lambda state: state.phase in names


SCHEMA = Schema(
    arrays=(
        ArraySpec("route", "text", (), title="How the problem was solved, and why"),
        ArraySpec("profile", "int64|float64", (None,), title="Optimal value by capacity", unit="profit", optional=True),
    ),
    counters=(
        CounterSpec("items", "Items", "items"),
        # By bounds, and (also with reduce = false) because they do not fit, bring no profit or have no weight.
        CounterSpec("items_fixed", "Items decided beforehand", "items"),
        CounterSpec("cells", "Cell updates", "cells"),
        CounterSpec("nodes", "Nodes of the search", "nodes"),
        CounterSpec("exchanged_bytes", "Exchanged between devices", "bytes"),
        CounterSpec("device_bytes", "Memory planned on each device", "bytes"),
    ),
    checkpoint=CheckpointSpec(
        version=2,
        arrays=(
            ArraySpec("taken", "int64", (None,), title="Items taken"),
            ArraySpec("open", "int64", (None,), title="Items not yet decided"),
            ArraySpec("best", "int64", (None,), title="Items of the best solution known"),
            ArraySpec("done", "int64", (None,), title="Items in the table", required_if=_phase("row", "tiles")),
            ArraySpec("row", "signed", (None,), title="The dense table's row", required_if=_phase("row")),
            ArraySpec("tiles", "int64", ("tiles",), title="Tiles of the sparse table", required_if=_phase("tiles")),
            ArraySpec("values", "signed", ("tiles", None), title="Their values", required_if=_phase("tiles")),
        ),
        state=CheckpointState,
    ),
)
