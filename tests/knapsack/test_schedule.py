"""Planning: every item once, no launch past its rules, and ranges that lose nothing."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.solvers.knapsack.dense.planning import Planner
from engine.solvers.knapsack.dense.schedule import Goal, GroupRules, Schedule
from engine.solvers.knapsack.ordering import cut_into_runs

rules = st.builds(
    GroupRules,
    halo=st.sampled_from([0, 5, 100, 1000]),
    depths=st.sampled_from([(), (2,), (8, 4), (32, 16, 8, 4, 2)]),
    tiles_first=st.booleans(),
)


@given(weights=st.lists(st.integers(1, 40), min_size=1, max_size=200), rules=rules, seed=st.integers(0, 99))
def test_every_item_is_in_one_group_that_keeps_the_rules(weights, rules, seed):
    array = np.array(weights)
    done = np.random.default_rng(seed).random(len(array)) < 0.3
    indices = np.arange(len(array)) + 7
    schedule, done_groups = Schedule.build(indices, array, array + 5, rules, done)
    assert sorted(schedule.order.tolist()) == indices.tolist()
    first = schedule.groups[done_groups].first if done_groups < len(schedule.groups) else len(array)
    assert set((schedule.order[:first] - 7).tolist()) == set(np.flatnonzero(done).tolist())
    at = 0
    for group in schedule.groups:
        own = schedule.weights[group.first : group.first + group.items]
        assert group.first == at
        assert group.weight == own.sum()
        at += group.items
        if group.kind == "row":
            assert group.items == 1
        elif group.kind == "tile":
            assert group.weight <= rules.halo
        else:
            assert group.items in rules.depths
            assert len(set(own.tolist())) == 1
    assert at == len(array)


def test_weights_of_more_than_32_bits_are_processed_one_by_one():
    weights = np.array([2**31 - 1] * 2 + [2**31] * 2)
    schedule, _ = Schedule.build(np.arange(4), weights, weights, GroupRules(halo=100, depths=(2,)))
    assert [(group.kind, group.items) for group in schedule.groups] == [("row", 1), ("row", 1), ("class", 2)]


@given(weights=st.lists(st.integers(1, 40), min_size=2, max_size=60), data=st.data())
def test_a_row_s_range_holds_all_that_the_next_one_reads(weights, data):
    array = np.array(weights)
    schedule, _ = Schedule.build(np.arange(len(array)), array, array, GroupRules(0, ()))
    end = len(schedule.groups)
    capacity = data.draw(st.integers(1, sum(weights)))
    goal = Goal(end, capacity, capacity)
    for stage in range(end):
        lo, hi = schedule.range(stage, goal)
        next_lo, next_hi = schedule.range(stage + 1, goal)
        weight = schedule.groups[stage].weight
        assert max(0, next_lo - weight) >= lo or lo == 0
        assert next_hi - weight <= hi
        assert schedule.widths(stage, end, goal)[0] == hi - lo + 1


@given(
    sizes=st.lists(st.integers(1, 30), max_size=60),
    most=st.integers(1, 50),
    count=st.one_of(st.none(), st.integers(1, 8)),
)
def test_runs_are_as_long_as_their_limits_allow(sizes, most, count):
    cuts = cut_into_runs(np.array(sizes, np.int64), most, count).tolist()
    assert cuts[0] == 0
    assert cuts[-1] == len(sizes)
    for first, end in itertools.pairwise(cuts):
        assert first < end
        assert sum(sizes[first:end]) <= most or end == first + 1
        assert count is None or end - first <= count
        full = end == len(sizes) or end - first == count
        assert full or sum(sizes[first : end + 1]) > most


@pytest.mark.parametrize("simt", [True, False])
def test_what_a_slice_makes_is_counted_for_every_member_that_had_a_part(simt):
    """A GPU makes all rows in one slice; the last row has one cell, which one member makes."""
    info = SimpleNamespace(name="any", language="opencl", capabilities=SimpleNamespace(simt=simt))
    weights = np.random.default_rng(1).integers(1, 1000, 600 if simt else 3000)
    schedule, _ = Schedule.build(np.arange(len(weights)), weights, weights, GroupRules(0, ()))
    end, capacity = len(schedule.groups), int(weights.sum()) // 2
    goal = Goal(end, capacity, capacity)
    planner = Planner(schedule, [info] * 3, peer=False, row_cells=capacity, halo=5000, minimum_share=1)
    slices = list(planner.slices(0, end, goal, alone=False))
    assert (len(slices) == 1) == simt
    assert slices[-1][-1].parts[1] == (capacity, capacity)
    assert sum(low <= high for low, high in slices[-1][-1].parts) == 1
    for present in slices:
        made = planner.cells_made(present, goal)
        work = int(schedule.work(present[0].begin, present[-1].end, goal).sum())
        assert sum(made.values()) == pytest.approx(work)
        assert len(made) == 3
        assert list(made.values()) == pytest.approx([work / 3] * 3, rel=0.05)
