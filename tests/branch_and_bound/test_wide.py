"""Claims about more than 64 items, whose sets are two words: every device visits the nodes of the reference."""

import dataclasses

import numpy as np
import pytest

from engine.references.branch_and_bound import search
from engine.solvers.branch_and_bound.intervals import Units, digits_of, length_of_levels, positions
from engine.solvers.branch_and_bound.masks import bits_of, index_of_lowest, lowest_of, masks_of
from engine.solvers.branch_and_bound.problems.atsp import ATSP
from engine.solvers.branch_and_bound.problems.flowshop import Flowshop
from engine.solvers.branch_and_bound.tree import LARGEST_TREE
from tests.support.searching import aligned, as_gpu, counts, explore, factorial_of, number_of

pytestmark = pytest.mark.usefixtures("unoptimized")

UPPER = 4892


def flowshop(jobs, machines=20, seed=1):
    return Flowshop(np.random.default_rng(seed).integers(1, 100, (machines, jobs)))


def ring(n, seed, gap=100):
    """A tour of arcs that are free, hidden among dearer ones: the optimum is 0, and one assignment is as cheap.

    Some free arcs close subtours, so that the assignment bound alone does not give the tour away.
    """
    random = np.random.default_rng(seed)
    costs = random.integers(1, gap, (n, n))
    tour = np.append(0, 1 + random.permutation(n - 1))
    costs[tour, np.roll(tour, -1)] = 0
    for start in range(0, n - 4, 5):
        costs[tour[start + 3], tour[start]] = 0
    return ATSP(costs), 0


@pytest.mark.parametrize("items", [1, 31, 32, 33, 64, 65, 128])
def test_sets_of_one_item_say_which(items):
    every = np.arange(items)
    masks = masks_of(every, items)
    assert index_of_lowest(masks).tolist() == every.tolist()
    assert np.array_equal(bits_of(masks)[:, :items], np.eye(items, dtype=np.bool_))
    together = np.bitwise_or.reduce(masks, axis=0)[None]
    assert bits_of(together).sum() == items
    assert np.array_equal(lowest_of(together), masks[:1])
    assert np.array_equal(lowest_of(together ^ masks[0]), masks[1:2] if items > 1 else together ^ masks[0])


def test_positions_of_wide_paths_are_ranks():
    random = np.random.default_rng(1)
    n = 100
    digits = np.array([digits_of(int.from_bytes(random.bytes(60), "little"), n) for _ in range(5)])
    rows = np.zeros((n, 5, 2), np.uint64)
    for unit in range(5):
        left = list(range(n))
        for level in range(n):
            rows[level, unit] = masks_of(np.array(left.pop(digits[unit, level])), n)
    assert np.array_equal(positions(rows, np.full(5, n, np.int32)), digits)


@pytest.mark.few(1)
@pytest.mark.parametrize("gpu", [None, "packed", "plain"])
def test_a_wide_flowshop_visits_the_nodes_of_the_reference(device, gpu):
    tree = flowshop(70).tree("one_machine", "min_branch")
    capabilities = gpu and dataclasses.replace(as_gpu(device), packed_i16=gpu == "packed")
    found = explore(device, tree, UPPER, capabilities=capabilities or None)
    assert counts(found) == counts(search(tree, UPPER))
    assert found.nodes > 500


@pytest.mark.full
@pytest.mark.parametrize("jobs", [65, 96, 128])
def test_wide_flowshops_of_any_size_visit_the_nodes_of_the_reference(device, jobs):
    tree = flowshop(jobs, 3, seed=jobs).tree("one_machine", "max_sum")
    begin, end = factorial_of(tree) // 3, factorial_of(tree) // 3 + 40
    for capabilities in (None, as_gpu(device)):
        found = explore(device, tree, units=aligned(begin, end, jobs), capabilities=capabilities)
        assert found.explored == 40
        assert found.best >= tree.lower_bound()


@pytest.mark.full
@pytest.mark.parametrize("bound", ["mixed", "two_machine"])
def test_pairs_of_machines_bound_more_than_64_jobs(device, bound):
    tree = flowshop(66, 5, seed=3).tree(bound, "min_branch")
    upper = tree.lower_bound()
    expected = counts(search(tree, upper))
    for capabilities in (None, as_gpu(device)):
        assert counts(explore(device, tree, upper, capabilities=capabilities)) == expected


@pytest.mark.full
def test_two_machines_are_scheduled_as_by_johnson(device):
    times = np.random.default_rng(5).integers(1, 100, (2, 80))
    first, second = times
    early = np.flatnonzero(first <= second)
    late = np.flatnonzero(first > second)
    order = [*early[np.argsort(first[early])], *late[np.argsort(-second[late])]]
    optimum = Flowshop(times).evaluate(order)
    tree = Flowshop(times).tree("two_machine", "max_sum")
    found = explore(device, tree, optimum + 1, ivms=2)
    assert (found.best, found.explored) == (optimum, factorial_of(tree))


# The groups of the assignment bound take the compiler of a CPU a minute.
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("bound", "gpu"),
    [("assignment", False), ("subtour", False), ("cheapest_arcs", False), ("cheapest_arcs", True)],
)
def test_a_wide_tour_is_found(device, bound, gpu):
    problem, optimum = ring(70, seed=2)
    tree = problem.tree(bound)
    tree.prepare(lambda: False)
    upper = 1 if bound == "cheapest_arcs" else 40
    found = explore(device, tree, upper, capabilities=as_gpu(device) if gpu else None)
    assert found.best == optimum
    assert tree.evaluate(tree.solution(found.path, found.sides)) == optimum


def test_parts_of_a_wide_tree_make_the_whole(device):
    tree = flowshop(70).tree()
    whole = counts(search(tree, UPPER))
    half = factorial_of(tree) // 2 + 12345
    units = aligned(0, half, 70), aligned(half, factorial_of(tree), 70)
    parts = [explore(device, tree, UPPER, units=unit) for unit in units]
    assert sum(part.explored for part in parts) == whole[4]
    assert sum(part.nodes for part in parts) == whole[0]


def test_units_hold_the_largest_tree():
    units = aligned(0, number_of(np.array([LARGEST_TREE] + [0] * (LARGEST_TREE - 1), np.uint8)), LARGEST_TREE)
    again = Units.unpacked(units.packed(), LARGEST_TREE)
    assert again.end[0, 0] == LARGEST_TREE
    assert again.length() == length_of_levels(again.end[0].astype(np.int64))
