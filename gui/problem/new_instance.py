"""A dialog that generates a random instance, like ``quintet generate``: its kind, its options, its file."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from engine.base.option_models import Given, validated
from engine.base.solver import Generator
from engine.errors import InputError
from engine.solvers import discover
from engine.util.files import reason_of
from gui.problem.command_line import generate_words
from gui.problem.form import Form, HelpLine, form_area

__all__ = ["InstanceRequest", "NewInstance", "make_instance"]


@dataclass(frozen=True)
class InstanceRequest:
    """An instance to generate, and the file to write it to."""

    generator: Generator
    options: BaseModel
    path: Path


def make_instance(request: InstanceRequest) -> Path:
    """Generate and write an instance; the file is written completely or not at all.

    Raises
    ------
    engine.errors.InputError
        If it cannot be written.
    """
    problem = request.generator.make(request.options)
    temporary = request.path.with_name(f".part-{request.path.name}")
    try:
        request.generator.write(problem, temporary)
        os.replace(temporary, request.path)
    except OSError as error:
        raise InputError(f"cannot write {request.path}: {reason_of(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return request.path


class NewInstance(QDialog):
    """The dialog; ``requested(request)`` when the instance is to be generated."""

    requested = Signal(object)

    def __init__(self, folder: Path, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("New instance")
        self.setAccessibleName("New instance")
        self._folder = folder
        self._suggested = ""
        self.form: Form | None = None
        self.kind = QComboBox()
        self.kind.setAccessibleName("Kind of instance")
        for solver in discover().values():
            for name, generator in solver.generators.items():
                self.kind.addItem(f"{name}   ({solver.title.partition(' (')[0]})", (name, generator))
        area, self._forms = form_area(10, 8, 10, 8)
        self.help = HelpLine(3)
        self.path = QLineEdit()
        self.path.setAccessibleName("File to write")
        self.browse = QPushButton("Browse…")
        self.browse.setAutoDefault(False)
        self.error = QLabel()
        self.error.setObjectName("error")
        self.error.setWordWrap(True)
        self.command = QLabel()
        self.command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.command.setWordWrap(True)
        self.command.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.command.setAccessibleName("Equivalent command line")
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.make = self.buttons.addButton("Generate and open", QDialogButtonBox.ButtonRole.AcceptRole)
        self.make.setDefault(True)
        where = QHBoxLayout()
        where.addWidget(_label("&Write to", self.path))
        where.addWidget(self.path, 1)
        where.addWidget(self.browse)
        what = QHBoxLayout()
        what.addWidget(_label("&Kind", self.kind))
        what.addWidget(self.kind, 1)
        layout = QVBoxLayout(self)
        layout.addLayout(what)
        layout.addWidget(area, 1)
        layout.addWidget(self.help)
        layout.addLayout(where)
        layout.addWidget(self.error)
        layout.addWidget(self.command)
        layout.addWidget(self.buttons)
        self.kind.currentIndexChanged.connect(lambda _index: self._on_kind())
        self.path.textChanged.connect(lambda _text: self._check())
        self.browse.clicked.connect(self._browse)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.resize(520, 480)
        self._on_kind()

    def _on_kind(self) -> None:
        """Show the options of another kind, and suggest a file name."""
        name, generator = self.kind.currentData()
        while (item := self._forms.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.form = Form(generator.options)
        self.form.changed.connect(self._check)
        self.form.help_requested.connect(self.help.show_help)
        self._forms.addWidget(self.form)
        self._forms.addStretch(1)
        self.help.reset()
        if self.path.text() == self._suggested:
            count, path = 1, self._folder / f"{name}{generator.suffix}"
            while os.path.exists(path):
                count += 1
                path = self._folder / f"{name}-{count}{generator.suffix}"
            self._suggested = str(path)
            self.path.setText(self._suggested)
        self._check()

    def _browse(self) -> None:
        dialog = QFileDialog(self, "Write the instance to", str(Path(self.path.text()).parent))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)  # the dialog says so below the name
        dialog.selectFile(Path(self.path.text()).name)
        dialog.fileSelected.connect(self.path.setText)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _check(self) -> None:
        """Show errors and the equivalent command line."""
        assert self.form is not None
        name, _ = self.kind.currentData()
        path, text = Path(self.path.text()), self.path.text().strip()
        own = tuple(f"{field} must" for field in self.form.names)  # shown below its field
        invalid = [text for text in self.form.errors() if not text.startswith(own)]
        remark = ""
        if not text or os.path.isdir(path):
            invalid.append("name a file to write to")
        elif not os.path.isdir(path.parent):
            invalid.append(f"there is no folder {path.parent}")
        elif os.path.exists(path):
            remark = "This file exists and will be replaced."
        self.error.setText("; ".join(invalid) or remark)
        self.error.setVisible(bool(invalid or remark))
        self.make.setEnabled(not invalid and not self.form.errors())
        self.command.setText(shlex.join(["quintet", *generate_words(name, self.form.given(), path)]))

    def request(self) -> InstanceRequest:
        """The request, from the fields as they are now."""
        assert self.form is not None
        _, generator = self.kind.currentData()
        given = {name: Given(value) for name, value in self.form.values().items()}
        return InstanceRequest(generator, validated(generator.options, given, what="option"), Path(self.path.text()))

    def accept(self) -> None:
        """Request the instance, unless there is an error."""
        if self.make.isEnabled():
            self.requested.emit(self.request())
            super().accept()


def _label(text: str, buddy: QWidget) -> QLabel:
    label = QLabel(text)
    label.setBuddy(buddy)
    return label
