"""The HTML report of a run: numbers, plots, options and tables in a single file, from ``report.mako``."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import engine
from engine.util.files import write_whole
from engine.util.text import counter_text, seconds_text
from gui.app.theme import LIGHT
from gui.panels.base import Panel
from gui.plot.export import caption_of, print_size
from gui.plot.figure import Figure

_MOST_ROWS = 100
_TEMPLATE = Path(__file__).with_name("report.mako")


@dataclass(frozen=True)
class _Picture:
    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class _Table:
    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Any]]


def write_report(panel: Panel, path: str | Path) -> None:
    """Write the report of the run shown in ``panel``; :class:`OSError` if it cannot be written."""
    write_whole(Path(path), report(panel).encode("utf-8"))


def report(panel: Panel) -> str:
    """The report as HTML; its pictures are embedded, and use the light theme whatever the panel's theme is."""
    theme = panel.theme
    panel.set_theme(LIGHT)
    try:
        pictures = [_picture(figure) for figure in panel.plots() if figure.pictured and figure.table()[1]]
    finally:
        panel.set_theme(theme)
    started = panel.started
    from mako.template import Template  # 10 MB that most sessions do not need

    template = Template(filename=str(_TEMPLATE), default_filters=["str", "h"], strict_undefined=True)
    page: str = template.render(
        title=panel.run.title or (started.name if started else "") or panel.run.solver,
        about=started.description if started else "",
        warnings=[*([panel.reason] if panel.reason else []), *panel.view.warnings],
        tiles=panel.summary(),
        pictures=pictures,
        run=_facts(panel),
        options=_options(panel),
        tables=[_table(figure) for figure in _listings(panel) if figure.table()[1]],
        version=engine.__version__,
    )
    return page


def _listings(panel: Panel) -> list[Figure]:
    return [figure for figure in panel.plots() if not figure.pictured and figure is not panel.info.listing]


def _picture(figure: Figure) -> _Picture:
    return _Picture(figure.title, caption_of(figure), base64.b64encode(figure.export.to_svg(print_size())).decode())


def _table(figure: Figure) -> _Table:
    headers, rows = figure.table()
    cut = f", the first {_MOST_ROWS} of {len(rows)}" if len(rows) > _MOST_ROWS else ""
    return _Table(figure.title + cut, headers, rows[:_MOST_ROWS])


def _facts(panel: Panel) -> list[tuple[str, Any]]:
    started, result = panel.started, panel.result
    facts: list[tuple[str, Any]] = [("solver", panel.run.solver)]
    if started is not None:
        named = zip(started.devices, started.device_names, strict=False)
        facts += [
            ("backend", started.backend),
            ("devices", ", ".join(f"{label} ({name})" for label, name in named)),
            ("seed", started.seed),
        ]
    if result is not None:
        facts += [("seconds", seconds_text(result.seconds))]
        facts += [(panel.counter_title(name), _counter(panel, name, value)) for name, value in result.counters.items()]
    if panel.run.folder is not None:
        facts.append(("folder", str(panel.run.folder)))
    return facts


def _counter(panel: Panel, name: str, value: float) -> str:
    schema = panel.run.schema
    return counter_text(value, unit="" if schema is None else schema.unit_of(name))


def _options(panel: Panel) -> list[tuple[str, Any]]:
    options = panel.started.options if panel.started is not None else {}
    return [(name, "–" if value is None else value) for name, value in options.items()]
