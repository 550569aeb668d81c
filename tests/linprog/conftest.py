"""An engine on the device; marks of SciPy's own tests, which test_scipy_suite.py runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import engine
from engine.devices import Member


def pytest_configure(config: pytest.Config) -> None:
    for mark in ("fail_slow", "xfail_on_32bit", "xslow"):  # of SciPy's tests
        config.addinivalue_line("markers", f"{mark}: SciPy's")


@pytest.fixture(scope="module")
def owner(device: Member) -> Iterator[engine.Engine]:
    with engine.Engine(devices=[device.info.id]) as opened:
        yield opened
