"""Claims about estimates of a tree's size: near the known sizes, unbiased, and reproducible."""

import contextlib
import dataclasses
import math
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pytest

import engine
from engine.cli import command_line
from engine.errors import InputError
from engine.events import Metric, Notice, Progress
from engine.references.branch_and_bound import search
from engine.solvers.branch_and_bound.intervals import Units, cut
from engine.solvers.branch_and_bound.options import FlowshopOptions, Options
from engine.solvers.branch_and_bound.search import coordinator, progress
from engine.solvers.branch_and_bound.search.members import WorkerState
from engine.solvers.branch_and_bound.search.messages import Sample, Task
from engine.solvers.branch_and_bound.search.sampling import SamplePlan, TreeSampler, plan_for, short_plan_for
from engine.solvers.branch_and_bound.search.worker import SearchWorker
from engine.solvers.branch_and_bound.tree import INFINITY
from tests.support.searching import as_gpu, load_assignment, posing
from tests.support.stopping import stop_at

# Taillard's instances with the optimum for upper bound, one-machine bound, min_branch: decomposed nodes.
KNOWN = [(30, 2178, 2_415_746), (28, 2200, 12_869_871), (21, 2297, 461_633_497)]


def sampled(member, tree, options, upper, seeds, gpu=False, plan=None):
    """Independent estimates on one device."""

    def work(device):
        with posing(device, as_gpu(member) if gpu else None):
            sampler = TreeSampler(device, tree, options, upper, plan or plan_for(tree.items, simt=False))
            found = np.concatenate([sampler.estimates(upper, seed) for seed in seeds])
            sampler.close()
            return found

    return member.submit(work).result()


@pytest.mark.few(1)
@pytest.mark.parametrize("upper", [2122984497, 10**9, INFINITY])
def test_upper_bounds_that_prune_nothing_give_the_size_of_the_whole_tree(device, upper):
    tree = engine.Flowshop(engine.Flowshop.taillard(21).times[:, :14]).tree()
    found = sampled(device, tree, FlowshopOptions(), upper, range(1), plan=short_plan_for(14, simt=False))
    assert found == pytest.approx(sum(math.perm(14, level) for level in range(13)))


@pytest.mark.full
@pytest.mark.parametrize(("number", "upper", "nodes"), KNOWN)
def test_estimates_of_flowshops_are_within_a_factor_of_two(device, number, upper, nodes):
    tree = engine.Flowshop.taillard(number).tree()
    found = sampled(device, tree, FlowshopOptions(), upper, range(3))
    assert nodes / 2 < np.median(found) < 2 * nodes


def test_estimates_of_queens_are_within_a_fifth(device):
    found = sampled(device, engine.Queens(15).tree(), Options(), INFINITY, range(2))
    assert np.median(found) == pytest.approx(90_634_738, rel=0.2)


@pytest.mark.few(1)
@pytest.mark.parametrize("gpu", [False, True], ids=["own kernels", "kernels of GPUs"])
def test_a_tree_that_is_drawn_whole_is_counted_exactly(device, gpu):
    problem = engine.Flowshop(np.random.default_rng(3).integers(1, 99, (4, 7)))
    tree = problem.tree()
    upper = search(tree).best + 12
    reference = search(tree, upper, share_best=False)
    assert 20 < reference.nodes < 500
    assert sampled(device, tree, FlowshopOptions(), upper, range(1), gpu) == pytest.approx(reference.nodes)


@pytest.mark.full
def test_estimates_from_few_nodes_are_right_on_average(device):
    tree = engine.Flowshop(np.random.default_rng(1).integers(1, 99, (5, 9))).tree()
    upper = search(tree).best + 30
    nodes = search(tree, upper, share_best=False).nodes
    found = sampled(device, tree, FlowshopOptions(), upper, range(30), plan=SamplePlan(8, 32, 32))
    error = found.std() / np.sqrt(len(found))
    assert found.std() > 0
    assert abs(found.mean() - nodes) < 5 * error
    assert error < 0.1 * nodes


def test_an_estimate_has_an_amount_a_rate_and_a_time(device):
    devices = [device.info.id] * 2
    estimate = engine.estimate(engine.Flowshop.taillard(23), devices=devices, upper_bound=2326)
    assert estimate.unit == "nodes"
    assert 0 < estimate.low <= estimate.amount <= estimate.high
    assert estimate.seconds == pytest.approx(estimate.amount / estimate.rate)
    assert 1.4e9 < estimate.amount < 5.8e9


@pytest.mark.few(1)
@pytest.mark.parametrize("gpu", [False, True], ids=["own kernels", "kernels of GPUs"])
def test_what_is_left_of_a_search_is_counted_exactly_where_all_of_it_is_drawn(device, gpu):
    tree = engine.Flowshop(np.random.default_rng(8).integers(1, 99, (6, 8))).tree()
    upper = search(tree).best
    nodes = search(tree, upper, share_best=False).nodes

    def work(running):
        with posing(running, as_gpu(device) if gpu else None):
            return halted_again_and_again(running)

    def halted_again_and_again(running):
        options = FlowshopOptions(ivms=4, upper_bound=upper)
        worker = SearchWorker(running, tree, options, upper)
        sampler = TreeSampler(running, tree, options, upper, SamplePlan(1, 512, 512))
        found, left = [], cut(tree.items, 3)
        for _ in range(4):
            report = worker.turn(Task(upper, left, seconds=1e-6))
            left, best = report.returned, report.nodes
            state = worker.state()
            stored = Units.joined([left, state.open])
            for frontier, units in ((worker.frontier(tree.items), left), (idle(worker, tree.items), stored)):
                rest = sampler.remaining(frontier, upper, 0, units if len(units) else None)
                found.append((best + float(rest[0]), float(len(units))))
        worker.close()
        sampler.close()
        return found

    found = device.submit(work).result()
    assert [total for total, _ in found] == pytest.approx([nodes] * len(found))
    assert max(units for _, units in found) > 10


def test_no_more_stored_intervals_are_sampled_than_there_are_ivms(device):
    tree = engine.Flowshop(np.random.default_rng(8).integers(1, 99, (6, 8))).tree()
    upper = search(tree).best + 20
    nodes = search(tree, upper, share_best=False).nodes - 1 - 8 - 56  # below the second level
    units = cut(tree.items, 3)  # 336, more than a GPU has IVMs at least

    def work(running):
        worker = SearchWorker(running, tree, FlowshopOptions(ivms=4), upper)
        sampler = TreeSampler(running, tree, FlowshopOptions(upper_bound=upper), upper, SamplePlan(1, 3, 3))
        taken = []
        ivms = sampler._ivms
        initialize = ivms.initialize
        ivms.initialize = lambda packed, targets, count: (taken.append(count), initialize(packed, targets, count))  # type: ignore[method-assign, assignment, func-returns-value]
        random = np.random.default_rng(1)
        found = [
            float(sampler.remaining(idle(worker, tree.items), upper, seed, units[random.permutation(len(units))])[0])
            for seed in range(60)
        ]
        worker.close()
        sampler.close()
        return ivms.shapes.ivms, taken, float(np.mean(found))

    ivms, taken, mean = device.submit(work).result()
    assert len(units) > ivms
    assert set(taken) == {ivms}
    assert mean == pytest.approx(nodes, rel=0.3)


def idle(worker, levels):
    """The open nodes as if no IVM had work."""
    frontier = worker.frontier(levels)
    return dataclasses.replace(frontier, depths=np.full_like(frontier.depths, -1))


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.full)])
def test_a_run_estimates_its_end(device, monkeypatch, count):
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.1)
    monkeypatch.setattr(progress, "_SHARE", 0.5)
    monkeypatch.setattr(progress, "_RETRY", 0.02)
    monkeypatch.setattr(coordinator, "SLICE_SECONDS", 0.005)
    events = []
    number, upper, nodes = (23, 2326, 2_862_841_447) if device.info.capabilities.simt else (30, 2178, 2_415_747)
    result = engine.solve(
        engine.Flowshop.taillard(number),
        devices=[device.info.id] * count,
        upper_bound=upper,
        seed=1,
        on_event=events.append,
    )
    assert result.counters["nodes"] == nodes
    shown = [event for event in events if isinstance(event, Progress) and event.phase == "search" and event.total]
    *estimates, last = shown
    assert (last.done, last.total, last.seconds_left) == (nodes, nodes, 0.0)
    assert estimates
    within = []
    for event in estimates:
        assert 0 < event.seconds_left_low < event.seconds_left < event.seconds_left_high
        # The limits are those of about 80 %: 1.3 deviations. The truth is seldom outside twice as many, but what is
        # sampled depends on when a busy machine lets the search go on, and rounds share most of their samples.
        factor = max(3.0, (event.seconds_left_high / event.seconds_left) ** 2)
        within.append(nodes / factor < event.total < factor * nodes)
    assert np.mean(within) >= 0.5
    assert nodes / 3 < estimates[-1].total < 3 * nodes
    assert any(isinstance(event, Metric) and event.name == "nodes_left" for event in events)


@pytest.mark.full
def test_a_stopped_search_says_what_is_left(device, monkeypatch):
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.5)
    monkeypatch.setattr("engine.runs.run.GRACE", 10.0)  # the search returns by itself, on a busy device too
    events = []
    stops = stop_at(monkeypatch, lambda event: isinstance(event, Metric) and event.name == "nodes_left")
    stopped = engine.solve(
        engine.Flowshop.taillard(56), devices=[device.info.id], upper_bound=3679, on_event=events.append
    )
    assert stops
    assert stopped.status == "interrupted"
    assert 1e8 < stopped.counters["nodes_left"] < 1e13
    assert any(isinstance(event, Notice) and "nodes are left" in event.message for event in events)


def a_worker(index=0):
    worker = WorkerState(SimpleNamespace(info=None), 5, index)
    worker.active = 1
    return worker


def with_round(estimate, samples, nodes, upper=7, coarseness=1.0, since=0):
    """Take a round: the estimates of each worker, or None, when so many nodes are decomposed; what is left then.

    Each has decomposed so many of them ``since`` its sample.
    """
    estimate._due = 0.0
    estimate.begin_round(list(samples), 1.0)
    for worker, left in samples.items():
        assert estimate.sample_for(worker, Units.none(5)) is not None
        assert estimate.sample_for(worker, Units.none(5)) is None
        values = None if left is None else np.array(left, float)
        report = SimpleNamespace(remaining=values, nodes=worker.nodes - since, sampling=0.1, coarseness=coarseness)
        estimate.take(worker, report, upper, nodes)
    return estimate.remaining(nodes)


def test_an_estimate_averages_its_rounds_and_tightens():
    worker, estimate, spans = a_worker(), progress.SearchEstimate(began=0.0, seed=1, items=5), []
    assert estimate.remaining(10) is None
    for nodes, left in ((100, (500, 1300)), (500, (450, 550)), (900, (80, 120))):
        worker.nodes = nodes
        found = with_round(estimate, {worker: left}, nodes)
        assert found.low < 1000 - nodes < found.high
        spans.append(found.high - found.low)
    assert spans == sorted(spans, reverse=True)
    assert found.nodes == pytest.approx(100, rel=0.1)
    # A better solution: only what is estimated since counts.
    assert with_round(estimate, {worker: (20, 30)}, 900, upper=6).nodes == pytest.approx(25)


def test_a_device_that_is_too_slow_for_samples_takes_none():
    plan = short_plan_for(50, simt=False)
    assert plan.within(0.3, 1e9, 50) == plan
    fewer = plan.within(0.3, 2e5, 50)
    assert 8 <= fewer.deep_nodes < fewer.nodes < plan.nodes
    assert plan.within(0.3, 1e3, 50) is None
    slow, fast = a_worker(), a_worker(1)
    fast.nodes = 10
    found = with_round(progress.SearchEstimate(0.0, 1, 5), {slow: None, fast: (80, 120)}, 10, since=5)
    assert found.nodes == pytest.approx(95)


def test_a_sample_of_fewer_nodes_counts_less_and_has_wider_limits():
    found = []
    for coarseness in (1.0, 16.0):
        worker, estimate = a_worker(), progress.SearchEstimate(began=0.0, seed=1, items=20)
        found.append(with_round(estimate, {worker: (900, 1100)}, 0, coarseness=coarseness))
        found.append(with_round(estimate, {worker: (1900, 2100)}, 0))
    first, both, coarse, joined = found
    assert (first.nodes, coarse.nodes) == pytest.approx((1000, 1000))
    assert coarse.high / coarse.nodes > 2 * first.high / first.nodes
    assert both.nodes == pytest.approx(1500)
    assert joined.nodes == pytest.approx((1000 / 16 + 2000) / (1 / 16 + 1))
    assert joined.high < coarse.high


def test_samples_wait_for_the_node_rate_of_a_device_and_grow_with_it(device):
    tree = engine.Flowshop.taillard(28).tree()

    def work(running):
        worker = SearchWorker(running, tree, FlowshopOptions(), 2200)
        worker.turn(Task(2200, cut(tree.items, 0), seconds=1e-3))
        taken, coarseness = [], []
        for before, rate in ((1e3, 4e3), (4e3, 4e3), (4e3, 1e4), (1e4, 1e4), (1e4, 1e7), (1e7, 1e7)):
            worker._rate_before, worker._rate = before, rate
            taken.append(worker._sampled(Sample(1), 2200) is not None)
            coarseness.append(worker._sampler.plan.coarseness(tree.items) if worker._sampler else 0.0)
        worker.close()
        return taken, coarseness

    taken, coarseness = device.submit(work).result()
    assert taken == [False, False, False, True, True, True]
    assert coarseness[3] > 8 * coarseness[4]
    assert coarseness[4] == coarseness[5]


def test_a_halted_device_ends_its_sample_and_its_turn(device):
    tree = engine.Flowshop.taillard(28).tree()

    def work(running):
        worker, asked, launches = SearchWorker(running, tree, FlowshopOptions(), 2200), 0, 0
        worker.turn(Task(2200, cut(tree.items, 0), seconds=1e-3))
        worker._rate_before = worker._rate = 1e7

        def halted():
            nonlocal asked
            asked += 1
            return asked > 3

        def noted():
            nonlocal launches
            launches += 1
            explore()

        explore, worker._ivms.explore = worker._ivms.explore, noted
        found = worker._sampled(Sample(1), 2200, halted)
        levels, asked = asked, 3
        worker._rounds = 64
        worker.turn(Task(2200, Units.none(tree.items), seconds=60.0), halted=halted)
        worker.close()
        return found, levels, launches

    assert device.submit(work).result() == (None, 4, 1)


def test_a_turn_ends_soon_after_its_time_however_many_rounds_have_fitted(device):
    launches = 0

    def work(running):
        worker = SearchWorker(running, engine.Flowshop.taillard(28).tree(), FlowshopOptions(), 2200)
        worker._rounds = 64

        def noted():
            nonlocal launches
            launches += 1
            explore()

        explore, worker._ivms.explore = worker._ivms.explore, noted
        worker.turn(Task(2200, cut(20, 0), seconds=1e-6))
        worker.close()

    device.submit(work).result()
    assert launches <= 3


def test_the_sample_of_a_large_tree_is_as_small_as_the_host_is_slow():
    plan = short_plan_for(20, True)
    assert plan.within_host(0.3, 20) == plan
    large = short_plan_for(100, True)
    assert 8 <= large.within_host(0.3, 100).deep_nodes < large.deep_nodes / 10


@pytest.mark.full
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.full)])
def test_a_tree_without_a_first_solution_is_estimated_with_what_the_trial_finds(device, count):
    problem = load_assignment().grid(3, 4, seed=1)
    with engine.Engine(devices=[device.info.id] * count) as owner:
        nodes = owner.solve(problem).counters["nodes"]
        estimate = owner.estimate(problem)
    assert nodes / 3 < estimate.amount < 3 * nodes


@pytest.mark.full
def test_an_estimate_without_time_makes_one_pass(device, monkeypatch):
    passes = []
    method = TreeSampler._pass

    def counted(*arguments):
        passes.append(arguments)
        return method(*arguments)

    monkeypatch.setattr(TreeSampler, "_pass", counted)
    is_gpu = device.info.capabilities.simt  # which searches the smaller tree while it tries it
    problem, best = (engine.Flowshop.taillard(56), 3679) if is_gpu else (engine.Flowshop.taillard(21), 2297)
    chosen = {"devices": [device.info.id], "upper_bound": best}
    with pytest.raises(InputError, match="time_limit"):
        engine.estimate(problem, time_limit=-1, **chosen)
    wide = engine.estimate(problem, time_limit=0.01, **chosen)
    assert len(passes) == 1
    narrow = engine.estimate(problem, **chosen)
    assert len(passes) == 1 + 4
    assert wide.high / wide.low > narrow.high / narrow.low


SAMPLE = Path(__file__).parents[2] / "samples" / "branch_and_bound" / "ta030.txt"


@pytest.mark.full
def test_the_command_prints_an_estimate(device, capsys):
    assert command_line(["estimate", str(SAMPLE), "--upper-bound", "2178", "--devices", device.info.id]) == 0
    assert "nodes/s, as measured on these devices" in click.unstyle(capsys.readouterr().out)


def test_where_there_is_nothing_to_search_no_rate_is_reported(device, capsys):
    words = ["estimate", str(SAMPLE), "--upper-bound", "5", "--time-limit", "2", "--devices", device.info.id]
    assert command_line(words) == 0
    output = click.unstyle(capsys.readouterr().out)
    assert output.endswith("\n0 nodes: there is nothing to search\n")


def test_a_search_that_ends_at_once_is_estimated_exactly(device):
    estimate = engine.estimate(engine.Queens(8), devices=[device.info.id])
    assert (estimate.low, estimate.amount, estimate.high) == (983, 983, 983)
    solved = engine.estimate(engine.Flowshop.taillard(30), devices=[device.info.id], upper_bound=5)
    assert solved.amount == 0


def test_a_solver_without_estimates_says_so(device):
    with pytest.raises(InputError, match="the solver knapsack makes no estimates"):
        engine.estimate(engine.Knapsack([1, 2], [1, 1], 1), devices=[device.info.id])


@pytest.mark.full
@pytest.mark.parametrize("jobs", [12, 70])
def test_samples_are_the_same_with_the_kernels_of_gpus(device, jobs):
    problem = engine.Flowshop(np.random.default_rng(jobs).integers(1, 100, (5, jobs)))
    tree = problem.tree()
    upper = problem.evaluate(problem.first_solution("neh", 0)) - 1

    def work(running, capabilities):
        with (
            posing(running, capabilities),
            contextlib.closing(TreeSampler(running, tree, Options(), upper, SamplePlan(2, 16, 8))) as sampler,
        ):
            return list(sampler.estimates(upper, 1).tolist())

    expected = device.submit(work, None).result()
    assert min(expected) > 0
    for packed in (True, False) if jobs == 12 else (True,):
        gpu = dataclasses.replace(as_gpu(device), packed_i16=packed)
        assert device.submit(work, gpu).result() == expected
