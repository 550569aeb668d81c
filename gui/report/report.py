"""One page that tells a whole run: its numbers, its options, every plot; a single file that needs no other."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize

from engine.files import write_whole
from gui.app.theme import LIGHT
from gui.panels.base import Panel
from gui.plot.axes import duration, number_text
from gui.plot.figure import Figure
from gui.plot.tables import cell_text

__all__ = ["report", "write_report"]

_MOST_ROWS = 100
_SIZE = QSize(760, 380)
_STYLE = """
body { font: 15px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; margin: 0; }
body { color: #1a1e24; background: #eef0f3; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 24px 40px; }
h1 { font-size: 24px; margin: 0 0 2px; } h2 { font-size: 17px; margin: 30px 0 10px; }
p.about { color: #5a636e; margin: 0 0 18px; }
.tiles { display: flex; flex-wrap: wrap; gap: 10px; }
.tile { background: #fff; border: 1px solid #d3d8de; border-radius: 6px; padding: 8px 14px; }
.tile b { display: block; font-size: 18px; } .tile span { color: #5a636e; font-size: 12px; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(520px, 1fr)); gap: 12px; }
figure { background: #fff; border: 1px solid #d3d8de; border-radius: 6px; margin: 0; padding: 6px; }
figure img { width: 100%; display: block; }
table { border-collapse: collapse; background: #fff; border: 1px solid #d3d8de; font-size: 13px; }
th, td { padding: 3px 12px; border-bottom: 1px solid #e4e7eb; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } th { color: #5a636e; font-weight: 600; }
.columns { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
footer { color: #5a636e; font-size: 12px; margin-top: 30px; }
@media print { body { background: #fff; } figure { break-inside: avoid; } }
"""


def write_report(panel: Panel, path: str | Path) -> None:
    """Write the page of a run that is shown in ``panel``; :class:`OSError` if it cannot be written."""
    write_whole(Path(path), report(panel).encode("utf-8"))


def report(panel: Panel) -> str:
    """The page as HTML; pictures are in it, drawn on a light ground whatever the panel's theme."""
    theme = panel.theme
    panel.set_theme(LIGHT)
    try:
        pictures = [_picture(figure) for figure in panel.plots() if figure.pictured and figure.table()[1]]
    finally:
        panel.set_theme(theme)
    tables = [figure for figure in panel.plots() if not figure.pictured and figure.table()[1]]
    started = panel.started
    title = panel.run.title or (started.name if started else "") or panel.run.solver
    about = started.description if started else ""
    parts = [
        f"<h1>{_text(title)}</h1><p class='about'>{_text(about)}</p>",
        _tiles(panel.summary()),
        "<h2>Plots</h2><div class='plots'>" + "".join(pictures) + "</div>",
        "<h2>How</h2><div class='columns'>"
        + _table("Run", _facts(panel))
        + _table("Options", _options(panel))
        + "</div>",
    ]
    for figure in tables:
        headers, rows = figure.table()
        cut = f", the first {_MOST_ROWS} of {len(rows)}" if len(rows) > _MOST_ROWS else ""
        parts.append(f"<h2>{_text(figure.title + cut)}</h2>" + _rows(headers, rows[:_MOST_ROWS]))
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width'><title>{_text(title)}</title>"
        f"<style>{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}<footer>Quintet {_text(_version())}</footer></main></body></html>"
    )


def _picture(figure: Figure) -> str:
    data = base64.b64encode(figure.export.to_svg(_SIZE)).decode()
    return f"<figure><img alt='{_text(figure.title)}' src='data:image/svg+xml;base64,{data}'></figure>"


def _tiles(values: Iterable[tuple[str, str]]) -> str:
    tiles = (f"<div class='tile'><b>{_text(value)}</b><span>{_text(name)}</span></div>" for name, value in values)
    return "<div class='tiles'>" + "".join(tiles) + "</div>"


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
        facts += [("seconds", duration(result.seconds, 0.001))]
        facts += [(name.replace("_", " "), number_text(value)) for name, value in result.counters.items()]
    if panel.run.folder is not None:
        facts.append(("folder", str(panel.run.folder)))
    return facts


def _options(panel: Panel) -> list[tuple[str, Any]]:
    options = panel.started.options if panel.started is not None else {}
    return [(name, "–" if value is None else value) for name, value in options.items()]


def _table(title: str, facts: Sequence[tuple[str, Any]]) -> str:
    if not facts:
        return ""
    rows = "".join(f"<tr><td>{_text(name)}</td><td>{_text(value)}</td></tr>" for name, value in facts)
    return f"<table><tr><th colspan='2'>{_text(title)}</th></tr>{rows}</table>"


def _rows(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in headers)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td>{_text(cell)}</td>" if isinstance(cell, str) else f"<td class='number'>{_text(cell_text(cell))}</td>"
            for cell in row
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _text(value: Any) -> str:
    return html.escape(str(value), quote=True)


def _version() -> str:
    from engine.version import version

    return version()
