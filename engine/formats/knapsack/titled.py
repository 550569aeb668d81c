"""A table of items with titles, as a spreadsheet writes it: the columns profit and weight, and perhaps count."""

import csv
import re
from pathlib import Path

import numpy as np

from ...errors import ProblemError
from ..source import lines_of
from .parsed import ParsedKnapsack

NAME = "table"
_TITLES = ("profit", "weight", "count")
_LONGEST = 400


def titles(first: str) -> tuple[list[str], str]:
    """The titles on the first line of such a table, in lower case, and what separates them; none if it is not one."""
    for separator in ",;\t":
        found = [cell.lower() for cell in _cells(first, separator)]
        if {"profit", "weight"} <= set(found):
            return found, separator
    return [], ""


def _cells(line: str, separator: str) -> list[str]:
    row: list[str] = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    return [cell.strip() for cell in row]


def parse(text: str, path: str | Path | None, capacity: int | None) -> ParsedKnapsack:
    """The items; columns with other titles are left out."""
    if capacity is None:
        raise ProblemError("a table of items says no capacity: give it as capacity (--capacity)", path, 1)
    lines = lines_of(text)
    start = next(number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#"))
    names, separator = titles(lines[start])
    for title in _TITLES:
        if names.count(title) > 1:
            raise ProblemError(f"two columns are called '{title}'", path, start + 1)
    columns: dict[str, list[int | float]] = {title: [] for title in _TITLES if title in names}
    numbers = []
    for number, line in enumerate(lines[start + 1 :], start + 2):
        try:
            cells = _cells(line, separator)
        except csv.Error as error:
            raise ProblemError(f"a row cannot be read: {error}", path, number) from error
        if not any(cells):
            continue
        if len(cells) != len(names):
            raise ProblemError(f"a row has {len(cells)} cells; the table has {len(names)} columns", path, number)
        numbers.append(number)
        for title, values in columns.items():
            values.append(_number(cells[names.index(title)], title, path, number))
    return ParsedKnapsack(
        profits=np.array(columns["profit"]),
        weights=np.array(columns["weight"]),
        capacity=capacity,
        format=NAME,
        optimum=None,
        lines=np.array(numbers, np.int64),
        capacity_line=start + 1,
        counts=np.array(columns["count"]) if "count" in columns else None,
    )


def _number(word: str, title: str, path: str | Path | None, line: int) -> int | float:
    try:
        if "_" in word or len(word) > _LONGEST:
            raise ValueError
        return int(word) if re.fullmatch("[+-]?[0-9]+", word) else float(word)
    except ValueError:
        raise ProblemError(f"column '{title}' must hold numbers; got '{word[:40]}'", path, line) from None
