"""Tables of numbers with a target column: CSV and TSV with a header, LIBSVM, Parquet, and data frames.

Text is read by NumPy, so nothing else is needed; Parquet needs pyarrow.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import ProblemError

__all__ = ["Table", "from_frame", "is_frame", "read", "recognize", "write_csv"]

_LIBSVM_LINE = re.compile(r"^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?(\s+\d+:[^\s:]+)+\s*(#.*)?$")
_NUMBER = re.compile(r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$")
_TARGETS = ("target", "y", "label", "class", "outcome", "response")
_MOST_FEATURES = 1 << 24


@dataclass(frozen=True)
class Table:
    """Features and target as they were found.

    ``X`` has shape (N, p); ``y`` holds N numbers or words; ``names`` are those of the columns of X.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    names: list[str]
    target: str


def is_frame(data: object) -> bool:
    """Whether this is a pandas or Polars data frame, without importing either."""
    return hasattr(data, "columns") and hasattr(data, "to_numpy") and hasattr(data, "shape")


def from_frame(frame: Any) -> tuple[NDArray[np.float64], list[str]]:
    """The columns of a pandas or Polars frame as numbers, and their names.

    Raises
    ------
    ProblemError
        If a column holds something else; with the column's name.
    """
    names = [str(name) for name in frame.columns]
    columns = [_numbers(np.asarray(frame[name]), str(name), None) for name in frame.columns]
    if not columns:
        raise ProblemError("the data frame has no columns")
    return np.column_stack(columns), names


def _numbers(values: NDArray[Any], name: str, path: str | Path | None) -> NDArray[np.float64]:
    """A column as float64; text is refused by the column's name."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind in "OUST":
        for row, value in enumerate(values.tolist()):
            if isinstance(value, (str, bytes)):
                raise ProblemError(
                    f"column '{name}' holds text ('{str(value)[:40]}' in row {row}); make numbers of it first, "
                    "for example one column of 0 and 1 for each category",
                    path,
                )
        try:
            return np.array([np.nan if value is None else value for value in values.tolist()], np.float64)
        except (TypeError, ValueError):
            pass
    raise ProblemError(f"column '{name}' holds {values.dtype}, not numbers", path)


def recognize(path: Path, head: str) -> str | None:
    """``"parquet"``, ``"libsvm"``, ``"csv"`` or ``"tsv"``, by the name and the first lines; None for anything else."""
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq") and head.startswith("PAR1"):
        return "parquet"
    lines = [line for line in head.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        return None
    whole = lines if len(lines) == 1 else lines[:-1]
    if all(_LIBSVM_LINE.match(line) for line in whole[:20]):
        return "libsvm"
    if suffix not in (".csv", ".tsv", ".tab", ".data", ".txt"):
        return None
    separator = "\t" if suffix in (".tsv", ".tab") or ("\t" in lines[0] and "," not in lines[0]) else ","
    titles = [word.strip().strip('"') for word in lines[0].split(separator)]
    has_header = len(titles) > 1 and not any(_NUMBER.match(word) for word in titles)
    if has_header and len(whole) > 1 and len(whole[1].split(separator)) == len(titles):
        names = {title.lower() for title in titles}
        if suffix in (".csv", ".tsv", ".tab") and names & set(_TARGETS):
            return "tsv" if separator == "\t" else "csv"
    return None


def read(path: str | Path, target: str | int | None = None) -> Table:
    """Read a table of any of these formats.

    Parameters
    ----------
    target : str or int, optional
        Name or number (from 0, negative from the end) of the target column; by default the one called target, y,
        label, class, outcome or response, else the last. LIBSVM has its own.

    Raises
    ------
    ProblemError
        If the file cannot be read, is in none of these formats, or a feature holds text; with the column or line.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(1 << 16).decode("utf-8", errors="replace")
    except OSError as error:
        raise ProblemError(f"the table cannot be read: {error.strerror or error}", path) from error
    kind = recognize(path, head)
    if kind == "parquet" or path.suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path, target)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError("the table is not a text file", path) from error
    if kind == "libsvm":
        return _read_libsvm(text, path)
    return _read_text(text, path, target)


def _target_of(names: list[str], target: str | int | None, path: Path) -> int:
    if isinstance(target, int) and not isinstance(target, bool):
        if not -len(names) <= target < len(names):
            raise ProblemError(f"there is no column {target}; the table has {len(names)}", path)
        return target % len(names)
    if isinstance(target, str):
        if target not in names:
            raise ProblemError(f"there is no column '{target}'; the table has {', '.join(names[:20])}", path)
        return names.index(target)
    lower = [name.lower() for name in names]
    return next((lower.index(name) for name in _TARGETS if name in lower), len(names) - 1)


def _read_text(text: str, path: Path, target: str | int | None) -> Table:
    """CSV or TSV; the first line is a header if none of its cells is a number."""
    first = text.lstrip().split("\n", 1)[0]
    separator = "\t" if "\t" in first and "," not in first else ";" if ";" in first and "," not in first else ","
    rows = [(number, row) for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=separator), 1) if row]
    if not rows:
        raise ProblemError("the table is empty", path)
    titles = [cell.strip() for cell in rows[0][1]]
    has_header = not any(_NUMBER.match(cell) for cell in titles)
    names = titles if has_header else [f"x{column}" for column in range(len(titles))]
    body = rows[1:] if has_header else rows
    if len(names) < 2:
        raise ProblemError("the table has one column; it takes features and a target", path, rows[0][0])
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ProblemError(f"two columns are called '{twice}'", path, rows[0][0])
    for number, row in body:
        if len(row) != len(names):
            raise ProblemError(f"a row has {len(row)} cells; the table has {len(names)} columns", path, number)
    chosen = _target_of(names, target, path)
    columns = list(zip(*(row for _, row in body), strict=True)) if body else [()] * len(names)
    features = []
    for column, name in enumerate(names):
        if column == chosen:
            continue
        try:
            features.append(np.array(columns[column], dtype=np.float64))
        except ValueError:
            place = next(i for i, cell in enumerate(columns[column]) if not _is_number(cell))
            cell = columns[column][place].strip()
            what = f"holds text ('{cell[:40]}')" if cell else "has an empty cell"
            advice = "make numbers of it first, for example one column of 0 and 1 for each category"
            raise ProblemError(
                f"column '{name}' {what}; " + (advice if cell else "fill it or leave the row out"), path, body[place][0]
            ) from None
    y = np.array([cell.strip() for cell in columns[chosen]])
    if all(_is_number(cell) for cell in y.tolist()):
        y = y.astype(np.float64)
    names_of_features = [name for column, name in enumerate(names) if column != chosen]
    return Table(np.column_stack(features), y, names_of_features, names[chosen])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_libsvm(text: str, path: Path) -> Table:
    """``label index:value ...``, indices from 1; what is left out is 0."""
    labels: list[float] = []
    where: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            labels.append(float(words[0]))
            for word in words[1:]:
                index, _, value = word.partition(":")
                where.append(len(labels) - 1)
                indices.append(int(index))
                values.append(float(value))
        except ValueError as error:
            raise ProblemError(f"'{line[:60]}' is not a line of LIBSVM", path, number) from error
        if indices and not 1 <= indices[-1] <= _MOST_FEATURES:
            raise ProblemError(f"an index must be from 1 to {_MOST_FEATURES}; got {indices[-1]}", path, number)
    columns = max(indices, default=0)
    X = np.zeros((len(labels), columns))
    X[where, np.array(indices, np.int64) - 1] = values
    return Table(X, np.array(labels), [f"x{column}" for column in range(1, columns + 1)], "label")


def _read_parquet(path: Path, target: str | int | None) -> Table:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ProblemError("reading Parquet needs the package pyarrow", path) from error
    try:
        table = parquet.read_table(path)
    except Exception as error:
        raise ProblemError(f"the Parquet file cannot be read: {error}", path) from error
    names = [str(name) for name in table.column_names]
    if len(names) < 2:
        raise ProblemError("the table has one column; it takes features and a target", path)
    chosen = _target_of(names, target, path)
    arrays = [table.column(column).to_numpy() for column in range(len(names))]
    features = [_numbers(arrays[c], name, path) for c, name in enumerate(names) if c != chosen]
    return Table(
        np.column_stack(features), arrays[chosen], [n for c, n in enumerate(names) if c != chosen], names[chosen]
    )


def write_csv(path: Path, X: NDArray[Any], y: NDArray[Any], names: list[str]) -> None:
    """Write features and a 0/1 target called ``y``, with a header."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*names, "y"])
        for row, target in zip(X.tolist(), y.tolist(), strict=True):
            writer.writerow([*(f"{value:.6g}" for value in row), int(target)])
