"""Sequences of low autocorrelation: energies and moves by definition, and the known optima."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import engine
from engine.devices import Member
from engine.errors import OptionError, ProblemError
from engine.solvers.boa.device.programs import shapes_for
from engine.solvers.boa.fitness.autocorrelation import Autocorrelation

pytestmark = pytest.mark.usefixtures("unoptimized")


def energies(bits: np.ndarray) -> np.ndarray:
    signs, n = 2 * bits.astype(np.int64) - 1, bits.shape[1]
    return np.array([sum(int(s[k:] @ s[: n - k]) ** 2 for k in range(1, n)) for s in signs])


@pytest.mark.parametrize("n", [2, 3, 7, 11])
def test_the_least_energy_of_all_sequences_is_the_stated_one(n: int) -> None:
    every = np.array(list(itertools.product((0, 1), repeat=n)), np.uint8)
    fitness = Autocorrelation(n)
    assert np.array_equal(fitness.keys(every), -energies(every))
    assert fitness.best_key == -energies(every).min()


def test_lengths_and_rules_that_do_not_fit_are_refused(device: Member) -> None:
    for n in (1, 1025):
        with pytest.raises(ProblemError, match=f"a sequence must have from 2 to 1024 elements; got {n}"):
            Autocorrelation(n)
    with pytest.raises(OptionError, match="local_search = walk is not for sequences"):
        engine.solve(engine.BOA(Autocorrelation(9)), local_search="walk")
    assert shapes_for(device.info.capabilities).improve_local_bytes >= 24 * 1024  # the longest fits
