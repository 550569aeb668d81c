"""An engine per set of devices, kept for the session: contexts and compiled kernels are reused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine import Engine
from engine.devices import Member


@pytest.fixture(scope="session")
def one_device(device: Member) -> Iterator[Engine]:
    with Engine(devices=[device.info.id]) as engine:
        yield engine


@pytest.fixture(scope="session")
def three_devices(device: Member) -> Iterator[Engine]:
    """The same device three times: three contexts, or three queues, that exchange what they lack."""
    with Engine(devices=[device.info.id] * 3) as engine:
        yield engine
