"""Simulation-based calibration (Talts et al. 2018): the rank of the truth among the draws of a whole run is uniform.

The truth is from the prior, the data from the model. ``test_invariance.py`` tests one iteration, exactly; here are the
start, the warm-up and the units of results as well. A slab bounds the coefficients: chains of classes that are
separated, as they often are with the tails of the horseshoe, would take too long.
"""

import numpy as np
import pytest
from scipy import stats

import engine
from tests.support.engines import engine_of
from tests.support.invariance import INTERCEPT_SCALE, bounded_prior, slab_precisions, targets

REPLICATES, RANKS, BINS, LEVEL, SLAB = 96, 15, 8, 1e-5, 0.5
X = np.random.default_rng(6).standard_normal((40, 3))
OWN = {"ordinal": "thresholds", "counts": "dispersion", "normal": "sigma", "student": "sigma"}
CASES = [
    *(("hmc", family) for family in ("probit", "logit", *OWN)),
    *(("gibbs", "probit"), ("px", "probit"), ("cg", "probit"), ("cg", "logit")),
]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::engine.errors.QuintetWarning")
@pytest.mark.parametrize(("kernel", "family"), CASES)
def test_ranks_of_the_truth_are_uniform(device, kernel, family):
    random, ranks = np.random.default_rng(3), []
    prior = bounded_prior(random, 2 * REPLICATES, 3, 1, slab_precisions(X, True, SLAB))
    options = {"standardize": False, "slab": SLAB, "intercept_scale": INTERCEPT_SCALE, "chains": 2, "kernel": kernel}
    options |= {"warmup": 200, "draws": {"hmc": 150, "cg": 400}.get(kernel, 600)}
    replicates = REPLICATES // 2 if kernel == "cg" else REPLICATES  # whose iterations take launches
    for number, (beta, tau) in enumerate(zip(prior["beta"], prior["tau"], strict=True)):
        own = 2.0 * random.standard_normal() if family == "ordinal" else np.log(abs(random.standard_cauchy()))
        margins = beta[0] + X @ beta[1:]
        noise = random.logistic(size=40) if family == "logit" else random.standard_normal(40)
        y = targets(family, margins, [own], random) if family in OWN else (margins + noise > 0).astype(int)
        if len(np.unique(y)) < (3 if family == "ordinal" else 2) or len(ranks) == replicates:
            continue  # which the data tell, so that the others are calibrated as well
        found = engine_of(device).solve(engine.HorseshoeRegression(X, y, family), seed=number, **options).arrays
        truth, values = [*beta, np.log(tau)], [found["beta"], found["log_tau"][:, :, None]]
        if family in OWN:
            truth.append(np.exp((2.0 if family == "counts" else 1.0) * own))
            values.append(found[OWN[family]].reshape(2, -1, 1))
        draws = np.concatenate(values, axis=2).reshape(-1, len(truth))
        ranks.append((draws[np.linspace(0, len(draws) - 1, RANKS).astype(int)] < truth).sum(axis=0))
    assert len(ranks) > replicates // 2
    counts = [np.bincount(found * BINS // (RANKS + 1), minlength=BINS).tolist() for found in np.array(ranks).T]
    assert [one for one in counts if stats.chisquare(one).pvalue < LEVEL] == []
