"""Charts other than curves: bars, moving bands, images."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from engine.util.text import share_text, short_number_text
from gui.app.theme import Theme, pen_of
from gui.plot.axes import CountAxis, NumberAxis, next_range
from gui.plot.figure import Figure
from gui.plot.legend import small_font
from gui.plot.live import LivePlot
from gui.plot.series import Series
from gui.plot.tables import Table

Floats = NDArray[np.float64]
_SAME_SHARE = 1e-6


class PaintedItem(pg.GraphicsObject):
    """An item of a plot that a function paints, in the plot's own coordinates, within ``bounds``."""

    def __init__(self, paint: Callable[[QPainter], None]) -> None:
        super().__init__()
        self._paint, self.bounds = paint, QRectF(0, 0, 1, 1)

    def set_bounds(self, bounds: QRectF) -> None:
        self.prepareGeometryChange()
        self.bounds = bounds
        self.update()

    def boundingRect(self) -> QRectF:
        return self.bounds

    def paint(self, painter: QPainter, *_: Any) -> None:
        self._paint(painter)


def draw_text(
    painter: QPainter, at: QPointF, text: str, colour: str, align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignCenter
) -> None:
    """Draw unscaled text at a point in plot coordinates; ``align`` is the side of the text at that point."""
    transform = painter.transform()
    place = transform.map(at)
    painter.save()
    painter.resetTransform()
    painter.setPen(QColor(colour))
    size = painter.fontMetrics().boundingRect(text)
    width, height = size.width() + 4, painter.fontMetrics().height()
    left = place.x() - width / 2
    if align & Qt.AlignmentFlag.AlignLeft:
        left = place.x()
    elif align & Qt.AlignmentFlag.AlignRight:
        left = place.x() - width
    painter.drawText(QRectF(left, place.y() - height / 2, width, height), int(Qt.AlignmentFlag.AlignCenter), text)
    painter.restore()


def draw_discs(painter: QPainter, at: Iterable[QPointF], colour: str, radius: float) -> None:
    """Round discs at points in plot coordinates, whose radius is in pixels of the screen."""
    transform = painter.transform()
    painter.resetTransform()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    for point in at:
        painter.drawEllipse(transform.map(point), radius, radius)
    painter.setTransform(transform)


class Picture(Figure):
    """A figure whose content one function paints."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "") -> None:
        self.item = PaintedItem(self._paint_content)
        super().__init__(title, unit, theme=theme, key=key)

    def populate(self) -> None:
        self.plot.addItem(self.item, ignoreBounds=True)

    def _paint_content(self, painter: QPainter) -> None:
        """Paint in the plot's coordinates."""

    def bare(self) -> None:
        """No axes, equal scales."""
        self.plot.hideAxis("left")
        self.plot.hideAxis("bottom")
        self.plot.getViewBox().setAspectLocked(True)

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.item.update()


@dataclass
class _Bar:
    name: str
    value: float
    colour: str


class Bars(Picture):
    """A horizontal bar for each name, in percent of the whole."""

    def __init__(self, title: str, unit: str = "%", *, theme: Theme, key: str = "", whole: str = "") -> None:
        self._bars: dict[str, _Bar] = {}
        self._whole = whole
        self._total: float | None = None
        super().__init__(title, unit, theme=theme, key=key)

    def populate(self) -> None:
        super().populate()
        self.plot.hideAxis("left")
        self.plot.hideAxis("bottom")
        self.plot.getViewBox().setMouseEnabled(False, False)
        self._heights()

    def put(self, name: str, value: float, colour: str) -> None:
        """Set a bar; ``value`` is a share from 0 to 1."""
        self.hint("")
        self._bars[name] = _Bar(name, value, colour)
        self.dirty = True

    def put_whole(self, value: float | None) -> None:
        """Set the bar of all, where it is more than the sum of the others; None if it is not known."""
        self.hint("")
        self._total = value
        self.dirty = True

    def _rows(self) -> list[tuple[str, list[_Bar]]]:
        """Names and parts of the bars."""
        bars = list(self._bars.values())
        rows = [(bar.name, [bar]) for bar in bars]
        more = self._total is not None and abs(self._total - sum(bar.value for bar in bars)) > _SAME_SHARE
        return [(self._whole, bars), *rows] if self._whole and (len(bars) != 1 or more) else rows

    def _heights(self) -> None:
        rows = max(1.0, len(self._rows()), (self.view.height() - 12) / 52)
        self.item.set_bounds(QRectF(0, 0, 100, rows))
        self.plot.setRange(xRange=(0, 100), yRange=(rows + 0.05, -0.05), padding=0)
        self.plot.getViewBox().invertY(True)

    def redraw(self) -> None:
        self._heights()

    def hint(self, text: str) -> None:
        """Show a text in place of the bars; an empty text shows them."""
        super().hint(text)
        self.item.update()

    def _paint_content(self, painter: QPainter) -> None:
        if self._hint_text:
            return
        painter.setFont(small_font())
        theme = self.theme
        row = 0.0
        pixel = 1.0 / max(1e-9, abs(painter.transform().m22()))
        label = min(0.42, 17 * pixel)
        for name, parts in self._rows():
            top, height = row + label, min(0.94 - label, 24 * pixel)
            painter.fillRect(QRectF(0, top, 100, height), QColor(theme.raised if theme.dark else theme.grid))
            left, total = 0.0, sum(part.value for part in parts)
            if self._total is not None and abs(self._total - total) <= _SAME_SHARE:
                total = self._total  # of which rounding may leave a little out
            for part in parts:
                painter.fillRect(QRectF(left, top, 100 * part.value, height), QColor(part.colour))
                left += 100 * part.value
            if name == self._whole and self._total is not None and self._total > total:
                painter.fillRect(QRectF(left, top, 100 * (self._total - total), height), QColor(theme.muted))
                total = self._total
            middle = row + label / 2
            draw_text(painter, QPointF(0, middle), name, theme.text, Qt.AlignmentFlag.AlignLeft)
            draw_text(painter, QPointF(100, middle), share_text(total), theme.muted, Qt.AlignmentFlag.AlignRight)
            row += 1

    def table(self) -> Table:
        return ["", "share"], [(bar.name, bar.value) for bar in self._bars.values()]

    def set_theme(self, theme: Theme) -> None:
        swap = dict(zip(self.theme.lines, theme.lines, strict=True))
        for bar in self._bars.values():
            bar.colour = swap.get(bar.colour, bar.colour)
        super().set_theme(theme)


class LevelBars(Picture):
    """A vertical bar for each level, the root's at the left."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "", y_title: str = "") -> None:
        self._y_title = y_title
        self._values: list[float] = []
        self._range = (math.nan, math.nan)
        super().__init__(title, unit, theme=theme, key=key)

    def make_axes(self) -> dict[str, pg.AxisItem]:
        return {"left": NumberAxis("left", title=self._y_title), "bottom": CountAxis("bottom", title="level")}

    def populate(self) -> None:
        super().populate()
        self.plot.getViewBox().setMouseEnabled(False, False)

    def put(self, values: Sequence[float]) -> None:
        self._values = list(values)
        self.hint("")
        self.dirty = True

    def redraw(self) -> None:
        if not self._values:
            return
        self._range = next_range(self._range, (0.0, max(1.0, *self._values)), from_zero=True)
        top, count = self._range[1], len(self._values)
        self.item.set_bounds(QRectF(-0.5, 0, count, top))
        self.plot.setRange(xRange=(-0.5, count - 0.5), yRange=(0, top), padding=0)

    def _paint_content(self, painter: QPainter) -> None:
        colour = QColor(self.theme.lines[0])
        for level, value in enumerate(self._values):
            painter.fillRect(QRectF(level - 0.4, 0, 0.8, value), colour)

    def table(self) -> Table:
        return ["level", self._y_title], [(level, value) for level, value in enumerate(self._values)]


class BandPlot(LivePlot):
    """Bands between a lower and an upper value over time, one for each name: a range that moves."""

    _filled = True

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._lower: dict[str, Series] = {}
        super().__init__(*arguments, **named)

    def append(self, name: str, time: float, low: float, high: float, colour: str) -> None:
        curve = self.series(name, colour)
        self._lower.setdefault(name, Series()).append(time, low)
        curve.append(time, high)

    def begin_session(self, time: float) -> None:
        super().begin_session(time)
        for lower in self._lower.values():
            lower.cut(time)

    def redraw(self) -> None:
        self._set_ranges()
        bounds = self._bounds()
        for curve in self.curves:
            curve.item.bounds = bounds
            x, high = curve.data.points()
            _, low = self._lower[curve.name].points()
            curve.item.setVisible(curve.shown and len(x) > 1)
            if len(x) > 1:
                fill = QColor(curve.colour)
                fill.setAlphaF(0.55)
                curve.item.setData(
                    np.concatenate([x, x[::-1]]),
                    np.concatenate([high, low[::-1]]),
                    pen=pen_of(curve.colour, (), self.pixels),
                    brush=fill,
                    fillLevel="enclosed",
                    antialias=self.fine,
                )
        self._show_values()

    def _needed(self) -> tuple[float, float] | None:
        upper = super()._needed()
        lowest = [extent[0] for lower in self._lower.values() if (extent := lower.extent()) is not None]
        return None if upper is None or not lowest else (min(lowest), upper[1])

    def _show_values(self) -> None:
        for curve in self.curves:
            lower = self._lower[curve.name]
            at = self._cursor
            low, high = (lower.last, curve.data.last) if at is None else (lower.at(at), curve.data.at(at))
            curve.entry.show_value("" if math.isnan(high) else f"{short_number_text(low)} – {short_number_text(high)}")

    def table(self) -> Table:
        rows = []
        for curve in self.curves:
            time, high = curve.data.points()
            _, low = self._lower[curve.name].points()
            rows += [(t, curve.name, a, b) for t, a, b in zip(time.tolist(), low.tolist(), high.tolist(), strict=True)]
        return ["seconds", "band", "from", "to"], sorted(rows)


class Pixels(Figure):
    """A matrix as an image, its first row on top; ``binary`` ones have two colours rather than a scale."""

    def __init__(
        self, title: str, unit: str = "", *, theme: Theme, key: str = "", across: str, down: str, binary: bool = False
    ) -> None:
        self._matrix: Floats = np.zeros((0, 0))
        self._across, self._down, self._binary = across, down, binary
        self._size: tuple[int, int] | None = None
        self._top = 1.0
        self.image: pg.ImageItem | None = None
        super().__init__(title, unit, theme=theme, key=key)

    def make_axes(self) -> dict[str, pg.AxisItem]:
        return {"left": CountAxis("left", title=self._down), "bottom": CountAxis("bottom", title=self._across)}

    def populate(self) -> None:
        self.image = pg.ImageItem(axisOrder="row-major")
        self.plot.addItem(self.image, ignoreBounds=True)
        self.plot.getViewBox().invertY(True)
        self.plot.getAxis("bottom").setStyle(tickLength=3)
        self._colour_image()

    def show_matrix(self, matrix: NDArray[Any], top: float = 1.0, size: tuple[int, int] | None = None) -> None:
        """Show another matrix, scaled from 0 to ``top``, as one of that size, of which it may be a coarse picture."""
        self._matrix, self._top, self._size = np.asarray(matrix, float), top, size
        self.hint("")
        self.dirty = True

    def redraw(self) -> None:
        count, columns = self._matrix.shape
        if not count or self.image is None:
            return
        if self._size is not None:
            count, columns = self._size
        self.image.setImage(self._matrix, autoLevels=False, levels=(0, self._top), autoDownsample=False)
        place = QRectF(-0.5, -0.5, columns, max(count, 1))  # a number is in the middle of its cell
        self.image.setRect(place)
        self.plot.setRange(xRange=(place.left(), place.right()), yRange=(place.top(), place.bottom()), padding=0)

    def _style_view(self) -> None:
        super()._style_view()
        self._colour_image()

    def _colour_image(self) -> None:
        theme = self.theme
        if self.image is not None:
            low, high = QColor(theme.base), QColor(theme.accent)
            if self._binary:
                low = QColor(theme.mixed(theme.accent, 0.14))
            stops = np.linspace(0, 1, 256)[:, None]
            table = (1 - stops) * _rgb(low) + stops * _rgb(high)
            self.image.setLookupTable(table.astype(np.uint8))

    def table(self) -> Table:
        columns = self._matrix.shape[1]
        kind: Callable[[Any], Any] = int if self._binary else float
        rows = [(place, *map(kind, row)) for place, row in enumerate(self._matrix.tolist())]
        return [self._down, *map(str, range(columns))], rows


def _rgb(colour: QColor) -> NDArray[np.int64]:
    return np.array([colour.red(), colour.green(), colour.blue()])
