"""An OpenCL device for what is about OpenCL alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.devices import DevicePool, Member
from tests.support.needs import opencl_device


@pytest.fixture(scope="session")
def opencl() -> Iterator[Member]:
    """The first OpenCL device, running."""
    with DevicePool([opencl_device()]) as pool:
        yield pool.members[0]
