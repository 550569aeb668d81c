"""Readers of NK landscapes, and of Quintet's own files."""

import math
import re

from ..source import require_memory
from .lines import INTEGER, NUMBER, Lines, Parsed

_MOST_NEIGHBOURS = 15
_BUILT_IN_WORDS = {"n": INTEGER, "k": INTEGER}
_SNIPPET_WORDS = {"n": INTEGER, "scale": INTEGER, "minimize": re.compile("[01]"), "optimum": NUMBER}


def read_nk(lines: Lines) -> Parsed:
    """Pelikan's: "n k step", the tables, the optimum and the permutation 0 1 2 ..."""
    row = lines.behind_comments("n, k and step")
    if len(row) != 3:
        raise lines.error("the first line must be 'n k step'")
    n, k, step = (lines.whole(word, "n, k and step") for word in row)
    if n < 1 or not 0 <= k <= _MOST_NEIGHBOURS or step < 1:
        raise lines.error(f"n and step must be at least 1, and k from 0 to 15; got {n}, {step} and {k}")
    lines.genes(n, "n")
    size, count = 2 << k, -(-n // step)
    require_memory(32 * size * count, f"{count} tables of {size} values", lines.path, lines.line)
    values: list[float] = []
    while len(values) < size * count:
        values += [lines.number(word, "a value") for word in lines.next(f"its {count} tables of {size} values")]
    if len(values) > size * count:
        raise lines.error(f"there must be {count} tables of {size} values; got {len(values)} values")
    optimum = None
    for row in lines:
        if len(row) == 1:
            optimum = lines.number(row[0], "the optimum")
        elif len(row) != n or row != [str(gene) for gene in range(n)]:
            raise lines.error("only the permutation 0 1 2 ... is supported after the tables")
    return Parsed("nk", n, tables=_parts(values, size), neighbours=k, step=step, optimum=optimum)


def read_goldman_nk(lines: Lines) -> Parsed:
    """Goldman's: the minimum and a string of it, the maximum and a string of it, and a table for each gene."""
    stated, strings = [], []
    for what in ("minimum", "maximum"):
        row = lines.behind_comments(f"the {what}")
        if len(row) != 2 or not re.fullmatch("[01]+", row[1]):
            raise lines.error(f"a line must hold the {what} and its string; got {' '.join(row)[:40]!r}")
        stated.append(lines.number(row[0], f"the {what}"))
        strings.append(row[1])
    second = lines.line
    n = lines.genes(len(strings[1]), "the number of genes")
    if len(strings[0]) != n:
        raise lines.error(f"both strings must have the same genes; got {len(strings[0])} and {n}")
    values: list[float] = []
    for row in lines:
        values += [lines.number(word, "a value") for word in row]
    size = len(values) // n
    k = size.bit_length() - 2
    if size * n != len(values) or size < 2 or size != 2 << k:
        raise lines.error(f"there must be {n} tables of 2, 4, 8 ... values each; got {len(values)} values")
    if k > min(_MOST_NEIGHBOURS, n - 1):
        raise lines.error(f"a table must be over at most {min(_MOST_NEIGHBOURS + 1, n)} genes; got {k + 1}")
    tables = _parts(values, size)
    places = [int((strings[1] * 2)[gene : gene + k + 1], 2) for gene in range(n)]
    best = math.fsum(table[place] for table, place in zip(tables, places, strict=True))
    if abs(best - stated[1]) > 1e-4 * max(1.0, abs(best)):  # which is stated with six digits
        raise lines.error(f"the maximum is stated as {stated[1]:g}, but its string has the value {best:g}", second)
    return Parsed("nk", n, tables=tables, neighbours=k, step=1, wraps=True, optimum=best, best=strings[1])


def _parts(values: list[float], size: int) -> list[list[float]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def read_labs(lines: Lines) -> Parsed:
    """The length of binary sequences of low autocorrelation."""
    row = lines.behind_comments("the length")
    return Parsed("labs", lines.genes(lines.whole(row[1], "the length"), "the length"))


def read_boa(lines: Lines, text: str) -> Parsed:
    """Quintet's own: the name of a function and its numbers; for ``snippet``, the C code below."""
    row = lines.behind_comments("the name of a function")
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
