"""An OpenCL device for what is about OpenCL alone."""

import pytest

from engine.devices import DevicePool
from tests.support.needs import opencl_device


@pytest.fixture(scope="session")
def opencl():
    """The first OpenCL device, running."""
    with DevicePool([opencl_device()]) as pool:
        yield pool.members[0]
