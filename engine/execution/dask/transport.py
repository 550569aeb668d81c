"""How tasks reach workers and answers come back; the coordinator knows nothing else of a cluster."""

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Answered:
    number: int
    worker: str
    answer: Any
    seconds: float = 0.0  # that the worker took


@dataclass(frozen=True)
class Lost:
    """A task that ended without an answer."""

    number: int
    error: Exception  # why
    fault: bool  # whether it would fail elsewhere too; else its worker was lost
    worker: str = ""  # its label, if known


@dataclass(frozen=True)
class Reported:
    """What a task in progress reports; also a sign that its worker is alive."""

    number: int
    worker: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Left:
    """A worker that is not there any more, whether it was closed, killed or lost."""

    worker: str


Message = Answered | Left | Lost | Reported


class Transport(Protocol):
    """A way to the workers of one run."""

    interval: float  # seconds between two reports of a task in progress

    def workers(self) -> list[str]:
        """Labels of the workers that can be given tasks now."""

    def submit(self, number: int, work: Any, seconds: float, shared: Any) -> None:
        """Have a task computed that should take so many seconds, once more if it was submitted before."""

    def messages(self, timeout: float) -> list[Message]:
        """What has come since the last call; waits up to ``timeout`` seconds for the first."""

    def share(self, value: Any) -> None:
        """Let all tasks in progress know a value, soon."""

    def end(self, numbers: list[int]) -> None:
        """Ask tasks in progress to end early."""

    def forget(self, number: int) -> None:
        """No further answer to a task is wanted."""

    def avoid(self, worker: str) -> None:
        """Give a worker no tasks before it is heard of again."""
