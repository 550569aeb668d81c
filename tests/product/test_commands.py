"""The commands of the installed ``quintet``, as processes: exit codes, and all that file descriptors 1 and 2 get."""

import json
import re

import pytest

from tests.support.environment import ROOT
from tests.support.installation import Finished

SAMPLES = ROOT / "samples"
FULL = pytest.mark.full

SOLVERS = {
    "boa": ("boa/matrix.qubo",),
    "branch_and_bound": ("branch_and_bound/crane-13.atsp",),
    "gibbs": ("gibbs/spam.csv", "--ess", "40"),
    "knapsack": ("knapsack/bounded.txt",),
    "linprog": ("linprog/blend.mps",),
}
"""A sample of each solver, with the options that make it short."""

MORE_SAMPLES = [
    f"{folder}/{path.name}"
    for folder in ("boa", "branch_and_bound", "knapsack")
    for path in sorted((SAMPLES / folder).iterdir())
    if path.suffix != ".py"
    and path.stem != "autocorrelation"  # which is code
    and f"{folder}/{path.name}" not in {file for file, *_ in SOLVERS.values()}
]

GENERATED = {
    "nk": ("--n", "12"),
    "flowshop": ("--jobs", "5", "--machines", "3"),
    "atsp": ("--n", "6"),
    "qap": ("--n", "5"),
    "tardiness": ("--jobs", "6"),
    "linear_ordering": ("--n", "6"),
    "probit": ("--rows", "40", "--columns", "3"),
    "knapsack": ("--n", "20"),
    "multiple-choice-knapsack": ("--classes", "8"),
    "multidimensional-knapsack": ("--n", "12"),
    "linprog": ("--m", "6", "--n", "12"),
}
"""A small instance of each kind that can be generated: of eleven problem classes."""

IN_PYTHON = {
    "Queens": "qt.Queens(6)",
    "FlowTime": "qt.FlowTime([[3, 5, 2], [4, 1, 6], [2, 3, 3]])",
    "BlockingFlowshop": "qt.BlockingFlowshop([[3, 5, 2], [4, 1, 6], [2, 3, 3]])",
    "NoWaitFlowshop": "qt.NoWaitFlowshop([[3, 5, 2], [4, 1, 6], [2, 3, 3]])",
    "HorseshoeLogit": "qt.HorseshoeLogit(X, y), ess=40",
    "HorseshoeRegression": "qt.HorseshoeRegression(X, X @ [1.0, 0.5] + noise, family='normal'), draws=1000",
}
"""The other problem classes: Python makes the run folder that the command line is given."""

ANSWERS = {"optimal", "feasible", "complete"}


def only_json(done, code=0):
    """The value that standard output is, whole; nothing was written to standard error."""
    assert (done.code, done.err) == (code, ""), done
    return json.loads(done.out)


def only_events(done, code=0):
    """The events that the lines of standard output are."""
    assert (done.code, done.err) == (code, ""), done
    events = [json.loads(line) for line in done.out.splitlines()]
    assert all(isinstance(event["type"], str) for event in events)
    assert events[-1]["type"] == "finished"
    return events


def only_table(done, code=0):
    """The rows of a result: labels, two spaces, values in one column; then, if any, a table of coefficients."""
    assert (done.code, done.err) == (code, ""), done
    rows, _, summary = done.out.partition("\n\n")
    assert [
        line
        for line in summary.splitlines()
        if not re.fullmatch(r" {9,}mean  .*|\S+( +([-\d]\S*|yes))+ *|\.\.\. \d+ more rows", line)
    ] == []
    lines = rows.splitlines()
    width = len(lines[0]) - len(lines[0].removeprefix("problem").lstrip())
    assert [line for line in lines if line[width - 2 : width] != "  " or not line[0].islower()] == []
    return {line[:width].rstrip(): line[width:] for line in lines}


def only_lines(done, *patterns):
    """Every line of standard output is as one of these regular expressions, and each of them is one's."""
    assert (done.code, done.err) == (0, ""), done
    lines = [line.rstrip() for line in done.out.splitlines() if line.strip()]
    assert [line for line in lines if not any(re.fullmatch(pattern, line) for pattern in patterns)] == []
    assert [pattern for pattern in patterns if not any(re.fullmatch(pattern, line) for line in lines)] == []


def only_refusal(done, code):
    """The error that a refused command writes, and nothing else."""
    assert (done.code, done.out) == (code, ""), done
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    return done.err


def sample(name):
    """The words of a command line for a solver's sample."""
    file, *options = SOLVERS[name]
    return (SAMPLES / file, *options)


def generated(kind, installed, folder):
    """A small instance of that kind, written there."""
    done = installed.quintet("generate", kind, *GENERATED[kind], cwd=folder)
    assert (done.code, done.err) == (0, "")
    file = folder / f"{kind}.{'csv' if kind == 'probit' else 'txt'}"
    file.write_text(done.out, encoding="utf-8")
    return file


def some(names, default, *more):
    """Cases of which only those by default are not left to the whole suite."""
    return [pytest.param(name, marks=FULL if name not in (default, *more) else ()) for name in names]


@pytest.mark.parametrize("name", some(SOLVERS, "branch_and_bound", "knapsack", "linprog"))
def test_solve_prints_json_and_nothing_else(name, installed, tmp_path):
    result = only_json(installed.quintet("solve", *sample(name), "--json", cwd=tmp_path))
    assert result["status"] in ANSWERS


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", GENERATED)
def test_what_is_generated_is_solved(kind, installed, tmp_path):
    file = generated(kind, installed, tmp_path)
    result = only_json(installed.quintet("solve", file, "--json", cwd=tmp_path))
    assert result["status"] in ANSWERS
    assert result["solution"] is not None


@pytest.mark.few(1)
@pytest.mark.parametrize("name", IN_PYTHON)
def test_a_run_folder_of_each_other_class_is_solved_again(name, installed, tmp_path):
    lines = [
        "import numpy as np",
        "import quintet as qt",
        "X, noise = np.random.default_rng(1).normal(size=(40, 2)), np.random.default_rng(2).normal(size=40)",
        "y = X[:, 0] > noise",
        f"qt.solve({IN_PYTHON[name]}, run_folder='run')",
    ]
    assert installed.execute("\n".join(lines), tmp_path) == Finished(0, "", "")
    result = only_json(installed.quintet("resume", "run", "--from-start", "--json", cwd=tmp_path))
    assert result["status"] in ANSWERS


@FULL
@pytest.mark.parametrize("file", MORE_SAMPLES)
def test_every_other_sample_is_solved(file, installed, tmp_path):
    for only, *words in ((only_json, "--json"), (only_table,), (only_events, "--events", "-")):
        done = installed.quintet("solve", SAMPLES / file, "--time-limit", "5", *words, cwd=tmp_path)
        found = only(done, done.code)
        status = (found[-1] if only is only_events else found)["status"].replace(" ", "_")
        assert (status, done.code) in {*((answer, 0) for answer in ANSWERS), ("time_limit", 0), ("time_limit", 4)}


@pytest.mark.parametrize("kind", some(("atsp", "flowshop", "qap", "tardiness", "linear_ordering"), "atsp"))
def test_estimates_are_json_or_sentences(kind, installed, tmp_path):
    file = generated(kind, installed, tmp_path)
    assert isinstance(only_json(installed.quintet("estimate", file, "--json", cwd=tmp_path)), dict)
    sentences = (r"[a-zA-Z ]+ \S+: \d+ .*", r"(\d+ nodes|about [\d.]+ s).*")
    only_lines(installed.quintet("estimate", file, cwd=tmp_path), *sentences)


def test_devices_and_solvers_are_listed(installed, tmp_path):
    devices = only_json(installed.quintet("devices", "--json", cwd=tmp_path))
    rows = [rf"{device['id']} +.*" for device in devices["devices"]]
    missing = [re.escape(why) for why in devices["missing"].values()]
    only_lines(installed.quintet("devices", cwd=tmp_path), r"id +name +driver +memory +units +.*", *rows, *missing)
    solvers = only_json(installed.quintet("solvers", "--json", cwd=tmp_path))
    assert {solver["name"] for solver in solvers["solvers"]} == set(SOLVERS)


def test_a_sweep_prints_its_table(installed, tmp_path):
    generated("knapsack", installed, tmp_path)
    (tmp_path / "sweep.toml").write_text('problems = ["*.txt"]\nseeds = 2\n', encoding="utf-8")
    only_lines(installed.quintet("sweep", "sweep.toml", "--dry-run", cwd=tmp_path), r"knapsack seed [01]")
    done = installed.quintet("sweep", "sweep.toml", "--output", "runs", cwd=tmp_path)
    only_lines(done, r"[12]/2 +knapsack seed [01]: optimal, \d+ .*", "2 of 2 runs")


def test_a_proof_is_verified_in_sentences(installed, tmp_path):
    proof = SAMPLES / "proofs" / "VFR20_5_1.json"
    sentences = (r"  (the|8|no) .*",)
    only_lines(installed.quintet("verify", proof, "--samples", "1", cwd=tmp_path), re.escape(str(proof)), *sentences)
    found = only_json(installed.quintet("verify", proof, "--samples", "0", "--json", cwd=tmp_path))
    assert (found["verdict"], found["name"], found["refuted"]) == ("verified", str(proof), [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bench", "knapsack", "--batch", "2"), "by bounds alone"),
        (("tune", "boa", "onemax", "--genes", "20", "--runs", "1", "--max-parents", "1"), "individuals solve 1 of 1"),
        (("reproduce", "pdas", "--profile", "quick", "--folder", "report"), "report.html"),
        pytest.param(("bench", "linprog", "--size", "20x40", "--batch", "0"), "20", marks=FULL),
        pytest.param(("bench", "cluster", "--workers", "20", "--tasks", "2"), "20", marks=FULL),
    ],
    ids=["bench", "tune", "reproduce", "bench linprog", "bench cluster"],
)
def test_measurements_are_tables_and_sentences(words, said, installed, tmp_path):
    done = installed.quintet(*words, cwd=tmp_path)
    only_lines(done, r"[┏┡└┃│].*|[ a-zA-Z0-9(%].*")
    assert said in done.out
    assert not re.search(r"running highs|copyright|pocl|warning", done.out, re.IGNORECASE)


@FULL
def test_the_samples_of_a_demonstration_are_named_beside_its_table(installed, tmp_path):
    done = installed.quintet("demo", cwd=tmp_path)
    heading, *rows = done.out.splitlines()
    assert (done.code, heading.split()[:3]) == (0, ["sample", "solver", "status"])
    assert {row.split()[1]: row.split()[-1] for row in rows}.items() <= {
        (name, said) for name in SOLVERS for said in ("right", "answered")
    }
    assert {line.split(":")[0] for line in done.err.splitlines()} == set(SOLVERS)


def test_the_app_refuses_what_it_cannot_open_before_a_window(installed, tmp_path):
    done = installed.quintet("gui", *sample("knapsack"), "--as", "Sonnet", cwd=tmp_path, QT_QPA_PLATFORM="offscreen")
    assert "Sonnet" in only_refusal(done, 2)


def test_exit_codes_are_the_documented_ones(installed, tmp_path):
    knapsack = sample("knapsack")
    assert "no.txt" in only_refusal(installed.quintet("solve", "no.txt", "--json", cwd=tmp_path), 2)
    assert "--sede" in only_refusal(installed.quintet("solve", *knapsack, "--sede", "1", cwd=tmp_path), 2)
    cuda = ("--backend", "cuda", "--json")
    assert "CUDA" in only_refusal(
        installed.quintet("solve", *knapsack, *cuda, cwd=tmp_path, CUDA_VISIBLE_DEVICES=""), 3
    )
    stopped = installed.quintet("solve", *sample("gibbs"), "--time-limit", "0.01", "--json", cwd=tmp_path)
    assert (stopped.code, stopped.err, json.loads(stopped.out)["status"]) == (4, "", "time_limit")


@pytest.mark.parametrize("name", some(SOLVERS, "knapsack"))
def test_solve_and_replay_print_a_table_or_events_and_nothing_else(name, installed, tmp_path):
    recorded = ("replay", SAMPLES / "recorded" / name, "--speed", "0")
    for words in (("solve", *sample(name)), recorded):
        rows = only_table(installed.quintet(*words, cwd=tmp_path))
        finished = only_events(installed.quintet(*words, "--events", "-", cwd=tmp_path))[-1]
        assert finished["status"] == rows["status"].replace(" ", "_")
        assert words is recorded or rows["status"] in ANSWERS
