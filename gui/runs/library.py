"""The user's runs: a folder each in the data folder, and beside it a note with the app's own data.

::

    <data>/runs/20260102-030405-ta030/        the run folder of the engine (see engine.folder)
    <data>/runs/20260102-030405-ta030.json    title, colour, what was asked for, the last numbers
    <data>/trash/                             deleted runs, for 30 days
    <data>/window.ini                         the window's own state

A run folder without a note, as one copied here, is taken in; a note may name a folder elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import platformdirs

from engine.errors import QuintetError
from engine.events import Failed, Notice, Started, from_json
from engine.files import write_whole
from engine.folder import RunFolder
from engine.results import relative_gap
from gui.runs.summary import LIVE_STATES, Summary

__all__ = ["COLOURS", "TRASH_DAYS", "Library", "RunNote", "default_home"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")
"""Distinguishable with every kind of colour vision (after Okabe and Ito), on light and dark."""

TRASH_DAYS = 30
"""Days that deleted runs stay in the trash."""


def default_home() -> Path:
    """The user's data folder."""
    return Path(platformdirs.user_data_dir("quintet", appauthor=False))


@dataclass
class RunNote:
    """The data of the run list about one run.

    ``folder`` is the run folder, which appears when the child has opened its devices; ``options`` and ``settings``
    are what was asked for, ``source`` the instance file, ``window`` the process of the window it was started in,
    ``kernels`` how many kernel templates its devices compiled or loaded.
    """

    key: str
    folder: str
    title: str
    colour: str = COLOURS[0]
    created: float = 0.0
    solver: str = ""
    problem: str = ""
    source: str = ""
    options: dict[str, Any] = field(default_factory=dict)
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

    @property
    def path(self) -> Path:
        """The run folder."""
        return Path(self.folder)

    @property
    def live(self) -> bool:
        """Whether it runs now."""
        return self.state in LIVE_STATES

    @property
    def has_checkpoint(self) -> bool:
        """Whether its folder has a checkpoint."""
        return any(self.path.glob("checkpoint-*.json"))

    @property
    def resumable(self) -> bool:
        """Whether it ended early and has a checkpoint."""
        return self.state in ("interrupted", "time_limit", "killed", "failed") and self.has_checkpoint

    def follow(self, summary: Summary) -> None:
        """Take over the numbers of a run that is watched."""
        self.state, self.message = summary.state, summary.message
        self.warnings = list(summary.warnings)
        self.best, self.bound, self.gap = summary.best, summary.bound, summary.gap
        self.seconds = summary.event_seconds
        self.kernels = summary.kernels
        if summary.started is not None:
            self.solver, self.problem = summary.started.solver, summary.started.description


class Library:
    """The notes of all runs, newest first, kept on disk.

    Parameters
    ----------
    home : Path
        The user's data folder, made when the first run is.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.runs = home / "runs"
        self.notes: list[RunNote] = []
        self._stamps: dict[str, tuple[int, int]] = {}

    def load(self) -> None:
        """Read every note, and take in the folders that have none."""
        self.notes, self._stamps = [], {}
        self.rescan(lambda _note: False)
        self.empty_trash()

    def rescan(self, held: Callable[[RunNote], bool]) -> bool:
        """Follow changes that other windows and people made to the folder.

        Parameters
        ----------
        held : callable
            Whether a run is in progress in this window, which then owns its note.

        Returns
        -------
        bool
            Whether anything is different.
        """
        known = {note.key: note for note in self.notes}
        stamps = {path.stem: stamp for path in self.runs.glob("*.json") if (stamp := _stamp(path)) is not None}
        changed = False
        for key, stamp in stamps.items():
            note = known.get(key)
            if stamp == self._stamps.get(key) or (note is not None and held(note)):
                continue
            with contextlib.suppress(OSError, ValueError, TypeError):
                read = _read(self.runs / f"{key}.json")
                if note is None:
                    self.notes.append(read)
                else:
                    vars(note).update(vars(read))
                changed = True
        for key in set(self._stamps) - set(stamps):
            if (note := known.get(key)) is not None and not held(note):
                self.notes.remove(note)
                changed = True
        self._stamps = stamps
        for note in self.notes:
            if note.live and not held(note) and not _recover_state(note).live:
                changed = True
        changed = self._take_in() or changed
        if changed:
            self.notes.sort(key=lambda note: note.created, reverse=True)
        return changed

    def _take_in(self) -> bool:
        """Note the folders that have no note, as one that was copied here."""
        known = {note.path for note in self.notes}
        before = len(self.notes)
        for folder in sorted(self.runs.glob("*/run.toml")):
            if folder.parent not in known and not folder.parent.name.startswith("."):
                with contextlib.suppress(QuintetError):
                    self.notes.append(self._described(folder.parent, folder.parent.name))
        gone = [note for note in self.notes if note.key not in self._stamps and not note.path.is_dir()]
        for note in gone:
            self.notes.remove(note)
        return len(self.notes) != before or bool(gone)

    def __iter__(self) -> Iterator[RunNote]:
        return iter(self.notes)

    def find(self, key: str) -> RunNote | None:
        """The note of that key."""
        return next((note for note in self.notes if note.key == key), None)

    def usual_kernels(self, note: RunNote) -> int:
        """How many kernel templates the last such run needed; 0 if there was none."""
        like = (one.kernels for one in self.notes if one.solver == note.solver and not one.live and one.kernels)
        return next(like, 0)

    def new(self, title: str, **about: Any) -> RunNote:
        """A note and a free folder name for a run that is about to start."""
        now = time.time()
        word = re.sub(r"[^\w.-]+", "-", title).strip("-.")[:40] or "run"
        base = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{word}"
        key, count = base, 1
        while self.find(key) or (self.runs / key).exists():
            count += 1
            key = f"{base}-{count}"
        self.runs.mkdir(parents=True, exist_ok=True)
        note = RunNote(key, str(self.runs / key), title, self._next_colour(), now, **about)
        self._add(note)
        return note

    def adopt(self, folder: Path) -> RunNote:
        """Take in a run folder from elsewhere; it stays where it is.

        Raises
        ------
        engine.errors.RunFolderError
            If it is none.
        """
        folder = folder.resolve()
        for note in self.notes:
            if note.path.resolve() == folder:
                return note
        key, count = folder.name, 1
        while self.find(key):
            count += 1
            key = f"{folder.name}-{count}"
        note = self._described(folder, key)
        self._add(note)
        return note

    def save(self, note: RunNote) -> None:
        """Write a note."""
        self.runs.mkdir(parents=True, exist_ok=True)
        path = self.runs / f"{note.key}.json"
        write_whole(path, json.dumps(asdict(note), indent=1).encode())
        if (stamp := _stamp(path)) is not None:
            self._stamps[note.key] = stamp

    def delete(self, note: RunNote) -> Path:
        """Move a run to the trash: its note, and its folder if that is in the folder of runs.

        Returns
        -------
        Path
            Its place in the trash, for :meth:`restore`.

        Raises
        ------
        OSError
            If it cannot be moved.
        """
        place, count = self.home / "trash" / note.key, 1
        while place.exists():
            count += 1
            place = self.home / "trash" / f"{note.key}.{count}"
        place.mkdir(parents=True)
        write_whole(place / "note.json", json.dumps(asdict(note), indent=1).encode())
        if self.owns(note) and note.path.is_dir():
            os.rename(note.path, place / "run")
        (self.runs / f"{note.key}.json").unlink(missing_ok=True)
        self._stamps.pop(note.key, None)
        if note in self.notes:  # another window may have been quicker
            self.notes.remove(note)
        return place

    def restore(self, place: Path) -> RunNote:
        """Move a run back from the trash.

        Raises
        ------
        OSError
            If it is not there any more, or its folder exists again.
        """
        note = _read(place / "note.json")
        if (place / "run").is_dir():
            if note.path.exists():
                raise FileExistsError(f"{note.folder} exists")
            os.rename(place / "run", note.path)
        shutil.rmtree(place)
        self.save(note)
        self.notes.append(note)
        self.notes.sort(key=lambda one: one.created, reverse=True)
        return note

    def empty_trash(self, days: float = TRASH_DAYS) -> None:
        """Delete for good what has been in the trash for longer than ``days``."""
        for place in self.home.glob("trash/*"):
            with contextlib.suppress(OSError):
                if time.time() - (place / "note.json").stat().st_mtime > 86400 * days:
                    shutil.rmtree(place)

    def owns(self, note: RunNote) -> bool:
        """Whether deleting it deletes its folder."""
        return note.path.parent == self.runs

    def _add(self, note: RunNote) -> None:
        self.notes.insert(0, note)
        self.save(note)

    def _next_colour(self) -> str:
        """The colour that was used longest ago."""
        ages = {colour: len(self.notes) for colour in COLOURS}
        for age, note in reversed(list(enumerate(self.notes))):
            ages[note.colour] = age
        return max(COLOURS, key=lambda colour: (ages[colour], -COLOURS.index(colour)))

    def _described(self, folder: Path, key: str) -> RunNote:
        opened = RunFolder.open(folder)
        about = opened.description
        problem = about.get("problem", {})
        note = RunNote(
            key,
            str(folder),
            str(problem.get("name") or folder.name),
            self._next_colour(),
            (folder / "run.toml").stat().st_mtime,
            solver=str(about.get("solver", "")),
            options=dict(about.get("options", {})),
            settings=dict(about.get("settings", {})),
        )
        with contextlib.suppress(OSError, ValueError), opened.events_path.open("rb") as stream:
            if isinstance(first := from_json(stream.readline()), Started):
                note.problem = first.description
        return _recover_state(note)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Changes when a file is written again; None if it does not exist."""
    with contextlib.suppress(OSError):
        about = path.stat()
        return about.st_mtime_ns, about.st_ino
    return None


def _read(path: Path) -> RunNote:
    known = {entry.name for entry in fields(RunNote)}
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ValueError(f"{path} is not a note")
    return RunNote(**{name: value for name, value in content.items() if name in known})


def _runs_in_other_window(note: RunNote) -> bool:
    """Whether the run belongs to another window that is still open."""
    if os.name != "posix" or note.window in (0, os.getpid()):
        return False
    try:
        os.kill(note.window, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _recover_state(note: RunNote) -> RunNote:
    """Find out from its folder how a run ended that was in progress when its window closed."""
    if not note.live or _runs_in_other_window(note):
        return note
    if note.state == "queued":  # its window was closed before it started
        note.state = "cancelled"
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
            return note
    note.state = "killed"
    last = last_line(note.path / "events.jsonl")
    with contextlib.suppress(ValueError):
        event = from_json(last)
        note.seconds = event.time
        if isinstance(event, Failed):
            note.state, note.message = "failed", event.message
    return note


def warnings_in(path: Path) -> list[str]:
    """The warnings among recorded events, each once; other lines are not parsed."""
    found: list[str] = []
    with contextlib.suppress(OSError), path.open("rb") as stream:
        for line in stream:
            if b'"notice"' in line and b'"warning"' in line:
                with contextlib.suppress(ValueError):
                    event = from_json(line)
                    if isinstance(event, Notice) and event.level == "warning" and event.message not in found:
                        found.append(event.message)
    return found


def last_line(path: Path, most: int = 1 << 20) -> bytes:
    """The last whole line of a file; empty if there is none in its last ``most`` bytes."""
    with contextlib.suppress(OSError), path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - most))
        lines = stream.read().split(b"\n")
        return lines[-2] if len(lines) > 1 else b""
    return b""
