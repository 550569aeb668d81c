"""``quintet demo``, ``generate`` and ``bench``; in this process."""

import sys

import pytest

from engine.solvers import discover
from tests.support import counting

pytestmark = pytest.mark.usefixtures("_quiet_surroundings")


@pytest.fixture
def sample_folder(tmp_path, monkeypatch):
    folder = tmp_path / "engine" / "_samples"
    folder.mkdir(parents=True)
    monkeypatch.setattr("engine.cli.samples.folder_of", lambda part: folder)
    return folder


def add_sample(folder, name, content, settings=""):
    (folder / f"{name}.txt").write_text(content)
    (folder / f"{name}.toml").write_text(f'problem = "{name}.txt"\n{settings}')


def test_demo_solves_every_sample_and_checks_the_answers(quintet, sample_folder):
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


def test_demo_without_samples_or_devices_says_so(quintet, sample_folder, monkeypatch):
    assert quintet("demo") == (2, "", "error: the samples are missing from this installation\n")
    add_sample(sample_folder, "one", "count 5")
    code, output, errors = quintet("demo", "--devices", "cuda:0")
    assert (code, output) == (2, "")
    assert errors.startswith("error: no CUDA device 0")


def test_generate_asks_for_a_file_on_a_terminal(quintet, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, output, errors = quintet("generate", "counting")
    assert (code, output) == (2, "")
    assert errors == "error: a file is needed for the instance: --output FILE; or --output - to see it here\n"
    assert quintet("generate", "counting", "--target", "30", "--output", "-") == (0, "count 30\n", "")


def test_generate_writes_an_instance_that_solve_takes(quintet):
    assert quintet("generate", "counting", "--target", "30") == (0, "count 30\n", "")
    assert quintet("generate", "--target=30", "--no-loud", "counting", "--output", "-")[1] == "count 30\n"
    code, output, errors = quintet("generate", "counting", "--output", "made.txt")
    assert (code, output, errors) == (0, "", "counting to 20 -> made.txt\n")
    assert quintet("solve", "made.txt")[0] == 0
    assert quintet("generate", "counting", "--output", "no/made.txt")[0] == 2
    code, output, _ = quintet("generate", "counting", "--help")
    assert code == 0
    assert "How far to count." in output


def test_bench_hands_its_arguments_on(quintet):
    assert quintet("bench", "counting")[0] == 0
    assert quintet("bench", "counting", "--quick", "a", "--help")[0] == 3


@pytest.mark.parametrize("name", [name for name, solver in discover().items() if solver.bench is not None])
def test_every_benchmark_takes_a_backend_and_several_devices(quintet, name):
    code, text, _ = quintet("bench", name, "--help")
    assert code == 0
    assert text.startswith(f"Usage: quintet bench {name} [OPTIONS]")
    assert "--backend [auto|cuda|opencl]" in text
    assert "--devices NAME" in text
