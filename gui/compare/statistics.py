"""Many runs together: spreads, bands over seeds, times to a target, profiles, options, and a table of the groups."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSplitter, QVBoxLayout

from engine.util.text import counted
from gui.app.jobs import Job
from gui.app.meaning import figure_meaning
from gui.app.theme import Theme
from gui.app.widgets import filled
from gui.compare.groups import VALUES, condition_of, differing_options, grouped, numbers_of, titled, values_of
from gui.compare.profiles import is_solved, performance_profiles, solved_within
from gui.compare.progressions import Progression, bands, distances, read_progressions, times_to
from gui.compare.significance import compared, importance
from gui.plot.area import FigureTab
from gui.plot.boxes import BoxPlot, spread
from gui.plot.charts import Bars
from gui.plot.figure import Figure
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.plot.page import Page
from gui.plot.parallel import ParallelPlot
from gui.plot.series import Series
from gui.problem.command_line import commands_of
from gui.runs.columns import column_named
from gui.runs.notes import RunNote

Floats = NDArray[np.float64]

_UNLIKE = "These runs have different kinds of objectives, which share no axis. Choose another value."


class StatisticsTab(FigureTab):
    """Runs grouped by instance and options; each group's spread of a value over its seeds."""

    def __init__(self, notes: Sequence[RunNote], theme: Theme) -> None:
        super().__init__()
        self.notes, self.theme = tuple(notes), theme
        self.groups = grouped(self.notes)
        sweeps = {note.sweep for note in notes}
        self.title = sweeps.pop() if len(sweeps) == 1 and all(sweeps) else f"Statistics of {len(notes)} runs"
        self.value = QComboBox()
        self.value.setAccessibleName("Value")
        for name in (*VALUES, *sorted({f"counter.{key}" for note in notes for key in note.counters})):
            self.value.addItem(column_named(name).title, name)
        self.boxes = BoxPlot("Spread over the runs", theme=theme, key="spread")
        self.solved = LivePlot("Runs solved", "% of each group", theme=theme, key="solved", top=100.0)
        self.profile = LivePlot(
            "Performance profile",
            "% of the problems solved within a factor of the fastest",
            theme=theme,
            key="profile",
            across="time / time of the fastest",
            top=100.0,
            y_title="%",
        )
        self._several = len({note.problem for note in notes}) > 1
        self.bands = LivePlot(
            "Best value over time",
            theme=theme,
            key="bands",
            from_zero=False,
            y_title="%" if self._several else "objective",
        )
        self.reached = LivePlot("Time to target", "% of each group", theme=theme, key="target", top=100.0)
        for plot in (self.bands, self.reached):
            plot.hint("Reading the runs…")
        self.importance = Bars("Importance of options", "% of the variance of ranks", theme=theme, key="importance")
        self.parallel = ParallelPlot("Options and value", "a line for each run", theme=theme, key="parallel")
        self.table = Listing("Groups", theme=theme, key="groups")
        page = Page(columns=2)
        page.put(self.boxes, wide=2)
        for figure in self._smaller:
            page.put(figure)
        for figure in self.plots():
            figure.describe(figure_meaning("", figure.key), partial(commands_of, self.notes))
        self.target = QComboBox()
        self.target.setAccessibleName("Target")
        for percent in (0.0, 0.1, 1.0, 5.0, 10.0):
            self.target.addItem(f"within {percent:g} % of the best", percent)
        self.target.setCurrentIndex(2)
        self.target.currentIndexChanged.connect(lambda _index: self._show_reached())
        row = filled(QHBoxLayout(), QLabel("Value"), self.value, QLabel("Target"), self.target, 1)
        split = QSplitter(Qt.Orientation.Vertical)
        split.addWidget(page)
        split.addWidget(self.table)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        filled(QVBoxLayout(self), row, (split, 1), margins=(8, 8, 8, 6))
        self._unlike = len({(note.solver, note.kind) for note in self.notes}) > 1
        if self._unlike:
            self.value.setCurrentIndex(self.value.findData("time"))
        self.value.currentIndexChanged.connect(lambda _index: self._show())
        self._progressions: list[Progression] = []
        self._job = Job(partial(read_progressions, self.notes), self._show_progressions, lambda _error: None).start()
        self._show_profiles()
        self._show()

    def _show_profiles(self) -> None:
        """The shares of runs solved in time, and within a factor of the fastest where options are compared."""
        for group in self.groups:
            _rise(self.solved, group.name, *solved_within(group.runs))
        profiles = performance_profiles(self.notes)
        self.profile.setVisible(len(profiles) > 1)
        self.profile.set_origin(1.0)
        if len(profiles) > 1:
            for name in sorted(profiles):  # the groups' order, and so their colours
                _rise(self.profile, name, *profiles[name])
        for plot in (self.solved, self.profile):
            _end(plot)

    @property
    def _smaller(self) -> tuple[Figure, ...]:
        return self.bands, self.reached, self.solved, self.profile, self.importance, self.parallel

    def _show_progressions(self, read: list[Progression]) -> None:
        """Medians and quartiles of each group over time: of the objective, or where instances differ of distances."""
        self._progressions = distances(read)
        unit = "% from the best found, " if self._several else ""
        self.bands.set_unit(f"{unit}median and quartiles of each group")
        for place, group in enumerate(self.groups):
            own = [one for one in (self._progressions if self._several else read) if one.note in group.runs]
            if own:
                curve = self.bands.series(group.name, self.theme.colour(place), self.theme.dash(place))
                curve.replace(Series.band(*bands(own)))
        _end(self.bands)
        self._show_reached()

    def _show_reached(self) -> None:
        for group in self.groups:
            own = [one for one in self._progressions if one.note in group.runs]
            _rise(self.reached, group.name, *times_to(self.target.currentData(), own, len(group.runs)))
        _end(self.reached)

    def _show(self) -> None:
        name = str(self.value.currentData())
        title = column_named(name).title
        spreads = [(group, spread(values_of(group, name))) for group in self.groups]
        known = [(group.name, one) for group, one in spreads if one is not None]
        unlike = self._unlike and name in ("best", "bound")
        self.boxes.put([] if unlike else known, f"{title} (s)" if name == "time" else title)
        if unlike:
            self.boxes.hint(_UNLIKE)
        groups = counted(len(self.groups), "group")
        self.boxes.set_unit(f"{title.lower()} of {counted(len(self.notes), 'run')} in {groups}")
        self.boxes.draw_later()
        options = differing_options(self.notes)
        self._show_options(name, title, [] if unlike else options)
        numbers_shown = ["mean", "sd", f"median {title.lower()}", "min", "max"]
        headers = [*map(titled, options), "runs", "solved", *numbers_shown, "p against the first", "test"]
        one_instance = len({group.instance for group in self.groups}) == 1
        headers = [*headers, "instance"] if one_instance else ["instance", *headers]
        rows: list[tuple[Any, ...]] = []
        for (group, one), chance in zip(spreads, compared(self.groups, name), strict=True):
            solved = sum(is_solved(note) for note in group.runs)
            numbers: tuple[float | None, ...] = (None,) * 5
            if one is not None:
                values = np.array(values_of(group, name))
                deviation = float(values.std(ddof=1)) if len(values) > 1 else None
                numbers = (float(values.mean()), deviation, one.median, float(values.min()), float(values.max()))
            cells = (*(group.options[option] for option in options), len(group.runs), solved, *numbers, *chance)
            rows.append((*cells, group.instance) if one_instance else (group.instance, *cells))
        self.table.put(headers, rows)
        self.table.fit_columns()

    def _show_options(self, name: str, title: str, options: Sequence[str]) -> None:
        """Which options matter for the value, and the runs as lines through their options."""
        known = numbers_of(self.notes, name) if options else []
        for place, (option, share) in enumerate(importance([note for note, _ in known], name).items()):
            self.importance.put(titled(option), share, self.theme.colour(place))
        self.importance.hint("" if known else "The runs do not differ in options.")
        rows = [(*(condition_of(note, option) for option in options), value) for note, value in known]
        self.parallel.put([*map(titled, options), title], rows)
        for figure in (self.importance, self.parallel):
            figure.draw_later()

    def plots(self) -> list[Any]:
        return [self.boxes, *self._smaller, self.table]

    def close_sources(self) -> None:
        self._job.discard()


def _end(plot: LivePlot) -> None:
    end = max((float(curve.data.last_time) for curve in plot.curves if len(curve.data)), default=0.0)
    plot.now(1.05 * end)
    plot.latest = True
    plot.complete()


def _rise(plot: LivePlot, name: str, at: Floats, shares: Floats) -> None:
    """Draw a distribution that rises at these places, from 0, in percent."""
    begin = 0.0 if plot.across == "s" else 1.0
    plot.series(name, step=True).replace(Series.of(np.append(begin, at), np.append(0.0, 100.0 * shares)))
