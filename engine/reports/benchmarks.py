"""The pages of benchmarks and their plots from the records in ``docs/records``: `python -m engine.reports.benchmarks`.

``BENCHMARKS.md`` is the first page, a table of the records that ``tools/bench_front.py`` writes. The others are pages
of the documentation. ``contents.toml`` in that folder lists sections, each with its page and its records; a record is a
file that ``quintet bench SOLVER --record FILE`` has written. ``notes`` adds the line of context above a table, by its
title, and ``plots`` the charts below tables (see :class:`engine.reports.plots.Plot`), in ``docs/images/benchmarks``.
"""

import tomllib
from pathlib import Path
from typing import Any

from mako.template import Template

from ..util.files import write_whole
from .figures import can_draw
from .machine import machine_lines
from .plots import Plot, bars_of, draw_plot
from .report import Report, Table

_ROOT = Path(__file__).resolve().parents[2]
RECORDS = _ROOT / "docs" / "records"
_MADE = "<!-- Made by python -m engine.reports.benchmarks: change docs/records. -->\n"
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


def doubt(machine: dict[str, Any]) -> str:
    """Why figures measured on a machine should be measured again; empty if there is no reason."""
    reasons = []
    if not machine["commit"]:
        reasons.append("the commit was not recorded")
    if (load := machine.get("load")) and load > 1.2 * machine["cores"]:
        reasons.append(f"the load was {load} on {machine['cores']} cores")
    return " and ".join(reasons)


def page(name: str, folder: Path = RECORDS) -> str:
    """The page of a solver, or of the engine, in Markdown."""
    contents = _contents(folder)
    sections = [
        (section, [(entry, Report.read(folder / entry["file"])) for entry in section["records"]])
        for section in contents["sections"]
        if section["page"] == name
    ]
    template = Template(
        filename=str(Path(__file__).with_name("benchmarks.md.mako")), default_filters=["str"], strict_undefined=True
    )
    text: str = template.render(
        title="Benchmarks: " + (sections[0][0]["title"] if len(sections) == 1 else "the engine"),
        introduction=contents["introduction"].strip(),
        sections=sections,
        notes=contents.get("notes", {}),
        plots={(plot.record, plot.table): plot for plot in plots(folder)},
        images="../images/benchmarks",
        machine=machine_lines,
        doubt=doubt,
    )
    return text


def front(folder: Path = RECORDS) -> str:
    """The first page, in Markdown: the cases of ``tools/bench_front.py`` on each machine and in other packages."""
    contents = _contents(folder)["front"]
    titles, reports = contents["titles"], [Report.read(folder / file) for file in contents["records"]]
    lines = [
        f"| problem | {' | '.join(titles)} | best other package | ratio | answer |",
        f"|---|{'---:|' * len(titles)}---|---:|---|",
    ]
    others = [{row[0]: row[1] for row in _rows(report, "Quintet")} for report in reports[1:]]
    for case, _, own, answer, _ in _rows(reports[0], "Quintet"):
        rivals = [row for row in _rows(reports[0], "Peers on this host") if row[0] == case]
        _, peer, _, seconds, found, solved = min(rivals, key=lambda row: (row[5] != "yes", float(row[3])))
        cell = f"{peer}: {seconds}" if solved == "yes" else f"{peer}: not solved in {seconds} ({found})"
        ratio = f"{'' if solved == 'yes' else '> '}{float(seconds) / float(own):.2g}"
        lines.append(f"| {' | '.join([case, own, *(other.get(case, '') for other in others), cell, ratio, answer])} |")
    instances = [f"- {case}: `{source}`" for case, *_, source in _rows(reports[0], "Quintet")]
    measured = [
        f"- {title}: {' '.join(machine_lines(report.machine))}" for title, report in zip(titles, reports, strict=True)
    ]
    parts = [
        contents["before"].strip(),
        "\n".join(lines),
        contents["after"].strip(),
        "\n".join([*instances, *measured]),
    ]
    return _MADE + "\n\n".join(parts) + "\n"


def _rows(report: Report, title: str) -> tuple[tuple[str, ...], ...]:
    tables = [block for section in report.sections for block in section.blocks if isinstance(block, Table)]
    return next((table.rows for table in tables if table.title == title), ())


def _write() -> None:
    write_whole(_ROOT / "BENCHMARKS.md", front().encode())
    if not can_draw():
        print("the plots are left as they are: matplotlib is not installed")
        return
    IMAGES.mkdir(parents=True, exist_ok=True)
    for plot in plots():
        draw_plot(plot, Report.read(RECORDS / plot.record), IMAGES)


if __name__ == "__main__":
    _write()
