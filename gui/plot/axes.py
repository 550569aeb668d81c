"""Axes with titles and readable tick labels, and ranges that grow in steps."""

import math
import re
from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGuiApplication, QTextOption

from engine.util.text import short_number_text

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_WIDTH = 50  # pixels of an axis at the left, unless its numbers are long
_TICK_GAP = 8  # pixels between two texts of ticks
_TITLE = 16  # pixels of a line of a title
_MOST_LINES, _LEAST_POINTS = 3, 5.0
_DECIMALS = re.compile(r"(-?\d+)(?:\.)?(\d*)(.*)")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def duration(seconds: float, spacing: float = 0.0) -> str:
    """``0.25 s``, ``12 s``, ``3:05``, ``1:02:09``, ``12.5 days``; ``spacing`` is the distance to the next one shown."""
    if seconds < 60 or (spacing and seconds < 120 and spacing < 1):
        decimals = 0 if spacing >= 1 else max(0, min(6, math.ceil(-math.log10(spacing)))) if spacing else 1
        return f"{seconds:.{decimals}f} s"
    if spacing and spacing < 1 and seconds < 48 * 3600 - 1:
        decimals = min(6, math.ceil(-math.log10(spacing) - 1e-9))
        whole, part = divmod(round(seconds * 10**decimals), 10**decimals)
        return f"{duration(whole, 1.0)}.{part:0{decimals}d}"
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d}"
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{seconds / 86400:.3g} days"
    return f"{hours}:{minutes:02d}:{rest:02d}"


def _nice(size: float) -> float:
    """The next of 1, 2, 2.5, 5, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(size))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if size <= step * power * (1 + 1e-9))


def next_end(present: float, needed: float) -> float:
    """Where an axis that begins at 0 ends: it stays until ``needed`` passes it, then makes room for an eighth more."""
    if needed <= present:
        return present
    step = _nice(max(needed, 0.1) / 8)
    return step * (math.floor(needed / step + 1e-9) + 1)


def next_range(
    present: tuple[float, float], needed: tuple[float, float], from_zero: bool = False
) -> tuple[float, float]:
    """Range of an axis for values in ``needed``: the present one while it fits and is not far too wide."""
    low, high = needed
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if _fits(present, low, high):
        return present
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        pad = 0.05 * abs(high) or 1.0
        low, high = (low, high + pad) if from_zero and low >= 0 else (low - pad, high + pad)
        if _fits(present, low, high):
            return present
    step = _nice((high - low) / 8)
    bottom = 0.0 if from_zero and low == 0 else step * (math.ceil(low / step - 0.1) - 1)
    return bottom, step * (math.floor(high / step + 0.1) + 1)


def _fits(present: tuple[float, float], low: float, high: float) -> bool:
    """Whether a range holds these values and is not far too wide."""
    return present[0] <= low and high <= present[1] and high - low >= 0.3 * (present[1] - present[0]) > 0


def wrapped(text: str, metrics: QFontMetricsF, width: float) -> list[str]:
    """Break a text between words into lines that fit; a word that does not fit has a line of its own."""
    lines: list[str] = []
    for word in text.split():
        if lines and metrics.horizontalAdvance(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


class Axis(pg.AxisItem):
    """An axis of fixed width with a title, which has more lines, or smaller letters, where it would not fit."""

    def __init__(self, orientation: str, title: str = "", **arguments: Any) -> None:
        self.title = title
        self._colour = "#808080"
        self._tick_width = _WIDTH
        self._lines = [title] if title else []
        super().__init__(orientation, **arguments)
        self.setStyle(tickLength=-4, tickTextOffset=5, autoExpandTextSpace=False, hideOverlappingLabels=False)
        self.enableAutoSIPrefix(False)
        self._make_title_room()

    def set_tick_width(self, width: int) -> None:
        """Set the width of the tick labels of a left axis; the title is added to it."""
        self._tick_width = width
        self._make_title_room()

    def set_title(self, title: str) -> None:
        if title != self.title:
            self.title = title
            self._fit_title()

    def set_colour(self, colour: str) -> None:
        self._colour = colour
        self._fit_title()

    @property
    def shown_title(self) -> str:
        """The title with the line breaks that it has."""
        return "\n".join(self._lines)

    def _make_title_room(self) -> None:
        """Set the width of a left axis, or the height of one below, for ticks and title."""
        if self.orientation == "left":
            self.setWidth(self._tick_width + _TITLE * len(self._lines))
        else:
            self.setHeight(22 + _TITLE * len(self._lines))

    def _fit_title(self) -> None:
        """Break the title into lines that fit; make its letters smaller where a word alone does not."""
        font = QFont(self.style["tickFont"] or QGuiApplication.font())
        length = self.size().height() if self.orientation == "left" else self.size().width()
        length = max(24.0, length - 4)
        widest = max((QFontMetricsF(font).horizontalAdvance(word) for word in self.title.split()), default=0.0)
        if widest > length:
            font.setPointSizeF(max(1.0, font.pointSizeF() * 0.97 * length / widest))
        lines = wrapped(self.title, QFontMetricsF(font), length)
        while len(lines) > _MOST_LINES and font.pointSizeF() > _LEAST_POINTS:
            font.setPointSizeF(0.9 * font.pointSizeF())
            lines = wrapped(self.title, QFontMetricsF(font), length)
        changed, self._lines = len(lines) != len(self._lines), lines
        self.label.setVisible(bool(lines))
        self.label.setFont(font)
        self.label.setDefaultTextColor(QColor(self._colour))
        self.label.setTextWidth(-1)
        self.label.setPlainText(self.shown_title)
        if len(lines) > 1:
            self.label.document().setDefaultTextOption(QTextOption(Qt.AlignmentFlag.AlignHCenter))
            self.label.setTextWidth(self.label.document().idealWidth())
        self._place_title()
        if changed:
            self._make_title_room()

    def _updateLabel(self) -> None:
        """In place of pyqtgraph's own label, which is cut."""
        self._fit_title()

    def _place_title(self) -> None:
        size, box = self.size(), self.label.boundingRect()
        if self.orientation == "left":
            self.label.setPos(-4.0, size.height() / 2 + box.width() / 2)
        else:
            self.label.setPos(size.width() / 2 - box.width() / 2, size.height() - box.height() + 3)

    def resizeEvent(self, event: Any = None) -> None:
        if self.label is not None:
            self._fit_title()

    def boundingRect(self) -> Any:
        """Room for half a text past either end, so that the first and the last tick have theirs."""
        return super().boundingRect().adjusted(-14, -7, 14, 7)


class NumberAxis(Axis):
    """``250k``, ``0.5``, ``2·10⁻⁵``; one prefix or power, and as many decimals, for all ticks of the axis."""

    _largest = 0.0

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """As usual; what their texts share depends on the whole axis."""
        self._largest = max(abs(low), abs(high))
        return list(super().tickValues(low, high, size))

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        largest = max((abs(value) for value in values), default=0.0)
        largest = max(largest, self._largest)
        unit, prefix = next(((unit, prefix) for unit, prefix in _PREFIXES if largest >= unit), (1.0, ""))
        if largest < 1e4:
            unit, prefix = 1.0, ""
        if largest and not 1e-3 <= largest < 1e15:  # beyond the prefixes
            exponent = math.floor(math.log10(largest) + 1e-9)
            unit, prefix = 10.0**exponent, f"·10{str(exponent).translate(_SUPERSCRIPTS)}"
        elif spacing < 1e-6 * unit:  # a prefix would be further from the digits that differ
            unit, prefix = 1.0, ""
        decimals = max(0, min(15, math.ceil(-math.log10(spacing / unit) - 1e-9)))
        return ["0" if value == 0 else f"{value / unit:.{decimals}f}{prefix}" for value in values]

    def generateDrawSpecs(self, painter: Any) -> Any:
        """Ticks between others may have more decimals: then all do."""
        specs = super().generateDrawSpecs(painter)
        if specs is None:
            return None
        parts = [_DECIMALS.match(text) for *_, text in specs[2]]
        most = max((len(part[2]) for part in parts if part), default=0)
        texts = [
            (rect, flags, f"{part[1]}.{part[2]:0<{most}}{part[3]}" if part and most and text != "0" else text)
            for part, (rect, flags, text) in zip(parts, specs[2], strict=True)
        ]
        return *specs[:2], texts

    def make_room(self, low: float, high: float, size: float) -> None:
        """Fit the width to the tick labels of a range, on a left axis ``size`` pixels high."""
        metrics = QFontMetricsF(self.style["tickFont"] or QGuiApplication.font())
        texts = [
            text
            for spacing, values in self.tickValues(low, high, max(size, 60.0))[:2]
            for text in self.tickStrings([float(value) for value in values], 1.0, spacing)
        ]
        widest = max((metrics.horizontalAdvance(text) for text in texts), default=0.0)
        self.set_tick_width(max(_WIDTH, 6 * math.ceil((widest + 10) / 6)))


class CountAxis(NumberAxis):
    """An axis of whole numbers: no tick between them."""

    def tickSpacing(self, low: float, high: float, size: float) -> list[tuple[float, float]]:
        """At least 1."""
        return [level for level in super().tickSpacing(low, high, size) if level[0] >= 1] or [(1.0, 0.0)]


def _tick(value: float) -> str:
    """A number in little room, without commas."""
    return short_number_text(value).replace(",", "")


class TimeAxis(Axis):
    """Seconds as ``5 s``, ``2:30``, ``1:00:00``."""

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        return [duration(value, spacing) if value >= 0 else "" for value in values]

    def tickSpacing(self, low: float, high: float, size: float) -> list[tuple[float, float]]:
        """Whole minutes and hours for long ranges."""
        if high - low < 100:
            return [
                (self._wide_enough(step, low, high, size), first)
                for step, first in super().tickSpacing(low, high, size)[:1]
            ]
        wanted = (high - low) / max(2.0, size / 90)
        steps = (15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
        step = next((step for step in steps if step >= wanted), 86400 * math.ceil(wanted / 86400))
        return [(float(step), 0.0)]

    def _wide_enough(self, step: float, low: float, high: float, size: float) -> float:
        """A step that leaves room for the text of a tick, which may have many digits."""
        metrics = QFontMetricsF(self.style["tickFont"] or QGuiApplication.font())
        for _ in range(8):
            if step / (high - low) * size >= metrics.horizontalAdvance(duration(high, step)) + _TICK_GAP:
                break
            power = 10.0 ** math.floor(math.log10(step) + 1e-9)
            step = next(factor * power for factor in (2, 5, 10) if factor * power > 1.01 * step)
        return step


_LAST_PREFIX = 14  # the exponent up to which numbers are short with a prefix


class LogAxis(Axis):
    """Powers of ten; the values of this axis are exponents."""

    zero = -math.inf
    """The end that stands for 0, below which nothing is drawn; none by default."""

    _ends: tuple[float, float] | None = None

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Whole decades, as many as have room; between them 2 to 9 where there are few."""
        self._ends = low, high
        first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
        step = max(1, math.ceil((last - first + 1) * 22 / max(size, 22)))
        first += -first % step
        decades = [float(exponent) for exponent in range(first, last + 1, step)]
        if high - low > 3:
            return [(float(step), decades)]
        between = [e + math.log10(k) for e in range(math.floor(low), math.ceil(high)) for k in range(2, 10)]
        return [(1.0, decades), (0.1, [value for value in between if low <= value <= high])]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """``1``, ``100``, ``10k``, ``1M``; powers of ten where one has no prefix; between decades 2 and 5."""
        low, high = self._ends or (min(values, default=0.0), max(values, default=0.0))
        low = max(low, self.zero + 1) if math.isfinite(self.zero) else low
        far = low < -3 - 1e-6 or high > _LAST_PREFIX + 1e-6
        unit, prefix = (1e3, "k") if high > 4 - 1e-6 else (1.0, "")
        texts = []
        for value in values:
            number = 10.0**value
            leading = round(10 ** (value - math.floor(value + 1e-6)))
            if value < self.zero + 1 - 1e-6:
                texts.append("0" if value <= self.zero else "")
            elif leading > 1 and not (leading in (2, 5) and spacing < 1):
                texts.append("")
            elif far and value:
                power = f"10{str(math.floor(value + 1e-6)).translate(_SUPERSCRIPTS)}"
                texts.append(power if leading == 1 else f"{leading}·{power}")
            elif 3 - 1e-6 < value < 5:
                texts.append(f"{number / unit:.3g}{prefix}" if prefix else f"{number:.0f}")
            else:
                texts.append(_tick(number))
        return texts
