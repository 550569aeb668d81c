"""Runs that are stopped on their way and resumed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import engine
from engine.events import Event, Incumbent


def history(result: engine.Result) -> list[list[float]]:
    """Every generation of a run."""
    return result.arrays["history"].tolist()


def stopped_and_resumed(
    running: engine.Engine, problem: engine.BOA, folder: Path, value: float, devices: int = 1, **options: Any
) -> engine.Result:
    """The result of a run that is stopped once it has reached a value, and goes on on so many devices.

    A run that ends before it can be stopped is as good.
    """
    stopping = threading.Event()

    def stop_late(event: Event) -> None:
        if isinstance(event, Incumbent) and event.objective is not None and event.objective >= value:
            stopping.set()

    run = running.start(problem, run_folder=folder, on_event=stop_late, **options)
    stopping.wait(60)
    run.stop()
    stopped = run.wait()
    if stopped.status is not engine.Status.INTERRUPTED:
        return stopped
    return engine.resume(folder, devices=[run.devices[0]] * devices)
