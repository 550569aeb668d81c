"""Many small problems in one launch: every answer proved, in every shape of the kernel."""

import threading
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine import Knapsack
from engine.base.batch import BatchControl
from engine.devices import DevicePool
from engine.errors import AuditError
from engine.references.knapsack import optimal_value
from engine.solvers.knapsack import SOLVER
from engine.solvers.knapsack.batch import MOST_CAPACITY, BatchWorker, Packed, solve_batch
from engine.solvers.knapsack.options import Options
from engine.solvers.knapsack.programs import MOST_BATCH_ITEMS, BatchShapes
from tests.support.examples import examples
from tests.support.knapsacks import assert_solved

KINDS = ("uncorrelated", "strong", "inverse", "subset sum", "equal", "even", "without profit", "steep", "too heavy")


def problem_of(kind, n, largest, random):
    weights = random.integers(1, largest + 1, n)
    profits = random.integers(1, largest + 1, n)
    if kind == "strong":
        profits = weights + largest // 10 + 1
    elif kind == "inverse":
        weights = profits + largest // 10 + 1
    elif kind == "subset sum":
        profits = weights
    elif kind == "equal":
        weights = np.full(n, largest // 2 + 1)
    elif kind == "even":
        weights, profits = 2 * weights, 2 * weights + random.integers(0, 2, n)
    elif kind == "without profit":
        profits = random.integers(0, 2, n)
    elif kind == "steep":
        weights, profits = random.integers(1, 9, n), random.integers(1, 10**6, n)
    elif kind == "too heavy":
        return Knapsack(profits, weights + random.integers(0, 2, n) * 10**12, max(1, largest))
    fraction = random.choice([0.02, 0.3, 0.5, 0.8, 1.1])
    return Knapsack(profits, weights, max(1, int(fraction * weights.sum())))


@pytest.fixture
def pool(device):
    with DevicePool([device.info]) as opened:
        yield opened


def solved(pool, problems, options=None):
    control = BatchControl(tuple(range(len(problems))), "some", lambda done: None)
    return solve_batch(problems, options or Options(), pool, control)


@pytest.mark.parametrize("lock_step", [False, True])  # small rows in local memory, others not
def test_all_kinds_of_problems_are_solved_together(pool, monkeypatch, lock_step):
    if lock_step:
        monkeypatch.setattr(BatchShapes, "of", staticmethod(lambda _: BatchShapes(1, 32, 300, 1, 3)))
    random = np.random.default_rng(int(lock_step))
    sizes = [(int(random.integers(1, 50)), int(random.choice([3, 40, 300, 1500]))) for _ in range(10)]
    problems = [problem_of(kind, *size, random) for kind in KINDS for size in sizes]
    problems += [problem_of(kind, MOST_BATCH_ITEMS, 700, random) for kind in ("strong", "inverse", "uncorrelated")]
    results = solved(pool, problems)
    assert sorted(results) == list(range(len(problems)))
    for index, problem in enumerate(problems):
        assert_solved(results[index], problem)
        SOLVER.schema.check_result(results[index].arrays, results[index].counters)
    assert sum(result.counters["cells"] > 2000 for result in results.values()) > 10  # tables, not only bounds


@examples(30)
@example(items=[(39, 29, 58), (33, 23, 93), (30, 20, 32)], capacity=259)  # bounds leave packs open
@given(
    items=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30), st.integers(0, 5)), max_size=12),
    capacity=st.integers(1, 150),
)
def test_bounded_problems_agree_with_copies_taken_one_by_one(pool, items, capacity):
    profits, weights, counts = (list(column) for column in zip(*items, strict=True)) if items else ([], [], [])
    problem = Knapsack(profits, weights, capacity, counts=counts)
    copies = Knapsack(np.repeat(profits, counts).astype(int), np.repeat(weights, counts).astype(int), capacity)
    results = solved(pool, [problem, copies])
    assert_solved(results[0], problem, optimal_value(copies))
    assert_solved(results[1], copies)
    assert 0 <= results[0].counters["items_fixed"] <= results[0].counters["items"] == len(items)


def test_two_devices_share_a_batch(device):
    random = np.random.default_rng(9)
    problems = [problem_of("strong", 20, 100, random) for _ in range(41)]
    seen = []
    with DevicePool([device.info] * 2) as two:
        results = solve_batch(problems, Options(), two, BatchControl((0,) * 41, "some", seen.append))
    for index, problem in enumerate(problems):
        assert_solved(results[index], problem)
    assert len({result.devices for result in results.values()}) == 2
    assert seen == sorted(seen)
    assert seen[-1] == len(problems)


def test_problems_that_are_too_large_are_left_out(pool):
    small = Knapsack([3, 4], [1, 2], 2)
    many = Knapsack(np.ones(MOST_BATCH_ITEMS + 1, int), np.arange(1, MOST_BATCH_ITEMS + 2), 500)
    rich = Knapsack([2**29, 2**29 + 5], [1, 1], 1)
    wide = Knapsack([5, 6, 7], [MOST_CAPACITY, MOST_CAPACITY, 9], MOST_CAPACITY + 1)
    results = solved(pool, [many, small, rich, wide])
    assert list(results) == [1]
    assert_solved(results[1], small)
    assert solved(pool, [many]) == {}
    assert solved(pool, [small], Options(profile=True)) == {}
    assert solved(pool, []) == {}


def test_an_interruption_ends_a_batch_before_its_next_launch(pool, monkeypatch):
    monkeypatch.setattr("engine.solvers.knapsack.batch._CELLS_PER_SECOND", {True: 1e-3, False: 1e-3})
    monkeypatch.setattr("engine.solvers.knapsack.batch.SLICE_SECONDS", 1e-9)
    random, launched, interrupted = np.random.default_rng(10), [], threading.Event()
    problems = [problem_of("strong", 150, 1000, random) for _ in range(300)]
    original = BatchWorker._slices

    def interrupt(done):
        interrupted.set()
        raise KeyboardInterrupt

    def slices(worker):
        for part in original(worker):
            launched.append(part[1])
            yield part
            interrupted.wait(30.0)
            time.sleep(0.02)  # the other thread stops the batch meanwhile

    monkeypatch.setattr(BatchWorker, "_slices", slices)
    with pytest.raises(KeyboardInterrupt):
        solve_batch(problems, Options(), pool, BatchControl((0,) * 300, "some", interrupt))
    assert 0 < launched[-1] < len(problems)


def test_map_solves_small_problems_together_and_others_alone(one_device):
    random = np.random.default_rng(11)
    problems = [problem_of(kind, 20, 100, random) for kind in KINDS]
    problems.insert(3, problem_of("strong", 2 * MOST_BATCH_ITEMS, 50, random))
    batch = one_device.map(problems, seed=5)
    assert not batch.failures
    routes = []
    for problem, result in zip(problems, batch.results, strict=True):
        assert_solved(result, problem)
        assert result.seed == 5
        routes.append("in a batch" in str(result.arrays["route"]))
    assert routes == [index != 3 for index in range(len(problems))]


def test_items_that_do_not_add_up_are_found_out():
    packed = Packed.of([Knapsack([3, 4], [1, 2], 2), Knapsack([5], [1], 1)])
    with pytest.raises(AuditError, match="problem 0: the items found have profit 7 and weight 3"):
        packed.chosen_items(np.array([True, True, True]), np.array([7, 5]))
    with pytest.raises(AuditError, match=r"problem 1: .* but profit 6 within 1 was computed"):
        packed.chosen_items(np.array([True, False, True]), np.array([3, 6]))
