"""The function that a file describes."""

from __future__ import annotations

import numpy as np

from ....formats.bit_strings import Parsed
from .autocorrelation import Autocorrelation
from .formulas import max_sat, weighted_max_sat
from .functions import Fitness, Snippet
from .tables import Decomposable, built_in, ising, max_cut, nearest_neighbour_nk, qubo

__all__ = ["from_parsed"]


def from_parsed(parsed: Parsed) -> Fitness:
    """The function a file describes."""
    if parsed.format == "cnf":
        return max_sat(parsed.n, parsed.clauses)
    if parsed.format == "wcnf":
        return weighted_max_sat(parsed.n, parsed.clauses, parsed.weights)
    if parsed.format == "nk":
        return _landscape(parsed)
    if parsed.format == "ising":
        return ising(parsed.n, parsed.terms, parsed.optimum)
    if parsed.format == "maxcut":
        return max_cut(parsed.n, parsed.terms)
    if parsed.format == "qubo":
        return qubo(parsed.n, parsed.terms, maximize=parsed.maximize, offset=parsed.offset)
    if parsed.format == "labs":
        return Autocorrelation(parsed.n)
    name = parsed.words["fitness"]
    if name == "snippet":
        return _snippet(parsed)
    if "k" in parsed.words:
        name = f"{name.partition('-')[0]}-{parsed.words['k']}"
    return built_in(name, parsed.n)


def _landscape(parsed: Parsed) -> Decomposable:
    """An NK landscape; where the file has a string of its optimum, the value of that, which is not rounded."""
    stated = None if parsed.best else parsed.optimum
    made = nearest_neighbour_nk(parsed.n, parsed.tables, parsed.neighbours, parsed.step, stated, parsed.wraps)
    if parsed.best:
        made.best_key = int(made.keys(np.array([[int(bit) for bit in parsed.best]], np.uint8))[0])
    return made


def _snippet(parsed: Parsed) -> Snippet:
    words = parsed.words
    return Snippet(
        parsed.code,
        parsed.n,
        scale=int(words.get("scale", 1)),
        minimize=words.get("minimize") == "1",
        optimum=float(words["optimum"]) if "optimum" in words else None,
    )
