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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("seeds = 2", "problems must be a list"),
        ('problems = ["missing*.txt"]', "no file matches 'missing"),
        ('problems = ["count20.txt"]\nseed = 3', "unknown key 'seed'"),
        ('problems = ["count20.txt"]\nseeds = "5-1"', "seeds must be"),
        ('problems = ["count20.txt"]\nseeds = 200000', "at most 100 000"),
        ('problems = ["count20.txt"]\n[options]\nstep = []', "step has no value"),
        ("problems = [", "is not a TOML file"),
    ],
)
def test_a_faulty_description_is_refused(file, text, reason):
    file.write_text(text)
    with pytest.raises(InputError, match=reason):
        read_sweep(file)


def sweep(file, folder):
    return cli.command_line(["sweep", str(file), "--output", str(folder)])


def test_every_combination_is_run_once_and_a_second_sweep_runs_only_what_is_missing(file, tmp_path, capsys):
    out = tmp_path / "out"
    assert sweep(file, out) == 0
    assert "8 of 8 runs" in capsys.readouterr().out
    first = table(out)
    found = [(Path(row["problem"]).stem, row["step"], row["seed"]) for row in first]
    assert found == [(name, step, seed) for name in ("count20", "count30") for step in "12" for seed in "34"]
    assert {row["status"] for row in first} == {"optimal"}
    assert [int(row["objective"]) for row in first] == [
        counting.expected(int(name[5:]), int(seed)) for name, _, seed in found
    ]
    folders = sorted(path for path in out.iterdir() if path.is_dir())
    assert [RunFolder.open(folder).description["settings"]["seed"] for folder in folders] == [3, 4] * 4
    shutil.rmtree(folders[2])
    (folders[4] / "result.json").unlink()  # as if it had been killed
    assert sweep(file, out) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [place for place, line in enumerate(lines[:8]) if "as before" not in line] == [2, 4]
    assert ([row["objective"] for row in table(out)], table(out)[0]) == ([row["objective"] for row in first], first[0])
    for step, code in ((1, 0), (2, 2)):  # an option of one value is in no folder's name
        file.write_text(f'problems = ["count20.txt"]\n[options]\nstep = {step}\n')
        assert sweep(file, tmp_path / "one") == code
    assert "has a run with other options" in capsys.readouterr().out


def test_a_failure_stands_in_its_place_and_a_dry_run_lists_the_runs(file, tmp_path, capsys):
    (tmp_path / "count20.txt").write_text("count many\n")
    assert sweep(file, tmp_path / "out") == 2
    rows = table(tmp_path / "out")
    assert [(row["status"], bool(row["message"])) for row in rows] == 4 * [("failed", True)] + 4 * [("optimal", False)]
    capsys.readouterr()
    assert cli.command_line(["sweep", str(file), "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "count20 step=1 seed 4"


def test_seeds_names_of_folders_and_patterns(tmp_path):
    assert [parse_seeds(seeds) for seeds in (3, "1-3, 7", [5, 5, 2])] == [[0, 1, 2], [1, 2, 3, 7], [5, 2]]
    names = [run.folder_name for run in Sweep((Path("a b/c.txt"),), (1, 2), {"x": ["/", "y"]}).runs()]
    assert len(set(names)) == 4
    assert all("/" not in name and " " not in name for name in names)
    folder = tmp_path / "runs [1]"  # which is no pattern
    folder.mkdir()
    (folder / "a1.txt").write_text("")
    path = folder / "sweep.toml"
    path.write_text('problems = ["a*.txt"]\n', encoding="utf-8-sig")  # with the mark that some editors write
    assert (is_sweep(path), is_sweep(folder / "a1.txt")) == (True, False)
    assert [problem.name for problem in read_sweep(path).problems] == ["a1.txt"]
