"""A dialog that makes a random instance, as ``quintet generate`` does: its kind, its options, where to write it."""

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

from engine.errors import InputError
from engine.models import Given, validated
from engine.solvers import Generator, discover
from gui.problem.command_line import generate_words
from gui.problem.form import Form, HelpLine, form_area

__all__ = ["NewInstance", "Order", "make_instance"]


@dataclass(frozen=True)
class Order:
    """What instance to make, and where to write it."""

    generator: Generator
    options: BaseModel
    path: Path


def make_instance(order: Order) -> Path:
    """Make and write an instance; the file appears whole or not at all.

    Raises
    ------
    engine.errors.InputError
        If it cannot be written.
    """
    problem = order.generator.make(order.options)
    temporary = order.path.with_name(f".part-{order.path.name}")
    try:
        order.generator.write(problem, temporary)
        os.replace(temporary, order.path)
    except OSError as error:
        raise InputError(f"cannot write {order.path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return order.path


class NewInstance(QDialog):
    """The dialog; ``ordered(order)`` when it is to be made."""

    ordered = Signal(object)

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
        self.complaint = QLabel()
        self.complaint.setObjectName("complaint")
        self.complaint.setWordWrap(True)
        self.command = QLabel()
        self.command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.command.setWordWrap(True)
        self.command.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.command.setAccessibleName("The same by command line")
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.make = self.buttons.addButton("Make and open", QDialogButtonBox.ButtonRole.AcceptRole)
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
        layout.addWidget(self.complaint)
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
        """Another kind has other options, and its files another ending."""
        name, generator = self.kind.currentData()
        while (item := self._forms.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.form = Form(generator.options)
        self.form.changed.connect(self._check)
        self.form.asked.connect(self.help.show_help)
        self._forms.addWidget(self.form)
        self._forms.addStretch(1)
        self.help.reset()
        if self.path.text() == self._suggested:
            count, path = 1, self._folder / f"{name}{generator.suffix}"
            while path.exists():
                count += 1
                path = self._folder / f"{name}-{count}{generator.suffix}"
            self._suggested = str(path)
            self.path.setText(self._suggested)
        self._check()

    def _browse(self) -> None:
        dialog = QFileDialog(self, "Write the instance to", str(Path(self.path.text()).parent))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)  # it is said under the name
        dialog.selectFile(Path(self.path.text()).name)
        dialog.fileSelected.connect(self.path.setText)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _check(self) -> None:
        """Say what is wrong, and what would do the same in a terminal."""
        assert self.form is not None
        name, _ = self.kind.currentData()
        path, text = Path(self.path.text()), self.path.text().strip()
        own = tuple(f"{field} must" for field in self.form.names)  # said under its field
        wrong = [error for error in self.form.errors() if not error.startswith(own)]
        remark = ""
        if not text or path.is_dir():
            wrong.append("name a file to write to")
        elif not path.parent.is_dir():
            wrong.append(f"there is no folder {path.parent}")
        elif path.exists():
            remark = "This file is there already, and will be replaced."
        self.complaint.setText("; ".join(wrong) or remark)
        self.complaint.setVisible(bool(wrong or remark))
        self.make.setEnabled(not wrong and not self.form.errors())
        self.command.setText(shlex.join(["quintet", *generate_words(name, self.form.given(), path)]))

    def order(self) -> Order:
        """What is asked for."""
        assert self.form is not None
        _, generator = self.kind.currentData()
        given = {name: Given(value) for name, value in self.form.values().items()}
        return Order(generator, validated(generator.options, given, what="option"), Path(self.path.text()))

    def accept(self) -> None:
        """Have it made, if nothing is wrong."""
        if self.make.isEnabled():
            self.ordered.emit(self.order())
            super().accept()


def _label(text: str, buddy: QWidget) -> QLabel:
    label = QLabel(text)
    label.setBuddy(buddy)
    return label
