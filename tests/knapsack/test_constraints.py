"""Several constraints: branch and bound on devices and by HiGHS, against enumeration, HiGHS and published optima."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from engine import Knapsack, MultidimensionalKnapsack, OptionError, ProblemError, Status
from engine.events import Incumbent
from engine.generators.multiple_choice import MultidimensionalOptions, multidimensional
from engine.solvers.knapsack.constraints import search, worker
from engine.solvers.knapsack.constraints import solve as solving
from tests.support.knapsacks import assert_optimal, assert_solved, by_highs
from tests.support.stopping import stop_at

PETERSEN = (  # the first problem of OR-Library's file mknap1, whose optimum is 3800
    "1\n6 10 3800\n100 600 1200 2400 500 2000\n"
    "8 12 13 64 22 41\n8 12 13 75 22 41\n3 6 4 18 6 4\n5 10 8 32 6 12\n5 13 8 42 6 20\n"
    "5 13 8 48 6 20\n0 0 0 0 8 0\n3 0 4 0 8 0\n3 2 4 0 8 4\n3 2 4 8 8 4\n80 96 20 36 44 48 10 18 22 24\n"
)


@st.composite
def problems(draw):
    m, n = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    weight, profit = st.integers(0, draw(st.sampled_from([3, 30]))), st.integers(0, draw(st.sampled_from([4, 60])))
    profits = draw(st.lists(profit, min_size=n, max_size=n))
    weights = [draw(st.lists(weight, min_size=n, max_size=n)) for _ in range(m)]
    return MultidimensionalKnapsack(profits, weights, [draw(st.integers(0, 60)) for _ in range(m)])


@settings(max_examples=30)
@given(problem=problems(), reduce=st.booleans(), few=st.booleans())
def test_the_search_agrees_with_enumeration(one_device, monkeypatch, problem, reduce, few):
    with monkeypatch.context() as patch:
        if few:  # pivots of a slice: searches are divided all the time, and begin again
            for limit in ("_FIRST_PIVOTS", "_MOST_PIVOTS", "_FIRST_RESTART"):
                patch.setattr(search, limit, 1)
        assert_optimal(one_device, problem, variant="search", reduce=reduce)


@pytest.mark.few(2)
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize(("m", "n", "correlated"), [(2, 60, True), (3, 40, True), (5, 40, False), (8, 25, True)])
def test_larger_problems_agree_with_highs(one_device, monkeypatch, m, n, correlated, few):
    problem = multidimensional(MultidimensionalOptions(n=n, constraints=m, correlated=correlated, seed=m))
    if few:
        monkeypatch.setattr(search, "_MOST_PIVOTS", 20)
        monkeypatch.setattr(search, "_FIRST_RESTART", 50)
    result = one_device.solve(problem, variant="search")
    assert_solved(result, problem, by_highs(problem))
    assert result.counters["nodes"] > 0


def test_searches_whose_state_is_interleaved_as_on_a_gpu_find_the_same(one_device, monkeypatch):
    problem = multidimensional(MultidimensionalOptions(n=40, constraints=4, seed=2))
    shapes = {"lanes": 1, "block": 32, "rows": worker.MOST_ROWS, "counts": worker.COUNTS}
    monkeypatch.setattr(worker, "_constants", lambda capabilities: shapes)
    monkeypatch.setattr(worker.BranchWorker, "_room", lambda worker, info: 64)
    monkeypatch.setattr(search, "_MOST_PIVOTS", 100)
    assert_optimal(one_device, problem, by_highs(problem), variant="search")


def test_a_published_problem_is_read_and_solved(one_device, tmp_path):
    path = tmp_path / "mknap1.txt"
    path.write_text(PETERSEN)
    assert MultidimensionalKnapsack.recognizes(path, PETERSEN)
    problem = MultidimensionalKnapsack.read(path)
    assert (problem.m, problem.n, problem.optimum) == (10, 6, 3800)
    assert_solved(one_device.solve(problem), problem, 3800)
    again = Knapsack.from_ortools(problem.profits, list(problem.weights), problem.capacities)
    assert isinstance(again, MultidimensionalKnapsack)
    assert_solved(one_device.solve(again, variant="highs"), problem, 3800)
    path.write_text("1\n0 2147483647 0\n1 2 3\n")
    with pytest.raises(ProblemError, match="the file ends within instance 1"):
        MultidimensionalKnapsack.read(path)


def test_more_constraints_than_the_kernel_has_room_for_go_to_highs(one_device):
    random = np.random.default_rng(1)
    weights = random.integers(1, 50, (40, 12))
    problem = MultidimensionalKnapsack(random.integers(1, 50, 12), weights, weights.sum(axis=1) // 2)
    result = one_device.solve(problem)
    assert_solved(result, problem)
    assert "HiGHS" in str(result.arrays["route"])
    with pytest.raises(OptionError, match="variant = search needs less than 32 constraints; the problem has 40"):
        one_device.solve(problem, variant="search")


def test_a_search_that_takes_longer_than_a_table_gives_way_to_it(one_device, monkeypatch):
    problem = multidimensional(MultidimensionalOptions(n=30, max_weight=20, seed=3))
    monkeypatch.setattr(solving, "_TABLE_SECONDS", 0.0)
    monkeypatch.setattr(solving, "_TABLE_CELLS_PER_SECOND", {True: 1e30, False: 1e30})
    result = one_device.solve(problem)
    assert_solved(result, problem, by_highs(problem))
    assert "table" in str(result.arrays["route"])


@pytest.mark.few(1)
@pytest.mark.parametrize("variant", ["search", "highs"])
def test_a_stopped_run_has_a_proven_bound_and_resumes_with_its_best(one_device, tmp_path, monkeypatch, variant):
    problem = multidimensional(MultidimensionalOptions(n=250, constraints=10, max_weight=1000, seed=5))
    relaxed = linprog(-problem.profits, A_ub=problem.weights, b_ub=problem.capacities, bounds=(0, 1))
    profits = set()

    def wanted(event):
        """A better solution than the first; the search has a bound then, too."""
        if isinstance(event, Incumbent):
            profits.add(event.objective)
            return len(profits) > 1 and (variant == "highs" or event.bound <= -relaxed.fun + 1)
        return False

    with monkeypatch.context() as patch:
        stop_at(patch, wanted)
        first = one_device.solve(problem, variant=variant, run_folder=tmp_path / "run")
    assert first.status is Status.INTERRUPTED
    assert problem.evaluate(first.solution)[0] == first.objective == max(profits) <= -relaxed.fun
    if variant == "search":
        assert first.objective <= first.bound <= -relaxed.fun + 1
    again = one_device.resume(tmp_path / "run", time_limit=0.7).wait()
    assert first.objective <= again.objective <= again.bound


def test_problems_without_anything_to_choose_are_answered(one_device):
    for profits, weights, capacities, chosen in (
        ([], [[], []], [3, 0], []),
        ([5, 6], [[1, 2], [0, 0], [3, 3]], [0, 0, 0], []),
        ([5, 6, 0], [[1, 2, 1], [0, 0, 0], [3, 3, 9]], [3, 0, 6], [0, 1]),
        ([5, 6], [[0, 0]], [0], [0, 1]),
        ([2**45, 6, 7], [[0, 2, 2]], [3], [0, 2]),
    ):
        result = one_device.solve(MultidimensionalKnapsack(profits, weights, capacities))
        assert (result.status, result.solution.tolist()) == (Status.OPTIMAL, chosen)


def test_constraints_that_no_method_can_answer_are_refused(one_device):
    for weights, capacities, message in (
        ([], [], "got 0 rows of weights and 0 capacities"),
        ([[1, 2]], None, "capacities must be a list with an entry for each constraint; got None"),
        (3, [4], "weights must be a list with an entry for each constraint; got 3"),
    ):
        with pytest.raises(ProblemError, match=message):
            MultidimensionalKnapsack([1, 2], weights, capacities)
    large = MultidimensionalKnapsack([2**51, 1], [[1, 2]] * 3, [2] * 3)
    with pytest.raises(ProblemError, match="must be below 2\\^50"):
        one_device.solve(large)
    with pytest.raises(OptionError, match="variant = table needs one or two constraints; the problem has 3"):
        one_device.solve(large, variant="table")
