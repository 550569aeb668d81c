"""A form made from a pydantic model of options; errors are those of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from engine.base.option_models import Given, alternatives, field_type, is_flag, validated, value_text
from engine.errors import OptionError
from gui.app.icons import set_icon
from gui.app.widgets import text_label


def form_area(*margins: int) -> tuple[QScrollArea, QVBoxLayout]:
    """A vertical scroll area for forms, and its layout with these margins."""
    inner = QWidget()
    inner.setObjectName("scrolled")
    forms = QVBoxLayout(inner)
    forms.setContentsMargins(*margins)
    area = QScrollArea(widgetResizable=True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(inner)
    return area, forms


class HelpLine(QLabel):
    """The help text of a field, ``lines`` high; connect :attr:`Form.help_requested` to :meth:`show_help`."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.setObjectName("muted")
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.setMinimumHeight(lines * self.fontMetrics().height() + 8)
        self.reset()

    def reset(self) -> None:
        self.setText("Enter a field to read what its option does.")

    def show_help(self, title: str, text: str) -> None:
        self.setText(f"<b>{escape(title)}</b><br>{escape(text)}")


class Form(QWidget):
    """Editors for fields of a model; ``changed()``; ``help_requested(title, help)`` when the user enters a field.

    Reset restores the values of ``base``, and :meth:`given` returns those that differ from them.
    """

    changed = Signal()
    help_requested = Signal(str, str)

    def __init__(self, model: type[BaseModel], base: BaseModel | None = None, names: list[str] | None = None) -> None:
        super().__init__()
        self.model = model
        self.base: dict[str, Any] = (base or model()).model_dump()
        self.names = names if names is not None else list(model.model_fields)
        self._editors: dict[str, _Editor] = {}
        self._quiet = False
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        for row, name in enumerate(self.names):
            editor = _Editor(model, name, self.base[name])
            self._editors[name] = editor
            editor.label.setBuddy(editor.widget)
            editor.changed.connect(self._on_change)
            editor.reset.clicked.connect(lambda _checked=False, name=name: self.reset(name))
            editor.entered.connect(lambda name=name: self.help_requested.emit(*self.help(name)))
            grid.addWidget(editor.label, 2 * row, 0)
            grid.addWidget(editor.widget, 2 * row, 1)
            grid.addWidget(editor.reset, 2 * row, 2)
            grid.addWidget(editor.error_label, 2 * row + 1, 1, 1, 2)
        self._check()

    def values(self) -> dict[str, Any]:
        """The value of every field, or the text of an invalid one."""
        return {name: editor.value() for name, editor in self._editors.items()}

    def set_values(self, values: Mapping[str, Any]) -> None:
        """Set some fields; unknown names are ignored."""
        self._quiet = True
        for name, value in values.items():
            if name in self._editors:
                self._editors[name].set_value(value)
        self._quiet = False
        self._on_change()

    def reset(self, name: str | None = None) -> None:
        """Reset one field, or all, to the base values."""
        self.set_values({name: self.base[name]} if name is not None else {n: self.base[n] for n in self.names})

    def given(self) -> dict[str, Any]:
        """The fields that differ from their base values."""
        return {
            name: value
            for name, value in self.values().items()
            if value != self.base[name] or isinstance(value, bool) != isinstance(self.base[name], bool)
        }

    def errors(self) -> list[str]:
        """One sentence for each invalid field, or for an invalid combination."""
        invalid = [text for name in self.names if (text := self._error(name))]
        if invalid:
            return invalid
        try:
            validated(
                self.model, {name: Given(value) for name, value in (self.base | self.values()).items()}, what="option"
            )
        except OptionError as error:
            return [str(error)]
        return []

    def editor(self, name: str) -> QWidget:
        return self._editors[name].widget

    def place_after(self, widget: QWidget) -> QWidget:
        """Come after a widget in the order of the Tab key; the last editor, for what comes next."""
        for editor in self._editors.values():
            for following in (editor.widget, editor.reset):
                QWidget.setTabOrder(widget, following)
                widget = following
        return widget

    def help(self, name: str) -> tuple[str, str]:
        """The title of a field with its type, and its description with its default."""
        description = self.model.model_fields[name].description or ""
        text = description[:1].upper() + description[1:]
        return (
            f"{_title(name)}: {field_type(self.model, name)}",
            f"{text.rstrip('.')}. Default: {_shown(self.base[name])}.",
        )

    def _error(self, name: str) -> str:
        """The error of one field by itself; empty if it has none."""
        try:
            validated(self.model, {name: Given(self._editors[name].value())}, what="option")
        except OptionError as error:
            text = str(error)
            return text if text.startswith(name) else ""
        return ""

    def _check(self) -> None:
        for name, editor in self._editors.items():
            editor.show_state(self._error(name), editor.value() != self.base[name])

    def _on_change(self) -> None:
        if not self._quiet:
            self._check()
            self.changed.emit()


class _Editor(QObject):
    """One field: label, widget, reset button, error message; and how its text is parsed."""

    changed = Signal()
    entered = Signal()

    def __init__(self, model: type[BaseModel], name: str, base: Any) -> None:
        super().__init__()
        self._model, self._name = model, name
        kinds = alternatives(model, name)
        self._optional = type(None) in kinds
        self._choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
        self._numbers = [kind for kind in kinds if kind in (int, float)]
        self._list = any(kind in (list, tuple) or get_origin(kind) in (list, tuple) for kind in kinds)
        accepts = field_type(model, name)
        self.label = QLabel(_title(name))
        self.widget = self._make(is_flag(model, name) and not self._optional)
        self.widget.setObjectName(f"option-{name}")
        self.widget.setAccessibleName(_title(name))
        description = model.model_fields[name].description or ""
        self.widget.setAccessibleDescription(f"{description} ({accepts})")
        tip = f"<p><b>{_title(name)}</b> <span>({escape(accepts)})</span></p><p>{escape(description)}</p>"
        self.widget.setToolTip(tip)
        self.label.setToolTip(tip)
        self.widget.setWhatsThis(tip)
        self.widget.installEventFilter(self)
        self.label.installEventFilter(self)
        self.reset = QToolButton(autoRaise=True)
        set_icon(self.reset, "reset")
        self.reset.setIconSize(QSize(14, 14))
        self.reset.setToolTip(f"Reset to {_shown(base)}")
        self.reset.setAccessibleName(f"Reset {_title(name)}")
        keep = self.reset.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(keep)
        self.error_label = text_label(kind="error", wrap=True)
        self.error_label.hide()
        self.set_value(base)

    def _make(self, flag: bool) -> QWidget:
        if flag:
            box = QCheckBox()
            box.toggled.connect(self.changed)
            return box
        if self._choices or bool in alternatives(self._model, self._name):
            combo = QComboBox(editable=bool(self._numbers), insertPolicy=QComboBox.InsertPolicy.NoInsert)
            if self._optional:
                combo.addItem("default", None)
            for choice in self._choices or (True, False):
                combo.addItem(value_text(choice) if isinstance(choice, bool) else str(choice), choice)
            combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            combo.setMinimumContentsLength(6)
            combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            combo.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            (combo.editTextChanged if combo.isEditable() else combo.currentIndexChanged).connect(self._on_edit)
            return combo
        line = QLineEdit(placeholderText="default" if self._optional else "")
        line.textChanged.connect(self._on_edit)
        return line

    def _on_edit(self, _value: object = None) -> None:
        self.changed.emit()

    def value(self) -> Any:
        """The value in the editor; text that should be a number and is not one stays text."""
        widget = self.widget
        if isinstance(widget, QCheckBox):
            return widget.isChecked()
        if isinstance(widget, QComboBox):
            index = widget.findText(widget.currentText(), Qt.MatchFlag.MatchFixedString)
            return widget.itemData(index) if index >= 0 else self._parsed(widget.currentText())
        assert isinstance(widget, QLineEdit)
        return self._parsed(widget.text())

    def _parsed(self, text: str) -> Any:
        text = text.strip()
        if not text and self._optional:
            return None
        if self._list:
            return [part.strip() for part in text.split(",") if part.strip()]
        plain = text.replace("_", "").replace(",", "").replace(" ", "")
        for kind in self._numbers:
            try:
                return kind(plain)
            except ValueError:
                continue
        return text

    def set_value(self, value: Any) -> None:
        widget = self.widget
        if isinstance(widget, QCheckBox):
            widget.setChecked(bool(value))
        elif isinstance(widget, QComboBox):
            index = next((i for i in range(widget.count()) if widget.itemData(i) == value), -1)
            if index >= 0:
                widget.setCurrentIndex(index)
            elif widget.isEditable():
                widget.setEditText(_plain(value))
        else:
            assert isinstance(widget, QLineEdit)
            widget.setText(_plain(value))

    def show_state(self, error: str, differs: bool) -> None:
        """Mark the field as invalid, as changed, or as neither."""
        self.reset.setVisible(differs)
        _mark(self.label, "changed", differs)
        self.error_label.setText(error)
        self.error_label.setVisible(bool(error))
        _mark(self.widget, "invalid", bool(error))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Report when the user enters the field; leave the wheel to scrolling."""
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.Enter):
            self.entered.emit()
        if event.type() == QEvent.Type.Wheel and watched is self.widget and not self.widget.hasFocus():
            event.ignore()
            return True
        return False


def _mark(widget: QWidget, name: str, value: bool) -> None:
    """Set a property that the style sheet refers to, and apply the style again."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else value_text(value)


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


_TERMS = {"ess": "ESS", "r_hat": "R-hat", "pdhg": "PDHG", "ivms": "IVMs", "mip": "MIP"}


def _title(name: str) -> str:
    for part, term in _TERMS.items():
        if name == part or name.startswith(f"{part}_"):
            return (term + name[len(part) :]).replace("_", " ")
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]
