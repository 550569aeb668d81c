"""Claims about the number of open nodes on each level, which a run reports about once a second."""

import numpy as np
import pytest

import engine
from engine.events import Trace
from engine.solvers.branch_and_bound.intervals import cut
from engine.solvers.branch_and_bound.masks import bits_of
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.search import coordinator, profile
from engine.solvers.branch_and_bound.search.messages import Task
from engine.solvers.branch_and_bound.search.worker import SearchWorker
from engine.solvers.branch_and_bound.tree import INFINITY
from tests.support.searching import load_assignment
from tests.support.stopping import stop_at


def flowshop(jobs=9):
    return engine.Flowshop(np.random.default_rng(3).integers(1, 99, (5, jobs))).tree()


def counted(frontier, levels):
    """The open nodes by level, one IVM after another."""
    found = [0] * levels
    for ivm, depth in enumerate(frontier.depths.tolist()):
        if depth == 0:
            found[0] += 1
        for level in range(depth):
            siblings = int(bits_of(frontier.rows[level, ivm]).sum())
            if level + 1 < levels:
                found[level + 1] += siblings if level + 1 == depth else siblings - 1
    return found


@pytest.mark.parametrize("tree", [flowshop(), load_assignment().grid(2, 4, seed=2).tree(), engine.Queens(8).tree()])
def test_it_counts_the_open_nodes_of_all_levels(device, tree):
    def work(running):
        searcher = SearchWorker(running, tree, Options(ivms=4), INFINITY)
        searcher._ivms.steps, searcher._rounds = 8, 1
        left, best, seen = cut(tree.items, 0), INFINITY, 0
        while True:
            report = searcher.turn(Task(best, left, seconds=1e-6, profile=True))
            left = report.returned
            best = best if report.found is None or tree.counts else min(best, report.found.value)
            assert report.profile.tolist() == counted(searcher.frontier(tree.items), tree.leaf_depth)
            seen += bool(report.profile.sum())
            if not report.active and not len(left):
                assert not report.profile.any()
                searcher.close()
                return seen

    assert device.submit(work).result() > 0  # a GPU has many lanes and ends a small tree in a turn or two


def test_of_many_ivms_some_are_looked_at(device, monkeypatch):
    tree = flowshop(11)

    def work(running):
        searcher = SearchWorker(running, tree, Options(ivms=64), INFINITY)
        searcher._ivms.steps, searcher._rounds = 4, 4
        searcher.turn(Task(INFINITY, cut(tree.items, 2), seconds=60.0))
        whole = profile.depth_profile(searcher._ivms, np.random.default_rng(0))
        monkeypatch.setattr(profile, "_BYTES", 16 * 4 * tree.leaf_depth)
        drawn = [profile.depth_profile(searcher._ivms, np.random.default_rng(seed)) for seed in range(200)]
        searcher.close()
        return whole, np.array(drawn)

    whole, drawn = device.submit(work).result()
    assert drawn.std(axis=0).max() > 0
    assert drawn.mean(axis=0).sum() == pytest.approx(whole.sum(), rel=0.3)


@pytest.mark.few(1)
@pytest.mark.parametrize("devices", [1, 2])
def test_a_run_reports_it(device, monkeypatch, devices):
    monkeypatch.setattr(profile, "_BETWEEN", 0.0)
    monkeypatch.setattr(coordinator, "SLICE_SECONDS", 0.002)
    events = []
    with engine.Engine(devices=[device.info.id] * devices) as owner:
        with monkeypatch.context() as patch:
            stop_at(
                patch, lambda event: isinstance(event, Trace) and event.name == profile.NAME and event.iteration == 5
            )
            owner.solve(engine.Flowshop.taillard(30), upper_bound=2178, ivms=32, on_event=events.append)
        owner.solve(engine.Queens(12), ivms=8, on_event=events.append)
    traces = [event for event in events if isinstance(event, Trace) and event.name == profile.NAME]
    assert {len(event.values) for event in traces} == {19, 12}
    assert all(min(event.values) >= 0 for event in traces)
    assert any(max(event.values) > 1 for event in traces)
    assert [event.iteration for event in traces if len(event.values) == 19][:2] == [0, 1]
