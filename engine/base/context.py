"""What a solver is handed of a run: :class:`RunContext`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..errors import QuintetWarning
    from ..events import Event
    from .result import Result, Status


class StopRequested(Exception):
    """Raised by :meth:`RunContext.poll` when the run must end, with the result's status; a solver returns its best."""

    def __init__(self, status: Status) -> None:
        super().__init__(str(status))
        self.status = status


@dataclass(frozen=True)
class Checkpoint:
    arrays: dict[str, NDArray[Any]]
    state: Any  # the scalars; after reading, an instance of the model that the solver's schema declares
    elapsed: float  # seconds that the run had worked
    # what a user should know of it, such as that a newer one is damaged
    remarks: tuple[str, ...] = field(default=(), compare=False)


class RunContext(Protocol):
    """What a solver works with beside its problem, its options and the devices.

    A solver works in bounded slices and calls :meth:`poll` between them. All times are seconds.
    """

    @property
    def seed(self) -> int:
        """The seed of every random number of the run."""

    @property
    def restored(self) -> Checkpoint | None:
        """Where to resume from; None to begin."""

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether checkpoints are kept, so that a solver which is stopped must have one to write."""

    @property
    def state(self) -> str:
        """``"running"``, ``"paused"``, ``"stopping"`` or ``"ended"``."""

    @property
    def elapsed(self) -> float:
        """Time that the run has worked: without pauses, with the time before it was resumed."""

    @property
    def time_left(self) -> float:
        """Time to the limit, less what :meth:`reserve` keeps; ``inf`` without a limit."""

    @property
    def overdue(self) -> float:
        """Time since the run was asked to stop, or its limit passed; 0 before that."""

    @property
    def phase(self) -> str:
        """The phase of the last :meth:`progress`."""

    def poll(self) -> None:
        """Between two slices: wait while the run is paused; raise :class:`StopRequested` when it must end."""

    def checkpoint_due(self) -> bool:
        """Whether it is time for :meth:`save_checkpoint`."""

    def save_checkpoint(self, arrays: dict[str, Any], state: Any) -> None:
        """Keep what is needed to resume from here; call it when it is due, and before a stopped run returns.

        Parameters
        ----------
        arrays : dict of str to ndarray
            Those of the solver's schema.
        state : dict, or instance of the state model of the schema
        """

    def offer(self, result: Callable[[Status], Result]) -> None:
        """Have ``result(status)`` called, on another thread, if the run must end while the solver cannot return."""

    def reserve(self, seconds: float) -> None:
        """Keep so much of the time limit, half of it at most, for making the result."""

    def emit(self, event: Event) -> None:
        """Hand an event to the observers; returns at once."""

    def metric(self, name: str, value: float, device: str | None = None) -> None:
        """A point of a live series; at most ten a second of each reach the observers, and always the last one.

        Parameters
        ----------
        name : str
            ``name`` of a :class:`engine.base.solver.MetricSpec` of the solver.
        value : float
            In the unit of that specification.
        device : str, optional
            Label of a device, for series with one curve per device.
        """

    def progress(
        self,
        phase: str,
        done: float,
        total: float,
        unit: str = "",
        limit: bool = False,
        seconds_left: tuple[float, float, float] | None = None,
    ) -> None:
        """How far the present phase is.

        Parameters
        ----------
        phase : str
            What is being done, for people.
        done, total : float
            How much of how much, in ``unit``; ``total`` is 0 while it is not known.
        unit : str
        limit : bool
            Whether ``total`` is a limit that is seldom reached.
        seconds_left : (float, float, float), optional
            Where the work is estimated: the time until the end, and the limits that it is probably between.
        """

    def incumbent(
        self, objective: float | int | None, bound: float | int | None = None, solution: NDArray[Any] | None = None
    ) -> None:
        """A better solution or bound.

        Parameters
        ----------
        objective, bound : int, float or None
            In the problem's unit.
        solution : ndarray, optional
        """

    def trace(self, name: str, iteration: int, values: Sequence[float], chain: int = 0) -> None:
        """Values of a sampled quantity.

        Parameters
        ----------
        name : str
        iteration : int
            Of the first value.
        values : sequence of float
            One per iteration.
        chain : int
        """

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """A message to the user.

        Parameters
        ----------
        message : str
            A sentence without a final full stop.
        level : {"info", "warning"}
        """

    def warn(self, warning: QuintetWarning, late: bool = False) -> None:
        """What the user must know of the answer: a notice now, and a warning in the result.

        Parameters
        ----------
        warning : QuintetWarning
            Of the class that says what it is about.
        late : bool
            Whether the run's last event has been published, so that a notice would come too late.
        """


class QuietContext:
    """A context that reports nothing, keeps nothing and is never stopped: for work that is no run of its own."""

    restored: Checkpoint | None = None
    keeps_checkpoints = False
    state = "running"
    elapsed = overdue = 0.0
    time_left = float("inf")
    phase = ""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def poll(self) -> None:
        """Nothing stops it."""

    def checkpoint_due(self) -> bool:
        return False

    def offer(self, result: Callable[[Status], Result]) -> None:
        """Nothing is offered."""

    def reserve(self, seconds: float) -> None:
        """There is no limit."""

    def _nothing(self, *values: Any, **more: Any) -> None:
        """Nothing is kept or reported."""

    save_checkpoint = emit = metric = progress = incumbent = trace = notice = warn = _nothing
