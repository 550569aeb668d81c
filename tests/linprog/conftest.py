"""Marks of SciPy's own tests, which test_scipy_suite.py runs."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    for mark in ("fail_slow", "xfail_on_32bit", "xslow"):  # of SciPy's tests
        config.addinivalue_line("markers", f"{mark}: SciPy's")
