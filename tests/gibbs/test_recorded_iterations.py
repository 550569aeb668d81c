"""Iterations that are played from recordings: the same draws to the last bit, whatever changes between iterations."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.devices import Member
from engine.devices.recording import Recording, Recordings
from engine.solvers.gibbs.moves import hamiltonian
from tests.engines import engine_of
from tests.gibbs.test_gibbs_solver import stopped_soon


def problem_of(name: str) -> engine.Problem:
    random = np.random.default_rng(4)
    X = random.standard_normal((40, 60) if name == "wide" else (400, 8))
    X[:, 0] = X[:, 0] > 1.2
    X[:, 5] = X[:, 4] + 0.01 * X[:, 5]  # a pair, and columns with tails, for moves along lines
    margins = X[:, 1] - X[:, 0] + random.standard_normal(len(X))
    if name == "student":
        return engine.HorseshoeRegression(X, margins, family="student")
    return (engine.HorseshoeLogit if name == "logit" else engine.HorseshoeProbit)(X, margins > 0)


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "hmc": ("probit", {"kernel": "hmc"}),
    "hmc_sparse": ("logit", {"kernel": "hmc", "storage": "sparse"}),
    "hmc_student": ("student", {"kernel": "hmc"}),
    "px": ("probit", {"kernel": "px"}),
    "gibbs_sparse": ("probit", {"kernel": "gibbs", "storage": "sparse"}),
    "px_wide": ("wide", {"kernel": "px", "provider": "kernels"}),
}
OPTIONS: dict[str, Any] = {"draws": 60, "warmup": 150, "chains": 2, "seed": 3}


@pytest.mark.filterwarnings("ignore::engine.errors.QuintetWarning")
@pytest.mark.parametrize("case", CASES)
def test_recordings_change_no_bit_of_the_draws(device: Member, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, options = CASES[case]
    if case.startswith("hmc"):  # so that iterations are of two kinds
        monkeypatch.setattr(hamiltonian, "rescale_interval", lambda rows: 3)
    problem, plays = problem_of(name), itertools.count()
    play = Recording.play

    def counted(self: Recording) -> None:
        next(plays)
        play(self)

    monkeypatch.setattr(Recording, "play", counted)
    played = engine_of(device).solve(problem, **options, **OPTIONS)
    assert next(plays) > 150
    monkeypatch.setattr(Recordings, "run", lambda self, key, work: work())
    plain = engine_of(device).solve(problem, **options, **OPTIONS)
    assert next(plays) < 300
    for array in ("beta", "log_tau", "quantiles"):
        assert np.array_equal(played.arrays[array], plain.arrays[array]), array


@pytest.mark.filterwarnings("ignore::engine.errors.QuintetWarning")
@pytest.mark.parametrize("case", ["hmc", "px"])
def test_a_run_goes_on_with_other_recordings_to_the_same_draws(device: Member, case: str, tmp_path: Path) -> None:
    name, options = CASES[case]
    problem, owner = problem_of(name), engine_of(device)
    chosen = {**options, **OPTIONS, "draws": 300}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recordings, "run", lambda self, key, work: work())
        plain = owner.solve(problem, **chosen)
        cut = stopped_soon(lambda: owner.solve(problem, run_folder=tmp_path / "run", **chosen))
    assert cut.status == "interrupted"
    result = owner.resume(tmp_path / "run").wait()
    assert np.array_equal(result.arrays["beta"], plain.arrays["beta"])


@pytest.mark.filterwarnings("ignore::engine.errors.QuintetWarning")
@pytest.mark.parametrize("case", ["hmc", "hmc_student", "px"])
def test_streams_beside_each_other_are_recorded(device: Member, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Factorisations on streams of their own, as on a GPU."""
    from engine.solvers.gibbs.device.matrices import Matrices

    name, options = CASES[case]
    problem = problem_of(name)
    alone = engine_of(device).solve(problem, **options, **OPTIONS)
    original = Matrices._grouped

    def concurrent(self: Matrices, algebra: Any) -> Any:
        self.concurrent = True
        return original(self, algebra)

    monkeypatch.setattr(Matrices, "_grouped", concurrent)
    beside = engine_of(device).solve(problem, **options, **OPTIONS)
    assert np.array_equal(beside.arrays["beta"], alone.arrays["beta"])
