"""Commands that list, and those that demonstrate, generate and measure; in this process."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest

from engine.benchmarks.start import command as starts
from engine.cli import COMMANDS, cli
from engine.cli.options import own_options
from engine.cli.samples import samples
from engine.devices import selection
from engine.devices.backends import backends
from engine.errors import BackendUnavailable, KernelError
from engine.settings.config import Settings
from engine.solvers import discover
from tests.support import counting

pytestmark = pytest.mark.smoke


def command(name):
    return cli.get_command(click.Context(cli), name)


def test_devices_lists_what_there_is(quintet, monkeypatch):
    code, output, _ = quintet("devices")
    assert code == 0
    assert [
        word for word in ("opencl:0", "Abacus 3000", "Wood 1.0", "1.0 GB", "32 KiB", "fp64") if word not in output
    ] == []
    (device,) = json.loads(quintet("devices", "--json")[1])["devices"]
    assert (device["id"], device["capabilities"]["compute_units"]) == ("opencl:0", 2)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "Abacus" in quintet("devices", "--explain")[1]


def test_devices_says_why_there_is_none(quintet, monkeypatch):
    def missing():
        raise BackendUnavailable("CUDA is unavailable: the driver is on holiday")

    monkeypatch.setattr(selection, "backends", lambda: {"cuda": replace(backends()["cuda"], list_devices=missing)})
    why = "CUDA is unavailable: the driver is on holiday\n"
    assert quintet("devices")[:2] == (3, why)
    assert json.loads(quintet("devices", "--json")[1])["devices"] == []
    assert quintet("solve", "small.txt") == (3, "", f"error: {why}")


def test_explain_says_where_each_value_came_from(quintet, monkeypatch):
    Path("quintet.toml").write_text("seed = 5\n[counting]\nstep = 3\n")
    monkeypatch.setenv("QUINTET_TIME_LIMIT", "8")
    code, output, _ = quintet("devices", "--explain", "--backend", "opencl")
    assert code == 0
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in output.splitlines() if line}
    expected = {
        "seed": "5 file quintet.toml",
        "time_limit": "8.0 environment QUINTET_TIME_LIMIT",
        "backend": "opencl argument",
        "checkpoint_interval": "30.0 default",
        "counting.step": "3 file quintet.toml",
    }
    assert rows.items() >= expected.items()
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
    assert ("gibbs" in output, "does not compile" in errors) == (False, True)


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
    assert ("QuadraticAssignment" in output, "PermutationProblem" in output) == (True, False)  # that is a base class
    code, output, _ = quintet("solvers", "counting")
    lines = {line.partition(" ")[0]: line for line in output.splitlines()}
    assert all(field.description in lines[name] for name, field in counting.Options.model_fields.items())
    assert [word for word in ("plain or fancy", "integer, >= 1", "Number reached") if word not in output] == []
    listed = {solver["name"]: solver for solver in json.loads(quintet("solvers", "--json")[1])["solvers"]}
    assert set(listed) == set(discover())
    assert listed["counting"]["options"]["Counting"]["properties"]["step"]["minimum"] == 1
    assert listed["knapsack"]["read_options"]["Knapsack"]["properties"]["instance"]["default"] == 1
    assert json.loads(quintet("solvers", "counting", "--json")[1])["solvers"] == [listed["counting"]]


def test_what_a_solver_declares_can_be_given_on_the_command_line():
    for solver in discover().values():
        taken = {name.lstrip("-").replace("-", "_") for name in own_options(command("solve"))}
        taken |= {"problem", "on_event", *Settings.model_fields}
        assert not taken & {solver.name, *solver.option_names}
        models = list(solver.option_models)
        for problem in solver.problems:
            if (reader := problem.read_options) is not None:
                assert not (taken | set(solver.options_model(problem).model_fields)) & set(reader.model_fields)
                models.append(reader)
        for generator in solver.generators.values():
            taken = {name.lstrip("-").replace("-", "_") for name in own_options(command("generate"))}
            assert not taken & set(generator.options.model_fields)
            models.append(generator.options)
        assert all(field.description for model in models for field in model.model_fields.values())


def test_help_and_version(quintet):
    code, output, _ = quintet()
    assert code == 0
    for name, (_, line) in COMMANDS.items():
        assert any(row.split()[:1] == [name] and row.endswith(line) for row in output.splitlines())
        code, text, _ = quintet(name, "--help")
        assert code == 0
        assert text.startswith(f"Usage: quintet {name}")
    assert quintet("--version")[1].startswith("quintet, version ")


@pytest.fixture
def sample_folder(tmp_path, monkeypatch):
    folder = tmp_path / "engine" / "_samples"
    folder.mkdir(parents=True)
    monkeypatch.setattr("engine.cli.samples.folder_of", lambda part: folder)
    return folder


def add_sample(folder, name, content, settings=""):
    (folder / f"{name}.txt").write_text(content)
    (folder / f"{name}.toml").write_text(f'problem = "{name}.txt"\n{settings}')


@pytest.mark.parametrize("cores", [1, 2])
def test_demo_solves_every_sample_and_checks_the_answers(quintet, sample_folder, monkeypatch, cores):
    monkeypatch.setattr("engine.cli.instances.host_cores", lambda: cores)
    add_sample(sample_folder, "one", f"count 50 {counting.expected(50, seed=2)}", "seed = 2")
    add_sample(sample_folder, "two", "count 30", "[counting]\nstep = 1\n")
    code, output, errors = quintet("demo", "--backend", "opencl")
    assert code == 0
    optimum = str(counting.expected(50, seed=2))
    one, two = (line.split() for line in output.splitlines()[1:])
    assert (one[:5], one[-1]) == (["one", "one", "optimal", optimum, optimum], "right")
    assert (two[:5], two[-1]) == (["two", "two", "optimal", str(counting.expected(30)), "-"], "answered")
    assert "one: counting to 50" in errors


@pytest.mark.parametrize(
    ("content", "settings", "words"),
    [
        ("count 50 51", "", "optimal"),
        ("count 5000", "time_limit = 0.05", "time limit"),
        ("count five", "", "a count must be a whole number"),
        ("count 50", '[counting]\ntrouble = "device"', "the abacus broke"),
        ("count 50", '[counting]\ntrouble = "bug"', "KeyError: 'bead'"),
        ("count 50", "[counting]\nstile = 1", "unknown option 'stile' of counting"),
    ],
)
def test_demo_fails_for_an_answer_that_is_wrong_or_missing(content, settings, words, quintet, sample_folder):
    add_sample(sample_folder, "bad", content, settings)
    add_sample(sample_folder, "good", "count 10")
    code, output, _ = quintet("demo")
    assert code == 1
    bad, good = output.splitlines()[1:]
    assert words in bad
    assert not bad.endswith("right")
    assert good.endswith("answered")


def test_generate_writes_an_instance_that_solve_takes(quintet, monkeypatch):
    assert quintet("generate", "counting", "--target", "30") == (0, "count 30\n", "")
    assert quintet("generate", "--target=30", "--no-loud", "counting", "--output", "-")[1] == "count 30\n"
    assert quintet("generate", "counting", "--output", "made.txt") == (0, "", "counting to 20 -> made.txt\n")
    assert quintet("solve", "made.txt")[0] == 0
    assert quintet("generate", "counting", "--output", "no/made.txt")[0] == 2
    assert "How far to count." in quintet("generate", "counting", "--help")[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    needed = "error: a file is needed for the instance: --output FILE; or --output - to see it here\n"
    assert quintet("generate", "counting") == (2, "", needed)
