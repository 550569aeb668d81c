"""One rule for seeds: 0 <= seed < 2^64, for every solver and generator, checked before a device is opened."""

import pytest
from pydantic import ValidationError

import engine
from engine.devices.pool import pool
from engine.errors import OptionError
from engine.solvers import discover
from tests.support.lasting import SMALL

pytestmark = pytest.mark.smoke

LARGEST = 2**64 - 1


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("seed", [-1, 2**64, 2**200, 1.5, "x", True])
def test_a_seed_that_is_no_64_bit_number_is_refused_before_a_device_is_opened(name, seed, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "_open", lambda info: pytest.fail("a device was opened"))
    with pytest.raises(
        OptionError, match=r"^seed must be (a whole number|at least 0|less than 18446744073709551616); got"
    ):
        engine.solve(SMALL[name].problem(), seed=seed, run_folder=tmp_path / "r", **SMALL[name].options)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("name", SMALL)
def test_the_largest_seed_is_taken(name):
    assert engine.solve(SMALL[name].problem(), seed=LARGEST, **SMALL[name].options).seed == LARGEST


def test_generators_have_the_same_rule():
    generators = [generator for solver in discover().values() for generator in solver.generators.values()]
    seeded = [generator for generator in generators if "seed" in generator.options.model_fields]
    assert len(seeded) > 5
    for generator in seeded:
        for seed in (-1, 2**64):
            with pytest.raises(ValidationError):
                generator.options(seed=seed)
