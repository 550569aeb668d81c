"""A run without folder and observers, which collects the values that a solver reports to it."""

from __future__ import annotations

from typing import Any


class Owner:
    state, seed, restored, elapsed = "running", 0, None, 0.0
    folder = None

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.metrics: list[tuple[str, float, str | None]] = []
        self.saved: list[Any] = []

    def poll(self) -> None:
        pass

    def metric(self, name: str, value: float, device: str | None = None) -> None:
        self.metrics.append((name, value, device))

    def incumbent(self, *values: Any) -> None:
        pass

    def offer(self, result: Any) -> None:
        pass

    def progress(self, *values: Any, **more: Any) -> None:
        pass

    def trace(self, *values: Any, **more: Any) -> None:
        pass

    def notice(self, message: str, level: Any = "info") -> None:
        self.notices.append(message)

    def warn(self, warning: Warning, late: bool = False) -> None:
        self.notices.append(str(warning))

    def checkpoint_due(self) -> bool:
        return False

    def save_checkpoint(self, arrays: dict[str, Any], state: Any) -> None:
        self.saved.append((arrays, state))
