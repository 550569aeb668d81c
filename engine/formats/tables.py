"""Tables of numbers with a target column: text with separators, LIBSVM and Parquet.

Text is separated by commas, semicolons, tabs or spaces. It is read without pandas and scikit-learn, which are optional:
a file means the same whatever else is installed, but large ones are read faster where pyarrow is. LIBSVM follows the
rules of ``sklearn.datasets.load_svmlight_file`` (tests compare both). Parquet needs pyarrow.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from array import array
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..util.files import open_regular, reason_of
from .frames import column_numbers
from .large_tables import read_numbers
from .source import (
    is_plain,
    limit,
    lines_of,
    path_of,
    read_bytes,
    read_head,
    read_text,
    report_read,
    require_memory,
    without_compression,
)

TARGETS = ("target", "y", "label", "class", "outcome", "response")
"""Titles of a column that is taken as the target where none is named, in lower case."""

_LIBSVM_LINE = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?(\s+(qid|[0-9]+):[^\s:]+)*\s*(#.*)?")
_NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_MEMORY_PER_BYTE = 70
_MEMORY_PER_NAME = 200
_SPARSE_FROM, _SPARSE_DENSITY = 1 << 22, 0.1  # values, and the largest share that is not 0, of a sparse table
_ROWS_AT_ONCE, _LINES_REPORTED = 4096, 16_384
_LONGEST_WORD, _MOST_CATEGORIES = 1000, 1000
_TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".data", ".dat", ".txt")
_ENCODE = "encode = true (--encode) makes a column of 0 and 1 of each of its words"


class RowError(ProblemError):
    """A row, from 0, of a table or array breaks a rule of the problem; :meth:`Table.located` names the line instead."""

    def __init__(self, rule: str, row: int) -> None:
        super().__init__(f"{rule} in row {row}")
        self.rule = rule
        self.row = row


@dataclass(frozen=True)
class Table:
    """Features and target as they were found.

    ``X`` has shape (N, p), a SciPy sparse array if it is large and nearly all of it is 0; ``y`` holds N numbers or
    words; ``names`` are those of the columns of X. ``lines`` are those of the rows in the file, from 1; None in formats
    without lines.
    """

    X: Any
    y: NDArray[Any]
    names: list[str]
    target: str
    lines: Sequence[int] | None = None

    def without(self, columns: Sequence[str]) -> tuple[Table, dict[str, NDArray[Any]]]:
        """The table without some columns, and these, by name."""
        if not columns:
            return self, {}
        kept = [number for number, name in enumerate(self.names) if name in others(self.names, columns)]
        found = {}
        for name in columns:
            values = self.X[:, [self.names.index(name)]]
            found[name] = np.asarray(values.toarray() if hasattr(values, "toarray") else values)[:, 0]
        return replace(self, X=self.X[:, kept], names=[self.names[number] for number in kept]), found

    @contextlib.contextmanager
    def located(self, path: str | Path) -> Iterator[None]:
        """Let the errors of a problem that is made of this table name the file, and the line of the row."""
        try:
            yield
        except RowError as error:
            if self.lines is None:
                raise ProblemError(str(error), path) from error
            raise ProblemError(error.rule, path, self.lines[error.row]) from error
        except ProblemError as error:
            raise ProblemError(str(error), path) from error


def others(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The names of all columns but these, each of which must be there."""
    for name in columns:
        if name not in names:
            raise ProblemError(f"there is no column '{name}' beside the target; the table has {_shown(names)}")
    return [name for name in names if name not in columns]


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def recognize(path: Path, head: str) -> str | None:
    """``"parquet"``, ``"libsvm"``, or, with a title of :data:`TARGETS`, ``"csv"`` or ``"tsv"``; None for others."""
    if path.suffix.lower() in (".parquet", ".pq") and head.startswith("PAR1"):
        return "parquet"
    lines = _lines(head)
    if _is_libsvm(lines):
        return "libsvm"
    if path.suffix.lower() in (".csv", ".tsv", ".tab") and {title.lower() for title in _header(lines)} & set(TARGETS):
        return "tsv" if _separator(lines[0]) == "\t" else "csv"
    return None


def looks_like_text(path: Path, head: str) -> bool:
    """Whether a file may be a table of text with separators, whatever its columns are called."""
    lines = _lines(head)
    return path.suffix.lower() in _TEXT_SUFFIXES and len(lines) > 1 and len(_cells(lines[0], _separator(lines[0]))) > 1


def _lines(head: str) -> list[str]:
    """The lines of a file's beginning that hold something; the last one, which may be cut off, only if it is alone."""
    lines = [line for line in head.removeprefix("\ufeff").splitlines() if line.strip() and not line.startswith("#")]
    return lines[:-1] if len(lines) > 1 and not head.endswith("\n") and len(head) >= 4096 else lines


def _is_libsvm(lines: list[str]) -> bool:
    """Whether the first lines are a label and features each, and one has a feature."""
    return any(":" in line for line in lines) and all(_LIBSVM_LINE.fullmatch(line.strip()) for line in lines[:20])


def _header(lines: list[str]) -> list[str]:
    """The titles of the columns; empty if the first line is not a header over rows of as many cells."""
    if len(lines) < 2:
        return []
    separator = _separator(lines[0])
    titles = _cells(lines[0], separator)
    if len(titles) < 2 or any(map(_NUMBER.fullmatch, titles)) or len(_cells(lines[1], separator)) != len(titles):
        return []
    return titles


def _separator(first: str) -> str | None:
    """What separates the cells of a table, by its first line; None for spaces."""
    return next((separator for separator in (",", ";", "\t") if separator in first), None)


def _cells(line: str, separator: str | None) -> list[str]:
    """The cells of one line; quotes are taken off, but may not hold a separator here."""
    return [cell.strip().strip('"') for cell in (line.split() if separator is None else line.split(separator))]


def read(path: str | Path, target: str | int | None = None, encode: bool = False) -> Table:
    path = path_of(path, "the table")
    try:
        head = read_head(path, 1 << 16)
    except OSError as error:
        raise ProblemError(f"the table cannot be read: {reason_of(error)}", path) from error
    except ValueError as error:
        raise ProblemError(f"the table cannot be read: {error}", repr(str(path))) from error
    plain = without_compression(path)
    if plain.suffix.lower() in (".parquet", ".pq") or recognize(plain, head) == "parquet":
        return _read_parquet(path, target, encode)
    if _is_libsvm(_lines(head)):
        return _read_libsvm(lines_of(read_text(path, "the table")), path)
    return _read_text(path, target, encode)


def _target_of(names: list[str], target: str | int | None, path: Path) -> int:
    """The number of the target column."""
    if isinstance(target, str) and target not in names and re.fullmatch(r"-?[0-9]{1,9}", target):
        target = int(target)
    if isinstance(target, int) and not isinstance(target, bool):
        if not -len(names) <= target < len(names):
            raise ProblemError(f"there is no column {target}; the table has {len(names)}", path)
        return target % len(names)
    if isinstance(target, str):
        if target not in names:
            raise ProblemError(f"there is no column '{target}'; the table has {_shown(names)}", path)
        return names.index(target)
    lower = [name.lower() for name in names]
    return next((lower.index(name) for name in TARGETS if name in lower), len(names) - 1)


def _read_text(path: Path, target: str | int | None, encode: bool) -> Table:
    """A table of lines, the first a header if none of its cells is a number; lines are kept only if they hold words."""
    source = path if is_plain(path) else lines_of(read_text(path, "the table"))
    with contextlib.closing(_lines_with_cells(source, path)) as lines:
        first = next(lines, None)
        if first is None:
            raise ProblemError("the table is empty", path)
        separator = _separator(first[1])
        titles = [cell.strip() for cell in _rows([first], separator, path)[0][1]]
        has_header = not any(map(_NUMBER.fullmatch, titles))
        names = titles if has_header else [f"x{column}" for column in range(len(titles))]
        _require_columns(names, path, first[0])
        chosen = _target_of(names, target, path)
        values = read_numbers(path, first, has_header, separator, len(names)) if source is path else None
        if values is not None:
            numbers: Sequence[int] = range(first[0] + has_header, first[0] + has_header + len(values))
        else:
            body = lines if has_header else itertools.chain([first], lines)
            values, numbers = _all_numbers(body, separator, len(names), path)
    if values is not None:
        X, y = _parted(values, chosen)
        features = [name for column, name in enumerate(names) if column != chosen]
        return Table(X, y, features, names[chosen], numbers)
    text = lines_of(read_text(path, "the table")) if source is path else source
    rows = _rows(list(itertools.islice(_lines_with_cells(text, path), int(has_header), None)), separator, path)
    X, y, features = _with_words(rows, names, chosen, path, encode)
    return Table(X, y, features, names[chosen], [number for number, _ in rows])


def _lines_with_cells(source: Path | list[str], path: Path) -> Generator[tuple[int, str], None, None]:
    """The lines of a plain file, one at a time, or of a list, that hold cells, with their numbers from 1."""
    if isinstance(source, list):
        lines: Any = contextlib.nullcontext(source)
    else:
        size = path.stat().st_size
        require_memory(2 * size, "reading the table", path)
        lines = io.TextIOWrapper(stream := open_regular(path), "utf-8")
    try:
        with lines as text:
            for number, line in enumerate(text, 1):
                if lines is text and number % _LINES_REPORTED == 0:
                    report_read(stream.tell(), size)
                if line.strip()[:1] not in ("", "#"):
                    yield number, line
    except OSError as error:
        raise ProblemError(f"the table cannot be read: {reason_of(error)}", path) from error
    except UnicodeDecodeError as error:
        raise ProblemError("the table is not a text file", path) from error


def _all_numbers(
    lines: Iterator[tuple[int, str]], separator: str | None, columns: int, path: Path
) -> tuple[NDArray[np.float64] | None, Sequence[int]]:
    """A table without any words, shape (rows, columns), or None if it has some or uneven rows; its lines."""
    numbers = array("q")
    most = limit() // (8 * columns)
    first = next(lines, None)
    if first is None:
        return None, numbers

    def cells() -> Iterator[str]:
        for number, line in itertools.chain([first], lines):
            numbers.append(number)
            if len(numbers) > most:
                rows = len(numbers) + sum(1 for _ in lines)
                require_memory(8 * rows * columns, f"a table of {rows} rows and {columns} columns", path)
            yield line

    try:
        values = np.loadtxt(cells(), np.float64, comments="#", delimiter=separator, quotechar='"', ndmin=2)
    except ProblemError:
        raise
    except ValueError:
        return None, numbers
    return (values if values.shape == (len(numbers), columns) else None), numbers


def _parted(values: NDArray[np.float64], chosen: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The columns but one, in the same memory, so that a large table is never there twice, and that one."""
    rows, columns = values.shape
    y, flat = values[:, chosen].copy(), values.reshape(-1)
    for begin in range(0, rows, _ROWS_AT_ONCE):
        part = np.delete(values[begin : begin + _ROWS_AT_ONCE], chosen, axis=1)
        flat[begin * (columns - 1) :][: part.size] = part.reshape(-1)
    values.setflags(write=False)
    return values.reshape(-1)[: rows * (columns - 1)].reshape(rows, columns - 1), y


def _with_words(
    rows: Sequence[tuple[int, list[str]]], names: list[str], chosen: int, path: Path, encode: bool
) -> tuple[NDArray[np.float64], NDArray[Any], list[str]]:
    """Features, target and names of a table where the target or a feature holds words."""
    for number, row in rows:
        if len(row) != len(names):
            raise ProblemError(f"a row has {len(row)} cells; the table has {len(names)} columns", path, number)
        for name, cell in zip(names, row, strict=True):
            if not cell.strip() and name != names[chosen]:
                raise ProblemError(
                    f"column '{name[:40]}' has an empty cell; fill it or leave the row out", path, number
                )
    columns: list[Sequence[str]] = list(zip(*(row for _, row in rows), strict=True)) if rows else [()] * len(names)
    lines = [number for number, _ in rows]
    features: dict[str, NDArray[np.float64]] = {}
    for c, name in enumerate(names):
        cells = [cell.strip() for cell in columns[c]] if encode and c != chosen else []
        if not all(map(_is_number, cells)):
            features |= _encoded(cells, name, path, {*names, *features})
        elif c != chosen:
            features[name] = _column(columns[c], name, lines, path)
    X, titles = np.column_stack(list(features.values())), list(features)
    words = [cell.strip() for cell in columns[chosen]]
    if all(map(_is_number, words)):
        return X, np.array(list(map(float, words)), np.float64), titles
    for number, word in zip(lines, words, strict=True):
        if len(word) > _LONGEST_WORD:
            raise ProblemError(f"a cell of the target has more than {_LONGEST_WORD} characters", path, number)
    return X, np.array(words), titles


def _encoded(words: Sequence[str], name: str, path: Path, taken: Collection[str]) -> dict[str, NDArray[np.float64]]:
    """A column of 0 and 1 for each of the words, in alphabetical order, none of whose names may be ``taken``."""
    found, codes = np.unique(np.array(words), return_inverse=True)
    if len(found) > _MOST_CATEGORIES:
        raise ProblemError(
            f"column '{name[:40]}' has {len(found):,} different words; at most {_MOST_CATEGORIES:,} are encoded", path
        )
    require_memory(8 * len(words) * len(found), f"the {len(found)} columns that encode '{name[:40]}'", path)
    titles = [f"{name}={word[:_LONGEST_WORD]}" for word in found.tolist()]
    if twice := [title for title in titles if title in taken or titles.count(title) > 1]:
        raise ProblemError(f"two columns are called '{twice[0][:40]}'", path)
    return {title: (codes == number).astype(np.float64) for number, title in enumerate(titles)}


def _rows(lines: list[tuple[int, str]], separator: str | None, path: Path) -> list[tuple[int, list[str]]]:
    """The cells of numbered lines; a quoted cell may span several lines."""
    require_memory(_MEMORY_PER_BYTE * sum(len(line) for _, line in lines), "reading the table", path)
    if separator is None:
        return [(number, line.split()) for number, line in lines]
    reader = csv.reader((line for _, line in lines), delimiter=separator)
    rows: list[tuple[int, list[str]]] = []
    try:
        for row in reader:
            rows.append((lines[reader.line_num - 1][0], row))
    except csv.Error as error:
        place = min(reader.line_num, len(lines)) - 1
        raise ProblemError(f"the table cannot be read: {error}", path, lines[place][0]) from error
    return rows


def _require_columns(names: list[str], path: Path, line: int | None = None) -> None:
    if len(names) < 2:
        raise ProblemError("the table has one column; it needs features and a target", path, line)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ProblemError(f"two columns are called '{name[:40]}'", path, line)
        seen.add(name)


def _column(cells: Sequence[str], name: str, lines: Sequence[int], path: Path) -> NDArray[np.float64]:
    """A feature's cells as numbers."""
    place = next((i for i, cell in enumerate(cells) if not _is_number(cell)), None)
    if place is None:
        return np.array(list(map(float, cells)), np.float64)
    what = f"holds text ('{cells[place].strip()[:40]}'); {_ENCODE}"
    raise ProblemError(f"column '{name[:40]}' {what}", path, lines[place])


def _is_number(cell: str) -> bool:
    """Whether this is a number as ``float`` reads it, but without underscores."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _read_libsvm(text: list[str], path: Path) -> Table:
    """``label index:value ...`` with ``#`` before comments; what is left out is 0.

    By scikit-learn's rules: a row may have no feature, indices count from 1 unless one of them is 0, ``qid:`` is
    passed over.
    """
    labels, indices, values, counts, lines = array("d"), array("q"), array("d"), array("q"), array("q")
    for number, line in enumerate(text, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        before = len(values)
        try:
            if "_" in "".join(words):  # which Python takes between digits
                raise ValueError
            labels.append(float(words[0]))
            for word in words[1:]:
                index, _, value = word.partition(":")
                if index != "qid":
                    indices.append(int(index))
                    values.append(float(value))
        except (ValueError, OverflowError):
            raise ProblemError(f"'{line[:60]}' is not a line of LIBSVM", path, number) from None
        counts.append(len(values) - before)
        lines.append(number)
    return _from_entries(np.array(labels), np.array(indices), np.array(values), np.array(counts), lines, path)


def _from_entries(
    labels: NDArray[np.float64],
    indices: NDArray[np.int64],
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
    lines: Sequence[int],
    path: Path,
) -> Table:
    """The table of sparse rows; ``counts`` has the number of features of each, ``lines`` its line."""
    if not indices.size:
        raise ProblemError("no row of the table has a feature", path)
    rows = len(labels)
    where = np.repeat(np.arange(rows), counts)
    base = 0 if (indices == 0).any() else 1
    if indices.min() < 0:
        place = int(where[np.argmax(indices < 0)])
        raise ProblemError(f"an index must be at least 0; got {indices.min()}", path, lines[place])
    columns = int(indices.max()) + 1 - base
    sparse = rows * columns >= _SPARSE_FROM and len(values) <= _SPARSE_DENSITY * rows * columns
    size = _MEMORY_PER_NAME * columns + 40 * len(values) if sparse else 8 * rows * columns
    require_memory(size, f"a table of {rows} rows and {columns} columns", path)
    cells = where * columns + (indices - base)
    order = np.argsort(cells, kind="stable")
    repeated = np.flatnonzero(np.diff(cells[order]) == 0)
    if repeated.size:
        place = int(order[repeated[0]])
        raise ProblemError(f"a row has the index {indices[place]} twice", path, lines[int(where[place])])
    X: Any
    if sparse:
        from scipy.sparse import csr_array

        X = csr_array((values, (where, indices - base)), shape=(rows, columns))
    else:
        X = np.zeros((rows, columns))
        X[where, indices - base] = values
    return Table(X, labels, [f"x{column}" for column in range(base, columns + base)], "label", lines)


def _read_parquet(path: Path, target: str | int | None, encode: bool) -> Table:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ProblemError("reading Parquet needs the package pyarrow", path) from error
    data = read_bytes(path, "the Parquet file")
    try:
        file = parquet.ParquetFile(arrow.BufferReader(data))
        rows, columns = file.metadata.num_rows, file.metadata.num_columns
        require_memory(8 * rows * columns, f"a table of {rows} rows and {columns} columns", path)
        table = file.read()
    except ProblemError:
        raise
    except Exception as error:  # pyarrow has many kinds
        raise ProblemError(f"the Parquet file cannot be read: {error}", path) from error
    names = [str(name) for name in table.column_names]
    _require_columns(names, path)
    chosen = _target_of(names, target, path)
    arrays = [table.column(column).to_numpy() for column in range(len(names))]
    features: dict[str, NDArray[np.float64]] = {}
    for c, name in enumerate(names):
        values = arrays[c].tolist() if encode and c != chosen else []
        if values and all(isinstance(value, str) for value in values):
            features |= _encoded(values, name, path, {*names, *features})
        elif c != chosen:
            features[name] = column_numbers(arrays[c], name, _ENCODE, path)
    return Table(np.column_stack(list(features.values())), arrays[chosen], list(features), names[chosen])


def write_csv(path: Path, X: NDArray[Any], y: NDArray[Any], names: list[str]) -> None:
    """Write features and a 0/1 target called ``y``, with a header."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*names, "y"])
        for row, target in zip(X.tolist(), y.tolist(), strict=True):
            writer.writerow([*(f"{value:.6g}" for value in row), int(target)])
