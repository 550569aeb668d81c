"""What CONTRIBUTING.md says of adding a part is followed: its blocks are put in place, and used."""

import re
import sys
from pathlib import Path

import pytest

import engine
from engine import cli, devices, formats, solvers
from engine.cli import samples
from engine.devices.backends import backends
from engine.devices.kernels import templates
from tests.support.needs import opencl_device

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = {
    title: text
    for title, text in re.findall(r"^## Adding an? ([\w ]+)\n(.*?)(?=^## )", TEXT, re.DOTALL | re.MULTILINE)
    if title != "dashboard"
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def _parts(tmp_path, monkeypatch):
    """The files that the blocks name, beside those of the package."""
    opencl_device()
    for _, code in BLOCK.findall("".join(SECTIONS.values())):
        if named := re.match(r"(?:#|//) ((?:engine|kernels)/\S+)\n", code):
            path = tmp_path / named[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code, encoding="utf-8")
    for room in (devices, formats, solvers):
        folder = tmp_path / "engine" / room.__name__.rpartition(".")[2]
        monkeypatch.setattr(room, "__path__", [*room.__path__, str(folder)])
    root = templates._TEMPLATES.root
    for folder in root.iterdir():
        (tmp_path / "kernels" / folder.name).symlink_to(folder)
    monkeypatch.setattr(templates._TEMPLATES, "root", tmp_path / "kernels")
    backends.cache_clear()
    solvers.discover.cache_clear()
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if "peak" in name or "abacus" in name:
            del sys.modules[name]
    backends.cache_clear()
    solvers.discover.cache_clear()


def test_each_way_of_adding_a_part_is_short():
    assert sorted(SECTIONS) == ["backend", "executor", "kernel", "problem class", "reader", "solver"]
    for title, text in SECTIONS.items():
        assert len(text.splitlines()) < 40, title


@pytest.mark.usefixtures("_parts")
def test_a_problem_a_reader_a_solver_and_a_backend_are_found_and_used(tmp_path, capfd):
    file = tmp_path / "three.txt"
    file.write_text("peak 3\n5 9 -2\n")
    assert cli.command_line(["solve", str(file), "--block", "32", "--run-folder", str(tmp_path / "r")]) == 0
    assert re.search(r"objective\s+9\b", capfd.readouterr().out)
    problem = engine.RunFolder.open(tmp_path / "r").problem()
    result = engine.solve(problem, devices=["abacus:0"])
    assert (result.objective, result.solution.tolist(), result.backend) == (9, [1], "abacus")
    file.write_text("peak 3\n5 x\n")
    with pytest.raises(engine.ProblemError, match=r"number \(0, 1\) must be an integer; got 'x' .*three.txt, line 2"):
        type(problem).read(file)


@pytest.mark.usefixtures("_parts")
@pytest.mark.parametrize(  # the samples of the others have more kernels to compile
    "name",
    [
        pytest.param(name, marks=[pytest.mark.full] * (name != "branch_and_bound"))
        for name in sorted(solvers.discover())
    ],
)
def test_every_solver_runs_on_another_backend(name):
    file = ROOT / "samples" / f"{name}.toml"
    with engine.Engine("abacus", ["abacus:0"], config_file=file) as owner:
        result = owner.solve(samples.load(file)[0])
    assert result.backend == "abacus"
    assert str(result.status) in ("optimal", "feasible", "complete")


def test_an_executor_works_the_runs_of_an_engine():
    opencl_device()
    (code,) = [code for _, code in BLOCK.findall(SECTIONS["executor"])]
    exec(compile(code, "CONTRIBUTING.md", "exec"), {})
