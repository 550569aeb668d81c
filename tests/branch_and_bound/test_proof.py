"""Claims about open nodes: the bound they prove, never above the optimum and never falling; how many a level has."""

import math
import threading

import numpy as np
import pytest

import engine
from engine.events import Incumbent, Trace
from engine.references.branch_and_bound import search
from engine.solvers.branch_and_bound.intervals import cut, digits_of
from engine.solvers.branch_and_bound.masks import bits_of
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.search import coordinator, members, profile, reporting
from engine.solvers.branch_and_bound.search.frontier import IntervalBounds, proven_bound
from engine.solvers.branch_and_bound.search.messages import Task
from engine.solvers.branch_and_bound.search.worker import SearchWorker
from engine.solvers.branch_and_bound.tree import INFINITY
from tests.support.engines import engine_of
from tests.support.patience import PATIENCE
from tests.support.searching import aligned, load_assignment
from tests.support.stopping import stop_at


def flowshop(seed, jobs=9, machines=5):
    return engine.Flowshop(np.random.default_rng(seed).integers(1, 99, (machines, jobs)))


def atsp(seed, n=9):
    return engine.ATSP(np.random.default_rng(seed).integers(1, 99, (n, n)))


def trees():
    grid = load_assignment().grid
    found = {f"flowshop {b}": flowshop(3).tree(b, "auto") for b in ("one_machine", "two_machine", "mixed")}
    found |= {f"atsp {b}": atsp(1).tree(b, "auto") for b in ("partial", "cheapest_arcs", "assignment", "subtour")}
    found["atsp subtour"].prepare(lambda: False)
    return found | {"assignment": grid(2, 4, seed=2).tree("auto", "auto")}


def open_nodes(tree, frontier):
    """The least bound of all open nodes, one after another."""
    least, nowhere = INFINITY, np.zeros((1, 0), np.int64)
    root = tree.bounds(nowhere, nowhere)
    assert root is not None
    for ivm, depth in enumerate(frontier.depths.tolist()):
        path = []
        highest = int(root[0])
        for level in range(depth + 1 if 0 <= depth < len(frontier.rows) else len(frontier.rows) if depth >= 0 else 0):
            sides = bits_of(frontier.sides[ivm])[: level + 1].astype(int).tolist()
            if level == depth:
                least = min(least, highest)
                break
            items = np.flatnonzero(bits_of(frontier.rows[level, ivm])).tolist()
            for index, item in reversed(list(enumerate(items))):
                bounds = tree.bounds(np.array([[*path, item]]), np.array([sides]))
                value = max(highest, int(bounds[0]))
                if index or level + 1 == len(frontier.rows):
                    least = min(least, value)
            path, highest = [*path, items[0]], value
    return least


@pytest.mark.parametrize("name", ["flowshop one_machine", "atsp cheapest_arcs", "assignment"])
def test_the_bound_is_the_least_of_all_open_nodes(device, name):
    tree = trees()[name]
    optimum = search(tree).best

    def work(running):
        searcher = SearchWorker(running, tree, Options(ivms=4), INFINITY)
        searcher._ivms.steps, searcher._rounds = 8, 1
        left, best, events = cut(tree.items, 0), INFINITY, []
        while True:
            report = searcher.turn(Task(best, left, seconds=1e-6, snapshot=True))
            left = report.returned
            best = best if report.found is None else min(best, report.found.value)
            bound = proven_bound(tree, report.frontier, math.inf)
            assert bound == open_nodes(tree, report.frontier)
            assert tree.lower_bound() <= proven_bound(tree, report.frontier, 0.0) <= bound
            assert min(bound, best) <= optimum
            events.append(min(bound, best))
            if not report.active and not len(left):
                searcher.close()
                return events

    events = device.submit(work).result()
    assert events == sorted(events)
    assert events[-1] == optimum


@pytest.fixture
def prompt_snapshots(monkeypatch):
    """Let every turn be short, and each be followed by a snapshot."""
    monkeypatch.setattr(members, "_BETWEEN_SNAPSHOTS", 0.0)
    monkeypatch.setattr(reporting, "_SNAPSHOT_SECONDS", 1.0)
    monkeypatch.setattr(members, "_SNAPSHOT_SHARE", math.inf)
    monkeypatch.setattr(coordinator, "SLICE_SECONDS", 0.002)


def bounds_of(events):
    return [event.bound for event in events if isinstance(event, Incumbent) and event.bound is not None]


@pytest.mark.few(1)
@pytest.mark.usefixtures("prompt_snapshots")
@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("sharing", ["symmetric", "farmer"])
def test_a_run_proves_more_and_more_and_never_too_much(device, devices, sharing):
    given = {"sharing": sharing, "ivms": 2, "initial": "infinity"}
    for problem in (flowshop(0), flowshop(1), atsp(0), atsp(1)):
        events = []
        result = engine_of(device, devices).solve(problem, on_event=events.append, **given)
        assert result.objective == search(problem.tree("auto", "auto")).best
        bounds = bounds_of(events)
        assert bounds == sorted(bounds)
        assert bounds[-1] <= result.objective


@pytest.mark.usefixtures("prompt_snapshots")
def test_a_resumed_run_goes_on_from_the_bound_it_had_proved(device, tmp_path):
    problem = engine.Flowshop.taillard(24)
    root = problem.tree("auto", "auto").lower_bound()
    with engine.Engine(devices=[device.info.id]) as running:
        proved = threading.Event()

        def note(event):
            if isinstance(event, Incumbent) and event.bound is not None and event.bound > root:
                proved.set()

        run = running.start(problem, upper_bound=2223, ivms=32, run_folder=tmp_path / "run", on_event=note)
        assert proved.wait(PATIENCE)
        run.stop()
        stopped = run.wait(PATIENCE)
    assert stopped.status == "interrupted"
    assert root < stopped.bound <= 2223
    events = []
    limit = stopped.seconds + 0.05
    resumed = engine_of(device, 2).resume(tmp_path / "run", time_limit=limit, on_event=events.append).wait()
    assert bounds_of(events)[0] == stopped.bound
    assert resumed.bound >= stopped.bound


@pytest.mark.few(1)
@pytest.mark.parametrize("name", trees())
def test_kept_intervals_have_no_leaf_below_their_bound(name):
    tree = trees()[name]
    whole = math.factorial(tree.items)
    random = np.random.default_rng(7)
    bounds = IntervalBounds(tree, INFINITY)
    for _ in range(10):
        begin, end = sorted(random.integers(0, whole, 2).tolist())
        units = aligned(begin, end + 1, tree.items)
        best = min(leaf_value(tree, number) for number in random.integers(begin, end + 1, 40).tolist())
        bound = bounds.proven_bound(units, math.inf)
        assert bound <= best


def leaf_value(tree, number):
    """The objective of a leaf by its number, every node on the way branched by the reference."""
    state, left, chosen = tree.root(), list(range(tree.items)), digits_of(number, tree.items)
    for depth in range(tree.leaf_depth):
        side, _ = tree.bound(state, depth, left, INFINITY, INFINITY)
        state = tree.place(state, depth, left.pop(int(chosen[depth])), side)
    return tree.leaf(state, left)


@pytest.mark.few(1)
@pytest.mark.parametrize("devices", [1, 2])
def test_a_run_reports_its_open_nodes_by_level(device, monkeypatch, devices):
    monkeypatch.setattr(profile, "_BETWEEN", 0.0)
    monkeypatch.setattr(coordinator, "SLICE_SECONDS", 0.002)
    events = []
    with engine.Engine(devices=[device.info.id] * devices) as owner:
        with monkeypatch.context() as patch:
            stop_at(patch, lambda event: isinstance(event, Trace) and event.iteration == 5)
            owner.solve(engine.Flowshop.taillard(30), upper_bound=2178, ivms=32, on_event=events.append)
        owner.solve(engine.Queens(12), ivms=8, on_event=events.append)
    traces = [event for event in events if isinstance(event, Trace) and event.name == profile.NAME]
    assert {len(event.values) for event in traces} == {19, 12}
    assert all(min(event.values) >= 0 for event in traces)
    assert any(max(event.values) > 1 for event in traces)
    assert [event.iteration for event in traces if len(event.values) == 19][:2] == [0, 1]
