"""The knapsack solver against brute force and HiGHS, in every variant, on one device and on several."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Engine, Knapsack, Status
from engine.base.context import Checkpoint
from engine.devices import Device
from engine.errors import DeviceError, OptionError, OutOfDeviceMemory, ProblemError, RunFolderError
from engine.events import Metric, Notice, Progress
from engine.generators.knapsack import GeneratorOptions, generate
from engine.references.knapsack import optimal_value
from engine.runs.run import Run
from engine.solvers.knapsack.checkpoint import Progress as Earlier
from engine.solvers.knapsack.checkpoint import restore
from engine.solvers.knapsack.dense import planning
from engine.solvers.knapsack.dense import table as dense_table
from engine.solvers.knapsack.programs import Shapes
from tests.support.examples import examples
from tests.support.faults import failing
from tests.support.knapsacks import assert_optimal, assert_solved, assert_stopped
from tests.support.patience import PATIENCE
from tests.support.stopping import stop_at

VARIANTS = ("auto", "rows", "tiles", "classes", "sparse")


@st.composite
def problems(draw):
    """Few or many items, repeated or large weights, profits from 0 to past 32 bits."""
    n = draw(st.integers(1, 120))
    largest = draw(st.sampled_from([1, 3, 20, 300, 5000]))
    weights = draw(st.lists(st.integers(1, largest), min_size=n, max_size=n))
    if draw(st.booleans()):
        profits = [weight + draw(st.integers(0, 50)) for weight in weights]
    else:
        most = draw(st.sampled_from([1, 100, 10**9, 10**12]))
        profits = draw(st.lists(st.integers(0, most), min_size=n, max_size=n))
    return Knapsack(profits, weights, draw(st.integers(1, sum(weights) + 2)))


options = st.fixed_dictionaries(
    {
        "variant": st.sampled_from(VARIANTS),
        "reduce": st.booleans(),
        "minimum_share": st.sampled_from([1, 64, 10_000]),
        "keep_memory": st.sampled_from([1e-5, 1e-3, 1.0]),
    }
)

few = examples(120)


@few
@given(problem=problems(), options=options, several=st.booleans())
def test_every_variant_finds_the_optimum_and_its_items(one_device, three_devices, problem, options, several):
    assert_optimal(three_devices if several else one_device, problem, **options)


def lock_step(value):
    """Work-items in lock step as on a GPU, and tiles of a few cells, so that these kernels run where there is none."""
    return Shapes(value, False, 1, 32, 32, 8, 1, 2, cells_per_item=4, class_unroll=2, class_items_per_unit=64)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("variant", "heaviest", "total"),
    [("rows", 500, 2**30 - 1), ("tiles", 30, 2**61 - 2**16), ("classes", 6, 2**30 - 1)],
)
def test_lock_step_kernels_are_exact_up_to_the_largest_profits(one_device, monkeypatch, variant, heaviest, total):
    monkeypatch.setattr(dense_table, "shapes_for", lambda _, value: lock_step(value))
    random = np.random.default_rng(heaviest)
    for n in (9, 40):
        weights = random.integers(1, heaviest, n, endpoint=True)
        shares = random.random(n) ** 4
        profits = (shares / shares.sum() * (total - 2**12)).astype(np.int64)  # the sum is below, but for rounding
        problem = Knapsack(profits, weights, int(weights.sum()) // 2)
        assert int(profits.sum()) < total
        assert_optimal(one_device, problem, variant=variant, reduce=False, profile=True)


@pytest.mark.few(1)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_paper_s_instance_reaches_its_cardinality_bound(one_device, variant):
    """p = w + 50: no more items fit than the lightest, and no more weight than the capacity; both bounds are met."""
    problem = generate(GeneratorOptions(type="strongly-correlated", n=2000, seed=1))
    most_items = int(np.searchsorted(np.cumsum(np.sort(problem.weights)), problem.capacity, side="right"))
    result = one_device.solve(problem, variant=variant, reduce=False)
    assert_solved(result, problem, problem.capacity + 50 * most_items)


def test_published_optima_of_hard_instances_are_found(one_device, shared_data):
    with (shared_data / "knapsack" / "jooken" / "optima.csv").open() as table:
        rows = [row for row in list(csv.reader(table))[1:] if row[1] == "1200" and row[2] == "1000000"]
    checked = 0
    for name, _, _, published, _ in rows:
        path = shared_data / "knapsack" / "jooken" / f"{name}.kp"
        if path.exists() and int(published) > 0 and checked < 3:
            problem = Knapsack.read(path)
            assert_solved(one_device.solve(problem), problem, int(published))
            checked += 1
    assert checked == 3


@pytest.mark.parametrize(
    ("problem", "optimum", "items"),
    [
        (Knapsack([], [], 5), 0, []),
        (Knapsack([3, 4], [2, 3], 5), 7, [0, 1]),
        (Knapsack([3, 40], [2, 30], 5), 3, [0]),
        (Knapsack([30, 40], [20, 30], 5), 0, []),
        (Knapsack([0, 0], [1, 1], 1), 0, []),
    ],
)
def test_trivial_cases_need_no_device_work(one_device, problem, optimum, items):
    result = one_device.solve(problem)
    assert (result.objective, result.solution.tolist(), result.counters["cells"]) == (optimum, items, 0)


def test_reduction_fixes_items_and_says_how_many(one_device):
    problem, events = generate(GeneratorOptions(type="uncorrelated", n=500, seed=2)), []
    result = one_device.solve(problem, on_event=events.append)
    plain = one_device.solve(problem, reduce=False, items=False)
    assert result.objective == plain.objective == optimal_value(problem)
    assert plain.solution is None  # the value alone was asked for
    assert result.counters["items_fixed"] > 400 > plain.counters["items_fixed"]
    assert any(isinstance(event, Notice) and "fixed by bounds" in event.message for event in events)


def metrics(engine, problem, **options):
    """The result, and the values and devices of each metric."""
    found = {}

    def note(event):
        if isinstance(event, Metric):
            found.setdefault(event.name, []).append((event.value, event.device))

    return engine.solve(problem, on_event=note, **options), found


def test_the_range_is_shared_evenly_and_exchanged(three_devices):
    problem = generate(GeneratorOptions(type="strongly-correlated", n=1000, seed=1))
    result, found = metrics(three_devices, problem, reduce=False, minimum_share=1)
    assert result.objective == optimal_value(problem)
    assert result.counters["exchanged_bytes"] > 0
    assert {device for _, device in found["share"]} == set(result.devices)
    assert [share for share, _ in found["share"][:3]] == pytest.approx([1 / 3] * 3, abs=0.01)  # later rows may be short


def test_unlike_devices_share_by_speed(three_devices, monkeypatch):
    """Parts then differ, and one may be nearly the whole row."""
    monkeypatch.setattr(planning, "same_model", lambda devices: False)
    original = planning.Planner.slices

    def slices(self, *arguments):
        self._speed = [1e7, 1e10, 1e8]
        return original(self, *arguments)

    monkeypatch.setattr(planning.Planner, "slices", slices)
    problem = generate(GeneratorOptions(type="strongly-correlated", n=700, seed=9))
    result, found = metrics(three_devices, problem, reduce=False, minimum_share=1)
    assert_solved(result, problem)
    assert any(0.6 < share < 1 for share, _ in found["share"])


def test_a_problem_too_large_is_refused_before_anything_is_allocated(one_device):
    problem = Knapsack([7, 9, 8], [4 * 10**13, 5 * 10**13, 6 * 10**13 + 1], 10**14)
    with pytest.raises(OutOfDeviceMemory, match=r"needs .* TB on .*, which has .*; add devices"):
        one_device.solve(problem, reduce=False)


def test_a_profile_of_too_large_profits_is_refused(one_device):
    problem = Knapsack([2**61, 2**60], [3, 4], 10)
    assert one_device.solve(problem).objective == 2**61 + 2**60  # all fits, and needs no table
    for options in ({"profile": True}, {"profile": True, "variant": "rows"}):
        with pytest.raises(ProblemError, match="sum of profits must be below 2\\^61"):
            one_device.solve(problem, **options)


def test_a_time_limit_returns_the_greedy_items_and_a_bound(one_device, monkeypatch):
    problem = generate(GeneratorOptions(type="strongly-correlated", n=20_000, seed=1))
    result = one_device.solve(problem, reduce=False, time_limit=0.01)
    assert_stopped(result, problem, Status.TIME_LIMIT)
    assert result.objective < result.bound
    monkeypatch.setattr("engine.runs.attempt.LONGEST_GRACE", PATIENCE)  # a busy machine gives a run little time
    profits, weights = np.random.default_rng(1).integers(1, 10**6, (2, 300_000))
    problem = Knapsack(profits, weights, 3 * 10**10)
    result = one_device.solve(problem, time_limit=1e-3)  # which ends while it is presolved
    assert_stopped(result, problem, Status.TIME_LIMIT)
    assert problem.evaluate(result.solution)[1] <= problem.capacity


@pytest.mark.few(2)
@pytest.mark.parametrize("variant", ["rows", "classes"])
@pytest.mark.parametrize("phase", ["items", "backtracking"])
def test_an_interrupted_run_resumes_to_the_same_optimum(one_device, monkeypatch, tmp_path, phase, variant):
    """Stopped on the way forward, or on the way back, with a checkpoint after every slice."""
    problem = generate(GeneratorOptions(type="strongly-correlated", n=1500, seed=4, max_weight=500))
    with monkeypatch.context() as patch:
        stops = stop_at(patch, lambda event: isinstance(event, Progress) and event.phase == phase)
        stopped = one_device.solve(
            problem, reduce=False, variant=variant, run_folder=tmp_path / "run", checkpoint_interval=1e-6
        )
    assert stops
    assert_stopped(stopped, problem)
    assert_solved(one_device.resume(tmp_path / "run", time_limit=None).wait(), problem)


def restored(problem, phase="items", **changes):
    """What is restored of a checkpoint with these arrays and numbers."""
    arrays = {"taken": [], "open": range(problem.n), "best": [], "done": None, "row": None}
    arrays |= {name: changes.pop(name) for name in arrays.keys() & changes.keys()}
    arrays = {
        name: np.array(values, np.int32 if name == "row" else np.int64)
        for name, values in arrays.items()
        if values is not None
    }
    return restore(problem, Checkpoint(arrays, {"phase": phase, "capacity": problem.capacity, **changes}, 0.0))


FOUR = Knapsack([5, 4, 3, 6], [5, 4, 3, 6], 14)


def test_open_items_of_a_checkpoint_that_all_fit_are_taken():
    """A run that is stopped while it walks back leaves such ones; another stop then saved too few cells."""
    reduced, _, start = restored(FOUR, taken=[0], open=[1, 2], best=[3], capacity=8, objective=6, bound=12)
    assert (reduced.solved, start) == (True, None)
    assert (sorted(reduced.best.tolist()), reduced.objective) == ([0, 1, 2], 12)


def test_a_checkpoint_counts_what_earlier_starts_did_and_its_solution_must_fit():
    done = {"items_fixed": 2, "cells": 40, "exchanged_bytes": 8}
    assert restored(FOUR, best=[3, 0], objective=11, bound=18, **done)[1] == Earlier(**done)
    with pytest.raises(RunFolderError, match="its best solution does not fit the capacity"):
        restored(FOUR, best=[0, 1, 3], objective=15, bound=18)


def test_a_row_of_a_checkpoint_is_that_of_its_items_or_refused():
    problem = Knapsack([60, 100, 120, 30], [10, 20, 30, 7], 50)
    row = [0] * 20 + [100] * 10 + [120] * 20 + [220]  # capacities 0 to 50 of the items of weights 20 and 30
    saved = {"phase": "row", "best": [0, 1], "done": [1, 2], "objective": 160, "bound": 230, "low": 33}
    start = restored(problem, **saved, row=row[33:])[2]
    assert start.values.tolist() == row[33:]
    for changes, message in (
        ({"row": [0] * 18}, "not that of its items"),
        ({"row": [*row[33:50], 219]}, "not that of its items"),
        ({"open": [], "taken": [0, 1], "capacity": 20, "row": row[33:]}, "its bound is not reached"),
    ):
        with pytest.raises(RunFolderError, match=message):
            restored(problem, **saved | changes)


@pytest.mark.parametrize("launch", [1, 60])
def test_the_last_device_of_a_dense_table_fails_with_its_error_and_another_run_resumes(device, tmp_path, launch):
    problem, name = generate(GeneratorOptions(type="strongly-correlated", n=1000, seed=4)), device.info.id
    kept = {"run_folder": tmp_path / "run", "checkpoint_interval": 1e-6}
    with Engine(devices=[name]) as owner, failing(name, at_launch=launch) as failures:
        run = owner.start(problem, variant="rows", reduce=False, **kept)
        with pytest.raises(DeviceError, match="fallen off the bus"):
            run.wait(60)
    assert failures[0] > 0
    with Engine(devices=[name]) as owner:
        assert_solved(owner.resume(tmp_path / "run").wait(), problem)


@pytest.mark.usefixtures("_nothing_compiled")
@pytest.mark.parametrize("variant", ["classes", "sparse", "bits"])
def test_no_kernel_is_compiled_once_time_is_up(device, tmp_path, monkeypatch, variant):
    """Time is up after the first of several compilations; no other is begun, and the run can be resumed."""
    weights = np.repeat([34, 52], 30)  # groups of 16, 8, 4 and 2 items: a kernel each
    problem = Knapsack(weights, weights, int(weights.sum()) // 4 * 2 + 1)
    compiled = []
    original = Device._report_compile

    def last(opened, source):
        original(opened, source)
        compiled.append(source.template)
        monkeypatch.setattr(Run, "time_left", -1.0)

    monkeypatch.setattr(Device, "_report_compile", last)
    with Engine(devices=[device.info.id]) as engine:
        result = engine.solve(problem, variant=variant, reduce=False, time_limit=1e3, run_folder=tmp_path / "run")
        assert len(compiled) == 1
        monkeypatch.undo()
        assert_stopped(result, problem, Status.TIME_LIMIT)
        again = engine.resume(tmp_path / "run").wait()
    assert_solved(again, problem, problem.capacity - 1)


@pytest.mark.parametrize(
    ("problem", "options", "message"),
    [
        (Knapsack([1, 2], [1, 2], 10**15), {"profile": True}, "the profile of every capacity takes 8.0 PB of the host"),
        (Knapsack([1], [10**16], 10**15), {"profile": True}, "set profile = false"),
        (Knapsack.unbounded([7, 5], [3, 2], 10**12), {}, "500,000,000,000 items of a solution takes .*; set items = f"),
        (Knapsack([1, 2], [1, 2], 2), {"keep_memory": float("inf")}, "keep_memory: Input should be a finite number"),
    ],
)
def test_what_the_host_cannot_hold_is_refused(one_device, problem, options, message):
    with pytest.raises(OptionError, match=message):
        one_device.solve(problem, **options)
    result = one_device.solve(Knapsack.unbounded([7, 5], [3, 2], 10**12), items=False)
    assert (result.status, result.objective) == (Status.OPTIMAL, 25 * 10**11)
