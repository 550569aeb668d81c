"""A report: sections of text, tables, figures and findings, written as Markdown, HTML and JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from mako.template import Template

from ..errors import InputError, OutputError
from ..util.files import reason_of, write_whole
from .figures import can_draw, draw_curves
from .machine import is_busy, machine_lines

FORMAT = 1
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind: str = "text"


@dataclass(frozen=True)
class Table:
    """Rows of cells, of formatted numbers; ``note`` is the line of context above them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    kind: str = "table"

    @property
    def numeric(self) -> list[bool]:
        """For each column whether all of its cells begin like numbers."""
        return [
            all(not row[index] or row[index][0] in "-+.<0123456789" for row in self.rows)
            for index in range(len(self.columns))
        ]

    def markdown(self, note: str = "") -> str:
        """The title with a note, and the table."""
        marks = "|".join("---:" if numeric else "---" for numeric in self.numeric)
        lines = [f"| {' | '.join(map(_markdown_cell, row))} |" for row in (self.columns, *self.rows)]
        note = note or self.note
        return "\n".join([f"**{self.title}**{f': {note}' if note else ''}", "", lines[0], f"|{marks}|", *lines[1:]])


@dataclass(frozen=True)
class Figure:
    """A picture in a file beside the report; of curves the report has the points as well."""

    title: str
    file: str
    caption: str = ""
    lines: dict[str, list[list[float]]] = field(default_factory=dict)  # those that begin with "paper" are crosses
    x: str = ""
    y: str = ""
    scales: str = "log log"  # as matplotlib calls them
    drawn: bool = True  # whether there is the file
    kind: str = "figure"


@dataclass(frozen=True)
class Finding:
    """A statement of the publication, whether it was confirmed (None: not tested), what was seen, and where it is."""

    claim: str
    holds: bool | None
    seen: str
    where: str = ""
    kind: str = "finding"


Block = Text | Table | Figure | Finding
_KINDS: dict[str, type[Block]] = {"text": Text, "table": Table, "figure": Figure, "finding": Finding}


@dataclass
class Section:
    """A heading and what follows it."""

    title: str
    blocks: list[Block] = field(default_factory=list)


@dataclass
class Report:
    """What was measured."""

    name: str
    title: str
    source: str
    profile: str
    machine: dict[str, Any]
    seconds: float = 0.0
    sections: list[Section] = field(default_factory=list)
    command: str = ""

    @property
    def findings(self) -> list[Finding]:
        """The findings of all sections."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Finding)]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The inverse of :meth:`to_dict`."""
        try:
            if content["format"] != FORMAT:
                raise InputError(f"this report has the format {content['format']}; format {FORMAT} can be read")
            plain = {name: value for name, value in content.items() if name not in ("format", "sections")}
            sections = [
                Section(section["title"], [_block(block) for block in section["blocks"]])
                for section in content["sections"]
            ]
            return cls(**plain, sections=sections)
        except (KeyError, TypeError) as error:
            raise InputError(f"this is not a report: {error}") from error

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read the file ``report.json`` of a report."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read the report {path}: {error}") from error

    def markdown(self) -> str:
        """The report in Markdown; figures are links."""
        return self._render("report.md.mako", [])

    def html(self) -> str:
        """The report as a page that links its figures."""
        return self._render("report.html.mako", ["str", "h"])

    def write(self, folder: Path) -> list[Path]:
        """Write ``report.md``, ``report.html`` and ``report.json`` into a folder, and return their paths.

        Curves that are not drawn yet are drawn first, if matplotlib is installed.
        """
        for section in self.sections if can_draw() else ():
            for at, block in enumerate(section.blocks):
                if isinstance(block, Figure) and not block.drawn:
                    draw_curves(folder / block.file, block.lines, block.x, block.y, block.scales.split())
                    section.blocks[at] = replace(block, drawn=True)
        contents = {
            "report.md": self.markdown(),
            "report.html": self.html(),
            "report.json": json.dumps(self.to_dict(), indent=1) + "\n",
        }
        for name, text in contents.items():
            try:
                write_whole(folder / name, text.encode())
            except OSError as error:
                raise OutputError(f"cannot write the report {folder / name}: {reason_of(error)}") from error
        return [folder / name for name in contents]

    def _render(self, template: str, filters: Sequence[str]) -> str:
        page = Template(filename=str(_HERE / template), default_filters=list(filters) or ["str"], strict_undefined=True)
        text: str = page.render(
            report=self, lines=machine_lines(self.machine), busy=is_busy(self.machine), cell=_markdown_cell
        )
        return text


def _block(content: dict[str, Any]) -> Block:
    kind = _KINDS[content["kind"]]
    if kind is Table:
        content = {**content, "columns": tuple(content["columns"]), "rows": tuple(map(tuple, content["rows"]))}
    return kind(**content)


def _markdown_cell(text: str) -> str:
    return text.replace("|", "\\|")
