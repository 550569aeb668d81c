"""``quintet solve``: what it prints, takes and returns; in this process."""

import json
from pathlib import Path

import pytest

import engine
from engine import events
from engine.cli import reading
from engine.errors import OptionError, ProblemError
from engine.runs.folder.run_folder import RunFolder
from engine.runs.run import Run
from tests.support import counting
from tests.support.printed import value

pytestmark = [pytest.mark.smoke, pytest.mark.usefixtures("_quiet_surroundings")]


def test_solve_prints_a_plain_result_where_there_is_no_terminal(quintet):
    code, output, errors = quintet("solve", "small.txt", "--run-folder", "r")
    assert (code, errors) == (0, "")
    assert value(output, "status") == "optimal"
    assert value(output, "objective") == value(output, "known optimum") == str(counting.expected(100))
    assert value(output, "device") == "opencl:0 (opencl)"
    assert value(output, "counted") == "100"
    assert value(output, "saved") == "r"
    assert RunFolder.open("r").result() is not None


def test_the_problem_of_a_run_folder_is_solved_anew_without_its_file(quintet):
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
def test_solver_options_stand_anywhere(words, wanted, after, quintet):
    code, output, _ = quintet("solve", *(["small.txt", *words] if after else [*words, "small.txt"]), "--events", "-")
    assert code == 0
    options = json.loads(output.splitlines()[0])["options"]
    assert {name: options[name] for name in wanted} == wanted


def test_settings_of_every_layer_meet_in_solve(quintet, monkeypatch):
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


def test_the_solution_is_written_as_text_and_as_json(quintet):
    assert quintet("solve", "small.txt", "--solution", "s.txt")[0] == 0
    assert Path("s.txt").read_text() == "0\n1\n2\n3\n4\n"
    code, output, _ = quintet("solve", "small.txt", "--solution", "s.json")
    assert code == 0
    assert value(output, "saved") == "s.json"
    written = json.loads(Path("s.json").read_text())
    assert written["solution"] == [0, 1, 2, 3, 4]
    assert written["objective"] == counting.expected(100)


def test_a_solution_is_not_written_to_standard_output(quintet):
    code, _, error = quintet("solve", "small.txt", "--solution", "-")
    assert code == 2
    assert "a file name is needed; --json prints the result" in error
    assert not Path("-").exists()


def test_the_certificate_that_there_is_no_solution_is_shown_and_written(quintet):
    assert quintet("solve", "none.txt", "--solution", "s.txt")[0] == 0
    assert Path("s.txt").read_text() == "# infeasible\n"
    Path("none.lp").write_text("min\n obj: x\nst\n a: x >= 2\n b: x <= 1\nend\n")
    for file in ("f.txt", "f.json"):
        code, output, _ = quintet("solve", "none.lp", "--solution", file)
        assert (code, value(output, "status")) == (0, "infeasible")
    farkas = [float(number) for number in value(output, "farkas").split()]
    assert farkas[0] > 0 > farkas[1]
    assert 2 * farkas[0] + farkas[1] > 0  # no x is at least 2 and at most 1
    assert Path("f.txt").read_text().startswith(f"# infeasible\n# farkas\n{farkas[0]}\n{farkas[1]}\n")
    assert json.loads(Path("f.json").read_text())["certificate"]["farkas"] == farkas


def test_a_result_can_be_printed_as_json(quintet):
    code, output, errors = quintet("solve", "small.txt", "--json", "--run-folder", "r")
    assert (code, errors) == (0, "")
    result = json.loads(output)
    assert (result["status"], result["objective"]) == ("optimal", counting.expected(100))
    assert (result["solution"], result["saved"]) == ([0, 1, 2, 3, 4], ["r"])
    code, output, _ = quintet("solve", "none.txt", "--json")
    assert json.loads(output)["certificate"] == {}
    assert json.loads(output)["gap"] is None


FLOWSHOP = "number of jobs, number of machines\n2 2\nprocessing times :\n1 {}\n2 4\n"


def test_one_instance_of_a_file_with_several_is_chosen():
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


def test_without_a_choice_the_first_instance_is_solved_with_a_warning(capsys):
    Path("two.txt").write_text(FLOWSHOP.format(3) + FLOWSHOP.format(9))
    problem = reading.read(Path("two.txt"), {})
    assert isinstance(problem, engine.Flowshop)
    assert problem.times.tolist() == [[1, 3], [2, 4]]
    warning = capsys.readouterr().err
    assert warning == "warning: two.txt holds 2 instances; the first is solved (choose by --instance)\n"


def test_the_target_column_of_a_table_is_named(quintet):
    Path("t.csv").write_text("a,spam,b\n1,1,2\n2,0,4\n5,1,1\n")
    code, _, errors = quintet("solve", "t.csv")
    assert code == 2
    assert "--target the column to" in errors
    problem = reading.read(Path("t.csv"), {"target": "spam"})
    assert isinstance(problem, engine.HorseshoeProbit)
    assert problem.names == ("a", "b")
    assert quintet("solve", "t.csv", "--target", "ham")[2].startswith(
        "error: there is no column 'ham'; the table has a,"
    )
    errors = quintet("solve", "small.txt", "--target", "a")[2]
    assert errors.startswith("error: unknown option '--target'; it is for files of the problems HorseshoeProbit")
    assert errors.endswith(", and this one is a Counting\n")


def test_integer_variables_are_relaxed_on_request_only(quintet):
    Path("p.lp").write_text("min\n obj: x + y\nst\n a: x + y >= 1.5\n y <= 0.25\ngen\n x\nend\n")
    for options, objective in ((), "2"), (("--relax",), "1.5"):
        code, output, _ = quintet("solve", "p.lp", *options)
        assert code == 0
        assert value(output, "objective") == objective
    problem = reading.read(Path("p.lp"), {"relax": True})
    assert isinstance(problem, engine.LinearProgram)
    assert (problem.integers, problem.relaxed) == (0, 1)


def test_a_time_limit_with_an_answer_is_no_failure(quintet, monkeypatch):
    passed = property(lambda run: 1.0 if run.best == (None, None) else -1.0)
    monkeypatch.setattr(Run, "time_left", passed)  # the limit passes once there is an answer
    code, output, _ = quintet("solve", "endless.txt", "--time-limit", "60")
    assert code == 0
    assert value(output, "status") == "time limit"


def test_a_time_limit_without_an_answer_is_4(quintet):
    code, output, errors = quintet("solve", "endless.txt", "--time-limit", "1e-9", "--solution", "s.txt")
    assert code == 4
    assert value(output, "objective") == "-"
    assert errors == "warning: there is no solution to write to s.txt\n"


def test_infeasible_is_an_answer(quintet):
    code, output, _ = quintet("solve", "none.txt")
    assert code == 0
    assert value(output, "status") == "infeasible"
