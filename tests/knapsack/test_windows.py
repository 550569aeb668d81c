"""Items of equal weight and profit, many of which share a launch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Knapsack
from engine.devices import Capabilities
from engine.solvers.knapsack.dense import table as dense_table
from engine.solvers.knapsack.dense.schedule import GroupRules, Schedule
from engine.solvers.knapsack.dense.worker import RowWorker
from engine.solvers.knapsack.programs import Shapes
from tests.support.examples import examples
from tests.support.knapsacks import assert_optimal

LOCAL = {"local_memory": 227 << 10, "local_memory_per_unit": 228 << 10}
GPU = Capabilities("gpu", True, True, False, "cusolver", 132, **LOCAL, preferred_block=256, max_block=1024)


def lock_step(value):
    """Work-items in lock step as on a GPU, with room for few cells of each chain."""
    windows = {"window_block": 32, "window_slots": 20, "window_unroll": 4, "window_items_per_unit": 96}
    return Shapes(
        *(value, False, 1, 32, 32, 8, 1, 2),
        **(windows | {"class_unroll": 2, "class_items_per_unit": 64, "least_windowed": 3, "least_window_weight": 6}),
    )


@st.composite
def repeated(draw):
    """A few kinds of items, many of each, with some that are alone."""
    kinds = draw(st.integers(1, 6))
    heaviest = draw(st.sampled_from([2, 9, 70, 900]))
    weights = np.array(draw(st.lists(st.integers(1, heaviest), min_size=kinds, max_size=kinds)))
    most = draw(st.sampled_from([1, 80, 10**12]))
    profits = np.array(draw(st.lists(st.integers(0, most), min_size=kinds, max_size=kinds)))
    copies = draw(st.lists(st.sampled_from([1, 2, 5, 13, 60, 300]), min_size=kinds, max_size=kinds))
    own = np.repeat(np.arange(kinds), copies)
    own = own[np.random.default_rng(kinds).permutation(len(own))]
    return Knapsack(profits[own], weights[own], draw(st.integers(1, int(weights[own].sum()))))


few = examples(80)
variants = st.sampled_from(["classes", "dense"])
kept = st.sampled_from([1e-5, 1e-2, 10.0])


@pytest.fixture
def as_gpu(monkeypatch):
    monkeypatch.setattr(dense_table, "shapes_for", lambda _, value: lock_step(value))


@few
@given(
    problem=repeated(),
    variant=variants,
    keep_memory=kept,
    gpu=st.booleans(),
    several=st.booleans(),
    share=st.sampled_from([1, 50]),
)
def test_equal_items_are_solved(one_device, three_devices, problem, variant, keep_memory, gpu, several, share):
    with pytest.MonkeyPatch.context() as patch:
        if gpu:
            patch.setattr(dense_table, "shapes_for", lambda _, value: lock_step(value))
        options = {"variant": variant, "keep_memory": keep_memory, "minimum_share": share}
        assert_optimal(three_devices if several else one_device, problem, reduce=False, **options)


@pytest.mark.usefixtures("as_gpu")
def test_equal_items_are_traced_back_together(one_device):
    random, own = np.random.default_rng(4), np.repeat(np.arange(4), [60, 13, 30, 2])
    weights, profits = random.integers(6, 70, 4)[own], random.integers(1, 80, 4)[own]
    for capacity in (700, 2222):
        problem = Knapsack(profits, weights, capacity)
        for variant in ("classes", "dense"):
            assert_optimal(one_device, problem, reduce=False, variant=variant, keep_memory=10.0)


@pytest.mark.few(1)
@pytest.mark.parametrize("total", [2**30 - 1, 2**61 - 2**16])
@pytest.mark.parametrize("gpu", [False, True])
def test_their_profile_is_exact_up_to_the_largest_profits(one_device, monkeypatch, request, total, gpu):
    if gpu:
        request.getfixturevalue("as_gpu")
    launched = launches(monkeypatch)
    copies = np.array([40, 7, 25, 1])
    profits = np.repeat((total * np.array([6, 1, 2, 0.5]) / 9.6).astype(np.int64) // copies, copies)
    weights = np.repeat([7, 12, 5, 30], copies)
    assert total * 0.98 < int(profits.sum()) < total
    problem = Knapsack(profits, weights, int(weights.sum()) * 2 // 3)
    assert_optimal(one_device, problem, variant="classes", reduce=False, profile=True)
    assert "window" in launched


def launches(monkeypatch):
    """The kinds of groups that are launched from now on."""
    step = RowWorker._step
    kinds = set()

    def recorded(self, source, present):
        kinds.add(self.schedule.groups[present.group].kind)
        return step(self, source, present)

    monkeypatch.setattr(RowWorker, "_step", recorded)
    return kinds


rules_of_groups = st.builds(
    GroupRules,
    halo=st.sampled_from([0, 5, 20, 50]),
    depths=st.sampled_from([(), (2,), (8, 4), (32, 16, 8, 4, 2)]),
    windows=st.sampled_from([(0, 0), (2, 3), (5, 30)]),
    window_reach=st.just(200),
    tiles_first=st.booleans(),
)


@given(weights=st.lists(st.integers(1, 9), min_size=20, max_size=200), rules=rules_of_groups, seed=st.integers(0, 99))
def test_every_item_is_in_one_group_that_keeps_the_rules(weights, rules, seed):
    """Of equal items, too many in a group would be read past its end, where only some devices show it."""
    weights = np.array(weights)
    done = np.random.default_rng(seed).random(len(weights)) < 0.3
    schedule, done_groups = Schedule.build(np.arange(len(weights)), weights, weights + 5, rules, done)
    assert sorted(schedule.order.tolist()) == list(range(len(weights)))
    at = 0
    for number, group in enumerate(schedule.groups):
        own = weights[schedule.order[at : at + group.items]]
        assert (group.first, group.weight) == (at, own.sum())
        assert (done[schedule.order[at : at + group.items]] == (number < done_groups)).all()
        at += group.items
        if group.kind == "tile":
            assert group.weight <= rules.halo
        else:
            least, most = rules.windows
            sizes = {"row": [1], "class": rules.depths, "window": range(least // 2, most + 1)}[group.kind]
            assert group.items in sizes
            assert len(set(own.tolist())) == 1
    assert at == len(weights)


def test_weights_of_more_than_32_bits_are_processed_one_by_one():
    weights = np.array([2**31 - 1] * 2 + [2**31] * 2)
    schedule, _ = Schedule.build(np.arange(4), weights, weights, GroupRules(halo=100, depths=(2,)))
    assert [(group.kind, group.items) for group in schedule.groups] == [("row", 1), ("row", 1), ("class", 2)]
