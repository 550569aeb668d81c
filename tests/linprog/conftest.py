"""The slow programs of Netlib run when they are asked for: ``pytest -m slow tests/linprog``."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    for mark in ("fail_slow", "xfail_on_32bit", "xslow"):  # of SciPy's tests
        config.addinivalue_line("markers", f"{mark}: SciPy's")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slow" in (config.option.markexpr or ""):
        return
    for item in items:
        if "linprog" in item.path.parts and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run with -m slow"))
