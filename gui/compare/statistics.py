"""Many runs together: box plots over seeds, and a table of the groups with the options in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSplitter, QVBoxLayout, QWidget

from engine.util.text import counted
from gui.app.theme import Theme
from gui.compare.groups import VALUES, differing_options, grouped, values_of
from gui.compare.profiles import is_solved, performance_profiles, solved_within
from gui.plot.area import Cleanup
from gui.plot.boxes import BoxPlot, spread
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.plot.page import Page
from gui.plot.series import Series
from gui.runs.columns import column_named
from gui.runs.notes import RunNote

__all__ = ["StatisticsTab"]

Floats = NDArray[np.float64]

_UNLIKE = "These runs have different kinds of objectives, which share no axis. Choose another value."


class StatisticsTab(Cleanup, QWidget):
    """Runs grouped by instance and options; each group's spread of a value over its seeds.

    Parameters
    ----------
    notes : sequence of RunNote
        Runs that have ended, of one solver or several.
    """

    ready = Signal()
    complete = True

    def __init__(self, notes: Sequence[RunNote], theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
        self.table = Listing("Groups", theme=theme, key="groups")
        page = Page(columns=2)
        page.put(self.boxes, wide=2)
        for plot in (self.solved, self.profile):
            page.put(plot)
        row = QHBoxLayout()
        row.addWidget(QLabel("Value"))
        row.addWidget(self.value)
        row.addStretch(1)
        split = QSplitter(Qt.Orientation.Vertical)
        split.addWidget(page)
        split.addWidget(self.table)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 6)
        layout.addLayout(row)
        layout.addWidget(split, 1)
        self._unlike = len({(note.solver, note.kind) for note in self.notes}) > 1
        if self._unlike:
            self.value.setCurrentIndex(self.value.findData("time"))
        self.value.currentIndexChanged.connect(lambda _index: self._show())
        self._show_profiles()
        self._show()

    def _show_profiles(self) -> None:
        """The shares of runs solved in time, and within a factor of the fastest where options are compared."""
        for group in self.groups:
            _rise(self.solved, group.name, *solved_within(group.runs))
        profiles = performance_profiles(self.notes)
        self.profile.setVisible(len(profiles) > 1)
        for name, steps in profiles.items() if len(profiles) > 1 else ():
            _rise(self.profile, name, *steps)
        for plot in (self.solved, self.profile):
            end = max((float(curve.data.last_time) for curve in plot.curves if len(curve.data)), default=0.0)
            plot.now(1.05 * end)
            plot.latest = True
            plot.complete()

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
        headers = [*options, "runs", "solved", f"median {title.lower()}", "least", "largest"]
        one_instance = len({group.instance for group in self.groups}) == 1
        headers = [*headers, "instance"] if one_instance else ["instance", *headers]
        rows: list[tuple[Any, ...]] = []
        for group, one in spreads:
            solved = sum(is_solved(note) for note in group.runs)
            numbers: tuple[float | None, ...] = (None, None, None)
            if one is not None:
                numbers = (one.median, min((one.low, *one.outliers)), max((one.high, *one.outliers)))
            cells = (*(group.options[name] for name in options), len(group.runs), solved, *numbers)
            rows.append((*cells, group.instance) if one_instance else (group.instance, *cells))
        self.table.put(headers, rows)
        self.table.fit_columns()

    def tick(self) -> None:
        """Nothing comes in."""

    def plots(self) -> list[Any]:
        """All figures, for export."""
        return [self.boxes, self.solved, *([self.profile] if self.profile.curves else []), self.table]

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        self.theme = theme
        for figure in self.plots():
            figure.set_theme(theme)

    def close_sources(self) -> None:
        """There are none."""


def _rise(plot: LivePlot, name: str, at: Floats, shares: Floats) -> None:
    """Draw a distribution that rises at these places, from 0, in percent."""
    curve = plot.series(name, step=True)
    if len(at):
        begin = 0.0 if plot.across == "s" else 1.0
        curve.replace(Series.of(np.append(begin, at), np.append(0.0, 100.0 * shares)))
