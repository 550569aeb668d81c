"""The table of samplers of others has a row for each, and what is not installed is said to be."""

import importlib.util

import pytest
from rich.console import Console

from engine.benchmarks.gibbs.mixing import mixing_problems
from engine.benchmarks.gibbs.peers import SAMPLERS, compare_peers


@pytest.mark.full
def test_peers_that_are_not_installed_have_a_row_that_says_so(device):
    console = Console(record=True, width=120)
    (problem,) = mixing_problems(["tiny"])
    assert compare_peers([device.info.id], problem, console, seconds=100.0)
    rows = [line for line in console.export_text().split("\n") if line.startswith("│")]
    assert [row.split("│")[1].strip() for row in rows] == list(SAMPLERS)
    assert "not installed" not in rows[0]
    for row, name in zip(rows[1:], list(SAMPLERS)[1:], strict=True):
        missing = any(importlib.util.find_spec(package) is None for package in (name, "jax"))
        assert ("not installed" in row) == missing
