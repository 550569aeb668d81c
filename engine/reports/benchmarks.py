"""``BENCHMARKS.md`` from the records in ``docs/records``: ``python -m engine.reports.benchmarks``.

``contents.toml`` in that folder lists sections, and in each the records with their machine; a record is a file that
``quintet bench SOLVER --record FILE`` has written. ``notes`` adds the line of context above a table, by its title.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from mako.template import Template

from engine.files import write_whole
from engine.reports.machine import machine_lines
from engine.reports.report import Report

__all__ = ["page"]

_ROOT = Path(__file__).resolve().parents[2]
RECORDS = _ROOT / "docs" / "records"


def page(folder: Path = RECORDS) -> str:
    """The page in Markdown.

    Parameters
    ----------
    folder : Path
        The records and ``contents.toml``.

    Raises
    ------
    engine.errors.InputError
        If a record is missing or is none.
    """
    contents = tomllib.loads((folder / "contents.toml").read_text(encoding="utf-8"))
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
        machine=machine_lines,
        cell=lambda value: value.replace("|", "\\|"),
    )
    return text


if __name__ == "__main__":
    write_whole(_ROOT / "BENCHMARKS.md", page().encode())
