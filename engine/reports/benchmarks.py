"""``BENCHMARKS.md`` and its plots from the records in ``docs/records``: ``python -m engine.reports.benchmarks``.

``contents.toml`` in that folder lists sections, and in each the records with their machine; a record is a file that
``quintet bench SOLVER --record FILE`` has written. ``notes`` adds the line of context above a table, by its title, and
``plots`` the charts below tables (see :class:`engine.reports.plots.Plot`), which are in ``docs/images/benchmarks``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from mako.template import Template

from ..util.files import write_whole
from .figures import can_draw
from .machine import machine_lines
from .plots import Plot, bars_of, draw_plot
from .report import Report

__all__ = ["page", "plots"]

_ROOT = Path(__file__).resolve().parents[2]
RECORDS = _ROOT / "docs" / "records"
IMAGES = _ROOT / "docs" / "images" / "benchmarks"


def _contents(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "contents.toml").read_text(encoding="utf-8"))


def plots(folder: Path = RECORDS) -> list[Plot]:
    """The plots that ``contents.toml`` lists."""
    contents = _contents(folder)
    found = [Plot.model_validate(entry) for entry in contents.get("plots", [])]
    for plot in found:
        bars_of(plot, Report.read(folder / plot.record))
    return found


def page(folder: Path = RECORDS) -> str:
    """The page in Markdown.

    Parameters
    ----------
    folder : Path
        The records and ``contents.toml``.
    """
    contents = _contents(folder)
    sections = [
        (section, [(entry, Report.read(folder / entry["file"])) for entry in section["records"]])
        for section in contents["sections"]
    ]
    template = Template(
        filename=str(Path(__file__).with_name("benchmarks.md.mako")), default_filters=["str"], strict_undefined=True
    )
    text: str = template.render(
        introduction=contents["introduction"],
        sections=sections,
        notes=contents.get("notes", {}),
        plots={(plot.record, plot.table): plot for plot in plots(folder)},
        images=IMAGES.relative_to(_ROOT).as_posix(),
        machine=machine_lines,
        cell=lambda value: value.replace("|", "\\|"),
    )
    return text


def _write() -> None:
    write_whole(_ROOT / "BENCHMARKS.md", page().encode())
    if not can_draw():
        print("the plots are left as they are: matplotlib is not installed")
        return
    IMAGES.mkdir(parents=True, exist_ok=True)
    for plot in plots():
        draw_plot(plot, Report.read(RECORDS / plot.record), IMAGES)


if __name__ == "__main__":
    _write()
