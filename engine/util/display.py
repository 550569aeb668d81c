"""How objects are shown: one description, as text for `repr` and `print`, as HTML for notebooks, as columns for all."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .text import counted, number_text, printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 20
"""Rows of a table that are shown; where there are more, a line says so."""

ENTRIES = 10


@dataclass(frozen=True)
class Display:
    """What is shown of an object.

    ``facts``: names and values; ``titles``, ``rows``: a table; none without titles. Only its first rows are shown if
    there are many. ``remark``: a sentence below the table; ``total``: rows of the table where ``rows`` are only the
    first of them; 0: these are all.
    """

    title: str
    facts: Sequence[tuple[str, str]] = ()
    titles: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    remark: str = ""
    total: int = 0

    @property
    def first_rows(self) -> Sequence[Sequence[str]]:
        """The rows that are shown."""
        return self.rows[:ROWS]

    @property
    def remarks(self) -> list[str]:
        """The lines below the table: how many rows are left out, and the remark."""
        left_out = max(self.total, len(self.rows)) - len(self.first_rows)
        lines = [f"... {counted(left_out, 'more row')}"] if left_out else []
        return [*lines, *([self.remark] if self.remark else [])]

    def line(self) -> str:
        """One line, without the table."""
        facts = ", ".join(f"{name} {value}" for name, value in self.facts)
        return printable(f"<{self.title}: {facts}>" if facts else f"<{self.title}>")

    def text(self) -> str:
        """The line, and the table below it."""
        table = aligned(self.titles, self.first_rows) if self.titles else []
        return "\n".join([self.line(), *table, *map(printable, self.remarks)])

    def html(self) -> str:
        """A table of the facts, and the table."""
        parts = [f"<b>{html.escape(self.title)}</b>"]
        if self.facts:
            parts.append(_table((), [_row(name, value) for name, value in self.facts]))
        if self.titles:
            parts.append(_table(self.titles, [_row(*cells) for cells in self.first_rows]))
        parts += [f"<div>{html.escape(line)}</div>" for line in self.remarks]
        return "".join(parts)


class Displayed:
    """Base of what is shown by its :class:`Display`, in Python as in notebooks."""

    def display(self) -> Display:
        """What is shown of it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.display().text()

    def _repr_html_(self) -> str:
        return self.display().html()


def aligned(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table as lines of text in columns under their titles."""
    cells = [[printable(str(cell)) for cell in row] for row in [titles, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def entries_text(array: NDArray[Any], most: int = ENTRIES) -> str:
    """The first entries of an array, and how many there are if these are not all."""
    first = " ".join(number_text(value, 6) for value in array.ravel()[:most].tolist())
    return first if array.size <= most else f"{first} ... ({counted(array.size, 'entry', 'entries')})"


def _row(name: str, *values: str) -> str:
    cells = "".join(f"<td>{html.escape(value)}</td>" for value in values)
    return f"<tr><th>{html.escape(name)}</th>{cells}</tr>"


def _table(titles: Sequence[str], rows: Sequence[str]) -> str:
    cells = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    head = f"<thead><tr>{cells}</tr></thead>" if titles else ""
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"
