"""Options of one solver do not change how the command line of another is read."""

import json
from pathlib import Path

import pytest
from pydantic import Field

from engine.base.solver import Solver, SolverOptions
from engine.solvers import discover
from tests.support import counting

pytestmark = pytest.mark.usefixtures("_quiet_surroundings", "_sixth_solver")


class Tally(counting.Counting):
    """Counting again, for another solver."""

    kind = "tally"

    @classmethod
    def recognizes(cls, path, head):
        return head.startswith("tally ")


class Score(Tally):
    """A second class of the same solver."""

    kind = "score"

    @classmethod
    def recognizes(cls, path, head):
        return head.startswith("score ")


class TallyOptions(SolverOptions):
    """``aloud`` is a switch of the solver counting, and takes a value here."""

    aloud: int = Field(default=1, description="How loud.")
    reduce: int = Field(default=0, description="How far to reduce.")


class ScoreOptions(SolverOptions):
    """Options of the other class."""

    reduce: bool = Field(default=True, description="Whether to reduce.")
    board: int = Field(default=1, description="Which board.")


def solve(problem, options, pool, run):
    """Count, whatever the options are."""
    return counting.solve(problem, counting.Options(slice_seconds=0), pool, run)


@pytest.fixture
def _sixth_solver(monkeypatch):
    solver = Solver(
        name="tallying",
        title="Tallying",
        problems=(Tally, Score),
        options={Tally: TallyOptions, Score: ScoreOptions},
        solve=solve,
    )
    monkeypatch.setitem(discover(), solver.name, solver)
    Path("tally.txt").write_text("tally 5\n")
    Path("score.txt").write_text("score 5\n")


def options_of(output):
    started = json.loads(output.splitlines()[0])
    return dict(started["options"])


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--reduce", "7", "tally.txt"], {"reduce": 7}),
        (["--no-reduce", "score.txt"], {"reduce": False}),
        (["--seed", "3", "--aloud", "small.txt"], {"aloud": True}),
    ],
)
def test_a_word_after_an_option_is_its_value_only_if_the_problems_solver_says_so(words, wanted, quintet):
    code, output, errors = quintet("solve", *words, "--events", "-")
    assert (code, errors) == (0, "")
    assert {name: options_of(output)[name] for name in wanted} == wanted


def test_the_configuration_names_the_problem_of_options_too(quintet):
    Path("c.toml").write_text('problem = "tally.txt"\n[tallying]\nboard = 3\naloud = 2\n')
    code, output, errors = quintet("solve", "--config", "c.toml", "--reduce", "7", "--events", "-")
    assert (code, errors) == (0, "")
    assert options_of(output) == {"aloud": 2, "reduce": 7}  # board is for the other class
    assert options_of(quintet("solve", "c.toml", "--reduce=8", "--events=-")[1])["reduce"] == 8
    code, output, _ = quintet("solve", "--config", "c.toml", "score.txt", "--events", "-")
    assert options_of(output) == {"board": 3, "reduce": True}


def test_the_problem_of_a_run_folder_has_its_solvers_options(quintet):
    assert quintet("solve", "tally.txt", "--run-folder", "r")[0] == 0
    code, output, errors = quintet("solve", "--reduce", "4", "r", "--events", "-")
    assert (code, errors) == (0, "")
    assert options_of(output)["reduce"] == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tally.txt", "--board", "3"], "unknown option '--board'; it applies to Score, not to Tally"),
        (["tally.txt", "--aload", "3"], "unknown option '--aload'; did you mean '--aloud'?"),
        (["--board", "small.txt"], "unknown option '--board'; it is an option of tallying, not of counting"),
        (["--board", "nowhere.txt"], "no problem: name a FILE"),
    ],
)
def test_options_of_another_solver_are_refused_with_its_name(words, message, quintet):
    code, output, errors = quintet("solve", *words)
    assert (code, output) == (2, "")
    assert errors.startswith(f"error: {message}")


def test_solvers_describes_the_options_of_each_class(quintet):
    code, output, _ = quintet("solvers", "tallying")
    assert code == 0
    assert "options for Tally" in output
    assert "options for Score" in output
    assert "Which board." in output
