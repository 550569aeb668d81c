"""Claims about quadratic assignment, weighted tardiness and linear ordering: optima, files, and references."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.references.branch_and_bound import search
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


PROBLEMS = {
    "qap 7": assignment(7, 1),
    "tardiness 9": tardiness(9, 4),
    "ordering 10": ordering(10, 1),
    "prepared ordering": ordering(9, 2),
}


@pytest.mark.few(3)
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


@pytest.mark.parametrize("made", MAKERS)
@given(st.integers(2, 6), st.integers(0, 10**6), st.booleans())
@examples(20)
def test_bounds_are_below_every_solution_and_the_search_finds_the_best(made, n, seed, prepared):
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


LATE = engine.Tardiness([10, 20, 30, 5], [5, 2, 3, 9], [2**32 + 50, 5, 1, 2**33])  # more than 32 bits


@pytest.mark.parametrize("problem", [tardiness(13, 0), LATE])
def test_least_tardiness_is_that_of_dynamic_programming(device, problem):
    result = engine.solve(problem, devices=[device.info.id], initial="infinity")
    assert (result.status, engine.verify(result, problem).verdict) == ("optimal", "verified")


@pytest.mark.parametrize("kind", ["flowshop", "atsp", "qap", "tardiness", "linear_ordering"])
def test_generated_problems_come_back_from_their_files_and_arrays(tmp_path, kind):
    generator = engine.solvers.discover()["branch_and_bound"].generators[kind]
    made, other = (generator.make(generator.options(seed=seed)) for seed in (1, 2))
    path = tmp_path / f"file{generator.suffix}"
    generator.write(made, path)
    tree = made.tree()
    order = np.arange(tree.items)[::-1]
    for again in (engine.solvers.recognize(path).read(path), type(made).from_arrays(made.to_arrays(), "again")):
        pairs = zip(made.to_arrays().values(), again.to_arrays().values(), strict=True)
        assert all(np.array_equal(one, two) for one, two in pairs)
        assert again.tree().evaluate(order) == tree.evaluate(order) != other.tree().evaluate(order)
