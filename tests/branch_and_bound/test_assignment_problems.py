"""Claims about quadratic assignment, weighted tardiness and linear ordering: optima, files, and references."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import engine
from engine.errors import OptionError, ProblemError
from engine.generators.assignment import (
    QuadraticAssignmentFamily,
    TardinessFamily,
    generate_quadratic_assignment,
    generate_tardiness,
)
from engine.references.branch_and_bound import search
from engine.solvers.branch_and_bound.problems.linear_assignment import costs_of_columns
from tests.support.examples import examples
from tests.support.searching import as_gpu, brute_force, counts, explore

pytestmark = pytest.mark.usefixtures("unoptimized")


def assignment(n, seed, largest=9):
    flows, distances = np.random.default_rng(seed).integers(0, largest, (2, n, n))
    return engine.QuadraticAssignment(flows, distances)


def tardiness(n, seed):
    random = np.random.default_rng(seed)
    times = random.integers(1, 30, n)
    return engine.Tardiness(times, random.integers(1, 10, n), random.integers(0, max(2, times.sum() * 3 // 4), n))


def ordering(n, seed):
    return engine.LinearOrdering(np.random.default_rng(seed).integers(-30 * (seed % 2), 30, (n, n)))


def least_tardiness(problem):
    """By dynamic programming over the sets of jobs that are done first (Held and Karp 1962)."""
    best = {0: 0}
    for mask in range(1, 1 << problem.jobs):
        members = [job for job in range(problem.jobs) if mask >> job & 1]
        done = int(problem.times[members].sum())
        best[mask] = min(
            best[mask ^ 1 << job] + int(problem.weights[job]) * max(0, done - int(problem.due[job])) for job in members
        )
    return best[(1 << problem.jobs) - 1]


PROBLEMS = {
    "qap 7": assignment(7, 1),
    "qap 6": assignment(6, 2, largest=1000),
    "tardiness 8": tardiness(8, 3),
    "tardiness 9": tardiness(9, 4),
    "ordering 9": ordering(9, 2),
    "ordering 10": ordering(10, 1),
    "prepared ordering": ordering(9, 2),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("gpu", [False, True], ids=["own kernels", "kernels of GPUs"])
def test_kernels_visit_the_nodes_of_the_reference(device, name, gpu):
    tree = PROBLEMS[name].tree()
    if name.startswith("prepared"):
        assert tree.prepare(lambda: False) is not None
    best = search(tree).best
    capabilities = as_gpu(device) if gpu else None
    for upper in (best, best + abs(best) // 8 + 1):
        expected = search(tree, upper, share_best=upper > best)
        found = explore(device, tree, upper, ivms=1 if upper > best else None, capabilities=capabilities)
        if upper == best:
            assert counts(found) == counts(expected)
        else:
            assert found.best == expected.best == best
    assert search(tree, best, share_best=False).nodes > (0 if name.startswith("prepared") else 3)


def flowshop(n, seed):
    return engine.Flowshop(np.random.default_rng(seed).integers(0, 20, (1 + seed % 5, n)))


def tour(n, seed):
    return engine.ATSP(np.random.default_rng(seed).integers(0, 30, (n, n)))


def schedule(kind):
    return lambda n, seed: kind(np.random.default_rng(seed).integers(0, 30, (1 + seed % 4, n)))


MAKERS = [(make, "auto") for make in (assignment, tardiness, ordering)]
MAKERS += [(schedule(kind), "auto") for kind in (engine.FlowTime, engine.BlockingFlowshop, engine.NoWaitFlowshop)]
MAKERS += [(flowshop, bound) for bound in ("one_machine", "two_machine", "mixed")]
MAKERS += [(tour, bound) for bound in ("partial", "cheapest_arcs", "assignment", "subtour")]


@given(st.integers(2, 6), st.integers(0, 10**6), st.sampled_from(MAKERS), st.booleans())
@examples(100)
def test_bounds_are_below_every_solution_and_the_search_finds_the_best(n, seed, made, prepared):
    tree = made[0](n, seed).tree(made[1])
    n = tree.items
    if prepared:
        tree.prepare(lambda: False)
    best = brute_force(tree)
    assert tree.lower_bound() <= best
    found = search(tree)
    assert found.best == best
    assert tree.evaluate(tree.solution(found.path, found.sides)) == best
    for number, path in enumerate(itertools.permutations(range(n), n // 2)):
        sides = [number >> level & 1 if made[0] is flowshop else 0 for level in range(len(path))]
        values = [
            tree.evaluate(tree.solution(whole, [*sides, *[0] * (len(whole) - len(path))]))
            for whole in itertools.permutations(range(n), tree.leaf_depth)
            if whole[: len(path)] == path
        ]
        bound = tree.bounds(np.array([path], np.int64).reshape(1, -1), np.array([sides], np.int64).reshape(1, -1))
        assert bound[0] <= min(values)


def test_costs_of_columns_are_those_of_whole_assignments():
    costs = np.random.default_rng(5).integers(0, 50, (6, 6))
    for column, value in enumerate(costs_of_columns(costs)):
        forced = costs.copy()
        forced[0] = np.where(np.arange(6) == column, costs[0], 10_000)
        assert forced[linear_sum_assignment(forced)].sum() == value


@pytest.mark.parametrize(("name", "optimum"), [("nug12", 578), ("chr12a", 9552), ("had12", 1652)])
def test_optima_of_qaplib(device, shared_data, name, optimum):
    file = shared_data / "qaplib" / f"{name}.dat"
    problem = engine.QuadraticAssignment.read(file)
    assert engine.solvers.recognize(file) is engine.QuadraticAssignment
    result = engine.solve(problem, devices=[device.info.id])
    assert (result.status, result.objective, result.bound) == ("optimal", optimum, optimum)
    assert problem.evaluate(result.solution) == optimum
    below = engine.solve(problem, devices=[device.info.id], upper_bound=optimum)
    assert below.status == "bound_proved"


@pytest.mark.parametrize("seed", range(3))
def test_least_tardiness_is_that_of_dynamic_programming(device, seed):
    problem = tardiness(13, seed)
    result = engine.solve(problem, devices=[device.info.id], initial="infinity")
    assert (result.status, result.objective) == ("optimal", least_tardiness(problem))
    heuristic = problem.first_solution("heuristic", seed)
    assert result.objective <= problem.evaluate(heuristic) <= problem.evaluate(np.argsort(problem.due, kind="stable"))


def test_due_dates_may_need_more_than_32_bits(device):
    problem = engine.Tardiness([10, 20, 30, 5], [5, 2, 3, 9], [2**32 + 50, 5, 1, 2**33])
    result = engine.solve(problem, devices=[device.info.id], initial="infinity")
    assert (result.status, result.objective) == ("optimal", least_tardiness(problem))


def test_a_local_search_finds_good_assignments():
    problem = assignment(10, 7)
    found = problem.first_solution("heuristic", 0)
    random = np.random.default_rng(0)
    assert problem.evaluate(found) < min(problem.evaluate(random.permutation(10)) for _ in range(200))


def test_problems_come_back_from_their_arrays_and_files(tmp_path):
    qap, late = assignment(5, 1), tardiness(6, 1)
    for problem, other in ((qap, assignment(5, 2)), (late, tardiness(6, 2)), (ordering(5, 1), ordering(5, 2))):
        again = type(problem).from_arrays(problem.to_arrays(), "again")
        order = np.random.default_rng(3).permutation(problem.tree().items)
        assert again.evaluate(order) == problem.evaluate(order)
        assert again.evaluate(order) != other.evaluate(order)
        assert again.name == "again"
    path = tmp_path / "six.txt"
    rows = "\n".join(" ".join(map(str, row)) for row in (late.times, late.weights, late.due))
    path.write_text(f"tardiness 6\n{rows}\n")
    assert engine.solvers.recognize(path) is engine.Tardiness
    assert engine.Tardiness.read(path).evaluate(range(6)) == late.evaluate(range(6))
    assert "6 jobs, times" in engine.Tardiness.read(path).describe()
    path.write_text("tardiness 6\n1 2 3\n")
    with pytest.raises(ProblemError, match="time, weight or due date"):
        engine.Tardiness.read(path)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("qap", {}),
        ("tardiness", {}),
        ("linear_ordering", {"type": "ranking"}),
        ("linear_ordering", {"type": "uniform"}),
    ],
)
def test_generated_files_are_read_again(tmp_path, kind, options):
    generator = engine.solvers.discover()["branch_and_bound"].generators[kind]
    made, other = (generator.make(generator.options(**options, seed=seed)) for seed in (1, 2))
    path = tmp_path / f"file{generator.suffix}"
    generator.write(made, path)
    again = engine.solvers.recognize(path).read(path)
    assert type(again) is type(made)
    pairs = zip(made.to_arrays().values(), again.to_arrays().values(), strict=True)
    assert all(np.array_equal(one, two) for one, two in pairs)
    order = np.arange(made.tree().items)[::-1]
    assert again.evaluate(order) == made.evaluate(order) != other.evaluate(order)


def test_generated_families_are_as_described():
    grid = generate_quadratic_assignment(QuadraticAssignmentFamily(n=6, seed=3))
    assert grid.distances[0].tolist() == [0, 1, 2, 1, 2, 3]
    assert grid.flows.max() <= 10
    uniform = generate_quadratic_assignment(QuadraticAssignmentFamily(type="uniform", n=40))
    assert (uniform.distances == uniform.distances.T).all()
    assert 95 <= uniform.flows.max() <= 99
    late = generate_tardiness(TardinessFamily(jobs=200, tardiness_factor=0.4, due_range=0.2, seed=4))
    total = late.times.sum()
    assert 0.49 * total <= late.due.min() <= late.due.max() <= 0.71 * total


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: engine.QuadraticAssignment([[1, 2]], [[1, 2]]), "must be a square matrix"),
        (
            lambda: engine.QuadraticAssignment([[0, -1], [1, 0]], [[0, 1], [1, 0]]),
            "flows must be at least 0; got -1 at row 0, column 1",
        ),
        (lambda: engine.QuadraticAssignment(np.full((9, 9), 2000), np.full((9, 9), 2000)), "must stay below 2\\^28"),
        (lambda: assignment(4, 1).evaluate([0, 1, 2, 2]), "must be taken once"),
        (lambda: engine.QuadraticAssignment(np.ones((65, 65)), np.ones((65, 65))).tree(), "at most 64 facilities"),
        (lambda: engine.Tardiness([1, 2], [1, 2, 3], [1, 2]), "vectors of one length"),
        (lambda: engine.Tardiness([1, 2], [1, -2], [1, 2]), "weights must be at least 0; got -2 of job 1"),
        (
            lambda: engine.Tardiness([1], [1], np.array(["2026-01-01"], "datetime64[D]")),
            r"must be integers; got arrays of int64, int64, datetime64\[D\]",
        ),
        (lambda: engine.Tardiness([10**5] * 9, [10**5] * 9, [1] * 9), "must stay below 2\\^28"),
        (lambda: tardiness(5, 1).evaluate([0, 1]), "must list each of the jobs 0 to 4 once"),
        (lambda: engine.Tardiness(np.ones(70), np.ones(70), np.ones(70)).tree(), "at most 64 jobs"),
        (lambda: engine.LinearOrdering([[1, 2]]), r"must be a square matrix; got the shape \(1, 2\)"),
        (lambda: engine.LinearOrdering([[0, 0.5], [1, 0]]), "must be integers; got 0.5 at row 0, column 1"),
        (lambda: engine.LinearOrdering([[0, -(2**29)], [2**29, 0]]), r"must stay below 2\^30"),
        (lambda: ordering(4, 1).evaluate([0, 1, 2, 2]), "must list each of the items 0 to 3 once"),
        (lambda: ordering(4, 1).superdiagonal([0, 1, 2]), "must list each of the items 0 to 3 once"),
        (lambda: engine.LinearOrdering(np.ones((129, 129))).tree(), "at most 128 items"),
    ],
)
def test_what_breaks_a_rule_is_refused(make, message):
    with pytest.raises(ProblemError, match=message):
        make()


def test_bounds_cannot_be_chosen():
    for problem in (assignment(4, 1), tardiness(4, 1), ordering(4, 1)):
        with pytest.raises(OptionError, match="no choice of bounds"):
            problem.tree(bound="partial")
