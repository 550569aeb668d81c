"""A user's script, with the wheel installed, as mypy and pyright see it: good lines pass, each bad line is an error."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.installation import Installation
from tests.support.needs import package
from tools.option_types import FILE, text

SCRIPT = Path(__file__).parent / "user_script.py"
MARKED = {number for number, line in enumerate(SCRIPT.read_text().splitlines(), 1) if line.endswith("# error")}


def run(*words: str | Path, folder: Path) -> str:
    shutil.copy(SCRIPT, folder)  # away from the packages of the source tree
    command = [sys.executable, "-m", *map(str, words), SCRIPT.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_the_option_types_are_those_of_the_models() -> None:
    assert FILE.read_text("utf-8") == text(), "python -m tools.option_types makes the file anew"


@pytest.mark.full  # as .ci/run has it beside mypy
def test_mypy_sees_the_types_of_the_public_names(installed: Installation, tmp_path: Path) -> None:
    package("mypy")
    output = run("mypy", "--strict", "--python-executable", installed.python, folder=tmp_path)
    found = {int(line) for line in re.findall(r"user_script\.py:(\d+): error", output)}
    assert found == MARKED, output
    assert 'Unexpected keyword argument "time_limt" for "solve"; did you mean "time_limit"?' in output


@pytest.mark.full
def test_pyright_sees_the_types_of_the_public_names(installed: Installation, tmp_path: Path) -> None:
    package("pyright")
    output = run("pyright", "--outputjson", "--pythonpath", installed.python, folder=tmp_path)
    diagnostics = json.loads(output)["generalDiagnostics"]
    assert {entry["severity"] for entry in diagnostics} == {"error"}, output
    found = {entry["range"]["start"]["line"] + 1 for entry in diagnostics}
    assert found == MARKED, output
