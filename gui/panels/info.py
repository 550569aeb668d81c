"""The page with everything needed to repeat a run: options, settings, devices, versions, digest, commands, notes."""

import contextlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import QuintetError
from engine.events import Started
from engine.runs.folder.run_folder import RunFolder
from engine.solvers import discover
from gui.app.theme import Theme
from gui.plot.listing import Listing
from gui.problem.command_line import call_of, chosen, solve_words
from gui.runs.columns import solver_title
from gui.runs.notes import RunNote

Row = tuple[str, str, str, str]
_HEADERS = ["group", "name", "value", "default, if other"]


class InfoPage:
    """The table of the page, filled from the first event, the user's note and the run folder."""

    def __init__(self, theme: Theme, note: RunNote | None) -> None:
        self._note = note
        self.listing = Listing("Run information", theme=theme, key="run info", empty="Shown once the run has started.")
        self._started: list[Row] = []
        self._recorded: list[Row] = []

    def started(self, event: Started, problem: type | None) -> None:
        """The run has started: what is solved, how, and where."""
        self._started = [
            ("run", "solver", f"{solver_title(event.solver)} ({event.solver})", ""),
            ("run", "problem", event.description, ""),
            ("run", "seed", str(event.seed), ""),
            ("run", "backend", event.backend, ""),
            *(("device", label, name, "") for label, name in zip(event.devices, event.device_names, strict=False)),
            *option_rows(event.solver, problem, event.options),
        ]
        self._show()

    def complete(self, folder: Path | None) -> None:
        """The run has ended: what its folder records."""
        self._recorded = []
        if folder is not None:
            with contextlib.suppress(QuintetError):
                self._recorded = folder_rows(folder, RunFolder.open(folder).description)
        self._show()
        self.listing.fit_columns()

    def update(self) -> None:
        if self._started:
            self._show()

    def _show(self) -> None:
        rows = self._started + self._noted() + self._recorded
        changed = sum(group == "option" and bool(default) for group, _, _, default in rows)
        self.listing.put(_HEADERS, rows)
        self.listing.set_unit(_differing(changed))

    def _noted(self) -> list[Row]:
        """What the user has noted."""
        note = self._note
        if note is None:
            return []
        values = (("tags", ", ".join(note.tags)), ("note", note.comment), ("sweep", note.sweep))
        return [("note", name, value, "") for name, value in values if value]


def option_rows(solver: str, problem: type | None, options: Mapping[str, Any]) -> list[Row]:
    """A row for each option, those that differ from their defaults first, with the default."""
    defaults: dict[str, Any] = {}
    declared = discover().get(solver)
    if declared is not None:
        with contextlib.suppress(TypeError):
            models = declared.option_models if problem is None else (declared.options_model(problem),)
            for model in models:
                defaults |= model().model_dump()
    rows: list[Row] = []
    for name, value in options.items():
        differs = name in defaults and defaults[name] != value
        rows.append(("option", name, _text(value), _text(defaults[name]) if differs else ""))
    return sorted(rows, key=lambda row: not row[3])


def folder_rows(folder: Path, description: Mapping[str, Any]) -> list[Row]:
    """Settings, versions, the digest of the instance, and the commands that use the folder."""
    rows: list[Row] = [("setting", name, _text(value), "") for name, value in description.get("settings", {}).items()]
    rows += [("version", name, _text(value), "") for name, value in description.get("versions", {}).items()]
    digest = description.get("problem", {}).get("digest")
    if digest:
        rows.append(("instance", "digest", str(digest), ""))
    path = shlex.quote(str(folder))
    about = str(description.get("solver")), str(description.get("problem", {}).get("class"))
    settings, options = chosen(*about, description.get("settings", {}), description.get("options", {}))
    again = shlex.join(["quintet", *solve_words(folder, settings, options)])
    problem = f"engine.RunFolder.open({str(folder)!r}).problem()"
    return [
        *rows,
        ("folder", "path", str(folder), ""),
        ("command", "replay", f"quintet replay {path}", ""),
        ("command", "solve again", again, ""),
        ("Python", "solve again", call_of(problem, settings, options), ""),
        ("Python", "read the result", f"engine.RunFolder.open({str(folder)!r}).result()", ""),
    ]


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _differing(count: int) -> str:
    if count == 0:
        return "all options have their defaults"
    return "1 option differs from its default" if count == 1 else f"{count} options differ from their defaults"
