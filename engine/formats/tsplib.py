"""Asymmetric travelling salesman files of TSPLIB: explicit full matrices.

References
----------
G. Reinelt, "TSPLIB - A traveling salesman problem library", ORSA Journal on Computing 3 (1991) 376-384.
"""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from .source import lines_of, read_text, write_text
from .text import Numbers

_KEY = re.compile(r"[A-Z_]+")
_TSP = re.compile(r"[ \t]*TYPE[ \t]*:[ \t]*A?TSP\b")
_REQUIRED = {"TYPE": "ATSP", "EDGE_WEIGHT_TYPE": "EXPLICIT", "EDGE_WEIGHT_FORMAT": "FULL_MATRIX"}
_LARGEST = 100_000
_SYMMETRIC = (
    "this is a symmetric TSP, for which there are better tools: Concorde solves it exactly, LKH finds very good tours; "
    "only asymmetric TSPs (TYPE: ATSP) are read"
)


def read(path: str | Path) -> tuple[str, NDArray[np.int64]]:
    """Name and costs, shape (n, n), of a file of type ATSP; the diagonal is as the file has it."""
    return parse(read_text(path, "the TSPLIB file"), path)


def parse(text: str, path: str | Path | None = None) -> tuple[str, NDArray[np.int64]]:
    """:func:`read` of a file's text; ``path`` is only for messages."""
    header: dict[str, tuple[str, int]] = {}
    lines = list(enumerate(lines_of(text), 1))
    start = None
    for position, (number, line) in enumerate(lines):
        if line.strip().removesuffix(":").rstrip() == "EDGE_WEIGHT_SECTION":
            start = position + 1
            break
        key, colon, value = line.partition(":")
        if colon and _KEY.fullmatch(key.strip()):
            header[key.strip()] = (value.strip(), number)
            if key.strip() == "TYPE" and value.split()[:1] == ["TSP"]:
                raise ProblemError(_SYMMETRIC, path, number)
        elif line.strip():
            raise ProblemError(f"'{line.strip()[:40]}' is no line of a TSPLIB header", path, number)
    for key, expected in _REQUIRED.items():
        value, number = header.get(key, ("", len(lines)))
        if value.partition(" ")[0] != expected:
            raise ProblemError(f"{key} must be {expected}; got '{value[:40]}'", path, number)
    if start is None:
        raise ProblemError("the file has no EDGE_WEIGHT_SECTION", path, len(lines))
    dimension = Numbers.of([(header["DIMENSION"][1], header["DIMENSION"][0])] if "DIMENSION" in header else [], path)
    n = dimension.take("DIMENSION")
    if not 1 <= n <= _LARGEST:
        raise ProblemError(f"DIMENSION must be 1 to {_LARGEST}; got {n}", path, dimension.line)
    body = []
    for number, line in lines[start:]:
        if line.strip() == "EOF":
            break
        body.append((number, line))
    numbers = Numbers.of(body, path)
    if numbers.left != n * n:
        raise ProblemError(f"a matrix of DIMENSION {n} has {n * n} costs; the file has {numbers.left}", path)
    return header.get("NAME", ("", 0))[0], np.array(numbers.matrix(n, n, "cost (from, to)"), np.int64)


def recognize(head: str) -> bool:
    """Whether a file that begins with ``head`` is a TSPLIB file of type ATSP, or TSP, which :func:`read` refuses."""
    return any(map(_TSP.match, head.lstrip("\ufeff").splitlines()))


def write(path: str | Path, name: str, costs: NDArray[np.int64], comment: str = "") -> None:
    """Write an explicit full matrix, shape (n, n)."""
    rows = "\n".join(" ".join(str(value) for value in row) for row in costs.tolist())
    text = (
        f"NAME: {name}\nTYPE: ATSP\nCOMMENT: {comment}\nDIMENSION: {len(costs)}\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
        f"EDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n{rows}\nEOF\n"
    )
    write_text(path, text, "the TSPLIB file")
