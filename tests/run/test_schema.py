"""Schemas: every departure of a result or checkpoint from its declaration is named."""

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict

from engine.base.result import Result, Status
from engine.base.schema import ArraySpec, CheckpointSpec, ColumnSpec, CounterSpec, Schema, SchemaError

pytestmark = pytest.mark.smoke


class State(BaseModel):
    model_config = ConfigDict(extra="forbid")

    phase: str
    at: int


SCHEMA = Schema(
    arrays=(
        ArraySpec("edges", "int64", ("edges", 2)),
        ArraySpec("weights", "floating", ("edges",)),
        ArraySpec("names", "text", (None,), optional=True),
    ),
    counters=(CounterSpec("nodes", unit="nodes"),),
    history=(ColumnSpec("step"), ColumnSpec("best", log=True)),
    checkpoint=CheckpointSpec(
        version=1,
        arrays=(
            ArraySpec("row", "int32|int64|float64", ("capacity",), within=(0, 9)),
            ArraySpec("walk", "unsigned", (), required_if=lambda state: state.phase == "walk"),
        ),
        state=State,
    ),
)


def arrays(**changes):
    found = {"edges": np.zeros((3, 2), np.int64), "weights": np.ones(3, np.float32), "history": np.ones((4, 2))}
    return {name: array for name, array in (found | changes).items() if array is not None}


def test_a_result_as_declared_passes_and_its_columns_are_read_by_name():
    SCHEMA.check_result(arrays(), {"nodes": 3})
    SCHEMA.check_result(arrays(names=np.array(["a"]), history=None), {"nodes": np.int64(3)})
    result = Result(Status.OPTIMAL, 1, 1, None, arrays={"history": np.array([[0.0, 5.0], [1.0, 7.0]])})
    assert SCHEMA.column(result, "best").tolist() == [5.0, 7.0]
    assert SCHEMA.column(Result(Status.OPTIMAL, 1, 1, None), "best").size == 0
    with pytest.raises(KeyError, match="no column 'worst'"):
        SCHEMA.column(result, "worst")


@pytest.mark.parametrize(
    ("changes", "counters", "message"),
    [
        ({"edges": None}, {}, "the array 'edges' is missing"),
        ({"extra": np.zeros(1)}, {}, "an array 'extra' is not declared"),
        ({"edges": np.zeros((3, 2), np.int32)}, {}, "'edges' must be of type int64; got int32"),
        ({"edges": np.zeros((3, 3), np.int64)}, {}, "dimension 1 of the array 'edges' must be 2; got 3"),
        ({"weights": np.ones(4)}, {}, r"dimension 0 of the array 'weights' \(edges\) must be 3, as in 'edges'; got 4"),
        ({}, {"leaves": 1}, "a counter 'leaves' is not declared"),
        ({}, {"nodes": "many"}, "the counter 'nodes' must be a number; got 'many'"),
    ],
)
def test_each_departure_of_a_result_is_named(changes, counters, message):
    with pytest.raises(SchemaError, match=message):
        SCHEMA.check_result(arrays(**changes), counters)


@pytest.mark.parametrize(
    ("row", "walk", "state", "message"),
    [
        (np.zeros(4, np.int32), None, {"phase": "sweep", "at": 1}, None),
        (np.zeros(4, np.int64), np.uint8(1), {"phase": "walk", "at": 1}, None),
        (np.zeros(4, np.int8), None, {"phase": "sweep", "at": 1}, "must be of type int32|int64|float64; got int8"),
        (None, None, {"phase": "sweep", "at": 1}, "the array 'row' is missing"),
        (np.zeros(4, np.int32), np.uint8(1), {"phase": "sweep", "at": 1}, "an array 'walk' does not belong here"),
    ],
)
def test_a_checkpoint_is_checked_with_its_state(row, walk, state, message):
    given = {name: array for name, array in (("row", row), ("walk", walk)) if array is not None}
    spec = SCHEMA.checkpoint
    if message is None:
        assert spec.check(given, state) == State(**state)
    else:
        with pytest.raises(SchemaError, match=message.replace("|", r"\|")):
            spec.check(given, state)
