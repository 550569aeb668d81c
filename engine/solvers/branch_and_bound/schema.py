"""What results and checkpoints of branch and bound contain."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from ...base.schema import ArraySpec, CheckpointSpec, CounterSpec, Schema
from ...errors import RunFolderError

Value = Annotated[int, Field(ge=1 - 2**31, le=2**31 - 1)]
"""A value of the objective, as devices hold it."""


class SearchState(BaseModel):
    """Scalars of a checkpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    initial: Value  # the initial upper bound
    value: Value  # the best one
    improved: bool  # whether the search found a better solution
    has_solution: bool
    bound: int  # proved
    counters: dict[str, NonNegativeInt]  # over all starts of the run
    prepared: bool = False  # whether the tree's bounds have been prepared
    counting: bool = False  # whether the optimum is proved, and the solutions that have it are being counted


_DIGIT = "uint8|uint16"  # the latter for 256 items and more
_INTERVALS = (
    ArraySpec("begin", _DIGIT, ("units", "items"), title="First leaf of each open interval, as digits", optional=True),
    ArraySpec("end", _DIGIT, ("units", "items"), title="Leaf behind each open interval, as digits", optional=True),
    ArraySpec("fresh", _DIGIT, ("units",), title="First level not yet decomposed", unit="levels", optional=True),
)

_EXPLORED = "Digit sums of the explored intervals by level"

SCHEMA = Schema(
    arrays=(
        *_INTERVALS,
        ArraySpec("search", "text", (), title="Variant and IVMs of each device that has searched", optional=True),
        ArraySpec("explored", "int64", ("items",), title=_EXPLORED, optional=True),
    ),
    counters=(
        CounterSpec("nodes", title="Decomposed nodes", unit="nodes"),
        CounterSpec("leaves", title="Leaves reached", unit="leaves"),
        CounterSpec("solutions", title="Optimal solutions", unit="solutions"),
        CounterSpec("steals", title="Intervals split on a device", unit="intervals"),
        CounterSpec("nodes_left", title="Nodes left (estimate)", unit="nodes"),
        CounterSpec("exchanged_intervals", title="Intervals given to other devices", unit="intervals"),
        CounterSpec("insertions", title="Jobs tried at all places of a schedule", unit="jobs"),
    ),
    checkpoint=CheckpointSpec(
        version=1,
        arrays=(
            *(ArraySpec(spec.name, spec.dtype, spec.shape, spec.title, spec.unit) for spec in _INTERVALS),
            ArraySpec("explored", "int64", ("items",), title=_EXPLORED),
            ArraySpec("solution", "int64", (None,), required_if=lambda state: state.has_solution),
            ArraySpec("prepared", "int64", (None, None), required_if=lambda state: state.prepared),
        ),
        state=SearchState,
    ),
)


def state_of(arrays: dict[str, Any], state: Any) -> SearchState:
    """The scalars of a checkpoint, if these and its arrays are as declared; else :class:`RunFolderError`."""
    assert SCHEMA.checkpoint is not None
    try:
        checked = SCHEMA.checkpoint.check(arrays, state)
    except ValueError as error:
        raise RunFolderError(f"the checkpoint cannot be used: {error}") from error
    assert isinstance(checked, SearchState)
    return checked
