"""The bundled app: its entry takes the arguments of a Python interpreter, and the recipe makes a working folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from tests.support.needs import package
from tests.support.patience import PATIENCE

ROOT = Path(engine.__file__).resolve().parent.parent
ENTRY = ROOT / "packaging" / "quintet_app.py"


def run(*words, cwd, timeout=5 * PATIENCE):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_entry_runs_modules_files_and_code_as_an_interpreter_does(tmp_path):
    (tmp_path / "words.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    entry = (sys.executable, str(ENTRY))
    assert run(*entry, "-m", "engine", "--version", cwd=tmp_path).startswith("quintet, version")
    assert run(*entry, "-P", "words.py", "a", "-b", cwd=tmp_path) == "__main__ ['a', '-b']\n"
    assert run(*entry, "-P", "-c", "import sys; print(sys.argv)", "x", cwd=tmp_path) == "['-c', 'x']\n"
    assert run(*entry, "--help", cwd=tmp_path).startswith("Usage: quintet gui")


@pytest.mark.full
def test_the_recipe_makes_an_app_that_solves(tmp_path):
    package("PyInstaller")
    recipe = str(ROOT / "packaging" / "quintet.spec")
    run(sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR", recipe, cwd=tmp_path, timeout=1800)
    app = str(tmp_path / "dist" / "quintet" / "quintet")
    assert "opencl:0" in run(app, "-m", "engine", "devices", cwd=tmp_path)
    (tmp_path / "items.txt").write_text("3 50\n60 10\n100 20\n120 30\n")
    assert '"objective": 220' in run(app, "-m", "engine", "solve", "items.txt", "--json", cwd=tmp_path)
