"""What every plot and chart has: a title, a legend, a table behind it, and ways out to PNG, SVG and CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import (
    QAbstractTableModel,
    QBuffer,
    QByteArray,
    QIODevice,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLayoutItem,
    QMenu,
    QSizePolicy,
    QStackedLayout,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.axes import short
from gui.plot_area import PlotView, release_forgotten, release_plots
from gui.theme import Theme, pen_of

__all__ = ["Figure", "FlowLayout", "LegendEntry", "Listing", "Table", "TableModel"]

Table = tuple[list[str], Sequence[Sequence[Any]]]
"""Column headers and rows; a cell is a number, a text, or None."""


class TableModel(QAbstractTableModel):
    """A table that is replaced as a whole."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._headers: list[str] = []
        self._rows: Sequence[Sequence[Any]] = []

    def show(self, table: Table) -> None:
        """Replace headers and rows."""
        self.beginResetModel()
        self._headers, self._rows = table
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        """Rows of the table."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        """Columns of the table."""
        return 0 if parent.isValid() else len(self._headers)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text of a cell, numbers to the right."""
        value = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return cell_text(value)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if isinstance(value, str) else Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; what is missing comes last."""
        if not 0 <= column < len(self._headers):
            return
        there = [row for row in self._rows if row[column] is not None]
        missing = [row for row in self._rows if row[column] is None]
        self.layoutAboutToBeChanged.emit()
        descending = order == Qt.SortOrder.DescendingOrder
        self._rows = sorted(there, key=lambda row: row[column], reverse=descending) + missing
        self.layoutChanged.emit()

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Names of columns, numbers of rows."""
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return self._headers[section] if orientation == Qt.Orientation.Horizontal else section + 1


def cell_text(value: Any) -> str:
    """A cell as people read it."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}" if abs(value) < 1e6 else f"{value:,.0f}".replace(",", " ")
    return str(value)


class FlowLayout(QLayout):
    """Widgets beside each other, on as many lines as they need."""

    def __init__(self, parent: QWidget | None = None, gap: int = 10) -> None:
        super().__init__(parent)
        self.setContentsMargins(0, 0, 0, 0)
        self._items: list[QLayoutItem] = []
        self._gap = gap

    def addItem(self, item: QLayoutItem) -> None:
        """Take an item."""
        self._items.append(item)

    def count(self) -> int:
        """How many items there are."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """The item of an index."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Give the item of an index back."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        """More lines where there is less width."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Height of all lines."""
        return self._place(QRect(0, 0, width, 0), really=False)

    def sizeHint(self) -> QSize:
        """One line, as wide as its widest item at least."""
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        """The largest item."""
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def setGeometry(self, rect: QRect) -> None:
        """Place all items."""
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
            x, line = x + hint.width() + self._gap, max(line, hint.height())
        return y + line - rect.y()


class LegendEntry(QAbstractButton):
    """A line's name, its look and its latest value; pressing it hides the line."""

    def __init__(self, name: str, colour: str, dash: tuple[float, ...], filled: bool, theme: Theme) -> None:
        super().__init__()
        self.name, self.colour, self.dash, self.filled = name, colour, dash, filled
        self.theme = theme
        self.value = ""
        self._widest = 0
        self.setText(name)
        self.setCheckable(True)
        self.setChecked(True)
        self.setToolTip(f"{name}: show or hide")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        font = self.font()
        font.setPointSizeF(max(7.0, font.pointSizeF() * 0.9))
        self.setFont(font)

    def show_value(self, value: str) -> None:
        """Show the latest value, or that at the cursor."""
        if value == self.value:
            return
        self.value = value
        width = self.fontMetrics().horizontalAdvance(value)
        if width > self._widest:  # grows only: the legend stays where it is as values change
            self._widest = width
            self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Room for the line, the name and the widest value so far."""
        metrics = self.fontMetrics()
        width = 28 + metrics.horizontalAdvance(self.name) + (self._widest + 6 if self._widest else 0) + 4
        return QSize(width, metrics.height() + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the entry."""
        painter = QPainter(self)
        self.paint(painter, QRect(0, 0, self.width(), self.height()))
        if self.hasFocus():
            painter.setPen(QColor(self.theme.accent))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def paint(self, painter: QPainter, rect: QRect) -> None:
        """Draw it anywhere, as exports do."""
        painter.setFont(self.font())
        on = self.isChecked()
        middle = rect.y() + rect.height() / 2
        if self.filled:
            swatch = QRectF(rect.x() + 2, middle - 4, 18, 8)
            painter.fillRect(swatch, QColor(self.colour if on else self.theme.border))
        else:
            painter.setPen(pen_of(self.colour if on else self.theme.border, self.dash, 2.0))
            painter.drawLine(rect.x() + 1, round(middle), rect.x() + 22, round(middle))
        metrics = self.fontMetrics()
        painter.setPen(QColor(self.theme.text if on else self.theme.muted))
        left = rect.x() + 27
        flags = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        painter.drawText(QRect(left, rect.y(), rect.width(), rect.height()), flags, self.name)
        painter.setPen(QColor(self.theme.muted))
        left += metrics.horizontalAdvance(self.name) + 6
        painter.drawText(QRect(left, rect.y(), rect.width(), rect.height()), flags, self.value)


class Figure(QFrame):
    """A titled plot or chart with its table.

    Subclasses draw into ``self.plot`` (a :class:`gui.plot_area.PlotArea`) in :meth:`redraw`, and give :meth:`table`.

    Parameters
    ----------
    title, unit : str
        Shown above the picture; ``unit`` is the vertical axis's.
    theme : Theme
    key : str
        What it shows, the same word in every run: compared runs lay figures of one key over each other.
    axes : dict of str to AxisItem, optional
        ``"left"`` and ``"bottom"``.
    """

    def __init__(
        self,
        title: str,
        unit: str = "",
        *,
        theme: Theme,
        key: str = "",
        axes: dict[str, pg.AxisItem] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.title, self.unit, self.theme, self.key = title, unit, theme, key or title
        self.entries: list[LegendEntry] = []
        self.dirty = True
        self.setObjectName("figure")
        self.setAccessibleName(title)
        self.setMinimumSize(250, 170)
        self._heading = QLabel(title)
        self._heading.setMinimumWidth(40)
        self._heading.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.data_button = QToolButton(text="Data", checkable=True, autoRaise=True)
        self.data_button.setToolTip(f"The numbers behind “{title}”")
        self.data_button.setAccessibleName(f"Data of {title}")
        self.data_button.toggled.connect(self.show_data)
        self.menu_button = QToolButton(text="⋯", autoRaise=True)
        self.menu_button.setAccessibleName(f"Menu of {title}")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setMenu(self._menu())
        for button in (self.data_button, self.menu_button):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(4)
        head.addWidget(self._heading, 1)
        head.addWidget(self.data_button)
        head.addWidget(self.menu_button)
        self._legend = QWidget()
        self._flow = FlowLayout(self._legend)
        self._legend.hide()
        self.view = PlotView(axes or {})
        self.view.setAccessibleName(f"Plot of {title}")
        self.view.setMinimumHeight(60)
        self.plot = self.view.area
        self._hint = QLabel(self.view)
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint.setWordWrap(True)
        self._hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._hint.hide()
        self._model = TableModel(self)
        self._table: QTableView | None = None
        self._stack = QStackedLayout()
        outer = QVBoxLayout(self)
        outer.setContentsMargins(8, 3, 4, 3)
        outer.setSpacing(1)
        outer.addLayout(head)
        outer.addWidget(self._legend)
        outer.addLayout(self._stack, 1)
        self._stack.addWidget(self.view)  # not before: it shows the view, which would flash up as a window of its own
        self.set_theme(theme)

    def sizeHint(self) -> QSize:
        """A size that leaves the page to share its room evenly."""
        return QSize(320, 210)

    # --- what subclasses say ------------------------------------------------------------------------------------

    def redraw(self) -> None:
        """Draw what there is now."""

    def table(self) -> Table:
        """Headers and rows of what is drawn."""
        return [], []

    def fit(self) -> None:
        """Show all again after zooming."""
        self.dirty = True
        self.refresh()

    def cut(self, time: float) -> None:
        """Forget what came after ``time``: the run goes on from a checkpoint of that time."""

    def set_unit(self, unit: str) -> None:
        """Change what is said beside the title."""
        if unit != self.unit:
            self.unit = unit
            self._head_text()

    def _head_text(self) -> None:
        theme = self.theme
        unit = f" <span style='font-weight:400; color:{theme.muted}'>{self.unit}</span>" if self.unit else ""
        self._heading.setText(f"<span style='font-weight:600; color:{theme.text}'>{self.title}</span>{unit}")

    def hint(self, text: str) -> None:
        """Say in the middle why there is nothing to see; an empty text says nothing."""
        if text == self._hint.text():
            return
        self._hint.setText(text)
        self._hint.setVisible(bool(text))
        for side in ("left", "bottom"):
            self.plot.getAxis(side).setOpacity(0.0 if text else 1.0)

    # --- showing ------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Draw again if there is something new and it can be seen."""
        if self.dirty and self.isVisible() and not self.view.released:
            self.dirty = False
            if self.data_button.isChecked():
                self._model.show(self.table())
            else:
                self.redraw()

    def closeEvent(self, event: Any) -> None:
        """A figure of its own is closed."""
        release_plots(self)
        super().closeEvent(event)

    def deleteLater(self) -> None:
        """Take the scene apart in order, then go."""
        release_plots(self)
        super().deleteLater()

    def __del__(self) -> None:
        """Whoever has forgotten it has not closed it either."""
        release_forgotten(self)

    def showEvent(self, event: Any) -> None:
        """Draw what came while it was hidden."""
        super().showEvent(event)
        self.refresh()

    def resizeEvent(self, event: Any) -> None:
        """Draw again for the new width."""
        super().resizeEvent(event)
        self._hint.setGeometry(self.view.rect().adjusted(20, 10, -20, -10))
        self.dirty = True
        self.refresh()

    def show_data(self, shown: bool) -> None:
        """Turn to the table, or back to the picture."""
        self.data_button.setChecked(shown)
        if shown and self._table is None:
            self._table = QTableView()
            self._table.setModel(self._model)
            self._table.setAlternatingRowColors(True)
            self._table.setAccessibleName(f"Data of {self.title}")
            self._table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 5)
            self._stack.addWidget(self._table)
        if shown:
            self._model.show(self.table())
        self._legend.setVisible(not shown and len(self.entries) > 0)
        self._stack.setCurrentIndex(1 if shown else 0)
        self.dirty = True
        self.refresh()

    def add_entry(self, name: str, colour: str, dash: tuple[float, ...] = (), filled: bool = False) -> LegendEntry:
        """A line in the legend."""
        entry = LegendEntry(name, colour, dash, filled, self.theme)
        entry.toggled.connect(self._toggled)
        self.entries.append(entry)
        self._flow.addWidget(entry)
        self._legend.setVisible(not self.data_button.isChecked())
        return entry

    def clear_entries(self) -> None:
        """Empty the legend."""
        while (item := self._flow.takeAt(0)) is not None:
            if item.widget() is not None:
                item.widget().deleteLater()
        self.entries.clear()
        self._legend.hide()

    def _toggled(self) -> None:
        self.dirty = True
        self.refresh()

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        self.theme = theme
        self.setStyleSheet(
            f"#figure {{ background: {theme.base}; border: 1px solid {theme.border}; border-radius: 5px; }}"
            "#figure QToolButton { padding: 1px 4px; border: 1px solid transparent; border-radius: 3px; "
            f"color: {theme.muted}; font-size: 11px; }}"
            "#figure QToolButton:hover, #figure QToolButton:focus "
            f"{{ border-color: {theme.border}; color: {theme.text}; }}"
            f"#figure QToolButton:checked {{ background: {theme.accent}; color: {theme.accent_text}; }}"
            "#figure QToolButton::menu-indicator { image: none; }"
        )
        self._keep_axes(axis_cache=True)  # they change seldom, and cost more than curves
        self._head_text()
        self.view.setBackground(theme.base)
        self._hint.setStyleSheet(f"color: {theme.muted}; background: transparent;")
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(theme.border)
            axis.setTextPen(theme.axis)
            axis.setTickFont(small_font())
        for entry in self.entries:
            entry.theme = theme
            entry.update()
        self.dirty = True
        self.refresh()

    # --- ways out -----------------------------------------------------------------------------------------------

    def export_png(self, path: str | Path, scale: float = 2.0) -> None:
        """Save the picture with title and legend; :class:`OSError` if it cannot be written."""
        if not self.to_image(scale).save(str(path), "PNG"):
            raise OSError(f"cannot write {path}")

    def export_svg(self, path: str | Path) -> None:
        """Save the picture as SVG; :class:`OSError` if it cannot be written."""
        Path(path).write_bytes(self.to_svg())

    def export_csv(self, path: str | Path) -> None:
        """Save :meth:`table` with full precision; :class:`OSError` if it cannot be written."""
        headers, rows = self.table()
        with open(path, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(headers)
            writer.writerows([["" if cell is None or cell != cell else cell for cell in row] for row in rows])

    def to_image(self, scale: float = 2.0, size: QSize | None = None) -> QImage:
        """The picture with title and legend, ``scale`` pixels a unit of the screen; ``size`` if not as it is shown."""
        self._scale = scale
        before, size = self.size(), self._prepared(size)
        image = QImage(size * scale, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(scale)
        image.fill(QColor(self.theme.base))
        painter = QPainter(image)
        self._paint(painter, size)
        painter.end()
        self._after_export(before)
        return image

    def to_svg(self, size: QSize | None = None) -> bytes:
        """The picture with title and legend as an SVG document; ``size`` if not as it is shown."""
        from PySide6.QtSvg import QSvgGenerator  # part of PySide6-Essentials, in a library of its own

        self._scale = 1.0
        before, size = self.size(), self._prepared(size)
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        generator = QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setSize(size)
        generator.setViewBox(QRect(QPoint(0, 0), size))
        generator.setTitle(self.title)
        generator.setResolution(self.logicalDpiX())
        painter = QPainter(generator)
        painter.fillRect(QRect(QPoint(0, 0), size), QColor(self.theme.base))
        self._paint(painter, size)
        painter.end()
        self._after_export(before)
        return bytes(data.data())

    _scale = 1.0
    fine = False
    """Whether the next picture is for keeps: drawn as well as can be, whatever it costs."""

    def _prepared(self, wanted: QSize | None) -> QSize:
        """Draw for keeps, at the present size or at a usual one if it was never shown; the size of all."""
        if self.width() < 320 or self.height() < 200 or not self.testAttribute(Qt.WidgetAttribute.WA_WState_Created):
            self.resize(max(self.width(), 760), max(self.height(), 340))
        if wanted is not None:
            self.resize(wanted)
        if self.data_button.isChecked():
            self.data_button.setChecked(False)
        self.grab()  # lays out what was never shown
        self._keep_axes(axis_cache=False)
        self.fine = True
        self.redraw()
        heading = self.fontMetrics().height() + 8
        return QSize(self.view.width() + 16, self.view.height() + heading + self._legend_height() + 6)

    @property
    def pixels(self) -> float:
        """Pixels of the device per unit: what a pen of constant width has to be multiplied by."""
        return self._scale if self.fine else self.devicePixelRatioF()

    def _keep_axes(self, axis_cache: bool) -> None:
        """Whether axes are painted from a pixmap of their own, which would be coarse in an export."""
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            mode = axis.CacheMode.DeviceCoordinateCache if axis_cache else axis.CacheMode.NoCache
            axis.setCacheMode(mode)

    def _after_export(self, before: QSize) -> None:
        self.resize(before)
        self._keep_axes(axis_cache=True)
        self.fine = False
        self.dirty = True
        self.refresh()

    def _legend_height(self) -> int:
        return self._flow.heightForWidth(self.view.width()) + 2 if self.entries else 0

    def _paint(self, painter: QPainter, size: QSize) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = self.font()
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(QColor(self.theme.text))
        line = self.fontMetrics().height()
        painter.drawText(8, 4 + self.fontMetrics().ascent(), self.title)
        left = 8 + painter.fontMetrics().horizontalAdvance(self.title + "  ")
        painter.setFont(self.font())
        painter.setPen(QColor(self.theme.muted))
        painter.drawText(left, 4 + self.fontMetrics().ascent(), self.unit)
        x, y = 8, line + 8
        for entry in self.entries:
            hint = entry.sizeHint()
            if x > 8 and x + hint.width() > size.width() - 8:
                x, y = 8, y + hint.height() + 1
            entry.paint(painter, QRect(QPoint(x, y), hint))
            x += hint.width() + 10
        top = line + 8 + self._legend_height()
        target = QRectF(8, top, self.view.width(), self.view.height())
        self.view.scene().render(painter, target, QRectF(self.view.viewport().rect()))

    @property
    def pictured(self) -> bool:
        """Whether there is a picture, and not a table alone."""
        return True

    # --- the menu -----------------------------------------------------------------------------------------------

    def _menu(self) -> QMenu:
        menu = QMenu(self)
        menu.addAction("Show all", self.fit)
        menu.addSeparator()
        menu.addAction("Copy picture", self._copy_picture)
        menu.addAction("Copy table", self._copy_table)
        menu.addSeparator()
        menu.addAction("Save as PNG…", lambda: self._save("PNG", "png", self.export_png))
        menu.addAction("Save as SVG…", lambda: self._save("SVG", "svg", self.export_svg))
        menu.addAction("Save data as CSV…", lambda: self._save("CSV", "csv", self.export_csv))
        return menu

    def _copy_picture(self) -> None:
        QGuiApplication.clipboard().setImage(self.to_image())

    def _copy_table(self) -> None:
        headers, rows = self.table()
        lines = ["\t".join(headers), *("\t".join("" if c is None else str(c) for c in row) for row in rows)]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def _save(self, kind: str, ending: str, export: Any) -> None:
        suggested = "".join(c if c.isalnum() else "-" for c in self.title.lower()).strip("-") + f".{ending}"
        path, _ = QFileDialog.getSaveFileName(self, f"Save {self.title}", suggested, f"{kind} (*.{ending})")
        if path:
            try:
                export(path)
            except OSError as error:
                from PySide6.QtWidgets import QMessageBox

                QMessageBox.warning(self, "Not saved", f"{path} could not be written: {error.strerror or error}")


def small_font() -> Any:
    """The font of axes and legends."""
    font = QApplication.font()
    font.setPointSizeF(max(7.0, font.pointSizeF() * 0.85))
    return font


__all__ += ["cell_text", "short", "small_font"]


class Listing(Figure):
    """A table without a picture, sorted by a press on a column's head."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "", empty: str = "") -> None:
        self._content: Table = ([], [])
        super().__init__(title, unit, theme=theme, key=key)
        self.show_data(True)
        self.data_button.hide()
        assert self._table is not None
        self._table.setSortingEnabled(True)
        self._table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self._empty = QLabel(empty, self._table)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self._empty.setVisible(bool(empty))

    @property
    def pictured(self) -> bool:
        """A table alone."""
        return False

    def put(self, headers: list[str], rows: Sequence[Sequence[Any]]) -> None:
        """Replace the table."""
        first = not self._content[1]
        self._content = (headers, rows)
        self._empty.setVisible(not rows and bool(self._empty.text()))
        self._model.show(self._content)
        if first and rows and self._table is not None:
            self._table.horizontalHeader().setResizeContentsPrecision(40)
            self._table.resizeColumnsToContents()

    def table(self) -> Table:
        """The table."""
        return self._content

    def to_image(self, scale: float = 2.0, size: QSize | None = None) -> QImage:
        """The part of the table that is seen."""
        return self.grab().toImage()

    def resizeEvent(self, event: Any) -> None:
        """Keep the remark in the middle."""
        super().resizeEvent(event)
        if self._table is not None and hasattr(self, "_empty"):
            self._empty.setGeometry(self._table.rect())
