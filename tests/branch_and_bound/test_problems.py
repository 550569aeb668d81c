"""Claims about the problem classes: what they read, recognise, generate and refuse, and first solutions."""

import numpy as np
import pytest

import engine
from engine.errors import OptionError, ProblemError
from engine.formats import knapsack as formats
from engine.formats import lolib, qaplib, taillard, tsplib
from engine.generators.assignment import (
    QuadraticAssignmentFamily,
    TardinessFamily,
    generate_quadratic_assignment,
    generate_tardiness,
)
from engine.generators.branch_and_bound import ATSPFamily, FlowshopFamily, generate_atsp, generate_flowshop
from engine.generators.ordering import LinearOrderingFamily, generate_linear_ordering
from engine.solvers import recognize
from engine.solvers.branch_and_bound.problems.atsp import ATSP
from engine.solvers.branch_and_bound.problems.flowshop import Flowshop
from engine.solvers.branch_and_bound.problems.flowshop_best_known import SIZES
from engine.solvers.branch_and_bound.problems.queens import Queens

# The first row of Taillard's first instance, as published.
TA001 = [54, 83, 15, 71, 77, 36, 53, 38, 27, 87, 76, 91, 14, 29, 12, 77, 32, 87, 68, 94]


def test_taillards_instances_are_generated_by_number():
    problem = Flowshop.taillard(1)
    assert (problem.machines, problem.jobs, problem.name) == (5, 20, "ta001")
    assert problem.times[0].tolist() == TA001
    assert (generate_flowshop(FlowshopFamily(taillard=3)).times == Flowshop.taillard(3).times).all()
    with pytest.raises(OptionError, match="jobs, seed cannot be chosen for taillard = 3, which has its own"):
        generate_flowshop(FlowshopFamily(taillard=3, jobs=20, seed=7))
    for number, rule in ((0, "numbered 1 to 120"), (121, "numbered 1 to 120"), (1.5, "an integer")):
        with pytest.raises(ProblemError, match=f"{rule}; got {number}"):
            Flowshop.taillard(number)


@pytest.mark.parametrize("size", SIZES, ids=[f"{n}x{m}" for n, m in SIZES])
def test_generated_instances_are_the_published_tables(shared_data, size):
    path = shared_data / "taillard" / "tables" / f"tai{size[0]}_{size[1]}.txt"
    first = 10 * SIZES.index(size)
    for index, parsed in enumerate(taillard.read(path)):
        assert (parsed.times == Flowshop.taillard(first + index + 1).times).all()


def test_flowshop_files_are_read(tmp_path):
    path, text = tmp_path / "several.txt", ""
    for number in (1, 11):
        taillard.write(path, Flowshop.taillard(number).times, 17, 1582, 1582)
        text += path.read_text()
    again = Flowshop.read(path)
    assert (again.name, again.optimum) == ("several", 1582)
    path.write_text(text)
    assert (Flowshop.read(path, 2).times == Flowshop.taillard(11).times).all()
    with pytest.raises(ProblemError, match="there is no instance 3; the file holds 2"):
        Flowshop.read(path, 3)
    path.write_text("2 3\n0 5 1 6 2 7\n0 8 1 9 2 10\n")  # of Vallada, Ruiz and Framinan
    assert Flowshop.read(path).times.tolist() == [[5, 8], [6, 9], [7, 10]]
    assert recognize(path) is Flowshop


HEADER = "number of jobs, number of machines, initial seed, upper bound and lower bound :\n"
BROKEN_FLOWSHOPS = [
    ("", "the file is empty"),
    ("2 2 0 0 0\nprocessing times :\n1 2\n3\n", "the file ends where the processing time of job 1 on machine 1"),
    ("2 2 0 0 0\nprocessing times :\n1 2\n3 4\n5\n", "there is more than 2 x 2 processing times: '5'"),
    ("2 2 0 0 0\nprocessing times :\n1 2\n3 -4\n", "job 1 on machine 1 must be at least 0; got -4, line 5"),
    ("2 2 0 0 0\n1 2\n3 4\n", "lacks its line 'processing times :'"),
]


@pytest.mark.parametrize(("text", "rule"), BROKEN_FLOWSHOPS)
def test_a_broken_flowshop_file_is_explained(tmp_path, text, rule):
    path = tmp_path / "broken.txt"
    path.write_text(text and HEADER + text)
    with pytest.raises(ProblemError) as caught:
        Flowshop.read(path)
    rule, _, line = rule.partition(", line ")
    assert rule in str(caught.value)
    assert "broken.txt" in str(caught.value)
    assert not line or caught.value.line == int(line)


ONE, ONES = [[0, 1], [1, 0]], np.ones
QAP, TARDINESS, ORDERING = engine.QuadraticAssignment, engine.Tardiness, engine.LinearOrdering
REFUSED = [
    (lambda: Flowshop([[1, 2], [3, -1]]), "must be at least 0; got -1 at machine 1, job 1"),
    (lambda: Flowshop([[1.5]]), "must be integers; got 1.5 at machine 0, job 0"),
    (lambda: Flowshop([1, 2]), r"must be a matrix with at least one entry; got an array of shape \(2,\)"),
    (lambda: Flowshop([[2**30]]), r"must stay below 2\^30"),
    (lambda: Flowshop([[1, 2], [3]]), "must be a matrix of integers"),
    (lambda: Flowshop(ONES((2, 1025), int)).tree(), "at most 1024 jobs here; .* has 1025"),
    (lambda: Flowshop([[3, 1, 2]]).evaluate([0, 1, 1]), "an order must list each of the jobs 0 to 2 once"),
    (lambda: Flowshop.taillard(1).tree("partial"), "bound must be one_machine, two_machine or mixed"),
    (lambda: engine.FlowTime([[2**25] * 8]), r"must stay below 2\^30"),
    (lambda: ATSP([[0, 1, 2], [1, 0, 2]]), r"must be a square matrix; got the shape \(2, 3\)"),
    (lambda: ATSP([[0, -1], [1, 0]]), "costs must be at least 0; got -1 at row 0, column 1"),
    (lambda: ATSP(ONES((130, 130))).tree(), "at most 129 cities here; .* has 130"),
    (lambda: ATSP(ONE).tree("mixed"), "bound must be subtour, assignment, cheapest_arcs or partial"),
    (lambda: ATSP(np.full((5, 5), 2**22 + 1)).tree("assignment"), "takes costs up to 4,194,304"),
    (lambda: Queens(33), "n must be 0 to 32; got 33"),
    (lambda: QAP([[0, -1], [1, 0]], ONE), "flows must be at least 0; got -1 at row 0, column 1"),
    (lambda: QAP(np.full((9, 9), 2000), np.full((9, 9), 2000)), r"must stay below 2\^28"),
    (lambda: QAP(ONES((65, 65)), ONES((65, 65))).tree(), "at most 64 facilities"),
    (lambda: TARDINESS([1, 2], [1, 2, 3], [1, 2]), "vectors of one length"),
    (lambda: TARDINESS([1, 2], [1, -2], [1, 2]), "weights must be at least 0; got -2 of job 1"),
    (lambda: TARDINESS([1], [1], np.array(["2026-01-01"], "datetime64[D]")), "must be integers; got arrays of int64"),
    (lambda: ORDERING([[0, 0.5], [1, 0]]), "must be integers; got 0.5 at row 0, column 1"),
    (lambda: ORDERING(ONE).superdiagonal([0]), "must list each of the items 0 to 1 once"),
]


@pytest.mark.parametrize(("make", "rule"), REFUSED, ids=[rule[:40] for _, rule in REFUSED])
def test_a_value_that_breaks_a_rule_is_named(make, rule):
    with pytest.raises((OptionError, ProblemError), match=rule):
        make()


def test_tsplib_files_are_read_and_explained(shared_data, tmp_path):
    problem = ATSP.read(shared_data / "atsp" / "br17.atsp")
    assert (problem.name, problem.n) == ("br17", 17)
    assert problem.costs[0, :5].tolist() == [0, 3, 5, 48, 48]
    assert not problem.costs.diagonal().any()
    path = tmp_path / "colon.atsp"
    tsplib.write(path, "colon", np.array([[0, 1], [2, 0]]))
    text = path.read_text().replace("EDGE_WEIGHT_SECTION", "EDGE_WEIGHT_SECTION:")
    path.write_text(text)
    assert ATSP.read(path).costs.tolist() == [[0, 1], [2, 0]]
    for wrong, message in (
        ("0", "a matrix of DIMENSION 2 has 4 costs; the file has 3"),
        (f"0 {10**19}", r"cost .* \(0, 1\) must have at most 18 digits; got '1000.* line 8"),
    ):
        path.write_text(text.replace("0 1", wrong))
        with pytest.raises(ProblemError, match=message):
            ATSP.read(path)
    file = tmp_path / "square.tsp"
    file.write_text("NAME : square\nTYPE : TSP\nDIMENSION : 4\nNODE_COORD_SECTION\n1 0 0\n2 0 1\n3 1 1\n4 1 0\nEOF\n")
    assert recognize(file) is ATSP
    with pytest.raises(ProblemError, match="Concorde"):  # symmetric: there is a better tool
        ATSP.read(file)


def test_only_ones_own_files_are_recognised(shared_data):
    mine = {"atsp": ATSP, "taillard": Flowshop}
    seen = 0
    for path in sorted(shared_data.rglob("*")):
        if not path.is_file():
            continue
        head = path.read_bytes()[:4096].decode("utf-8", errors="replace")
        folder = path.relative_to(shared_data).parts[0]
        instance = path.suffix == ".atsp" or path.parent.name == "tables"
        for kind in (ATSP, Flowshop, Queens):
            claimed = kind.recognizes(path, head)
            assert claimed == (instance and mine.get(folder) is kind), f"{kind.__name__}: {path}"
            seen += claimed
    assert seen > 0


def test_generated_families_are_as_described():
    assert generate_flowshop(FlowshopFamily(jobs=7, machines=3, seed=9)).times.shape == (3, 7)
    closed = generate_atsp(ATSPFamily(type="tsmat", n=8)).costs
    assert (closed == closed.T).all()
    assert (closed[:, :, None] + closed[None, :, :] >= closed[:, None, :]).all()
    grid = generate_quadratic_assignment(QuadraticAssignmentFamily(n=6, seed=3))
    assert grid.distances[0].tolist() == [0, 1, 2, 1, 2, 3]
    assert grid.flows.max() <= 10
    uniform = generate_quadratic_assignment(QuadraticAssignmentFamily(type="uniform", n=40))
    assert (uniform.distances == uniform.distances.T).all()
    assert 95 <= uniform.flows.max() <= 99
    late = generate_tardiness(TardinessFamily(jobs=200, tardiness_factor=0.4, due_range=0.2, seed=4))
    assert 0.49 * late.times.sum() <= late.due.min() <= late.due.max() <= 0.71 * late.times.sum()
    ranking = generate_linear_ordering(LinearOrderingFamily(n=40, comparisons=50, upsets=0.1, seed=3))
    assert (ranking.weights + ranking.weights.T == 50 * (1 - np.eye(40))).all()
    found = ranking.first_solution("heuristic", 0)
    assert 0.08 <= ranking.evaluate(found) / (50 * 40 * 39 / 2) <= 0.12


TIMES, MATRIX = Flowshop.taillard(1).times[:, :12], np.random.default_rng(1).integers(1, 99, (12, 12))
HEURISTICS = [
    (Flowshop(TIMES), "neh"),
    (Flowshop(TIMES), "iterated_greedy"),
    *((kind(TIMES), "heuristic") for kind in (engine.FlowTime, engine.BlockingFlowshop, engine.NoWaitFlowshop)),
    (ATSP(MATRIX), "nearest_neighbour"),
    *((ATSP(MATRIX[:n, :n]), "local_search") for n in (2, 3, 4, 12)),
    (QAP(MATRIX, MATRIX.T), "heuristic"),
    (TARDINESS(MATRIX[0], MATRIX[1], 4 * MATRIX[2]), "heuristic"),
    (ORDERING(MATRIX), "heuristic"),
]


@pytest.mark.parametrize(("problem", "method"), HEURISTICS, ids=lambda value: getattr(value, "kind", value))
def test_first_solutions_are_good_keep_the_seed_and_end_when_time_is_up(problem, method):
    tree, random = problem.tree(), np.random.default_rng(0)
    found = problem.first_solution(method, 1)
    n = len(found)
    assert sorted(found.tolist()) == list(range(n))
    assert np.array_equal(found, problem.first_solution(method, 1))
    fixed = int(isinstance(problem, ATSP))  # a tour begins with city 0
    others = [np.append(np.arange(fixed), fixed + random.permutation(n - fixed)) for _ in range(300)]
    assert tree.evaluate(found) <= min(tree.evaluate(other) for other in others)
    asked = []
    ended = problem.first_solution(method, 1, lambda: asked.append(None) or len(asked) > 5)
    assert sorted(ended.tolist()) == list(range(n))
    assert len(asked) < 30


def test_lists_of_items_are_not_taken_for_matrices(tmp_path):
    for n in (3, 2000):
        knapsack = engine.Knapsack(np.arange(1, n + 1), np.arange(1, n + 1), n)
        for name in ("jooken", "kplib", "capacity-last", "unicauca"):
            path = tmp_path / f"{name}-{n}.dat"
            formats.write(path, knapsack.profits, knapsack.weights, knapsack.capacity, name)
            assert recognize(path) is engine.Knapsack
    for n in (2, 3, 12, 60):
        path = tmp_path / f"matrices-{n}.DAT"
        qaplib.write(path, ONES((n, n), np.int64), np.full((n, n), 2))
        assert recognize(path) is QAP
        for suffix in ("lop", "mat", "txt", *(["dat"] if n == 12 else [])):
            path = tmp_path / f"matrix-{n}.{suffix}"
            lolib.write(path, np.triu(np.full((n, n), 21)))
            assert recognize(path) is ORDERING


def test_a_file_is_written_through_a_link(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    link.symlink_to(target)
    for _ in range(2):
        taillard.write(link, np.array([[1, 2]]))
        assert link.is_symlink()
        assert Flowshop.read(target).times.tolist() == [[1, 2]]
    with pytest.raises(ProblemError, match="the flowshop file cannot be written: "):
        taillard.write(tmp_path / "missing" / "file.txt", np.array([[1, 2]]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.txt", "target.txt"]
