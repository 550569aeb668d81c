"""The layout of dashboards: pages of figures, and key numbers with their names."""

from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QScrollArea, QSizePolicy, QWidget

from gui.app.meaning import Meaning, show_meaning
from gui.app.theme import Theme


class Tile(QWidget):
    """A number with a name under it; pressed, it tells what it means."""

    meaning: Meaning | None = None
    compact = False

    def __init__(self, name: str, theme: Theme) -> None:
        super().__init__()
        self.name, self.theme, self.value, self.colour = name, theme, "–", ""
        self._widest = 0
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_value(self, value: str, colour: str = "") -> None:
        if (value, colour) == (self.value, self.colour):
            return
        self.value, self.colour = value, colour
        self.setAccessibleDescription(value)
        width = self._value_width()
        if width > self._widest:
            self._widest = width
            self.updateGeometry()
            parent = self.parentWidget()
            layout = parent.layout() if parent is not None else None
            if layout is not None:
                layout.activate()  # before it is painted, or the text would be cut off
        self.update()

    def describe(self, meaning: Meaning) -> None:
        """Set what the number means: a tip has it, and a question mark at the pointer says that there is more."""
        self.meaning = meaning
        self.setToolTip(meaning.text)
        self.setCursor(Qt.CursorShape.WhatsThisCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.meaning is not None:
            show_meaning(self.meaning, self)

    def rename(self, name: str) -> None:
        """Change what is under the value."""
        if name != self.name:
            self.name = name
            self.setAccessibleName(name)
            self.updateGeometry()
            self.update()

    def make_compact(self, compact: bool) -> None:
        """Use smaller letters and less room, for a narrow dashboard."""
        if compact != self.compact:
            self.compact, self._widest = compact, 0
            self.updateGeometry()
            self.update()

    def settle(self) -> None:
        """Shrink to the width of the present value, which is final."""
        self._widest = self._value_width()
        self.updateGeometry()

    def _fonts(self) -> tuple[Any, Any]:
        large, small = self.font(), self.font()
        large.setPointSizeF(large.pointSizeF() * (0.95 if self.compact else 1.25))
        large.setBold(True)
        small.setPointSizeF(max(6.5, small.pointSizeF() * (0.75 if self.compact else 0.85)))
        return large, small

    def _value_width(self) -> int:
        return QFontMetrics(self._fonts()[0]).horizontalAdvance(self.value)

    def sizeHint(self) -> QSize:
        large, small = (QFontMetrics(font) for font in self._fonts())
        width = max(self._widest, self._value_width(), small.horizontalAdvance(self.name))
        return QSize(width + (4 if self.compact else 10), large.height() + small.height() + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        large, small = self._fonts()
        painter.setFont(large)
        painter.setPen(QColor(self.colour or self.theme.text))
        ascent, height = painter.fontMetrics().ascent(), painter.fontMetrics().height()
        painter.drawText(2, ascent, self.value)
        painter.setFont(small)
        painter.setPen(QColor(self.theme.muted))
        painter.drawText(2, height + painter.fontMetrics().ascent() + 1, self.name)
        painter.end()


class OneLine(QLabel):
    """One line of text, elided where it does not fit; its tool tip has the full text then."""

    def setText(self, text: str) -> None:
        super().setText(text)
        self._explain()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._explain()

    def _explain(self) -> None:
        self.setToolTip(self.text() if self.shown_text() != self.text() else "")

    def shown_text(self) -> str:
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(
            self.rect(), int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), self.shown_text()
        )
        painter.end()


class Page(QScrollArea):
    """Figures in a grid that fills the page, with fewer columns if it is narrow, scrolled if it is low."""

    NARROWEST = 256

    def __init__(self, columns: int = 2) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._most = self._columns = columns
        self._inner = QWidget()
        self._inner.setObjectName("page")
        self.grid = QGridLayout(self._inner)
        self.grid.setContentsMargins(6, 6, 6, 6)
        self.grid.setSpacing(6)
        self._widgets: list[tuple[QWidget, int]] = []
        self.setWidget(self._inner)

    def put(self, widget: QWidget, wide: int = 1) -> None:
        """Add a widget in the next free place, ``wide`` columns wide."""
        self._widgets.append((widget, wide))
        if was_hidden(widget):
            widget.setParent(self._inner)
        self.arrange()

    def reveal(self, widget: QWidget, shown: bool = True) -> None:
        """Show one of its widgets, or hide it, and give the others the room that is left."""
        if was_hidden(widget) == shown:
            widget.setVisible(shown)
            self.arrange()

    def arrange(self) -> None:
        """Place all visible widgets row by row; the last one of a row fills it."""
        shown = [entry for entry in self._widgets if not was_hidden(entry[0])]
        for row in range(self.grid.rowCount()):
            self.grid.setRowStretch(row, 0)
        for place in range(self._most):
            self.grid.setColumnStretch(place, 1 if place < self._columns else 0)
        row = column = 0
        for (widget, wanted), following in zip(shown, [*shown, None][1:], strict=True):
            wide = min(wanted, self._columns)
            if column + wide > self._columns:
                row, column = row + 1, 0
            if following is None or column + wide + min(following[1], self._columns) > self._columns:
                wide = self._columns - column
            self.grid.removeWidget(widget)
            self.grid.addWidget(widget, row, column, 1, wide)
            self.grid.setRowStretch(row, 1)
            column += wide

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Use as many columns as fit beside the scroll bar, whether it is there or not: it depends on the columns."""
        super().resizeEvent(event)
        room = self.width() - self.verticalScrollBar().sizeHint().width() - 6
        columns = max(1, min(self._most, room // self.NARROWEST))
        if columns != self._columns:
            self._columns = columns
            self.arrange()


def was_hidden(widget: QWidget) -> bool:
    """Whether it was hidden explicitly, not only that it has not been shown yet."""
    return widget.isHidden() and widget.testAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide)
