"""The README's Python blocks are executed in order, and the commands it lists exist."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.cli import COMMANDS
from tests.support.needs import opencl_device, package

TEXT = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", TEXT, re.DOTALL | re.MULTILINE)
"""The code of each block, and what the text block below it says that it prints."""


@pytest.mark.usefixtures("arviz")
def test_python_blocks_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exceptions = package("sklearn.exceptions")
    opencl_device()
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    names: dict[str, Any] = {"X": X, "y": (X[:, 0] + rng.normal(size=60) > 0).astype(int), "names": ["a", "b", "c"]}
    assert len(BLOCKS) >= 3
    for block, printed in BLOCKS:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as shown:
            warnings.simplefilter("ignore", exceptions.ConvergenceWarning)  # 60 rows are few
            exec(compile(block, "README.md", "exec"), names)
        assert not printed or shown.getvalue() == printed
    assert any(printed for _, printed in BLOCKS)


def test_every_command_it_names_exists() -> None:
    named = set(re.findall(r"\bquintet ([a-z]+)", TEXT.split("## Command line")[1]))
    assert named <= set(COMMANDS)
    assert set(COMMANDS) - named - {"tune", "replay"} == set()
