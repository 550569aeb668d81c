"""Simulated faults of devices and disk; ``tools/soak/simulate.py`` has a hundred thousand."""

from unittest import mock

import pytest

from engine.runs.folder import storage
from tests.support.examples import seed_of_tests
from tests.support.lasting import slow_device
from tests.support.needs import OPENCL
from tests.support.simulation import Fault, History, Simulator, history_of

DEVICES = [name for name in slow_device() if name.startswith("opencl")]
SEED = seed_of_tests()


@pytest.fixture(scope="module")
def simulator(tmp_path_factory):
    with Simulator(tmp_path_factory.mktemp("simulation"), *DEVICES) as made:
        yield made


def numbers(scenario, count):
    """The next numbers whose history is of a scenario."""
    first = 1_000_000 * SEED
    return [number for number in range(first, first + 5000) if history_of(number).scenario == scenario][:count]


def test_no_fault_of_a_disk_loses_work_or_changes_an_answer(simulator):
    for number in numbers("disk", 12):
        history = history_of(number)
        assert simulator.live(history) is None, f"{history}: python -m tools.soak.simulate --repeat {number}"


@pytest.mark.parametrize("point", ["disk.kill", "disk.power"])
def test_whatever_file_operation_is_the_last_the_run_resumes_with_nothing_lost(simulator, point):
    for at in range(1, 60, 3):
        history = History(at, "disk", 0, ((Fault(point, at),),))
        assert simulator.live(history) is None, history


@OPENCL
@pytest.mark.parametrize("scenario", ["queens on 1", "queens on 2 in a folder", "boa on 2", "linprog on 1 in a folder"])
def test_no_fault_of_a_device_loses_work_or_changes_an_answer(simulator, scenario):
    for number in numbers(scenario, 1):
        history = history_of(number)
        assert simulator.live(history) is None, f"{history}: python -m tools.soak.simulate --repeat {number}"


FOUND = {
    "an error of the driver while a buffer is released": ("knapsack on 1", Fault("device.wait", 36)),
    "a racer on a device that fails was asked for its iterate": ("linprog on 2 in a folder", Fault("device.copy", 1)),
}


@OPENCL
@pytest.mark.parametrize(("scenario", "fault"), FOUND.values(), ids=FOUND)
def test_what_was_found_once_is_mended(simulator, scenario, fault):
    assert simulator.live(History(1, scenario, 0, ((fault,),))) is None


def test_the_simulation_finds_what_is_not_synchronised(tmp_path):
    def unsafe(path, content):
        path.write_bytes(content)

    with Simulator(tmp_path) as simulator, mock.patch.object(storage, "write_whole", unsafe):
        histories = [History(number, "disk", 0, ((Fault("disk.power", 40),),)) for number in range(30)]
        assert any(simulator.live(history) is not None for history in histories)
