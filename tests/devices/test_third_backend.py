"""A backend is one module and one prelude: a made-up one solves every solver's smallest sample."""

import shutil
from pathlib import Path

import pytest

import engine
from engine import devices
from engine.devices.backends import backends
from engine.devices.kernels import templates
from engine.runs.folder.run_folder import read_problem
from engine.settings.config import resolve, solver_options
from engine.solvers import discover
from tests.support import third_backend
from tests.support.needs import opencl_device

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture
def abacus(tmp_path, monkeypatch):
    """The backend in the package's path, with the OpenCL prelude under its own name."""
    opencl_device()
    (tmp_path / "abacus.py").write_text(Path(third_backend.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    shutil.copy(templates._TEMPLATES.root / "common" / "prelude.opencl.mako", tmp_path / "prelude.mako")
    monkeypatch.setattr(devices, "__path__", [*devices.__path__, str(tmp_path)])
    backends.cache_clear()
    yield
    backends.cache_clear()


def test_it_is_found_and_chosen_by_its_name(abacus):
    assert list(backends()) == ["cuda", "opencl", "abacus"]
    assert [info.id for info in devices.select("abacus")] == ["abacus:0"]
    assert resolve({"backend": "abacus"}).settings.backend == "abacus"


@pytest.mark.parametrize(  # the samples of the others have more kernels to compile
    "name", [pytest.param(name, marks=[pytest.mark.full] * (name != "branch_and_bound")) for name in sorted(discover())]
)
def test_every_solver_runs_on_it(abacus, name):
    resolved = resolve(file=SAMPLES / f"{name}.toml")
    assert resolved.problem is not None
    problem = read_problem(resolved.problem)
    options = solver_options(discover()[name], resolved, {}, type(problem)).model_dump(exclude_unset=True)
    result = engine.solve(problem, backend="abacus", devices=["abacus:0"], **options)
    assert result.backend == "abacus"
    assert str(result.status) in ("optimal", "feasible", "complete")
