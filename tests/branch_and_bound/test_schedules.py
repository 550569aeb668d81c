"""Claims about flowshops with total flow time, with blocking and without waiting: simulated, and in all orders."""

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


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(("jobs", "machines"), [(1, 2), (3, 1), (7, 5)])
def test_the_optimum_is_that_of_all_orders(device, kind, jobs, machines):
    problem = instance(kind, jobs, machines, seed=10 * jobs)
    found = engine.solve(problem, devices=[device.info.id], initial="infinity")
    assert (found.status, engine.verify(found, problem).verdict) == ("optimal", "verified")


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
