"""A device that fails in the middle of a run: others go on; the last one ends the run with its error."""

import numpy as np
import pytest

from engine import Engine, Knapsack, Status
from engine.errors import DeviceError
from engine.events import Event, Notice
from engine.generators.knapsack import GeneratorOptions, generate
from engine.references.knapsack import optimal_value
from tests.support.faults import failing


def halves(seed):
    """Weights near powers of one half, where the sparse table stays sparse."""
    random = np.random.default_rng(seed)
    weights = 200_000 // 2 ** random.integers(0, 12, 80) + random.integers(1, 60, 80)
    return Knapsack(weights + random.integers(1, 60, 80), weights, int(weights.sum()) // 2)


@pytest.mark.few(1)
@pytest.mark.parametrize("launch", [1, 40, 150])
def test_the_sparse_table_starts_again_on_the_next_device(device, launch):
    problem, name, events = halves(3), device.info.id, list[Event]()
    with Engine(devices=[name, name]) as engine, failing(name, at_launch=launch) as failures:
        result = engine.solve(problem, variant="sparse", reduce=False, on_event=events.append)
    assert failures[0] > 0
    assert result.status is Status.OPTIMAL
    assert result.objective == optimal_value(problem)
    assert any(isinstance(event, Notice) and "starts again" in event.message for event in events)


def test_the_last_device_of_a_sparse_table_fails_with_its_error(device):
    name = device.info.id
    with (
        Engine(devices=[name]) as engine,
        failing(name, at_launch=40),
        pytest.raises(DeviceError, match="fallen off the bus"),
    ):
        engine.solve(halves(4), variant="sparse", reduce=False)


@pytest.mark.parametrize("launch", [1, 60])
def test_the_last_device_of_a_dense_table_fails_with_its_error_and_another_run_resumes(device, tmp_path, launch):
    problem, name = generate(GeneratorOptions(type="strongly-correlated", n=1000, seed=4)), device.info.id
    kept = {"run_folder": tmp_path / "run", "checkpoint_interval": 1e-6}
    with Engine(devices=[name]) as engine, failing(name, at_launch=launch) as failures:
        run = engine.start(problem, variant="rows", reduce=False, **kept)
        with pytest.raises(DeviceError, match="fallen off the bus"):
            run.wait(60)
    assert failures[0] > 0
    with Engine(devices=[name]) as engine:
        result = engine.resume(tmp_path / "run").wait()
    assert result.status is Status.OPTIMAL
    assert result.objective == optimal_value(problem)
    if launch > 1:
        assert result.counters["cells"] > 0
