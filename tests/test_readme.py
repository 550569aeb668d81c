"""The README's Python blocks are executed in order, and the commands it lists exist."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.cli import COMMANDS
from tests.support.needs import opencl_device, package

TEXT = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.usefixtures("arviz")
def test_python_blocks_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exceptions = package("sklearn.exceptions")
    opencl_device()
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    names: dict[str, Any] = {"X": X, "y": (X[:, 0] + rng.normal(size=60) > 0).astype(int), "names": ["a", "b", "c"]}
    assert len(BLOCKS) >= 4
    for block in BLOCKS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", exceptions.ConvergenceWarning)  # 60 rows are few
            exec(compile(block, "README.md", "exec"), names)
        if "status" in block:
            assert names["result"].solution.tolist() == [1, 2]
            assert names["result"].objective == 220
    assert names["result"].fun == pytest.approx(-22)


def test_every_command_it_names_exists() -> None:
    named = set(re.findall(r"\bquintet ([a-z]+)", TEXT.split("## Command line")[1]))
    assert named <= set(COMMANDS)
    assert set(COMMANDS) - named - {"tune", "replay"} == set()
