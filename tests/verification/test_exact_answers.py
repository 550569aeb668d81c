"""Checkers of answers in whole numbers and of linear programs: they accept what is true, and refute lies."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.base.result import Result, Status
from engine.verification.permutations import QUEENS


def verdict(problem, result, **changes):
    return engine.verify(replace(result, **changes), problem).verdict


def altered(result, name, place, value):
    """The arrays of a result with one entry of one of them changed."""
    array = result.arrays[name].copy()
    array[place] = value
    return {"arrays": {**result.arrays, name: array}}


BLEND = engine.LinearProgram(
    [-1, 4, 0.3], A_ub=[[-3, 1, 0.1], [1, 2, 0]], b_ub=[6, 4], bounds=[(None, None), (-3, None), (0.7, 9)]
)


@pytest.mark.parametrize("lie", ["objective", "bound", "solution", "dual sign", "dual", "reduced cost", "activity"])
def test_a_lie_about_a_linear_program_is_refuted(lie):
    result = engine.solve(BLEND)
    duals = result.arrays["row_duals"]
    changes = {
        "objective": {"objective": result.objective * (1 + 1e-12)},
        "bound": {"bound": result.bound + 1e-9},
        "solution": {"solution": result.solution + np.array([0, 1e-4, 0])},
        "dual sign": altered(result, "row_duals", 1, -duals[1]),
        "dual": altered(result, "row_duals", 0, duals[0] - 1e-4),
        "reduced cost": altered(result, "reduced_costs", 2, 0.0),
        "activity": altered(result, "activities", 0, 5.0),
    }[lie]
    assert verdict(BLEND, result, **changes) == "refuted"


def test_a_consistent_lie_about_a_linear_program_is_refuted():
    """A worse vertex with its own objective, and the duals as their own bound: only the gap tells."""
    result = engine.solve(BLEND)
    x = np.array([0.0, 0.0, 0.7])
    activities = np.asarray(BLEND.A) @ x
    objective = float(BLEND.c @ x)
    changes = {"solution": x, "objective": objective, "arrays": {**result.arrays, "activities": activities}}
    assert verdict(BLEND, result, **changes) == "refuted"
    assert verdict(BLEND, result, **changes, status=Status.TIME_LIMIT) == "partly verified"


def test_duals_that_price_a_bound_which_is_not_there_prove_nothing():
    """The point 0 of an objective that falls, with duals of 0: there is no gap, as what has no bound is left out."""
    problem = engine.LinearProgram([-1.0], A_ub=[[1.0]], b_ub=[10.0])
    arrays = {"row_duals": np.zeros(1), "reduced_costs": -np.ones(1), "activities": np.zeros(1)}
    found = engine.verify(Result(Status.OPTIMAL, 0.0, 0.0, np.zeros(1), arrays=arrays), problem)
    assert len(found.refuted) == 1
    assert "the largest dual infeasibility 1," in found.refuted[0]


def test_a_point_better_than_its_duals_allow_is_refuted():
    """Every figure is within its tolerance but the gap, which is below 0."""
    problem = engine.LinearProgram([1.0], A_ub=[[-1.0]], b_ub=[-1.0], bounds=(None, None))
    x = 1.0 - 2.5e-6
    arrays = {"row_duals": -np.ones(1), "reduced_costs": np.zeros(1), "activities": np.array([-x])}
    found = engine.verify(Result(Status.OPTIMAL, x, 1.0, np.array([x]), arrays=arrays), problem)
    assert [text.partition(" optimal")[0] for text in found.refuted] == ["the duals do not prove the objective"]


def test_maximization_and_sparse_data_are_verified(tmp_path):
    (tmp_path / "two.lp").write_text("max\n obj: x + 3 y + 2\nst\n a: x + y <= 4\n b: x - y >= -2\nend\n")
    problem = engine.LinearProgram.read(tmp_path / "two.lp")
    result = engine.solve(problem)
    assert result.objective == pytest.approx(12.0)  # x = 1, y = 3
    assert verdict(problem, result) == "verified"
    assert verdict(problem, result, **altered(result, "row_duals", 0, -result.arrays["row_duals"][0])) == "refuted"


def test_the_bound_is_exact_where_doubles_cancel():
    """With x = 1e16 the sum of rounded terms is off by 1, and the exact objective is not."""
    problem = engine.LinearProgram([1, 1, -1], bounds=[(1e16, 1e16), (1, 1), (1e16, 1e16)])
    result = engine.solve(problem)
    assert result.objective == 1.0
    assert verdict(problem, result) == "verified"
    found = engine.verify(replace(result, objective=1.0 + 1e3), problem)
    assert found.refuted == ("the objective is 1.0, but the result says 1001.0",)


def test_certificates_of_infeasible_and_unbounded_programs_are_verified():
    infeasible = engine.LinearProgram([1, 1], A_ub=[[1, 1], [-1, -1]], b_ub=[1, -2])
    result = engine.solve(infeasible)
    assert (result.status, verdict(infeasible, result)) == ("infeasible", "verified")
    assert verdict(infeasible, result, **altered(result, "farkas", 0, 0.0)) == "refuted"
    assert verdict(infeasible, result, arrays={}) == "not verified"
    unbounded = engine.LinearProgram([-1, -1], A_ub=[[1, -1]], b_ub=[1])
    result = engine.solve(unbounded)
    assert (result.status, verdict(unbounded, result)) == ("unbounded", "verified")
    assert verdict(unbounded, result, **altered(result, "ray", 0, -1.0)) == "refuted"
    assert verdict(unbounded, result, **altered(result, "ray", 0, 2.5)) == "refuted"
    # the same ray proves nothing where no point is feasible
    empty = engine.LinearProgram([-1, -1], A_ub=[[1, -1], [-1, 1]], b_ub=[1, -2])
    assert verdict(empty, result) == "partly verified"


KNAPSACKS = {
    "0/1": engine.Knapsack([60, 100, 120], [10, 20, 30], 50),
    "fractions": engine.Knapsack([0.5, 1.25, 1.5], [10, 20, 30], 50),
    "bounded": engine.Knapsack([6, 10, 12], [10, 20, 30], 65, counts=[2, 1, 3]),
    "several capacities": engine.MultidimensionalKnapsack(
        [3, 4, 5, 1], [[1, 2, 3, 0], [3, 2, 1, 0]], capacities=(4, 4)
    ),
    "classes": engine.MultipleChoiceKnapsack([3, 4, 5, 6], [1, 2, 2, 3], classes=[0, 0, 1, 1], capacity=4),
    "no table": engine.Knapsack([10**9 + 50, 10**9 + 51, 10**9 + 52, 2], [10**9] * 3 + [10**9 - 1], 2 * 10**9 + 7),
}


def best_items(problem):
    copies = np.ones(problem.n, int) if getattr(problem, "counts", None) is None else problem.counts
    best = (-1, None)
    for taken in itertools.product(*(range(count + 1) for count in copies)):
        items = np.repeat(np.arange(problem.n), taken)
        try:
            profit, weight = problem.evaluate(items)
        except engine.ProblemError:  # not one of each class
            continue
        fits = np.all(np.asarray(weight) <= getattr(problem, "capacities", getattr(problem, "capacity", None)))
        if fits and profit > best[0]:
            best = profit, items
    return Result(Status.OPTIMAL, best[0], best[0], best[1])


@pytest.mark.parametrize("problem", KNAPSACKS.values(), ids=KNAPSACKS)
def test_knapsacks_are_verified_and_lies_refuted(problem):
    result = best_items(problem)
    found = engine.verify(result, problem)
    assert found.verdict == "verified", found
    more = result.objective + 1
    assert verdict(problem, result, objective=more, bound=more) == "refuted"
    swapped = result.solution.copy()
    swapped[0] = (swapped[0] + 1) % problem.n
    assert verdict(problem, result, solution=swapped) == "refuted"
    assert verdict(problem, result, solution=np.append(result.solution, result.solution[0])) == "refuted"
    assert verdict(problem, result, solution=np.array([problem.n])) == "refuted"
    if not isinstance(problem, engine.MultipleChoiceKnapsack):  # a worse solution, called optimal
        fewer = result.solution[1:]
        worse = problem.evaluate(fewer)[0]
        changes = {"objective": worse, "bound": worse, "solution": fewer}
        small = problem is not KNAPSACKS["no table"]
        assert verdict(problem, result, **changes) == ("refuted" if small else "partly verified")
        assert verdict(problem, result, **changes, status=Status.TIME_LIMIT) != "verified"


def test_an_item_taken_too_often_and_a_solution_that_is_said_not_to_exist_are_seen():
    for name, value, expected in (("0/1", 120, "refuted"), ("bounded", 12, "verified")):
        assert verdict(KNAPSACKS[name], Result(Status.FEASIBLE, value, None, np.array([0, 0]))) == expected
    heavy = engine.MultipleChoiceKnapsack([3, 4, 5, 6], [1, 2, 2, 3], classes=[0, 0, 1, 1], capacity=2)
    none = Result(Status.INFEASIBLE, None, None, None)
    given = (heavy, KNAPSACKS["classes"], KNAPSACKS["0/1"])
    assert [verdict(problem, none) for problem in given] == ["verified", "refuted", "refuted"]


@pytest.mark.parametrize("scale", [1, 4])
def test_the_profile_of_all_capacities_is_checked(scale):
    problem = engine.Knapsack(np.array([3, 7, 2, 9]) / scale, [3, 6, 3, 9], 17)  # 3 divides all weights
    optima = [best_items(engine.Knapsack(problem.profits, problem.weights, c)).objective for c in range(18)]
    profile = np.array(optima) if scale == 1 else np.array(optima) / scale
    result = replace(best_items(problem), arrays={"profile": profile})
    assert verdict(problem, result) == "verified"
    assert verdict(problem, result, **altered(result, "profile", 5, profile[5] + 1)) == "refuted"
    assert verdict(problem, result, arrays={"profile": profile[:-1]}) == "refuted"


RANDOM = np.random.default_rng(5)
TIMES, MATRIX = RANDOM.integers(1, 20, (3, 5)), RANDOM.integers(0, 20, (5, 5))
ORDERS = {
    "makespan": engine.Flowshop(TIMES),
    "flow time": engine.FlowTime(TIMES),
    "blocking": engine.BlockingFlowshop(TIMES),
    "no wait": engine.NoWaitFlowshop(TIMES),
    "tardiness": engine.Tardiness(TIMES[0], TIMES[1], TIMES[2] + 8),
    "ordering": engine.LinearOrdering(MATRIX - 5),
    "assignment": engine.QuadraticAssignment(MATRIX, MATRIX[::-1]),
    "tour": engine.ATSP(MATRIX),
}


@pytest.mark.parametrize("problem", ORDERS.values(), ids=ORDERS)
def test_orders_are_verified_and_lies_refuted(problem):
    orders = [order for order in itertools.permutations(range(5)) if order[0] == 0 or not hasattr(problem, "costs")]
    evaluate = problem.tree().evaluate
    values = [int(evaluate(np.array(order))) for order in orders]
    best, solution = min(values), np.array(orders[int(np.argmin(values))])
    result = Result(Status.OPTIMAL, best, best, solution)
    assert verdict(problem, result) == "verified"
    assert verdict(problem, result, objective=best + 1, bound=best + 1) == "refuted"
    assert verdict(problem, result, solution=np.append(solution[1:], solution[1])) == "refuted"
    second = min(value for value in values if value > best)
    worse = np.array(orders[values.index(second)])
    assert verdict(problem, result, solution=worse) == "refuted"
    assert verdict(problem, result, solution=worse, objective=second, bound=second) == "refuted"
    stopped = {"solution": worse, "objective": second, "status": Status.TIME_LIMIT}
    assert verdict(problem, result, **stopped) == "verified"
    assert verdict(problem, result, **{**stopped, "bound": best + 1}) == "refuted"
    assert verdict(problem, Result(Status.BOUND_PROVED, None, best, None)) == "verified"
    assert verdict(problem, Result(Status.BOUND_PROVED, None, best + 1, None)) == "refuted"


def test_numbers_of_optimal_schedules_are_counted_again():
    problem = engine.Flowshop(np.random.default_rng(1).integers(1, 4, (3, 5)))
    orders = list(itertools.permutations(range(5)))
    values = [problem.evaluate(order) for order in orders]
    best, count = min(values), values.count(min(values))
    result = Result(Status.OPTIMAL, best, best, np.array(orders[values.index(best)]), counters={"solutions": count})
    assert count > 1
    assert verdict(problem, result) == "verified"
    assert verdict(problem, result, counters={"solutions": count + 1}) == "refuted"
    large = engine.Flowshop(np.ones((2, 12), int))
    result = Result(Status.OPTIMAL, 13, 13, np.arange(12), counters={"solutions": 5})
    assert verdict(large, result) == "partly verified"


def test_counts_of_queens_are_those_that_are_published():
    def counted(n, count, bound=None, status=Status.COMPLETE):
        return verdict(engine.Queens(n), Result(status, count, bound, None))

    for n in range(8):
        assert counted(n, QUEENS[n], QUEENS[n]) == "verified"  # counted again
    assert counted(20, 39029188884, 39029188884) == "verified"
    assert counted(20, 39029188885, 39029188885) == "refuted"
    assert counted(6, 5, 5) == "refuted"
    assert counted(30, 7, 7) == "not verified"
    assert counted(8, 40, None, Status.TIME_LIMIT) == "not verified"
    assert counted(8, 93, None, Status.TIME_LIMIT) == "refuted"
    assert verdict(engine.Queens(8), Result(Status.TIME_LIMIT, None, None, None)) == "not verified"


FUNCTIONS = {
    "trap": engine.BOA("trap-5", 10),
    "hiff": engine.BOA("hiff", 8),
    "htrap": engine.BOA("htrap", 9),
    "cut": engine.MaxCut([(0, 1, 1.5), (1, 2, 4), (0, 2, 2.25), (3, 4, 1), (4, 5, 7), (5, 3, 2)], 6),
    "qubo": engine.QUBO({(0, 0): -1, (0, 1): 4, (1, 1): -3, (2, 5): -3, (4, 4): 2}, 6),
    "ising": engine.BOA.ising(3, seed=2),
    "nk": engine.BOA.nk(9, neighbours=2, seed=4),
    "formula": engine.MaxSAT([[1], [-1], [2, 3], [-2, -3]], [3, 2, None, 1], n=3),
}


@pytest.mark.parametrize("problem", FUNCTIONS.values(), ids=FUNCTIONS)
def test_values_of_bit_strings_are_verified_and_lies_refuted(problem):
    strings = np.array(list(itertools.product((0, 1), repeat=problem.n)), np.uint8)
    values = problem.evaluate(strings)
    sign = -1 if problem.sense == "minimize" else 1
    best = int(np.argmax(sign * values))
    result = Result(Status.OPTIMAL, values[best].item(), values[best].item(), strings[best])
    assert verdict(problem, result) == "verified"
    assert verdict(problem, result, objective=values[best].item() + 1) == "refuted"
    assert verdict(problem, result, solution=strings[best] + 2) == "refuted"
    other = int(np.argmin(sign * values))
    assert verdict(problem, result, solution=strings[other]) == "refuted"
    worse = {"solution": strings[other], "objective": values[other].item(), "bound": values[other].item()}
    only_bounded = problem.fitness.text in ("hiff", "htrap")  # by the sum of what blocks are worth at most
    assert verdict(problem, result, **worse) == ("partly verified" if only_bounded else "refuted")


def test_functions_of_the_user_are_not_executed():
    called = []
    problem = engine.BOA(lambda bits: called.append(1) or bits.sum(axis=1), 6)
    found = engine.verify(Result(Status.FEASIBLE, 6.0, None, np.ones(6, np.uint8)), problem)
    assert (found.verdict, found.exit_code, called) == ("not verified", 6, [])
    snippet = engine.BOA.snippet("fitness = BIT(0);", 6)
    assert verdict(snippet, Result(Status.FEASIBLE, 1, None, np.ones(6, np.uint8))) == "not verified"
