"""The clock of a run: seconds that it has worked."""

import threading
import time


class RunClock:
    """Seconds that a run has worked, from ``before``: pauses are left out. Safe across threads."""

    def __init__(self, before: float = 0.0) -> None:
        self._before = before
        self._lock = threading.Lock()
        self._began: float | None = None
        self._paused_for = 0.0
        self._paused_since: float | None = None

    def begin(self) -> None:
        """The work begins now; a pause that was requested earlier begins now as well."""
        with self._lock:
            self._began = time.monotonic()
            self._paused_for = 0.0
            if self._paused_since is not None:
                self._paused_since = self._began

    def pause(self) -> None:
        """Stand still until :meth:`resume`."""
        with self._lock:
            if self._paused_since is None:
                self._paused_since = time.monotonic()

    def resume(self) -> None:
        """Go on after a pause; does nothing if there is none."""
        with self._lock:
            if self._paused_since is not None:
                self._paused_for += time.monotonic() - self._paused_since
                self._paused_since = None

    @property
    def elapsed(self) -> float:
        """Seconds worked so far."""
        with self._lock:
            if self._began is None:
                return self._before
            now = time.monotonic() if self._paused_since is None else self._paused_since
            return self._before + now - self._began - self._paused_for
