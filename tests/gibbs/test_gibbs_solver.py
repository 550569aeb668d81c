"""The sampler as a whole: the posterior of the fixture, controls, checkpoints, devices, hard inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import engine
from engine.devices import Member


def fixture_data() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The data of the fixture, as its file says."""
    random = np.random.default_rng(20240)
    X = random.standard_normal((200, 10))
    beta = np.zeros(10)
    beta[:3] = 1.3, -1, 0.5
    y = X @ beta + random.standard_normal(200) > 0
    assert y.sum() == 88
    assert X.sum() == pytest.approx(-80.35001319190584)
    return X, y


PAPER: dict[str, Any] = {"standardize": False, "intercept": False}


@pytest.mark.parametrize("kernel", ["gibbs", "px", "ellipse"])
def test_the_posterior_is_that_of_independent_samplers(device: Member, shared_data: Path, kernel: str) -> None:
    X, y = fixture_data()
    summary = json.loads((shared_data / "gibbs" / "fixture.json").read_text())["summary"]
    expected = {row["name"]: row for row in summary}
    result = engine.solve(
        engine.HorseshoeProbit(X, y),
        devices=[device.info.id],
        backend=device.info.language,
        kernel=kernel,
        chains=8,
        draws=1500,
        warmup=200,
        seed=3,
        keep_scales=True,
        **PAPER,
    )
    arrays = result.arrays
    from engine.solvers.gibbs.diagnostics import diagnose

    columns = [arrays["beta"][:, :, j] for j in range(10)] + [arrays["log_tau"]]
    columns += [arrays["log_lambda"][:, :, j] for j in range(10)]
    names = [f"beta{j}" for j in range(10)] + ["log_tau"] + [f"log_lam{j}" for j in range(10)]
    draws = np.stack(columns, axis=2)
    found = diagnose(draws)
    for place, name in enumerate(names):
        error = np.hypot(found.mcse_mean[place], expected[name]["mcse"])
        assert abs(draws[:, :, place].mean() - expected[name]["mean"]) < 4 * error, name
        assert draws[:, :, place].std() == pytest.approx(expected[name]["sd"], rel=0.15), name
