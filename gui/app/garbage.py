"""Python's cyclic garbage, collected by a timer of the windows' thread only.

Left to itself, the collector runs on whichever thread allocates next, and takes widgets apart while Qt draws them.
"""

import contextlib
import ctypes
import gc
import sys

from PySide6.QtCore import QObject, QTimer

_MILLISECONDS = 200


def return_memory() -> None:
    """Collect everything and give free memory back to the system, which the C library of Linux keeps otherwise."""
    gc.collect()
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL("libc.so.6").malloc_trim(0)


class Collector(QObject):
    """Collects garbage by the interpreter's own thresholds, between two events of the thread that made it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.collect)
        self._timer.start(_MILLISECONDS)

    def collect(self) -> int:
        """Collect the oldest generation whose time has come; its number, or -1 where none has."""
        due = -1
        for generation, (count, most) in enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True)):
            if not 0 < most < count:
                break
            due = generation
        if due >= 0:
            gc.collect(due)
        return due

    def freeze(self) -> None:
        """Exclude all present objects (modules, windows) from collection, which would take noticeably long."""
        gc.freeze()

    def close(self) -> None:
        """Return garbage collection to the interpreter."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()
