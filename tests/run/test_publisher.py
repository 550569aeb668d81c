"""Observers that misbehave: each is survived, and the record is whole."""

import asyncio
import logging
import os
import threading

import pytest

import engine
import engine.runs.publisher
from engine import events
from engine.runs.folder.run_folder import RunFolder
from engine.runs.observers import EventLog
from tests.support.counting import Counting
from tests.support.patience import PATIENCE, wait_until

LONG = Counting(10**9)
SMALL = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)


async def awaited(run):
    return await run


def kinds(folder):
    return [event.type for event in RunFolder.open(folder).events()]


CALLS = (
    lambda owner, run: run.wait(),
    lambda owner, run: owner.close(),
    lambda owner, run: owner.solve(Counting(3)),
    lambda owner, run: asyncio.run(awaited(run)),
    lambda owner, run: owner.map([SMALL, SMALL]),
    lambda owner, run: owner.exclusive().__enter__(),
)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_would_wait_for_itself_is_refused(call):
    errors = []
    box = []
    ready = threading.Event()

    def observer(event):
        if isinstance(event, events.Progress) and not errors:
            ready.wait(PATIENCE)
            try:
                call(owner, box[0])
            except BaseException as error:
                errors.append(error)
                box[0].stop()

    with engine.Engine() as owner:
        box.append(owner.start(LONG, on_event=observer))
        ready.set()
        assert box[0].wait(PATIENCE).status == "interrupted"
        assert isinstance(errors[0], RuntimeError)
        assert "cannot wait for a run of the engine that calls it" in str(errors[0])


def test_a_blocked_observer_does_not_hold_the_end_back(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(engine.runs.publisher, "PATIENCE", 0.3)
    release = threading.Event()

    def blocked(event):
        release.wait(PATIENCE)

    try:
        with caplog.at_level(logging.WARNING, "quintet"):
            assert engine.solve(Counting(100), on_event=blocked, run_folder=tmp_path / "r").status == "optimal"
        assert "an observer has not returned for 0.3 s" in caplog.text
        wait_until(lambda: kinds(tmp_path / "r")[-1] == "finished")
    finally:
        release.set()


def test_recording_comes_back_when_there_is_room_again(tmp_path, monkeypatch, caplog):
    record = EventLog(tmp_path / "e.jsonl")
    file, room = record._file, [10**6]

    class Disk:
        """A disk with so much room."""

        closed = False

        def write(self, line):
            part = line[: room[0]]
            if not part:
                raise OSError(28, "No space left on device")
            room[0] -= len(part)
            return os.write(file.fileno(), part)

        def close(self):
            file.close()

    monkeypatch.setattr(record, "_file", Disk())
    monkeypatch.setattr(EventLog, "MOST_KEPT", 3)
    points = [events.Metric(time=n, name="x", value=n) for n in range(9)]
    with caplog.at_level(logging.WARNING, "quintet"):
        record(points[0])
        room[0] = 30  # the next line is cut short
        for point in points[1:7]:
            record(point)
        room[0] = 10**6
        record(points[7])
    record.close()
    assert caplog.text.count("events cannot be written") == 1
    found = []
    for line in (tmp_path / "e.jsonl").read_bytes().splitlines():
        try:
            found.append(events.from_json(line))
        except ValueError:
            assert len(line) <= 30
    values = [event.value if isinstance(event, events.Metric) else event.type for event in found]
    assert values == [0, "notice", 5, 6, 7]
    assert found[1].message == "4 events could not be recorded here"
