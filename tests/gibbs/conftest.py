from types import SimpleNamespace

import pytest

from engine.devices import available


@pytest.fixture(scope="module")
def first_device() -> SimpleNamespace:
    """One device for the mutants, whose kernels are compiled for each: they test the test, not the device."""
    found = [info for info in available()[0] if info.capabilities.fp64]
    if not found:
        pytest.skip("this machine has no device with float64")
    return SimpleNamespace(info=found[0])
