"""The kernel ``hmc`` where X has more columns than rows: trajectories of the latent normals, with beta integrated out.

That they leave the posterior as it is is tested in ``test_invariance.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import log_ndtr

import engine
from engine.devices import Member
from engine.solvers.gibbs.choice import with_kernel
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.validate import settings_for
from tests.support.engines import engine_of
from tests.support.stopping import stop_at


def wide(rows: int, columns: int) -> engine.HorseshoeProbit:
    """A probit target of the first three of so many columns, whose values half precision can hold."""
    random = np.random.default_rng(5)
    X = np.round(16.0 * random.standard_normal((rows, columns))) / 16.0
    return engine.HorseshoeProbit(X, X[:, :3] @ [2.0, -2.0, 1.0] + random.standard_normal(rows) > 0)


@pytest.mark.parametrize(
    ("shape", "family", "options", "latent"),
    [
        ((20, 40), "probit", {}, True),
        ((20, 20), "probit", {}, True),  # with the intercept
        ((20, 20), "probit", {"intercept": False}, False),
        ((20, 40), "normal", {}, True),
        ((20, 40), "student", {}, True),
        ((20, 38), "normal", {}, False),
        ((20, 40), "logit", {}, False),
        ((20, 40), "probit", {"storage": "float16"}, False),
        ((20, 40), "probit", {"storage": "sparse"}, False),
        ((20, 40), "probit", {"streaming": "always"}, False),
        ((20, 40), "probit", {"kernel": "px"}, False),
    ],
)
def test_latent_normals_are_moved_where_these_are_few_and_x_is_on_the_device(
    shape: tuple[int, int], family: str, options: dict[str, Any], latent: bool
) -> None:
    X = np.random.default_rng(1).standard_normal(shape)
    problem = engine.HorseshoeRegression(X, np.arange(shape[0]) % 2, family=family)
    chosen = with_kernel(problem, Options(**options))
    assert settings_for(Design.of(problem, chosen), chosen, 1).latent == latent


@pytest.mark.full
def test_both_trajectories_have_the_same_posterior(device: Member) -> None:
    """Half precision holds these values exactly, so that only the moves differ."""
    options: dict[str, Any] = {"slab": 1.0, "standardize": False, "draws": 1500, "chains": 8, "seed": 3}
    of_latent, of_beta = (
        engine_of(device).solve(wide(8, 12), storage=storage, **options) for storage in ("float32", "float16")
    )
    assert (of_latent.arrays["acceptance"] == 1.0).all()
    assert (of_beta.arrays["acceptance"] < 1.0).any()
    first, second = of_latent.arrays, of_beta.arrays
    error = np.hypot(first["mcse_mean"], second["mcse_mean"])
    assert np.abs((first["mean"] - second["mean"]) / error).max() < 4.5
    np.testing.assert_allclose(first["sd"], second["sd"], rtol=0.15)


@pytest.mark.full
def test_a_separable_wide_problem_mixes(device: Member) -> None:
    result = engine_of(device).solve(wide(60, 160), draws=400, seed=1)
    assert result.counters["least_ess"] > 70  # 27 with trajectories of beta
    assert result.arrays["separating"].size


def test_the_log_likelihood_is_that_of_the_draw(device: Member) -> None:
    problem = wide(10, 15)
    arrays = engine_of(device).solve(problem, draws=4, warmup=0, chains=2).arrays
    eta = (arrays["beta"][:, :, :1] + arrays["beta"][:, :, 1:] @ problem.X.T) * np.where(problem.y, 1.0, -1.0)
    np.testing.assert_allclose(arrays["lp"], log_ndtr(eta).sum(axis=2), rtol=1e-4, atol=1e-6)


@pytest.mark.full
def test_several_devices_make_the_draws_of_one(device: Member) -> None:
    problem, options = wide(20, 40), {"draws": 60, "warmup": 50, "seed": 4}
    one = engine_of(device).solve(problem, **options)
    two = engine_of(device, 2).solve(problem, **options)
    np.testing.assert_array_equal(one.arrays["beta"], two.arrays["beta"])


@pytest.mark.full
def test_a_stopped_run_goes_on_to_the_same_draws(
    device: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, options = wide(20, 40), {"draws": 150, "warmup": 100, "seed": 4}
    owner = engine_of(device)
    whole = owner.solve(problem, **options)
    with monkeypatch.context() as patch:
        stop_at(patch, lambda event: event.type == "progress" and event.phase == "sampling")
        cut = owner.solve(problem, run_folder=tmp_path / "run", **options)
    assert cut.status == "interrupted"
    again = owner.resume(tmp_path / "run").wait()
    assert again.status == "complete"
    np.testing.assert_array_equal(whole.arrays["beta"], again.arrays["beta"])
