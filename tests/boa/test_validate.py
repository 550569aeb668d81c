"""What is refused before a device is opened: options that do not suit the problem or the devices, and memory."""

import dataclasses

import numpy as np
import pytest

import engine
from engine.devices.info import DeviceInfo
from engine.devices.kernels.variants import CPU, GPU
from engine.errors import OptionError, OutOfDeviceMemory
from engine.solvers.boa.device.memory import PopulationMemory, required_bytes
from engine.solvers.boa.options import Options
from engine.solvers.boa.validate import parameters_for, validate

BIG = DeviceInfo("opencl", 0, "a GPU", "a platform", "1", "u", 100 * 10**9, 25 * 10**9, GPU)
SMALL = dataclasses.replace(BIG, index=1, memory=4 * 10**6, max_allocation=10**6)
PROCESSOR = dataclasses.replace(BIG, index=2, capabilities=CPU)
TRAP = engine.BOA("trap-5", 100)
KNOWN = engine.BOA("trap-5", 20, seeds=np.zeros((50, 20), int))


@pytest.mark.parametrize(
    ("problem", "options", "devices", "error", "message"),
    [
        (TRAP, {"population": 10**6}, [SMALL], OutOfDeviceMemory, "needs .* on opencl:1, which has 4.0 MB; lower pop"),
        (TRAP, {"population": 10**6}, [BIG, SMALL], OutOfDeviceMemory, "on opencl:1"),
        (TRAP, {"population": 90_000}, [SMALL], OutOfDeviceMemory, "one buffer of 1.1 MB|which has 4.0 MB"),
        (TRAP, {"counting": "tensor"}, [PROCESSOR], OptionError, "counting = tensor needs an NVIDIA GPU"),
        (TRAP, {"population": 8, "selection_fraction": 0.99}, [BIG], OptionError, "selects all of them"),
        (TRAP, {"local_search": "anneal"}, [BIG], OptionError, "anneal needs functions of at most two genes"),
        (engine.LABS(9), {"local_search": "walk"}, [BIG], OptionError, "walk is not for sequences"),
        (engine.BOA("hiff", 64), {"local_search": "walk"}, [BIG], OptionError, "given by tables; got hiff"),
        (KNOWN, {"population": 40}, [BIG], OptionError, "the number of known individuals, 50; got 40"),
    ],
)
def test_questions_that_cannot_be_answered_are_refused(problem, options, devices, error, message):
    with pytest.raises(error, match=message):
        validate(problem, Options(**options), devices)
    for beyond in ({"population": 3}, {"selection_fraction": 1}, {"islands": 0}, {"islands": 65}):
        with pytest.raises(ValueError, match=r"must be|less than 1"):
            Options(**beyond)


def test_what_fits_is_accepted_and_islands_on_one_device_add_up():
    options = {"population": 5000, "local_search": "none"}
    one = required_bytes(parameters_for(TRAP, Options(**options), 5000, 0), 1)
    enough = dataclasses.replace(BIG, memory=3 * one)
    validate(TRAP, Options(**options), [enough])
    validate(TRAP, Options(**options, islands=3), [enough])
    with pytest.raises(OutOfDeviceMemory):
        validate(TRAP, Options(**options, islands=4), [enough])
    validate(TRAP, Options(**options, islands=4), [enough, dataclasses.replace(enough, index=5)])


def test_plan_of_memory_is_what_a_population_allocates(device):
    """Within the small buffers of fixed size, and the tables of the fitness."""

    def allocated(running, parameters, fitness):
        memory = PopulationMemory(running, parameters, fitness, 7, 1)
        try:
            return sum(buffer.size * buffer.dtype.itemsize for buffer in memory._buffers)
        finally:
            memory.release()

    for options in ({"max_parents": 3}, {"selection_fraction": 0.5}, {"local_search": "none"}):
        parameters = parameters_for(TRAP, Options(**options), 20_000, 0)
        real = device.submit(allocated, parameters, TRAP.fitness).result()
        assert required_bytes(parameters, 7) == pytest.approx(real, rel=0.02)
