"""The events of a run; each is one JSON line and back.

``time`` is in seconds of the run's own clock, which stops during a pause; in a resumed run it continues from the time
of the checkpoint.
"""

import functools
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

__all__ = [
    "Compiling",
    "DeviceStatus",
    "Event",
    "Failed",
    "Finished",
    "Incumbent",
    "Metric",
    "Notice",
    "Progress",
    "Started",
    "StateChanged",
    "Trace",
    "from_json",
    "to_json",
]


Number = int | float  # in this order: early pydantic 2 takes the first that fits


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="constants")

    time: float = Field(ge=0, allow_inf_nan=False)


class Started(_Event):
    """The first event: what is solved, how, and where.

    ``metrics`` describes the series the solver will emit, so that a viewer needs no knowledge of the solver. ``run`` is
    the identity that all files of the run folder contain, if the run has one.
    """

    type: Literal["started"] = "started"
    solver: str
    problem: str
    name: str
    description: str
    sense: str
    options: dict[str, Any]
    backend: str
    devices: list[str]
    device_names: list[str]
    seed: int
    metrics: list[dict[str, Any]] = []
    resumed: bool = False
    run: str = ""


class StateChanged(_Event):
    """The run was paused, resumed, or asked to stop."""

    type: Literal["state"] = "state"
    state: Literal["running", "paused", "stopping"]


class Progress(_Event):
    """How far a phase is: ``done`` of ``total`` ``unit``.

    With ``limit``, ``total`` is a limit that is seldom reached, such as ``max_iterations``: ``done / total`` is then no
    measure of progress. Where the work is estimated while it is being done, ``total`` is the latest estimate, 0
    before the first one, and ``seconds_left`` the time until the end, probably between ``seconds_left_low`` and
    ``seconds_left_high``.
    """

    type: Literal["progress"] = "progress"
    phase: str
    done: float
    total: float
    unit: str = ""
    limit: bool = False
    seconds_left: float | None = None
    seconds_left_low: float | None = None
    seconds_left_high: float | None = None


class Metric(_Event):
    """One point of a live series; ``device`` is a pool label, or None for the whole run."""

    type: Literal["metric"] = "metric"
    name: str
    value: float
    device: str | None = None


class Incumbent(_Event):
    """A better solution or a better bound.

    ``solution`` is the solution of ``objective``, flat, as in :class:`Finished`. It is None where the solver does not
    emit it, where it was emitted before, where it is large, and where another one follows at once.
    """

    type: Literal["incumbent"] = "incumbent"
    objective: Number | None
    bound: Number | None = None
    gap: float | None = None
    solution: list[Any] | None = None


class Trace(_Event):
    """Values of a sampled or iterated quantity at one iteration of one chain."""

    type: Literal["trace"] = "trace"
    name: str
    chain: int = 0
    iteration: int
    values: list[float]


class DeviceStatus(_Event):
    """Health of a device: memory in bytes, utilisation in percent, power in watts, temperature in degrees Celsius.

    ``busy`` is the share of time in percent, since the last such event, in which the device's thread was at work: it
    gives kernels to the device and waits for them; ``compiling`` is the share in which kernels for it were compiled or
    loaded. ``to_device`` and ``from_device`` are the bytes that were copied from and to the host since then.
    """

    type: Literal["device"] = "device"
    device: str
    memory_used: float | None = None
    memory_total: float | None = None
    utilisation: float | None = None
    power: float | None = None
    temperature: float | None = None
    busy: float | None = None
    compiling: float | None = None
    to_device: float | None = None
    from_device: float | None = None


class Compiling(_Event):
    """A kernel template is about to be compiled, or loaded from a cache; ``count`` such templates in this run so far.

    It takes seconds on a device that a template was never compiled for, and milliseconds later. ``usual`` is about how
    many a run of the solver needs; 0 where that is not known.
    """

    type: Literal["compiling"] = "compiling"
    device: str
    template: str
    count: int
    usual: int = 0


class Notice(_Event):
    """Something a user should know: a warning, or a remark such as how many items were fixed."""

    type: Literal["notice"] = "notice"
    level: Literal["info", "warning"]
    message: str


class Finished(_Event):
    """The last event of a run that ended with a result; ``reason`` is why there is no solution, if that is proved."""

    type: Literal["finished"] = "finished"
    status: str
    objective: Number | None = None
    bound: Number | None = None
    gap: float | None = None
    seconds: float = 0.0
    counters: dict[str, Number] = {}
    solution: list[Any] | None = None
    reason: str = ""


class Failed(_Event):
    """The last event of a run that ended with an error; ``objective`` and ``bound`` are its best so far."""

    type: Literal["failed"] = "failed"
    error: str
    message: str
    exit_code: int
    objective: Number | None = None
    bound: Number | None = None


Event = Annotated[
    Compiling
    | Started
    | StateChanged
    | Progress
    | Metric
    | Incumbent
    | Trace
    | DeviceStatus
    | Notice
    | Finished
    | Failed,
    Field(discriminator="type"),
]


@functools.cache
def _adapter() -> TypeAdapter[Event]:
    """What finds the class of an event by its ``type``; made for readers of events only."""
    return TypeAdapter(Event)


def to_json(event: Event) -> str:
    """One line of JSON, without the line end; what UTF-8 cannot hold, as some file names, becomes ``?``."""
    try:
        return event.model_dump_json()
    except PydanticSerializationError:
        return json.dumps(event.model_dump(), ensure_ascii=False).encode(errors="replace").decode()


def from_json(line: str | bytes) -> Event:
    """The event of a JSON line.

    Raises
    ------
    ValueError
        If the line is not a whole event, as the last line of a killed run may be.
    """
    try:
        return _adapter().validate_json(line)
    except ValidationError as error:
        raise ValueError(f"not an event: {line[:80]!r}") from error
