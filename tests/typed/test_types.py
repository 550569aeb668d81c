"""A user's script is checked as mypy and pyright see it: good lines pass, and each bad line is an error."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import engine

SCRIPT = Path(__file__).parent / "user_script.py"
ROOT = Path(engine.__file__).parent.parent
MARKED = {number for number, line in enumerate(SCRIPT.read_text().splitlines(), 1) if line.endswith("# error")}


def run(*words: str, folder: Path, path: str) -> str:
    environment = {**os.environ, path: os.pathsep.join([str(ROOT), os.environ.get(path, "")]).rstrip(os.pathsep)}
    done = subprocess.run(
        [sys.executable, "-m", *words, str(SCRIPT)], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_sees_the_types_of_the_public_names(tmp_path: Path) -> None:
    output = run("mypy", "--strict", "--follow-imports=silent", folder=tmp_path, path="MYPYPATH")
    found = {int(line) for line in re.findall(r"user_script\.py:(\d+): error", output)}
    assert found == MARKED, output


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_sees_the_types_of_the_public_names(tmp_path: Path) -> None:
    output = run("pyright", "--outputjson", "--pythonpath", sys.executable, folder=tmp_path, path="PYTHONPATH")
    diagnostics = json.loads(output)["generalDiagnostics"]
    assert {entry["severity"] for entry in diagnostics} == {"error"}, output
    found = {entry["range"]["start"]["line"] + 1 for entry in diagnostics}
    assert found == MARKED, output
