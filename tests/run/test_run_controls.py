"""A run from outside: its clock, its controls, its observers."""

import gc
import itertools
import threading
import time

import numpy as np
import pytest

import engine
from engine import events
from engine.base.context import StopRequested
from engine.base.result import Status
from engine.errors import DeviceError
from engine.runs import reporter
from engine.runs.folder.run_folder import RunFolder
from engine.runs.run import Run
from tests.support import counting
from tests.support.counting import Counting
from tests.support.patience import PATIENCE, wait_until

LONG = Counting(10**9)


class Watch(list[events.Event]):
    """Keeps every event."""

    def __call__(self, event):
        self.append(event)

    def of(self, kind):
        return [event for event in self if isinstance(event, kind)]


def run_of(solve, **arguments):
    """An ended run of a solver made of one function."""
    with engine.Engine() as owner:
        run = counting.start_function(owner, solve, **arguments)
        run.join()
        return run


def test_a_solve_emits_its_events_in_order():
    watch = Watch()
    result = engine.solve(Counting(200), on_event=watch, seed=3)
    assert result.status == "optimal"
    assert result.objective == counting.expected(200, seed=3)
    assert type(result.objective) is int
    assert (result.seed, result.backend, result.devices) == (3, "opencl", ("opencl:0",))
    assert isinstance(watch[0], events.Started)
    assert isinstance(watch[-1], events.Finished)
    assert watch[-1].objective == result.objective
    assert watch[0].device_names == ["Abacus 3000"]
    for kind in (events.Metric, events.Progress, events.Incumbent):
        times = [event.time for event in watch.of(kind)]
        assert times == sorted(times)


def test_a_metric_is_emitted_ten_times_a_second_and_its_last_value_always():
    watch = Watch()

    def solve(run):
        for value in range(1, 451):
            for device in ("a", "b"):
                run.metric("at", value, device=device)
            run.metric("other", -value)
            time.sleep(0.001)

    run = run_of(solve, on_event=[watch])
    seconds = run.wait().seconds
    for name, device, last in (("at", "a", 450), ("at", "b", 450), ("other", None, -450)):
        emitted = [event for event in watch.of(events.Metric) if (event.name, event.device) == (name, device)]
        assert 3 <= len(emitted) <= 10 * seconds + 2
        assert emitted[-1].value == last
        gaps = [after.time - before.time for before, after in itertools.pairwise(emitted[:-1])]
        assert min(gaps) > 0.09


def test_a_value_that_stays_is_emitted_soon():
    watch = Watch()

    def solve(run):
        run.metric("at", 1)
        run.metric("at", 2)
        for _ in range(30):
            run.poll()
            time.sleep(0.005)
        run.notice("still here")

    run_of(solve, on_event=[watch])
    kinds = [event.type for event in watch if event.type != "device"]
    assert kinds == ["started", "metric", "metric", "notice", "finished"]


def test_progress_emits_the_begin_and_end_of_each_phase_at_once(monkeypatch):
    monkeypatch.setattr("engine.runs.reporter.METRIC_INTERVAL", PATIENCE)  # nothing else is due on a busy machine
    watch = Watch()

    def solve(run):
        for phase in ("up", "down"):
            for done in range(11):
                run.progress(phase, done, 10)
        run.progress("left", 1, 3)
        run.progress("left", 2, 3)

    run_of(solve, on_event=[watch])
    emitted = [(event.phase, event.done) for event in watch.of(events.Progress)]
    assert emitted == [("up", 0), ("up", 10), ("down", 0), ("down", 10), ("left", 1), ("left", 2)]


@pytest.mark.parametrize("observed", [False, True])
def test_progress_that_nobody_sees_makes_no_event(observed, monkeypatch):
    made = []

    class Counted(events.Progress):
        def __init__(self, **fields):
            made.append(fields["done"])
            super().__init__(**fields)

    monkeypatch.setattr(reporter, "Progress", Counted)
    monkeypatch.setattr(reporter, "METRIC_INTERVAL", 60.0)
    phases = []

    def solve(run):
        for done in range(100):
            run.progress("search", done, 1000)
        phases.append(run.phase)

    run_of(solve, on_event=Watch() if observed else None)
    assert made == ([0, 99] if observed else [])
    assert phases == ["search"]


def test_an_incumbent_is_emitted_when_it_changes():
    watch = Watch()

    def solve(run):
        for objective, bound in ((None, 9), (5, 9), (5, 9), (5, 8), (8, 8)):
            run.incumbent(objective, bound)

    run_of(solve, on_event=[watch])
    emitted = [(event.objective, event.bound, event.gap) for event in watch.of(events.Incumbent)]
    assert emitted == [(None, 9, None), (5, 9, 0.8), (5, 8, 0.6), (8, 8, 0.0)]


def test_a_solution_is_emitted_with_its_objective_at_intervals_and_the_newest_in_the_end():
    watch = Watch()

    def solve(run):
        for value in range(50, 0, -1):
            run.incumbent(value, 0, np.array([value, 7]))
        run.incumbent(1, 1, np.array([1, 7]))  # a better bound alone
        wait_until(lambda: (run.poll(), any(e.objective == 1 and e.solution for e in watch.of(events.Incumbent)))[1])
        run.incumbent(0, 0, np.zeros(10_001))

    run_of(solve, on_event=[watch])
    emitted = watch.of(events.Incumbent)
    values = [value for value, _ in itertools.groupby((event.objective, event.bound) for event in emitted)]
    assert values == [*((value, 0) for value in range(50, 0, -1)), (1, 1), (0, 0)]
    shown = [event for event in emitted if event.solution]
    assert [event.solution for event in shown] == [[event.objective, 7] for event in shown]
    assert (shown[0].objective, shown[-1].objective) == (50, 1)
    assert all(later.time - former.time >= 0.1 for former, later in itertools.pairwise(shown))
    assert emitted[-1].objective == 0


def test_the_time_limit_ends_a_run_with_the_slice_it_falls_in():
    watch = Watch()
    result = engine.solve(LONG, on_event=watch, time_limit=0.4, slice_seconds=0.05)
    assert result.status == Status.TIME_LIMIT
    assert result.seconds >= 0.4
    assert result.objective is not None
    ends = {event.objective: event.time for event in watch.of(events.Incumbent)}  # emitted after every slice
    assert len([time for time in ends.values() if time > 0.4]) <= 1


def test_pauses_are_not_on_the_clock_and_nothing_moves_in_them():
    watch = Watch()
    with engine.Engine() as owner:
        began = time.monotonic()
        run = owner.start(LONG, on_event=watch)
        wait_until(lambda: watch.of(events.Metric))
        run.pause()
        paused_at = time.monotonic()
        run.pause()
        assert run.state == "paused"
        wait_until(lambda: run._control._waiters, "the solver did not wait")
        run.notice("all that came before has been delivered")
        wait_until(lambda: watch.of(events.Notice))
        emitted, clock = len(watch), run.elapsed
        time.sleep(0.2)
        assert (len(watch), run.elapsed) == (emitted, clock)
        resumed_at = time.monotonic()
        run.resume()
        run.resume()
        wait_until(lambda: len(watch.of(events.Progress)) > 3 and watch[-1].time > clock)
        run.time_limit = run.elapsed
        result = run.wait(PATIENCE)
    assert result.status == Status.TIME_LIMIT
    assert clock < result.seconds <= time.monotonic() - began - (resumed_at - paused_at)
    assert [event.state for event in watch.of(events.StateChanged)] == ["paused", "running"]


def test_what_is_asked_before_a_run_has_started_follows_its_first_event():
    first, second = Watch(), Watch()
    with engine.Engine() as owner:
        before = owner.start(LONG, on_event=first)
        run = owner.start(LONG, on_event=second)  # waits for its turn
        run.pause()
        run.resume()
        run.pause()
        run.stop()
        before.stop()
        before.wait(PATIENCE)
        run.wait(PATIENCE)
    assert [event.type for event in second[:2]] == ["started", "state"]
    assert [event.state for event in second.of(events.StateChanged)] == ["stopping"]
    assert [event.time for event in second] == sorted(event.time for event in second)


def test_stop_keeps_the_best_so_far_even_from_a_pause():
    watch = Watch()
    with engine.Engine() as owner:
        run = owner.start(LONG, on_event=watch)
        wait_until(lambda: watch.of(events.Incumbent))
        run.pause()
        time.sleep(0.05)
        run.stop()
        run.pause()
        result = run.wait(timeout=PATIENCE)
    assert run.state == "ended"
    assert result.status == Status.INTERRUPTED
    assert result.counters["counted"] > 0


def test_an_engine_that_closes_stops_its_runs():
    watch = Watch()
    with engine.Engine() as owner:
        runs = [owner.start(LONG, on_event=watch), owner.start(LONG)]
        wait_until(lambda: watch.of(events.Incumbent))
    first, second = (run.wait(timeout=0) for run in runs)
    assert first.counters["counted"] > 0
    assert second.status == Status.INTERRUPTED
    assert second.objective is None


def test_runs_of_one_engine_take_turns_on_their_own_clocks():
    with engine.Engine() as owner:
        began = time.monotonic()
        first = owner.start(Counting(500))
        second = owner.start(Counting(100), time_limit=PATIENCE)
        second.pause()
        before = first.wait().seconds
        second.resume()
        result = second.wait()
    assert result.status == Status.OPTIMAL
    assert 0 < result.seconds < time.monotonic() - began - before


def test_wait_ends_after_its_timeout():
    with engine.Engine() as owner:
        run = owner.start(LONG)
        with pytest.raises(TimeoutError, match=r"has not ended after 0\.01 s"):
            run.wait(0.01)
        assert not run.join(0.01)


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_an_observer_that_raises_is_dropped_and_reported(error, tmp_path):
    watch = Watch()
    calls = []

    def clumsy(event):
        calls.append(event)
        if isinstance(event, events.Progress):
            raise error("I spilled it")

    result = engine.solve(Counting(500), on_event=[clumsy, watch], run_folder=tmp_path / "r")
    assert result.status == "optimal"
    assert len([event for event in calls if isinstance(event, events.Progress)]) == 1
    (notice,) = watch.of(events.Notice)
    assert notice.level == "warning"
    assert f"{error.__name__}: I spilled it (" in notice.message
    assert "test_run_controls.py, line" in notice.message
    assert len(watch.of(events.Progress)) > 1
    assert [event.type for event in RunFolder.open(tmp_path / "r").events()] == [event.type for event in watch]


@pytest.mark.parametrize(
    ("trouble", "error", "code"), [("device", "DeviceError", 3), ("audit", "AuditError", 4), ("bug", "KeyError", 1)]
)
def test_a_failure_is_the_last_event_and_is_raised(trouble, error, code):
    watch = Watch()
    with pytest.raises(Exception, match=r"abacus|miscounted|bead") as caught:
        engine.solve(Counting(100), on_event=watch, trouble=trouble)
    assert type(caught.value).__name__ == error
    assert "counting.py" in str(caught.traceback[-1].path)
    assert isinstance(watch[-1], events.Failed)
    assert (watch[-1].error, watch[-1].exit_code) == (error, code)


def test_after_a_device_failed_the_next_run_has_new_devices():
    with engine.Engine() as owner:
        broken = owner.start(Counting(100), trouble="device")
        queued = owner.start(Counting(100))
        with pytest.raises(DeviceError):
            broken.wait()
        assert queued.wait().status == "optimal"
        assert queued.pool is not broken.pool
        assert len(queued.pool) == 1


def test_ctrl_c_in_solve_returns_the_best_so_far(monkeypatch):
    wait = Run.wait
    pressed = []

    def interrupted(run, timeout=None):
        if not pressed:
            pressed.append(True)
            wait_until(lambda: run.elapsed > 0.03)
            raise KeyboardInterrupt
        return wait(run, timeout)

    monkeypatch.setattr(Run, "wait", interrupted)
    assert engine.solve(LONG).status == Status.INTERRUPTED


def test_a_device_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(engine.errors.DeviceNotFound, match="no OpenCL device 3; this machine has opencl:0"):
        engine.solve(Counting(10), devices=["opencl:3"])


def test_a_run_that_is_stopped_before_it_has_anything_to_keep_says_so(tmp_path):
    def stopped(run):
        raise StopRequested(Status.INTERRUPTED)

    watch = Watch()
    run = run_of(stopped, on_event=[watch], run_folder=tmp_path / "r")
    assert run.wait().status == "interrupted"
    assert any("begins from the start" in notice.message for notice in watch.of(events.Notice))


def test_start_against_close_is_a_run_or_a_refusal_and_leaves_nothing_open(tmp_path):
    outcomes = []

    def begin(owner, folder):
        try:
            outcomes.append(str(owner.start(Counting(50), run_folder=folder).wait(PATIENCE).status))
        except engine.InputError as error:
            outcomes.append(str(error))

    for number in range(12):
        owner = engine.Engine()
        starts = [threading.Thread(target=begin, args=(owner, tmp_path / f"{number}-{which}")) for which in range(3)]
        closing = threading.Timer(number / 500, owner.close)
        for thread in (*starts, closing):
            thread.start()
        for thread in (*starts, closing):
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert not owner.is_open
    assert len(outcomes) == 36
    assert {outcome for outcome in outcomes if not outcome.startswith("the engine is closed")} <= {
        "optimal",
        "interrupted",
    }
    for folder in tmp_path.iterdir():
        assert RunFolder.open(folder).result() is not None
    gc.collect()  # an open file would be a ResourceWarning, which is an error here
