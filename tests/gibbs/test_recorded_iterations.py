import itertools

import numpy as np
import pytest

import engine
from engine.devices.graph import Recording, Recordings
from engine.solvers.gibbs.moves import hamiltonian, independence
from tests.support.engines import engine_of

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
