"""Beam search for flowshop schedules: the tree's bounds, all nodes of small trees, first solutions of large ones."""

import itertools

import numpy as np
import pytest

from engine.solvers.branch_and_bound.problems import flowshop_beam
from engine.solvers.branch_and_bound.problems.flowshop import Flowshop
from engine.solvers.branch_and_bound.problems.flowshop_beam import beam_search
from engine.solvers.branch_and_bound.problems.flowshop_heuristics import makespan, neh


def never():
    return False


def test_bounds_are_those_of_the_tree():
    random = np.random.default_rng(3)
    times = random.integers(1, 99, (6, 9))
    tree = Flowshop(times).tree("one_machine", "min_branch")
    for count in range(8):
        state, jobs = tree.root(), random.permutation(9).tolist()
        for job in jobs[:count]:
            state = tree.place(state, 0, job, int(random.integers(2)))
        front, back = tree.one_machine(state, jobs[count:])
        given = (state.front[None], state.rest[None], state.back[None])
        found, means, _ = flowshop_beam._placed_first(*given, times)
        assert found[0, jobs[count:]].tolist() == front.tolist()
        turned = (array[:, ::-1] for array in reversed(given))
        found, means, _ = flowshop_beam._placed_first(*turned, times[::-1])
        assert found[0, jobs[count:]].tolist() == back.tolist()
        assert (means <= found).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_beam_of_all_nodes_finds_an_optimum(seed, monkeypatch):
    monkeypatch.setattr(flowshop_beam, "_MOST_NODES", 10**6)
    times = np.random.default_rng(seed).integers(1, 30, (4, 6))
    optimum = min(makespan(times, order) for order in itertools.permutations(range(6)))
    order = beam_search(times, optimum + 1, never)
    assert sorted(order.tolist()) == list(range(6))
    assert makespan(times, order) == optimum
    assert beam_search(times, optimum, never) is None


@pytest.mark.full
def test_the_first_schedule_of_many_jobs_is_better_than_by_insertion_alone():
    flowshop = Flowshop.taillard(41)
    inserted = makespan(flowshop.times, neh(flowshop.times))
    order = beam_search(flowshop.times, inserted, never)
    assert makespan(flowshop.times, order) < inserted - 50
    improved = flowshop.first_solution("iterated_greedy", 0)
    assert makespan(flowshop.times, improved) <= makespan(flowshop.times, order)


def test_a_beam_search_ends_when_time_is_up():
    asked = iter([False] * 3 + [True])
    assert beam_search(Flowshop.taillard(41).times, 10**6, lambda: next(asked)) is None
