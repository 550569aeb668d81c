"""What is known of a run, as columns of a table and as fields of a filter."""

import functools
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from engine.solvers import discover
from engine.util.text import counter_text, gap_text, seconds_text, value_text
from gui.runs.notes import RunNote
from gui.runs.view import state_text


@dataclass(frozen=True)
class Column:
    """One column; ``numeric`` is None where the runs decide: an option may be a number in some solvers only."""

    name: str
    title: str
    value: Callable[[RunNote], Any]
    text: Callable[[RunNote], str]
    numeric: bool | None = False


def _plain(name: str, title: str, value: Callable[[RunNote], Any]) -> Column:
    return Column(name, title, value, lambda note: _shown(value(note)))


def solver_title(name: str) -> str:
    """A solver's title without what it solves and how: "Knapsack" of "Knapsack by dynamic programming"."""
    declared = discover().get(name)
    return name.replace("_", " ") if declared is None else re.split(r" \(|:| by | over ", declared.title, maxsplit=1)[0]


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return value_text(value)
    return "" if value is None else str(value)


COLUMNS: tuple[Column, ...] = (
    _plain("title", "Title", lambda note: note.title),
    Column("solver", "Solver", lambda note: note.solver.replace("_", " "), lambda note: solver_title(note.solver)),
    _plain("instance", "Instance", lambda note: note.problem),
    Column(
        "state", "State", lambda note: state_text(note.state), lambda note: state_text(note.state, len(note.warnings))
    ),
    Column("best", "Best", lambda note: note.best, lambda note: value_text(note.best), numeric=True),
    Column("bound", "Bound", lambda note: note.bound, lambda note: value_text(note.bound), numeric=True),
    Column("gap", "Gap", lambda note: note.gap, lambda note: gap_text(note.gap), numeric=True),
    Column("time", "Time", lambda note: note.seconds, lambda note: seconds_text(note.seconds), numeric=True),
    _plain("device", "Devices", lambda note: note.devices),
    Column(
        "date",
        "Date",
        lambda note: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(note.created)),
        lambda note: time.strftime("%Y-%m-%d %H:%M", time.localtime(note.created)),
    ),
    Column("seed", "Seed", lambda note: note.seed, lambda note: _shown(note.seed), numeric=True),
    _plain("sweep", "Sweep", lambda note: note.sweep),
    _plain("tags", "Tags", lambda note: note.tags),
    _plain("note", "Note", lambda note: note.comment),
)
FIELDS = tuple(column.name for column in COLUMNS)
DEFAULT_COLUMNS = ("title", "state", "best", "gap", "time", "seed", "solver", "date", "tags", "bound")


def column_named(name: str) -> Column:
    """The column of a name: one of :data:`FIELDS`, ``option.NAME`` or ``counter.NAME``."""
    for column in COLUMNS:
        if column.name == name:
            return column
    kind, _, key = name.partition(".")
    if kind not in ("option", "counter") or not key:
        raise KeyError(name)

    def value(note: RunNote) -> Any:
        return (note.effective_options if kind == "option" else note.counters).get(key)

    def text(note: RunNote) -> str:
        found = value(note)
        if kind == "counter" and isinstance(found, (int, float)):
            return counter_text(found, unit=_unit_of(note.solver, key))
        return _shown(found)

    return Column(name, key.replace("_", " "), value, text, numeric=True if kind == "counter" else None)


@functools.cache
def _unit_of(solver: str, counter: str) -> str:
    declared = discover().get(solver)
    return "" if declared is None or declared.schema is None else declared.schema.unit_of(counter)


def extra_columns(notes: Iterable[RunNote]) -> list[str]:
    """Names of the columns for the options and the counters of some run."""
    found: set[str] = set()
    for note in notes:
        found.update(f"option.{name}" for name in note.effective_options)
        found.update(f"counter.{name}" for name in note.counters)
    return sorted(found)


def value_of(note: RunNote, name: str) -> Any:
    """The value of a column; None if there is none."""
    return column_named(name).value(note)


def searchable_text(note: RunNote) -> str:
    """Where a word without a field is looked for, in lower case."""
    solver = f"{note.solver} {solver_title(note.solver)}"
    parts = (note.title, note.problem, solver, state_text(note.state), *note.tags, note.comment, note.sweep)
    return " ".join(parts).lower()
