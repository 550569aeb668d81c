"""A row of the dense table that a checkpoint holds is that of its items, or refused; and one that a failure left."""

import numpy as np
import pytest

import engine
from engine import Engine, Status
from engine.base.context import Checkpoint
from engine.errors import DeviceError, RunFolderError
from engine.generators.knapsack import GeneratorOptions, generate
from engine.references.knapsack import optimal_value
from engine.solvers.knapsack.checkpoint import StartRow, restore
from tests.support.faults import failing

PROBLEM = engine.Knapsack([60, 100, 120, 30], [10, 20, 30, 7], 50)
DONE = [1, 2]
ROW = [0] * 20 + [100] * 10 + [120] * 20 + [220]  # capacities 0 to 50 of the items of weights 20 and 30


def checkpoint(**changes):
    arrays = {"taken": [], "open": [0, 1, 2, 3], "best": [0, 1], "done": DONE}
    arrays = {name: np.array(value, np.int64) for name, value in arrays.items()} | {"row": np.array(ROW, np.int32)}
    state = {"phase": "row", "capacity": 50, "objective": 160, "bound": 230, "low": 33}
    state |= {name: value for name, value in changes.items() if name in state}
    arrays |= {name: np.array(value, arrays[name].dtype) for name, value in changes.items() if name in arrays}
    arrays["row"] = arrays["row"][state["low"] :] if len(arrays["row"]) == 51 else arrays["row"]
    return Checkpoint(arrays, state, 1.0)


def test_a_row_of_its_items_is_restored():
    start = restore(PROBLEM, checkpoint())[2]
    assert isinstance(start, StartRow)
    assert start.values.tolist() == ROW[33:]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"row": [0] * 51}, "not that of its items"),
        ({"row": [*ROW[:50], 219]}, "not that of its items"),
        ({"open": [], "taken": [0, 1], "capacity": 20}, "its bound is not reached"),
    ],
)
def test_another_row_is_refused(changes, message):
    with pytest.raises(RunFolderError, match=message):
        restore(PROBLEM, checkpoint(**changes))


@pytest.mark.parametrize("launch", [1, 60])
def test_the_last_device_of_a_dense_table_fails_with_its_error_and_another_run_resumes(device, tmp_path, launch):
    problem, name = generate(GeneratorOptions(type="strongly-correlated", n=1000, seed=4)), device.info.id
    kept = {"run_folder": tmp_path / "run", "checkpoint_interval": 1e-6}
    with Engine(devices=[name]) as owner, failing(name, at_launch=launch) as failures:
        run = owner.start(problem, variant="rows", reduce=False, **kept)
        with pytest.raises(DeviceError, match="fallen off the bus"):
            run.wait(60)
    assert failures[0] > 0
    with Engine(devices=[name]) as owner:
        result = owner.resume(tmp_path / "run").wait()
    assert result.status is Status.OPTIMAL
    assert result.objective == optimal_value(problem)
    if launch > 1:
        assert result.counters["cells"] > 0
