"""A dialog for a new instance: a random one, like ``quintet generate``, or one that is typed; and its file."""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

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
from engine.formats.source import write_text
from engine.solvers import discover
from engine.util.files import reason_of
from gui.app.widgets import filled, open_once, text_label
from gui.problem.command_line import generate_words
from gui.problem.form import Form, HelpLine, form_area
from gui.problem.typed import TYPED, Typed
from gui.runs.notes import unused


@dataclass(frozen=True)
class InstanceRequest:
    """What writes a new instance to a file, and that file."""

    write: Callable[[Path], object]
    path: Path


def make_instance(request: InstanceRequest) -> Path:
    """Write an instance; the file is written completely or not at all."""
    temporary = request.path.with_name(f".part-{request.path.name}")
    try:
        request.write(temporary)
        os.replace(temporary, request.path)
    except OSError as error:
        raise InputError(f"cannot write {request.path}: {reason_of(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return request.path


class NewInstance(QDialog):
    """The dialog; ``requested(request)`` when the instance is to be written."""

    requested = Signal(object)

    def __init__(self, folder: Path, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("New instance")
        self.setAccessibleName("New instance")
        self._folder = folder
        self._suggested = ""
        self.form: Form | None = None
        self.typed: Typed | None = None
        self.kind = QComboBox()
        self.kind.setAccessibleName("Kind of instance")
        for solver in discover().values():
            for name, generator in solver.generators.items():
                self.kind.addItem(f"{name}   ({solver.title.partition(' (')[0]})", (name, generator))
        for name, editor in TYPED.items():
            self.kind.addItem(f"{name}   (typed by hand)", (name.replace(" ", "-"), editor))
        area, self._forms = form_area(10, 8, 10, 8)
        self.help = HelpLine(3)
        self.path = QLineEdit()
        self.path.setAccessibleName("File to write")
        self.browse = QPushButton("Browse…", autoDefault=False)
        self.error = text_label(kind="error", wrap=True)
        self.command = QLabel(wordWrap=True, textInteractionFlags=Qt.TextInteractionFlag.TextSelectableByMouse)
        self.command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.command.setAccessibleName("Equivalent command line")
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.make = self.buttons.addButton("Write and open", QDialogButtonBox.ButtonRole.AcceptRole)
        self.make.setDefault(True)
        where = filled(QHBoxLayout(), _label("&Write to", self.path), (self.path, 1), self.browse)
        what = filled(QHBoxLayout(), _label("&Kind", self.kind), (self.kind, 1))
        filled(QVBoxLayout(self), what, (area, 1), self.help, where, self.error, self.command, self.buttons)
        self.kind.currentIndexChanged.connect(lambda _index: self._on_kind())
        self.path.textChanged.connect(lambda _text: self._check())
        self.browse.clicked.connect(self._browse)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.resize(520, 480)
        self._on_kind()

    def _on_kind(self) -> None:
        """Show the options or the editor of another kind, and suggest a file name."""
        name, maker = self.kind.currentData()
        while (item := self._forms.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.form = self.typed = None
        if isinstance(maker, Generator):
            self.form = Form(maker.options)
            self.form.changed.connect(self._check)
            self.form.help_requested.connect(self.help.show_help)
            self._forms.addWidget(self.form)
            self._forms.addStretch(1)
            QWidget.setTabOrder(self.form.place_after(self.kind), self.path)
        else:
            self.typed = maker()
            self.typed.changed.connect(self._check)
            self._forms.addWidget(self.typed, 1)
        self.help.setVisible(self.form is not None)
        self.help.reset()
        if self.path.text() == self._suggested:
            free = unused(name, lambda name: os.path.exists(self._folder / f"{name}{maker.suffix}"))
            self._suggested = str(self._folder / f"{free}{maker.suffix}")
            self.path.setText(self._suggested)
        self._check()

    def _browse(self) -> None:
        dialog = QFileDialog(self, "Write the instance to", str(Path(self.path.text()).parent))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)  # the dialog says so below the name
        dialog.selectFile(Path(self.path.text()).name)
        dialog.fileSelected.connect(self.path.setText)
        open_once(dialog)

    def _check(self) -> None:
        """Show errors and the equivalent command line."""
        name, _ = self.kind.currentData()
        path, text = Path(self.path.text()), self.path.text().strip()
        invalid, remark, words = [], "", ["solve", str(path)]
        if self.form is not None:
            invalid, words = self.form.errors(), generate_words(name, self.form.given(), path)
        elif self.typed is not None:
            try:
                self.typed.text()
            except InputError as error:
                invalid.append(str(error))
        if not text or os.path.isdir(path):
            invalid.append("name a file to write to")
        elif not os.path.isdir(path.parent):
            invalid.append(f"there is no folder {path.parent}")
        elif os.path.exists(path):
            remark = "This file exists and will be replaced."
        own = tuple(f"{field} must" for field in self.form.names) if self.form is not None else ()
        shown = (
            "; ".join(text for text in invalid if not text.startswith(own)) or remark
        )  # others are below their field
        self.error.setText(shown)
        self.error.setVisible(bool(shown))
        self.make.setEnabled(not invalid)
        self.command.setText(shlex.join(["quintet", *words]))

    def request(self) -> InstanceRequest:
        _, maker = self.kind.currentData()
        path = Path(self.path.text())
        if self.form is None:
            assert self.typed is not None
            return InstanceRequest(partial(write_text, text=self.typed.text(), what="the problem"), path)
        given = {name: Given(value) for name, value in self.form.given().items()}
        options = validated(maker.options, given, what="option")
        return InstanceRequest(lambda file: maker.write(maker.make(options), file), path)

    def accept(self) -> None:
        if self.make.isEnabled():
            self.requested.emit(self.request())
            super().accept()


def _label(text: str, buddy: QWidget) -> QLabel:
    label = QLabel(text)
    label.setBuddy(buddy)
    return label
