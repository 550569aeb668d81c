"""Devices that fail in the middle of a run, for tests of every solver."""

import contextlib
import threading

from engine.devices.graph import GraphQueue, Recording
from engine.devices.monitor.timeline import ProfiledQueue
from engine.devices.queue import CommandQueue
from engine.errors import DeviceError


@contextlib.contextmanager
def failing(
    label, *, at_launch=None, at_allocation=None, error=lambda: DeviceError("the device has fallen off the bus")
):
    """While inside, the k-th launch (or allocation) of a pool's member fails, and everything after it.

    A recording that is played counts for all of its launches. Gives a list, whose number counts the failures.
    """
    thread, failures = f"quintet-{label}_", [0]
    counts = {"launch": 0, "allocate": 0}
    limits = {"launch": at_launch, "allocate": at_allocation}
    broken = threading.Event()
    originals = []

    def count(name, many):
        if threading.current_thread().name.startswith(thread):
            counts[name] += many
            limit = limits[name]
            if broken.is_set() or (limit is not None and counts[name] >= limit):
                broken.set()
                failures[0] += 1
                raise error()

    def replaced(name, original):
        def method(self, *arguments):
            count(name, 1)
            return original(self, *arguments)

        return method

    play = Recording.play

    def played(self):
        count("launch", self.launches)
        play(self)

    for kind in set(CommandQueue.__subclasses__()) - {GraphQueue, ProfiledQueue}:
        for name in limits:
            if name in vars(kind):
                originals.append((kind, name, vars(kind)[name]))
                setattr(kind, name, replaced(name, vars(kind)[name]))
    Recording.play = played
    try:
        yield failures
    finally:
        Recording.play = play
        for kind, name, original in originals:
            setattr(kind, name, original)
