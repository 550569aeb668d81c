"""Progress in the taskbar of Linux desktops: the signal ``com.canonical.Unity.LauncherEntry`` on the session bus.

GNOME's dock, KDE Plasma and others show it on the entry of the desktop file ``quintet.desktop``.
"""

from __future__ import annotations

import os
import sys
from typing import Any

__all__ = ["TaskbarProgress"]

_PATH = "/com/canonical/unity/launcherentry/1"
_INTERFACE, _SIGNAL = "com.canonical.Unity.LauncherEntry", "Update"
_ENTRY = "application://quintet.desktop"


class TaskbarProgress:
    """Shows a share of the work done; nothing where there is no session bus.

    Parameters
    ----------
    bus : QDBusConnection, optional
        The session bus by default, connected to when there is first something to show.
    """

    def __init__(self, bus: Any = None) -> None:
        self._bus = bus
        self._usable = bus is not None or (
            sys.platform.startswith("linux") and bool(os.environ.get("DBUS_SESSION_BUS_ADDRESS"))
        )
        self._shown: int | None = None

    def show(self, fraction: float | None) -> None:
        """Show a share between 0 and 1, in steps of a hundredth; None for no progress."""
        percent = None if fraction is None else round(100 * min(1.0, max(0.0, fraction)))
        if not self._usable or percent == self._shown:
            return
        self._shown = percent
        self._usable = self._send({"progress": (percent or 0) / 100, "progress-visible": percent is not None})

    def _send(self, properties: dict[str, Any]) -> bool:
        """Send the signal; whether the bus can be used."""
        try:
            from PySide6.QtDBus import QDBusConnection, QDBusMessage
        except ImportError:
            return False
        if self._bus is None:
            self._bus = QDBusConnection.sessionBus()
        message = QDBusMessage.createSignal(_PATH, _INTERFACE, _SIGNAL)
        message.setArguments([_ENTRY, properties])
        return bool(self._bus.isConnected() and self._bus.send(message))
