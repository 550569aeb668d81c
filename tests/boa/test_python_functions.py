"""Local search of Python functions on the host, and the suite of IOHprofiler."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.devices import Member
from engine.solvers.boa.device.state import MOST_GENERATIONS, STATUS, Slice
from engine.solvers.boa.division import _advanced
from engine.solvers.boa.host import HostEvaluation, choose_host_improvement
from engine.solvers.boa.network import bit_planes, individuals
from engine.solvers.boa.options import Improvement, Options, Parameters, resolve
from tests.support.examples import examples


class Random:
    """A random quadratic function of bits, with whole values, that counts its evaluations."""

    def __init__(self, n: int, seed: int) -> None:
        self.matrix = np.random.default_rng(seed).integers(-9, 10, (n, n))
        self.evaluations = 0

    def __call__(self, bits: np.ndarray) -> np.ndarray:
        self.evaluations += len(bits)
        wide = bits.astype(np.int64)
        return np.asarray(np.einsum("mi,ij,mj->m", wide, self.matrix, wide))


def parameters(n: int, population: int = 20) -> Parameters:
    return resolve(Options(), n, population, seed=3)


@examples(25)
@given(n=st.integers(2, 14), seed=st.integers(0, 99))
def test_improved_individuals_have_their_values(n: int, seed: int) -> None:
    function = Random(n, seed)
    bits = np.random.default_rng(seed).integers(0, 2, (6, n)).astype(np.uint8)
    host = HostEvaluation(function, Improvement("first", 1000 * n, 0, 1))
    values, before = function(bits), function.evaluations
    found = host.improve(bits, values, parameters(n), 4)
    assert found.evaluations == function.evaluations - before
    assert np.array_equal(found.keys, function(found.bits))
    assert (found.keys >= values).all()
    assert np.array_equal(host.improve(bits, values, parameters(n), 4).bits, found.bits), "generations have one outcome"


def test_local_search_keeps_to_its_share_and_its_evaluations() -> None:
    function = Random(12, 1)
    bits = np.random.default_rng(2).integers(0, 2, (40, 12)).astype(np.uint8)
    values = function(bits)
    one = HostEvaluation(function, Improvement("first", 48, 0, 1, 1 / 40)).improve(bits, values, parameters(12), None)
    changed = np.flatnonzero((one.bits != bits).any(axis=1))
    assert list(changed) == [int(np.argmax(values))], "the best individual alone"
    limited = HostEvaluation(function, Improvement("first", 480, 0, 1), most_evaluations=100)
    before = function.evaluations
    found = limited.improve(bits, values, parameters(12), None)
    assert 0 < found.evaluations == function.evaluations - before <= 100
    assert np.array_equal(found.keys, function(found.bits))


@given(count=st.integers(1, 70), n=st.integers(1, 9), seed=st.integers(0, 9))
def test_bit_planes_are_the_inverse_of_individuals(count: int, n: int, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, (count, n)).astype(np.uint8)
    planes = bit_planes(bits, 3)
    assert planes.shape == (n, 3)
    assert np.array_equal(individuals(planes, count), bits)
    assert not individuals(planes, 96)[count:].any()


def test_a_run_counts_the_evaluations_of_local_search_and_keeps_its_limit(device: Member) -> None:
    function = Random(16, 5)
    problem = engine.BOA(function, 16)
    options = {"local_search": "first", "population": 32, "max_evaluations": 3000, "max_generations": 8, "patience": 50}
    result = engine.solve(problem, devices=[device.info.id], **options)
    assert result.counters["evaluations"] == function.evaluations <= 3000
    assert result.counters["flips"] > 0
    assert function(result.solution[None])[0] == result.objective
    assert list(result.arrays["history"][:, 2]) == sorted(result.arrays["history"][:, 2])
    again = engine.solve(engine.BOA(Random(16, 5), 16), devices=[device.info.id], **options)
    assert again.counters == result.counters
    assert np.array_equal(again.solution, result.solution)


def test_a_long_slice_of_an_island_counts_the_evaluations_of_every_generation() -> None:
    def advance(count: int) -> Callable[[], Slice]:
        rows = np.zeros(count, STATUS.dtype)
        return lambda: Slice(rows, means=[0.5] * count, extra=[3] * count)

    total = _advanced(cast(Any, SimpleNamespace(reason=0, advance=advance)), MOST_GENERATIONS + 6)
    assert len(total.history) == len(total.means) == len(total.extra) == MOST_GENERATIONS + 6


def test_local_search_is_on_where_evaluations_are_made_one_by_one() -> None:
    def ones(bits: np.ndarray) -> Any:
        return bits.sum(axis=-1)

    one_by_one = engine.BOA(ones, 20, each=True)
    auto = choose_host_improvement(one_by_one.fitness, Options())
    assert auto == Improvement("first", 80, 0, 1, 0.0)
    assert [auto.count(many) for many in (1, 50, 10_000)] == [1, 1, 1], "the best individual alone"
    assert choose_host_improvement(one_by_one.fitness, Options(local_search="none")) is None
    share = choose_host_improvement(one_by_one.fitness, Options(local_search_share=0.1))
    assert share is not None
    assert share.count(50) == 5
    others = [engine.BOA(ones, 20), engine.BOA(ones, 20, each=True, processes=2), engine.BOA("hiff", 16)]
    others.append(engine.BOA.snippet("fitness = BIT(0);", 20))
    for problem in others:
        assert choose_host_improvement(problem.fitness, Options()) is None
        assert choose_host_improvement(problem.fitness, Options(local_search="first")) is not None
