"""The format of a file of a problem over bit strings, by its name and its first lines."""

import itertools
import re
from pathlib import Path

from .. import lolib
from ..source import comments_end
from .lines import DIGITS, INTEGER, NUMBER
from .pairs import CUT_SUFFIXES, GLASS_SUFFIXES, MATRIX_SUFFIXES, OFFSET_LINE, SERVER_LINE

_HEAD_BYTES = 4096
_STATEMENTS = {"cnf": "cnf", "wcnf": "wcnf", "qubo": "qbsolv", "edge": "edges", "edges": "edges", "col": "edges"}
_BITS = re.compile("[01]+")

Rows = list[list[str]]


def recognize(path: Path, head: str) -> str | None:
    """Name of the format that a file seems to be in, or None, by its first 4096 bytes, or those behind comments."""
    text = head.removeprefix("\ufeff")
    cut = len(head.encode("utf-8", errors="replace")) >= _HEAD_BYTES
    behind = comments_end(text)
    lines = text[behind:].splitlines()
    begun = ""
    if cut:
        begun = lines.pop() if lines else ""
        if len(lines) < 2:  # the beginning of a very long line
            lines.append(begun.rpartition(" ")[0])
    rows = [line.split() for line in lines if line.strip()]
    if not rows:
        return None
    if rows[0][0] == "p" and len(rows[0]) > 1:
        return _STATEMENTS.get(rows[0][1])
    if path.suffix.lower() == ".wcnf" and _are_clauses(rows, cut):
        return "wcnf"
    if rows[0][0] == "boa" and len(rows[0]) > 1:
        return "boa"
    if rows[0][0] == "labs" and len(rows[0]) == 2:
        return "labs"
    if SERVER_LINE.fullmatch(" ".join(rows[0])):
        return "server" if _is_server(rows) else None
    found = _of_numbers(path, head, rows, cut)
    if found == "maxcut" and any(OFFSET_LINE.fullmatch(line) for line in text[:behind].splitlines()):
        return "qubo"
    return found


def _are_clauses(rows: Rows, cut: bool) -> bool:
    """Whether all lines end with 0, or what is seen of the only one is the beginning of a clause."""
    if cut and len(rows) == 1 and len(rows[0]) > 1:
        return (rows[0][0] == "h" or bool(DIGITS.fullmatch(rows[0][0]))) and all(map(DIGITS.fullmatch, rows[0][1:]))
    return all(row[-1] == "0" for row in rows)


def _is_server(rows: Rows) -> bool:
    """Whether lines of the Spin Glass Server are followed by a bond."""
    rows = [row for row in rows if row[0][0] != "#"]
    bond = next((row for row in rows if not SERVER_LINE.fullmatch(" ".join(row))), [])
    return len(bond) == 3 and all(map(INTEGER.fullmatch, bond[:2])) and bool(NUMBER.fullmatch(bond[2]))


def _of_numbers(path: Path, head: str, rows: Rows, cut: bool) -> str | None:
    """The format of a file that begins with numbers."""
    first = rows[0]
    if len(rows) < 2 or not all(NUMBER.fullmatch(word) for word in first[:3] if word != "J"):
        return None
    if len(first) == 1:
        if _is_beasley(rows):
            return "beasley"
        return "matrix" if lolib.recognize_symmetric(path, head) else None
    whole = all(DIGITS.fullmatch(word) for word in first)
    if len(first) == 2 and _BITS.fullmatch(first[1]) and len(first[1]) > 1:
        if whole and len(rows[1]) == 1:
            return "goldman-ising" if len(rows) > 2 and len(rows[2]) == 3 else None
        if _is_goldman_nk(rows, cut):
            return "goldman-nk"
    if len(first) == 3 and whole and _is_nk(first, rows[1]):
        return "nk"
    return _pairs(path, rows, cut)


def _is_value(word: str) -> bool:
    return bool(NUMBER.fullmatch(word))


def _is_goldman_nk(rows: Rows, cut: bool) -> bool:
    """Whether a number and a string are followed by another number and string, and values."""
    first, second = rows[:2]
    if len(second) != 2 or len(second[1]) != len(first[1]) or not _BITS.fullmatch(second[1]):
        return False
    return (cut or len(rows) > 2) and all(_is_value(word) for row in [second[:1], *rows[2:3]] for word in row)


def _is_nk(first: list[str], second: list[str]) -> bool:
    if not all(map(INTEGER.fullmatch, first)):
        return False
    n, k, step = (int(word) for word in first)
    floats = sum("." in word for word in second[:16])
    return n > 0 and 0 <= k < 16 and step > 0 and 2 * floats >= len(second[:16])


def _is_beasley(rows: Rows) -> bool:
    """Whether the number of instances is followed by their sizes and entries, as far as is seen."""
    if not INTEGER.fullmatch(rows[0][0]) or int(rows[0][0]) < 1 or len(rows) < 3:
        return False
    n = left = 0
    for row in rows[1:]:
        if left:
            if len(row) != 3 or not _names(row, n) or not _is_value(row[2]):
                return False
            left -= 1
        elif len(row) == 2 and all(map(INTEGER.fullmatch, row)) and int(row[0]) > 0 < int(row[1]):
            n, left = int(row[0]), int(row[1])
        else:
            return False
    return True


def _pairs(path: Path, rows: Rows, cut: bool) -> str | None:
    """What a file with ``n m`` and lines of pairs holds."""
    first, pairs = rows[0], rows[1:]
    if not (len(first) in (2, 3) and first[2:] in ([], ["J"]) and INTEGER.fullmatch(first[0]) and int(first[0]) > 0):
        return None
    if not all(len(row) in (2, 3) and _names(row, int(first[0])) for row in pairs):
        return None
    if all(len(row) == 3 and _is_value(row[2]) for row in pairs) or (
        len(first) == 2 and all(len(row) == 2 for row in pairs) and _is_plain_graph(path, rows, cut)
    ):
        found = _meant(path)
        loops = found == "maxcut" and path.suffix.lower() not in CUT_SUFFIXES and any(row[0] == row[1] for row in pairs)
        return "qubo" if loops else found
    return None


def _is_plain_graph(path: Path, rows: Rows, cut: bool) -> bool:
    """Whether lines of two numbers are edges, rather than the items of a knapsack, of which there are n and not m."""
    if path.suffix.lower() in (*CUT_SUFFIXES, *GLASS_SUFFIXES):
        return True
    if not INTEGER.fullmatch(rows[0][1]):
        return False
    n, count = int(rows[0][0]), int(rows[0][1])
    edges = [(int(a), int(b)) for a, b in rows[1:]]
    different = len({(min(edge), max(edge)) for edge in edges}) == len(edges) and all(a != b for a, b in edges)
    if not different or n == count:
        return False
    if not cut:
        return len(edges) == count
    return count > len(edges) and all(former[0] <= edge[0] for former, edge in itertools.pairwise(edges))


def _names(row: list[str], n: int) -> bool:
    return all(INTEGER.fullmatch(word) and 1 <= int(word) <= n for word in row[:2])


def _meant(path: Path) -> str:
    """What pairs with weights are by the suffix; a graph, if that tells nothing."""
    suffix = path.suffix.lower()
    if suffix in GLASS_SUFFIXES:
        return "ising"
    return "qubo" if suffix in MATRIX_SUFFIXES else "maxcut"


def recognize_faulty(path: Path, head: str) -> str | None:
    """The format of a file that begins as a graph or a matrix, whatever is wrong with its later lines."""
    text = head.removeprefix("\ufeff")
    rows = (line.split() for line in text[comments_end(text) :].splitlines() if line.strip())
    first, second, third = next(rows, []), next(rows, []), next(rows, [])
    if [len(first), len(second), len(third)] == [1, 2, 3] and _are_whole(*first, *second, *third[:2]):
        return "beasley"
    if len(first) < 2 or first[2:] not in ([], ["J"]) or len(second) not in (2, 3):
        return None
    return _meant(path) if _are_whole(*first[:2], *second[:2]) else None


def _are_whole(*words: str) -> bool:
    return all(map(DIGITS.fullmatch, words))
