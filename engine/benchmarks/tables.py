"""What the benchmarks share: tables of numbers, and medians of repeated calls."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from rich.table import Table

T = TypeVar("T")


def number_table(title: str, headings: Sequence[str], words: Sequence[str]) -> Table:
    """A table whose columns are aligned at the right, but those of ``words``."""
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in words else "right")
    return table


def median_seconds(call: Callable[[], T], repeat: int, unmeasured: int = 1) -> tuple[float, T]:
    """Median wall time of ``repeat`` calls, after some that are not measured (they compile), and the last answer."""
    times = []
    for _ in range(repeat + unmeasured):
        began = time.perf_counter()
        answer = call()
        times.append(time.perf_counter() - began)
    return statistics.median(times[unmeasured:]), answer
