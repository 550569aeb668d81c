"""A run from outside: its clock, its controls, its observers."""

import time

import pytest

import engine
from engine import events
from engine.base.result import Status
from engine.errors import DeviceError
from engine.runs.folder.run_folder import RunFolder
from engine.runs.run import Run
from tests.support.counting import Counting
from tests.support.patience import PATIENCE, wait_until

LONG = Counting(10**9)


class Watch(list[events.Event]):
    def __call__(self, event):
        self.append(event)

    def of(self, kind):
        return [event for event in self if isinstance(event, kind)]


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


def test_stop_keeps_the_best_so_far_even_from_a_pause():
    watch = Watch()
    with engine.Engine() as owner:
        run = owner.start(LONG, on_event=watch)
        wait_until(lambda: watch.of(events.Incumbent))
        with pytest.raises(TimeoutError, match=r"has not ended after 0\.01 s"):
            run.wait(0.01)
        assert not run.join(0.01)
        run.pause()
        time.sleep(0.05)
        run.stop()
        run.pause()
        result = run.wait(timeout=PATIENCE)
    assert run.state == "ended"
    assert result.status == Status.INTERRUPTED
    assert result.counters["counted"] > 0


@pytest.mark.parametrize("observer", [5, [print, 5], "print"])
def test_what_cannot_be_called_is_no_observer(observer, tmp_path):
    with pytest.raises(engine.OptionError, match="on_event must be a callable"):
        engine.solve(Counting(3), on_event=observer, run_folder=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_an_engine_that_closes_stops_its_runs():
    watch = Watch()
    with engine.Engine() as owner:
        runs = [owner.start(LONG, on_event=watch), owner.start(LONG)]
        wait_until(lambda: watch.of(events.Incumbent))
    first, second = (run.wait(timeout=0) for run in runs)
    assert first.counters["counted"] > 0
    assert (second.status, second.objective) == (Status.INTERRUPTED, None)


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
