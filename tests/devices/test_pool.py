"""The pool: a thread a device, errors that arrive whole, and an orderly end."""

import importlib
import threading
import traceback
from dataclasses import replace

import numpy as np
import pytest

from engine.devices import DevicePool, MemoryInfo
from engine.devices.pool.pool import reserve_host_cores
from engine.errors import DeviceError, OutOfDeviceMemory
from tests.support.counting import ABACUS

INFO = replace(ABACUS, memory=2_000_000_000, max_allocation=2_000_000_000)


class FakeDevice:
    """Writes down what it does; fails where the test asks for it."""

    memory_is_counted = False

    def __init__(self, info, diary, fails):
        self.info, self._diary, self._fails = info, diary, fails
        self._do("open")

    def _do(self, what):
        self._diary.append(f"{what} {self.info.id}")
        if self._diary[-1] in self._fails:
            raise RuntimeError(f"cannot {self._diary[-1]}")

    def memory(self):
        return MemoryInfo(self.info.memory, self.info.memory)

    def close(self):
        self._do("close")


@pytest.fixture
def fakes(monkeypatch):
    """The diary of the fake devices a pool opens, and where they fail."""
    diary, fails = [], set()
    pool_module = importlib.import_module("engine.devices.pool.pool")
    monkeypatch.setattr(pool_module, "_open", lambda info: FakeDevice(info, diary, fails))
    yield diary, fails
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("quintet-opencl:9")]


def infos(count):
    return [replace(INFO, index=90 + rank) for rank in range(count)]


@pytest.mark.parametrize(
    ("failing", "body", "raised", "order"),
    [
        (["open opencl:91"], None, "cannot open opencl:91", [92, 90]),
        (["close opencl:91", "close opencl:90"], None, "cannot close opencl:91", [92, 91, 90]),
        (["close opencl:90"], KeyError("body"), "body", [92, 91, 90]),
    ],
)
def test_a_device_that_fails_neither_stays_silent_nor_leaves_others_open(fakes, failing, body, raised, order):
    diary, fails = fakes
    fails.update(failing)

    def use():
        with DevicePool(infos(3)):
            if body:
                raise body

    with pytest.raises((RuntimeError, KeyError), match=raised):
        use()
    assert [word for word in diary if word.startswith("close")] == [f"close opencl:{number}" for number in order]


@pytest.mark.parametrize("kind", [ZeroDivisionError, DeviceError, KeyboardInterrupt])
def test_an_error_on_a_device_thread_reaches_the_caller_with_type_and_traceback(device, kind):
    def deep_inside(running):
        raise kind("what happened")

    def task(running):
        deep_inside(running)

    with pytest.raises(kind, match="what happened") as caught:
        device.submit(task).result()
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-2:] == ["task", "deep_inside"]
    assert device.submit(lambda running: running.get(running.put(np.arange(3))).tolist()).result() == [0, 1, 2]


@pytest.mark.parametrize(
    ("needed", "message"),
    [
        ({"opencl:90": 2_000_000_000, "opencl:91": 1}, None),
        ({"opencl:90": 5_100_000_000}, "the row needs 5.1 GB on opencl:90, which has 2.0 GB free; split it"),
        (
            {"opencl:91": 1_200_000_000, "opencl:91#2": 1_300_000_000},
            "the row needs 2.5 GB on opencl:91, which has 2.0 GB free; split it",
        ),
    ],
)
def test_a_plan_that_does_not_fit_is_refused_in_one_sentence(fakes, needed, message):
    first, second = infos(2)
    with DevicePool([first, second, second]) as pool:
        if message is None:
            pool.require_memory(needed, "the row", "split it")
            return
        with pytest.raises(OutOfDeviceMemory) as caught:
            pool.require_memory(needed, "the row", "split it")
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("cores", "gpus", "left"), [(64, 0, 64), (64, 1, 62), (64, 4, 59), (4, 1, 2), (2, 8, 1), (1, 1, 1)]
)
def test_a_cpu_leaves_cores_to_the_threads_of_gpus_beside_it(cores, gpus, left):
    def described(kind):
        return replace(INFO, capabilities=replace(INFO.capabilities, kind=kind, compute_units=cores))

    assert reserve_host_cores(described("cpu"), gpus).capabilities.compute_units == left
    assert reserve_host_cores(described("gpu"), gpus) == described("gpu")
