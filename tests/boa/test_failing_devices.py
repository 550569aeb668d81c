"""Devices that share a population, through the host or by reading each other, go the way of one, also if some fail."""

import pytest

import engine
from engine.devices import Device, Member
from engine.errors import DeviceError
from engine.events import Notice
from engine.solvers.boa.device import peers
from engine.solvers.boa.schema import SCHEMA
from tests.support.engines import engine_of
from tests.support.faults import failing
from tests.support.stopped_runs import history

PROBLEM = engine.BOA("trap-5", 40)
OPTIONS = {"population": 300, "seed": 4, "max_generations": 6, "target": 41, "flips": 10}


@pytest.fixture(scope="module")
def alone(device):
    """The run of one device that does not fail, by local search."""
    return {how: engine_of(device).solve(PROBLEM, local_search=how, **OPTIONS) for how in ("none", "tabu")}


@pytest.fixture
def reading(device, monkeypatch):
    """Let members of one device read each other's memory; OpenCL's do where they have one context."""
    if device.info.language == "opencl":
        import pyopencl

        make, contexts = pyopencl.Context, {}

        def shared(devices):
            key = devices[0].int_ptr
            if key not in contexts:
                contexts[key] = make(devices)
            return contexts[key]

        monkeypatch.setattr(pyopencl, "Context", shared)
        monkeypatch.setattr(Device, "copy_from_peer", Device.copy)
        monkeypatch.setattr(Device, "enable_peer", lambda self, index: None)
        monkeypatch.setattr(Member, "reads", lambda self, other: True)


def run_with_failure(device, at_launch, devices=2, **options):
    """The result where the second of some devices fails at some launch, and the warnings of the run."""
    seen = []
    with failing(f"{device.info.id}#2", at_launch=at_launch) as failures:
        result = engine_of(device, devices).solve(PROBLEM, share="always", on_event=seen.append, **options)
    assert failures[0] > 0
    return result, [event.message for event in seen if isinstance(event, Notice) and event.level == "warning"]


def rows(result):
    """The history without its flips: those of a device that fails are made again."""
    return [row[: SCHEMA.column_index("flips")] for row in history(result)]


@pytest.mark.few(1)
@pytest.mark.parametrize("at_launch", [1, 4, 60, 61, 62, 63, 64, 75])
@pytest.mark.parametrize("local_search", ["none", "tabu"])
def test_shared_population_takes_the_same_way_without_the_failed_device(device, alone, at_launch, local_search):
    left, warnings = run_with_failure(device, at_launch, local_search=local_search, **OPTIONS)
    assert rows(left) == rows(alone[local_search])
    assert left.objective == alone[local_search].objective
    assert any("the run continues without it" in text for text in warnings)


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("local_search", ["none", "tabu"])
def test_devices_that_read_each_other_take_the_way_of_one(device, alone, monkeypatch, local_search):
    generations, original = [], peers.finish_by_peers

    def noted(worker, generation, *arguments):
        generations.append(generation)
        return original(worker, generation, *arguments)

    monkeypatch.setattr("engine.solvers.boa.population.finish_by_peers", noted)
    for count in (2, 3):
        generations.clear()
        shared = engine_of(device, count).solve(PROBLEM, share="always", local_search=local_search, **OPTIONS)
        assert history(shared) == history(alone[local_search])
        assert len(generations) == count * shared.counters["generations"]


@pytest.mark.few(2)
@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("at_launch", [3, 20, 40, 61, 63, 66, 68, 70, 73])
def test_a_device_that_others_read_may_fail(device, alone, at_launch):
    left, _ = run_with_failure(device, at_launch, 3, local_search="none", **OPTIONS)
    assert rows(left) == rows(alone["none"])
    assert left.objective == alone["none"].objective


@pytest.mark.parametrize("at_launch", [2, 70])
def test_islands_of_a_failed_device_are_given_up(device, at_launch):
    options = OPTIONS | {"islands": 4, "max_generations": 9, "seed": 2, "local_search": "none"}
    result, warnings = run_with_failure(device, at_launch, **options)
    last = [row for row in history(result) if row[1] == 9]
    assert {row[SCHEMA.column_index("island")] for row in last} == {0, 2}
    assert result.objective == PROBLEM.evaluate(result.solution[None])[0]
    assert len(warnings) == 2


def test_last_device_that_fails_ends_the_run_with_its_error_and_keeps_the_checkpoint(device, tmp_path):
    problem, folder = engine.BOA("trap-5", 60), tmp_path / "run"
    options = {"population": 600, "seed": 4, "local_search": "none", "max_generations": 12, "target": 61}
    with failing(device.info.id, at_launch=150) as failures, pytest.raises(DeviceError, match="has fallen off the bus"):
        engine_of(device).solve(problem, run_folder=folder, checkpoint_interval=1e-9, **options)
    assert failures[0] > 0
    resumed = engine_of(device).resume(folder).wait()
    assert history(resumed) == history(engine_of(device).solve(problem, **options))
