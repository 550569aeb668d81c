"""The base of all plots and charts: a title, a legend, a table of the data, and exports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyqtgraph as pg
from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QStackedLayout, QTableView, QToolButton, QVBoxLayout, QWidget

from gui.app.meaning import Meaning, show_meaning
from gui.app.theme import Theme
from gui.app.widgets import filled
from gui.plot.area import Cleanup, PlotArea, PlotView
from gui.plot.axes import Axis
from gui.plot.draw_queue import DrawQueue
from gui.plot.export import FigureExport
from gui.plot.legend import FlowLayout, Heading, LegendEntry, small_font
from gui.plot.tables import Table, TableModel

_MINIMUM_SIZE = QSize(250, 182)
_SIZE_IF_HIDDEN = QSize(760, 340)  # of an export
_TOP = Qt.AlignmentFlag.AlignTop


def _button(text: str, name: str, tip: str = "") -> QToolButton:
    button = QToolButton(autoRaise=True)
    button.setText(text)
    button.setAccessibleName(name)
    button.setToolTip(tip)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


class Figure(Cleanup, QFrame):
    """A titled plot or chart with its table; the plot is created when it is first visible or used.

    Subclasses add items in :meth:`populate`, draw into ``self.plot`` in :meth:`redraw`, and give :meth:`table`. ``key``
    identifies the figure in every run of a solver; the legend of ``legend_at`` stands for its own on the screen.
    """

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "") -> None:
        super().__init__()
        self.title, self.unit, self.theme, self.key = title, unit, theme, key or title
        self.entries: list[LegendEntry] = []
        self.legend_at: Figure | None = None
        self.dirty = True
        self.export = FigureExport(self)
        self.export_scale = 1.0
        self.caption = ""
        self.command: Callable[[], str] = str
        self.filled: Callable[[], object] = str
        self._view: PlotView | None = None
        self._hint: QLabel | None = None
        self._hint_text = ""
        self.setObjectName("figure")
        self.setAccessibleName(title)
        self.setMinimumSize(_MINIMUM_SIZE)
        self._heading = Heading(title, theme)
        self.data_button = _button("Data", f"Data of {title}", f"The numbers behind “{title}”")
        self.data_button.setCheckable(True)
        self.data_button.toggled.connect(self.show_data)
        self.menu_button = _button("⋯", f"Menu of {title}")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setMenu(self.export.menu())
        parts = [(part, part is self._heading, _TOP) for part in (self._heading, self.data_button, self.menu_button)]
        self._head = filled(QHBoxLayout(), *parts, margins=(0, 0, 0, 0), spacing=4)
        self._legend = QWidget()
        self._flow = FlowLayout(self._legend)
        self._legend.hide()
        self._model = TableModel(self)
        self._table: QTableView | None = None
        self._stack = QStackedLayout()
        filled(QVBoxLayout(self), self._head, self._legend, (self._stack, 1), margins=(8, 3, 4, 3), spacing=1)
        self._room = QWidget(minimumHeight=60)
        self._stack.addWidget(self._room)
        self._head_text()

    def describe(self, meaning: Meaning, command: Callable[[], str]) -> None:
        """Set what the figure means, which a question mark shows as a tip and when pressed, and what made it."""
        self.caption, self.command = meaning.text, command
        if not meaning.text:
            return
        button = _button("?", f"Meaning of {self.title}", meaning.text)
        button.clicked.connect(lambda: show_meaning(meaning, button))
        self._head.insertWidget(1, button, 0, _TOP)

    def sizeHint(self) -> QSize:
        """A size with which pages share their height evenly."""
        return QSize(320, 210)

    def hasHeightForWidth(self) -> bool:
        """No: the lines of the legend reduce the picture, so that pages are scrolled only if necessary."""
        return False

    def reserve_legend_height(self) -> None:
        """Keep the least height of the picture, however many lines the legend has."""
        own = self.entries and self.legend_at is None
        lines = self._flow.heightForWidth(max(self.width(), _MINIMUM_SIZE.width()) - 12) if own else 0
        if not self.fine:
            self.setMinimumHeight(max(_MINIMUM_SIZE.height(), lines + self._heading.height() + self.least_height))

    least_height = 132
    """Height that the picture needs with its axes, on the screen and in exports."""

    # --- for subclasses -----------------------------------------------------------------------------------------

    def make_axes(self) -> dict[str, pg.AxisItem]:
        """Axes that replace pyqtgraph's, by ``"left"`` and ``"bottom"``."""
        return {}

    def populate(self) -> None:
        """Add the initial items to the plot; called once, when the plot is created."""

    def redraw(self) -> None:
        """Draw the present data."""

    def table(self) -> Table:
        """Headers and rows of the data."""
        return [], []

    def fit(self, at_once: bool = True) -> None:
        """Show all data, after zooming (at once) or after large changes (queued)."""
        self.dirty = True
        (self.refresh if at_once else self.draw_later)()

    def begin_session(self, time: float) -> None:
        """The run is resumed from a checkpoint at ``time``: remove later data, and mark the place."""

    def set_unit(self, unit: str) -> None:
        if unit != self.unit:
            self.unit = unit
            self._head_text()

    def _head_text(self) -> None:
        repeated = self.unit.lower() in self.title.lower().split()
        self._heading.show_text(self.title, "" if repeated else self.unit, self.theme)

    def hint(self, text: str) -> None:
        """Show in the middle why the figure is empty; an empty text shows nothing, as there is something to show."""
        if not text:
            self.filled()
        if text != self._hint_text:
            self._hint_text = text
            self._show_hint()

    def _show_hint(self) -> None:
        if self._view is None or self._hint is None:
            return
        self._hint.setText(self._hint_text)
        self._hint.setVisible(bool(self._hint_text))
        for side in ("left", "bottom"):
            self.plot.getAxis(side).setOpacity(0.0 if self._hint_text else 1.0)

    # --- export -------------------------------------------------------------------------------------------------

    fine = False
    """Whether the next picture is an export: drawn in full quality, whatever it costs."""

    @property
    def pictured(self) -> bool:
        """Whether there is a picture, and not a table alone."""
        return True

    @property
    def pixels(self) -> float:
        """Pixels of the device for each unit: the factor for the width of a cosmetic pen."""
        return self.export_scale if self.fine else self.devicePixelRatioF()

    def to_image(self, scale: float = 2.0, size: QSize | None = None) -> QImage:
        return self.export.to_image(scale, size)

    @contextmanager
    def in_full_quality(self, size: QSize | None = None, scale: float = 1.0) -> Iterator[QSize]:
        """Draw it for an export until the context ends; gives the size of title, legend and picture together."""
        self.export_scale = scale
        before, tabled = self.size(), self.data_button.isChecked()
        shown = self.testAttribute(Qt.WidgetAttribute.WA_WState_Created)
        if self.width() < 320 or self.height() < 200 or not shown:
            self.resize(self.size().expandedTo(_SIZE_IF_HIDDEN))
        if size is not None:
            self.resize(size)
            self.reserve_legend_height()
        if tabled:
            self.data_button.setChecked(False)
        limits = self.minimumSize(), self.maximumSize()
        self.fine = True
        if size is not None:
            self.setFixedSize(size.expandedTo(QSize(0, self.minimumHeight())))  # pages would resize it
        self.view.setEnabled(True)  # creates the view
        self.grab()  # lays out what was never shown
        self.cache_axes(False)
        self.redraw()
        yield QSize(self.view.width() + 16, self.view.height() + self._heading.height() + self.legend_height() + 10)
        self.fine = False
        self.setMinimumSize(limits[0])
        self.setMaximumSize(limits[1])
        self.resize(before)
        self.cache_axes(True)
        if tabled:
            self.data_button.setChecked(True)
        self.dirty = True
        self.draw_later()

    def paint(self, painter: QPainter, size: QSize) -> None:
        """Paint title, legend and picture in a rectangle of that size."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._heading.paint(painter, QPoint(8, 0))
        x = 8
        y = top = self._heading.height() + 4
        for entry in self.entries:
            hint = entry.sizeHint()
            if x > 8 and x + hint.width() > size.width() - 8:
                x, y = 8, y + hint.height() + 1
            entry.paint(painter, QRect(QPoint(x, y), hint))
            x += hint.width() + 10
        target = QRectF(8, top + self.legend_height(), self.view.width(), self.view.height())
        self.view.scene().render(painter, target, QRectF(self.view.viewport().rect()))

    def cache_axes(self, cached: bool) -> None:
        """Whether axes are painted from a pixmap of their own, which would be coarse in an export."""
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            mode = axis.CacheMode.DeviceCoordinateCache if cached else axis.CacheMode.NoCache
            axis.setCacheMode(mode)
            axis.setPen(axis.pen().color(), width=1.0 if cached else self.export_scale)

    def legend_height(self) -> int:
        return self._flow.heightForWidth(self.view.width()) + 2 if self.entries else 0

    # --- the plot -----------------------------------------------------------------------------------------------

    @property
    def populated(self) -> bool:
        return self._view is not None

    @property
    def view(self) -> PlotView:
        """The view of the plot, created when it is first used."""
        if self._view is None:
            self._view = self._make_view()
            self._style_view()
            self.populate()
            self._show_hint()
            self.dirty = True
        return self._view

    @property
    def plot(self) -> PlotArea:
        """Axes and what lies between them."""
        return self.view.area

    def _make_view(self) -> PlotView:
        view = PlotView(self.make_axes(), self)
        view.setAccessibleName(f"Plot of {self.title}")
        view.setMinimumHeight(60)
        self._hint = QLabel(view, wordWrap=True)
        self._hint.setObjectName("hint")
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._hint.hide()
        pictured = self._stack.currentWidget() is self._room
        self._stack.addWidget(view)
        if pictured and (layout := self.layout()) is not None:
            self._stack.setCurrentWidget(view)
            layout.activate()  # so that it is drawn for its final size
        self._stack.removeWidget(self._room)
        self._room.deleteLater()
        self._hint.setGeometry(view.rect().adjusted(20, 10, -20, -10))
        return view

    # --- showing ------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Draw new data if the figure is visible."""
        if not self.dirty or not self.isVisible() or self.cleaned_up:
            return
        if self.data_button.isChecked():
            self.dirty = False
            self._model.show(self.table())
        else:
            if not self.view.released:  # which makes it, and that makes the figure dirty
                self.dirty = False
                self.redraw()

    def draw_later(self) -> None:
        """Queue it for drawing: several figures at once would block the window."""
        if self.isVisible() and not self.cleaned_up:
            DrawQueue.of_application().add(self)

    def draw_queued(self) -> None:
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.draw_later()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.reserve_legend_height()
        self.dirty = True
        if self._view is None:
            self.draw_later()
            return
        if self._hint is not None:
            self._hint.setGeometry(self._view.rect().adjusted(20, 10, -20, -10))
        self.refresh()

    def show_data(self, shown: bool) -> None:
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
        self._legend.setVisible(not shown and len(self.entries) > 0 and self.legend_at is None)
        self._stack.setCurrentWidget(self._table if shown and self._table is not None else self._view or self._room)
        self.dirty = True
        self.refresh()

    def add_entry(self, name: str, colour: str, dash: tuple[float, ...] = (), filled: bool = False) -> LegendEntry:
        entry = LegendEntry(name, colour, dash, filled, self.theme)
        entry.toggled.connect(self._toggled)
        self.entries.append(entry)
        self._flow.addWidget(entry)
        self._legend.setVisible(not self.data_button.isChecked() and self.legend_at is None)
        for other in self.legend_at.entries if self.legend_at is not None else ():
            if other.name == name:
                entry.setChecked(other.isChecked())
                other.toggled.connect(entry.setChecked)
        self.reserve_legend_height()
        return entry

    def clear_entries(self) -> None:
        while (item := self._flow.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.entries.clear()
        self._legend.hide()

    def _toggled(self) -> None:
        self.dirty = True
        self.refresh()

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        self._head_text()
        for entry in self.entries:
            entry.theme = theme
            entry.update()
        if self._view is not None:
            self._style_view()
        self.dirty = True
        self.draw_later()

    def _style_view(self) -> None:
        """Set the colours of the plot, before :meth:`populate` and at changes of the theme."""
        self.cache_axes(True)  # they change seldom, and cost more than curves
        assert self._view is not None
        self._view.setBackground(self.theme.base)
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(self.theme.border)
            axis.setTextPen(self.theme.axis)
            axis.setTickFont(small_font())
            if isinstance(axis, Axis):
                axis.set_colour(self.theme.muted)
