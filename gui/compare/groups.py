"""Runs grouped by instance and options."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.util.text import option_text
from gui.runs.columns import column_named
from gui.runs.notes import RunNote

VALUES = ("best", "time", "gap", "bound")
"""Columns whose spread can be shown for every run; counters are shown besides."""
_WITHOUT_ANSWER = ("failed", "killed", "cancelled")
_LIMIT, _DEVICES = "time limit", "devices"


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seeds only; ``options`` are those in which the groups differ."""

    name: str
    instance: str
    options: dict[str, Any]
    runs: list[RunNote]


def _conditions(note: RunNote) -> dict[str, Any]:
    """What a run was made under, but its instance and seed."""
    devices = ", ".join(note.devices)
    return {**note.effective_options, _LIMIT: note.settings.get("time_limit"), _DEVICES: devices or None}


def titled(option: str) -> str:
    """An option as it is written on the screen."""
    return option.replace("_", " ")


def condition_of(note: RunNote, name: str) -> Any:
    """The value of one of the options of :func:`differing_options`; ``–`` if the run has none."""
    value = _conditions(note).get(name)
    return "–" if value is None else value


def differing_options(notes: Sequence[RunNote]) -> list[str]:
    """Names of the options in which some runs of one solver differ; the time limit and the devices are among them."""
    by_solver: dict[str, list[dict[str, Any]]] = {}
    for note in notes:
        by_solver.setdefault(note.solver, []).append(_conditions(note))
    found: set[str] = set()
    for runs in by_solver.values():
        names = {name for conditions in runs for name in conditions}
        found |= {name for name in names if len({str(conditions.get(name)) for conditions in runs}) > 1}
    return sorted(found)


def conditions_of(notes: Sequence[RunNote]) -> list[str]:
    """For each run the options in which some of the runs differ, as a name."""
    names = differing_options(notes)
    texts = []
    for note in notes:
        conditions = _conditions(note)
        chosen = ((name, conditions.get(name)) for name in names)
        texts.append(", ".join(f"{titled(name)} = {'–' if one is None else option_text(one)}" for name, one in chosen))
    return [text or "all runs" for text in texts]


def grouped(notes: Sequence[RunNote]) -> list[Group]:
    """The groups, in the order of their instances and options."""
    names = differing_options(notes)
    found: dict[tuple[str, ...], list[RunNote]] = {}
    for note in notes:
        instance = note.problem or note.title
        conditions = _conditions(note)
        chosen = [conditions.get(name) for name in names]
        key = (instance, *("" if one is None else option_text(one) for one in chosen))
        found.setdefault(key, []).append(note)
    instances = {key[0] for key in found}
    brief = {instance: instance.partition(":")[0] for instance in instances}
    if len(set(brief.values())) < len(instances):  # instances whose sizes alone differ
        brief = {instance: instance for instance in instances}
    groups = []
    for (instance, *values), runs in sorted(found.items()):
        options = dict(zip(names, values, strict=True))
        own = {name for name in names if len({k[1 + names.index(name)] for k in found if k[0] == instance}) > 1}
        parts = [
            *([brief[instance]] if len(instances) > 1 or not names else []),
            *(f"{titled(name)} = {value or '–'}" for name, value in options.items() if name in own),
        ]
        groups.append(Group(", ".join(parts), instance, options, runs))
    return groups


def numbers_of(notes: Sequence[RunNote], column: str) -> list[tuple[RunNote, float]]:
    """Runs that have a value in a column, and that value; not those that ended without an answer."""
    value = column_named(column).value
    found = [(note, value(note)) for note in notes if note.state not in _WITHOUT_ANSWER]
    return [(note, float(one)) for note, one in found if isinstance(one, (int, float)) and np.isfinite(one)]


def values_of(group: Group, column: str) -> list[float]:
    """The values of one column in the runs of a group; see :func:`numbers_of`."""
    return [value for _, value in numbers_of(group.runs, column)]
