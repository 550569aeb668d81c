"""The sparse table: right on small and on published instances, with few decisions kept, and in both kernel shapes."""

import csv
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Knapsack
from engine.errors import OptionError
from engine.generators.knapsack import GeneratorOptions, generate
from engine.references.knapsack import optimal_value
from engine.solvers.knapsack.options import Options
from engine.solvers.knapsack.programs import SparseShapes
from engine.solvers.knapsack.sparse import buffers
from engine.solvers.knapsack.sparse import items as sparse_items
from engine.solvers.knapsack.sparse.items import SparseItems
from engine.solvers.knapsack.validate import choose_table, undecided
from tests.support.examples import examples
from tests.support.knapsacks import assert_optimal, assert_solved, problems


def lock_step(value):
    """Groups of 64 work-items, as on a GPU, on whatever device there is; and 64-bit values where 32 would do."""
    return lambda _, needed: SparseShapes("i64" if "i64" in (needed, value) else "i32", 1, 64, 3, 64, 2)


OWN = SparseShapes.of
SHAPES = {
    "own": OWN,
    "lock step of 32 bits": lock_step("i32"),
    "lock step of 64 bits": lock_step("i64"),
    "vectors of 64 bits": lambda capabilities, _: OWN(capabilities, "i64"),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("grows", [False, True], ids=["large at first", "growing"])
@pytest.mark.parametrize("shape", SHAPES)
@examples(40)
@given(problem=problems(), reduce=st.booleans(), keep=st.sampled_from([None, 1e-6, 1e-3, 0.02]))
def test_the_optimum_and_its_items_are_found_however_few_decisions_are_kept(
    one_device, monkeypatch, shape, grows, problem, reduce, keep
):
    with monkeypatch.context() as patch:
        patch.setattr(SparseShapes, "of", staticmethod(SHAPES[shape]))
        if grows:
            patch.setattr(buffers, "_FIRST_SLOTS", 1)
            patch.setattr(buffers, "_FIRST_DECISIONS", 1)
        assert_optimal(one_device, problem, variant="sparse", reduce=reduce, keep_memory=keep)


@given(problem=problems(), entries=st.sampled_from([1 << 22, 40]))
@examples(60)
def test_every_relaxation_bounds_the_best_of_the_items_left(monkeypatch, problem, entries):
    """Prefix sums of gains, interpolated, against Bellman's recurrence over the items still to come."""
    indices = np.arange(problem.n)
    items = SparseItems.of(indices, problem.weights, problem.profits, problem.capacity)
    with monkeypatch.context() as patch:
        patch.setattr(sparse_items, "_TABLE_ENTRIES", entries)  # with few, several steps share one
        relaxations = items.relaxations
    for step in {0, 1, len(items) // 2, len(items)}:
        first, count = int(relaxations.first[step]), int(relaxations.count[step])
        weights = relaxations.weights[first : first + count + 1]
        gains = relaxations.gains[first : first + count + 1]
        assert (np.diff(gains)[:-1] * np.diff(weights)[1:] >= np.diff(gains)[1:] * np.diff(weights)[:-1]).all()
        residual = problem.capacity // 2
        left = Knapsack(items.profits[step:], items.weights[step:], max(1, residual))
        fitting = min(residual, int(weights[-1]))
        bound = np.interp(fitting, weights, gains) + items.multiplier * fitting
        assert bound >= optimal_value(left) - 1e-6 * abs(bound) or residual < 1


@pytest.mark.few(1)
@pytest.mark.parametrize("keep", [None, 0.3])
def test_published_instances_with_large_capacities_are_solved(one_device, shared_data, keep):
    """10^8 capacities: a dense row of them would take 400 MB, and all decisions 7.5 GB."""
    name = "n_600_c_100000000_g_14_f_0.2_eps_1e-05_s_100"
    with (shared_data / "knapsack" / "jooken" / "optima.csv").open() as lines:
        published = {row[0]: int(row[3]) for row in list(csv.reader(lines))[1:]}
    problem = Knapsack.read(shared_data / "knapsack" / "jooken" / f"{name}.kp")
    result = one_device.solve(problem, variant="sparse", keep_memory=keep)
    assert "sparse" in str(result.arrays["route"])
    assert_solved(result, problem, published[name])


def test_large_profits_of_light_items_are_exact_or_refused(one_device):
    random = np.random.default_rng(1)
    for power in (50, 53):
        for _ in range(4):
            weights = random.integers(2, 12, 7)
            profits = 2**power * weights + random.integers(-(2**38), 2**38, 7)
            problem = Knapsack(profits, weights, int(weights.sum()) // 2)
            if power == 50:
                assert_optimal(one_device, problem, variant="sparse", reduce=False)
            else:
                with pytest.raises(OptionError, match="too large for 64-bit arithmetic"):
                    one_device.solve(problem, variant="sparse", reduce=False)


def test_tables_are_chosen_by_their_cells(one_device):
    """10^10 cells took an H200 0.4 s in a dense table, and less than 0.1 s in sparse ones."""
    info = one_device.device_infos[0]
    traits = dataclasses.replace(info.capabilities, simt=True, host_visible_memory=False)
    gpu = dataclasses.replace(info, capabilities=traits, memory=2**36, max_allocation=2**36)
    for capacity, wanted in ((10**6, "few cells"), (10**8, "since a dense table has")):
        problem = generate(GeneratorOptions(type="exponential-groups", n=400, capacity=capacity, seed=3))
        assert wanted in choose_table(problem, Options(), undecided(problem), [gpu])[1]
