"""What some tests need of the machine; a test that is left out says what is missing."""

import os
import sys
import warnings

import pytest

from engine.devices import available

_OPENCL = available("opencl")[0]
_CPUS = [info for info in _OPENCL if info.capabilities.kind == "cpu"]

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals, pipes, links and shell scripts of POSIX are missing")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="this system is not Linux")
DEVICE = pytest.mark.skipif(not available()[0], reason="this machine has no device")
CPU = pytest.mark.skipif(not _CPUS, reason="this machine has no OpenCL device that is a CPU")
OPENCL = pytest.mark.skipif(not _OPENCL, reason="this machine has no OpenCL device")


def several_devices(least=2, backend="auto", kind=None):
    """The devices of the machine, of a backend and a kind if named; with fewer the test is left out."""
    found = [info for info in available(backend)[0] if kind in (None, info.capabilities.kind)]
    if len(found) < least:
        kinds = f"backend {backend}, kind {kind or 'any'}"
        pytest.skip(f"{least} devices are needed ({kinds}); this machine has {len(found)}")
    return found


def first_device():
    return several_devices(1)[0]


def opencl_device(kind=None):
    """The first OpenCL device, or the first of this kind; without one the test is left out."""
    return several_devices(1, "opencl", kind)[0]


def package(name):
    """An optional package; without it, or a part of it, the test is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, exc_type=ImportError)


class Later:
    """An optional package that is imported by the first test that uses it, not by every process that collects tests."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(package(self._name), attribute)
