"""Comparison of runs: their numbers and options side by side, and all their series on common axes."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from engine.events import Event, Failed, Finished, Incumbent, Metric, Started
from engine.util.text import gap_text, option_text, seconds_text, value_text
from gui.app.icons import dot
from gui.app.meaning import figure_meaning
from gui.app.theme import DASHES, Theme
from gui.app.widgets import filled
from gui.compare.counts import Counts
from gui.plot.area import FigureTab
from gui.plot.curves import Curve
from gui.plot.live import LivePlot
from gui.plot.page import Page
from gui.plot.series import Series
from gui.problem.command_line import commands_of
from gui.runs.columns import solver_title
from gui.runs.notes import COLOURS, RunNote, distinctions, short_titles
from gui.runs.player import Player
from gui.runs.view import RunView, state_text

_MOST_EVENTS = 2000
_ROWS = ("solver", "state", "best", "bound", "gap", "time", "rate")


class CompareTab(FigureTab):
    """Two or more recorded runs; objectives of one instance share an axis. ``ready()`` when all are read."""

    def __init__(self, notes: Sequence[RunNote], theme: Theme) -> None:
        super().__init__()
        self.notes, self.theme = tuple(notes), theme
        self.title = _title(self.notes)
        self.complete = False
        self._colours = _colours(self.notes)
        self._one_instance = len({note.problem for note in self.notes}) == 1
        self._figures: dict[str, LivePlot] = {}
        self._shown = self._figures
        self._others: dict[str, dict[str, LivePlot]] = {}
        self._counts = [Counts() for _ in notes]
        self._units: dict[str, tuple[str, str, bool]] = {}
        self._shares: set[str] = set()
        self._devices: list[list[str]] = [[] for _ in notes]
        self._started: list[Started | None] = [None for _ in notes]
        self._resumed: list[tuple[int, float]] = []
        self._steps: list[dict[tuple[str, str], Curve]] = [{} for _ in notes]
        self._curves: list[set[Curve]] = [set() for _ in notes]
        self._views = [RunView() for _ in notes]
        self._players = [Player(note.path / "events.jsonl", math.inf, self) for note in notes]
        self.table = _table(self.notes)
        self.page = Page(columns=2)
        self.against = QComboBox()
        self.against.setAccessibleName("Horizontal axis")
        self.against.addItem("time", "")
        self._row = QWidget()
        row = QHBoxLayout(self._row)
        row.setContentsMargins(6, 4, 6, 0)
        row.addWidget(QLabel("Curves against"))
        row.addWidget(self.against)
        row.addStretch(1)
        self._row.hide()
        self.against.currentIndexChanged.connect(lambda _index: self.show_against(str(self.against.currentData())))
        filled(QVBoxLayout(self), self.table, self._row, (self.page, 1), margins=(6, 6, 6, 4))

    def tick(self) -> None:
        """Take new events and draw them."""
        if self.complete:
            return
        for place, player in enumerate(self._players):
            events = player.take(_MOST_EVENTS)
            self._views[place].take(events)
            for event in events:
                self._take(place, event)
        if all(player.over for player in self._players):
            self.complete = True
            for figure in self._figures.values():
                figure.setVisible(bool(figure.curves))
                figure.complete()
            self.page.arrange()
            self._show_numbers()
            self._show_options()
            self._offer_counts()
            self.ready.emit()
        for figure in self._shown.values():
            (figure.refresh if figure.populated else figure.draw_later)()

    def _offer_counts(self) -> None:
        """Offer what all of the runs count as the horizontal axis."""
        common = set.intersection(*(counts.names for counts in self._counts))
        for name in sorted(common):
            self.against.addItem(name, name)
        self._row.setVisible(bool(common))

    def show_against(self, count: str) -> None:
        """Draw the curves against a count of :attr:`against`, or against time for an empty text."""
        for figure in self._shown.values():
            figure.hide()
        if count and count not in self._others:
            self._others[count] = {key: self._redrawn(key, figure, count) for key, figure in self._figures.items()}
        self._shown = self._others[count] if count else self._figures
        for figure in self._shown.values():
            figure.setVisible(bool(figure.curves))
        self.page.arrange()

    def _redrawn(self, metric: str, by_time: LivePlot, count: str) -> LivePlot:
        """The curves of a figure over time, against a count, in the order of the runs."""
        figure = self._make(metric, count)
        places = {curve: place for place, own in enumerate(self._curves) for curve in own}
        for curve in sorted(by_time.curves, key=places.__getitem__):
            place = places[curve]
            times, values = curve.data.points()
            drawn = figure.series(curve.name, curve.colour, curve.dash)
            drawn.replace(Series.of(self._counts[place].at(count, times), values))
        for place, time in self._resumed:
            x = self._counts[place].at(count, np.array([time]))
            figure.mark_session(float(x[0]), f"{self._name(place)} resumed")
        figure.set_theme(self.theme)
        figure.complete()
        return figure

    def _take(self, place: int, event: Event) -> None:
        self._counts[place].take(event)
        match event:
            case Started():
                self._started[place] = event
                for metric in ("_best", "_gap"):
                    self._figure(metric)
                for spec in event.metrics:
                    title, unit = str(spec.get("title", spec["name"])), str(spec.get("unit", ""))
                    if unit == "share":
                        unit = "%"
                        self._shares.add(str(spec["name"]))
                    self._units.setdefault(str(spec["name"]), (title, unit, bool(spec.get("log"))))
                if event.resumed:
                    for curve in self._curves[place]:
                        curve.data.cut(event.time)
                    self._resumed.append((place, event.time))
                    for figure in self._figures.values():
                        figure.mark_session(event.time, f"{self._name(place)} resumed")
            case Metric():
                scale = 100 if event.name in self._shares else 1
                self._point(place, event.name, "", event.time, scale * event.value, event.device)
            case Incumbent() | Finished():
                self._show_best(place, event.time, event.objective, event.bound, event.gap)
        if isinstance(event, Finished | Failed):
            for curve in self._steps[place].values():
                self._hold(curve, event.time)

    def _show_best(self, place: int, time: float, best: float | None, bound: float | None, gap: float | None) -> None:
        """The same numbers in the curves and, through the summary, in the table; a count has no bound."""
        started = self._started[place]
        if started is not None and started.sense == "count":
            bound = gap = None
        if best is not None and self._one_instance:
            self._point(place, "_best", "best", time, float(best))
        if bound is not None and self._one_instance:
            self._point(place, "_best", "bound", time, float(bound))
        if gap is not None:
            self._point(place, "_gap", "", time, 100 * gap)

    def _name(self, place: int) -> str:
        """The run's number in the table, or its title where that tells two apart."""
        return str(place + 1) if _numbered(self.notes) else self.notes[place].title

    def _point(self, place: int, metric: str, what: str, time: float, value: float, device: str | None = None) -> None:
        figure = self._figure(metric)
        started = self._started[place]
        several = device is not None and started is not None and len(started.devices) > 1
        parts = [self._name(place), *([what] if what else []), *([device] if several and device else [])]
        dash = place + (len(self.notes) if what == "bound" else 0)
        if device is not None:
            if device not in self._devices[place]:
                self._devices[place].append(device)
            dash += len(self.notes) * self._devices[place].index(device)
        curve = figure.series(" ".join(parts), self._colours[place], DASHES[dash % len(DASHES)])
        self._curves[place].add(curve)
        if metric in ("_best", "_gap"):  # steps that end where their own run ends
            self._steps[place][metric, curve.name] = curve
            self._hold(curve, time)
        curve.append(time, value)

    @staticmethod
    def _hold(curve: Curve, time: float) -> None:
        """Extend a step curve to the present time."""
        if not math.isnan(curve.data.last):
            curve.append(time, curve.data.last)

    def _figure(self, metric: str) -> LivePlot:
        if metric not in self._figures:
            self._figures[metric] = self._make(metric)
        return self._figures[metric]

    def _make(self, metric: str, across: str = "s") -> LivePlot:
        own = {"_best": ("Best and bound", "", False), "_gap": ("Gap", "%", True)}
        title, unit, log = own.get(metric) or self._units.get(
            metric, (metric.replace("_", " ").capitalize(), "", False)
        )
        y_title = "objective" if metric == "_best" else unit or "value"  # short: a long one would not fit
        from_zero = metric != "_best"
        figure = LivePlot(title, unit, log, self.theme, across=across, from_zero=from_zero, y_title=y_title)
        figure.setMinimumHeight(190)
        figure.describe(figure_meaning("", "compared"), partial(commands_of, self.notes))
        self.page.put(figure)
        return figure

    def _show_numbers(self) -> None:
        """Fill the table from the events that the curves were drawn from."""
        for column, (note, view) in enumerate(zip(self.notes, self._views, strict=True), start=1):
            known = note if view.live else view  # the events of a killed run, or a damaged record, have no end
            values = (
                solver_title(note.solver),
                state_text(known.state, len(view.warnings)),
                value_text(known.best),
                value_text(known.bound),
                gap_text(known.gap),
                seconds_text(note.seconds if view.live else view.clock),
                view.rate.text if view.rate and not view.live else "–",
            )
            for row, text in enumerate(values):
                self.table.setItem(row, column, QTableWidgetItem(text))
        if not any(view.rate and not view.live for view in self._views):
            self.table.removeRow(_ROWS.index("rate"))

    def _show_options(self) -> None:
        """Rows for the options in which the runs differ."""
        options = [event.options if event else {} for event in self._started]
        for name in sorted(set.intersection(*(set(one) for one in options))):
            values = [option_text(one[name]) for one in options]
            if len(set(values)) > 1:
                self._add_row(name.replace("_", " "), values)
        seeds = [str(event.seed) if event else "–" for event in self._started]
        devices = [", ".join(event.devices) if event else "–" for event in self._started]
        for title, values in (("seed", seeds), ("devices", devices)):
            if len(set(values)) > 1:
                self._add_row(title, values)
        _fit(self.table)

    def _add_row(self, title: str, values: list[str]) -> None:
        row = self.table.rowCount()
        self.table.setRowCount(row + 1)
        for column, text in enumerate((title, *values)):
            self.table.setItem(row, column, QTableWidgetItem(text))

    def plots(self) -> list[Any]:
        return list(self._shown.values())

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        for figures in (self._figures, *self._others.values()):
            for figure in figures.values():
                figure.set_theme(theme)

    def close_sources(self) -> None:
        for player in self._players:
            player.close()


def _title(notes: Sequence[RunNote]) -> str:
    """Both titles of two runs, or the one that they have and by what they differ."""
    if len(notes) != 2:
        return f"Comparison of {len(notes)} runs"
    differs = distinctions(notes)
    one, other = ((differs.get(note.key) or note.title).split() for note in notes)
    if not differs:
        return f"{' '.join(one)} | {' '.join(other)}"
    own = next((place for place, words in enumerate(zip(one, other, strict=False)) if words[0] != words[1]), 0)
    return f"{notes[0].title}: {' '.join(one)} | {' '.join(other[own:])}"


def _colours(notes: Sequence[RunNote]) -> list[str]:
    """The runs' own colours; where two have the same, colours in turn, which differ from run to run with the dashes."""
    own = [note.colour for note in notes]
    return own if len(set(own)) == len(own) else [COLOURS[place % len(COLOURS)] for place in range(len(notes))]


def _numbered(notes: Sequence[RunNote]) -> bool:
    """Whether runs are named by numbers: there are more than two, or two of one title."""
    return len(notes) > 2 or len({note.title for note in notes}) < len(notes)


_LEAST_COLUMN, _MOST_COLUMN = 130, 280  # pixels; more runs than fit are scrolled


def _table(notes: Sequence[RunNote]) -> QTableWidget:
    """An empty table with a column for each run."""
    colours, differs, short = _colours(notes), distinctions(notes), short_titles(notes)
    table = QTableWidget(len(_ROWS), 1 + len(notes))
    table.setAccessibleName("The runs side by side")
    table.setHorizontalHeaderItem(0, QTableWidgetItem(""))
    widest = _LEAST_COLUMN
    for column, note in enumerate(notes, start=1):
        name = (differs.get(note.key) or short[note.key]).replace(", ", "\n")  # by what runs differ has a line each
        header = QTableWidgetItem(f"{column} {name}" if _numbered(notes) else name)
        header.setToolTip(f"{note.title} {differs.get(note.key, '')}".strip())
        header.setIcon(dot(colours[column - 1]))
        table.setHorizontalHeaderItem(column, header)
        widest = max(widest, table.fontMetrics().size(0, header.text()).width() + 40)  # with the dot
    for row, title in enumerate(_ROWS):
        table.setItem(row, 0, QTableWidgetItem(title))
    table.verticalHeader().hide()
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
    table.setShowGrid(False)
    table.setTabKeyNavigation(False)
    header_view = table.horizontalHeader()
    header_view.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
    header_view.setMinimumSectionSize(min(widest, _MOST_COLUMN))
    header_view.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    table.verticalHeader().setDefaultSectionSize(table.fontMetrics().height() + 6)
    _fit(table)
    return table


def _fit(table: QTableWidget) -> None:
    """As high as its rows, up to a limit."""
    rows = min(table.rowCount(), 9)
    table.setFixedHeight(
        rows * table.verticalHeader().defaultSectionSize() + table.horizontalHeader().sizeHint().height() + 6
    )
