"""Schedules of flowshops without a tree: the steps of the kernel, bounds, runs that end and resume."""

import itertools

import numpy as np
import pytest

import engine
from engine.errors import DeviceError, OptionError, ProblemError
from engine.events import Notice
from engine.solvers.branch_and_bound.heuristics import search
from engine.solvers.branch_and_bound.heuristics.chains import ScheduleSearch
from engine.solvers.branch_and_bound.heuristics.greedy import GreedyChains, GreedyShape, greedy_shape
from engine.solvers.branch_and_bound.heuristics.search import flowshop_bound, is_searched
from engine.solvers.branch_and_bound.options import FlowshopOptions
from engine.solvers.branch_and_bound.problems.flowshop_heuristics import makespan
from engine.solvers.branch_and_bound.search import worker as search_worker
from tests.support.faults import failing

pytestmark = pytest.mark.usefixtures("unoptimized")

MANY = 1025  # jobs, more than the exact search takes
VECTORS = GreedyShape(5, 1, 1, 4, vectors=1)
SCALARS = GreedyShape(5, 1, 1, 4)
LANES = GreedyShape(1, 8, 32, 4)
PAIRS = GreedyShape(2, 4, 32, 8)


def random_times(machines, jobs, seed, largest=99):
    return np.random.default_rng(seed).integers(0, largest, (machines, jobs), endpoint=True)


def optimum(times):
    return min(makespan(times, order) for order in itertools.permutations(range(times.shape[1])))


def own_shape(device):
    """The layout of such a device, with few chains: vectors are for CPUs."""
    return LANES if device.info.capabilities.simt else VECTORS


def test_every_job_is_inserted_where_the_plain_recursion_finds_it_best(device):
    times = random_times(5, 8, 1)
    sequences = np.random.default_rng(2).permuted(np.tile(np.arange(8), (4, 1)), axis=1)

    def work(there):
        chains = GreedyChains(there, times, own_shape(device), 3)
        chains.build(sequences)
        before = [[] for _ in sequences]
        for step in range(8):
            values = chains.advance(1)
            state = there.get(chains._buffers["work"]).reshape(4, 2, 8)[:, (step + 1) % 2, : step + 1].tolist()
            for order, after, sequence in zip(before, state, sequences, strict=True):
                job = int(sequence[step])
                tried = [[*order[:place], job, *order[place:]] for place in range(step + 1)]
                assert after in tried
                assert makespan(times, after) == min(makespan(times, one) for one in tried)
            before = state
        assert values.tolist() == [makespan(times, order) for order in before]
        chains.release()

    device.submit(work).result()


@pytest.mark.few(1)
@pytest.mark.parametrize("largest", [99, 100_000])
@pytest.mark.parametrize("shape", [LANES, SCALARS, PAIRS])
def test_all_layouts_have_the_same_chains(device, largest, shape):
    times = random_times(5, 7, 4, largest)

    def run(there, shape, slices):
        chains = GreedyChains(there, times, shape, 5)
        chains.build(np.tile(np.arange(7), (shape.chains, 1)))
        chains.advance(100)
        for _ in range(40 // slices):
            values = chains.advance(slices)
        found = [[*chains.best_of(chain).tolist(), int(values[chain])] for chain in range(4)]
        chains.release()
        return found

    first = device.submit(run, own_shape(device), 40).result()
    assert all(makespan(times, order) == value for *order, value in first)
    assert device.submit(run, shape, 8).result() == first


def test_a_small_instance_is_solved_and_chains_follow_the_best(device):
    times = random_times(5, 6, 6)

    def work(there):
        shape = greedy_shape(there.capabilities, 5)
        chains = GreedyChains(there, times, shape, 7)
        chains.start(np.arange(6)[None], np.array([makespan(times, np.arange(6))]))
        values = chains.advance(40 * chains.period)
        assert values.min() == optimum(times)
        worst = np.argmax(values)
        chains.follow(np.full(shape.chains, np.argmin(values), np.int32))
        assert there.get(chains._buffers["values"])[worst] == values.min()
        chains.release()

    device.submit(work).result()


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_never_above_the_optimum(seed):
    times = random_times(1 + seed % 4, 1 + seed, seed)
    tree = engine.Flowshop(times).tree("one_machine")
    assert tree.lower_bound() <= flowshop_bound(times) <= optimum(times)
    assert flowshop_bound(times, lambda: True) == tree.lower_bound()


def test_many_jobs_get_a_schedule_and_a_bound_and_go_on_from_a_run_folder(tmp_path, monkeypatch):
    improve = search.improve

    def stopped_soon(problem, pool, run, known, found, proceed):
        def goes_on(tried):
            if tried:
                run.stop()
            return bool(proceed(tried))

        improve(problem, pool, run, known, found, goes_on)

    monkeypatch.setattr(search, "improve", stopped_soon)
    problem = engine.Flowshop(random_times(10, MANY, 8))
    first = engine.solve(problem, run_folder=tmp_path / "run")
    again = engine.resume(tmp_path / "run")
    for result in (first, again):
        assert result.status == "interrupted"
        assert result.objective == problem.evaluate(result.solution)
        assert result.bound == flowshop_bound(problem.times)
    least = flowshop_bound(problem.times)
    assert least <= again.objective <= first.objective < 1.3 * least
    assert MANY < first.counters["insertions"] < again.counters["insertions"]
    soon = engine.solve(problem, time_limit=1e-3)  # before the devices are ready
    assert soon.status == "time_limit"
    assert least <= soon.objective == problem.evaluate(soon.solution)


def test_many_jobs_are_optimal_where_the_bound_is_reached_and_bounded_where_it_is_above():
    problem = engine.Flowshop(np.arange(1, MANY + 1)[None])
    assert engine.solve(problem).status == "optimal"
    proved = engine.solve(problem, upper_bound=100)
    assert (proved.status, proved.objective, proved.bound) == ("bound_proved", None, (MANY + 1) * MANY // 2)
    given = engine.solve(problem, initial=tuple(range(MANY)))
    assert given.status == "optimal"
    assert given.solution.tolist() == list(range(MANY))


def test_many_jobs_have_a_tree_where_it_may_end_or_is_asked_for():
    for machines, jobs, options, searched in (
        (20, 200, {}, True),
        (20, 199, {}, False),
        (21, 1000, {}, False),
        (60, 128, {}, True),
        (60, 800, {"upper_bound": 9}, True),
        (60, 800, {"all_solutions": True}, True),
        (2, 1025, {"upper_bound": 9}, False),
    ):
        problem = engine.Flowshop(np.ones((machines, jobs), int))
        assert is_searched(problem, FlowshopOptions(**options)) is searched
    with pytest.raises(ProblemError, match="no search of permutation flowshop of 300 jobs to estimate"):
        engine.estimate(engine.Flowshop(np.ones((60, 300), int)))


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((1, 2001), {}, "up to 2000 jobs and 100 machines; permutation flowshop of 2,001 jobs has"),
        ((101, MANY), {}, "up to 2000 jobs and 100 machines"),
        ((101, 300), {}, "up to 2000 jobs and 100 machines; permutation flowshop of 300 jobs has 300 and 101"),
        ((2, MANY), {"initial": (0, 1)}, "initial must have each of 0 to 1024 once"),
        ((2, MANY), {"initial": tuple(range(MANY)), "upper_bound": 7}, "upper_bound must be the value of initial"),
        ((2, MANY), {"all_solutions": True}, "all_solutions needs the exact search, which takes at most 1024 jobs"),
    ],
)
def test_what_is_too_large_or_no_order_is_refused_in_a_sentence(shape, options, message):
    with pytest.raises((OptionError, ProblemError), match=message):
        engine.solve(engine.Flowshop(np.ones(shape)), **options)


def test_a_search_beside_the_tree_finds_what_the_tree_proves(monkeypatch):
    times, asked, better = random_times(4, 9, 9), [], ScheduleSearch.better

    def spied(chains, seconds, below, halted):
        asked.append(better(chains, 0.0, below, halted))
        return asked[-1]

    monkeypatch.setattr(search, "_FEWEST_JOBS", 9)
    monkeypatch.setattr(search, "_FIRST_ITERATIONS", 0)
    monkeypatch.setattr(search, "_FIRST_ITERATIONS_OF_CPUS", 0)
    monkeypatch.setattr(search_worker, "_BEGIN_AFTER", 0.0)
    monkeypatch.setattr(ScheduleSearch, "better", spied)
    result = engine.solve(engine.Flowshop(times), ivms=2)
    assert asked
    assert result.status == "optimal"
    assert result.objective == engine.solve(engine.Flowshop(times), initial="neh").objective


def test_a_device_that_fails_leaves_a_checkpoint_of_the_best_schedule(tmp_path, monkeypatch):
    turn, schedules = ScheduleSearch.turn, []

    def gone(chains, seconds, below):
        if schedules:
            raise DeviceError("the device is gone")
        better, tried = turn(chains, seconds, below)
        schedules.extend([better] if better is not None else [])
        return better, tried

    monkeypatch.setattr(ScheduleSearch, "turn", gone)
    problem = engine.Flowshop(random_times(10, MANY, 8))
    with pytest.raises(DeviceError, match="the device is gone"):
        engine.solve(problem, run_folder=tmp_path / "run")
    monkeypatch.undo()
    result = engine.resume(tmp_path / "run", time_limit=0.01)
    assert result.objective <= schedules[0].value


@pytest.mark.parametrize("where", ["at_launch", "at_allocation"])
def test_many_jobs_get_a_schedule_from_the_other_devices_where_one_fails(device, where):
    problem, events, name = engine.Flowshop(np.arange(1, MANY + 1)[None]), [], device.info.id
    with failing(f"{name}#2", **{where: 1}) as failures:
        result = engine.solve(problem, devices=[name] * 2, on_event=events.append)
    assert failures[0]
    assert (result.status, result.objective) == ("optimal", (MANY + 1) * MANY // 2)
    assert problem.evaluate(result.solution) == result.objective
    assert any("#2 has failed" in event.message for event in events if isinstance(event, Notice))
