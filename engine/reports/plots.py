"""Charts of recorded tables, for ``BENCHMARKS.md``; ``[[plots]]`` in ``docs/records/contents.toml`` lists them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from ..errors import InputError
from .figures import draw_svg
from .report import Report, Table

_NUMBER = re.compile(r"[-+]?\d{1,3}(?:[ \u202f]\d{3})+(?:\.\d+)?|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_BAR, _ROW, _MARGIN, _WIDTH = 0.17, 0.24, 1.0, 7.2  # inches
_MARKERS = "osD^v<"
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


class Plot(BaseModel):
    """A chart of one table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    record: str
    table: str
    file: str
    title: str
    unit: str
    label: list[str]  # columns whose cells name a row of bars; an empty cell is that of the row above
    values: list[str]  # columns with numbers: one bar each
    group: str = ""  # with one column of values: the column whose cells name the bars instead
    where: dict[str, str] = {}  # only the rows with these cells
    log: bool = False  # then there are points in the place of bars


def leading_number(cell: str) -> float | None:
    """The number that a cell begins with, its digits in groups of three or not; None if there is none."""
    found = _NUMBER.match(cell.strip())
    return None if found is None else float(re.sub(r"[ \u202f]", "", found[0]))


def bars_of(plot: Plot, report: Report) -> dict[str, dict[str, float]]:
    """The lengths of the bars by series and row."""
    tables = [block for section in report.sections for block in section.blocks if isinstance(block, Table)]
    table = next((one for one in tables if one.title == plot.table), None)
    if table is None:
        raise InputError(f"{plot.record} has no table {plot.table!r}, which the plot {plot.file} draws")
    missing = {*plot.label, *plot.values, *filter(None, [plot.group]), *plot.where} - set(table.columns)
    if missing:
        raise InputError(f"the table {plot.table!r} has no column {sorted(missing)[0]!r}, which {plot.file} draws")
    series: dict[str, dict[str, float]] = {}
    for row in _filled_rows(table, plot.label):
        if any(row[name] != cell for name, cell in plot.where.items()):
            continue
        label = ", ".join(row[name] for name in plot.label).replace("`", "")
        for column in plot.values:
            number = leading_number(row[column])
            if number is not None:
                series.setdefault(row[plot.group] if plot.group else column, {})[label] = number
    if not series:
        raise InputError(f"the table {plot.table!r} has no number that {plot.file} could draw")
    return series


def _filled_rows(table: Table, repeated: Sequence[str]) -> list[Mapping[str, str]]:
    """The rows as dictionaries; of columns with the same title the first, and empty cells of labels filled in."""
    rows: list[Mapping[str, str]] = []
    for cells in table.rows:
        row: dict[str, str] = {}
        for name, cell in zip(table.columns, cells, strict=True):
            row.setdefault(name, cell)
        for name in repeated:
            if not row[name] and rows:
                row[name] = rows[-1][name]
        rows.append(row)
    return rows


def draw_plot(plot: Plot, report: Report, folder: Path) -> None:
    """Draw the chart into its file in a folder; needs matplotlib."""
    series = bars_of(plot, report)
    labels = list(dict.fromkeys(label for values in series.values() for label in values))
    thickness = 0.8 / len(series)

    def draw(axes: Any) -> None:
        for number, (name, values) in enumerate(series.items()):
            colour = _COLOURS[number % len(_COLOURS)]
            rows, lengths = [labels.index(label) for label in values], list(values.values())
            if plot.log:  # which has no 0 for bars to begin at
                axes.plot(lengths, rows, _MARKERS[number % len(_MARKERS)], color=colour, label=name, markersize=6)
            else:
                places = [row + (number - (len(series) - 1) / 2) * thickness for row in rows]
                axes.barh(places, lengths, thickness, label=name, color=colour)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.grid(visible=plot.log, axis="y")
        axes.set_xlabel(plot.unit)
        axes.figure.suptitle(plot.title, x=0.01, ha="left", fontsize=11)
        if plot.log:
            axes.set_xscale("log")
        if len(series) > 1:
            axes.legend(loc="best", fontsize=9)

    row = _ROW if plot.log else max(_ROW, _BAR * len(series))
    draw_svg(folder / plot.file, draw, (_WIDTH, _MARGIN + row * len(labels)))
