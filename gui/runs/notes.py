"""What the app keeps of one run beside its folder, and how it is found from the folder alone."""

import contextlib
import itertools
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from PySide6.QtCore import QSettings

from engine.base.result import relative_gap
from engine.errors import QuintetError
from engine.events import Failed, Finished, Notice, Started, from_json
from engine.runs.folder.lock import writer_of
from engine.runs.folder.run_folder import RunFolder
from engine.util.files import open_regular, read_regular
from engine.util.text import counted, option_text
from gui.runs.view import LIVE_STATES, RunView

_MOST_NAMED = 10
_VARIED = re.compile(r" (?=\S+=|seed \d+$)")
_MOST_DIFFERENCES = 3

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")
"""Distinguishable with every kind of colour vision (after Okabe and Ito), on light and dark."""

_LAST_DATE = 253_370_764_800  # the year 9999


@dataclass
class RunNote:
    """The data of the run list about one run; ``folder`` appears when the child has opened its devices.

    ``options``, ``settings``, ``reading``: what was asked for; ``used``: all options of the run.
    ``window``: the process of the window it was started in; ``kernels``: how many its devices compiled or loaded.
    """

    key: str
    folder: str
    title: str
    colour: str = COLOURS[0]
    created: float = 0.0
    solver: str = ""
    problem: str = ""
    source: str = ""
    kind: str = ""
    sense: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    used: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    state: str = "starting"
    best: float | int | None = None
    bound: float | int | None = None
    gap: float | None = None
    seconds: float = 0.0
    message: str = ""
    warnings: list[str] = field(default_factory=list)
    window: int = 0
    kernels: int = 0
    devices: list[str] = field(default_factory=list)
    seed: int | None = None
    counters: dict[str, Any] = field(default_factory=dict)
    sweep: str = ""
    tags: list[str] = field(default_factory=list)
    comment: str = ""
    reading: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.created < _LAST_DATE:  # of a damaged note
            self.created = 0.0

    @property
    def path(self) -> Path:
        return Path(self.folder)

    @property
    def live(self) -> bool:
        return self.state in LIVE_STATES

    @property
    def has_checkpoint(self) -> bool:
        with contextlib.suppress(OSError):  # such as of a disk that is not connected
            return any(self.path.glob("checkpoint-*.json"))
        return False

    @property
    def resumable(self) -> bool:
        """Whether it ended early and has a checkpoint."""
        return self.state in ("interrupted", "time_limit", "killed", "failed") and self.has_checkpoint

    @property
    def effective_options(self) -> dict[str, Any]:
        """All options of the run, those that were not given, too, as far as they are known."""
        return {**self.options, **self.used}

    def follow(self, view: RunView) -> None:
        """Take over the numbers of a run that is watched."""
        self.state, self.message = view.state, view.message
        self.warnings = list(view.warnings)
        self.best, self.bound, self.gap = view.best, view.bound, view.gap
        self.seconds = view.clock
        self.kernels = view.kernels
        if view.started is not None:
            self.solver, self.problem = view.started.solver, view.started.description
            self.kind, self.sense, self.used = view.started.problem, view.started.sense, dict(view.started.options)
            self.devices, self.seed = list(view.started.devices), view.started.seed
        self.counters = dict(view.counters)


_NOTES = TypeAdapter(RunNote)


def described(folder: Path, key: str, colour: str) -> RunNote:
    """A note made from a run folder alone."""
    opened = RunFolder.open(folder)
    about = opened.description
    problem = about.get("problem", {})
    note = RunNote(
        key,
        str(folder),
        str(problem.get("name") or folder.name),
        colour,
        (folder / "run.toml").stat().st_mtime,
        solver=str(about.get("solver", "")),
        options=dict(about.get("options", {})),
        settings=dict(about.get("settings", {})),
    )
    with contextlib.suppress(OSError, ValueError), open_regular(opened.events_path) as stream:
        if isinstance(first := from_json(stream.readline()), Started):
            note.problem, note.kind, note.sense = first.description, first.problem, first.sense
            note.used = dict(first.options)
    return recover_state(note)


def named(notes: Sequence[RunNote]) -> str:
    """Which runs these are, one or more, in a sentence: titles, with the time of those that have the same one."""
    titles = [note.title for note in notes]
    names = [f"“{note.title}”" + (_when(note) if titles.count(note.title) > 1 else "") for note in notes]
    if len(names) > _MOST_NAMED:
        names[_MOST_NAMED - 1 :] = [counted(len(names) - _MOST_NAMED + 1, "more run")]
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _when(note: RunNote) -> str:
    return f" of {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(note.created))}"


def short_titles(notes: Sequence[RunNote]) -> dict[str, str]:
    """The titles of runs by their keys, without the problem where all have the same, as those of a sweep."""
    problems = {_VARIED.split(note.title, maxsplit=1)[0] for note in notes}
    common = problems.pop() if len(problems) == 1 < len(notes) else ""
    return {note.key: note.title.removeprefix(common).strip() or note.title for note in notes}


def distinctions(notes: Sequence[RunNote]) -> dict[str, str]:
    """By what each run differs from the others of its title, by its key: options, else the seed, else the time."""
    by_title: dict[str, list[RunNote]] = {}
    for note in notes:
        by_title.setdefault(note.title, []).append(note)
    found: dict[str, str] = {}
    for group in by_title.values():
        if len(group) == 1:
            continue
        seeds = [note.settings.get("seed", 0) if note.seed is None else note.seed for note in group]
        chosen = [{**note.effective_options, "seed": seed} for note, seed in zip(group, seeds, strict=True)]
        names = [name for name in chosen[0] if all(name in options for options in chosen)]
        differ = [name for name in names if len({str(options[name]) for options in chosen}) > 1]
        texts = [
            ", ".join(
                f"{name.replace('_', ' ')} {option_text(options.get(name))}" for name in differ[:_MOST_DIFFERENCES]
            )
            for options in chosen
        ]
        times = len({int(note.created) for note in group}) > 1
        for note, text in zip(group, texts, strict=True):
            when = time.strftime("%H:%M:%S", time.localtime(note.created)) if times and texts.count(text) > 1 else ""
            found[note.key] = ", ".join(part for part in (text, when) if part)
    return found


def unused(name: str, taken: Callable[[str], object], sign: str = "-") -> str:
    """A name that is not taken: this one, or else with the first number that makes it so."""
    numbered = (f"{name}{sign}{number}" for number in itertools.count(2))
    return next(found for found in itertools.chain([name], numbered) if not taken(found))


def runs_folder(home: Path) -> Path:
    """Where runs are kept: as the preferences in a data folder say, in its folder ``runs`` by default."""
    settings = QSettings(str(home / "window.ini"), QSettings.Format.IniFormat)
    return Path(str(settings.value("runs_folder", home / "runs")))


def stamp(path: str | Path) -> tuple[int, int] | None:
    """Changes when a file is written again; None if it does not exist."""
    with contextlib.suppress(OSError):
        about = os.stat(path)
        return about.st_mtime_ns, about.st_ino
    return None


def read_note(path: Path) -> RunNote:
    """Read a note; ``ValueError`` if the file is none, ``OSError`` if it cannot be read."""
    try:
        content = json.loads(read_regular(path))
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} is not a note")
    return note_from(content)


def note_from(content: dict[str, Any]) -> RunNote:
    """A note from its fields; unknown ones, of other versions, are left out."""
    return _NOTES.validate_python(content)


def _runs_in_other_window(note: RunNote) -> bool:
    """Whether the run belongs to another window that is still open."""
    if os.name != "posix" or note.window in (0, os.getpid()):
        return False
    try:
        os.kill(note.window, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def recover_state(note: RunNote) -> RunNote:
    """Find out from its folder how a run ended that was in progress when its window closed."""
    if not note.live or _runs_in_other_window(note):
        return note
    if note.state == "queued":  # its window was closed before it started
        note.state = "cancelled"
        return note
    if writer_of(note.path) is not None:  # a process without a window, such as one that was left running
        note.state = "running"
        return note
    note.warnings = warnings_in(note.path / "events.jsonl")
    with contextlib.suppress(QuintetError):
        result = RunFolder.open(note.folder).result()
        if result is not None:
            note.state, note.best, note.bound, note.seconds = (
                str(result.status),
                result.objective,
                result.bound,
                result.seconds,
            )
            gap = relative_gap(result.objective, result.bound)
            note.gap = gap if gap != float("inf") else None
            note.seed, note.devices, note.counters = result.seed, list(result.devices), dict(result.counters)
            note.message = result.reason
            return note
    note.state = "killed"
    last = last_line(note.path / "events.jsonl")
    with contextlib.suppress(ValueError):
        event = from_json(last)
        note.seconds = event.time
        if isinstance(event, Failed):
            note.state, note.message = "failed", event.message
        elif isinstance(event, Finished):  # its result was written by a version that this one cannot read
            note.state, note.best, note.bound = event.status, event.objective, event.bound
            note.gap, note.counters = event.gap, dict(event.counters)
    return note


def warnings_in(path: Path) -> list[str]:
    """The warnings among recorded events, each once; other lines are not parsed."""
    found: list[str] = []
    with contextlib.suppress(OSError), open_regular(path) as stream:
        for line in stream:
            if b'"notice"' in line and b'"warning"' in line:
                with contextlib.suppress(ValueError):
                    event = from_json(line)
                    if isinstance(event, Notice) and event.level == "warning" and event.message not in found:
                        found.append(event.message)
    return found


def last_line(path: Path, most: int = 1 << 20) -> bytes:
    """The last whole line of a file; empty if there is none in its last ``most`` bytes."""
    with contextlib.suppress(OSError), open_regular(path) as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - most))
        lines = stream.read().split(b"\n")
        return lines[-2] if len(lines) > 1 else b""
    return b""
