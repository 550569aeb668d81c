"""The base of all dashboards: events, figures that follow them, key numbers, warnings, pages."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QTabWidget, QVBoxLayout, QWidget

from engine.base.problem import Problem
from engine.base.result import Result
from engine.events import (
    Compiling,
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
from engine.util.text import compiling_text, gap_text, seconds_text, short_number_text, value_text
from gui.app.meaning import figure_meaning, tile_meaning
from gui.app.style import state_colour
from gui.app.theme import Theme
from gui.app.widgets import filled, text_label
from gui.panels.devices import DevicesPage
from gui.panels.info import InfoPage
from gui.panels.reports import ReportGroup
from gui.panels.run_info import RunInfo
from gui.panels.time_axes import TimeAxes
from gui.plot.area import Cleanup
from gui.plot.figure import Figure
from gui.plot.legend import FlowLayout
from gui.plot.live import LivePlot
from gui.plot.page import OneLine, Page, Tile, was_hidden
from gui.problem.command_line import command_of
from gui.runs.recorded import Recorded, read_recorded
from gui.runs.view import NO_SOLUTION, RunView

F = TypeVar("F", bound=Figure)

_NEUTRAL_STATES = ("waiting", "queued", "starting", "running")
_ROOMY = 1000  # pixels; where a dashboard is narrower, key numbers are small
_FINE_PATHS = 20_000  # pixels of line in all plots seen together, beyond which they are drawn thin, to be quick


class Panel(Cleanup, QWidget):
    """The dashboard of one run; subclasses make figures in :meth:`build` and override ``on_...`` methods."""

    solver: ClassVar[str] = ""

    time_chosen = Signal(float)

    device_page: DevicesPage | None = None
    """Set by :meth:`add_device_page`."""

    def __init__(self, run: RunInfo, theme: Theme, parent: QWidget | None = None, view: RunView | None = None) -> None:
        super().__init__(parent)
        self.run, self.theme = run, theme
        self.view = view or RunView()
        self.devices: list[str] = []
        self.started: Started | None = None
        self.result: Result | None = None
        self.problem = run.problem
        self.sense = run.problem.sense if run.problem is not None else "maximize"
        self._figures: list[Figure] = []
        self._time_axes = TimeAxes()
        self._followed: list[tuple[LivePlot, tuple[str, ...], Sequence[str]]] = []
        self._routes: dict[str, list[Callable[[Metric], None]]] = {}
        self._groups: list[ReportGroup] = []
        self._tiles: dict[str, Tile] = {}
        self._last_tiles: set[str] = set()
        self._handlers: dict[type, Callable[[Any], None]] = {
            Metric: self._metric,
            Trace: self._trace,
            DeviceStatus: lambda event: self.device_page.status(event) if self.device_page is not None else None,
            Incumbent: self.on_incumbent,
            Progress: self._progress,
            Compiling: self._compiling,
            Started: self._started,
            StateChanged: self.on_event,  # the view has taken what it says
            Notice: self.on_event,
            Finished: self._finished,
            Failed: lambda _event: self._complete_plots(),
        }
        self.setAccessibleName(f"Dashboard of {run.title or run.solver}")
        self._strip = QFrame()
        self._strip.setObjectName("strip")
        self._flow = FlowLayout(self._strip, gap=18)
        self._flow.setContentsMargins(0, 0, 0, 0)
        self._about = OneLine()
        self._about.setObjectName("muted")
        self._about.setTextFormat(Qt.TextFormat.PlainText)
        self._about.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._warning_label = text_label(
            kind="warning", wrap=True, plain=True, selectable=True, name="Warnings of the run"
        )
        self._warning_label.hide()
        self.pages = QTabWidget(documentMode=True)
        self.pages.setAccessibleName("Pages of the dashboard")
        filled(
            QVBoxLayout(self),
            self._about,
            self._warning_label,
            self._strip,
            (self.pages, 1),
            margins=(6, 6, 6, 4),
            spacing=4,
        )
        for name in ("State", "Elapsed", "Remaining", "Best", "Solutions", self.bound_title(), "Gap", "Rate"):
            self.tile(name)  # in this order, whichever is known first
            if name not in ("State", "Elapsed"):
                self.drop_tile(name)
        self.build()
        self.info = InfoPage(theme, run.note)
        self.add(self.info.listing, self.page("Info", columns=1))
        if run.problem is not None:
            self._about.setText(run.problem.describe())
        self._apply_theme(theme)

    # --- for subclasses -----------------------------------------------------------------------------------------

    def build(self) -> None:
        """Make pages and figures."""

    def on_event(self, _event: Any) -> None:
        """What a dashboard does besides at an event of this kind; ``on_metric`` has those that no figure follows."""

    on_started = on_metric = on_trace = on_progress = on_incumbent = on_finished = on_event

    def postprocessor(self) -> Callable[[Result, Problem | None], Any]:
        """What makes of a result that which :meth:`on_result` shows, on another thread: it must not hold the panel."""
        return lambda _result, _problem: None

    def on_result(self, result: Result, processed: Any) -> None:
        """The whole result, from the run folder, and what :meth:`postprocessor` has made of it."""

    def page(self, title: str, columns: int = 2) -> Page:
        page = Page(columns)
        self.pages.addTab(page, title)
        page.setAccessibleName(title)
        return page

    def figure(
        self,
        kind: type[F],
        page: Page,
        title: str,
        unit: str = "",
        *,
        wide: int = 1,
        optional: bool = False,
        **more: Any,
    ) -> F:
        """A new figure on a page; an ``optional`` one is shown once it has something to show."""
        figure = kind(title, unit, theme=self.theme, **more)
        if optional:
            figure.hide()
            figure.filled = partial(page.reveal, figure)
        return self.add(figure, page, wide)

    def add(self, figure: F, page: Page, wide: int = 1) -> F:
        """Keep a figure for exports and theme, put it on a page, and return it."""
        self._figures.append(figure)
        note = self.run.note
        figure.describe(figure_meaning(self.solver, figure.key), str if note is None else partial(command_of, note))
        if isinstance(figure, LivePlot):
            self._time_axes.add(figure)
            if figure.across == "s":
                figure.hovered.connect(self._show_cursor)
                figure.chosen.connect(self.time_chosen)
        page.put(figure, wide)
        return figure

    def _show_cursor(self, time: float | None) -> None:
        """Show the values of all plots over time at the cursor of one of them."""
        for plot in self._live_plots():
            if plot.across == "s":
                plot.show_cursor(time)

    def add_device_page(self) -> None:
        self.device_page = DevicesPage(self.figure, self.page("Devices", columns=3), self.device_index)

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

    def draw_best(self, plot: LivePlot, event: Incumbent, name: str, remark: str = "") -> None:
        """Steps in the curves of the best value, of that name, and of the bound; the gap beside the title."""
        for title, value in ((name, event.objective), ("bound", event.bound)):
            if value is not None:
                plot.series(title, step=True).append(event.time, value)
        if event.gap is not None:
            plot.set_unit(f"{remark}gap {gap_text(event.gap)}")

    def group(self, key: str, receive: Callable[[float, dict[str, float]], None]) -> ReportGroup:
        """Pair metrics of one moment by a key, and deliver them with each batch of events."""
        self._groups.append(ReportGroup(key, receive))
        return self._groups[-1]

    def device_index(self, label: str) -> int:
        """Place of a device in the pool: its colour and dash in every plot."""
        if label not in self.devices:
            self.devices.append(label)
        return self.devices.index(label)

    def tile(self, name: str) -> Tile:
        """The key number of that name above the pages, made if there is none."""
        if name not in self._tiles:
            self._tiles[name] = Tile(name, self.theme)
            self._tiles[name].describe(tile_meaning(self.solver, name))
            self._tiles[name].make_compact(self.width() < _ROOMY)
            self._flow.addWidget(self._tiles[name])
        elif was_hidden(self._tiles[name]):
            self._tiles[name].show()
        return self._tiles[name]

    def drop_tile(self, name: str) -> None:
        """Take a key number away that means nothing any more."""
        if name in self._tiles:
            self._tiles[name].hide()

    def _shown_tiles(self) -> dict[str, Tile]:
        return {name: tile for name, tile in self._tiles.items() if not was_hidden(tile)}

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where it is narrow, key numbers are small, so that they have one line."""
        super().resizeEvent(event)
        self._flow.gap = 7 if self.width() < _ROOMY else 18
        for tile in self._tiles.values():
            tile.make_compact(self.width() < _ROOMY)
        self._strip.setMinimumHeight(0)

    # --- events -------------------------------------------------------------------------------------------------

    def feed(self, events: Sequence[Event], draw: bool = True) -> None:
        """Take a batch of events and draw what they changed; without ``draw``, leave that to :meth:`refresh`."""
        self.view.take(events)
        handlers = self._handlers
        for event in events:
            handlers[type(event)](event)
        for group in self._groups:  # what the tiles show is in the plots, too
            group.deliver()
        if events:
            for plot in self._live_plots():
                if plot.across == "s":
                    plot.now(self.time)
        self.show_view()
        if draw:
            self.refresh()

    @property
    def time(self) -> float:
        """Seconds of the run at its last event."""
        return self.view.event_time

    @property
    def reason(self) -> str:
        """Why there is no solution, once that is known."""
        state = self.view.state
        known = state in NO_SOLUTION and self.view.message
        return f"{state.replace('_', ' ').capitalize()}: {self.view.message}" if known else ""

    def show_view(self) -> None:
        """Show the key numbers and warnings of the run as they are now."""
        view, counted = self.view, self.sense == "count"
        neutral = bool(view.replay) or view.state in _NEUTRAL_STATES
        colour = self.theme.text if neutral else state_colour(self.theme, view.state, len(view.warnings))
        self.tile("State").show_value(view.state_text, colour)
        self.tile("Elapsed").show_value(seconds_text(view.clock))
        numbers = {
            "Solutions" if counted else "Best": None if view.best is None else value_text(view.best),
            self.bound_title(): None if view.bound is None or counted else value_text(view.bound),
            "Gap": None if view.gap is None or counted else gap_text(view.gap),
            "Rate": None if view.rate is None else short_number_text(view.rate.value),
        }
        for name, text in numbers.items():
            if text is not None:
                self.tile(name).show_value(text)
            else:
                self.drop_tile(name)
        if view.rate is not None:
            unit = view.rate.unit
            self.tile("Rate").rename(f"{unit[:1].upper()}{unit[1:]}, {view.rate.kind}")
        if view.remaining_text or ("Remaining" in self._shown_tiles() and view.working):  # it stays: others would move
            self.tile("Remaining").show_value(view.remaining_text.removesuffix(" left") or "–")
        else:
            self.drop_tile("Remaining")
        if self.isVisible():  # what is below the strip does not jump as numbers come and go
            lines_of_tiles = self._flow.heightForWidth(self._strip.width())
            self._strip.setMinimumHeight(max(self._strip.minimumHeight(), lines_of_tiles))
        lines = [*([self.reason] if self.reason else []), *(f"Warning: {text}" for text in view.warnings)]
        self._warning_label.setText("\n".join(lines))
        self._warning_label.setVisible(bool(lines))

    def refresh(self, at_once: bool = True) -> None:
        """Draw what has changed; else one figure after another, so that the window answers in between."""
        seen = [figure for figure in self._figures if isinstance(figure, LivePlot) and figure.isVisible()]
        length = sum(plot.path_length for plot in seen)
        self._fine_lines = length < (_FINE_PATHS if self._fine_lines else 0.7 * _FINE_PATHS)
        for plot in seen:
            plot.fine_lines = self._fine_lines
        for figure in self._figures:
            if figure.dirty:
                (figure.refresh if at_once and figure.populated else figure.draw_later)()

    def finish(self, folder: Path | None) -> None:
        """The run folder is complete: read it and show the result in it."""
        self.show_result(None if folder is None else read_recorded(folder, self.postprocessor()))

    def show_result(self, recorded: Recorded | None) -> None:
        """The run has ended: show what :func:`gui.runs.recorded.read_recorded` has read, if there is a folder."""
        if recorded is not None:
            self.problem = self.problem or recorded.problem
            self.run = replace(self.run, folder=recorded.folder)
            if recorded.result is not None:  # its draws can be gigabytes, and on_result has them
                self.result = replace(recorded.result, solution=None, arrays={})
        self._complete_plots()
        if recorded is not None and recorded.result is not None:
            self.on_result(recorded.result, recorded.processed)
        self.info.complete(self.run.folder)
        for tile in self._tiles.values():
            tile.settle()
        for figure in self._figures:
            figure.draw_later()

    def _compiling(self, event: Compiling) -> None:
        if self.device_page is not None:
            self.device_page.timeline.add_kernel(event.device, event.time, event.template)
        text = compiling_text(event.count, self.view.usual_kernels or event.usual)
        self.wait_for(f"{text[:1].upper()}{text[1:]}, which takes seconds only the first time…")

    def wait_for(self, text: str) -> None:
        """Say in the figures without data what is being waited for; an empty text says what each of them needs."""
        self._compile_hint = text
        for plot in self._live_plots():
            if not plot.curves_have_data:
                plot.hint(text or plot.empty)

    def _live_plots(self) -> list[LivePlot]:
        return [figure for figure in self._figures if isinstance(figure, LivePlot)]

    def _metric(self, event: Metric) -> None:
        if self._compile_hint:
            self.wait_for("")
        self._time_axes.begin_work(event.time)
        routes = self._routes.get(event.name)
        if routes is None:
            self.on_metric(event)
        else:
            for route in routes:
                route(event)

    def _trace(self, event: Trace) -> None:
        self._time_axes.begin_work(event.time)
        self.on_trace(event)

    def _started(self, event: Started) -> None:
        for label in event.devices:
            self.device_index(label)
        if event.resumed and self.started is not None:
            self._time_axes.resume(event.time)
            for name in self._last_tiles:  # of the session before; they would stay as they were
                self.drop_tile(name)
            for figure in self._figures:
                figure.begin_session(event.time)
        else:
            self._prepare_devices(event)
        if self.started is None:
            self._time_axes.begin_run(event.time)
        self.started, self.sense = event, event.sense
        self._about.setText(event.description)
        if self.device_page is not None:
            self.device_page.started(event)
        self.info.started(event, None if self.problem is None else type(self.problem))
        if self._compile_hint:
            self.wait_for("The solver is preparing the problem…")
        self.on_started(event)

    def _prepare_devices(self, event: Started) -> None:
        """Create the curves of all devices in the pool's order, whichever reports first."""
        per_device = {spec["name"] for spec in event.metrics if spec.get("per_device")}
        for plot, metrics, _ in self._followed:
            if len(metrics) == 1 and metrics[0] in per_device:
                for index, label in enumerate(event.devices):
                    plot.series(label, self.theme.colour(index), self.theme.dash(index))

    def _progress(self, event: Progress) -> None:
        if self._compile_hint and event.phase:
            self.wait_for(f"{event.phase[:1].upper()}{event.phase[1:]}…")
        self.on_progress(event)

    def _finished(self, event: Finished) -> None:
        self._complete_plots()
        before = set(self._shown_tiles())
        self.on_finished(event)
        self._last_tiles = set(self._shown_tiles()) - before

    def _complete_plots(self) -> None:
        for plot in self._live_plots():
            plot.complete()

    _compile_hint = ""
    _fine_lines = True

    def bound_title(self) -> str:
        """What a bound is called: a solver may know that it is the optimum."""
        return "Bound"

    def counter_title(self, name: str) -> str:
        """The title of a counter, from the solver's declaration."""
        spec = self.run.schema.counter(name) if self.run.schema is not None else None
        return spec.title if spec is not None and spec.title else name.replace("_", " ")

    def summary(self) -> list[tuple[str, str]]:
        return [(tile.name, tile.value) for tile in self._shown_tiles().values()]

    # --- the rest -----------------------------------------------------------------------------------------------

    def plots(self) -> list[Figure]:
        """All figures that have a place, for export and comparison."""
        return [figure for figure in self._figures if not was_hidden(figure)]

    def set_theme(self, theme: Theme) -> None:
        self._apply_theme(theme)
        for figure in self._figures:
            figure.set_theme(theme)

    def _apply_theme(self, theme: Theme) -> None:
        """Change the colours around the figures."""
        meant = {getattr(self.theme, role): getattr(theme, role) for role in ("text", "good", "warning", "bad")}
        self.theme = theme
        for tile in self._tiles.values():
            tile.colour = meant.get(tile.colour, tile.colour)
            tile.theme = theme
            tile.update()
        self.show_view()
