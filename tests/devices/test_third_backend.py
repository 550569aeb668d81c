"""A backend is one module and one prelude: that of CONTRIBUTING.md solves every solver's smallest sample."""

import re

import pytest

import engine
from engine import devices
from engine.devices.backends import backends
from engine.runs.folder.run_folder import read_problem
from engine.settings.config import resolve, solver_options
from engine.solvers import discover
from tests.support.environment import ROOT
from tests.support.needs import opencl_device

BLOCK = re.compile(r"^```python\n(# engine/devices/abacus\.py\n.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def abacus(tmp_path, monkeypatch):
    """The backend in the package's path: OpenCL under another name."""
    opencl_device()
    (code,) = BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    (tmp_path / "abacus.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(devices, "__path__", [*devices.__path__, str(tmp_path)])
    backends.cache_clear()
    yield
    backends.cache_clear()


@pytest.mark.parametrize(  # the samples of the others have more kernels to compile
    "name", [pytest.param(name, marks=[pytest.mark.full] * (name != "branch_and_bound")) for name in sorted(discover())]
)
def test_every_solver_runs_on_it(abacus, name):
    resolved = resolve(file=ROOT / "samples" / f"{name}.toml")
    assert resolved.problem is not None
    problem = read_problem(resolved.problem)
    options = solver_options(discover()[name], resolved, {}, type(problem)).model_dump(exclude_unset=True)
    result = engine.solve(problem, backend="abacus", devices=["abacus:0"], **options)
    assert result.backend == "abacus"
    assert str(result.status) in ("optimal", "feasible", "complete")
