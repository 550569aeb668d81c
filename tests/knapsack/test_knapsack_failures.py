"""A device that fails in the middle of a run: others go on; the last one ends the run with its error."""

import pytest

from engine import Engine, Status
from engine.errors import DeviceError
from engine.generators.knapsack import GeneratorOptions, generate
from engine.references.knapsack import optimal_value
from tests.support.faults import failing


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
