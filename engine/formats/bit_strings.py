"""Text formats of problems over bit strings: NK landscapes, Ising glasses, (weighted) CNF formulas, max-cut and QUBO.

========= ================================================================================================ ==========
name      layout                                                                                           numbering
========= ================================================================================================ ==========
``cnf``   DIMACS: lines ``c ...``, ``p cnf n m``, then literals, each clause ended by 0; ``%`` ends it all    1-based
``wcnf``  the same with a weight before each clause: ``p wcnf n m top``, weight top for hard clauses; or       1-based
          without a problem line, the weight of a hard clause being ``h``
``nk``    Pelikan's nearest-neighbour NK: "n k step", then on one line or more a table of 2^(k+1)              0-based
          values every ``step`` genes (the first gene is the highest bit; a table cut off at the last
          gene uses its first entries), the optimum, and a permutation of the genes
``ising`` Goldman's: "energy states", the number of bonds, then "a b J"                                       0-based
``graph`` rudy, as Biq Mac and the G-set: "n m", then "a b weight"; with a == b in it, or in a file           1-based
          ``.sparse`` or ``.qubo``, a QUBO matrix whose off-diagonal entries stand for two
``qubo``  qbsolv: ``p qubo 0 n diagonals couplers``, then "i i value", and "i j value" counted once            0-based
``boa``   Quintet's own: ``boa trap n=100 k=5`` for a built-in function; for a function in C the line
          ``boa snippet n=20 minimize=1 optimum=26 scale=1``, all but n optional, and the code below it
========= ================================================================================================ ==========

References
----------
M. Pelikan, K. Sastry, D. E. Goldberg, M. V. Butz, M. Hauschild, "Performance of evolutionary algorithms on NK
landscapes with nearest neighbor interactions and tunable overlap", GECCO 2009. SATLIB; Biq Mac library (A. Wiegele).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import ProblemError
from engine.formats.source import lines_of, read_bytes, require_memory, without_compression

__all__ = ["Parsed", "read", "recognize"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DIGITS = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MOST_GENES = 1 << 20
_MEMORY_PER_BYTE = 70
_LARGEST_WEIGHTS = 2**40
_LARGEST_SUM = 2**41
_QUBO_SUFFIXES = (".sparse", ".qubo")

Terms = list[tuple[int, int, float]]


@dataclass(frozen=True)
class Parsed:
    """The content of a file.

    Attributes
    ----------
    format : {"cnf", "wcnf", "nk", "ising", "maxcut", "qubo", "boa"}
    n : int
        Genes.
    clauses : list of lists of int
        Of ``cnf`` and ``wcnf``: literals, 1-based, negative for negated.
    weights : list of int or None
        Of ``wcnf``: of each clause; None for a hard one.
    terms : list of (int, int, float)
        Of ``ising``, ``maxcut``, ``qubo``: 0-based pairs with coupling, weight or entry.
    tables : list of lists of float
        Of ``nk``.
    neighbours, step : int
        Of ``nk``: k and the distance of neighbouring tables.
    optimum : float or None
        As stated by the file: the maximum of ``nk``, the least energy of ``ising``.
    words : dict of str to str
        Of ``boa``: ``"fitness"`` and the fields after the name.
    code : str
        Of ``boa snippet``: the C code.
    """

    format: str
    n: int
    clauses: list[list[int]] = field(default_factory=list)
    weights: list[int | None] = field(default_factory=list)
    terms: list[tuple[int, int, float]] = field(default_factory=list)
    tables: list[list[float]] = field(default_factory=list)
    neighbours: int = 0
    step: int = 0
    optimum: float | None = None
    words: dict[str, str] = field(default_factory=dict)
    code: str = ""


def recognize(path: Path, head: str) -> str | None:
    """Name of the format a file seems to be in, or None; ``head`` is its first 4096 bytes, decoded.

    Parameters
    ----------
    path : Path
    head : str
        The file's first 4096 bytes, decoded.
    """
    lines = head.removeprefix("\ufeff").splitlines()
    if len(head.encode("utf-8", errors="replace")) >= 4096:
        last = lines.pop() if lines else ""
        if len(lines) < 2:  # the beginning of a very long line
            lines.append(last.rpartition(" ")[0])
    rows = [line.split() for line in lines if line.strip()]
    comments = 0
    while comments < len(rows) and rows[comments][0] == "c":
        comments += 1
    if comments < len(rows) and rows[comments][:2] == ["p", "cnf"]:
        return "cnf"
    if comments < len(rows) and rows[comments][:2] == ["p", "wcnf"]:
        return "wcnf"
    if comments < len(rows) and path.suffix.lower() == ".wcnf" and all(row[-1] == "0" for row in rows[comments:]):
        return "wcnf"
    if comments < len(rows) and rows[comments][:2] == ["p", "qubo"]:
        return "qbsolv"
    if len(rows) and rows[0][0] == "boa" and len(rows[0]) > 1:
        return "boa"
    if len(rows) < 2 or not all(_NUMBER.fullmatch(word) for word in rows[0][:3] if word != "J"):
        return None
    first = rows[0]
    whole = all(_DIGITS.fullmatch(word) for word in first)
    if len(first) == 2 and whole and re.fullmatch("[01]+", first[1]) and len(first[1]) > 1 and len(rows[1]) == 1:
        return "ising" if len(rows) > 2 and len(rows[2]) == 3 else None
    if len(first) == 3 and whole and _is_nk(first, rows[1]):
        return "nk"
    if len(first) in (2, 3) and first[2:] in ([], ["J"]) and _INTEGER.fullmatch(first[0]) and int(first[0]) > 0:
        pairs = rows[1:]
        good = all(len(row) == 3 and all(_NUMBER.fullmatch(word) for word in row) for row in pairs)
        if good and all(_names(row, int(first[0])) for row in pairs):
            return "qubo" if path.suffix.lower() in _QUBO_SUFFIXES else "maxcut"
    return None


def _is_nk(first: list[str], second: list[str]) -> bool:
    n, k, step = (int(word) for word in first)
    floats = sum("." in word for word in second[:16])
    return n > 0 and 0 <= k < 16 and step > 0 and 2 * floats >= len(second[:16])


def _names(row: list[str], n: int) -> bool:
    return all(_INTEGER.fullmatch(word) and 1 <= int(word) <= n for word in row[:2])


def read(path: str | Path) -> Parsed:
    """Read a file of any of these formats.

    Raises
    ------
    ProblemError
        If it cannot be read, or breaks a rule of its format; with the line.
    """
    path = Path(path)
    text = read_bytes(path, "the file").decode("utf-8", errors="replace").removeprefix("\ufeff")
    require_memory(_MEMORY_PER_BYTE * len(text), "reading the file", path)
    found = recognize(without_compression(path), text[:4096]) or _graph_with_faults(without_compression(path), text)
    if found is None:
        raise ProblemError("is none of: DIMACS CNF or WCNF, NK landscape, Ising glass, max-cut or QUBO, boa", path)
    lines = _Lines(path, text)
    if found == "cnf":
        return _read_cnf(lines)
    if found == "wcnf":
        return _read_wcnf(lines)
    if found == "qbsolv":
        return _read_qbsolv(lines)
    if found == "boa":
        return _read_boa(lines, text)
    if found == "nk":
        return _read_nk(lines)
    return _read_ising(lines) if found == "ising" else _read_graph(lines, found)


def _graph_with_faults(path: Path, text: str) -> str | None:
    """The format of a file that begins as a graph or a matrix, whatever is wrong with its later lines."""
    rows = (line.split() for line in text[:4096].splitlines() if line.strip())
    first, second = next(rows, []), next(rows, [])
    if not (first[2:] in ([], ["J"]) and len(second) == 3):
        return None
    if len(first) < 2 or not all(_DIGITS.fullmatch(word) for word in (*first[:2], *second[:2])):
        return None
    return "qubo" if path.suffix.lower() in _QUBO_SUFFIXES else "maxcut"


class _Lines:
    """The lines of a file that hold something, with their numbers, and errors that name them."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._rows = ((number, line.split()) for number, line in enumerate(lines_of(text), 1) if line.strip())
        self.line = 0

    def __iter__(self) -> Iterator[list[str]]:
        for number, row in self._rows:
            self.line = number
            yield row

    def next(self, what: str) -> list[str]:
        """The next line, which should hold ``what``."""
        for row in self:
            return row
        raise ProblemError(f"the file ends before {what}", self.path)

    def error(self, message: str, line: int | None = None) -> ProblemError:
        return ProblemError(message, self.path, self.line if line is None else line)

    def whole(self, word: str, what: str) -> int:
        if not _INTEGER.fullmatch(word):
            raise self.error(f"{what} must be a whole number; got {word[:40]!r}")
        return int(word)

    def number(self, word: str, what: str) -> float:
        if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)):
            raise self.error(f"{what} must be a finite number; got {word[:40]!r}")
        return float(word)

    def genes(self, n: int, what: str) -> int:
        """``n``, if so many genes can be handled."""
        if not 1 <= n <= _MOST_GENES:
            raise self.error(f"{what} must be from 1 to {_MOST_GENES}; got {n}")
        return n


def _read_cnf(lines: _Lines) -> Parsed:
    row = lines.next("the line 'p cnf'")
    while row[0] == "c":
        row = lines.next("the line 'p cnf'")
    if len(row) != 4:
        raise lines.error("the problem line must be 'p cnf variables clauses'")
    n = lines.genes(lines.whole(row[2], "the number of variables"), "the number of variables")
    count = lines.whole(row[3], "the number of clauses")
    clauses: list[list[int]] = []
    clause: list[int] = []
    for row in lines:
        if row[0] == "c":
            continue
        if row[0] == "%" or len(clauses) == count:
            break
        for word in row:
            literal = lines.whole(word, "a literal")
            if abs(literal) > n:
                raise lines.error(f"a literal must be from 1 to {n}, or negated; got {literal}")
            if literal == 0:
                if not clause:
                    raise lines.error("a clause must have a literal")
                clauses.append(clause)
                clause = []
            else:
                clause.append(literal)
    if clause:
        clauses.append(clause)
    if len(clauses) != count:
        raise lines.error(f"there must be {count} clauses; got {len(clauses)}")
    return Parsed("cnf", n, clauses=clauses)


def _read_wcnf(lines: _Lines) -> Parsed:
    """Either layout; a weight of ``top`` or more, or ``h``, makes a clause hard."""
    n = count = top = None
    clauses: list[list[int]] = []
    weights: list[int | None] = []
    total = 0
    for row in lines:
        if row[0] == "c":
            continue
        if row[0] == "p":
            if row[1:2] != ["wcnf"] or len(row) not in (4, 5) or clauses:
                raise lines.error("the problem line must come first and be 'p wcnf variables clauses top'")
            n, count = lines.whole(row[2], "the number of variables"), lines.whole(row[3], "the number of clauses")
            top = lines.whole(row[4], "top") if len(row) == 5 else None
            continue
        if row[-1] != "0" or "0" in row[1:-1]:
            raise lines.error("a line must hold a weight, a clause and 0")
        weight = None if row[0] == "h" else lines.whole(row[0], "a weight")
        if weight is not None and weight < 1:
            raise lines.error(f"a weight must be at least 1; got {weight}")
        weight = None if weight is not None and top is not None and weight >= top else weight
        total += weight or 0
        if total >= _LARGEST_WEIGHTS:
            raise lines.error("the weights must stay below 2^40 in sum")
        clause = [lines.whole(word, "a literal") for word in row[1:-1]]
        if not clause:
            raise lines.error("a clause must have a literal")
        for literal in clause:
            if n is not None and abs(literal) > n:
                raise lines.error(f"a literal must be from 1 to {n}, or negated; got {literal}")
        clauses.append(clause)
        weights.append(weight)
    if not clauses or (count is not None and len(clauses) != count):
        raise lines.error(f"there must be {count or 'some'} clauses; got {len(clauses)}")
    return Parsed(
        "wcnf", n or max(abs(word) for clause in clauses for word in clause), clauses=clauses, weights=weights
    )


def _read_qbsolv(lines: _Lines) -> Parsed:
    row = lines.next("the line 'p qubo'")
    while row[0] == "c":
        row = lines.next("the line 'p qubo'")
    if len(row) != 6:
        raise lines.error("the problem line must be 'p qubo 0 nodes diagonals couplers'")
    n, diagonals, couplers = (lines.whole(word, "a number of the problem line") for word in row[3:])
    terms, _ = _terms(lines, n, 0, "node", diagonals + couplers, comment="c")
    if sum(a == b for a, b, _ in terms) != diagonals:
        raise lines.error(f"there must be {diagonals} diagonal entries; got {sum(a == b for a, b, _ in terms)}")
    halved = [(a, b, value if a == b else value / 2) for a, b, value in terms]  # a coupler is counted once here
    return Parsed("qubo", n, terms=halved)


def _read_nk(lines: _Lines) -> Parsed:
    row = lines.next("n, k and step")
    if len(row) != 3:
        raise lines.error("the first line must be 'n k step'")
    n, k, step = (lines.whole(word, "n, k and step") for word in row)
    if n < 1 or not 0 <= k < 16 or step < 1:
        raise lines.error(f"n and step must be at least 1, and k from 0 to 15; got {n}, {step} and {k}")
    lines.genes(n, "n")
    size, count = 2 << k, -(-n // step)
    require_memory(32 * size * count, f"{count} tables of {size} values", lines.path, lines.line)
    values: list[float] = []
    while len(values) < size * count:
        values += [lines.number(word, "a value") for word in lines.next(f"its {count} tables of {size} values")]
    if len(values) > size * count:
        raise lines.error(f"there must be {count} tables of {size} values; got {len(values)} values")
    tables = [values[start : start + size] for start in range(0, len(values), size)]
    optimum = None
    for row in lines:
        if len(row) == 1:
            optimum = lines.number(row[0], "the optimum")
        elif len(row) != n or row != [str(gene) for gene in range(n)]:
            raise lines.error("only the permutation 0 1 2 ... is supported after the tables")
    return Parsed("nk", n, tables=tables, neighbours=k, step=step, optimum=optimum)


def _read_ising(lines: _Lines) -> Parsed:
    row = lines.next("the least energy")
    if len(row) != 2:
        raise lines.error("the first line must be the least energy and a state")
    energy, state = row
    bonds = lines.whole(lines.next("the number of bonds")[0], "the number of bonds")
    n = len(state)
    terms, _ = _terms(lines, n, 0, "spin", bonds)
    return Parsed("ising", n, terms=terms, optimum=lines.number(energy, "the energy"))


def _read_graph(lines: _Lines, format: str) -> Parsed:
    first = lines.next("n and m")
    n, count = lines.genes(lines.whole(first[0], "n"), "n"), lines.whole(first[1], "m")
    terms, numbers = _terms(lines, n, 1, "vertex", count)
    if any(a == b for a, b, _ in terms):
        format = "qubo"
    if format == "qubo":  # an entry off the diagonal stands for two
        _check_sum(lines, [(1 + (a != b)) * value for a, b, value in terms], numbers)
    return Parsed(format, n, terms=terms)


def _terms(lines: _Lines, n: int, base: int, what: str, count: int, comment: str = "") -> tuple[Terms, list[int]]:
    """``count`` lines of two numbers and a weight, no pair twice, and the numbers of these lines."""
    terms = []
    seen: dict[tuple[int, int], int] = {}
    for row in lines:
        if comment and row[0] == comment:
            continue
        if len(row) != 3:
            raise lines.error(f"a line must hold two numbers and a weight; got {' '.join(row)[:40]!r}")
        pair = [lines.whole(word, f"a {what}") for word in row[:2]]
        for number in pair:
            if not base <= number < n + base:
                raise lines.error(f"a {what} must be from {base} to {n + base - 1}; got {number}")
        former = seen.setdefault((min(pair), max(pair)), lines.line)
        if former != lines.line:
            raise lines.error(f"the pair {pair[0]} {pair[1]} was given before, in line {former}")
        terms.append((pair[0] - base, pair[1] - base, lines.number(row[2], "a weight")))
    if len(terms) != count:
        raise lines.error(f"there must be {count} lines of weights; got {len(terms)}")
    numbers = list(seen.values())
    _check_sum(lines, [value for *_, value in terms], numbers)
    return terms, numbers


def _check_sum(lines: _Lines, weights: list[float], numbers: list[int]) -> None:
    """Refuse weights, of the lines with these numbers, that are too large in sum to be whole numbers of 64 bits."""
    total = 0.0
    for weight, line in zip(weights, numbers, strict=True):
        total += abs(weight)
        if total >= _LARGEST_SUM:
            raise lines.error(f"the weights must stay below 2^41 in sum; they come to {total:g} here", line)


_BUILT_IN_WORDS = {"n": _INTEGER, "k": _INTEGER}
_SNIPPET_WORDS = {"n": _INTEGER, "scale": _INTEGER, "minimize": re.compile("[01]"), "optimum": _NUMBER}


def _read_boa(lines: _Lines, text: str) -> Parsed:
    row = lines.next("the name of a function")
    words = {"fitness": row[1]}
    known = _SNIPPET_WORDS if row[1] == "snippet" else _BUILT_IN_WORDS
    for word in row[2:]:
        name, equals, value = word.partition("=")
        if not equals or name not in known or not known[name].fullmatch(value):
            allowed = ", ".join(f"{other}=" for other in known)
            raise lines.error(f"behind the name stand {allowed} with numbers; got {word[:40]!r}")
        if not math.isfinite(float(value)):
            raise lines.error(f"{name}= must be a finite number; got {value[:40]!r}")
        words[name] = value
    if "n" not in words:
        raise lines.error("n= is missing: how many genes the function has")
    code = text.split("\n", lines.line)[lines.line :]
    n = lines.genes(int(words["n"]), "n")
    return Parsed("boa", n, words=words, code=code[0] if code else "")
