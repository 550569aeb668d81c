"""Live plots over time or iterations."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QBrush, QColor

from engine.util.text import bytes_text, share_text, short_number_text, short_seconds_text, value_text
from gui.app.theme import LIGHT, Theme, pen_of
from gui.plot.axes import CountAxis, LogAxis, NumberAxis, TimeAxis, next_end, next_range
from gui.plot.curves import Curve, Line
from gui.plot.figure import Figure
from gui.plot.legend import small_font
from gui.plot.series import Window
from gui.plot.tables import Table

WAITING = "waiting for the first values"
NOTHING_REPORTED = "the run reported no such values"

Floats = NDArray[np.float64]
_NOTHING = Window(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0), merged=False)
# Pixels of line beyond which plots are drawn with thin lines, all that are seen together while they grow, and one at
# rest: wide, smooth lines cost a hundred times more.
_FINE_PATH, _FINE_PATH_AT_REST = 10000.0, 30000.0
_LEAST_DRAWN = 0.06  # of the width: a curve of one moment is drawn as long, to be seen


class LivePlot(Figure):
    """Curves over time that grow while the run is in progress; after zooming by hand ranges stay until :meth:`fit`.

    ``log``: the end of the axis below stands for 0; negative values are left out.
    ``across``: ``"s"`` for time, or what is counted, such as ``"generation"``.
    ``top``: where the vertical axis ends at least; ``whole``: values in full; ``empty``: shown while there are none.
    """

    hovered = Signal(object)
    chosen = Signal(float)

    def __init__(
        self,
        title: str,
        unit: str = "",
        log: bool = False,
        theme: Theme | None = None,
        *,
        key: str = "",
        across: str = "s",
        from_zero: bool = True,
        top: float | None = None,
        whole: bool = False,
        empty: str = WAITING,
        y_title: str | None = None,
    ) -> None:
        self.curves: list[Curve] = []
        self.log, self.across, self.from_zero, self.top = log, across, from_zero, top
        self.whole, self.empty = whole, empty
        self.y_title = (unit or title) if y_title is None else y_title
        self._void = True
        self._shade: pg.LinearRegionItem | None = None
        self._shaded: tuple[float, float, str] | None = None
        self._mark: pg.InfiniteLine | None = None
        self._marked: float | None = None
        self._line: pg.InfiniteLine | None = None
        self.sessions: list[float] = []
        self._session_texts: list[str] = []
        self._session_lines: list[pg.InfiniteLine] = []
        self._end = 0.0
        self.origin = 0.0
        self._now = 0.0
        self._range = (math.nan, math.nan)
        self._following = True
        self._cursor: float | None = None
        super().__init__(title, unit, theme=theme or LIGHT, key=key)
        self.hint(empty)

    def make_axes(self) -> dict[str, pg.AxisItem]:
        return {
            "left": (LogAxis if self.log else NumberAxis)("left", title=self.y_title),
            "bottom": TimeAxis("bottom", title="time")
            if self.across == "s"
            else CountAxis("bottom", title=self.across),
        }

    def populate(self) -> None:
        """The curves there are already, the tint, the mark, and the line at the cursor."""
        self.plot.getViewBox().sigRangeChangedManually.connect(self._zoomed)
        self._line = pg.InfiniteLine(angle=90, movable=False)
        self._line.hide()
        self.plot.addItem(self._line, ignoreBounds=True)
        self.view.scene().sigMouseMoved.connect(self._hover)
        self.view.scene().sigMouseClicked.connect(self._click)
        self.view.leaveEvent = self._left
        for curve in self.curves:
            self.plot.addItem(curve.item, ignoreBounds=True)
        self._lay_extras()
        self._set_ranges()

    # --- filling ------------------------------------------------------------------------------------------------

    def series(
        self, name: str, colour: str | None = None, dash: tuple[float, ...] | None = None, step: bool = False
    ) -> Curve:
        """The curve of that name, created if there is none; ``step`` curves hold their value until the next point."""
        for curve in self.curves:
            if curve.name == name:
                return curve
        index = len(self.curves)
        colour = self.theme.colour(index) if colour is None else colour
        dash = self.theme.dash(index) if dash is None else dash
        entry = self.add_entry(name, colour, dash, self._filled)
        curve = Curve(name, colour, dash, step, entry, self._point_added, self.mark_session)
        self.curves.append(curve)
        if self.populated:
            self.plot.addItem(curve.item, ignoreBounds=True)
        return curve

    def _point_added(self, time: float) -> None:
        self.dirty = True
        if self._void:
            self._void = False
            self.hint("")
            if self._shade is not None:
                self._shade.show()
        self._now = max(self._now, time)

    _filled = False

    @property
    def curves_have_data(self) -> bool:
        """Whether any curve has had a point."""
        return not self._void

    def now(self, time: float) -> None:
        """Set the present time of the run, to which step curves extend."""
        if time > self._now and self.curves:
            self._now = time
            self.dirty = True

    def explain(self, text: str) -> None:
        """Say why there is nothing to draw, if there is nothing."""
        if self._void:
            self.empty = text
            self.hint(text)

    def set_origin(self, time: float) -> None:
        """Begin the horizontal axis there; what is before it is not seen."""
        if time != self.origin:
            self.origin, self._end = time, 0.0
            self.dirty = True

    def shade(self, begin: float, end: float, text: str) -> None:
        """Tint a part of the horizontal axis, such as a warm-up."""
        self._shaded = (begin, end, text)
        if self.populated:
            self._lay_extras()

    def mark_session(self, x: float, text: str = "resumed") -> None:
        """Draw a vertical line where the run was resumed; of several runs, ``text`` says which."""
        if x not in self.sessions:
            self.sessions.append(x)
            self._session_texts.append(text)
            if self.populated:
                self._lay_extras()

    def mark(self, value: float) -> None:
        """A horizontal line at a value that matters, such as a limit."""
        self._marked = value
        if self.populated:
            self._lay_extras()

    def _lay_extras(self) -> None:
        """Create or move the tint, the mark, and the lines of sessions."""
        if self._shaded is not None:
            begin, end, text = self._shaded
            if self._shade is None:
                self._shade = pg.LinearRegionItem(movable=False)
                self._shade.setZValue(-10)
                for line in self._shade.lines:
                    line.setPen(pg.mkPen(None))
                self._shade.label = pg.InfLineLabel(
                    self._shade.lines[0], text, position=0.94, anchors=[(0, 0.5), (0, 0.5)]
                )
                self.plot.addItem(self._shade, ignoreBounds=True)
            self._shade.setRegion((begin, end))
            self._shade.setToolTip(text)
            self._shade.setVisible(not self._void)
        if self._marked is not None:
            if self._mark is None:
                self._mark = pg.InfiniteLine(angle=0, movable=False)
                self.plot.addItem(self._mark, ignoreBounds=True)
            self._mark.setPos(math.log10(self._marked) if self.log else self._marked)
        drawn = len(self._session_lines)
        for x, text in zip(self.sessions[drawn:], self._session_texts[drawn:], strict=True):
            line = pg.InfiniteLine(x, angle=90, movable=False, label=text, labelOpts={"position": 0.94})
            line.setZValue(10)  # its label is above the curves, on a background of its own
            self.plot.addItem(line, ignoreBounds=True)
            self._session_lines.append(line)
        self._colour_extras()

    def _colour_extras(self) -> None:
        for line in self._session_lines:
            line.setPen(pen_of(self.theme.muted, (4, 3), self.pixels))
            line.label.setColor(QColor(self.theme.muted))
            line.label.fill = QBrush(QColor(self.theme.base))
            line.label.update()
        if self._shade is not None:
            self._shade.setBrush(QColor(self.theme.mixed(self.theme.muted, 0.16)))
            self._shade.label.setColor(QColor(self.theme.muted))
            self._shade.label.setFont(small_font())
        if self._mark is not None:
            self._mark.setPen(pen_of(self.theme.warning, (6, 4), self.pixels))
        if self._line is not None:
            self._line.setPen(pen_of(self.theme.muted, (3, 3), 1.0))

    def begin_session(self, time: float) -> None:
        """The run is resumed from a checkpoint at ``time`` seconds: remove later points, and mark the place."""
        for curve in self.curves:
            if self.across == "s":
                curve.data.cut(time)
            else:
                curve.session_pending = len(curve.data) > 0
        if self.across == "s" and any(len(curve.data) for curve in self.curves):
            self.mark_session(time)
        self.finished = False
        self._now = min(self._now, time)
        self.dirty = True

    def complete(self) -> None:
        """The run has ended: end the horizontal axis where the curves end."""
        self._end = 0.0
        self.finished = True
        if self.latest and self.y_title.endswith("/s"):  # the last of its moments says nothing of a run
            self.latest = False
            for curve in self.curves:
                curve.entry.widest = 0
                curve.entry.updateGeometry()
        if self._void:
            self.hint(NOTHING_REPORTED if self.empty == WAITING else self.empty)
        self.dirty = True
        self.draw_later()

    finished = False

    overlaid = False
    """Whether the curves lie over one another, such as chains: smoother lines, and one band behind all."""

    whole_run = False
    """Whether its time axis begins with the run, not with the work."""

    latest = True
    """Whether the legend shows the latest values, not only those at the cursor."""

    fine_lines: bool | None = None
    """Whether lines are wide and antialiased; None to decide for this plot alone."""

    _needs = (math.nan, math.nan, 0)
    """Range and height that the axis at the left has room for."""

    path_length = 0.0
    """Pixels of line when it was last drawn."""

    # --- drawing ------------------------------------------------------------------------------------------------

    def cache_axes(self, cached: bool) -> None:
        """Marks are as wide as axes."""
        super().cache_axes(cached)
        self._colour_extras()

    def redraw(self) -> None:
        """Draw the curves at the resolution of the picture."""
        self._set_ranges()
        (begin, end), (low, high) = self.plot.getViewBox().viewRange()
        left, needs = self.plot.getAxis("left"), (low, high, self.view.height())
        if isinstance(left, NumberAxis) and needs != self._needs:
            self._needs = needs
            left.make_room(*needs)
        width, height = max(60, self.view.width() - 60), max(40, self.view.height() - 30)
        windows = [self._window(curve, begin, end, width) for curve in self.curves]
        drawn = [self._path(c, window, begin, end - begin) for c, window in zip(self.curves, windows, strict=True)]
        across, up = width / max(end - begin, 1e-12), height / max(high - low, 1e-300)
        length = sum(
            float(np.abs(np.diff(x)).sum() * across + np.minimum(np.abs(np.diff(y)) * up, height).sum())
            for x, y in drawn
        )
        self.path_length = length
        if self.fine or self.finished:
            fine = self.fine or length < _FINE_PATH_AT_REST
        else:
            fine = length < _FINE_PATH if self.fine_lines is None else self.fine_lines
        bounds = self._bounds()
        for curve, window, (x, y) in zip(self.curves, windows, drawn, strict=True):
            curve.item.bounds = bounds
            curve.item.setVisible(curve.shown)
            curve.item.setData(
                x, y, pen=pen_of(curve.colour, curve.dash, 1.6 * self.pixels if fine else 1.0), antialias=fine
            )
            self._draw_band(curve, window, bounds)
        self._show_values()

    def _bounds(self) -> QRectF:
        """The range of the plot, and a little more for the width of lines."""
        (begin, end), (low, high) = self.plot.getViewBox().viewRange()
        across, up = 0.02 * (end - begin), 0.02 * (high - low)
        return QRectF(begin - across, low - up, end - begin + 2 * across, high - low + 2 * up)

    def _window(self, curve: Curve, begin: float, end: float, width: int) -> Window:
        """What to draw of a curve, as it is on the axes."""
        if not curve.shown:
            return _NOTHING
        window = curve.data.window(begin, end, width // (8 if self.overlaid else 3))
        if self.log:
            time, *parts = (part[window.mean >= 0] for part in window[:4])
            low, high, mean = (np.log10(np.maximum(part, 10.0 ** self._range[0])) for part in parts)
            window = Window(time, low, high, mean, merged=window.merged)
        return window

    def _path(self, curve: Curve, window: Window, begin: float, span: float) -> tuple[Floats, Floats]:
        """The line of a curve from ``begin`` on, as SVG does not clip: its points, or means where they were merged."""
        x, y = window.time, window.mean
        if curve.step and len(x):
            x = np.append(np.repeat(np.maximum(x, begin), 2)[1:], max(self._now, float(x[-1])))
            y = np.repeat(y, 2)
            if x[-1] - x[0] < _LEAST_DRAWN * span:
                x[0] = max(self.origin, float(x[-1]) - _LEAST_DRAWN * span)
        elif len(x) == 1:
            left = max(self.origin, float(x[0]) - _LEAST_DRAWN / 2 * span)
            x, y = np.array([left, left + _LEAST_DRAWN * span]), np.repeat(y, 2)
        elif len(x) and x[0] < begin:
            x, y = np.append(begin, x[1:]), np.append(np.interp(begin, x[:2], y[:2]), y[1:])
        return x, y

    def _draw_band(self, curve: Curve, window: Window, bounds: QRectF) -> None:
        """A pale band from the lowest to the highest values, where points were merged: no peak is lost."""
        merged = curve.shown and window.merged and not curve.step and len(window.time) > 1
        if curve.band is None:
            if not merged:
                return
            curve.band = Line()
            curve.band.setZValue(-1)
            self.plot.addItem(curve.band, ignoreBounds=True)
        curve.band.setVisible(merged)
        if merged:
            fill = QColor(self.theme.mixed(self.theme.muted, 0.25) if self.overlaid else curve.colour)
            fill.setAlphaF(1.0 if self.overlaid else 0.3)
            curve.band.bounds = bounds
            time, low, high = window.band()
            time = np.maximum(time, self.plot.getViewBox().viewRange()[0][0])
            x, y = np.concatenate([time, time[::-1]]), np.concatenate([high, low[::-1]])
            curve.band.setData(x, y, pen=None, brush=fill, fillLevel="enclosed")

    def _needed(self) -> tuple[float, float] | None:
        """Lowest and highest value of what is shown, as they are drawn."""
        extents = [c.data.extent_positive() if self.log else c.data.extent() for c in self.curves if c.shown]
        known = [extent for extent in extents if extent is not None]
        if not known:
            return None
        low, high = min(extent[0] for extent in known), max(extent[1] for extent in known)
        if self._marked is not None:
            low, high = min(low, self._marked), max(high, self._marked)
        return (math.log10(low), math.log10(high)) if self.log else (low, high)

    def _set_ranges(self) -> None:
        if not self._following:
            return
        begin = self.origin
        before = (self._end, self._range)
        if self.finished:
            self._end = max(self._now, begin + (1e-6 if self.across == "s" else 1.0))
        else:
            self._end = begin + next_end(self._end - begin, max(0.0, self._now - begin))
        needed = self._needed()
        if needed is None:
            self._range = (0.0, 1.0)
        elif self.log:
            bottom, top = math.floor(needed[0] + 0.02), math.ceil(needed[1] - 0.02)
            zero = any(c.shown and (extent := c.data.extent()) is not None and extent[0] <= 0 for c in self.curves)
            self._range = (float(bottom - zero), float(max(top, bottom + 1)))
            self.plot.getAxis("left").zero = float(bottom - 1) if zero else -math.inf
        else:
            if self.top is not None:
                needed = (needed[0], max(needed[1], self.top))
            held = self._range if not math.isnan(self._range[0]) else (0.0, 0.0)
            if self.finished:
                held = (0.0, 0.0)
            self._range = next_range(held, needed, self.from_zero)
            if self.top is not None and needed[1] == self.top:
                self._range = (self._range[0], 1.01 * self.top)
        if before != (self._end, self._range) or self.finished:
            self.plot.setRange(xRange=(begin, self._end), yRange=self._range, padding=0, disableAutoRange=True)

    def fit(self, at_once: bool = True) -> None:
        self._following = True
        self._end, self._range = 0.0, (math.nan, math.nan)
        super().fit(at_once)

    def _zoomed(self, *_: object) -> None:
        self._following = False
        self.dirty = True
        self.refresh()

    # --- the cursor ---------------------------------------------------------------------------------------------

    def _hover(self, position: Any) -> None:
        box = self.plot.getViewBox()
        if self._line is None or not box.sceneBoundingRect().contains(position):
            self._left()
            return
        x = box.mapSceneToView(position).x()
        self.show_cursor(x)
        self.hovered.emit(x)

    def _left(self, *_: object) -> None:
        if self._cursor is not None:
            self.show_cursor(None)
            self.hovered.emit(None)

    def _click(self, event: Any) -> None:
        if event.double():
            self.chosen.emit(self.plot.getViewBox().mapSceneToView(event.scenePos()).x())

    def show_cursor(self, x: float | None) -> None:
        """Show a line at a place and the values there; the latest values for None."""
        if self._line is not None and x != self._cursor:
            self._cursor = x
            self._line.setVisible(x is not None)
            if x is not None:
                self._line.setPos(x)
            self._show_values()

    def value_text(self, value: float) -> str:
        if self.whole:
            return value_text(value)
        if self.unit.startswith("%"):
            return share_text(value / 100)
        texts = {"s": short_seconds_text, "bytes": bytes_text}
        return texts.get(self.unit, short_number_text)(value)

    def _show_values(self) -> None:
        grown = False
        for curve in self.curves:
            value = curve.data.last if self._cursor is None else curve.data.at(self._cursor)
            known = not math.isnan(value) and (self.latest or self._cursor is not None)
            grown = curve.entry.show_value(self.value_text(value) if known else "") or grown
        if grown:
            self.reserve_legend_height()

    # --- the rest -----------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """A row for every time at which a curve has a point: its mean there, where points were merged."""
        headers = ["seconds" if self.across == "s" else self.across, *(curve.name for curve in self.curves)]
        points = [curve.data.points() for curve in self.curves]
        times = np.unique(np.concatenate([time for time, _ in points])) if points else np.zeros(0)
        if points and all(np.array_equal(time, points[0][0]) for time, _ in points):
            times = points[0][0]  # with a row for each of several points at one x
            columns_of = [times.tolist(), *(value.tolist() for _, value in points)]
            return headers, list(zip(*columns_of, strict=True))
        columns: list[Iterable[float | None]] = [times.tolist()]
        for time, value in points:
            column: list[float | None] = [None] * len(times)
            for place, one in zip(np.searchsorted(times, time).tolist(), value.tolist(), strict=True):
                column[place] = one
            columns.append(column)
        return headers, list(zip(*columns, strict=True))

    def set_theme(self, theme: Theme) -> None:
        """Change all colours; curves in the former theme's colours get the new one's."""
        swap = dict(zip(self.theme.lines, theme.lines, strict=True))
        for curve in self.curves:
            curve.colour = curve.entry.colour = swap.get(curve.colour, curve.colour)
        super().set_theme(theme)

    def _style_view(self) -> None:
        super()._style_view()
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(QColor(self.theme.axis))
            axis.setGrid(34)
        self._colour_extras()
