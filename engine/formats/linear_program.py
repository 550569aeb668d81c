"""Linear programs in MPS (fixed and free) and LP files, plain or compressed by gzip, bzip2 or xz.

HiGHS reads the files. It silently reads an invalid number as zero, skips entries of unknown rows, splits a column whose
entries are not contiguous, and misreads RANGES before RHS; and its errors have no line numbers. MPS files are therefore
checked line by line first, and an error names the line.

Conventions are those of HiGHS: the constant of the objective is minus the right-hand side of its row; a negative upper
bound keeps the lower bound at zero (with a warning); RANGES of an equality extend it to the side of their sign.
"""

import math
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from .lp_fault import faulty_line
from .source import is_plain, lines_of, path_of, read_text, without_compression, write_text

_SECTIONS = ("NAME", "OBJSENSE", "OBJSENSE MAX", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
_BOUNDS_WITH_VALUE = ("LO", "UP", "FX", "LI", "UI", "SC", "SI")
_UPPER_BOUNDS = ("UP", "UI", "SC", "SI", "FX")
_BOUNDS_WITHOUT = ("FR", "MI", "PL", "BV")
_SENSES = ("MAX", "MAXIMIZE", "MIN", "MINIMIZE")
_PLACE = re.compile(r"^\s*-->\s.*:(\d+):\d+$", re.MULTILINE)  # line and column, as HiGHS prints them from 1.16 on
_MEMORY_PER_BYTE = 6
_LARGEST_ENTRY = 1e15  # of the matrix, for HiGHS
INFINITY = 1e20
"""Bounds and sides of this size are infinite, as for HiGHS, CPLEX and Gurobi; costs are smaller."""
_NUMBER = frozenset("0123456789+-.eEdDinfatyINFATY")  # neither 1_0 nor digits of other scripts
_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))


@dataclass(frozen=True)
class ParsedProgram:
    """minimize ``c x + offset`` subject to ``row_lower <= A x <= row_upper``, ``lower <= x <= upper``.

    ``A`` is in compressed columns: ``starts`` (n + 1), ``rows`` and ``values``. With ``maximize`` the objective is
    maximized; ``c`` and ``offset`` are as in the file, not negated. ``integrality`` is 0 for continuous columns, 1 for
    integer, 2 for semi-continuous and 3 for semi-integer ones.
    """

    c: NDArray[np.float64]
    offset: float
    maximize: bool
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: NDArray[np.float64]
    column_names: list[str]
    row_names: list[str]
    integrality: NDArray[np.uint8]


def recognize(path: Path, head: str) -> bool:
    """Whether a file looks like MPS or LP: by its name, and for other names by an MPS file's first section."""
    if without_compression(path).name.lower().endswith((".mps", ".lp")):
        return True
    lines = [line for line in head.splitlines() if line.strip() and not line.startswith("*")]
    words = [line.split()[0] for line in lines[:40] if not line[0].isspace()]
    return "ROWS" in words and ("NAME" in words[:1] or words[:1] == ["ROWS"])


def read(path: str | Path) -> ParsedProgram:
    path = path_of(path, "the linear program")
    text = read_text(path, "the linear program", _MEMORY_PER_BYTE)
    if not text.strip():
        raise ProblemError("the linear program is an empty file", path)
    stem = without_compression(path).name.lower()
    kind = "lp" if stem.endswith(".lp") else "mps"
    if kind == "mps":
        _Checker(text, path).check()
    else:
        _require_no_indicator(text, path)
    if path.suffix.lower() == f".{kind}" and is_plain(path):
        return _through_highs(path, path)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / f"model.{kind}"
        plain.write_text(text, encoding="utf-8")
        return _through_highs(plain, path)


def _require_no_indicator(text: str, path: Path) -> None:
    """Refuse the indicator constraints of an LP file, of which HiGHS's reader would complain on standard output.

    It takes a minus sign before ``>`` for an arrow, even with white space between the two.
    """
    plain = "\n".join(line.partition("\\")[0] for line in lines_of(text))
    if (arrow := re.search(r"-\s*>", plain)) is not None:
        raise ProblemError(
            "indicator constraints (->) are not supported", path, plain.count("\n", 0, arrow.start()) + 1
        )


def _through_highs(file: Path, path: Path) -> ParsedProgram:
    import highspy

    from ..util.quirks.highspy_banner import quiet_highs  # not at the top: its package takes 45 ms to import

    model = quiet_highs(log_to_console=False)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.txt"
        model.setOptionValue("log_file", str(log))
        model.setOptionValue("output_flag", True)
        status = model.readModel(str(file))
        printed = log.read_text(errors="replace") if log.exists() else ""
        model.setOptionValue("log_file", "")
    if status == highspy.HighsStatus.kError:
        errors = [line.partition("ERROR:")[2].strip() for line in printed.splitlines() if line.startswith("ERROR")]
        about = "; ".join(error for error in errors if not error.startswith("Parser error"))
        line = None
        if (place := _PLACE.search(printed)) is not None:
            line = int(place[1])
        elif file.suffix == ".lp":
            line = faulty_line(file.read_text(encoding="utf-8"), _reads_lp)
            about = about or ("it cannot be read from here on" if line else "it ends without 'end'")
        raise ProblemError(f"the linear program breaks its format{': ' + about if about else ''}", path, line)
    if model.getModel().hessian_.dim_:
        raise ProblemError("the file has a quadratic objective; only linear programs are solved", path)
    lp = model.getLp()
    matrix = lp.a_matrix_  # by columns, as files are
    kinds = list(lp.integrality_)
    columns, rows = int(lp.num_col_), int(lp.num_row_)
    return ParsedProgram(
        c=np.array(lp.col_cost_, np.float64),
        offset=float(lp.offset_),
        maximize=lp.sense_ == highspy.ObjSense.kMaximize,
        lower=np.array(lp.col_lower_, np.float64),
        upper=np.array(lp.col_upper_, np.float64),
        row_lower=np.array(lp.row_lower_, np.float64),
        row_upper=np.array(lp.row_upper_, np.float64),
        starts=np.array(matrix.start_, np.int64)[: columns + 1],
        rows=np.array(matrix.index_, np.int32),
        values=np.array(matrix.value_, np.float64),
        column_names=list(lp.col_names_) or [f"x{j}" for j in range(columns)],
        row_names=list(lp.row_names_) or [f"r{i}" for i in range(rows)],
        integrality=np.array([int(kind) for kind in kinds] or [0] * columns, np.uint8),
    )


def _reads_lp(text: str) -> bool:
    """Whether HiGHS takes this for an LP file."""
    import highspy

    from ..util.quirks.highspy_banner import quiet_highs

    model = quiet_highs()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.lp"
        path.write_text(text, encoding="utf-8")
        return bool(model.readModel(str(path)) != highspy.HighsStatus.kError)


@dataclass
class _Checker:
    """One pass over the lines of an MPS file; raises at the first that breaks the format."""

    text: str
    path: Path
    fixed: bool = False
    rows: dict[str, str] = field(default_factory=dict)
    columns: dict[str, tuple[float, float, int]] = field(default_factory=dict)  # bounds, and the line of the last
    entries: set[str] = field(default_factory=set)  # rows of the present column
    integers: bool = False
    line: int = 0

    def fail(self, message: str) -> ProblemError:
        return ProblemError(message, self.path, self.line)

    def check(self) -> None:
        self.fixed = self._names_have_spaces()
        section = ""
        seen: list[str] = []
        for number, text in enumerate(self._lines(), start=1):
            self.line = number
            if not text.strip() or text.startswith("*"):
                continue
            if not text[0].isspace():
                section = self._section(text, seen)
                if section == "ENDATA":
                    break
            elif section == "OBJSENSE":
                self._sense(text.strip())
            else:
                self._entry(section, text)
        if section != "ENDATA":
            raise self.fail(f"the file ends in section {section or 'NAME'} without ENDATA")
        for needed in ("ROWS", "COLUMNS"):
            if needed not in seen:
                raise self.fail(f"the file has no section {needed}")
        for name, (low, high, number) in self.columns.items():
            if low > high:
                self.line = number
                raise self.fail(f"the bounds of column '{name}' exclude each other: {low:g} and {high:g}")

    def _section(self, text: str, seen: list[str]) -> str:
        words = text.split()
        section = words[0].upper()
        if section in ("QUADOBJ", "QMATRIX", "QSECTION", "QCMATRIX", "CSECTION", "SOS", "INDICATORS"):
            raise self.fail(f"section {section} is not of a linear program")
        if section not in _SECTIONS:
            raise self.fail(f"unknown section '{words[0][:40]}'")
        if section in seen:
            raise self.fail(f"section {section} comes twice")
        if section in ("COLUMNS", "RHS", "RANGES", "BOUNDS") and "ROWS" not in seen:
            raise self.fail(f"section {section} comes before ROWS")
        if section in ("RHS", "RANGES", "BOUNDS") and "COLUMNS" not in seen:
            raise self.fail(f"section {section} comes before COLUMNS")
        if section == "RHS" and "RANGES" in seen:
            raise self.fail("section RHS comes after RANGES")
        if section == "OBJSENSE" and len(words) > 1:
            self._sense(words[1])
        elif section != "NAME" and len(words) > 1:
            raise self.fail(f"section {section} stands alone on its line; got '{text.strip()[:40]}'")
        seen.append(section)
        return section

    def _sense(self, word: str) -> None:
        if word.split()[0].upper() not in _SENSES:
            raise self.fail(f"OBJSENSE must be MAX or MIN; got '{word[:40]}'")

    def _entry(self, section: str, text: str) -> None:
        readers = {"ROWS": self._row, "COLUMNS": self._column, "RHS": self._sides, "RANGES": self._ranges}
        read = {**readers, "BOUNDS": self._bound}.get(section)
        if read is None:
            raise self.fail(f"there is '{text.strip()[:40]}' before the first section that may hold it")
        read(text)

    def _row(self, text: str) -> None:
        kind, *rest = text.split(maxsplit=1)
        name = "".join(rest).strip()
        if kind.upper() not in ("N", "E", "L", "G"):
            raise self.fail(f"a row's type must be N, E, L or G; got '{kind[:40]}'")
        if not name:
            raise self.fail("a row needs a name")
        if name in self.rows:
            raise self.fail(f"row '{name}' comes twice")
        self.rows[name] = kind.upper()

    def _column(self, text: str) -> None:
        words = self._words(text)
        if len(words) >= 2 and words[1].strip("'") == "MARKER":
            expected = "INTEND" if self.integers else "INTORG"
            if len(words) < 3 or words[2].strip("'") != expected:
                raise self.fail(f"the next marker must be '{expected}'; got '{text.strip()[:40]}'")
            self.integers = not self.integers
            return
        if len(words) not in (3, 5):
            raise self.fail(f"a line of COLUMNS has a column and one or two rows with values; got '{text.strip()}'")
        name = words[0]
        if name not in self.columns:
            self.columns[name] = 0.0, math.inf, self.line
            self.entries = set()
        elif name != next(reversed(self.columns)):
            raise self.fail(f"column '{name}' comes back after another")
        for row, value in self._pairs(words[1:], "COLUMNS"):
            if row in self.entries:
                raise self.fail(f"column '{name}' has row '{row}' twice")
            self.entries.add(row)
            most = INFINITY if self.rows[row] == "N" else _LARGEST_ENTRY
            if abs(value) >= most:
                raise self.fail(f"a value must be less than {most:g} by size here; got {value:g}")

    def _pairs(self, words: list[str], section: str) -> list[tuple[str, float]]:
        pairs = []
        for name, value in zip(words[::2], words[1::2], strict=True):
            if name not in self.rows:
                raise self.fail(f"{section} names the row '{name[:40]}', which ROWS does not")
            pairs.append((name, self._number(value)))
        return pairs

    def _sides(self, text: str) -> None:
        words = self._words(text)
        if len(words) not in (2, 3, 4, 5):
            raise self.fail(f"a line of RHS has one or two rows with values; got '{text.strip()}'")
        for name, value in self._pairs(words[len(words) % 2 :], "RHS"):
            kind = self.rows[name]
            if (value >= INFINITY and kind != "L") or (value <= -INFINITY and kind != "G"):
                raise self.fail(f"a side of {value:g} leaves nothing for row '{name}' of type {kind}")

    def _ranges(self, text: str) -> None:
        words = self._words(text)
        if len(words) not in (3, 5):
            raise self.fail(f"a line of RANGES has a name, and one or two rows with values; got '{text.strip()}'")
        self._pairs(words[1:], "RANGES")

    def _bound(self, text: str) -> None:
        words = self._words(text)
        kind = words[0].upper() if words else ""
        value = math.nan
        if kind not in _BOUNDS_WITH_VALUE + _BOUNDS_WITHOUT:
            raise self.fail(f"unknown type of bound '{kind[:40]}'")
        if kind in _BOUNDS_WITH_VALUE:
            if len(words) not in (3, 4):
                raise self.fail(f"a bound {kind} has a column and a value; got '{text.strip()}'")
            name = words[-2]
            value = self._number(words[-1])
        else:
            known = [word for word in words[1:3] if word in self.columns]
            name = known[-1] if known else (words[2] if len(words) > 2 else words[1] if len(words) > 1 else "")
        if name not in self.columns:
            raise self.fail(f"BOUNDS names the column '{name[:40]}', which COLUMNS does not")
        low, high, _ = self.columns[name]
        low = {"LO": value, "LI": value, "FX": value, "FR": -math.inf, "MI": -math.inf, "BV": 0.0}.get(kind, low)
        upper = dict.fromkeys(_UPPER_BOUNDS, value) | {"FR": math.inf, "PL": math.inf, "BV": 1.0}
        high = upper.get(kind, high)
        if low >= INFINITY or high <= -INFINITY:
            raise self.fail(f"a bound {kind} leaves no value for column '{name}'; got '{words[-1][:40]}'")
        self.columns[name] = low, high, self.line

    def _number(self, word: str) -> float:
        try:
            if not _NUMBER.issuperset(word):
                raise ValueError
            value = float(word.replace("d", "e").replace("D", "E"))
        except ValueError:
            raise self.fail(f"a value must be a number; got '{word[:40]}'") from None
        if math.isnan(value):
            raise self.fail("a value must be a number; got 'nan'")
        return value

    def _words(self, text: str) -> list[str]:
        if not self.fixed:
            return text.split()
        fields = (text[begin:end].strip() for begin, end in _FIELDS)
        return [word for word in fields if word]

    def _names_have_spaces(self) -> bool:
        """Whether a row's name has a space in it: only fixed format, by places on the line, allows that."""
        return any(len(words) > 2 for words in self._row_lines())

    def _lines(self) -> list[str]:
        """As HiGHS and editors count them: ``splitlines`` would also part them at other characters."""
        return self.text.removesuffix("\n").split("\n")

    def _row_lines(self) -> Iterator[list[str]]:
        inside = False
        for text in self._lines():
            if text[:1].strip() and not text.startswith("*"):
                if inside:
                    return
                inside = text.split()[0].upper() == "ROWS"
            elif inside and text.strip() and not text.startswith("*"):
                yield text.split()


def write(
    path: str | Path,
    name: str,
    c: NDArray[np.float64],
    offset: float,
    maximize: bool,
    columns: Iterator[tuple[list[int], list[float]]],
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    rows: tuple[NDArray[np.float64], NDArray[np.float64]],
    names: tuple[list[str], list[str]],
    integrality: NDArray[np.uint8] | None = None,
) -> None:
    """Write free MPS: costs (n,), row indices and values of n columns, bounds (n,), sides of rows (m,), names."""
    column_names, row_names = names
    costs, row_lower, row_upper = c.tolist(), rows[0].tolist(), rows[1].tolist()
    lower, upper = bounds[0].tolist(), bounds[1].tolist()
    out = [f"NAME {name.replace(' ', '_')}"]
    if maximize:
        out += ["OBJSENSE", "    MAX"]
    out += ["ROWS", " N  objective"]
    kinds = []
    for i in range(len(row_lower)):
        if row_lower[i] == row_upper[i]:
            kinds.append("E")
        elif math.isfinite(row_upper[i]):
            kinds.append("L")
        else:
            kinds.append("G" if math.isfinite(row_lower[i]) else "N")
        out.append(f" {kinds[-1]}  {row_names[i]}")
    out.append("COLUMNS")
    kinds_of = np.zeros(len(column_names), np.uint8) if integrality is None else integrality
    whole = (kinds_of == 1) | (kinds_of == 3)
    for j, (indices, values) in enumerate(columns):
        if whole[j] != (j > 0 and whole[j - 1]):
            out.append(f"    MARKER 'MARKER' '{'INTORG' if whole[j] else 'INTEND'}'")
        if costs[j] != 0.0 or not indices:
            out.append(f"    {column_names[j]} objective {costs[j]!r}")
        out += [f"    {column_names[j]} {row_names[i]} {v!r}" for i, v in zip(indices, values, strict=True)]
    if whole.size and whole[-1]:
        out.append("    MARKER 'MARKER' 'INTEND'")
    out.append("RHS")
    if offset:
        out.append(f"    RHS objective {-offset!r}")
    for i, kind in enumerate(kinds):
        side = row_lower[i] if kind == "G" else row_upper[i]
        if kind != "N" and side != 0.0:
            out.append(f"    RHS {row_names[i]} {side!r}")
    ranged = [i for i, kind in enumerate(kinds) if kind == "L" and math.isfinite(row_lower[i])]
    if ranged:
        out.append("RANGES")
        out += [f"    RANGES {row_names[i]} {row_upper[i] - row_lower[i]!r}" for i in ranged]
    out.append("BOUNDS")
    for j, column in enumerate(column_names):
        low, high = lower[j], upper[j]
        if low == high:
            out.append(f" FX BOUND {column} {low!r}")
        elif low == -math.inf and high == math.inf:
            out.append(f" FR BOUND {column}")
        else:
            if low == -math.inf:
                out.append(f" MI BOUND {column}")
            elif low != 0.0 or high < 0.0:
                out.append(f" LO BOUND {column} {low!r}")
            if high != math.inf:
                out.append(f" {('UP', 'UP', 'SC', 'SI')[kinds_of[j]]} BOUND {column} {high!r}")
            elif whole[j]:
                out.append(f" PL BOUND {column}")  # some readers bound integer columns by one
    out.append("ENDATA")
    write_text(path, "\n".join(out) + "\n", "the linear program")
