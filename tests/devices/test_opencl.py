"""What is special about OpenCL: its names, its order of devices, and how it can be missing."""

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from engine.devices import DevicePool, available, select
from engine.devices.opencl import device as backend
from engine.devices.opencl import listing as listing
from engine.errors import BackendUnavailable
from engine.numerics.scan import Scanner


def package_with(*platforms):
    """As much of PyOpenCL as listing devices uses; without a platform no driver is registered."""

    def get_platforms():
        if not platforms:
            raise RuntimeError("PLATFORM_NOT_FOUND_KHR")
        return [SimpleNamespace(name=name, get_devices=list) for name in platforms]

    return lambda: SimpleNamespace(Error=RuntimeError, get_platforms=get_platforms)


def test_a_missing_package_a_missing_driver_and_a_missing_device_are_distinguished(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyopencl", None)
        with pytest.raises(BackendUnavailable, match="the package pyopencl is not installed"):
            select("opencl")
    monkeypatch.setattr(listing, "pyopencl", package_with())
    with pytest.raises(BackendUnavailable, match="no OpenCL driver is registered"):
        select("opencl")
    monkeypatch.setattr(listing, "pyopencl", package_with("driver0", "driver1"))
    with pytest.raises(BackendUnavailable, match=r"the installed drivers \(driver0, driver1\) see no device"):
        select("opencl")
    assert available("opencl")[0] == []


def test_a_cpu_described_with_fewer_cores_is_opened_as_a_part_of_it(opencl):
    whole = opencl.info
    if whole.capabilities.kind != "cpu" or whole.capabilities.compute_units < 2:
        pytest.skip("needs a CPU of several cores")
    gpu = dataclasses.replace(whole, capabilities=dataclasses.replace(whole.capabilities, kind="gpu"))
    values = np.arange(1000, dtype=np.int32)

    def work(running):
        assert isinstance(running, backend.OpenCLDevice)
        units = running._part.max_compute_units
        with Scanner(running) as scanner:
            source, target = running.put(values), running.empty(1000, np.int32)
            scanner.exclusive(source, target)
            return units, running.get(target), running.get(source)

    with DevicePool([whole, gpu]) as pool:
        cpu = pool.members[0]
        assert cpu.info.capabilities.compute_units < whole.capabilities.compute_units
        units, sums, kept = cpu.submit(work).result()
    assert units == cpu.info.capabilities.compute_units
    assert np.array_equal(sums, np.cumsum(values) - values)
    assert np.array_equal(kept, values)
