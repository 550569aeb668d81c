"""``quintet sweep``: every combination is run once, and an interrupted sweep continues."""

import csv
import shutil
from pathlib import Path

import pytest

from engine import cli
from engine.api.sweep import Sweep, is_sweep, parse_seeds, read_sweep
from engine.errors import InputError
from engine.runs.folder.run_folder import RunFolder
from tests.support import counting


@pytest.fixture(autouse=True)
def _counting(monkeypatch):
    counting.install(monkeypatch)


@pytest.fixture
def file(tmp_path):
    for count in (20, 30):
        (tmp_path / f"count{count}.txt").write_text(f"count {count} {counting.expected(count)}\n")
    path = tmp_path / "sweep.toml"
    path.write_text('problems = ["count*.txt"]\nseeds = "3-4"\ntime_limit = 60\n[options]\nstep = [1, 2]\n')
    return path


def table(folder):
    with (folder / "table.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_every_combination_is_run_once(file, tmp_path, capsys):
    assert cli.command_line(["sweep", str(file), "--output", str(tmp_path / "out")]) == 0
    rows = table(tmp_path / "out")
    found = [(Path(row["problem"]).stem, row["step"], row["seed"]) for row in rows]
    expected = [(name, step, seed) for name in ("count20", "count30") for step in "12" for seed in "34"]
    assert found == expected
    assert {row["status"] for row in rows} == {"optimal"}
    sums = [counting.expected(int(name[5:]), int(seed)) for name, _, seed in expected]
    assert [int(row["objective"]) for row in rows] == sums
    folders = sorted(path for path in (tmp_path / "out").iterdir() if path.is_dir())
    assert [RunFolder.open(folder).description["settings"]["seed"] for folder in folders] == [3, 4] * 4
    assert "8 of 8 runs" in capsys.readouterr().out


def test_a_second_sweep_runs_only_what_is_missing(file, tmp_path, capsys):
    words = ["sweep", str(file), "--output", str(tmp_path / "out")]
    cli.command_line(words)
    first = table(tmp_path / "out")
    capsys.readouterr()
    shutil.rmtree(next((tmp_path / "out").glob("00003*")))
    (next((tmp_path / "out").glob("00005*")) / "result.json").unlink()  # as if it had been killed
    assert cli.command_line(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [place for place, line in enumerate(lines[:8], start=1) if "as before" not in line] == [3, 5]
    second = table(tmp_path / "out")
    assert [row["objective"] for row in second] == [row["objective"] for row in first]
    assert second[0] == first[0]


def test_runs_with_other_options_are_not_taken_for_those_of_this_sweep(file, tmp_path, capsys):
    words = ["sweep", str(file), "--output", str(tmp_path / "out")]
    file.write_text(file.read_text().replace("step = [1, 2]", "step = 1"))
    cli.command_line(words)
    file.write_text(file.read_text().replace("step = 1", "step = 2"))
    assert cli.command_line(words) == 2
    assert "has a run with other options" in capsys.readouterr().out


def test_a_failure_stands_in_its_place(file, tmp_path):
    (tmp_path / "count20.txt").write_text("count many\n")
    assert cli.command_line(["sweep", str(file), "--output", str(tmp_path / "out")]) == 2
    rows = table(tmp_path / "out")
    assert [row["status"] for row in rows] == 4 * ["failed"] + 4 * ["optimal"]
    assert all(row["message"] for row in rows[:4])


def test_a_dry_run_lists_the_runs(file, tmp_path, capsys):
    assert cli.command_line(["sweep", str(file), "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "count20 step=1 seed 4"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("seeds = 2", "problems must be a list"),
        ('problems = ["missing*.txt"]', "no file matches 'missing"),
        ('problems = ["count20.txt"]\nseed = 3', "unknown key 'seed'"),
        ('problems = ["count20.txt"]\nseeds = "5-1"', "seeds must be"),
        ('problems = ["count20.txt"]\nseeds = [1.5]', "seeds must be"),
        ('problems = ["count20.txt"]\nseeds = 0', "at least one seed"),
        ('problems = ["count20.txt"]\nseeds = 200000', "at most 100 000"),
        ('problems = ["count20.txt"]\n[options]\nstep = []', "step has no value"),
        ("problems = [", "is not a TOML file"),
    ],
)
def test_a_faulty_description_is_refused(file, text, reason):
    file.write_text(text)
    with pytest.raises(InputError, match=reason):
        read_sweep(file)


def test_seeds_and_descriptions(file, tmp_path):
    assert parse_seeds(3) == [0, 1, 2]
    assert parse_seeds("1-3, 7") == [1, 2, 3, 7]
    assert parse_seeds([5, 5, 2]) == [5, 2]
    assert is_sweep(file)
    assert not is_sweep(tmp_path / "count20.txt")
    names = [run.folder_name for run in Sweep((Path("a b/c.txt"),), (1, 2), {"x": ["/", "y"]}).runs()]
    assert len(set(names)) == 4
    assert all("/" not in name and " " not in name for name in names)


def test_patterns_are_read_as_written_whatever_the_folder_is_called(tmp_path):
    folder = tmp_path / "runs [1]"
    folder.mkdir()
    for name in ("a1.txt", "a2.txt"):
        (folder / name).write_text("")
    path = folder / "sweep.toml"
    path.write_text('problems = ["a*.txt"]\n', encoding="utf-8-sig")  # with the mark that some editors write
    assert is_sweep(path)
    assert [problem.name for problem in read_sweep(path).problems] == ["a1.txt", "a2.txt"]
