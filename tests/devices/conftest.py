"""An OpenCL device for what is about OpenCL alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.devices import DevicePool, Member, available


@pytest.fixture(scope="session")
def opencl() -> Iterator[Member]:
    """The first OpenCL device, running."""
    found, missing = available("opencl")
    if not found:
        pytest.skip(missing["opencl"])
    with DevicePool(found[:1]) as pool:
        yield pool.members[0]
