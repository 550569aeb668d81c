"""Records of benchmarks: the tables that ``quintet bench`` prints, with the machine, in a file."""

import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as ScreenTable
from rich.text import Text as ScreenText

from ..devices import available
from ..errors import OptionError
from ..util.files import reason_of, write_whole
from .machine import describe_machine
from .report import Report, Section, Table, Text

_CURRENT: ContextVar[Report | None] = ContextVar("record", default=None)


class BenchConsole(Console):
    """A console of 150 columns whose tables and lines are also recorded, where the benchmark is."""

    def __init__(self) -> None:
        super().__init__(width=150)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, and record."""
        super().print(*objects, **options)
        for found in objects:
            if isinstance(found, ScreenTable):
                record_table(_plain(found.title or ""), *_cells(found))
            elif isinstance(found, str):
                _add(Text(_plain(found).strip()))


def record_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Add a table to the record, if the benchmark is recorded."""
    _add(Table(title, tuple(columns), tuple(map(tuple, rows))))


@contextlib.contextmanager
def recording(name: str, arguments: Sequence[str], path: Path) -> Iterator[None]:
    """Record what a benchmark prints, and write it to a JSON file at the end, also where a check has failed."""
    if path.exists():
        raise OptionError(f"the record {path} exists already")
    if not path.parent.is_dir():
        raise OptionError(f"cannot write the record {path}: there is no folder {path.parent}")
    command = " ".join(["quintet bench", name, *arguments])
    report = Report(name, f"Benchmark of {name}", command, "bench", describe_machine(available("auto")[0]))
    report.sections.append(Section(name))
    began = time.perf_counter()
    token = _CURRENT.set(report)
    try:
        yield
    finally:
        _CURRENT.reset(token)
        report.seconds = time.perf_counter() - began
        try:
            write_whole(path, (json.dumps(report.to_dict(), indent=1) + "\n").encode())
        except OSError as error:
            raise OptionError(f"cannot write the record {path}: {reason_of(error)}") from error


def _add(block: Table | Text) -> None:
    report = _CURRENT.get()
    if report is not None:
        report.sections[-1].blocks.append(block)


def _cells(table: ScreenTable) -> tuple[list[str], list[list[str]]]:
    columns = [_plain(column.header) for column in table.columns]
    return columns, [
        [_plain(cell) for cell in row] for row in zip(*(column.cells for column in table.columns), strict=True)
    ]


def _plain(cell: Any) -> str:
    return cell.plain if isinstance(cell, ScreenText) else ScreenText.from_markup(str(cell)).plain
