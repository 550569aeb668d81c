"""What each command prints, takes and returns; in this process."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import counting
import numpy as np
import pytest

import engine
from engine import events
from engine.cli import COMMANDS, cli, reading, running
from engine.cli_options import own_options
from engine.config import Settings
from engine.devices import selection
from engine.devices.backends import backends
from engine.errors import OptionError, ProblemError
from engine.folder import RunFolder
from engine.solvers import discover

pytestmark = pytest.mark.usefixtures("_quiet_surroundings")


def values(output: str) -> dict[str, str]:
    """The names and values of a result, printed plain."""
    return dict(line.split("  ", 1)[0:2] for line in output.splitlines() if "  " in line)


def value(output: str, name: str) -> str:
    return values(output)[name].strip()


def command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


# --- solve -----------------------------------------------------------------------------------------------------------


def test_solve_prints_a_plain_result_where_there_is_no_terminal(quintet: Any) -> None:
    code, output, errors = quintet("solve", "small.txt", "--run-folder", "r")
    assert (code, errors) == (0, "")
    assert value(output, "status") == "optimal"
    assert value(output, "objective") == value(output, "stated optimum") == str(counting.expected(100))
    assert value(output, "device") == "opencl:0 (opencl)"
    assert value(output, "counted") == "100"
    assert value(output, "saved") == "r"
    assert RunFolder.open("r").result() is not None


def test_the_problem_of_a_run_folder_is_solved_anew_without_its_file(quintet: Any) -> None:
    assert quintet("solve", "small.txt", "--run-folder", "r")[0] == 0
    Path("small.txt").unlink()
    code, output, _ = quintet("solve", "r", "--run-folder", "again")
    assert (code, value(output, "objective")) == (0, str(counting.expected(100)))
    assert RunFolder.open("again").description["problem"]["name"] == RunFolder.open("r").description["problem"]["name"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--style", "fancy"], {"style": "fancy"}),
        (["--style=fancy"], {"style": "fancy"}),
        (["--slice-seconds", "0"], {"slice_seconds": 0.0}),
        (["--slice_seconds=0.001"], {"slice_seconds": 0.001}),
        (["--no-aloud"], {"aloud": False}),
        (["--aloud"], {"aloud": True}),
        (["--aloud=false"], {"aloud": False}),
        (["--no-aloud", "--aloud"], {"aloud": True}),
        (["--extra", "-3"], {"extra": -3}),
        (["--extra", "none", "--step", "7"], {"extra": None, "step": 7}),
    ],
)
@pytest.mark.parametrize("after", [True, False])
def test_solver_options_stand_anywhere(words: list[str], wanted: dict[str, Any], after: bool, quintet: Any) -> None:
    code, output, _ = quintet("solve", *(["small.txt", *words] if after else [*words, "small.txt"]), "--events", "-")
    assert code == 0
    options = json.loads(output.splitlines()[0])["options"]
    assert {name: options[name] for name in wanted} == wanted


def test_settings_of_every_layer_meet_in_solve(quintet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("deep").mkdir()
    Path("deep/count.txt").write_text("count 40\n")
    Path("deep/c.toml").write_text(
        'problem = "count.txt"\nseed = 3\n[counting]\nstep = 2\nextra = 1\nstyle = "fancy"\n'
    )
    monkeypatch.setenv("QUINTET_COUNTING_EXTRA", "2")
    for words in (["deep/c.toml"], ["--config", "deep/c.toml"], ["deep/count.txt", "--config=deep/c.toml"]):
        code, output, _ = quintet("solve", *words, "--step", "5", "--devices", "0,abacus", "--events=-")
        assert code == 0
        started = events.from_json(output.splitlines()[0])
        assert isinstance(started, events.Started)
        assert started.seed == 3
        assert started.devices == ["opencl:0", "opencl:0#2"]
        assert {name: started.options[name] for name in ("step", "extra", "style")} == {
            "step": 5,
            "extra": 2,
            "style": "fancy",
        }


def test_events_on_standard_output_are_alone_there(quintet: Any) -> None:
    code, output, errors = quintet("solve", "small.txt", "--events", "-")
    assert (code, errors) == (0, "")
    told = [events.from_json(line) for line in output.splitlines()]
    assert told[0].type == "started"
    assert told[-1].type == "finished"
    assert output.endswith("\n")


def test_events_can_go_to_a_file_beside_the_table(quintet: Any) -> None:
    code, output, _ = quintet("solve", "small.txt", "--events", "e.jsonl")
    assert code == 0
    assert value(output, "status") == "optimal"
    told = [events.from_json(line) for line in Path("e.jsonl").read_text().splitlines()]
    assert told[-1].type == "finished"


def test_the_solution_is_written_as_text_and_as_json(quintet: Any) -> None:
    assert quintet("solve", "small.txt", "--solution", "s.txt")[0] == 0
    assert Path("s.txt").read_text() == "0\n1\n2\n3\n4\n"
    code, output, _ = quintet("solve", "small.txt", "--solution", "s.json")
    assert code == 0
    assert value(output, "saved") == "s.json"
    written = json.loads(Path("s.json").read_text())
    assert written["solution"] == [0, 1, 2, 3, 4]
    assert written["objective"] == counting.expected(100)


def test_the_certificate_that_there_is_no_solution_is_written(quintet: Any) -> None:
    assert quintet("solve", "none.txt", "--solution", "s.txt")[0] == 0
    assert Path("s.txt").read_text() == "# infeasible\n"
    Path("none.lp").write_text("min\n obj: x\nst\n a: x >= 2\n b: x <= 1\nend\n")
    problem = engine.LinearProgram.read("none.lp")
    result = engine.Result(engine.Status.INFEASIBLE, None, None, None, arrays={"farkas": np.array([1.0, -1.0])})
    assert running._write_solution(Path("f.txt"), problem, result)
    assert Path("f.txt").read_text() == "# infeasible\n# farkas\n1.0\n-1.0\n"
    assert running._write_solution(Path("f.json"), problem, result)
    assert json.loads(Path("f.json").read_text())["certificate"] == {"farkas": [1.0, -1.0]}


def test_a_result_can_be_printed_as_json(quintet: Any) -> None:
    code, output, errors = quintet("solve", "small.txt", "--json", "--run-folder", "r")
    assert (code, errors) == (0, "")
    result = json.loads(output)
    assert (result["status"], result["objective"]) == ("optimal", counting.expected(100))
    assert (result["solution"], result["saved"]) == ([0, 1, 2, 3, 4], ["r"])
    code, output, _ = quintet("solve", "none.txt", "--json")
    assert json.loads(output)["certificate"] == {}
    assert json.loads(output)["gap"] is None


def test_a_small_solution_is_shown(quintet: Any) -> None:
    assert value(quintet("solve", "small.txt")[1], "solution") == "0 1 2 3 4"


FLOWSHOP = "number of jobs, number of machines\n2 2\nprocessing times :\n1 {}\n2 4\n"


def test_one_instance_of_a_file_with_several_is_chosen() -> None:
    Path("two.txt").write_text(FLOWSHOP.format(3) + FLOWSHOP.format(9))
    problem = reading.read(Path("two.txt"), {"instance": "2"})
    assert isinstance(problem, engine.Flowshop)
    assert problem.times.tolist() == [[1, 9], [2, 4]]
    block = "knap\nn 2\nc {}\nz 0\ntime 0\n1,5,2,0\n2,6,3,0\n-----\n\n"
    Path("three.csv").write_text(block.format(4) + block.format(5) + block.format(6))
    items = reading.read(Path("three.csv"), {"instance": "3"})
    assert isinstance(items, engine.Knapsack)
    assert (items.capacity, items.instances_in_file) == (6, 3)
    with pytest.raises(ProblemError, match=r"there is no instance 4; the file holds 3 \(three.csv\)"):
        reading.read(Path("three.csv"), {"instance": "4"})
    with pytest.raises(OptionError, match="instance must be at least 1; got '0'"):
        reading.read(Path("three.csv"), {"instance": "0"})


def test_without_a_choice_the_first_instance_is_solved_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.txt").write_text(FLOWSHOP.format(3) + FLOWSHOP.format(9))
    problem = reading.read(Path("two.txt"), {})
    assert isinstance(problem, engine.Flowshop)
    assert problem.times.tolist() == [[1, 3], [2, 4]]
    warning = capsys.readouterr().err
    assert warning == "warning: two.txt holds 2 instances; the first is solved (choose by --instance)\n"


def test_the_target_column_of_a_table_is_named(quintet: Any) -> None:
    Path("t.csv").write_text("a,spam,b\n1,1,2\n2,0,4\n5,1,1\n")
    code, _, errors = quintet("solve", "t.csv")
    assert code == 2
    assert errors.endswith("; if it is a table, name the column to predict with --target\n")
    problem = reading.read(Path("t.csv"), {"target": "spam"})
    assert isinstance(problem, engine.HorseshoeProbit)
    assert problem.names == ("a", "b")
    assert quintet("solve", "t.csv", "--target", "ham")[2].startswith(
        "error: there is no column 'ham'; the table has a,"
    )
    errors = quintet("solve", "small.txt", "--target", "a")[2]
    assert errors.startswith("error: unknown option '--target'; it is for files of the problems HorseshoeProbit")
    assert errors.endswith(", and this one is a Counting\n")


def test_integer_variables_are_relaxed_on_request_only(quintet: Any) -> None:
    Path("p.lp").write_text("min\n obj: x + y\nst\n a: x + y >= 1.5\ngen\n x\nend\n")
    code, _, errors = quintet("solve", "p.lp")
    assert code == 2
    assert errors.startswith("error: the file declares 1 integer variables; solve its continuous relaxation by --relax")
    problem = reading.read(Path("p.lp"), {"relax": True})
    assert isinstance(problem, engine.LinearProgram)
    assert problem.integers == 1


def test_a_time_limit_with_an_answer_is_no_failure(quintet: Any) -> None:
    code, output, _ = quintet("solve", "endless.txt", "--time-limit", "0.1")
    assert code == 0
    assert value(output, "status") == "time limit"


def test_a_time_limit_without_an_answer_is_4(quintet: Any) -> None:
    code, output, errors = quintet("solve", "endless.txt", "--time-limit", "1e-9", "--solution", "s.txt")
    assert code == 4
    assert value(output, "objective") == "-"
    assert errors == "warning: there is no solution to write to s.txt\n"


def test_infeasible_is_an_answer(quintet: Any) -> None:
    code, output, _ = quintet("solve", "none.txt")
    assert code == 0
    assert value(output, "status") == "infeasible"


@pytest.mark.parametrize(("trouble", "code"), [("device", 3), ("audit", 4), ("bug", 1)])
def test_trouble_has_its_exit_code_and_one_line(trouble: str, code: int, quintet: Any) -> None:
    got, output, errors = quintet("solve", "small.txt", "--trouble", trouble)
    assert (got, output) == (code, "")
    assert len(errors.splitlines()) == 1
    assert errors.startswith("error: ")
    assert "Traceback" in quintet("solve", "small.txt", "--trouble", trouble, "--debug")[2]


MISTAKES = [
    (["solve"], 'no problem: name a FILE, or a configuration with a line problem = "FILE"'),
    (["solve", "nowhere.txt"], "cannot read nowhere.txt: No such file or directory"),
    (["solve", "nobody"], "nobody is not a run folder: it has no run.toml"),
    (["solve", "bad.txt"], "a count must be a whole number (bad.txt, line 1)"),
    (["solve", "unknown.bin"], "cannot tell what kind of problem unknown.bin holds"),
    (["solve", "small.txt", "--stile", "x"], "unknown option '--stile'; did you mean '--style'?"),
    (["solve", "small.txt", "--no-style"], "unknown option '--no-style'; did you mean '--style'?"),
    (["solve", "small.txt", "--tim-limit", "3"], "unknown option '--tim-limit'; did you mean '--time-limit'?"),
    (["solve", "small.txt", "--style"], "the option '--style' needs a value"),
    (["solve", "small.txt", "--style", "--aloud"], "the option '--style' needs a value"),
    (["solve", "small.txt", "--step", "0"], "step must be at least 1; got '0'"),
    (["solve", "small.txt", "--aloud=maybe"], "aloud must be true or false; got 'maybe'"),
    (["solve", "small.txt", "--time-limit", "-1"], "time_limit must be greater than 0; got '-1'"),
    (["solve", "small.txt", "--seed", "x"], "seed must be a whole number; got 'x'"),
    (["solve", "small.txt", "--backend", "cudda"], "backend must be 'auto', 'cuda' or 'opencl'; got 'cudda'"),
    (["solve", "small.txt", "--devices", "gpu"], "no device 'gpu'; this machine has opencl:0 (Abacus 3000)"),
    (["solve", "small.txt", "--run-folder", "full"], "the run folder full exists and is not empty"),
    (
        ["solve", "small.txt", "--solution", "no/s.txt"],
        "cannot write the solution to no/s.txt: there is no such folder",
    ),
    (["solve", "small.txt", "--events", "no/e.txt"], "cannot write the events to no/e.txt: No such file"),
    (["solve", "small.txt", "--config", "no.toml"], "cannot read the configuration file no.toml: No such file"),
    (["solve", "a.toml", "--config", "b.toml"], "a.toml and --config b.toml are both configurations"),
    (["solve", "c.toml"], "unknown setting 'sed'; did you mean 'seed'? (file c.toml, line 1)"),
    (["solve", "small.txt", "small.txt"], "Got unexpected extra argument (small.txt)"),
    (["resume", "full"], "full is not a run folder: it has no run.toml"),
    (["replay", "nowhere"], "nowhere is not a run folder: it has no run.toml"),
    (["replay", "full", "--speed", "-1"], "Invalid value for '--speed'"),
    (["solvers", "countin"], "unknown solver 'countin'; did you mean 'counting'?"),
    (["generate", "cuonting"], "unknown kind 'cuonting'; did you mean 'counting'?"),
    (["generate", "counting", "--traget", "3"], "unknown option '--traget'; did you mean '--target'?"),
    (["generate", "counting", "--target", "0"], "target must be at least 1; got '0'"),
    (["generate"], "Missing argument 'KIND'"),
    (["bench", "countin"], "unknown solver 'countin'; did you mean 'counting'?"),
    (["slove", "small.txt"], "unknown command 'slove'; did you mean 'solve'?"),
    (["--verson"], "No such option"),
]


@pytest.mark.parametrize(
    ("words", "message"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_mistake_is_one_sentence_and_exit_code_2(words: list[str], message: str, quintet: Any) -> None:
    Path("nobody").mkdir()
    Path("full").mkdir()
    Path("full/thesis.txt").write_text("mine")
    Path("bad.txt").write_text("count me")
    Path("unknown.bin").write_bytes(bytes(range(256)))
    Path("c.toml").write_text("sed = 1")
    code, output, errors = quintet(*words)
    assert (code, output) == (2, "")
    assert errors.startswith(f"error: {message}")
    assert len(errors.splitlines()) == 1
    if words[0] in ("solve", "resume", "replay"):
        code, output, errors = quintet(*words, "--events", "-") if "--events" not in words else (2, "", errors)
        assert code == 2
        for line in output.splitlines():  # the desktop app shows this one
            failed = events.from_json(line)
            assert isinstance(failed, events.Failed)
            assert failed.exit_code == 2
            assert errors == f"error: {failed.message}\n"
        assert output or "--events" in words


def test_debug_shows_where_a_mistake_was_found(quintet: Any) -> None:
    code, _, errors = quintet("solve", "nowhere.txt", "--debug")
    assert code == 2
    assert "Traceback" in errors
    assert errors.splitlines()[-1] == "error: cannot read nowhere.txt: No such file or directory"


# --- resume and replay -----------------------------------------------------------------------------------------------


def test_resume_goes_on_to_the_answer(quintet: Any) -> None:
    Path("long.txt").write_text("count 500\n")
    assert quintet("solve", "long.txt", "--run-folder", "r", "--time-limit", "0.1", "--step", "11")[0] == 0
    code, output, _ = quintet("resume", "r", "--events", "e.jsonl", "--solution", "s.txt")
    assert code == 0
    assert value(output, "status") == "optimal"
    assert value(output, "objective") == str(counting.expected(500))
    assert value(output, "saved") == "r, s.txt"
    started = events.from_json(Path("e.jsonl").read_text().splitlines()[0])
    assert isinstance(started, events.Started)
    assert started.resumed
    assert started.options["step"] == 11
    code, again, errors = quintet("resume", "r")
    assert (code, errors) == (0, "")
    assert value(again, "objective") == value(output, "objective")


def test_replay_shows_what_the_run_showed(quintet: Any) -> None:
    live = quintet("solve", "small.txt", "--run-folder", "r", "--events", "-")[1]
    for speed in ("0", "inf", "20"):
        assert quintet("replay", "r", "--speed", speed, "--events", "-") == (0, live, "")
    code, output, _ = quintet("replay", "r", "--speed", "0")
    assert code == 0
    assert value(output, "objective") == str(counting.expected(100))


def test_a_run_without_events_cannot_be_replayed(quintet: Any) -> None:
    quintet("solve", "small.txt", "--run-folder", "r")
    Path("r/events.jsonl").unlink()
    assert quintet("replay", "r") == (2, "", "error: the run in r has no events yet\n")


# --- looking ---------------------------------------------------------------------------------------------------------


def test_devices_lists_what_there_is(quintet: Any) -> None:
    code, output, _ = quintet("devices")
    assert code == 0
    for word in ("opencl:0", "Abacus 3000", "Wood 1.0", "1.0 GB", "32 KiB", "fp64", "lapack"):
        assert word in output
    code, output, _ = quintet("devices", "--json")
    assert code == 0
    (device,) = json.loads(output)["devices"]
    assert (device["id"], device["capabilities"]["compute_units"]) == ("opencl:0", 2)


def test_devices_says_why_there_is_none(quintet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        from engine.errors import BackendUnavailable

        raise BackendUnavailable("CUDA is unavailable: the driver is on holiday")

    monkeypatch.setattr(selection, "backends", lambda: {"cuda": replace(backends()["cuda"], list_devices=missing)})
    code, output, _ = quintet("devices")
    assert code == 3
    assert output == "CUDA is unavailable: the driver is on holiday\n"
    assert json.loads(quintet("devices", "--json")[1])["devices"] == []
    code, _, errors = quintet("solve", "small.txt")
    assert (code, errors) == (3, "error: CUDA is unavailable: the driver is on holiday\n")


def test_explain_says_where_each_value_came_from(quintet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_solvers_lists_and_describes(quintet: Any) -> None:
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


def test_what_a_solver_declares_can_be_said_on_the_command_line() -> None:
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


def test_tables_on_a_terminal_hold_the_same_words(quintet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "Abacus" in quintet("devices", "--explain")[1]
    assert "How to count." in quintet("solvers", "counting")[1]
    assert str(counting.expected(100)) in quintet("solve", "small.txt")[1]


def test_help_and_version(quintet: Any) -> None:
    code, output, _ = quintet()
    assert code == 0
    for name, (_, line) in COMMANDS.items():
        assert any(row.split()[:1] == [name] and row.endswith(line) for row in output.splitlines())
        code, text, _ = quintet(name, "--help")
        assert code == 0
        assert text.startswith(f"Usage: quintet {name}")
    assert quintet("--version")[1].startswith("quintet, version ")


# --- demo, generate, bench -------------------------------------------------------------------------------------------


@pytest.fixture
def sample_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "engine" / "_samples"
    folder.mkdir(parents=True)
    monkeypatch.setattr("engine.demo.folder_of", lambda part: folder)
    return folder


def add_sample(folder: Path, name: str, content: str, settings: str = "") -> None:
    (folder / f"{name}.txt").write_text(content)
    (folder / f"{name}.toml").write_text(f'problem = "{name}.txt"\n{settings}')


def test_demo_solves_every_sample_and_checks_the_answers(quintet: Any, sample_folder: Path) -> None:
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
def test_demo_fails_for_an_answer_that_is_wrong_or_missing(
    content: str, settings: str, words: str, quintet: Any, sample_folder: Path
) -> None:
    add_sample(sample_folder, "bad", content, settings)
    add_sample(sample_folder, "good", "count 10")
    code, output, _ = quintet("demo")
    assert code == 1
    bad, good = output.splitlines()[1:]
    assert words in bad
    assert not bad.endswith("right")
    assert good.endswith("answered")


def test_demo_without_samples_or_devices_says_so(
    quintet: Any, sample_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert quintet("demo") == (2, "", "error: the samples are missing from this installation\n")
    add_sample(sample_folder, "one", "count 5")
    code, output, errors = quintet("demo", "--devices", "cuda:0")
    assert (code, output) == (2, "")
    assert errors.startswith("error: no CUDA device 0")


def test_generate_writes_an_instance_that_solve_takes(quintet: Any) -> None:
    assert quintet("generate", "counting", "--target", "30") == (0, "count 30\n", "")
    assert quintet("generate", "--target=30", "--no-loud", "counting", "--output", "-")[1] == "count 30\n"
    code, output, errors = quintet("generate", "counting", "--output", "made.txt")
    assert (code, output, errors) == (0, "", "counting to 20 -> made.txt\n")
    assert quintet("solve", "made.txt")[0] == 0
    assert quintet("generate", "counting", "--output", "no/made.txt")[0] == 2
    code, output, _ = quintet("generate", "counting", "--help")
    assert code == 0
    assert "How far to count." in output


def test_help_lists_what_there_is_to_generate_measure_and_tune(quintet: Any) -> None:
    for name, rows in (
        ("bench", ["counting", "knapsack", "gibbs"]),
        ("tune", ["boa"]),
        ("generate", ["counting", "nk"]),
    ):
        code, output, _ = quintet(name, "--help")
        assert code == 0
        listed = {line.split()[0] for line in output.splitlines() if line.strip()}
        assert set(rows) <= listed
    assert "counting" not in quintet("tune", "--help")[1]


def test_solvers_are_listed_as_json(quintet: Any) -> None:
    code, output, _ = quintet("solvers", "--json")
    assert code == 0
    listed = {solver["name"]: solver for solver in json.loads(output)["solvers"]}
    assert set(listed) == set(discover())
    assert listed["counting"]["options"]["Counting"]["properties"]["step"]["minimum"] == 1
    assert listed["knapsack"]["read_options"]["Knapsack"]["properties"]["instance"]["default"] == 1
    assert "which instance of a file" in quintet("solvers", "knapsack")[1]
    (one,) = json.loads(quintet("solvers", "counting", "--json")[1])["solvers"]
    assert one == listed["counting"]


def test_bench_hands_its_arguments_on(quintet: Any) -> None:
    assert quintet("bench", "counting")[0] == 0
    assert quintet("bench", "counting", "--quick", "a", "--help")[0] == 3


@pytest.mark.parametrize("name", [name for name, solver in discover().items() if solver.bench is not None])
def test_every_benchmark_takes_a_backend_and_several_devices(quintet: Any, name: str) -> None:
    code, text, _ = quintet("bench", name, "--help")
    assert code == 0
    assert text.startswith(f"Usage: quintet bench {name} [OPTIONS]")
    assert "--backend [auto|cuda|opencl]" in text
    assert "--devices NAME" in text


def test_escape_codes_in_names_do_not_reach_the_terminal(quintet: Any) -> None:
    name = "\x1b[2Jgone\u202e.txt"
    Path(name).write_text("count 12\n")
    code, output, errors = quintet("solve", name, "--run-folder", "r\x1b[31m")
    assert code == 0
    assert "\x1b" not in output + errors
    assert "\\x1b[31m" in output
    code, output, errors = quintet("solve", "\x1b[2Jmissing.txt")
    assert code == 2
    assert "\x1b" not in output + errors
    assert "\\x1b[2Jmissing.txt" in errors
