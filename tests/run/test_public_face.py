"""``import engine``: quick, light, and complete."""

import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.adapters import PUBLIC
from engine.errors import OptionError
from engine.solvers import public_names
from tests.support import counting
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parent.parent.parent
SCREEN = "PySide6 rich click"
BACKENDS = "pyopencl pycuda cuda"
LIGHT = {
    "import engine": f"numpy pydantic scipy {SCREEN} {BACKENDS}",
    "import engine; dir(engine)": f"PySide6 {BACKENDS}",
    "from engine.solvers import discover; discover()": (
        "pyopencl pycuda mako scipy.special scipy.linalg rich click highspy sklearn engine.devices.device engine.runs"
    ),
    "from engine import cli; cli.command_line(['--help'])": "numpy pydantic rich engine.solvers engine.settings.config",
    "from engine import cli; cli.command_line(['solve', 'samples/knapsack/unicauca.txt'])": (
        "rich.console scipy highspy dask distributed pandas sklearn gui engine.generators"
    ),
}
"""What a process does, and packages and modules that it has not imported then."""


@pytest.mark.parametrize("code", LIGHT)
def test_what_is_not_needed_is_not_imported(code):
    program = f"{code}\nimport sys\nprint('imported:', *{set(LIGHT[code].split())} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, timeout=PATIENCE, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "imported:"


def test_the_pinned_names_are_there():
    for name in engine.__all__:
        assert hasattr(engine, name)
        assert name in dir(engine)
    assert engine.available_devices() == [counting.ABACUS]
    assert "counting" in engine.available_solvers()
    for name, kind in vars(engine.errors).items():
        if isinstance(kind, type) and kind.__module__ == "engine.errors" and kind is not engine.errors.PeerFailed:
            assert getattr(engine, name) is kind


def test_dir_lists_public_names_only():
    listed = {name for name in dir(engine) if not name.startswith("__")}
    usable = {name for name, found in PUBLIC.items() if found.is_usable()}
    assert listed == {*engine.__all__, *public_names(), *usable} - {"__version__"}


def test_an_argument_of_runs_that_is_misspelled_is_recognised():
    for name, meant in (("time_limt", "time_limit"), ("on_events", "on_event"), ("strateg", "strategy")):
        with pytest.raises(OptionError, match=rf"'{name}' of branch_and_bound; did you mean '{meant}'"):
            engine.solve(engine.Queens(6), **{name: 3})


def test_a_path_in_the_place_of_a_problem_is_refused_with_what_reads_it():
    with pytest.raises(engine.InputError, match=r"must be read first, as in engine\.Knapsack\.read\('items\.txt'\)"):
        engine.solve("items.txt")
