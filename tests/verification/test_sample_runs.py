"""Runs of the bundled samples are verified, as far as they can be."""

import pytest

import engine
from engine.runs.folder.run_folder import read_problem
from engine.util.paths import folder_of


@pytest.mark.full
@pytest.mark.parametrize(
    ("sample", "options", "code"),
    [
        ("linprog/blend.mps", {}, 0),
        ("knapsack/bounded.txt", {}, 0),
        ("knapsack/strongly-2000.csv", {}, 0),
        ("boa/nk.txt", {}, 0),
        ("branch_and_bound/crane-13.atsp", {}, 0),
        ("branch_and_bound/grid-10.dat", {}, 6),
        ("branch_and_bound/ta030.txt", {"upper_bound": 2179}, 6),
        ("gibbs/spam.csv", {"draws": 1000}, 0),
    ],
)
def test_runs_of_the_samples_are_verified(sample, options, code, tmp_path):
    problem = read_problem(folder_of("samples") / sample)
    result = engine.solve(problem, run_folder=tmp_path / "run", seed=1, **options)
    assert not result.status.stopped
    found = engine.verify(tmp_path / "run")
    assert found.exit_code == code, found
