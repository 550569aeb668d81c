"""Commands that solve, resume and replay: what they print, take and return, whose option is whose; in this process."""

import json
from pathlib import Path

import pytest
from pydantic import Field

from engine.base.solver import Solver, SolverOptions
from engine.cli import reading
from engine.errors import ProblemError
from engine.runs.folder.run_folder import RunFolder
from engine.runs.run import Run
from engine.solvers import discover
from tests.support import counting
from tests.support.printed import value

pytestmark = pytest.mark.smoke


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
        ("small.txt --style fancy", {"style": "fancy"}),
        ("--style=fancy small.txt --slice_seconds=0.001", {"style": "fancy", "slice_seconds": 0.001}),
        ("--no-aloud small.txt --slice-seconds 0", {"aloud": False, "slice_seconds": 0.0}),
        ("--aloud=false small.txt", {"aloud": False}),
        ("--no-aloud --aloud small.txt", {"aloud": True}),
        ("--extra none small.txt --step 7", {"extra": None, "step": 7}),
        ("small.txt --extra -3", {"extra": -3}),
    ],
)
def test_solver_options_stand_anywhere(words, wanted, quintet):
    code, output, _ = quintet("solve", *words.split(), "--events", "-")
    assert code == 0
    options = json.loads(output.splitlines()[0])["options"]
    assert {name: options[name] for name in wanted} == wanted


def test_settings_of_every_layer_meet_in_solve(quintet, monkeypatch):
    Path("deep").mkdir()
    Path("deep/count.txt").write_text("count 40\n")
    options = '[counting]\nstep = 2\nextra = 1\nstyle = "fancy"\n'
    Path("deep/c.toml").write_text('problem = "count.txt"\nseed = 3\n' + options)
    monkeypatch.setenv("QUINTET_COUNTING_EXTRA", "2")
    for words in (["deep/c.toml"], ["--config", "deep/c.toml"], ["deep/count.txt", "--config=deep/c.toml"]):
        code, output, _ = quintet("solve", *words, "--step", "5", "--devices", "0,abacus", "--events=-")
        started = json.loads(output.splitlines()[0])
        assert (code, started["seed"], started["devices"]) == (0, 3, ["opencl:0", "opencl:0#2"])
        assert started["options"].items() >= {"step": 5, "extra": 2, "style": "fancy"}.items()


def test_the_certificate_that_there_is_no_solution_is_shown_and_written(quintet):
    code, output, _ = quintet("solve", "none.txt", "--solution", "s.txt")
    assert (code, value(output, "status"), Path("s.txt").read_text()) == (0, "infeasible", "# infeasible\n")
    Path("none.lp").write_text("min\n obj: x\nst\n a: x >= 2\n b: x <= 1\nend\n")
    for file in ("f.txt", "f.json"):
        code, output, _ = quintet("solve", "none.lp", "--solution", file)
        assert (code, value(output, "status")) == (0, "infeasible")
    farkas = [float(number) for number in value(output, "farkas").split()]
    assert farkas[0] > 0 > farkas[1]
    assert 2 * farkas[0] + farkas[1] > 0  # no x is at least 2 and at most 1
    assert Path("f.txt").read_text().startswith(f"# infeasible\n# farkas\n{farkas[0]}\n{farkas[1]}\n")
    assert json.loads(Path("f.json").read_text())["certificate"]["farkas"] == farkas


FLOWSHOP = "number of jobs, number of machines\n2 2\nprocessing times :\n1 {}\n2 4\n"


def test_one_instance_of_a_file_with_several_is_chosen(capsys):
    Path("two.txt").write_text(FLOWSHOP.format(3) + FLOWSHOP.format(9))
    assert reading.read(Path("two.txt"), {"instance": "2"}).times.tolist() == [[1, 9], [2, 4]]
    assert capsys.readouterr().err == ""
    assert reading.read(Path("two.txt"), {}).times.tolist() == [[1, 3], [2, 4]]
    warning = "warning: two.txt holds 2 instances; the first is solved (choose by --instance)\n"
    assert capsys.readouterr().err == warning
    block = "knap\nn 2\nc {}\nz 0\ntime 0\n1,5,2,0\n2,6,3,0\n-----\n\n"
    Path("three.csv").write_text(block.format(4) + block.format(5) + block.format(6))
    items = reading.read(Path("three.csv"), {"instance": "3"})
    assert (items.capacity, items.instances_in_file) == (6, 3)
    with pytest.raises(ProblemError, match=r"there is no instance 4; the file holds 3 \(three.csv\)"):
        reading.read(Path("three.csv"), {"instance": "4"})


def test_the_target_column_of_a_table_is_named(quintet):
    Path("t.csv").write_text("a,spam,b\n1,1,2\n2,0,4\n5,1,1\n")
    code, _, errors = quintet("solve", "t.csv")
    assert (code, "--target the column to" in errors) == (2, True)
    assert reading.read(Path("t.csv"), {"target": "spam"}).names == ("a", "b")
    assert "there is no column 'ham'; the table has a," in quintet("solve", "t.csv", "--target", "ham")[2]
    errors = quintet("solve", "small.txt", "--target", "a")[2]
    assert errors.startswith("error: unknown option '--target'; it is for files of the problems HorseshoeProbit")
    assert errors.endswith(", and this one is a Counting\n")


def test_integer_variables_are_relaxed_on_request_only(quintet):
    Path("p.lp").write_text("min\n obj: x + y\nst\n a: x + y >= 1.5\n y <= 0.25\ngen\n x\nend\n")
    for options, objective in ((), "2"), (("--relax",), "1.5"):
        code, output, _ = quintet("solve", "p.lp", *options)
        assert (code, value(output, "objective")) == (0, objective)


def test_a_time_limit_with_an_answer_is_no_failure(quintet, monkeypatch):
    passed = property(lambda run: 1.0 if run.best == (None, None) else -1.0)
    monkeypatch.setattr(Run, "time_left", passed)  # the limit passes once there is an answer
    code, output, _ = quintet("solve", "endless.txt", "--time-limit", "60")
    assert (code, value(output, "status")) == (0, "time limit")


def test_a_time_limit_without_an_answer_is_4(quintet):
    code, output, errors = quintet("solve", "endless.txt", "--time-limit", "1e-9", "--solution", "s.txt")
    assert code == 4
    assert value(output, "objective") == "-"
    assert errors == "warning: there is no solution to write to s.txt\n"


def test_resume_goes_on_to_the_answer(quintet):
    Path("long.txt").write_text("count 500\n")
    words = ("--time-limit", "1", "--hold", "100", "--step", "11")
    assert quintet("solve", "long.txt", "--run-folder", "r", *words)[0] == 0
    for _ in range(2):  # once more when it has ended
        code, output, errors = quintet("resume", "r", "--events", "e.jsonl", "--solution", "s.txt")
        assert (code, errors, value(output, "status"), value(output, "saved")) == (0, "", "optimal", "r, s.txt")
        assert value(output, "objective") == str(counting.expected(500))
    assert '"resumed":true' in Path("e.jsonl").read_text().replace(" ", "")


def test_replay_shows_what_the_run_showed(quintet):
    live = quintet("solve", "small.txt", "--run-folder", "r", "--events", "-")[1]
    for speed in ("0", "inf", "20"):
        assert quintet("replay", "r", "--speed", speed, "--events", "-") == (0, live, "")
    assert value(quintet("replay", "r", "--speed", "0")[1], "objective") == str(counting.expected(100))
    recorded = Path("r/events.jsonl")
    recorded.unlink()
    assert quintet("replay", "r") == (2, "", "error: the run in r has no events yet\n")
    recorded.write_text('{"type": "star\n\n')
    assert quintet("replay", "r") == (2, "", f"error: {recorded} is damaged: none of its lines is an event\n")


def test_the_solution_is_written_as_text_and_as_json_and_the_result_printed_as_json(quintet):
    assert quintet("solve", "small.txt", "--solution", "s.txt")[0] == 0
    assert Path("s.txt").read_text() == "0\n1\n2\n3\n4\n"
    code, output, errors = quintet("solve", "small.txt", "--solution", "s.json", "--json", "--run-folder", "r")
    assert (code, errors) == (0, "")
    result = json.loads(output)
    for found in (json.loads(Path("s.json").read_text()), result):
        assert (found["solution"], found["objective"]) == ([0, 1, 2, 3, 4], counting.expected(100))
    assert (result["status"], result["saved"]) == ("optimal", ["r", "s.json"])
    code, _, error = quintet("solve", "small.txt", "--solution", "-")
    assert (code, Path("-").exists()) == (2, False)
    assert "a file name is needed; --json prints the result" in error


class Tally(counting.Counting):
    kind = "tally"

    @classmethod
    def recognizes(cls, path, head):
        return head.startswith(f"{cls.kind} ")


class Score(Tally):
    kind = "score"


class TallyOptions(SolverOptions):
    """``aloud`` is a switch of the solver counting, and takes a value here."""

    aloud: int = Field(default=1, description="How loud.")
    reduce: int = Field(default=0, description="How far to reduce.")


class ScoreOptions(SolverOptions):
    reduce: bool = Field(default=True, description="Whether to reduce.")
    board: int = Field(default=1, description="Which board.")


@pytest.fixture
def _sixth_solver(monkeypatch):
    """A solver of two classes that counts, whatever its options are."""

    def solve(problem, options, pool, run):
        return counting.solve(problem, counting.Options(slice_seconds=0), pool, run)

    options = {Tally: TallyOptions, Score: ScoreOptions}
    solver = Solver(name="tallying", title="Tallying", problems=tuple(options), options=options, solve=solve)
    monkeypatch.setitem(discover(), solver.name, solver)
    for kind in options:
        Path(f"{kind.kind}.txt").write_text(f"{kind.kind} 5\n")


@pytest.mark.usefixtures("_sixth_solver")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("--reduce 7 tally.txt", {"aloud": 1, "reduce": 7}),
        ("--no-reduce score.txt", {"reduce": False, "board": 1}),
        ("--seed 3 --aloud small.txt", {"aloud": True}),
        ("--config c.toml --reduce 7", {"aloud": 2, "reduce": 7}),  # board is for the other class
        ("c.toml --reduce=8", {"aloud": 2, "reduce": 8}),
        ("--config c.toml score.txt", {"board": 3, "reduce": True}),
        ("--reduce 4 r", {"reduce": 4}),
    ],
)
def test_a_word_after_an_option_is_its_value_only_if_the_problems_solver_says_so(words, wanted, quintet):
    Path("c.toml").write_text('problem = "tally.txt"\n[tallying]\nboard = 3\naloud = 2\n')
    assert quintet("solve", "tally.txt", "--run-folder", "r")[0] == 0
    code, output, errors = quintet("solve", *words.split(), "--events", "-")
    assert (code, errors) == (0, "")
    assert json.loads(output.splitlines()[0])["options"].items() >= wanted.items()


@pytest.mark.usefixtures("_sixth_solver")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tally.txt", "--board", "3"], "unknown option '--board'; it applies to Score, not to Tally"),
        (["tally.txt", "--aload", "3"], "unknown option '--aload'; did you mean '--aloud'?"),
        (["--board", "small.txt"], "unknown option '--board'; it is an option of tallying"),
        (["--board", "nowhere.txt"], "no problem: name a FILE"),
    ],
)
def test_options_of_another_solver_are_refused_with_its_name(words, message, quintet):
    code, output, errors = quintet("solve", *words)
    assert (code, output) == (2, "")
    assert errors.startswith(f"error: {message}")
