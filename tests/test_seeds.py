"""One rule for seeds: 0 <= seed < 2^64, for every solver and generator, checked before a device is opened."""

import numpy as np
import pytest
from pydantic import ValidationError

import engine
from engine.devices.pool import pool
from engine.errors import OptionError
from engine.solvers import discover

pytestmark = pytest.mark.smoke

LARGEST = 2**64 - 1


def small(name):
    """A problem that this solver solves in a moment, and options to do so."""
    rng = np.random.default_rng(1)
    if name == "knapsack":
        return engine.Knapsack([60, 100, 120], [10, 20, 30], 50), {}
    if name == "branch_and_bound":
        return engine.Flowshop(rng.integers(1, 9, (2, 5))), {}
    if name == "boa":
        return engine.BOA("onemax", 8), {"population": 16, "max_generations": 2}
    if name == "gibbs":
        return engine.HorseshoeProbit(rng.normal(size=(12, 2)), np.arange(12) % 2), {
            "draws": 4,
            "warmup": 4,
            "chains": 1,
        }
    assert name == "linprog"
    return engine.LinearProgram([1.0, 1.0], A_ub=[[-1.0, -2.0]], b_ub=[-2.0]), {}


@pytest.mark.parametrize("name", sorted(discover()))
@pytest.mark.parametrize("seed", [-1, 2**64, 2**200, 1.5, "x", True])
def test_a_seed_that_is_no_64_bit_number_is_refused_before_a_device_is_opened(name, seed, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "_open", lambda info: pytest.fail("a device was opened"))
    problem, options = small(name)
    with pytest.raises(
        OptionError, match=r"^seed must be (a whole number|at least 0|less than 18446744073709551616); got"
    ):
        engine.solve(problem, seed=seed, run_folder=tmp_path / "r", **options)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("name", sorted(discover()))
def test_the_largest_seed_is_taken(name):
    problem, options = small(name)
    assert engine.solve(problem, seed=LARGEST, **options).seed == LARGEST


def _makers():
    return [
        pytest.param(generator, id=kind)
        for solver in discover().values()
        for kind, generator in solver.generators.items()
        if "seed" in generator.options.model_fields
    ]


@pytest.mark.parametrize("generator", _makers())
def test_generators_have_the_same_rule(generator):
    with pytest.raises(ValidationError):
        generator.options(seed=2**64)
    with pytest.raises(ValidationError):
        generator.options(seed=-1)
