"""The package where ``engine``, ``kernels``, ``gui`` and ``samples`` are another's, which fail when imported."""

from tests.support.needs import OPENCL, package

TAKEN = ("engine", "kernels", "gui", "samples")
FAIL = "raise RuntimeError('this one is not for Quintet')\n"


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


@OPENCL
def test_the_module_and_the_command_solve(installed, tmp_path):
    for name in TAKEN:
        (tmp_path / f"{name}.py").write_text(FAIL)
    (tmp_path / "items.txt").write_text("3 50\n60 10\n100 20\n120 30\n")
    done = installed.run(installed.python, "-m", "quintet", "solve", "items.txt", "--json", cwd=tmp_path)
    assert '"objective": 220' in done.out, done.err
    assert installed.quintet("--version", cwd=tmp_path).out.startswith("quintet, version")


def test_the_app_and_its_children_start(installed, tmp_path):
    package("PySide6.QtWidgets")
    for name in TAKEN:  # as folders
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(FAIL)
    done = installed.execute(APP, tmp_path, QT_QPA_PLATFORM="offscreen")
    assert done.code == 0, done.err
    version, names = done.out.splitlines()
    assert version.startswith("quintet, version")
    assert names == f"quintet {installed.python} -P -m quintet gui"
