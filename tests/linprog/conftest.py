"""An engine on the device; marks of SciPy's own tests, which test_scipy_suite.py runs."""

import pytest

import engine


def pytest_configure(config):
    for mark in ("fail_slow", "xfail_on_32bit", "xslow"):  # of SciPy's tests
        config.addinivalue_line("markers", f"{mark}: SciPy's")


@pytest.fixture(scope="module")
def owner(device):
    with engine.Engine(devices=[device.info.id]) as opened:
        yield opened
