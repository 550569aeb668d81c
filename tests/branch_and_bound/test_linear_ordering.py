"""Claims about linear ordering: optima by other ways, bounds from cycles, kernels that search as the reference."""

import itertools

import highspy
import numpy as np
import pytest

import engine
from engine.errors import ProblemError
from engine.references.branch_and_bound import search
from engine.solvers.branch_and_bound.problems.cycle_packing import best_packing, cycles_of, greedy_packing, is_packing
from tests.support.searching import as_gpu, counts, explore

pytestmark = pytest.mark.usefixtures("unoptimized")


def ordering(n, seed, least=0):
    return engine.LinearOrdering(np.random.default_rng(seed).integers(least, 30, (n, n)))


@pytest.mark.full
def test_kernels_of_more_than_64_items_visit_the_nodes_of_the_reference(device):
    weights = np.triu(np.full((70, 70), 3), 1)
    block = np.random.default_rng(3).integers(0, 30, (9, 9))
    weights[60:69, 60:69] = block  # items of both words
    order = np.random.default_rng(4).permutation(70)
    tree = engine.LinearOrdering(weights[np.ix_(order, order)]).tree()
    best = engine.solve(engine.LinearOrdering(block)).objective
    for capabilities in (None, as_gpu(device)):
        found = explore(device, tree, best, capabilities=capabilities)
        assert counts(found) == counts(search(tree, best))
        assert explore(device, tree, best + 1, capabilities=capabilities).best == best
    assert found.nodes > 1


@pytest.mark.parametrize("least", [0, -30])
def test_optima_are_those_of_dynamic_programming(device, least):
    problem = ordering(13, 5, least)
    result = engine.solve(problem, devices=[device.info.id], initial="infinity")
    assert (result.status, engine.verify(result, problem).verdict) == ("optimal", "verified")
    off = problem.weights.sum() - np.trace(problem.weights)
    assert problem.superdiagonal(result.solution) == off - result.objective


def test_negative_values_are_proved_and_kept(tmp_path):
    problem = ordering(13, 108, -30)
    result = engine.solve(problem)
    assert (result.status, engine.verify(result, problem).verdict) == ("optimal", "verified")
    assert problem.tree().lower_bound() < result.objective < 0 < result.counters["nodes"]
    large = ordering(60, 1, -30)
    assert engine.solve(large, time_limit=2, run_folder=tmp_path / "run").status == "time_limit"
    again = engine.resume(tmp_path / "run", time_limit=1)
    assert again.status == "time_limit"
    assert again.bound < again.objective == large.evaluate(again.solution) < 0


def test_all_cycles_are_listed_once_and_the_packing_of_a_linear_program_is_better():
    weights = np.random.default_rng(2).integers(0, 100, (14, 14))
    arcs = np.maximum(weights - weights.T, 0)
    cycles = cycles_of(arcs)
    triples = itertools.permutations(range(14), 3)
    expected = [[a, b, c] for a, b, c in triples if a < min(b, c) and arcs[a, b] and arcs[b, c] and arcs[c, a]]
    assert sorted(cycles.tolist()) == expected
    greedy, best = greedy_packing(arcs, cycles), best_packing(arcs, cycles)
    assert is_packing(arcs, cycles, greedy)
    assert is_packing(arcs, cycles, best)
    assert greedy.sum() < best.sum() <= engine.solve(engine.LinearOrdering(arcs)).objective


def test_bounds_do_not_depend_on_the_threads_that_highs_has_had():
    costs = np.random.default_rng(5).integers(1, 100, (12, 12))
    costs[:6, 6:] += 300  # an assignment has two subtours at least
    costs[6:, :6] += 300
    found = []
    for threads in (1, 2):
        highspy.Highs.resetGlobalScheduler(True)
        model = highspy.Highs()
        model.setOptionValue("output_flag", False)
        model.setOptionValue("threads", threads)
        model.addVar(0.0, 1.0)
        model.run()
        trees = ordering(9, 3).tree(), engine.ATSP(costs).tree()
        assert all(len(tree.prepare(lambda: False)) for tree in trees)
        found.append([tree.lower_bound() for tree in trees])
    highspy.Highs.resetGlobalScheduler(True)
    assert found[0] == found[1]


def test_a_packing_is_restored_from_what_a_checkpoint_keeps():
    problem = ordering(9, 3)
    tree, again = problem.tree(), problem.tree()
    found = tree.prepare(lambda: False)
    assert len(found)
    assert again.lower_bound() < tree.lower_bound()
    again.restore(found)
    assert again.lower_bound() == tree.lower_bound()
    assert counts(search(again, 10**6)) == counts(search(tree, 10**6))
    for wrong in (found[:, :3], -found, found + np.array([9, 0, 0, 0]), found * [1, 1, 1, 50]):
        with pytest.raises(ValueError, match="packing of cycles"):
            problem.tree().restore(wrong)


@pytest.mark.parametrize("text", ["2\n0 4\n1 0\n", "title 7\na b\n\n 2 \n\n0 4 1\n0\n", "2 0 4 1 0"])
def test_lolib_files_are_read(tmp_path, text):
    path = tmp_path / "two.lop"
    path.write_text(text)
    problem = engine.LinearOrdering.read(path)
    assert (problem.name, problem.weights.tolist()) == ("two", [[0, 4], [1, 0]])
    if "\n" in text:
        assert engine.solvers.recognize(path) is engine.LinearOrdering


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("title\n", "the file ends where the size should follow", None),
        ("title\n0\n", "the size must be 1 to 1000; got 0", 2),
        ("2\n0 4\n1\n", r"the file ends where entry \(1, 1\) should follow", 3),
        ("title\n2\n0 4\n1 x\n", r"entry \(1, 1\) must be an integer; got 'x'", 4),
        ("2\n0 4\n1 0\n5\n", "there is more than one 2 x 2 matrix: '5'", 4),
    ],
)
def test_mistakes_of_lolib_files_are_located(tmp_path, text, message, line):
    path = tmp_path / "wrong.lop"
    path.write_text(text)
    with pytest.raises(ProblemError, match=message) as caught:
        engine.LinearOrdering.read(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_the_largest_weights_are_exact(device):
    weights = np.array([[0, 2**29 - 1, 0], [0, 0, 2**28], [2**27, -(2**26), 0]])
    result = engine.solve(engine.LinearOrdering(weights), devices=[device.info.id], initial="infinity")
    assert (result.objective, result.status) == (2**27 - 2**26, "optimal")
