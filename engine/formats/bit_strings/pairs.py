"""Readers of sums over pairs of genes: graphs to cut, QUBO matrices and Ising spin glasses."""

import itertools
import re

from ...errors import ProblemError
from ..instances import require_instance
from .lines import Lines, Parsed, Terms, check_sum

MATRIX_SUFFIXES = (".sparse", ".qubo", ".bq", ".qs")
OFFSET_LINE = re.compile(r"#\s*ObjectiveOffset\b\s*(.*?)\s*")
GLASS_SUFFIXES = (".sg", ".gsg")
CUT_SUFFIXES = (".mc", ".rud", ".rudy")
SERVER_LINE = re.compile(r"(type|size|name)\s*:\s*(.*)")
_DIMENSIONS = {"sk": 1, "pm": 2, "gauss": 2, "pm3": 3, "gauss3": 3}
_SERVER_TYPES = (*_DIMENSIONS, "ising")


def read_pairs(lines: Lines, format: str, suffix: str) -> Parsed:
    """``n m``, then m lines of two numbers from 1 on and, unless it is 1 in all of them, a weight.

    The suffix tells what is meant, where it is one of :data:`GLASS_SUFFIXES`, :data:`MATRIX_SUFFIXES` or
    :data:`CUT_SUFFIXES`; otherwise it is a matrix if it has an entry on the diagonal, and a graph if not.
    """
    comments: list[tuple[int, str]] = []
    first = lines.behind_comments("n and m", comments)
    offset = 0.0
    for number, text in comments:
        found = OFFSET_LINE.fullmatch(text)
        if found:
            offset = lines.number(found[1], "the offset", number)
    n, count = lines.genes(lines.whole(first[0], "n"), "n"), lines.whole(first[1], "m")
    what = "spin" if format == "ising" else "vertex"
    if suffix == ".bq":
        return Parsed("qubo", n, terms=_halves(lines, n, count))
    terms, numbers = _terms(lines, n, 1, what, count, weightless=True)
    loop = next((number for (a, b, _), number in zip(terms, numbers, strict=True) if a == b), None)
    if loop is not None and (format == "ising" or suffix in CUT_SUFFIXES):
        raise lines.error(f"a line must hold two different {'spins' if format == 'ising' else 'vertices'}", loop)
    if format == "qubo" or loop is not None:  # an entry off the diagonal stands for two
        check_sum(lines, [(1 + (a != b)) * value for a, b, value in terms], numbers)
        return Parsed("qubo", n, terms=terms, offset=offset)
    return Parsed(format, n, terms=terms)


def _halves(lines: Lines, n: int, count: int) -> Terms:
    """Entries (i, j) and (j, i) that count once each, as one that stands for two."""
    terms, _ = _terms(lines, n, 1, "variable", count, ordered=True)
    sums: dict[tuple[int, int], float] = {}
    for a, b, value in terms:
        pair = (min(a, b), max(a, b))
        sums[pair] = sums.get(pair, 0.0) + (value if a == b else value / 2)
    return [(a, b, value) for (a, b), value in sums.items()]


def read_beasley(lines: Lines, instance: int) -> Parsed:
    """OR-Library: the number of instances; for each "n m" and m entries, (i, j) or (j, i). They are to be maximised."""
    instances = lines.whole(lines.behind_comments("the number of instances")[0], "the number of instances")
    require_instance(instance, instances, lines.path)
    found: Parsed | None = None
    for number in range(1, instances + 1):
        row = lines.next(f"n and m of instance {number}")
        if len(row) != 2:
            raise lines.error(f"a line with n and m of instance {number} must follow; got {' '.join(row)[:40]!r}")
        n, count = lines.genes(lines.whole(row[0], "n"), "n"), lines.whole(row[1], "m")
        if count < 0:
            raise lines.error(f"m must be at least 0; got {count}")
        if number != instance:
            for _ in range(count):
                lines.next(f"the {count} entries of instance {number}")
            continue
        terms, numbers = _terms(lines, n, 1, "variable", count, more=True)
        check_sum(lines, [(1 + (a != b)) * value for a, b, value in terms], numbers)
        found = Parsed("qubo", n, terms=terms, maximize=True, instances=instances)
    for row in lines:
        raise lines.error(f"there is more than {instances} instances: {' '.join(row)[:40]!r}")
    assert found is not None
    return found


def read_dimacs_graph(lines: Lines) -> Parsed:
    """DIMACS graphs, ``p edge n m`` and lines ``e u v``, to be cut; an edge that is given twice is one."""
    row = lines.behind_comments("the line 'p edge'")
    if len(row) != 4:
        raise lines.error("the problem line must be 'p edge vertices edges'")
    n, count = lines.whole(row[2], "the number of vertices"), lines.whole(row[3], "the number of edges")
    lines.genes(n, "the number of vertices")
    edges: dict[tuple[int, int], None] = {}
    given = 0
    for row in lines:
        if row[0] == "c":
            continue
        if row[0] != "e" or len(row) != 3:
            raise lines.error(f"a line must be 'e vertex vertex'; got {' '.join(row)[:40]!r}")
        a, b = _numbered(lines, row[1:], n, 1, "vertex")
        if a == b:
            raise lines.error("a line must hold two different vertices")
        edges[min(a, b), max(a, b)] = None
        given += 1
    if count not in (given, len(edges)):
        raise lines.error(f"there must be {count} edges; got {given}")
    return Parsed("maxcut", n, terms=[(a - 1, b - 1, 1.0) for a, b in edges])


def read_qbsolv(lines: Lines) -> Parsed:
    """``p qubo 0 n diagonals couplers``, then the entries from 0 on; a coupler counts once."""
    row = lines.behind_comments("the line 'p qubo'")
    if len(row) != 6:
        raise lines.error("the problem line must be 'p qubo 0 nodes diagonals couplers'")
    n, diagonals, couplers = (lines.whole(word, "a number of the problem line") for word in row[3:])
    terms, _ = _terms(lines, n, 0, "node", diagonals + couplers, comment="c")
    if sum(a == b for a, b, _ in terms) != diagonals:
        raise lines.error(f"there must be {diagonals} diagonal entries; got {sum(a == b for a, b, _ in terms)}")
    return Parsed("qubo", n, terms=[(a, b, value if a == b else value / 2) for a, b, value in terms])


def read_matrix(lines: Lines) -> Parsed:
    """The size alone, then all entries of a symmetric matrix."""
    row = lines.behind_comments("the size")
    n = lines.genes(lines.whole(row[0], "the size"), "the size")
    if len(row) > 1:
        raise lines.error("the first line must hold the size alone")
    values: list[float] = []
    numbers: list[int] = []
    for row in lines:
        values += [lines.number(word, "an entry") for word in row]
        numbers += [lines.line] * len(row)
        if len(values) > n * n:
            raise lines.error(f"there is more than one {n} x {n} matrix: {row[-1][:40]!r}")
    if len(values) != n * n:
        raise ProblemError(f"there must be {n} x {n} entries; got {len(values)}", lines.path)
    terms, sizes, at = [], [], []
    for i in range(n):
        for j in range(i, n):
            value = values[i * n + j]
            if value != values[j * n + i]:
                line = numbers[j * n + i]
                raise lines.error(
                    f"the matrix of a QUBO must be symmetric; ({i + 1}, {j + 1}) is not as its mirror", line
                )
            if value:
                terms.append((i, j, value))
                sizes.append((1 + (i != j)) * value)
                at.append(numbers[i * n + j])
    check_sum(lines, sizes, at)
    return Parsed("qubo", n, terms=terms)


def read_goldman_ising(lines: Lines) -> Parsed:
    """Goldman's: the least energy and a state, the number of bonds, and "a b J" from 0 on."""
    row = lines.behind_comments("the least energy")
    if len(row) != 2:
        raise lines.error("the first line must be the least energy and a state")
    energy, state = row
    stated = lines.number(energy, "the energy")
    bonds = lines.whole(lines.next("the number of bonds")[0], "the number of bonds")
    n = lines.genes(len(state), "the number of spins")
    terms, _ = _terms(lines, n, 0, "spin", bonds)
    return Parsed("ising", n, terms=terms, optimum=stated)


def read_server(lines: Lines) -> Parsed:
    """Spin Glass Server: lines ``type:``, ``size:`` and ``name:``, some of which may lack, then "a b J" from 1."""
    header: dict[str, str] = {}
    row = lines.behind_comments("the bonds")
    while found := SERVER_LINE.fullmatch(" ".join(row)):
        header[found[1]] = found[2].strip()
        if found[1] == "type" and header["type"] not in _SERVER_TYPES:
            raise lines.error(f"the type must be one of {', '.join(_SERVER_TYPES)}; got {header['type'][:40]!r}")
        if found[1] == "size":
            lines.genes(lines.whole(header["size"], "the size"), "the size")
        row = lines.behind_comments("the bonds")
    n = None
    if header.get("type", "ising") != "ising" and "size" in header:
        n = lines.genes(int(header["size"]) ** _DIMENSIONS[header["type"]], "the number of spins")
    terms, numbers = _terms(lines, n, 1, "spin", None, first=row, comment="#")
    for (a, b, _), number in zip(terms, numbers, strict=True):
        if a == b:
            raise lines.error("a line must hold two different spins", number)
    return Parsed("ising", n or 1 + max(max(a, b) for a, b, _ in terms), terms=terms)


def _numbered(lines: Lines, words: list[str], n: int | None, base: int, what: str) -> list[int]:
    """Words as numbers of ``what``."""
    numbers = [lines.whole(word, f"a {what}") for word in words]
    for number in numbers:
        if n is None:
            lines.genes(number, f"a {what}")
        elif not base <= number < n + base:
            raise lines.error(f"a {what} must be from {base} to {n + base - 1}; got {number}")
    return numbers


def _terms(
    lines: Lines,
    n: int | None,
    base: int,
    what: str,
    count: int | None,
    *,
    comment: str = "",
    weightless: bool = False,
    ordered: bool = False,
    more: bool = False,
    first: list[str] | None = None,
) -> tuple[Terms, list[int]]:
    """Lines of two numbers and a weight, no pair twice, and the numbers of these lines."""
    terms: Terms = []
    seen: dict[tuple[int, int], int] = {}
    width = 0
    rows = itertools.chain([] if first is None else [first], lines)
    for row in itertools.islice(rows, count) if more else rows:
        if comment and row[0] == comment:
            continue
        width = width or (2 if weightless and len(row) == 2 else 3)
        if len(row) != width:
            rule = "two numbers and a weight" if width == 3 else "two numbers, as the first"
            raise lines.error(f"a line must hold {rule}; got {' '.join(row)[:40]!r}")
        a, b = _numbered(lines, row[:2], n, base, what)
        former = seen.setdefault((a, b) if ordered else (min(a, b), max(a, b)), lines.line)
        if former != lines.line:
            raise lines.error(f"the pair {a} {b} was given before, in line {former}")
        terms.append((a - base, b - base, lines.number(row[2], "a weight") if width == 3 else 1.0))
    if count is not None and len(terms) != count:
        raise lines.error(f"there must be {count} lines of weights; got {len(terms)}")
    numbers = list(seen.values())
    check_sum(lines, [value for *_, value in terms], numbers)
    return terms, numbers
