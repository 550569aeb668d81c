"""Waiting in tests: for what was meant, however slow the machine, and never for a time that should do."""

import time

PATIENCE = 120.0
"""Seconds anything may take that is done at once on an idle machine; another machine may be very busy."""


def wait_until(condition, what="it did not come to that"):
    """Return once the condition holds, at most :data:`PATIENCE` seconds from now."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.002)
