"""Multipliers of subtour constraints: valid on every tour, as good as the linear program, and kept by checkpoints."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog

import engine
from engine.base.division import ClusterInfo
from engine.devices import DevicePool
from engine.errors import RunFolderError
from engine.events import Started
from engine.solvers.branch_and_bound.checkpoint import Incumbent, Progress, restore, save
from engine.solvers.branch_and_bound.division import DividedSearch, SearchTasks
from engine.solvers.branch_and_bound.intervals import cut
from engine.solvers.branch_and_bound.options import ATSPOptions
from engine.solvers.branch_and_bound.problems.subtours import SubtourRelaxation
from tests.support.engines import engine_of
from tests.support.owner import Owner
from tests.support.stopping import stop_at


def clustered(seed, n=12):
    """Costs between cities in three clusters, whose cheapest assignment has subtours."""
    random = np.random.default_rng(seed)
    points = random.integers(0, 20, (n, 2)) + 300 * random.integers(0, 2, (n, 2))
    costs = abs(points[:, None] - points).sum(axis=2) + random.integers(0, 9, (n, n))
    np.fill_diagonal(costs, 0)
    return costs


def assignment_bound(weights):
    away = weights.copy()
    np.fill_diagonal(away, 2**40)
    return int(away[linear_sum_assignment(away)].sum())


@given(st.integers(4, 9), st.integers(0, 2**32), st.data())
def test_no_tour_costs_less_than_its_weights_and_the_multipliers(n, seed, data):
    random = np.random.default_rng(seed)
    costs = clustered(seed, n)
    relaxation = SubtourRelaxation(costs)
    count = data.draw(st.integers(0, 6))
    some = np.column_stack([random.integers(0, 5000, count), random.integers(0, 2, (count, n))])
    some[:, 1] = 0  # a set of all cities is left by no tour
    some = some[some[:, 1:].any(axis=1)]
    for sets in (some, relaxation.multipliers()):
        weights, total = relaxation.weights(sets)
        for _ in range(20):
            tour = random.permutation(n)
            after = np.roll(tour, -1)
            assert weights[tour, after].sum() + total <= relaxation.scale * costs[tour, after].sum()


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_that_of_the_linear_program_with_all_sets(seed):
    n = 8
    costs = clustered(seed, n)
    arcs = [(i, j) for i in range(n) for j in range(n) if i != j]
    once = np.array([[arc[side] == city for arc in arcs] for side in (0, 1) for city in range(n)])
    sets = [set(chosen) for size in range(2, n - 1) for chosen in itertools.combinations(range(n), size)]
    leaving = np.array([[i in chosen and j not in chosen for i, j in arcs] for chosen in sets])
    values = [costs[arc] for arc in arcs]
    best = linprog(values, A_ub=-1 * leaving, b_ub=-np.ones(len(sets)), A_eq=once, b_eq=np.ones(2 * n)).fun
    relaxation = SubtourRelaxation(costs)
    weights, total = relaxation.weights(relaxation.multipliers())
    found = (assignment_bound(weights) + total) / relaxation.scale
    assert best - 0.1 <= found <= best + 1e-6
    assert found > assignment_bound(costs)


def test_large_costs_leave_the_weights_room_and_time_that_is_up_ends_the_search_for_them():
    relaxation = SubtourRelaxation(clustered(3) * 5000)
    assert relaxation.scale == 1
    assert SubtourRelaxation(np.zeros((5, 5), np.int64)).scale > 1
    assert len(engine.ATSP(clustered(3) * 5000).tree("subtour").prepare(lambda: False))
    asked = iter([False, True])  # time that is up ends the linear programs
    assert SubtourRelaxation(clustered(1, 14)).multipliers(lambda: next(asked)) is None


def test_a_run_that_is_stopped_before_its_multipliers_are_found_finds_them_when_it_goes_on(
    device, tmp_path, monkeypatch
):
    problem, runner = engine.ATSP(clustered(1, 20)), engine_of(device)
    with monkeypatch.context() as patch:
        stop_at(patch, lambda event: isinstance(event, Started))
        stopped = runner.solve(problem, upper_bound=1393, run_folder=tmp_path / "run")
    assert (stopped.status, stopped.counters["nodes"]) == ("interrupted", 0)
    resumed = runner.resume(tmp_path / "run").wait()
    whole = runner.solve(problem, upper_bound=1393)
    assert (resumed.status, resumed.counters["nodes"]) == ("bound_proved", whole.counters["nodes"])


def test_a_checkpoint_with_other_multipliers_is_refused():
    problem = engine.ATSP(clustered(2, 8))
    tree = problem.tree("subtour")
    prepared = tree.prepare(lambda: False)
    assert prepared is not None
    progress = Progress(cut(tree.items, 1), np.zeros(tree.items, np.int64), {}, 0, prepared)
    arrays, state = save(progress, Incumbent(tree, 10**6, 10**6, None))
    found, _ = restore(problem.tree("subtour"), arrays, state)
    np.testing.assert_array_equal(found.prepared, prepared)
    for wrong in (prepared[:, :-1], -prepared, 2 * prepared):
        with pytest.raises(RunFolderError, match="multipliers of subtour constraints"):
            restore(problem.tree("subtour"), {**arrays, "prepared": wrong}, state)
    with pytest.raises(RunFolderError, match="not prepared"):
        restore(problem.tree("assignment"), arrays, state)


def test_workers_of_a_cluster_search_with_the_bounds_of_the_whole_run(device):
    problem = engine.ATSP(clustered(4, 10))
    options = ATSPOptions(initial="infinity", bound="subtour")
    with DevicePool([device.info]) as pool:
        parts = DividedSearch(problem, options, Owner(), ClusterInfo(2, False))
        worker = SearchTasks(problem, options, 0, pool)
        before = worker._tree.lower_bound()
        worker.prepare(parts.take(1, 1.0))
        assert worker._tree.lower_bound() > before


def test_public_instances_are_proved_at_the_root(device, shared_data):
    for name, optimum in (("br17", 39), ("ftv33", 1286), ("ft53", 6905)):
        result = engine_of(device).solve(engine.ATSP.read(shared_data / "atsp" / f"{name}.atsp"))
        assert (result.status, result.objective, result.bound) == ("optimal", optimum, optimum)
        assert result.counters["nodes"] == 0
