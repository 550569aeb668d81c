"""Observers that misbehave: each is survived, and the record is whole."""

import asyncio
import logging
import threading

import pytest

import engine
import engine.runs.publisher
from engine import events
from engine.runs.folder.run_folder import RunFolder
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
    lambda owner, run: run.join(1.0),
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
