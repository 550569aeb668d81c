"""A run's context without folder and observers, which collects the values that a solver reports to it."""

from __future__ import annotations

from typing import Any

from engine.base.context import QuietContext


class Owner(QuietContext):
    def __init__(self) -> None:
        super().__init__()
        self.notices: list[str] = []
        self.metrics: list[tuple[str, float, str | None]] = []
        self.saved: list[Any] = []

    def metric(self, name: str, value: float, device: str | None = None) -> None:
        self.metrics.append((name, value, device))

    def notice(self, message: str, level: Any = "info") -> None:
        self.notices.append(message)

    def warn(self, warning: Warning, late: bool = False) -> None:
        self.notices.append(str(warning))

    def save_checkpoint(self, arrays: dict[str, Any], state: Any) -> None:
        self.saved.append((arrays, state))
