"""The sparse table: right on small and on published instances, with few decisions kept, and in both kernel shapes."""

import contextlib
import csv
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Engine, Knapsack, Status
from engine.errors import DeviceError, OptionError, OutOfDeviceMemory
from engine.events import Event, Notice
from engine.generators.knapsack import GeneratorOptions, generate
from engine.references.knapsack import optimal_value
from engine.runs.folder.run_folder import RunFolder
from engine.solvers.knapsack.options import Options
from engine.solvers.knapsack.programs import SparseShapes
from engine.solvers.knapsack.sparse import buffers, passes, shared, worker
from engine.solvers.knapsack.sparse import items as sparse_items
from engine.solvers.knapsack.sparse.host import HostDecisions
from engine.solvers.knapsack.validate import choose_table, undecided
from tests.support.engines import engine_of
from tests.support.examples import examples
from tests.support.faults import failing
from tests.support.knapsacks import assert_optimal, assert_solved, assert_stopped, problems


def lock_step(value):
    """Groups of 64 work-items, as on a GPU, on whatever device there is; and 64-bit values where 32 would do."""
    return lambda _, needed: SparseShapes("i64" if "i64" in (needed, value) else "i32", 1, 64, 3, 64, 2)


OWN = SparseShapes.of
SHAPES = {
    "own": OWN,
    "lock step of 32 bits": lock_step("i32"),
    "lock step of 64 bits": lock_step("i64"),
    "vectors of 64 bits": lambda capabilities, _: OWN(capabilities, "i64"),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("grows", [False, True], ids=["large at first", "growing"])
@pytest.mark.parametrize("shape", SHAPES)
@examples(40)
@given(
    problem=problems(),
    reduce=st.booleans(),
    keep=st.sampled_from([None, 1e-6, 1e-3, 0.02]),
    entries=st.sampled_from([1 << 22, 40]),
)
def test_the_optimum_and_its_items_are_found_however_few_decisions_are_kept(
    one_device, monkeypatch, shape, grows, problem, reduce, keep, entries
):
    with monkeypatch.context() as patch:
        patch.setattr(sparse_items, "_TABLE_ENTRIES", entries)  # with few, several steps share a relaxation
        patch.setattr(SparseShapes, "of", staticmethod(SHAPES[shape]))
        if grows:
            patch.setattr(buffers, "_FIRST_SLOTS", 1)
            patch.setattr(buffers, "_FIRST_DECISIONS", 1)
        assert_optimal(one_device, problem, variant="sparse", reduce=reduce, keep_memory=keep)


@pytest.mark.few(1)
@pytest.mark.parametrize("keep", [None, 0.3])
def test_published_instances_with_large_capacities_are_solved(one_device, shared_data, keep):
    """10^8 capacities: a dense row of them would take 400 MB, and all decisions 7.5 GB."""
    name = "n_600_c_100000000_g_14_f_0.2_eps_1e-05_s_100"
    with (shared_data / "knapsack" / "jooken" / "optima.csv").open() as lines:
        published = {row[0]: int(row[3]) for row in list(csv.reader(lines))[1:]}
    problem = Knapsack.read(shared_data / "knapsack" / "jooken" / f"{name}.kp")
    result = one_device.solve(problem, variant="sparse", keep_memory=keep)
    assert "sparse" in str(result.arrays["route"])
    assert_solved(result, problem, published[name])


def test_large_profits_of_light_items_are_exact_or_refused(one_device):
    random = np.random.default_rng(1)
    for power in (50, 53):
        for _ in range(4):
            weights = random.integers(2, 12, 7)
            profits = 2**power * weights + random.integers(-(2**38), 2**38, 7)
            problem = Knapsack(profits, weights, int(weights.sum()) // 2)
            if power == 50:
                assert_optimal(one_device, problem, variant="sparse", reduce=False)
            else:
                with pytest.raises(OptionError, match="too large for 64-bit arithmetic"):
                    one_device.solve(problem, variant="sparse", reduce=False)


def test_tables_are_chosen_by_their_cells(one_device):
    """10^10 cells took an H200 0.4 s in a dense table, and less than 0.1 s in sparse ones."""
    info = one_device.device_infos[0]
    traits = dataclasses.replace(info.capabilities, simt=True, host_visible_memory=False)
    gpu = dataclasses.replace(info, capabilities=traits, memory=2**36, max_allocation=2**36)
    for capacity, wanted in ((10**6, "few cells"), (10**8, "since a dense table has")):
        problem = generate(GeneratorOptions(type="exponential-groups", n=400, capacity=capacity, seed=3))
        assert wanted in choose_table(problem, Options(), undecided(problem), [gpu])[1]


@contextlib.contextmanager
def small_devices(slots=1000, decisions=5000, spread=2, steps=500):
    """Devices that hold few tiles and few decisions, share tables from ``spread`` tiles on, and have short slices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffers.Buffers, "_slot_limit", slots)
        patch.setattr(buffers.Buffers, "_decision_limit", decisions)
        patch.setattr(buffers, "_FIRST_SLOTS", 4)
        patch.setattr(buffers, "_FIRST_DECISIONS", 1)
        patch.setattr(worker, "_FIRST_TRACE", 1)
        patch.setattr(shared, "_STEADY", 1)
        patch.setattr(shared, "_OUTBOX_PERCENT", 0)
        patch.setattr(shared, "_LEAST_OUTBOX", 3)
        patch.setattr(passes, "_SHARED_TILES", dict.fromkeys((True, False), spread))
        patch.setattr(passes, "_MOST_STEPS", steps)
        yield


def assert_same(problem, result, expected):
    assert_solved(result, problem)
    assert expected.status is Status.OPTIMAL
    assert result.solution.tolist() == expected.solution.tolist()
    assert result.counters["cells"] == expected.counters["cells"]


def even(seed):
    """Even weights and an odd capacity: no bound is reached, and up to 300 tiles are needed over 40 items."""
    random = np.random.default_rng(seed)
    weights = 2 * random.integers(1, 20_000, 40)
    return Knapsack(weights + 2 * random.integers(0, 2, 40), weights, int(weights.sum()) // 2 | 1)


few = examples(40)


@few
@given(
    problem=problems(),
    devices=st.integers(1, 3),
    slots=st.sampled_from([8, 11, 40, 1000]),
    decisions=st.sampled_from([50, 5000]),
    spread=st.sampled_from([2, 16, 1 << 14]),
    steps=st.sampled_from([1, 3, 500]),
)
def test_devices_and_memory_change_no_answer_and_no_counter(device, problem, devices, slots, decisions, spread, steps):
    expected = engine_of(device).solve(problem, variant="sparse", reduce=False)
    with small_devices(slots, decisions, spread, steps):
        result = engine_of(device, devices).solve(problem, variant="sparse", reduce=False)
    assert_same(problem, result, expected)


@few
@given(
    problem=problems(),
    devices=st.integers(1, 3),
    slots=st.sampled_from([8, 40, 1000]),
    decisions=st.sampled_from([1, 7, 50]),
    keep=st.sampled_from([None, 1e-6, 1e-3, 0.02]),
    room=st.sampled_from([0, 2000, 10**5]),
)
def test_items_are_found_however_few_decisions_devices_and_host_keep(
    device, problem, devices, slots, decisions, keep, room
):
    close = HostDecisions.close

    def closed(self, step, oldest=None):
        self.most_bytes = min(self.most_bytes, room)
        close(self, step, oldest)

    with small_devices(slots, decisions), pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostDecisions, "close", closed)
        result = engine_of(device, devices).solve(problem, variant="sparse", reduce=False, keep_memory=keep)
    assert_solved(result, problem)


def test_a_table_that_fits_neither_devices_nor_host_is_refused(device, monkeypatch):
    monkeypatch.setattr(passes, "free_memory", lambda: 1 << 17)
    with small_devices(slots=16), pytest.raises(OutOfDeviceMemory, match="of the host's memory that may be used"):
        engine_of(device, 2).solve(even(1), variant="sparse", reduce=False)


def stopped_at(engine, problem, step, folder):
    """The result of a run that is stopped after so many items."""
    note = passes.Pass._note

    def noted(self, *arguments):
        note(self, *arguments)
        if self._step == step:
            self._run.stop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes.Pass, "_note", noted)
        return engine.solve(problem, variant="sparse", reduce=False, run_folder=folder)


@pytest.mark.few(1)
@pytest.mark.parametrize("slots", [40, 1000])
@pytest.mark.parametrize("step", [1, 4, 9, 17, 26, 34])
def test_a_run_that_is_stopped_at_any_item_goes_on_with_other_devices(device, tmp_path, slots, step):
    problem = even(3)
    optimum = optimal_value(problem)
    for number, (before, after) in enumerate([(1, 3), (3, 1), (2, 3)]):
        with small_devices(slots, steps=1):
            stopped = stopped_at(engine_of(device, before), problem, step, tmp_path / str(number))
            assert_stopped(stopped, problem)
            assert stopped.objective <= optimum <= stopped.bound
            result = engine_of(device, after).resume(tmp_path / str(number)).wait()
        assert_solved(result, problem, optimum)


def test_checkpoints_do_not_depend_on_devices_and_memory(device, tmp_path):
    problem = even(3)
    found = []
    for number, (devices, slots) in enumerate([(1, 1000), (3, 1000), (1, 40), (2, 40)]):
        with small_devices(slots, steps=1):
            stopped_at(engine_of(device, devices), problem, 30, tmp_path / str(number))
        checkpoint = RunFolder.open(tmp_path / str(number)).checkpoint()
        state = checkpoint.state
        found.append((state.phase, state.cells, {name: a.tolist() for name, a in checkpoint.arrays.items()}))
    assert found[0][0] == "tiles"
    assert all(other == found[0] for other in found[1:])


@pytest.mark.few(1)
@pytest.mark.parametrize("slots", [40, 1000])
@pytest.mark.parametrize("launch", [5, 60, 150])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_device_that_fails_leaves_the_table_to_the_others(device, number, launch, slots):
    problem, name, events = even(5), device.info.id, list[Event]()
    label = name if number == 1 else f"{name}#{number}"
    with Engine(devices=[name] * 3) as engine, small_devices(slots), failing(label, at_launch=launch) as failures:
        result = engine.solve(problem, variant="sparse", reduce=False, on_event=events.append)
    assert failures[0] > 0
    assert_solved(result, problem)
    assert any(isinstance(event, Notice) and "starts again" in event.message for event in events)


def test_the_last_device_fails_with_its_error_and_the_run_resumes(device, tmp_path):
    problem, name = even(4), device.info.id
    options = {"variant": "sparse", "reduce": False, "run_folder": tmp_path / "run", "checkpoint_interval": 1e-6}
    with Engine(devices=[name]) as engine, small_devices(40), failing(name, at_launch=300):
        run = engine.start(problem, **options)
        with pytest.raises(DeviceError, match="fallen off the bus"):
            run.wait(60)
    with small_devices(40):
        result = engine_of(device, 2).resume(tmp_path / "run").wait()
    assert_solved(result, problem)
