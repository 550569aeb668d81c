"""What all dashboards share: events in, figures that follow them, a strip of key numbers, pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent, QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from engine.events import (
    DeviceStatus,
    Event,
    Failed,
    Finished,
    Incumbent,
    Metric,
    Notice,
    Progress,
    Started,
    StateChanged,
    Trace,
)
from engine.problem import Problem
from engine.results import Result
from engine.solvers import MetricSpec
from gui.axes import duration, number_text
from gui.figure import Figure, FlowLayout
from gui.panels.devices import DevicesPage
from gui.plot_area import release_forgotten, release_plots
from gui.plots import LivePlot
from gui.theme import Theme

_FINE_PATHS = 20_000  # pixels of line in all plots seen together, beyond which they are drawn thin, to be quick

__all__ = ["Page", "Panel", "RunInfo"]


@dataclass(frozen=True)
class RunInfo:
    """What a panel is told of its run before the first event.

    ``problem`` and ``folder`` are None where they are not known; ``colour`` is the run's in the run list.
    """

    solver: str
    metrics: tuple[MetricSpec, ...] = ()
    problem: Problem | None = None
    folder: Path | None = None
    title: str = ""
    colour: str = "#0072b2"


class _Tile(QWidget):
    """A number with a name under it."""

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
        self.update()

    def _fonts(self) -> tuple[Any, Any]:
        large, small = self.font(), self.font()
        large.setPointSizeF(large.pointSizeF() * 1.25)
        large.setBold(True)
        small.setPointSizeF(max(7.0, small.pointSizeF() * 0.85))
        return large, small

    def _value_width(self) -> int:
        from PySide6.QtGui import QFontMetrics

        return QFontMetrics(self._fonts()[0]).horizontalAdvance(self.value)

    def sizeHint(self) -> Any:
        from PySide6.QtCore import QSize
        from PySide6.QtGui import QFontMetrics

        large, small = (QFontMetrics(font) for font in self._fonts())
        width = max(self._widest, self._value_width(), small.horizontalAdvance(self.name))
        return QSize(width + 10, large.height() + small.height() + 2)

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


class Page(QScrollArea):
    """Figures in a grid that fills the page: fewer columns where it is narrow, and scrolled where it is low."""

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
        self._widgets: list[tuple[QWidget, int, int]] = []
        self.setWidget(self._inner)

    def put(self, widget: QWidget, wide: int = 1, stretch: int = 1) -> None:
        """Add a widget in the next free place, ``wide`` columns wide; ``stretch`` is its row's share of the height."""
        self._widgets.append((widget, wide, stretch))
        self.arrange()

    def arrange(self) -> None:
        """Place all widgets that are not hidden row by row; the last one takes what is left of its row."""
        shown = [entry for entry in self._widgets if not _was_hidden(entry[0])]
        for row in range(self.grid.rowCount()):
            self.grid.setRowStretch(row, 0)
        for place in range(self._most):
            self.grid.setColumnStretch(place, 1 if place < self._columns else 0)
        row = column = 0
        for number, (widget, wanted, stretch) in enumerate(shown):
            wide = min(wanted, self._columns)
            if column + wide > self._columns:
                row, column = row + 1, 0
            if number == len(shown) - 1:
                wide = self._columns - column
            self.grid.removeWidget(widget)
            self.grid.addWidget(widget, row, column, 1, wide)
            self.grid.setRowStretch(row, stretch)
            column += wide

    def resizeEvent(self, event: QResizeEvent) -> None:
        """As many columns as have room."""
        super().resizeEvent(event)
        columns = max(1, min(self._most, (self.viewport().width() - 6) // self.NARROWEST))
        if columns != self._columns:
            self._columns = columns
            self.arrange()


def _was_hidden(widget: QWidget) -> bool:
    """Whether somebody has hidden it, and not only that it has not been shown yet."""
    return widget.isHidden() and widget.testAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide)


class Panel(QWidget):
    """The dashboard of one run.

    A subclass sets ``solver``, makes its figures in :meth:`build`, and overrides the ``on_...`` methods it needs.
    Figures bound by :meth:`follow` are filled without further code.
    """

    solver: ClassVar[str] = ""

    device_page: DevicesPage | None = None
    """Set in :meth:`build` by panels that show the devices."""

    def __init__(self, run: RunInfo, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.run, self.theme = run, theme
        self.devices: list[str] = []
        self.started: Started | None = None
        self.result: Result | None = None
        self.problem = run.problem
        self.sense = run.problem.sense if run.problem is not None else "maximize"
        self.time = 0.0
        self._figures: list[Figure] = []
        self._followed: list[tuple[LivePlot, tuple[str, ...], Sequence[str]]] = []
        self._routes: dict[str, list[Callable[[Metric], None]]] = {}
        self._tiles: dict[str, _Tile] = {}
        self._handlers: dict[type, Callable[[Any], None]] = {
            Metric: self._metric,
            Trace: self.on_trace,
            DeviceStatus: self._device_status,
            Incumbent: self._incumbent,
            Progress: self.on_progress,
            Started: self._started,
            StateChanged: self._state_changed,
            Notice: self.on_notice,
            Finished: self._finished,
            Failed: self._failed,
        }
        self.setAccessibleName(f"Dashboard of {run.title or run.solver}")
        self._strip = QFrame()
        self._strip.setObjectName("strip")
        self._flow = FlowLayout(self._strip, gap=18)
        self._flow.setContentsMargins(0, 0, 0, 0)
        self._about = QLabel()
        self._about.setTextFormat(Qt.TextFormat.PlainText)
        self._about.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.pages = QTabWidget()
        self.pages.setDocumentMode(True)
        self.pages.setAccessibleName("Pages of the dashboard")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(6, 6, 6, 4)
        outer.setSpacing(4)
        outer.addWidget(self._about)
        outer.addWidget(self._strip)
        outer.addWidget(self.pages, 1)
        self.tile("State").show_value("waiting")
        self.tile("Elapsed")
        self.build()
        if run.problem is not None:
            self._about.setText(run.problem.describe())
        self._dress(theme)

    # --- for subclasses -----------------------------------------------------------------------------------------

    def build(self) -> None:
        """Make pages and figures."""

    def on_started(self, event: Started) -> None:
        """The run begins, or goes on from a checkpoint."""

    def on_metric(self, event: Metric) -> None:
        """A point that no figure follows."""

    def on_trace(self, event: Trace) -> None:
        """Values of one iteration."""

    def on_progress(self, event: Progress) -> None:
        """How far a phase is."""

    def on_incumbent(self, event: Incumbent) -> None:
        """A better solution or bound."""

    def on_device_status(self, event: DeviceStatus) -> None:
        """Health of a device."""

    def on_notice(self, event: Notice) -> None:
        """A remark."""

    def on_finished(self, event: Finished) -> None:
        """The run has a result."""

    def on_result(self, result: Result) -> None:
        """The whole result, from the run folder."""

    def page(self, title: str, columns: int = 2) -> Page:
        """A new page of figures."""
        page = Page(columns)
        self.pages.addTab(page, title)
        page.setAccessibleName(title)
        return page

    def add(self, figure: Figure, page: Page | None = None, wide: int = 1, stretch: int = 1) -> Any:
        """Keep a figure for exports and theme, put it on a page, and return it."""
        self._figures.append(figure)
        if page is not None:
            page.put(figure, wide, stretch)
        return figure

    def follow(self, plot: LivePlot, *metrics: str, names: Sequence[str] = (), scale: float = 1.0) -> None:
        """Fill a plot with metrics: one curve for each, or one for each device where events name devices."""
        self._followed.append((plot, metrics, names))
        for place, metric in enumerate(metrics):
            name = names[place] if names else metric.replace("_", " ")
            several = len(metrics) > 1

            def take(event: Metric, name: str = name, several: bool = several) -> None:
                if event.device is None:
                    curve = plot.series(name)
                else:
                    index = self.device_index(event.device)
                    label = f"{event.device} {name}" if several else event.device
                    curve = plot.series(label, self.theme.colour(index), self.theme.dash(index))
                curve.append(event.time, event.value * scale)

            self._routes.setdefault(metric, []).append(take)

    def route(self, metric: str, function: Callable[[Metric], None]) -> None:
        """Have a function called with every point of a metric."""
        self._routes.setdefault(metric, []).append(function)

    def device_index(self, label: str) -> int:
        """Place of a device in the pool: its colour and dash in every plot."""
        if label not in self.devices:
            self.devices.append(label)
        return self.devices.index(label)

    def tile(self, name: str) -> _Tile:
        """The key number of that name above the pages, made if there is none."""
        if name not in self._tiles:
            self._tiles[name] = _Tile(name, self.theme)
            self._flow.addWidget(self._tiles[name])
        return self._tiles[name]

    # --- events -------------------------------------------------------------------------------------------------

    def feed(self, events: Sequence[Event], draw: bool = True) -> None:
        """Take a batch of events and draw what they changed; without ``draw``, leave that to :meth:`refresh`."""
        handlers = self._handlers
        for event in events:
            if event.time > self.time:
                self.time = event.time
            handlers[type(event)](event)
        if events:
            for figure in self._figures:
                if isinstance(figure, LivePlot) and figure.across == "s":
                    figure.now(self.time)
            self.tile("Elapsed").show_value(duration(self.time))
        if draw:
            self.refresh()

    def refresh(self) -> None:
        """Draw what has changed and can be seen."""
        seen = [figure for figure in self._figures if isinstance(figure, LivePlot) and figure.isVisible()]
        length = sum(plot.path_length for plot in seen)
        self._fine_lines = length < (_FINE_PATHS if self._fine_lines else 0.7 * _FINE_PATHS)
        for plot in seen:
            plot.fine_lines = self._fine_lines
        for figure in self._figures:
            figure.refresh()

    def finish(self, folder: Path | None) -> None:
        """The run folder is complete: show the result in it."""
        from engine.folder import RunFolder

        if folder is not None:
            kept = RunFolder.open(folder)
            if self.problem is None:
                self.problem = kept.problem()
            self.result = kept.result()
        for figure in self._figures:
            if isinstance(figure, LivePlot):
                figure.complete()
        if self.result is not None:
            self.on_result(self.result)
        self.refresh()

    def _metric(self, event: Metric) -> None:
        routes = self._routes.get(event.name)
        if routes is None:
            self.on_metric(event)
        else:
            for route in routes:
                route(event)

    def _started(self, event: Started) -> None:
        for label in event.devices:
            self.device_index(label)
        if event.resumed and self.started is not None:
            self.time = event.time
            for figure in self._figures:
                figure.cut(event.time)
        else:
            self._prepare_devices(event)
        if self.started is None and event.time > 1:
            for figure in self._figures:
                if isinstance(figure, LivePlot) and figure.across == "s":
                    figure.origin = event.time
        self.started, self.sense = event, event.sense
        self._about.setText(event.description)
        self.state("running")
        if self.device_page is not None:
            self.device_page.started(event)
        self.on_started(event)

    def _prepare_devices(self, event: Started) -> None:
        """Curves of all devices in the pool's order, whichever tells something first."""
        per_device = {spec["name"] for spec in event.metrics if spec.get("per_device")}
        for plot, metrics, _ in self._followed:
            if len(metrics) == 1 and metrics[0] in per_device:
                for index, label in enumerate(event.devices):
                    plot.series(label, self.theme.colour(index), self.theme.dash(index))

    def _device_status(self, event: DeviceStatus) -> None:
        if self.device_page is not None:
            self.device_page.status(event)
        self.on_device_status(event)

    def _state_changed(self, event: StateChanged) -> None:
        self.state(event.state)

    def _incumbent(self, event: Incumbent) -> None:
        self._show_best(event.objective, event.bound, event.gap)
        self.on_incumbent(event)

    def _finished(self, event: Finished) -> None:
        self.state(event.status)
        self._show_best(event.objective, event.bound, event.gap)
        for figure in self._figures:
            if isinstance(figure, LivePlot):
                figure.complete()
        self.on_finished(event)

    def _failed(self, event: Failed) -> None:
        self.state("failed")
        for figure in self._figures:
            if isinstance(figure, LivePlot):
                figure.complete()

    def state(self, state: str) -> None:
        """Show what the run is doing."""
        colours = {
            "optimal": self.theme.good,
            "complete": self.theme.good,
            "feasible": self.theme.good,
            "failed": self.theme.bad,
            "killed": self.theme.bad,
            "infeasible": self.theme.warning,
            "unbounded": self.theme.warning,
            "paused": self.theme.warning,
            "interrupted": self.theme.warning,
        }
        self._state = state
        self.tile("State").show_value(state.replace("_", " "), colours.get(state, self.theme.text))

    _state = "waiting"
    _fine_lines = True

    def _show_best(self, objective: float | None, bound: float | None, gap: float | None) -> None:
        if objective is not None:
            self.tile("Solutions" if self.sense == "count" else "Best").show_value(number_text(objective))
        if bound is not None and self.sense != "count":
            self.tile("Bound").show_value(number_text(bound))
        if gap is not None and self.sense != "count":
            self.tile("Gap").show_value(f"{100 * gap:.3g} %" if gap < 10 else "> 1000 %")

    def summary(self) -> list[tuple[str, str]]:
        """Names and values of the key numbers."""
        return [(tile.name, tile.value) for tile in self._tiles.values()]

    # --- the rest -----------------------------------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        """A panel of its own is closed."""
        release_plots(self)
        super().closeEvent(event)

    def deleteLater(self) -> None:
        """Take the plots apart in order, then go."""
        release_plots(self)
        super().deleteLater()

    def __del__(self) -> None:
        """Whoever has forgotten it has not closed it either."""
        release_forgotten(self)

    def plots(self) -> list[Figure]:
        """All figures, for export and comparison."""
        return list(self._figures)

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        self._dress(theme)
        for figure in self._figures:
            figure.set_theme(theme)

    def _dress(self, theme: Theme) -> None:
        """Change the colours of what is around the figures."""
        meant = {getattr(self.theme, role): getattr(theme, role) for role in ("text", "good", "warning", "bad")}
        self.theme = theme
        self._about.setStyleSheet(f"color: {theme.muted};")
        self.setStyleSheet(f"#page {{ background: {theme.window}; }}")
        for tile in self._tiles.values():
            tile.colour = meant.get(tile.colour, tile.colour)
            tile.theme = theme
            tile.update()
        self.state(self._state)
