"""Legends: name, pen and latest value of a curve, and a layout that wraps."""

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLayout, QLayoutItem, QSizePolicy, QWidget

from gui.app.theme import Theme, pen_of

_ABOVE = 4  # pixels above a heading, so that its first line is level with the buttons beside it


def small_font() -> Any:
    """The font of axes and legends."""
    font = QApplication.font()
    font.setPointSizeF(max(7.0, font.pointSizeF() * 0.85))
    return font


class FlowLayout(QLayout):
    """A layout that places widgets in lines and wraps."""

    def __init__(self, parent: QWidget | None = None, gap: int = 10) -> None:
        super().__init__(parent)
        self.setContentsMargins(0, 0, 0, 0)
        self._items: list[QLayoutItem] = []
        self.gap = gap

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._place(QRect(0, 0, width, 0), really=False)

    def sizeHint(self) -> QSize:
        """One line, as wide as its widest item at least."""
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._place(rect, really=True)

    def _place(self, rect: QRect, really: bool) -> int:
        x, y, line = rect.x(), rect.y(), 0
        for item in self._items:
            widget = item.widget()
            if widget is not None and widget.isHidden():
                continue
            hint = item.sizeHint()
            if x > rect.x() and x + hint.width() > rect.right() + 1:
                x, y, line = rect.x(), y + line + 1, 0
            if really:
                item.setGeometry(QRect(QPoint(x, y), hint))
            x, line = x + hint.width() + self.gap, max(line, hint.height())
        return y + line - rect.y()


class Heading(QWidget):
    """A title in bold with a remark after it, in as many lines as they need."""

    def __init__(self, title: str, theme: Theme) -> None:
        super().__init__()
        self.title, self.remark, self.theme = title, "", theme
        self.setMinimumWidth(40)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_text(self, title: str, remark: str, theme: Theme) -> None:
        self.title, self.remark, self.theme = title, remark, theme
        self.setAccessibleName(f"{title} {remark}".strip())
        self._fit()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, _ABOVE + self._line_height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _line_height(self) -> int:
        return self.fontMetrics().height()

    def _fit(self) -> None:
        lines = max((line for *_, line in self._words()), default=0) + 1
        self.setFixedHeight(_ABOVE + lines * self._line_height())

    def _words(self) -> Iterator[tuple[str, bool, int, int]]:
        """Every word, whether it is of the title, its distance from the left, and its line."""
        bold = self.font()
        bold.setBold(True)
        left = line = 0
        for text, font in ((self.title, bold), (self.remark, self.font())):
            metrics = QFontMetrics(font)
            for word in text.split():
                width = metrics.horizontalAdvance(word)
                if left > 0 and left + width > self.width():
                    left, line = 0, line + 1
                yield word, font is bold, left, line
                left += width + metrics.horizontalAdvance(" ")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.paint(painter, QPoint())
        painter.end()

    def paint(self, painter: QPainter, at: QPoint) -> None:
        """Draw both at a place with another painter, for exports."""
        height = self._line_height()
        for word, titled, left, line in self._words():
            font = self.font()
            font.setBold(titled)
            painter.setFont(font)
            painter.setPen(QColor(self.theme.text if titled else self.theme.muted))
            painter.drawText(at + QPoint(left, _ABOVE + line * height + self.fontMetrics().ascent()), word)


class LegendEntry(QAbstractButton):
    """Name, pen and latest value of a curve; pressing it hides the curve."""

    def __init__(self, name: str, colour: str, dash: tuple[float, ...], filled: bool, theme: Theme) -> None:
        super().__init__()
        self.name, self.colour, self.dash, self.filled = name, colour, dash, filled
        self.theme = theme
        self.value = ""
        self.widest = 0
        self.setText(name)
        self.setCheckable(True)
        self.setChecked(True)
        self.setToolTip(f"{name}: show or hide")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        font = self.font()
        font.setPointSizeF(max(7.0, font.pointSizeF() * 0.9))
        self.setFont(font)

    def show_value(self, value: str) -> bool:
        """Show the latest value, or that at the cursor; whether the entry has grown."""
        if value == self.value:
            return False
        self.value = value
        width = self.fontMetrics().horizontalAdvance(value)
        grown = width > self.widest  # grows only: the legend stays where it is as values change
        if grown:
            self.widest = width
            self.updateGeometry()
        self.update()
        return grown

    def sizeHint(self) -> QSize:
        """Room for the line, the name and the widest value so far."""
        metrics = self.fontMetrics()
        width = 28 + metrics.horizontalAdvance(self.name) + (self.widest + 6 if self.widest else 0) + 4
        return QSize(width, metrics.height() + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.paint(painter, QRect(0, 0, self.width(), self.height()))
        if self.hasFocus():
            painter.setPen(QColor(self.theme.accent))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def paint(self, painter: QPainter, rect: QRect) -> None:
        """Draw it with another painter, for exports."""
        painter.setFont(self.font())
        on = self.isChecked()
        middle = rect.y() + rect.height() / 2
        if self.filled:
            swatch = QRectF(rect.x() + 2, middle - 4, 18, 8)
            painter.fillRect(swatch, QColor(self.colour if on else self.theme.border))
        else:
            pen = pen_of(self.colour if on else self.theme.border, self.dash, 1.6)
            pen.setCosmetic(False)  # as wide in exports as the curves
            painter.setPen(pen)
            painter.drawLine(rect.x() + 1, round(middle), rect.x() + 23, round(middle))
        metrics = self.fontMetrics()
        painter.setPen(QColor(self.theme.text if on else self.theme.muted))
        left = rect.x() + 27
        flags = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        painter.drawText(QRect(left, rect.y(), rect.width(), rect.height()), flags, self.name)
        painter.setPen(QColor(self.theme.muted))
        left += metrics.horizontalAdvance(self.name) + 6
        painter.drawText(QRect(left, rect.y(), rect.width(), rect.height()), flags, self.value)
