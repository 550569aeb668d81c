"""Iterations that are played from recordings: the same draws to the last bit, whatever changes between iterations."""

import itertools
import logging
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.devices.graph import Recording, Recordings
from engine.numerics.linear_algebra import providers
from engine.solvers.gibbs.moves import hamiltonian, independence
from tests.support.engines import engine_of
from tests.support.invariance import lines_of
from tests.support.samplers import sampling_of, state_of

pytestmark = pytest.mark.filterwarnings("ignore::engine.errors.QuintetWarning")


def problem_of(name):
    random = np.random.default_rng(4)
    X = random.standard_normal((40, 60) if "wide" in name else (400, 8))
    X[:, 0] = X[:, 0] > 1.2
    X[:, 5] = X[:, 4] + 0.01 * X[:, 5]  # a pair, and columns with tails, for moves along lines
    margins = X[:, 1] - X[:, 0] + random.standard_normal(len(X))
    if name in ("student", "wide student"):
        return engine.HorseshoeRegression(X, margins, family="student")
    return (engine.HorseshoeLogit if name == "logit" else engine.HorseshoeProbit)(X, margins > 0)


CASES = {
    "hmc": ("probit", {"kernel": "hmc"}),
    "hmc_sparse": ("logit", {"kernel": "hmc", "storage": "sparse"}),
    "hmc_student": ("student", {"kernel": "hmc"}),
    "px": ("probit", {"kernel": "px"}),
    "gibbs_sparse": ("probit", {"kernel": "gibbs", "storage": "sparse"}),
    "px_wide": ("wide", {"kernel": "px", "provider": "kernels"}),
    "gibbs_wide": ("wide student", {"kernel": "gibbs", "provider": "kernels"}),
    "hmc_wide": ("wide", {"kernel": "hmc", "provider": "kernels"}),
}
OPTIONS = {"draws": 60, "warmup": 150, "chains": 2, "seed": 3}


@pytest.mark.few(1)
@pytest.mark.parametrize("case", CASES)
def test_recordings_change_no_bit_of_the_draws(device, case, monkeypatch):
    name, options = CASES[case]
    if case.startswith("hmc"):  # so that iterations are of two kinds, with all that there is
        monkeypatch.setattr(independence, "_FEWEST_COLUMNS", 1)
        monkeypatch.setattr(hamiltonian, "rescale_interval", lambda rows, columns: 3)
    problem, plays = problem_of(name), itertools.count()
    play = Recording.play

    def counted(self):
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


def drawn(device, problem):
    """Draws between which everything is changed that a run changes, and what was chosen in the end."""
    found = []
    with sampling_of(device, problem, chains=2, kernel="hmc", standardize=False) as sampler:
        design, iteration = sampler.design, 0
        q = design.layout.columns
        lines = lines_of(design, np.asarray(problem.y, bool))
        sampler.set_state(state_of(np.linspace(-0.3, 0.4, 2 * q).reshape(2, q)))

        def some():
            nonlocal iteration
            sampler.advance(iteration, 6, 0)
            found.append(sampler.collect()[1])
            iteration += 6

        def choose(steps):
            for index in sampler.workers.alive:
                sampler.workers.worker(index).hamiltonian.steps = steps

        changes = [
            lambda: None,
            lambda: sampler.adapt(averaging=False),
            lambda: sampler.adapt(averaging=True, restart=0.3),
            lambda: sampler.set_lines(lines),
            lambda: sampler.set_small(np.arange(q) % 2 == 1),
            lambda: sampler.set_small(np.arange(q) % 3 == 1),
            lambda: choose(5),
            sampler.take_weights,
            lambda: sampler.set_small(np.zeros(q, bool)),
            lambda: sampler.set_lines(replace(lines, nulls=0, pairs=lines.nulls + lines.pairs)),
            lambda: sampler.choose_steps(last=True),
            lambda: choose(2),
        ]
        for change in changes:
            change()
            some()
            some()
        return np.concatenate(found), sampler.adapted()


@pytest.mark.full
def test_whatever_changes_between_iterations_takes_effect(device, monkeypatch):
    monkeypatch.setattr(independence, "_FEWEST_COLUMNS", 1)
    monkeypatch.setattr(hamiltonian, "rescale_interval", lambda rows, columns: 3)
    played, chosen = drawn(device, problem_of("probit"))
    monkeypatch.setattr(Recordings, "run", lambda self, key, work: work())
    plain, expected = drawn(device, problem_of("probit"))
    for first in range(0, len(plain), 12):
        assert np.array_equal(played[first : first + 12], plain[first : first + 12]), f"after change {first // 12}"
    assert chosen.keys() == expected.keys()
    assert all(np.array_equal(chosen[name], expected[name]) for name in chosen)


@pytest.mark.few(1)
@pytest.mark.parametrize("case", ["hmc", "hmc_wide", "px", "px_wide"])
def test_calls_of_libraries_are_not_recorded(device, case, monkeypatch, caplog):
    name, options = CASES[case]
    monkeypatch.setattr(Recordings, "run", lambda self, key, work: pytest.fail("an iteration is recorded"))
    with caplog.at_level(logging.WARNING, "quintet"):
        libraries = [found for found in device.submit(providers).result() if found != "kernels"]
        if libraries and case.endswith("wide"):
            libraries.append("auto")
        for provider in libraries:
            engine_of(device).solve(problem_of(name), **{**options, **OPTIONS, "provider": provider, "draws": 20})
    assert not caplog.records
