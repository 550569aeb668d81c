"""Claims about open nodes: the bound they prove, never above the optimum and never falling; how many a level has."""

import math
import threading

import numpy as np
import pytest

import engine
from engine.events import Incumbent, Trace
from engine.references.branch_and_bound import search
from engine.solvers.branch_and_bound.search import coordinator, members, profile, reporting
from tests.support.engines import engine_of
from tests.support.patience import PATIENCE
from tests.support.stopping import stop_at


def flowshop(seed, jobs=9, machines=5):
    return engine.Flowshop(np.random.default_rng(seed).integers(1, 99, (machines, jobs)))


def atsp(seed, n=9):
    return engine.ATSP(np.random.default_rng(seed).integers(1, 99, (n, n)))


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
