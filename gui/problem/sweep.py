"""Sweeps in the app: reading and checking them, and a dialog that makes one from the loaded problem."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from PySide6.QtCore import Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QLabel, QLineEdit, QPlainTextEdit, QWidget

from engine.api.sweep import Sweep, SweepRun, parse_seeds
from engine.base.option_models import alternatives, is_flag
from engine.errors import InputError, QuintetError
from engine.runs.folder.run_folder import read_problem
from engine.settings.config import Settings, solver_options
from engine.solvers import solver_for
from engine.util.text import counted
from gui.app.widgets import text_label
from gui.problem.instance import Instance, read_instance

SETTINGS = tuple(name for name in Settings.model_fields if name not in ("seed", "run_folder"))
"""Settings that a sweep may have."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep, with what is known of its problem."""

    title: str
    source: Path
    solver: str
    description: str
    options: dict[str, Any]
    settings: dict[str, Any]
    reading: dict[str, Any]


@dataclass(frozen=True)
class SweepPlan:
    """The runs of a sweep that can be started, and why others cannot."""

    runs: list[PlannedRun] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def plan_sweep(sweep: Sweep) -> SweepPlan:
    """Read the problems of a sweep and check its options; takes long for large files."""
    plan = SweepPlan()
    by_problem: dict[Path, list[SweepRun]] = {}
    for run in sweep.runs():
        by_problem.setdefault(run.problem, []).append(run)
    for path, runs in by_problem.items():
        try:
            problem = read_instance(path, sweep.reading).problem if sweep.reading else read_problem(path)
            solver = solver_for(problem)
        except QuintetError as error:
            plan.errors.append(str(error))
            continue
        for run in runs:
            try:
                solver_options(solver, None, run.options, type(problem))
            except QuintetError as error:
                if str(error) not in plan.errors:
                    plan.errors.append(str(error))
                continue
            settings = {**sweep.settings, "seed": run.seed}
            title, options = run.title, dict(run.options)
            about = (title, path.resolve(), solver.name, problem.describe())
            plan.runs.append(PlannedRun(*about, options, settings, dict(sweep.reading)))
    return plan


def parse_options(text: str, model: type[BaseModel]) -> dict[str, list[Any]]:
    """Options with their values: a line ``name = value, value`` each."""
    found: dict[str, list[Any]] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        name, sign, values = (part.strip() for part in line.partition("="))
        parts = [part.strip() for part in values.split(",") if part.strip()]
        if not sign or not name or not parts:
            raise InputError(f"an option is written name = value, value; got {line.strip()!r}")
        name = name.replace("-", "_")
        found[name] = [_value(part, model, name) for part in parts]
    return found


def _value(text: str, model: type[BaseModel], name: str) -> Any:
    kinds = alternatives(model, name)
    if bool in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return None if type(None) in kinds and text.lower() == "none" else text


def example(model: type[BaseModel]) -> str:
    """A line that gives an option of a solver two values: of its first with several words, else of its first switch."""
    for name in model.model_fields:
        words = [word for kind in alternatives(model, name) if get_origin(kind) is Literal for word in get_args(kind)]
        if len(words) > 1:
            return f"{name} = {', '.join([word for word in words if word != 'auto'][:2])}"
    return next((f"{name} = true, false" for name in model.model_fields if is_flag(model, name)), "")


class SweepDialog(QDialog):
    """Asks for seeds and for options with several values; ``requested(sweep, name)`` when it is accepted."""

    requested = Signal(object, str)

    def __init__(
        self, instance: Instance, options: Mapping[str, Any], settings: Mapping[str, Any], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Sweep")
        self._instance, self._options = instance, dict(options)
        self._settings = {name: value for name, value in settings.items() if name in SETTINGS}
        self.seeds = QLineEdit("0-4")
        self.seeds.setAccessibleName("Seeds")
        self.options = QPlainTextEdit()
        self.options.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._model = instance.solver.options_model(type(instance.problem))
        shown = example(self._model)
        self.options.setPlaceholderText(f"one option a line, such as\n{shown}" if shown else "one option a line")
        self.options.setAccessibleName("Options with several values")
        self.options.setTabChangesFocus(True)
        self.message = text_label(wrap=True)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setText("Queue")
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        form = QFormLayout(self)
        form.addRow("Problem", QLabel(instance.problem.name))
        form.addRow("Seeds", self.seeds)
        form.addRow("Options", self.options)
        form.addRow(self.message)
        form.addRow(self.buttons)
        self.resize(460, 320)
        self.seeds.textChanged.connect(self._check)
        self.options.textChanged.connect(self._check)
        self._check()

    def sweep(self) -> Sweep:
        fixed = {name: [value] for name, value in self._options.items()}
        varied = parse_options(self.options.toPlainText(), self._model)
        seeds = tuple(parse_seeds(self.seeds.text()))
        made = Sweep((self._instance.source,), seeds, {**fixed, **varied}, self._settings, self._instance.reading)
        for name, values in varied.items():
            for value in values:
                solver_options(self._instance.solver, None, {name: value}, type(self._instance.problem))
        return made

    def _check(self) -> None:
        try:
            count = len(self.sweep())
        except InputError as error:
            self.message.setText(str(error))
            count = 0
        else:
            self.message.setText(counted(count, "run"))
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(count > 0)

    def accept(self) -> None:
        self.requested.emit(self.sweep(), f"sweep of {self._instance.problem.name}")
        super().accept()
