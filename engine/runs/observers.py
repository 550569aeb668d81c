"""Ready-made observers: each is a callable that takes an event, and closes itself at the last one of a run."""

from __future__ import annotations

import functools
import html
import logging
import math
import os
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..events import Compiling, Event, Failed, Finished, Incumbent, Notice, Progress, Started, StateChanged, to_json
from ..util.notebook import CellOutput, in_notebook
from ..util.text import compiling_text, gap_text, printable, seconds_text, short_number_text, value_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_LOG = logging.getLogger("quintet")

_CELL_INTERVAL = 0.1


class EventLog:
    """Appends every event to a file, one JSON line each, handed to the system before the call returns.

    If the file ends in a line that was cut short by a kill, what follows starts on a line of its own. If a line cannot
    be written, as on a full disk, it is kept in memory, and written when there is room again; of more than
    ``MOST_KEPT`` lines the oldest are lost. Both are logged, and the record contains a notice of what is lost.

    ``path``: made if it does not exist; ``OSError`` if it cannot be opened.
    """

    MOST_KEPT = 100_000

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - open until the run ends
        self._waiting: deque[bytes] = deque()
        self._lost = 0
        self._failing = False
        self._cut = False
        if self._file.seek(0, os.SEEK_END):
            self._file.seek(-1, os.SEEK_END)
            self._cut = self._file.read(1) != b"\n"

    def __call__(self, event: Event) -> None:
        """Append one event."""
        self._waiting.append(to_json(event).encode() + b"\n")
        if len(self._waiting) > self.MOST_KEPT:
            self._waiting.popleft()
            self._lost += 1
        try:
            self._write(event.time)
        except OSError as error:
            if not self._failing:
                _LOG.warning(f"events cannot be written to {self._path} for now: {error}")
            self._failing = True
        if isinstance(event, (Finished, Failed)):
            self.close()

    def _write(self, now: float) -> None:
        """Write what waits; what has not been written when this raises still waits."""
        if self._cut:
            self._write_whole(b"\n")
            self._cut = False
        if self._lost:
            message = f"{self._lost} events could not be recorded here"
            self._write_whole(to_json(Notice(time=now, level="warning", message=message)).encode() + b"\n")
            self._lost = 0
        while self._waiting:
            self._write_whole(self._waiting[0])
            self._waiting.popleft()
        self._failing = False

    def _write_whole(self, line: bytes) -> None:
        """Write a line; if only a part of it can be written, the next line starts on a line of its own."""
        written = 0
        while written < len(line):
            self._cut = self._cut or written > 0
            written += self._file.write(line[written:])
        self._cut = False

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if self._waiting and not self._file.closed:
            _LOG.warning(f"{len(self._waiting)} events could not be written to {self._path}")
        self._waiting.clear()
        self._file.close()


class JsonLines:
    """Writes every event to a text stream, one JSON line each, flushed; ``ended``: whether the last one is written."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self._lock = threading.Lock()
        self.ended = False

    def __call__(self, event: Event) -> None:
        """Write one event; nothing after the last of a run."""
        with self._lock:
            if self.ended:
                return
            self.ended = isinstance(event, (Finished, Failed))
            self.stream.write(to_json(event) + "\n")
            self.stream.flush()


class ProgressBar:
    """Shows a run: phase, bar, done of total, rate, estimated time left, best and bound, seconds.

    It is shown on a terminal, or in Jupyter in the output of the cell that makes it. Notices are printed above the bar.
    Where the output is neither, only warnings are printed. It also shows how many problems of :func:`engine.map` are
    solved. Each run takes a bar of its own.

    Parameters
    ----------
    console : rich.console.Console, optional
        Standard error by default.

    Examples
    --------
    >>> import engine
    >>> engine.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50), on_event=engine.ProgressBar()).objective
    220
    """

    def __init__(self, console: Console | None = None) -> None:
        self._given = console
        self._cell = CellOutput() if console is None and in_notebook() else None
        self._fields: dict[str, Any] = {}
        self._warnings: list[str] = []
        self._drawn_at = -math.inf
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._phase: str | None = None
        self._first: Progress | None = None
        self._state = "running"
        self._batch = self._begun = False
        self._clock = (0.0, time.monotonic())

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, Notice) and (self._is_shown or event.level == "warning"):
            self._print(event)
        if not self._is_shown:
            return
        self._clock = (event.time, time.monotonic())
        match event:
            case Started():
                self._begun = True
                self._open()
                self._update(phase=event.solver)
            case StateChanged():
                self._state = event.state
                self._update(phase=self._phase or event.state)
            case Compiling():
                self._update(phase=compiling_text(event.count, event.usual))
            case Progress():
                if not self._begun:  # of a batch, which emits nothing else
                    self._begun = self._batch = True
                    self._open()
                self._progress(event)
                if self._batch and event.done >= event.total:
                    self.close()
            case Incumbent():
                self._update(best=_best_text(event, wide=self._cell is not None or self._console.width >= 100))
            case Finished() | Failed():
                ended = event.status.replace("_", " ") if isinstance(event, Finished) else "failed"
                self._fields |= {"total": 1.0, "completed": 1.0, "phase": printable(ended), "left": ""}
                self._state = "ended"
                self.close()

    @functools.cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return self._given or Console(stderr=True)

    @functools.cached_property
    def _is_shown(self) -> bool:
        if self._cell is not None:
            return True
        if self._given is None and not _may_be_shown():
            return False
        return self._console.is_terminal

    def close(self) -> None:
        """Leave the bar as it is and give the terminal back; safe to call twice."""
        self._draw()
        if self._bar is not None:
            bar, self._bar = self._bar, None
            bar.stop()

    def elapsed(self) -> float:
        """Seconds of the run, counted on since its last event."""
        shown, at = self._clock
        return shown if self._state in ("paused", "ended") else shown + time.monotonic() - at

    def _open(self) -> None:
        if self._cell is not None:
            return
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        def text(name: str, style: str) -> TextColumn:
            column = Column(no_wrap=True, overflow="ellipsis")
            return TextColumn(f"{{task.fields[{name}]}}", style=style, markup=False, table_column=column)

        self._bar = Bar(
            text("phase", "bold"),
            BarColumn(bar_width=20),
            text("counts", "default"),
            text("rate", "cyan"),
            text("left", "magenta"),
            text("best", "green"),
            _elapsed_column(self),
            console=self._console,
            refresh_per_second=10,
            redirect_stdout=sys.stdout.isatty(),
        )
        self._task = self._bar.add_task("", total=None, phase="", counts="", rate="", left="", best="")
        self._bar.start()

    def _update(self, **fields: Any) -> None:
        if "phase" in fields and self._state != "running":
            fields["phase"] = self._state
        fields |= {name: printable(text) for name, text in fields.items() if isinstance(text, str)}
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, **fields)
        self._fields |= fields
        if time.monotonic() >= self._drawn_at + _CELL_INTERVAL:
            self._draw()

    def _draw(self) -> None:
        """Show the bar in its cell as it is now."""
        if self._cell is None:
            return
        self._drawn_at = time.monotonic()
        shown = [self._fields.get(name, "") for name in ("phase", "counts", "rate", "left", "best")]
        text = "  ".join(part for part in [*shown, seconds_text(self._clock[0])] if part)
        total = self._fields.get("total")
        share = "" if total is None else f' value="{self._fields.get("completed", 0.0) / total:.4f}"'
        notices = "".join(f"<div>{html.escape(line)}</div>" for line in self._warnings)
        bar = f"<div><progress{share}></progress> <code>{html.escape(text)}</code></div>"
        self._cell.replace(notices + bar, "\n".join([*self._warnings, text]))

    def _progress(self, event: Progress) -> None:
        if self._first is None or event.phase != self._phase or event.time < self._first.time:
            self._phase, self._first = event.phase, event
        seconds = event.time - self._first.time
        speed = (event.done - self._first.done) / seconds if seconds > 0 else 0.0
        done, total = short_number_text(event.done), short_number_text(event.total)
        endless = event.limit or not event.total
        counts = f"{done} {event.unit} (at most {total})" if event.limit else f"{done}/{total} {event.unit}".rstrip()
        if not event.total:
            counts = f"{done} {event.unit}".rstrip()
        if endless and self._bar is not None:
            self._bar.tasks[0].total = None  # a bar without an end
        self._update(
            phase=event.phase,
            total=None if endless else max(event.total, 1e-300),
            completed=event.done,
            counts=counts,
            rate=f"{short_number_text(speed)}/s" if speed > 0 else "",
            left=_left_text(event),
        )

    def _print(self, notice: Notice) -> None:
        message = printable(notice.message)
        if self._cell is not None:
            if notice.level == "warning":
                self._warnings.append(f"warning: {message}")
                self._draw()
            return
        console = self._bar.console if self._bar is not None else self._console
        if notice.level == "warning":
            console.print("warning:", message, style="yellow", markup=False, highlight=False, soft_wrap=True)
        elif self._console.is_terminal:
            console.print(message, style="dim", markup=False, highlight=False, soft_wrap=True)


def _may_be_shown() -> bool:
    """Whether standard error may be a terminal; rich decides it, but takes long to import."""
    if os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE"):
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def _elapsed_column(owner: ProgressBar) -> Any:
    """A column with the run's own clock, which stops in a pause and continues after a resume."""
    from rich.progress import ProgressColumn, Task
    from rich.table import Column
    from rich.text import Text

    class Elapsed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(seconds_text(owner.elapsed()), style="dim")

    return Elapsed(Column(no_wrap=True))


def _left_text(event: Progress) -> str:
    """The time left, as an interval where its limits differ."""
    if event.seconds_left is None:
        return ""
    low, high = (seconds_text(value or 0.0) for value in (event.seconds_left_low, event.seconds_left_high))
    middle = seconds_text(event.seconds_left)
    return f"about {middle} left" if low == high else f"about {middle} left ({low} to {high})"


def _best_text(event: Incumbent, wide: bool) -> str:
    parts = []
    if event.objective is not None:
        parts.append(f"best {value_text(event.objective)}")
    if event.bound is not None and (wide or event.objective is None):
        parts.append(f"bound {value_text(event.bound)}")
    if event.gap is not None:
        parts.append(f"gap {gap_text(event.gap)}")
    return "  ".join(parts)
