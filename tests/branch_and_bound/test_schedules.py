"""Claims about flowshops with total flow time, with blocking and without waiting: simulated, and in all orders."""

import itertools

import numpy as np
import pytest

import engine
from engine.errors import ProblemError
from engine.formats import taillard
from engine.references.branch_and_bound import search
from engine.solvers import recognize
from engine.solvers.branch_and_bound.problems.schedules import BlockingFlowshop, FlowTime, NoWaitFlowshop
from tests.support.searching import as_gpu, counts, explore, factorial_of

pytestmark = pytest.mark.usefixtures("unoptimized")

CLASSES = (FlowTime, BlockingFlowshop, NoWaitFlowshop)


def instance(kind, jobs, machines, seed):
    return kind(np.random.default_rng(seed).integers(0, 30, (machines, jobs)))


def simulated(problem, order):
    """The objective, unit by unit of the rules: every operation as early as the rules allow."""
    times = problem.times
    machines = len(times)
    if isinstance(problem, NoWaitFlowshop):
        busy_until, start = [0] * machines, 0
        for job in order:
            offsets = [int(times[:machine, job].sum()) for machine in range(machines)]
            while any(start + offset < until for offset, until in zip(offsets, busy_until, strict=True)):
                start += 1
            busy_until = [start + offsets[machine] + int(times[machine, job]) for machine in range(machines)]
        return busy_until[-1]
    free, total = [0] * machines, 0
    for job in order:
        begin = [0] * machines
        ready = 0
        for machine in range(machines):
            begin[machine] = max(ready, free[machine])
            ready = begin[machine] + int(times[machine, job])
        ends = [begin[machine] + int(times[machine, job]) for machine in range(machines)]
        blocking = isinstance(problem, BlockingFlowshop)
        free = [
            begin[machine + 1] if blocking and machine + 1 < machines else ends[machine] for machine in range(machines)
        ]
        total += ends[-1]
    return total if isinstance(problem, FlowTime) else ends[-1]


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(("jobs", "machines"), [(1, 3), (5, 4)])
def test_the_objective_is_that_of_a_simulation(kind, jobs, machines):
    problem = instance(kind, jobs, machines, seed=jobs)
    tree = problem.tree()
    for order in itertools.islice(itertools.permutations(range(jobs)), 40):
        value = simulated(problem, order)
        assert problem.evaluate(order) == value
        assert tree.evaluate(np.array(order)) == value
        assert tree.lower_bound() <= value


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(("jobs", "machines"), [(1, 2), (3, 1), (7, 5)])
def test_the_optimum_is_that_of_all_orders(device, kind, jobs, machines):
    problem = instance(kind, jobs, machines, seed=10 * jobs)
    best = min(problem.evaluate(order) for order in itertools.permutations(range(jobs)))
    found = engine.solve(problem, devices=[device.info.id], initial="infinity")
    assert (found.status, found.objective, problem.evaluate(found.solution)) == ("optimal", best, best)


@pytest.mark.parametrize("kind", CLASSES)
def test_kernels_visit_the_nodes_of_the_reference(device, kind):
    problem = instance(kind, 8, 4, seed=3)
    tree = problem.tree()
    optimum = search(tree).best
    expected = counts(search(tree, optimum))
    assert expected[4] == factorial_of(tree)
    for capabilities in (None, as_gpu(device)) if kind is not NoWaitFlowshop else (None,):
        assert counts(explore(device, tree, optimum, capabilities=capabilities)) == expected


@pytest.mark.parametrize("kind", CLASSES)
def test_a_file_is_the_word_and_a_flowshop(tmp_path, kind):
    problem = instance(kind, 5, 3, seed=2)
    plain = tmp_path / "plain.txt"
    taillard.write(plain, problem.times)
    path = tmp_path / "schedule.txt"
    path.write_text(f"{kind.kind}\n{plain.read_text()}")
    assert recognize(path) is kind
    assert recognize(plain) is engine.Flowshop
    assert np.array_equal(kind.read(path).times, problem.times)
    with pytest.raises(ProblemError, match=f"begins with the line '{kind.kind}'"):
        kind.read(plain)
    path.write_text(f"{kind.kind}\n2 2\nnothing\n")
    with pytest.raises(ProblemError, match="line 3"):
        kind.read(path)
