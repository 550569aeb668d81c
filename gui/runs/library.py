"""The user's runs: a folder each in the data folder, and beside it a note with the app's own data.

::

    <data>/runs/20260102-030405-ta030/        the run folder of the engine (see engine.runs.folder.run_folder)
    <data>/runs/20260102-030405-ta030.json    title, colour, what was asked for, the last numbers
    <data>/index.json                         what was read from folders that have no note
    <data>/trash/                             deleted runs, for 30 days
    <data>/window.ini                         the window's own state

A run folder without a note, as one copied here, is taken in; a note may name a folder elsewhere.
"""

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.errors import QuintetError, RunFolderError
from engine.util.files import read_regular, reason_of, remove_temporaries, write_whole
from engine.util.paths import user_folder
from gui.runs.model import RunModel
from gui.runs.notes import COLOURS, RunNote, described, note_from, read_note, recover_state, runs_folder, stamp, unused

_START_SECONDS, _SCAN_SECONDS = 0.1, 0.1
_HOUR = 3600.0
_LEAST_TAKEN_IN = 3  # folders in one scan, however long they take

TRASH_DAYS = 30
"""Days that deleted runs stay in the trash."""


def default_home() -> Path:
    """The user's data folder."""
    return user_folder("data")


def read_folder(folder: Path) -> RunNote:
    """What a run folder says of its run, for :meth:`Library.adopt`; it may have many events, or be on a slow disk."""
    folder = folder.resolve()
    try:
        return described(folder, folder.name, COLOURS[0])
    except OSError as error:
        raise RunFolderError(f"{folder} cannot be read: {reason_of(error)}") from error


class Library:
    """The notes of all runs, newest first, kept on disk."""

    def __init__(self, home: Path) -> None:
        self.home, self.runs = home, runs_folder(home)
        self.model = RunModel()
        """Its notes as views show them."""
        self.incomplete = False
        """Whether there are folders without a note that have not been read; see :meth:`read_unlisted`."""
        self._stamps: dict[str, tuple[int, int]] = {}
        self._index: dict[str, Any] | None = None
        self._index_changed = False

    @property
    def notes(self) -> list[RunNote]:
        """The notes, newest first; they are added and removed by the methods of the library."""
        return self.model.notes

    def load(self) -> None:
        """Read every note, and take in the folders that have none."""
        self.model.clear()
        self._stamps = {}
        self.rescan(lambda _note: False, _START_SECONDS)
        self.empty_trash()
        for folder in (self.home, self.runs):  # what a kill has left of files that were being written or unpacked
            remove_temporaries(folder, r".+\.json|unpacking", older_than=_HOUR)

    def rescan(self, held: Callable[[RunNote], bool], seconds: float | None = None) -> bool:
        """Take in what others changed, folders without a note for some ``seconds``; whether anything is different."""
        known = {note.key: note for note in self.notes}
        names = [name for name in self._names() if name.endswith(".json")]
        stamps = {name[:-5]: at for name in names if (at := stamp(os.path.join(self.runs, name))) is not None}
        changed = False
        for key, at in stamps.items():
            note = known.get(key)
            if at == self._stamps.get(key) or (note is not None and held(note)):
                continue
            with contextlib.suppress(OSError, ValueError, TypeError):
                read = read_note(self.runs / f"{key}.json")
                if note is None:
                    self.model.add(read)
                else:
                    vars(note).update(vars(read))
                    self.model.update(note)
                changed = True
        for key in set(self._stamps) - set(stamps):
            if (note := known.get(key)) is not None and not held(note):
                self.model.remove(note)
                changed = True
        self._stamps = stamps
        for note in self.notes:
            if note.live and not held(note) and not recover_state(note).live:
                self.model.update(note)
                changed = True
        return self._take_in(_SCAN_SECONDS if seconds is None else seconds) or changed

    def _take_in(self, seconds: float) -> bool:
        """Note the folders that have no note, as one that was copied here."""
        before = len(self.notes)
        self.incomplete = False
        until = time.monotonic() + seconds
        for folder in self._unlisted({note.folder for note in self.notes}):
            self.incomplete = time.monotonic() > until and len(self.notes) >= before + _LEAST_TAKEN_IN
            if self.incomplete:
                break
            with contextlib.suppress(QuintetError, OSError):
                self.model.add(self._indexed(folder))
        self._save_index()
        gone = [note for note in self.notes if note.key not in self._stamps and not os.path.isdir(note.path)]
        for note in gone:
            self.model.remove(note)
        return len(self.notes) != before or bool(gone)

    def _names(self) -> list[str]:
        with contextlib.suppress(OSError):
            return sorted(os.listdir(self.runs))
        return []

    def _unlisted(self, known: Collection[str]) -> Iterator[Path]:
        """The run folders that are none of these."""
        for name in self._names():
            folder = os.path.join(self.runs, name)
            if folder not in known and not name.startswith(".") and os.path.isfile(os.path.join(folder, "run.toml")):
                yield Path(folder)

    def read_unlisted(self, known: Collection[str], most: int) -> list[RunNote]:
        """The notes of at most so many folders without one, but these; on any thread, as :meth:`take_in` is not."""
        found: list[RunNote] = []
        for folder in self._unlisted(known):
            if len(found) == most:
                break
            with contextlib.suppress(QuintetError, OSError):
                found.append(self._indexed(folder))
        self._save_index()
        return found

    def take_in(self, read: Iterable[RunNote]) -> None:
        """Add the notes that :meth:`read_unlisted` has found, unless they have been added meanwhile."""
        known = {note.folder for note in self.notes}
        for note in read:
            if note.folder not in known:
                note.colour = COLOURS[len(self.notes) % len(COLOURS)]
                self.model.add(note)

    def _indexed(self, folder: Path) -> RunNote:
        """The note of a folder that has none: from the index, unless the folder has changed since."""
        if self._index is None:
            self._index = {}
            with contextlib.suppress(OSError, ValueError):
                content = json.loads(read_regular(self.home / "index.json"))
                self._index = content if isinstance(content, dict) else {}
        now = [stamp(folder / name) for name in ("run.toml", "result.json", "events.jsonl")]
        with contextlib.suppress(KeyError, TypeError, ValueError):
            entry = self._index[folder.name]
            if entry["stamps"] == [None if one is None else list(one) for one in now]:
                return note_from({**entry["note"], "key": folder.name, "folder": str(folder)})
        colour = COLOURS[len(self.notes) % len(COLOURS)]
        try:
            note = described(folder, folder.name, colour)
        except RunFolderError as error:
            note = RunNote(folder.name, str(folder), folder.name, colour, state="failed", message=str(error))
            with contextlib.suppress(OSError):
                note.created = folder.stat().st_mtime
        self._index[folder.name] = {"stamps": [None if one is None else list(one) for one in now], "note": asdict(note)}
        self._index_changed = True
        return note

    def _save_index(self) -> None:
        if self._index is None or not self._index_changed:
            return
        self._index_changed = False
        kept = {name: entry for name, entry in self._index.items() if os.path.isfile(self.runs / name / "run.toml")}
        with contextlib.suppress(OSError):
            write_whole(self.home / "index.json", json.dumps(kept).encode())

    def __iter__(self) -> Iterator[RunNote]:
        return iter(self.notes)

    def find(self, key: str) -> RunNote | None:
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
        key = unused(base, lambda key: self.find(key) or (self.runs / key).exists())
        self.runs.mkdir(parents=True, exist_ok=True)
        note = RunNote(key, str(self.runs / key), title, self._next_colour(), now, **about)
        self._add(note)
        return note

    def adopt(self, folder: Path, read: RunNote | None = None) -> RunNote:
        """Take in a run folder from elsewhere, which stays where it is; the one that there is if it is known."""
        folder = folder.resolve() if read is None else read.path
        inside = folder.parent == self.runs.resolve()
        for note in self.notes:
            if note.path.name == folder.name if inside and self.owns(note) else note.path.resolve() == folder:
                return note
        note = read or read_folder(folder)
        note.key, note.colour = unused(folder.name, self.find), self._next_colour()
        self._add(note)
        return note

    def save(self, note: RunNote) -> None:
        self.runs.mkdir(parents=True, exist_ok=True)
        path = self.runs / f"{note.key}.json"
        write_whole(path, json.dumps(asdict(note), indent=1).encode())
        if (at := stamp(path)) is not None:
            self._stamps[note.key] = at

    def delete(self, note: RunNote) -> Path:
        """Move a run to the trash, its folder too if that is in the folder of runs; its place, for :meth:`restore`."""
        trash = self.home / "trash"
        place = trash / unused(note.key, lambda name: (trash / name).exists(), ".")
        place.mkdir(parents=True)
        write_whole(place / "note.json", json.dumps(asdict(note), indent=1).encode())
        if self.owns(note) and os.path.isdir(note.path):
            shutil.move(note.path, place / "run")  # which may be on another disk
        (self.runs / f"{note.key}.json").unlink(missing_ok=True)
        self._stamps.pop(note.key, None)
        self.model.remove(note)  # another window may have been quicker
        return place

    def restore(self, place: Path) -> RunNote:
        """Move a run back from the trash."""
        note = read_note(place / "note.json")
        if (place / "run").is_dir():
            if note.path.exists():
                raise FileExistsError(f"{note.folder} exists")
            shutil.move(place / "run", note.path)
        shutil.rmtree(place)
        self.save(note)
        self.model.add(note)
        return note

    def empty_trash(self) -> None:
        """Delete for good what has been in the trash for longer than :data:`TRASH_DAYS`."""
        for place in self.home.glob("trash/*"):
            with contextlib.suppress(OSError):
                if time.time() - (place / "note.json").stat().st_mtime > 86400 * TRASH_DAYS:
                    shutil.rmtree(place)

    def owns(self, note: RunNote) -> bool:
        """Whether deleting it deletes its folder."""
        return note.path.parent == self.runs

    def _add(self, note: RunNote) -> None:
        self.model.add(note)
        self.save(note)

    def _next_colour(self) -> str:
        """Of the colours that the fewest runs have, the one that was used longest ago."""
        used = [note.colour for note in self.notes]
        ages = {colour: used.index(colour) if colour in used else len(used) for colour in COLOURS}
        return max(COLOURS, key=lambda colour: (-used.count(colour), ages[colour], -COLOURS.index(colour)))
