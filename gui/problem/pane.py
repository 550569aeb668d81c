"""The problem pane: samples and recent files, the loaded problem, its options, and the equivalent command line."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from engine.base.problem import ReadOptions
from engine.settings.config import Settings
from gui.app.icons import set_icon
from gui.app.widgets import filled, text_label
from gui.problem.command_line import command_line, python_snippet
from gui.problem.form import Form, HelpLine, form_area
from gui.problem.gallery import Gallery, elided
from gui.problem.instance import AS, Instance
from gui.runs.columns import solver_title

_MOST = 16_777_215  # pixels: Qt's greatest height
_GALLERY = 130  # pixels, once a problem is loaded


class ProblemPane(QWidget):
    """Gallery, loaded problem, forms and their equivalents."""

    problem_requested = Signal(Path)
    replay_requested = Signal(Path)
    open_requested = Signal()
    changed = Signal()
    reading_requested = Signal(Path, object)
    cancel_requested = Signal()

    def __init__(self, toolbar_settings: Callable[[], dict[str, Any]]) -> None:
        super().__init__()
        self.setObjectName("dock")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.instance: Instance | None = None
        self.form: Form | None = None
        self.run_form: Form | None = None
        self.read_form: Form | None = None
        self.read_button: QPushButton | None = None
        self._toolbar_settings = toolbar_settings
        self.gallery = Gallery()
        self.gallery.problem_requested.connect(self.problem_requested)
        self.gallery.replay_requested.connect(self.replay_requested)
        self.split = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        self.split.addWidget(self._make_top())
        self.split.addWidget(self._make_middle())
        self._equivalent = self._make_bottom()
        self.split.addWidget(self._equivalent)
        self.split.setStretchFactor(0, 0)
        self.split.setStretchFactor(1, 1)
        self.split.setStretchFactor(2, 0)
        filled(QVBoxLayout(self), self.split, margins=(1, 1, 1, 1))
        self.unfold(False)
        self.show_nothing()
        self._share_height()

    # --- making -------------------------------------------------------------------------------------------------

    def _make_top(self) -> QWidget:
        top = QWidget()
        heading = text_label("Samples and recent files", kind="heading")
        self.open_button = QToolButton(toolButtonStyle=Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.open_button.setText("Open…")
        set_icon(self.open_button, "open")
        self.open_button.setObjectName("more")
        self.open_button.clicked.connect(self.open_requested)
        row = filled(QHBoxLayout(), heading, 1, self.open_button, margins=(9, 7, 7, 0))
        filled(QVBoxLayout(top), row, (self.gallery, 1), margins=(0, 0, 0, 0), spacing=3)
        top.setMinimumHeight(110)
        return top

    def _make_middle(self) -> QWidget:
        middle = QWidget()
        self.title = text_label(kind="heading", wrap=True)
        self.about = text_label(wrap=True, selectable=True)
        self.where = text_label(kind="caption", plain=True)
        self.where.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.error = text_label(
            kind="error", wrap=True, plain=True, selectable=True, name="Errors in the problem or the options"
        )
        self.cancel = QPushButton("Cancel")
        self.cancel.setToolTip("Do not load this file")
        self.cancel.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.cancel.clicked.connect(self.cancel_requested)
        area, self._forms = form_area(9, 6, 9, 8)
        inner = area.widget()
        assert inner is not None
        self._inner = inner
        self._forms.setSpacing(6)
        self.help = HelpLine(4)
        self.help.setContentsMargins(9, 4, 9, 4)
        card = QVBoxLayout()
        card.setContentsMargins(9, 6, 9, 0)
        card.setSpacing(2)
        for widget in (self.title, self.about, self.where, self.cancel, self.error):
            card.addWidget(widget)
        self._help_rule = _rule()
        filled(
            QVBoxLayout(middle), _rule(), card, (area, 1), self._help_rule, self.help, margins=(0, 0, 0, 0), spacing=2
        )
        return middle

    def _make_bottom(self) -> QWidget:
        bottom = QWidget()
        self.kind = QTabBar(drawBase=False)
        self.kind.setAccessibleName("Command line or Python")
        self.kind.addTab("Command line")
        self.kind.addTab("Python")
        self.copy = QToolButton()
        self.copy.setAccessibleName("Copy")
        set_icon(self.copy, "copy")
        self.copy.setIconSize(QSize(14, 14))
        self.copy.setToolTip("Copy to the clipboard")
        self.text = QPlainTextEdit(readOnly=True, tabChangesFocus=True)
        self.text.setAccessibleName("Equivalent command line or Python code")
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.fold = QToolButton(autoRaise=True)
        self.fold.setCheckable(True)
        self.fold.setAccessibleName("Show help and command line")
        self.fold.setToolTip("Show the help of the fields and the equivalent command line, or hide them")
        self.fold.toggled.connect(self.unfold)
        row = filled(QHBoxLayout(), self.fold, self.kind, 1, self.copy, margins=(3, 2, 7, 0))
        filled(QVBoxLayout(bottom), _rule(), row, (self.text, 1), margins=(0, 0, 0, 0), spacing=2)
        self.kind.currentChanged.connect(lambda _index: self.show_text())
        self.kind.tabBarClicked.connect(lambda _index: self.unfold(True))
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text.toPlainText()))
        return bottom

    def _share_height(self) -> None:
        """Give the gallery most of the height while there is no problem, and the form otherwise."""
        self.split.setSizes([380, 160, 0] if self.instance is None else [_GALLERY, 600, 1])

    def unfold(self, shown: bool) -> None:
        """Show or hide the help of the field that has the focus and the equivalent command line, below the form."""
        self.fold.setChecked(shown)
        self.fold.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
        self.text.setVisible(shown)
        self._equivalent.setMaximumHeight(_MOST if shown else self._equivalent.minimumSizeHint().height())
        self._show_parts()

    def _show_parts(self) -> None:
        self._inner.show()
        self.about.setVisible(self.instance is None)  # the preview has it
        for widget in (self.help, self._help_rule):
            widget.setVisible(self.instance is not None and self.fold.isChecked())
        self._equivalent.setVisible(self.instance is not None)

    # --- the problem --------------------------------------------------------------------------------------------

    def show_nothing(self) -> None:
        self._show(None)
        self.title.setText("No problem chosen")
        self.about.setText("Choose a sample, open a file, or drop one anywhere on the window.")

    def show_loading(self, path: Path) -> None:
        self.title.setText(path.name)
        self.about.setText("Reading…")
        self.about.show()
        self._inner.hide()  # the form of the problem before
        self._show_path(path)
        self.cancel.show()
        self.error.hide()

    def show_error(
        self,
        path: Path,
        message: str,
        reader: type[ReadOptions] | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        """Show why a file cannot be used, and what its reader takes and was given, which may be why."""
        self._show(None)
        if reader is not None:
            self._forms.takeAt(self._forms.count() - 1)  # the space at the end
            self._add_read_form(path, reader, reading or {}, list(reader.model_fields))
            self._forms.addStretch(1)
        self.title.setText(path.name)
        self.about.clear()
        self._show_path(path)
        self._show_error(message)

    def show_instance(self, instance: Instance) -> None:
        self._show(instance)

    def _show(self, instance: Instance | None) -> None:
        self.cancel.hide()
        was_empty, self.instance = self.instance is None, instance
        while (item := self._forms.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.form = self.run_form = self.read_form = self.read_button = None
        self.help.reset()
        self._show_path(None)
        self.error.hide()
        if instance is not None:
            self.title.setText(instance.problem.name)
            self.about.setText(instance.problem.describe())
            self._show_path(instance.source, instance.path)
            self.form = Form(type(instance.base), instance.base)
            self.run_form = Form(Settings, instance.base_settings, ["seed", "checkpoint_interval"])
            if instance.reader is not None:
                several = instance.problem.instances_in_file > 1
                names = [name for name in instance.reader.model_fields if several or name != "instance"]
                self._add_read_form(instance.path, instance.reader, instance.reading, names)
            self._forms.addWidget(text_label(solver_title(instance.solver.name), "heading", wrap=True))
            self._forms.addWidget(self.form)
            self._forms.addSpacing(6)
            self._forms.addWidget(text_label("Run settings", "heading", wrap=True))
            self._forms.addWidget(self.run_form)
            for form in (self.form, self.run_form):
                form.help_requested.connect(self.help.show_help)
                form.changed.connect(self._on_change)
            before: QWidget = self.gallery
            for part in (self.read_form, self.form, self.run_form):
                before = before if part is None else part.place_after(before)
                if part is self.read_form and self.read_button is not None:
                    QWidget.setTabOrder(before, self.read_button)
                    before = self.read_button
            QWidget.setTabOrder(before, self.fold)
            self.form.set_values(instance.options)
            self.run_form.set_values({name: value for name, value in instance.settings.items() if value is not None})
        self._forms.addStretch(1)
        self._show_parts()
        if was_empty != (instance is None):  # other changes leave the user's sizes
            self._share_height()
        self._on_change()

    def _show_path(self, path: Path | None, listed: Path | None = None) -> None:
        """Say which file is meant, here and in the gallery, which may list it by the TOML file that names it."""
        self.where.setText("" if path is None else elided(path))
        self.where.setToolTip("" if path is None else str(path))
        self.gallery.select(listed or path)

    def _add_read_form(
        self, path: Path, reader: type[ReadOptions], reading: Mapping[str, Any], names: list[str]
    ) -> None:
        """A form of how the file is read, and a button that reads it again when the form was changed."""
        if not names:
            return
        form = self.read_form = Form(reader, names=names)
        form.set_values(reading)
        kind = {AS: reading[AS]} if AS in reading else {}
        again = self.read_button = QPushButton("Read again")
        again.setToolTip("Read the file again in this way; options of the solver keep their values")
        again.setEnabled(False)
        self._forms.addWidget(text_label("Reading the file", "heading", wrap=True))
        self._forms.addWidget(form)
        self._forms.addWidget(again, 0, Qt.AlignmentFlag.AlignLeft)
        self._forms.addSpacing(6)
        form.help_requested.connect(self.help.show_help)
        form.changed.connect(lambda: again.setEnabled({**form.given(), **kind} != reading and not form.errors()))
        again.clicked.connect(lambda: self.reading_requested.emit(path, {**form.given(), **kind}))

    def set_values(self, options: dict[str, Any], settings: dict[str, Any]) -> None:
        if self.form is not None and self.run_form is not None:
            self.form.set_values(options)
            self.run_form.set_values(settings)

    def reset_options(self) -> None:
        for form in (self.form, self.run_form):
            if form is not None:
                form.reset()

    def options(self) -> dict[str, Any]:
        """The options of the solver that differ from their base values."""
        return self.form.given() if self.form is not None else {}

    def settings(self) -> dict[str, Any]:
        """The settings that differ from their base values, those of the tool bar included."""
        own = self.run_form.given() if self.run_form is not None else {}
        return {**self._toolbar_settings(), **own}

    def errors(self) -> list[str]:
        return [text for form in (self.form, self.run_form) if form is not None for text in form.errors()]

    def show_text(self) -> None:
        """Show the command line or Python code that is equivalent to the form."""
        if self.instance is None:
            self.text.clear()
        elif self.kind.currentIndex() == 0:
            self.text.setPlainText(self.command_text())
        else:
            self.text.setPlainText(self.python_text())

    def command_text(self) -> str:
        """The equivalent command line; empty without a problem."""
        if self.instance is None:
            return ""
        return command_line(self.instance.source, self.settings(), {**self.instance.reading, **self.options()})

    def python_text(self) -> str:
        """The equivalent Python code; empty without a problem."""
        return "" if self.instance is None else python_snippet(self.instance, self.settings(), self.options())

    def _on_change(self) -> None:
        whole = [text for text in self.errors() if self.form is not None]
        own = {name for form in (self.form, self.run_form) if form is not None for name in form.names}
        general = [text for text in whole if not any(text.startswith(f"{name} must") for name in own)]
        self._show_error("\n".join(general))
        self.show_text()
        self.changed.emit()

    def _show_error(self, message: str) -> None:
        self.error.setText(message)
        self.error.setVisible(bool(message))


def _rule() -> QFrame:
    rule = QFrame()
    rule.setObjectName("rule")
    return rule
