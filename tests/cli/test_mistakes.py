"""Mistakes and failures on the command line: one sentence and an exit code each, and no escape codes."""

from pathlib import Path

import pytest

from engine import events
from tests.support import counting
from tests.support.printed import value

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize(("trouble", "code"), [("device", 3), ("audit", 4), ("bug", 1)])
def test_trouble_has_its_exit_code_and_one_line(trouble, code, quintet):
    got, output, errors = quintet("solve", "small.txt", "--trouble", trouble)
    assert (got, output) == (code, "")
    assert len(errors.splitlines()) == 1
    assert errors.startswith("error: ")
    assert "Traceback" in quintet("solve", "small.txt", "--trouble", trouble, "--debug")[2]


MISTAKES = [
    (["solve"], 'no problem: name a FILE, or a configuration with a line problem = "FILE"'),
    (["solve", "nowhere.txt"], "cannot read nowhere.txt: No such file or directory"),
    (["solve", "bad.txt"], "a count must be a whole number (bad.txt, line 1)"),
    (["solve", "unknown.bin"], "cannot tell what kind of problem unknown.bin holds"),
    (["solve", "empty.txt"], "empty.txt holds no problem: it is empty"),
    (["resume", "run", "--form-start"], "unknown option '--form-start'; did you mean '--from-start'?"),
    (["bench", "start", "--bakend", "x"], "unknown option '--bakend'; did you mean '--backend'?"),
    (["solve", "small.txt", "--style", "--aloud"], "the option '--style' needs a value"),
    (["solve", "small.txt", "--no-aloud=yes"], "the option '--no-aloud' takes no value; got 'yes'"),
    (["solve", "small.txt", "--step", "0"], "step must be at least 1; got '0'"),
    (["solve", "small.txt", "--time-limit", "-1"], "time_limit must be greater than 0; got '-1'"),
    (
        ["solve", "small.txt", "--backend", "cudda"],
        "backend must be 'auto', 'cuda' or 'opencl' (did you mean 'cuda'?); got 'cudda'",
    ),
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
    (["replay", "full", "--speed", "nan"], "--speed must be a number of 0 or more; got nan"),
    (["solvers", "countin"], "unknown solver 'countin'; did you mean 'counting'?"),
    (["generate", "cuonting"], "unknown kind 'cuonting'; did you mean 'counting'?"),
    (["generate", "counting", "--target", "0"], "target must be at least 1; got '0'"),
    (["foo"], "unknown command 'foo'; the commands are solve, resume, replay, sweep, "),
    (["bad.txt"], "unknown command 'bad.txt'; did you mean 'solve bad.txt'?"),
    (["solve", "small.txt", "--as", "Knapsak"], "unknown kind 'Knapsak'; did you mean 'Knapsack'?; the kinds are ATSP"),
    (["solve", "full", "--as", "Counting"], "--as is for files; full is a folder"),
]


@pytest.mark.parametrize(
    ("words", "message"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_mistake_is_one_sentence_and_exit_code_2(words, message, quintet):
    Path("full").mkdir()
    Path("full/thesis.txt").write_text("mine")
    Path("bad.txt").write_text("count me")
    Path("unknown.bin").write_bytes(bytes(range(256)))
    Path("empty.txt").write_text("\n")
    Path("c.toml").write_text("sed = 1")
    code, output, errors = quintet(*words)
    assert (code, output) == (2, "")
    assert errors.startswith(f"error: {message}")
    assert len(errors.splitlines()) == 1 or "unknown.bin" in words
    if words[0] in ("solve", "resume", "replay") and "--events" not in words:
        code, output, errors = quintet(*words, "--events", "-")
        (failed,) = map(events.from_json, output.splitlines())  # the desktop app shows this one
        assert code == failed.exit_code == 2
        assert errors == f"error: {failed.message}\n"


def test_a_file_of_no_known_kind_gets_one_sentence_then_a_list_and_as_forces_a_reader(quintet):
    Path("mine.data").write_text("counted 100 7\n")
    code, output, errors = quintet("solve", "mine.data", "--step", "9")
    first, *others = errors.splitlines()
    assert (code, output) == (2, "")
    assert first == "error: cannot tell what kind of problem mine.data holds; --as KIND chooses one of those below"
    assert any(line.startswith("  knapsack: Knapsack, MultipleChoiceKnapsack, ") for line in others)
    assert all(line.startswith("  ") for line in others)
    for kind in ("counting", "Counting"):
        code, output, errors = quintet("solve", "mine.data", "--step", "9", "--as", kind)
        assert (code, errors) == (0, "")
        assert value(output, "objective") == str(counting.expected(100))
    assert quintet("solve", "mine.data", "--as", "Knapsack")[2].startswith("error: the ")


def test_escape_codes_in_names_do_not_reach_the_terminal(quintet):
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
