"""Schemas: every departure of a result from its declaration is named."""

import numpy as np
import pytest

from engine.base.result import Result, Status
from engine.base.schema import ArraySpec, ColumnSpec, CounterSpec, Schema, SchemaError

pytestmark = pytest.mark.smoke


SCHEMA = Schema(
    arrays=(
        ArraySpec("edges", "int64", ("edges", 2)),
        ArraySpec("weights", "floating", ("edges",)),
        ArraySpec("names", "text", (None,), optional=True),
    ),
    counters=(CounterSpec("nodes", unit="nodes"),),
    history=(ColumnSpec("step"), ColumnSpec("best", log=True)),
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
