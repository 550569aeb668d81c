"""Claims about work units, which lose nothing and overlap nowhere, and about sets of several words."""

import dataclasses
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.errors import OptionError
from engine.references.branch_and_bound import search
from engine.solvers.branch_and_bound.intervals import cut
from engine.solvers.branch_and_bound.problems.atsp import ATSP
from engine.solvers.branch_and_bound.problems.flowshop import Flowshop
from engine.solvers.branch_and_bound.problems.queens import Queens
from engine.solvers.branch_and_bound.proofs.record import Proof
from engine.solvers.branch_and_bound.search.stealing import VictimSelection, radices
from tests.support.engines import engine_of
from tests.support.searching import aligned, as_gpu, counts, explore

pytestmark = pytest.mark.usefixtures("unoptimized")


@pytest.mark.few(2)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_tree_cut_anywhere_has_the_same_nodes(device, depth):
    tree = Queens(9).tree("auto", "auto")
    reference = search(tree)
    for capabilities in (None, as_gpu(device)):
        found = explore(device, tree, units=cut(9, depth), capabilities=capabilities)
        assert counts(found) == counts(reference)


@pytest.mark.parametrize("places", [[100], [1, 2, 3], [5039, 5040, 20000], [7, 4000, 4001, 39999]])
def test_intervals_that_begin_anywhere_add_up_to_the_tree(device, places):
    tree = Queens(8).tree("auto", "auto")
    bounds = [0, *places, math.factorial(8)]
    parts = [explore(device, tree, units=aligned(begin, end, 8)) for begin, end in pairwise(bounds)]
    assert [part.explored for part in parts] == [end - begin for begin, end in pairwise(bounds)]
    assert sum(part.solutions for part in parts) == 92
    assert sum(part.nodes for part in parts) == search(tree).nodes


def test_the_window_of_adapt_moves_and_grows_as_in_algorithm_6():
    selection = VictimSelection("adapt", 64)
    windows = [
        (step.first, step.places - 1) for idle in (64, 64, 64, 64, 64, 64, 64, 6, 6) for step in selection.phase(idle)
    ]
    # B moves by the S before; S doubles up to T while more than a tenth are idle, and else is halved.
    assert windows == [(1, 2), (3, 4), (7, 8), (15, 16), (31, 32), (63, 64), (63, 32), (31, 16), (47, 8)]


def test_a_window_that_does_not_tile_the_ring_is_refused(device):
    for window, ivms in ((7, 128), (96, 128)):
        with pytest.raises(OptionError, match=f"window must divide the number of IVMs, {ivms}; got {window}"):
            engine_of(device).solve(Queens(6), strategy="search", window=window, ivms=ivms)
    with pytest.raises(OptionError, match="window_begin must be less than the number of IVMs, 128; got 128"):
        engine_of(device).solve(Queens(6), strategy="adapt", window_begin=128, ivms=128)
    with pytest.raises(OptionError, match="window is for the strategies search, large and adapt; got siblings"):
        engine_of(device).solve(Queens(6), window=4)


def test_the_papers_hypercube_is_fours_and_an_eight():
    assert radices(1 << 14) == [4] * 7
    assert radices(1 << 15) == [4] * 6 + [8]


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


@pytest.mark.few(2)
@pytest.mark.parametrize(("number", "nodes"), [(91, 10), (114, 4), (98, 97), (112, 458)])
@pytest.mark.parametrize("gpu", [None, "packed", "plain"])
def test_large_published_flowshops_are_proved(device, gpu, number, nodes):
    tree = Flowshop.taillard(number).tree()
    capabilities = gpu and dataclasses.replace(as_gpu(device), packed_i16=gpu == "packed")
    optimum = Flowshop.taillard_best_known(number)
    found = explore(device, tree, optimum, capabilities=capabilities or None)
    assert (found.nodes, found.leaves, found.explored) == (nodes, 0, math.factorial(tree.items))


def test_a_known_schedule_of_200_jobs_is_proved_optimal():
    proof = Proof.read(Path(__file__).parents[2] / "samples/proofs/ta094.json")
    result = engine.solve(Flowshop.taillard(94), initial=tuple(proof.schedule))
    assert (result.status, result.objective) == ("optimal", 10889)


@pytest.mark.full
@pytest.mark.parametrize("bound", ["mixed", "two_machine"])
def test_pairs_of_machines_bound_more_than_64_jobs(device, bound):
    tree = flowshop(66, 5, seed=3).tree(bound, "min_branch")
    upper = tree.lower_bound()
    expected = counts(search(tree, upper))
    for capabilities in (None, as_gpu(device)):
        assert counts(explore(device, tree, upper, capabilities=capabilities)) == expected


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
