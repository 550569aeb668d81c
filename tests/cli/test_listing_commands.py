"""``quintet devices``, ``quintet solvers`` and the help: what they list; in this process."""

import gc
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest

from engine.benchmarks.start import command as starts
from engine.cli import COMMANDS, cli, command_line
from engine.cli.options import own_options
from engine.cli.samples import samples
from engine.devices import selection
from engine.devices.backends import backends
from engine.errors import KernelError
from engine.settings.config import Settings
from engine.solvers import discover
from tests.support import counting

pytestmark = [pytest.mark.smoke, pytest.mark.usefixtures("_quiet_surroundings")]


def command(name):
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def test_devices_lists_what_there_is(quintet):
    code, output, _ = quintet("devices")
    assert code == 0
    for word in ("opencl:0", "Abacus 3000", "Wood 1.0", "1.0 GB", "32 KiB", "fp64", "lapack"):
        assert word in output
    code, output, _ = quintet("devices", "--json")
    assert code == 0
    (device,) = json.loads(output)["devices"]
    assert (device["id"], device["capabilities"]["compute_units"]) == ("opencl:0", 2)


def test_devices_says_why_there_is_none(quintet, monkeypatch):
    def missing():
        from engine.errors import BackendUnavailable

        raise BackendUnavailable("CUDA is unavailable: the driver is on holiday")

    monkeypatch.setattr(selection, "backends", lambda: {"cuda": replace(backends()["cuda"], list_devices=missing)})
    code, output, _ = quintet("devices")
    assert code == 3
    assert output == "CUDA is unavailable: the driver is on holiday\n"
    assert json.loads(quintet("devices", "--json")[1])["devices"] == []
    code, _, errors = quintet("solve", "small.txt")
    assert (code, errors) == (3, "error: CUDA is unavailable: the driver is on holiday\n")


def test_explain_says_where_each_value_came_from(quintet, monkeypatch):
    Path("quintet.toml").write_text("seed = 5\n[counting]\nstep = 3\n")
    monkeypatch.setenv("QUINTET_TIME_LIMIT", "8")
    code, output, _ = quintet("devices", "--explain", "--backend", "opencl")
    assert code == 0
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line}
    assert rows["seed"] == ["5", "file", "quintet.toml"]
    assert rows["time_limit"] == ["8.0", "environment", "QUINTET_TIME_LIMIT"]
    assert rows["backend"] == ["opencl", "argument"]
    assert rows["checkpoint_interval"] == ["30.0", "default"]
    assert rows["counting.step"] == ["3", "file", "quintet.toml"]
    assert "a run uses opencl:0" in output


def test_devices_warm_starts_each_sample_once(quintet, monkeypatch):
    started = []

    def start(path, backend, devices):
        started.append((path.stem, backend, devices))
        if path.stem == "gibbs":
            raise KernelError("a/b", "opencl", "opencl:0", "does not compile")
        return {"used": 3, "compiling": 1.25}

    monkeypatch.setattr(starts, "start", start)
    code, output, errors = quintet("devices", "--warm", "--backend", "opencl")
    assert code == 1
    assert sorted(started) == [(name, "opencl", []) for name in sorted(path.stem for path in samples())]
    assert "boa: 3 kernels, built or loaded in 1.2 s\n" in output
    assert "gibbs" not in output
    assert "does not compile" in errors


@pytest.mark.full
def test_a_start_that_follows_another_finds_what_it_compiled():
    (path,) = (path for path in samples() if path.stem == "branch_and_bound")
    found = starts.measure(path, "opencl")
    assert found["empty"]["status"] == found["full"]["status"] == "optimal"
    assert found["full"]["compiling"] < found["empty"]["compiling"]
    assert 0 < found["full"]["first"] <= found["full"]["answer"] <= found["full"]["end"]


def test_solvers_lists_and_describes(quintet):
    code, output, _ = quintet("solvers")
    assert code == 0
    assert any(line.split()[:2] == ["counting", "Counting"] for line in output.splitlines())
    code, output, _ = quintet("solvers", "counting")
    assert code == 0
    for name, field in counting.Options.model_fields.items():
        line = next(line for line in output.splitlines() if line.startswith(name))
        assert str(field.description) in line
    assert "plain or fancy" in output
    assert "integer, >= 1" in output
    assert "Number reached" in output
    for arguments in (("solvers",), ("solvers", "branch_and_bound"), ("solvers", "branch_and_bound", "--json")):
        code, output, _ = quintet(*arguments)
        assert code == 0
        assert "QuadraticAssignment" in output
        assert "PermutationProblem" not in output  # a base class for users' own problems


def test_what_a_solver_declares_can_be_given_on_the_command_line():
    for solver in discover().values():
        taken = {name.lstrip("-").replace("-", "_") for name in own_options(command("solve"))}
        taken |= {"problem", "on_event", *Settings.model_fields}
        assert not taken & set(solver.option_names)
        assert solver.name not in {"problem", *Settings.model_fields}
        assert all(field.description for model in solver.option_models for field in model.model_fields.values())
        for problem in solver.problems:
            if (reader := problem.read_options) is not None:
                assert not (taken | set(solver.options_model(problem).model_fields)) & set(reader.model_fields)
                assert all(field.description for field in reader.model_fields.values())
        for generator in solver.generators.values():
            taken = {name.lstrip("-").replace("-", "_") for name in own_options(command("generate"))}
            assert not taken & set(generator.options.model_fields)
            assert all(field.description for field in generator.options.model_fields.values())


def test_tables_on_a_terminal_hold_the_same_words(quintet, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "Abacus" in quintet("devices", "--explain")[1]
    assert "How to count." in quintet("solvers", "counting")[1]
    assert str(counting.expected(100)) in quintet("solve", "small.txt")[1]


def test_help_and_version(quintet):
    code, output, _ = quintet()
    assert code == 0
    for name, (_, line) in COMMANDS.items():
        assert any(row.split()[:1] == [name] and row.endswith(line) for row in output.splitlines())
        code, text, _ = quintet(name, "--help")
        assert code == 0
        assert text.startswith(f"Usage: quintet {name}")
    assert quintet("--version")[1].startswith("quintet, version ")


def test_solvers_are_listed_as_json(quintet):
    code, output, _ = quintet("solvers", "--json")
    assert code == 0
    listed = {solver["name"]: solver for solver in json.loads(output)["solvers"]}
    assert set(listed) == set(discover())
    assert listed["counting"]["options"]["Counting"]["properties"]["step"]["minimum"] == 1
    assert listed["knapsack"]["read_options"]["Knapsack"]["properties"]["instance"]["default"] == 1
    assert "which instance of a file" in quintet("solvers", "knapsack")[1]
    (one,) = json.loads(quintet("solvers", "counting", "--json")[1])["solvers"]
    assert one == listed["counting"]


COLLECTING = """
import atexit, gc, sys
from engine.cli import main
sys.argv[1:] = ["solvers"]
atexit.register(lambda: print(gc.isenabled(), file=sys.stderr))
main()
"""


def test_garbage_is_collected_while_a_command_works_and_as_before_in_another_program(capsys):
    child = subprocess.run([sys.executable, "-c", COLLECTING], capture_output=True, text=True, timeout=60, check=True)
    assert child.stderr == "True\n"
    was, frozen = gc.isenabled(), gc.get_freeze_count()
    gc.disable()
    try:
        assert command_line(["solvers"]) == 0
        assert not gc.isenabled()
        assert gc.get_freeze_count() == frozen
    finally:
        if was:
            gc.enable()
