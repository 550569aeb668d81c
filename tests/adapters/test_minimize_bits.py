"""Functions of bits with a budget: every evaluation is counted, of noisy values the means decide."""

import time
from typing import Any

import numpy as np
import pytest

import engine
from engine.devices import Member
from engine.errors import OptionError


class Counted:
    """A function that counts its evaluations, with normal noise."""

    def __init__(self, noise: float = 0.0, seed: int = 0) -> None:
        self.evaluations = 0
        self.seen: list[bytes] = []
        self._noise, self._random = noise, np.random.default_rng(seed)

    def __call__(self, bits: np.ndarray) -> np.ndarray:
        rows = np.atleast_2d(bits)
        self.evaluations += len(rows)
        self.seen += [row.tobytes() for row in rows]
        values = rows.sum(axis=1) + self._noise * self._random.standard_normal(len(rows))
        return values if bits.ndim == 2 else float(values[0])


def test_function_without_noise_is_solved_and_no_string_is_evaluated_twice(device: Member) -> None:
    function = Counted()
    result = engine.maximize_bits(function, 25, budget=3000, devices=[device.info.id])
    assert result.value == result.solution.sum() == 25
    assert (result.standard_error, result.samples) == (0, 1)
    assert result.evaluations == result.strings == function.evaluations == len(set(function.seen)) <= 3000


@pytest.mark.parametrize("batch", [True, False])
def test_budget_is_never_exceeded(device: Member, batch: bool) -> None:
    for budget, noise in ((40, False), (200, 3)):
        function = Counted(noise=1.0 if noise else 0.0)
        result = engine.minimize_bits(function, 20, budget=budget, noise=noise, batch=batch, devices=[device.info.id])
        assert result.evaluations == function.evaluations <= budget
        assert result.status is engine.Status.ITERATION_LIMIT
        assert result.strings == len(set(function.seen))
        assert result.samples == function.seen.count(result.solution.tobytes())


def test_means_find_what_single_noisy_values_hide(device: Member) -> None:
    for seed in range(4):
        function, about = Counted(noise=2.0, seed=seed), {"seed": seed, "devices": [device.info.id]}
        result = engine.maximize_bits(function, 20, noise=True, budget=4000, **about)
        assert result.samples >= 8
        assert 0.05 < result.standard_error < 1
        assert result.solution.sum() >= 18
        assert abs(result.value - result.solution.sum()) < 5 * result.standard_error


@pytest.mark.few(1)
@pytest.mark.parametrize("batch", [True, False])
def test_a_time_limit_ends_the_comparison_too(device: Member, batch: bool) -> None:
    calls: list[float] = []

    def slow(bits: np.ndarray) -> Any:
        calls.append(time.monotonic())
        time.sleep(0.01)
        rows = np.atleast_2d(bits)
        values = rows.sum(axis=1) + np.random.default_rng(len(calls)).standard_normal(len(rows))
        return values if bits.ndim == 2 else float(values[0])

    given: dict[str, Any] = {"noise": True, "batch": batch, "devices": [device.info.id]}
    engine.minimize_bits(slow, 20, budget=100, **given)  # which compiles
    began = time.monotonic()
    result = engine.minimize_bits(slow, 20, budget=50_000, time_limit=3.0, **given)
    assert result.status is engine.Status.TIME_LIMIT
    assert sum(call > began + 3.0 for call in calls) <= 150  # a second and a half, where nothing else runs
    assert result.samples >= 1


def test_learned_network_is_returned(device: Member) -> None:
    def pairs(bits: np.ndarray) -> np.ndarray:
        return (bits[:, ::2] == bits[:, 1::2]).sum(axis=1)

    result = engine.maximize_bits(pairs, 12, budget=2000, population=300, devices=[device.info.id], max_generations=2)
    assert result.value == 6
    edges = {frozenset(edge) for edge in result.edges.tolist()}
    assert sum(frozenset((gene, gene + 1)) in edges for gene in range(0, 12, 2)) >= 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": True}, "noise needs a budget"),
        ({"noise": "x", "budget": 100}, "at least 2 evaluations of a good string; got 'x'"),
        ({"noise": 1, "budget": 100}, "at least 2 evaluations of a good string; got 1"),
        ({"budget": 0}, "budget must be at least 1 evaluation; got 0"),
        ({"noise": True, "budget": 10}, "budget must be at least 32 evaluations; got 10"),
        ({"budget": 10, "population": 20}, "at least 32 evaluations with these options; got 10"),
        ({"budget": 100, "time_limit": 1e-6, "backend": "opencl"}, "time_limit"),  # it leaves no evaluation
    ],
)
def test_numbers_that_make_no_sense_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        engine.minimize_bits(Counted(), 30, **arguments)
