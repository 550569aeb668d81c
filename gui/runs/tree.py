"""The runs as a tree for the list at the right: those of a sweep are below a row of its own."""

import bisect
import time
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt

from engine.util.text import counted, gap_text, seconds_text, value_text
from gui.runs.columns import solver_title
from gui.runs.model import NOTE, Index, RunModel
from gui.runs.notes import RunNote, short_titles
from gui.runs.view import state_text

RUNS, ROW = (Qt.ItemDataRole.UserRole + place for place in (8, 9))
_NOWHERE, _TIP = QModelIndex(), Qt.ItemDataRole.ToolTipRole


@dataclass(frozen=True)
class Row:
    """What a row shows: ``state`` gives its colour too, with ``warnings``; ``numbers`` and ``seconds`` are below."""

    title: str
    differs: str
    colour: str
    state: str
    state_text: str
    warnings: int
    numbers: str
    seconds: float


@dataclass(eq=False)
class Sweep:
    """The runs of a sweep, newest first; ``number`` tells it from others, ``created`` is its place."""

    name: str
    number: int
    created: float
    runs: list[RunNote] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)

    def title(self, note: RunNote) -> str:
        self.titles = self.titles or short_titles(self.runs)
        return self.titles[note.key]

    def best(self) -> float | int | None:
        """The best value of all; None if there is none, or the runs are of several problems."""
        values = [note.best for note in self.runs if note.best is not None]
        senses = {note.sense for note in self.runs if note.best is not None}
        if len({note.problem for note in self.runs}) > 1 or len(senses) != 1:
            return None
        choose = {"maximize": max, "minimize": min}.get(senses.pop())
        return None if choose is None else choose(values)

    def row(self) -> Row:
        """How many of its runs have ended and how, their best value, and the time that they took in all."""
        states = {note.state for note in self.runs if not note.live}
        ended = sum(not note.live for note in self.runs)
        state = states.pop() if len(states) == 1 and ended == len(self.runs) else "" if ended else "queued"
        if any(note.live and note.state != "queued" for note in self.runs):
            state = "running"
        all_ended = state_text(state) if state else "ended"
        said = all_ended if ended == len(self.runs) else f"{ended} of {len(self.runs)} ended"
        best = self.best()
        numbers = counted(len(self.runs), "run") + (f"  ·  best {value_text(best)}" if best is not None else "")
        seconds = sum(note.seconds for note in self.runs)
        return Row(self.name, "", "", state, said, sum(len(note.warnings) for note in self.runs), numbers, seconds)


def run_row(note: RunNote, title: str, differs: str) -> Row:
    """What the row of one run shows."""
    if note.best is None and note.bound is None:
        numbers = note.message.splitlines()[0] if note.message else note.problem.partition(": ")[2] or note.solver
    else:
        parts = [value_text(note.best)]
        if note.gap is not None:
            parts.append(f"gap {gap_text(note.gap)}")
        if note.bound is not None and value_text(note.bound) != parts[0]:  # the last, where a narrow list is cut
            parts.append(f"bound {value_text(note.bound)}")
        numbers = "  ·  ".join(parts)
    warnings = len(note.warnings)
    said = state_text(note.state, warnings)
    return Row(title, differs, note.colour, note.state, said, warnings, numbers, note.seconds)


def accessible_text(note: RunNote, title: str) -> str:
    """A run in one sentence, for screen readers."""
    return (
        f"{title}, {state_text(note.state, len(note.warnings))}, "
        f"best {value_text(note.best)}, bound {value_text(note.bound)}, "
        f"gap {gap_text(note.gap)}, {seconds_text(note.seconds)}"
    )


def _tip(note: RunNote) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(note.created))
    lines = [note.problem, f"{solver_title(note.solver)}, {when}", note.folder, note.message, *note.warnings]
    return "\n".join(line for line in lines if line)


class RunTree(QAbstractItemModel):
    """Runs and sweeps; the internal id of an index is the number of the sweep that its row belongs to, 0 at the top."""

    def __init__(self, source: RunModel) -> None:
        super().__init__()
        self._source = source
        self._rows: list[RunNote | Sweep] = []
        self._sweeps: dict[str, Sweep] = {}
        self._made = 0
        source.rowsInserted.connect(lambda _parent, first, last: self._add(source.notes[first : last + 1]))
        source.rowsAboutToBeRemoved.connect(lambda _parent, first, last: self._remove(source.notes[first : last + 1]))
        source.dataChanged.connect(lambda top, bottom: self._update(source.notes[top.row() : bottom.row() + 1]))
        source.modelReset.connect(self._reset)
        self._add(source.notes)

    def _reset(self) -> None:
        self.beginResetModel()
        self._rows, self._sweeps = [], {}
        self.endResetModel()
        self._add(self._source.notes)

    def _add(self, notes: list[RunNote]) -> None:
        for note in notes:
            if not note.sweep:
                self._insert(note)
                continue
            sweep = self._sweeps.get(note.sweep)
            if sweep is None:
                self._made += 1
                sweep = self._sweeps[note.sweep] = Sweep(note.sweep, self._made, note.created)
                self._insert(sweep)
            parent, place = self._index_of(sweep), _place(sweep.runs, note)
            self.beginInsertRows(parent, place, place)
            sweep.runs.insert(place, note)
            sweep.titles.clear()
            self.endInsertRows()
            self.dataChanged.emit(parent, parent)

    def _insert(self, entry: RunNote | Sweep) -> None:
        place = _place(self._rows, entry)
        self.beginInsertRows(_NOWHERE, place, place)
        self._rows.insert(place, entry)
        self.endInsertRows()

    def _remove(self, notes: list[RunNote]) -> None:
        for note in notes:
            sweep = self._sweeps.get(note.sweep)
            index = self.index_of(note)
            self.beginRemoveRows(index.parent(), index.row(), index.row())
            del (self._rows if sweep is None else sweep.runs)[index.row()]
            if sweep is not None:
                sweep.titles.clear()
            self.endRemoveRows()
            if sweep is not None and not sweep.runs:
                place = self._index_of(sweep).row()
                self.beginRemoveRows(_NOWHERE, place, place)
                del self._rows[place], self._sweeps[note.sweep]
                self.endRemoveRows()
            elif sweep is not None:
                self.dataChanged.emit(self._index_of(sweep), self._index_of(sweep))

    def _update(self, notes: list[RunNote]) -> None:
        for note in notes:
            if (sweep := self._sweeps.get(note.sweep)) is not None:
                sweep.titles.clear()
            index = self.index_of(note)
            for changed in (index, index.parent()):
                if changed.isValid():
                    self.dataChanged.emit(changed, changed)

    def _index_of(self, entry: RunNote | Sweep) -> QModelIndex:
        return next((self.createIndex(row, 0, 0) for row, other in enumerate(self._rows) if other is entry), _NOWHERE)

    def index_of(self, note: RunNote) -> QModelIndex:
        """The index of a run; an invalid one if it is not there."""
        sweep = self._sweeps.get(note.sweep)
        if sweep is None:
            return self._index_of(note)
        rows = (row for row, other in enumerate(sweep.runs) if other is note)
        return next((self.createIndex(row, 0, sweep.number) for row in rows), _NOWHERE)

    # --- for Qt -------------------------------------------------------------------------------------------------

    def _entry(self, index: Index) -> RunNote | Sweep:
        if not index.internalId():
            return self._rows[index.row()]
        return self._numbered(index.internalId()).runs[index.row()]

    def _numbered(self, number: int) -> Sweep:
        return next(sweep for sweep in self._sweeps.values() if sweep.number == number)

    def index(self, row: int, column: int, parent: Index = _NOWHERE) -> QModelIndex:
        """A row at the top, or below a sweep."""
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        entry = self._entry(parent) if parent.isValid() else None
        return self.createIndex(row, column, entry.number if isinstance(entry, Sweep) else 0)

    def parent(self, index: Index = _NOWHERE) -> Any:
        number = index.internalId() if index.isValid() else 0
        return self._index_of(self._numbered(number)) if number else QModelIndex()

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        """Runs and sweeps at the top, runs below a sweep, nothing below a run."""
        entry = self._entry(parent) if parent.isValid() else None
        return len(self._rows) if entry is None else len(entry.runs) if isinstance(entry, Sweep) else 0

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 1

    def data(self, index: Index, role: int = 0) -> Any:
        """What a row shows and says of its run, or of its sweep."""
        if not index.isValid():
            return None
        entry = self._entry(index)
        if isinstance(entry, Sweep):
            if role == RUNS:
                return list(entry.runs)
            row = entry.row()
            said = f"{row.title}, {row.numbers.replace('  ·  ', ', ')}, {row.state_text}, {seconds_text(row.seconds)}"
            texts = {Qt.ItemDataRole.DisplayRole: row.title, ROW: row}
            return texts.get(role, said if role in (Qt.ItemDataRole.AccessibleTextRole, _TIP) else None)
        if role == RUNS:
            return [entry]
        if role == NOTE:
            return entry
        if role == ROW:
            title = self._sweeps[entry.sweep].title(entry) if index.internalId() else entry.title
            return run_row(entry, title, self._source.distinction(entry))
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return accessible_text(entry, self._source.full_title(entry))
        return _tip(entry) if role == _TIP else None


def _place(rows: list[Any], entry: RunNote | Sweep) -> int:
    """Where an entry belongs by its date, before those of the same date."""
    return bisect.bisect_left(rows, -entry.created, key=lambda other: -other.created)
