"""Optimised kernels give what unoptimised ones give, which the other tests run by default where PoCL compiles them."""

import weakref

import numpy as np
import pytest

import engine
from engine.devices.opencl import device as opencl
from engine.generators.linprog import GeneratorOptions, generate

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((60, 3))
WEIGHTS = RANDOM.integers(20, 200, 40)
CASES = {
    "boa": (engine.BOA.nk(40, 4, 1, seed=2), {"population": 100, "max_generations": 3, "flips": 20}),
    "branch_and_bound": (engine.Flowshop(RANDOM.integers(1, 99, (5, 8))), {"initial": "infinity", "ivms": 64}),
    "gibbs": (engine.HorseshoeLogit(X, X[:, 0] > X[:, 1]), {"draws": 6, "warmup": 6, "chains": 2, "kernel": "hmc"}),
    "knapsack": (engine.Knapsack(WEIGHTS + 7, WEIGHTS, int(WEIGHTS.sum()) // 2), {"variant": "rows", "reduce": False}),
    "linprog": (generate(GeneratorOptions(type="dense", m=12, n=20, seed=1)), {"method": "mpc", "presolve": False}),
}


@pytest.mark.cpu
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::engine.errors.QuintetWarning")
def test_optimised_kernels_give_what_unoptimised_ones_give(device, monkeypatch, name):
    monkeypatch.setattr(opencl, "Beside", lambda index: None)  # they are optimised before they run
    problem, options = CASES[name]
    answers = []
    for flags in ("-cl-opt-disable", ""):
        monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", flags)
        monkeypatch.setattr(opencl, "_CONTEXTS", weakref.WeakValueDictionary())
        with engine.Engine(devices=[device.info.id]) as owner:
            answers.append(owner.solve(problem, seed=3, **options))
    plain, optimised = answers
    assert optimised.counters.get("nodes") == plain.counters.get("nodes")
    assert optimised.objective == pytest.approx(plain.objective)
    drawn = [result.arrays.get("beta", result.solution) for result in answers]
    assert np.allclose(*drawn, rtol=1e-5, atol=1e-7)
