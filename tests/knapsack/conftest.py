"""An engine per set of devices, kept for the tests of a file: contexts and compiled kernels are reused."""

import pytest

from tests.support.engines import engine_of


@pytest.fixture(scope="module")
def one_device(device):
    return engine_of(device)


@pytest.fixture(scope="module")
def three_devices(device):
    """The same device three times: three contexts, or three queues, that exchange what they lack."""
    return engine_of(device, 3)
