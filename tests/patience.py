"""Waiting in tests: for what was meant, however slow the machine, and never for a time that should do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sized

PATIENCE = 30.0
"""Seconds anything may take that is done at once on an idle machine."""


def wait_until(condition: Callable[[], object], what: str = "it did not come to that") -> None:
    """Return once the condition holds.

    Raises
    ------
    AssertionError
        If it still does not after :data:`PATIENCE` seconds.
    """
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.002)


def wait_for_silence(told: Sized) -> int:
    """How many were told, once none has been for a fifth of a second."""
    count = -1
    end = time.monotonic() + PATIENCE
    while len(told) != count:
        assert time.monotonic() < end, "it never fell silent"
        count = len(told)
        time.sleep(0.2)
    return count
