"""The package where ``engine``, ``kernels``, ``gui`` and ``samples`` are another's, which fail when imported."""

import importlib.util
import json

import pytest

from tests.support.needs import OPENCL, package

TAKEN = ("engine", "kernels", "gui", "samples")
FAIL = "raise RuntimeError('this one is not for Quintet')\n"

SCRIPT = """
import json, sys, warnings

import quintet as qt


def ones(bits):
    return int(sum(bits))


def main(cluster):
    found = {}
    problems = [qt.Knapsack([60, 100, 120], [10, 20, 30], capacity) for capacity in (50, 30)]
    with qt.Engine("opencl", ["opencl:0"]) as owner:
        found["solve"] = owner.solve(problems[0]).objective
        found["map"] = [entry.objective for entry in owner.map(problems)]
        short = dict(population=32, max_generations=1, restarts=1)
        warnings.simplefilter("ignore", qt.errors.QuintetWarning)
        found["processes"] = owner.solve(qt.BOA(ones, 4, each=True, processes=2), **short).objective
        snippet = qt.BOA.snippet("for (int i = 0; i < 4; ++i) fitness += BIT(i);", 4)
        found["isolated"] = owner.solve(snippet, **short).objective
    if cluster:
        with qt.Engine("opencl", ["opencl:0"], cluster="local:1") as owner:
            found["cluster"] = [entry.objective for entry in owner.map(problems)]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1] == "True")
"""

APP = """
import os, subprocess

from quintet.util.paths import load_app

load_app()
import gui.__main__

if lack := gui.__main__.missing():
    raise SystemExit("no Qt: " + lack)
import gui.window.main
import gui.app.desktop
from gui.runs.child import engine, program

print(subprocess.run([*program(), "--version"], check=True, capture_output=True, text=True).stdout.strip())
print(engine.__name__, gui.app.desktop._command())
"""


@pytest.fixture
def crowded(tmp_path):
    """A folder in which the names are taken, as folders."""
    for name in TAKEN:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(FAIL)
    return tmp_path


@OPENCL
@pytest.mark.full
def test_a_script_its_processes_and_workers_solve(installed, crowded):
    (crowded / "script.py").write_text(SCRIPT)
    has_cluster = importlib.util.find_spec("distributed") is not None
    done = installed.run(installed.python, "script.py", str(has_cluster), cwd=crowded)
    assert done.code == 0, done.err
    expected = {"solve": 220, "map": [220, 160], "processes": 4, "isolated": 4}
    assert json.loads(done.out) == (expected | {"cluster": [220, 160]} if has_cluster else expected)


@OPENCL
def test_the_module_and_the_command_solve(installed, tmp_path):
    for name in TAKEN:
        (tmp_path / f"{name}.py").write_text(FAIL)
    (tmp_path / "items.txt").write_text("3 50\n60 10\n100 20\n120 30\n")
    done = installed.run(installed.python, "-m", "quintet", "solve", "items.txt", "--json", cwd=tmp_path)
    assert '"objective": 220' in done.out, done.err
    assert installed.quintet("--version", cwd=tmp_path).out.startswith("quintet, version")


def test_the_app_and_its_children_start(installed, crowded):
    package("PySide6.QtWidgets")
    done = installed.execute(APP, crowded, QT_QPA_PLATFORM="offscreen")
    assert done.code == 0, done.err
    version, names = done.out.splitlines()
    assert version.startswith("quintet, version")
    assert names == f"quintet {installed.python} -P -m quintet gui"
