"""Claims about the problem classes: what they read, recognise, generate and refuse."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import engine
from engine.base.context import QuietContext
from engine.errors import OptionError, ProblemError
from engine.formats import knapsack as formats
from engine.formats import lolib, qaplib, taillard, tsplib
from engine.generators.branch_and_bound import ATSPFamily, FlowshopFamily, generate_atsp, generate_flowshop
from engine.solvers import problem_classes, recognize
from engine.solvers.branch_and_bound.heuristics.search import first_solution
from engine.solvers.branch_and_bound.options import FlowshopOptions
from engine.solvers.branch_and_bound.problems.atsp import ATSP
from engine.solvers.branch_and_bound.problems.atsp_assignment import AssignmentTree
from engine.solvers.branch_and_bound.problems.atsp_heuristics import guided, improve, patched, tour_cost
from engine.solvers.branch_and_bound.problems.flowshop import Flowshop
from engine.solvers.branch_and_bound.problems.flowshop_best_known import SIZES
from engine.solvers.branch_and_bound.problems.flowshop_heuristics import _Chain, iterated_greedy, makespan, neh
from engine.solvers.branch_and_bound.problems.queens import Queens

SAMPLES = Path(__file__).parents[2] / "samples" / "branch_and_bound"

# The first row of Taillard's first instance, as published.
TA001 = [54, 83, 15, 71, 77, 36, 53, 38, 27, 87, 76, 91, 14, 29, 12, 77, 32, 87, 68, 94]


def test_a_numbered_instance_has_its_own_size_and_seed():
    assert generate_flowshop(FlowshopFamily(taillard=3)).name == Flowshop.taillard(3).name
    with pytest.raises(OptionError, match="jobs, seed cannot be chosen for taillard = 3, which has its own"):
        generate_flowshop(FlowshopFamily(taillard=3, jobs=20, seed=7))


def test_taillards_instances_are_generated_by_number():
    problem = Flowshop.taillard(1)
    assert (problem.machines, problem.jobs, problem.name) == (5, 20, "ta001")
    assert problem.times[0].tolist() == TA001
    assert Flowshop.taillard(120).times.shape == (20, 500)


@pytest.mark.parametrize("size", SIZES, ids=[f"{n}x{m}" for n, m in SIZES])
def test_generated_instances_are_the_published_tables(shared_data, size):
    path = shared_data / "taillard" / "tables" / f"tai{size[0]}_{size[1]}.txt"
    first = 10 * SIZES.index(size)
    for index, parsed in enumerate(taillard.read(path)):
        assert (parsed.times == Flowshop.taillard(first + index + 1).times).all()


def test_a_flowshop_file_is_read_back_as_written(tmp_path):
    problem = Flowshop.taillard(11)
    path = tmp_path / "ta011.txt"
    taillard.write(path, problem.times, 17, 1582, 1582)
    again = Flowshop.read(path)
    assert (again.times == problem.times).all()
    assert (again.name, again.optimum) == ("ta011", 1582)
    assert recognize(path) is Flowshop


def test_a_file_of_several_instances_gives_each(tmp_path):
    path = tmp_path / "several.txt"
    taillard.write(path, Flowshop.taillard(1).times)
    text = path.read_text()
    taillard.write(path, Flowshop.taillard(2).times)
    path.write_text(text + path.read_text())
    assert (Flowshop.read(path, 2).times == Flowshop.taillard(2).times).all()
    with pytest.raises(ProblemError, match="there is no instance 3; the file holds 2"):
        Flowshop.read(path, 3)


def test_the_layout_of_vallada_ruiz_and_framinan_is_read(tmp_path):
    path = tmp_path / "VFR2_3.txt"
    path.write_text("2 3\n0 5 1 6 2 7\n0 8 1 9 2 10\n")
    assert Flowshop.read(path).times.tolist() == [[5, 8], [6, 9], [7, 10]]
    assert recognize(path) is Flowshop


HEADER = "number of jobs, number of machines, initial seed, upper bound and lower bound :\n"
BROKEN_FLOWSHOPS = [
    ("", "the file is empty"),
    (
        HEADER + "2 2 0 0 0\nprocessing times :\n1 2\n3\n",
        "the file ends where the processing time of job 1 on machine 1",
    ),
    (HEADER + "2 2 0 0 0\nprocessing times :\n1 2\n3 4\n5\n", "there is more than 2 x 2 processing times: '5'"),
    (HEADER + "2 2 0 0 0\nprocessing times :\n1 2\n3 4.5\n", "must be an integer; got '4.5'"),
    (HEADER + "2 2 0 0 0\nprocessing times :\n1 2\n3 -4\n", "job 1 on machine 1 must be at least 0; got -4"),
    (HEADER + "0 2 0 0 0\nprocessing times :\n", "the number of jobs must be 1 to 100000; got 0"),
    (HEADER + "2 2 0 0 0\n1 2\n3 4\n", "lacks its line 'processing times :'"),
    ("2 2\n0 5 2 6\n0 1 1 1\n", "got machine 2 for 1"),
    ("2 2\n0 5 1 -6\n0 1 1 1\n", "job 0 on machine 1 must be at least 0; got -6"),
    ("2 2\n0 5 1 6\n0 1\n", "the file ends where the number of machine 1 of job 1"),
]


@pytest.mark.parametrize(("text", "rule"), BROKEN_FLOWSHOPS, ids=[rule[:40] for _, rule in BROKEN_FLOWSHOPS])
def test_a_broken_flowshop_file_is_explained(tmp_path, text, rule):
    path = tmp_path / "broken.txt"
    path.write_text(text)
    with pytest.raises(ProblemError) as caught:
        Flowshop.read(path)
    assert rule in str(caught.value)
    assert "broken.txt" in str(caught.value)
    assert "at least 0; got -" not in rule or caught.value.line == next(
        number for number, line in enumerate(text.split("\n"), 1) if " -" in line
    )


REFUSED = [
    (Flowshop, [[1, 2], [3, -1]], "must be at least 0; got -1 at machine 1, job 1"),
    (Flowshop, [[1.5]], "must be integers; got 1.5 at machine 0, job 0"),
    (Flowshop, [1, 2], "must be a matrix with at least one entry; got an array of shape (2,)"),
    (Flowshop, [["a"]], "must be integers; got an array of"),
    (Flowshop, [[2**30]], "they must stay below 2^30"),
    (Flowshop, [[1, 2], [3]], "must be a matrix of integers"),
    (ATSP, [[0, 1, 2], [1, 0, 2]], "must be a square matrix; got the shape (2, 3)"),
    (ATSP, [[0, -1], [1, 0]], "costs must be at least 0; got -1 at row 0, column 1"),
    (ATSP, [[0, 2**30], [1, 0]], "they must stay below 2^30"),
    (Queens, -1, "n must be 0 to 32; got -1"),
    (Queens, 33, "n must be 0 to 32; got 33"),
    (Queens, "8", "n must be an integer; got '8'"),
]


@pytest.mark.parametrize(("kind", "value", "rule"), REFUSED, ids=[rule[:45] for _, _, rule in REFUSED])
def test_a_value_that_breaks_a_rule_is_named(kind, value, rule):
    with pytest.raises(ProblemError) as caught:
        kind(value)
    assert rule in str(caught.value)


def test_more_items_than_sets_hold_are_refused_with_the_limit():
    with pytest.raises(ProblemError, match=r"at most 128 jobs here; .* has 129"):
        Flowshop(np.ones((2, 129), int)).tree("auto", "auto")
    with pytest.raises(ProblemError, match=r"at most 129 cities here; .* has 130"):
        ATSP(np.ones((130, 130), int)).tree("auto", "auto")


def test_a_bound_of_another_problem_is_refused():
    with pytest.raises(OptionError, match="bound must be one_machine, two_machine or mixed"):
        Flowshop.taillard(1).tree("partial", "auto")
    with pytest.raises(OptionError, match="bound must be subtour, assignment, cheapest_arcs or partial"):
        ATSP([[0, 1], [1, 0]]).tree("mixed", "auto")
    with pytest.raises(OptionError, match="no choice of bounds"):
        Queens(5).tree("mixed", "auto")


def test_tsplib_files_are_read(shared_data):
    problem = ATSP.read(shared_data / "atsp" / "br17.atsp")
    assert (problem.name, problem.n) == ("br17", 17)
    assert problem.costs[0, :5].tolist() == [0, 3, 5, 48, 48]
    assert not problem.costs.diagonal().any()


def test_a_tsplib_file_with_too_few_costs_is_explained(tmp_path):
    path = tmp_path / "short.atsp"
    tsplib.write(path, "short", np.ones((3, 3), np.int64))
    path.write_text(path.read_text().replace("1 1 1\nEOF", "1 1\nEOF"))
    with pytest.raises(ProblemError, match="a matrix of DIMENSION 3 has 9 costs; the file has 8"):
        ATSP.read(path)


def test_a_section_may_end_with_a_colon_and_numbers_too_long_are_refused(tmp_path):
    path = tmp_path / "colon.atsp"
    tsplib.write(path, "colon", np.array([[0, 1], [2, 0]]))
    text = path.read_text().replace("EDGE_WEIGHT_SECTION", "EDGE_WEIGHT_SECTION:")
    path.write_text(text)
    assert ATSP.read(path).costs.tolist() == [[0, 1], [2, 0]]
    path.write_text(text.replace("0 1", f"0 {10**19}"))
    with pytest.raises(ProblemError, match=r"cost .* \(0, 1\) must have at most 18 digits; got '1000.* line 8"):
        ATSP.read(path)


def test_qaplib_files_are_read(shared_data):
    path = shared_data / "qaplib" / "nug12.dat"
    flow, distance = qaplib.read(path)
    assert flow.shape == distance.shape == (12, 12)
    assert recognize(path) is engine.QuadraticAssignment


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


def test_samples_are_recognised_by_what_they_hold():
    expected = {
        "ta030.txt": Flowshop,
        "queens-14.txt": Queens,
        "crane-13.atsp": ATSP,
        "grid-10.dat": engine.QuadraticAssignment,
        "tardiness-18.txt": engine.Tardiness,
        "ranking-25.mat": engine.LinearOrdering,
    }
    assert {name: recognize(SAMPLES / name) for name in expected} == expected
    assert Queens.read(SAMPLES / "queens-14.txt").n == 14
    assert (Flowshop.read(SAMPLES / "ta030.txt").times == Flowshop.taillard(30).times).all()


@pytest.mark.parametrize("problem", [Flowshop.taillard(3), ATSP([[0, 3], [4, 0]], "two"), Queens(7)])
def test_a_problem_comes_back_from_its_arrays(problem):
    again = type(problem).from_arrays(problem.to_arrays(), problem.name)
    assert again.describe() == problem.describe()
    assert type(problem).__name__ in problem_classes()


@pytest.mark.full
def test_neh_and_iterated_greedy_are_orders_that_get_better():
    times = Flowshop.taillard(3).times
    first = neh(times)
    better = iterated_greedy(times, first, seed=0)
    assert sorted(first.tolist()) == sorted(better.tolist()) == list(range(20))
    assert makespan(times, better) <= makespan(times, first) < makespan(times, np.arange(20))
    assert iterated_greedy(times, first, seed=0).tolist() == better.tolist()


def test_insertions_of_many_schedules_are_evaluated_as_makespans():
    random = np.random.default_rng(4)
    times = random.integers(1, 99, (5, 8))
    forward, backward = _Chain(np.ascontiguousarray(times.T)), _Chain(np.ascontiguousarray(times[::-1].T))
    orders = np.array([random.permutation(8)[:6] for _ in range(4)])
    jobs = np.array([next(job for job in range(8) if job not in order) for order in orders.tolist()])
    heads, tails = forward.completions(orders), backward.completions(orders[:, ::-1])[::-1, :, ::-1]
    values = (forward.after(heads, jobs) + tails).max(axis=2)
    for index, (order, job) in enumerate(zip(orders.tolist(), jobs.tolist(), strict=True)):
        for place in range(7):
            assert values[place, index] == makespan(times, [*order[:place], job, *order[place:]])


def test_generators_follow_their_options():
    assert (generate_flowshop(FlowshopFamily(taillard=5)).times == Flowshop.taillard(5).times).all()
    assert generate_flowshop(FlowshopFamily(jobs=7, machines=3, seed=9)).times.shape == (3, 7)
    for kind in ("crane", "tsmat"):
        options = ATSPFamily.model_validate({"type": kind, "n": 8, "seed": 3})
        assert (generate_atsp(options).costs == generate_atsp(options).costs).all()
    closed = generate_atsp(ATSPFamily(type="tsmat", n=8)).costs
    assert (closed == closed.T).all()
    assert (closed[:, :, None] + closed[None, :, :] >= closed[:, None, :]).all()


# --- initial tours ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 17])
@pytest.mark.parametrize("method", ["nearest_neighbour", "local_search"])
def test_an_initial_tour_visits_every_city_once_from_city_0(n, method):
    problem = ATSP(np.random.default_rng(n).integers(0, 99, (n, n)))
    tour = problem.first_solution(method, seed=3)
    assert tour[0] == 0
    assert sorted(tour.tolist()) == list(range(n))
    again = problem.first_solution(method, seed=3)
    assert np.array_equal(tour, again)


def test_exchanging_chains_ends_where_no_exchange_saves_anything():
    costs = np.random.default_rng(2).integers(1, 99, (9, 9))
    for seed in range(5):
        tour = improve(costs, np.random.default_rng(seed).permutation(9))
        assert sorted(tour.tolist()) == list(range(9))
        for length in range(1, 8):
            for start in range(9):
                turned = np.roll(tour, -start)
                chain, rest = turned[:length], turned[length:]
                for place in range(1, len(rest)):
                    moved = np.concatenate([rest[:place], chain, rest[place:]])
                    assert tour_cost(costs, moved) >= tour_cost(costs, tour)


def test_patching_joins_the_subtours_of_the_assignment():
    costs = np.full((6, 6), 50)
    for first, second in ((0, 1), (2, 3), (4, 5)):
        costs[first, second] = costs[second, first] = 1  # the assignment is three subtours of two cities
    costs[0, 3] = costs[2, 1] = 5
    tour = patched(costs)
    assert sorted(tour.tolist()) == list(range(6))
    assert tour_cost(costs, tour) == 1 + 1 + 5 + 1 + 50 + 50  # arcs (0, 3) and (2, 1) join two of them


def test_heuristics_stop_when_time_is_up():
    asked = iter([False] * 5 + [True] * 10_000)
    flowshop = Flowshop.taillard(51)
    order = flowshop.first_solution("iterated_greedy", 0, lambda: next(asked))
    assert sorted(order.tolist()) == list(range(50))
    tour = ATSP(np.random.default_rng(1).integers(0, 99, (40, 40))).first_solution("local_search", 0, lambda: True)
    assert sorted(tour.tolist()) == list(range(40))


def test_costs_too_large_for_the_assignment_bound_take_another_one():
    problem = ATSP(np.full((5, 5), 2**22 + 1))
    assert not isinstance(problem.tree(), AssignmentTree)
    assert isinstance(ATSP(np.full((5, 5), 2**22)).tree(), AssignmentTree)
    with pytest.raises(OptionError, match="takes costs up to 4,194,304"):
        problem.tree("assignment")


def test_guided_tours_are_made_until_one_is_good_enough():
    problem = ATSP(np.random.default_rng(6).integers(1, 99, (12, 12)))
    weights, _ = problem.relaxation.weights(problem.relaxation.multipliers())
    values = [tour_cost(problem.costs, tour) for tour in guided(problem.costs, weights, 50.0, 1, 0)]
    assert len(values) > 5  # none is good enough
    again = [tour_cost(problem.costs, tour) for tour in guided(problem.costs, weights, 50.0, 1, values[0])]
    assert again == values[:1]
    stopped = list(guided(problem.costs, weights, 50.0, 1, 0, lambda: True))
    assert [sorted(tour.tolist()) for tour in stopped] == [list(range(12))]


@pytest.mark.full
def test_gpus_begin_with_a_brief_heuristic():
    problem = Flowshop.taillard(30)
    gpu = SimpleNamespace(info=SimpleNamespace(capabilities=SimpleNamespace(simt=True)))
    brief, whole = (
        problem.evaluate(first_solution(problem, FlowshopOptions(), QuietContext(0), lambda: False, pool)[0])
        for pool in (SimpleNamespace(members=[gpu]), None)
    )
    assert 2178 <= whole < brief <= 2178 + 60
    assert Flowshop.taillard(31).brief_steps is None


def test_symmetric_files_are_refused_with_the_name_of_a_better_tool(tmp_path):
    file = tmp_path / "square.tsp"
    file.write_text("NAME : square\nTYPE : TSP\nDIMENSION : 4\nNODE_COORD_SECTION\n1 0 0\n2 0 1\n3 1 1\n4 1 0\nEOF\n")
    assert recognize(file) is ATSP
    with pytest.raises(ProblemError, match="Concorde"):
        ATSP.read(file)


@pytest.mark.parametrize("values", [[[0], [1, 2]], [None, 1, 2], ["a", 1, 2], 3, [0, 1], [0, 1, 1]])
def test_what_is_no_order_of_the_jobs_is_refused(values):
    with pytest.raises(ProblemError, match="an order must list each of the jobs 0 to 2 once"):
        engine.Flowshop([[3, 1, 2]]).evaluate(values)


@pytest.mark.parametrize(
    ("number", "rule"), [(0, "numbered 1 to 120"), (121, "numbered 1 to 120"), (1.5, "an integer")]
)
def test_there_are_120_instances_of_taillards(number, rule):
    for call in (engine.Flowshop.taillard, engine.Flowshop.taillard_best_known):
        with pytest.raises(ProblemError, match=f"{rule}; got {number}"):
            call(number)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"queens 6\n", engine.Queens),
        (b"tardiness 2\n1 2\n1 1\n2 2\n", engine.Tardiness),
        (b"a title\n2\n0 1\n4 0\n", engine.LinearOrdering),
        (b"nowait\n2 2\n0 3 1 4\n0 2 1 5\n", engine.NoWaitFlowshop),
        (b"mckp 1 3\n0 1 2\n", engine.MultipleChoiceKnapsack),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_file_with_a_byte_order_mark_is_recognised(tmp_path, content, kind):
    path = tmp_path / "windows.txt"
    path.write_bytes(b"\xef\xbb\xbf" + content)
    assert recognize(path) is kind
    assert kind.read(path).name == "windows"


def test_lists_of_items_are_not_taken_for_matrices(tmp_path):
    for n in (3, 2000):
        knapsack = engine.Knapsack(np.arange(1, n + 1), np.arange(1, n + 1), n)
        for name in ("jooken", "kplib", "capacity-last", "unicauca"):
            path = tmp_path / f"{name}-{n}.dat"
            formats.write(path, knapsack.profits, knapsack.weights, knapsack.capacity, name)
            assert recognize(path) is engine.Knapsack
    for n in (2, 3, 12, 60):
        path = tmp_path / f"matrices-{n}.DAT"
        qaplib.write(path, np.ones((n, n), np.int64), np.full((n, n), 2))
        assert recognize(path) is engine.QuadraticAssignment
        for suffix in ("lop", "mat", "txt"):
            path = tmp_path / f"matrix-{n}.{suffix}"
            lolib.write(path, np.triu(np.full((n, n), 21)))
            assert recognize(path) is engine.LinearOrdering
    path = tmp_path / "matrix.dat"
    lolib.write(path, np.triu(np.full((12, 12), 21)))
    assert recognize(path) is engine.LinearOrdering


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
