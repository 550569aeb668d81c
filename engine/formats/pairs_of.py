"""Weights of pairs from what programs hold graphs and matrices in: NetworkX, SciPy, NumPy, dictionaries, lists."""

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..util.text import shown


class Pairs(NamedTuple):
    """Pairs of numbers from 0 on with their weights, each pair once, and what the numbers stand for.

    ``labels`` is None where they stand for themselves; ``diagonal`` has what a number had with itself.
    """

    n: int
    pairs: list[tuple[int, int, float]]
    diagonal: dict[int, float]
    labels: list[Any] | None


def weighted_pairs(given: Any, n: int | None, what: str, *, adds: bool = False) -> Pairs:
    """The pairs of a graph or matrix.

    ``given``: lists of lists that are square are a matrix; of a graph, if there are more than three; ``n``: how many
    vertices there are, where ``given`` does not say; by default up to the last that it names; ``what``: what has a
    number, for messages: ``"vertex"``; ``adds``: whether (a, b) and (b, a) are two terms that add up. Otherwise a
    matrix must be symmetric or have one half, and a list each pair once.
    """
    if n is not None and (isinstance(n, bool) or not isinstance(n, (int, np.integer))):
        raise ProblemError(f"n must be a whole number; got {shown(n)}")
    if hasattr(given, "edges") and hasattr(given, "nodes"):
        return _of_graph(given, n, what)
    if hasattr(given, "tocoo"):
        matrix = given.tocoo()
        size = _square(matrix.shape, n, what)
        entries = zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)
        return _of_matrix(entries, size, what, adds)
    if isinstance(given, Mapping):
        return _of_mapping(given, n, what, adds)
    if isinstance(given, np.ndarray):
        size = _square(given.shape, n, what)
        rows, columns = np.nonzero(given)
        entries = zip(rows.tolist(), columns.tolist(), given[rows, columns].tolist(), strict=True)
        return _of_matrix(entries, size, what, adds)
    try:
        listed: list[Any] = list(given)
        terms = [tuple(term) for term in listed]
    except TypeError:
        raise ProblemError(f"there must be a matrix, a mapping, or a list of pairs; got {given!r}") from None
    if not any(terms) and n is None:
        _some(0, what)
    is_square = len(listed) > 0 and all(isinstance(row, list) and len(row) == len(listed) for row in listed)
    if is_square and (adds or len(listed) > 3):  # else they are edges
        return weighted_pairs(np.array(terms, object), n, what, adds=adds)
    odd = next((term for term in terms if len(term) not in (2, 3)), None)
    if odd is not None:
        raise ProblemError(f"a list must hold pairs, or pairs with a weight; got {odd!r}")
    return _of_list([(*term, 1.0) if len(term) == 2 else term for term in terms], n, what, adds)


def _square(shape: tuple[int, ...], n: int | None, what: str) -> int:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ProblemError(f"the matrix must be square; got shape {shape}")
    if n not in (None, shape[0]):
        raise ProblemError(f"n is the size of the matrix, {shape[0]}; got {n}")
    return _some(shape[0], what)


def _some(n: int, what: str) -> int:
    if n < 1:
        raise ProblemError(f"there must be at least one {what}; got none")
    return n


def _finite(weight: Any, a: Any, b: Any) -> float:
    try:
        value = float(weight)
    except OverflowError:
        value = math.inf
    except (TypeError, ValueError):
        raise ProblemError(f"the weight of ({a}, {b}) must be a number; got {shown(weight)}") from None
    if not math.isfinite(value):
        raise ProblemError(f"the weight of ({a}, {b}) must be finite; got {value}")
    return int(value) if value.is_integer() else value


def _of_graph(graph: Any, n: int | None, what: str) -> Pairs:
    if graph.is_directed():
        raise ProblemError("the graph must be undirected: give graph.to_undirected()")
    nodes = list(graph.nodes)
    if n not in (None, len(nodes)):
        raise ProblemError(f"n is the number of nodes, {len(nodes)}; got {n}")
    place = {node: at for at, node in enumerate(nodes)}
    sums: dict[tuple[int, int], float] = {}
    for a, b, weight in graph.edges(data="weight", default=1):
        key = (min(place[a], place[b]), max(place[a], place[b]))
        sums[key] = sums.get(key, 0) + _finite(weight, a, b)  # several edges of a multigraph add up
    return _pairs(sums, _some(len(nodes), what), nodes)


def _of_mapping(given: Mapping[Any, Any], n: int | None, what: str, adds: bool) -> Pairs:
    for key in given:
        if not isinstance(key, tuple) or len(key) != 2:
            raise ProblemError(f"the keys of a mapping must be pairs; got {key!r}")
    ends = {end for key in given for end in key}
    named = any(isinstance(end, bool) or not isinstance(end, (int, np.integer)) or end < 0 for end in ends)
    if not named:
        return _of_list([(a, b, weight) for (a, b), weight in given.items()], n, what, adds)
    labels: list[Hashable] = list(dict.fromkeys(end for key in given for end in key))
    if n not in (None, len(labels)):
        raise ProblemError(f"the mapping names {len(labels)} of them; got n = {n}")
    place = {label: at for at, label in enumerate(labels)}
    terms = [(place[a], place[b], weight) for (a, b), weight in given.items()]
    return _of_list(terms, len(labels), what, adds, labels)


def _of_list(terms: list[Any], n: int | None, what: str, adds: bool, labels: list[Hashable] | None = None) -> Pairs:
    sums: dict[tuple[int, int], float] = {}
    largest = -1
    for place, (a, b, weight) in enumerate(terms):
        for end in (a, b):
            number = isinstance(end, (int, float, np.integer, np.floating)) and not isinstance(end, bool)
            if not number or not 0 <= end < (math.inf if n is None else n) or int(end) != end:
                limit = "0 on" if n is None else f"0 to {n - 1}"
                raise ProblemError(f"a {what} must be a number from {limit}; got {end!r} in term {place}")
        key = (min(int(a), int(b)), max(int(a), int(b)))
        largest = max(largest, key[1])
        if key in sums and not adds:
            raise ProblemError(f"the pair {a} {b} is given twice; give it once, with the sum of its weights")
        sums[key] = sums.get(key, 0) + _finite(weight, a, b)
    return _pairs(sums, _some(largest + 1 if n is None else n, what), labels)


def _of_matrix(entries: Iterable[tuple[int, int, float]], n: int, what: str, adds: bool) -> Pairs:
    ordered: dict[tuple[int, int], float] = {}
    for a, b, weight in entries:  # duplicates of a sparse matrix add up
        ordered[a, b] = ordered.get((a, b), 0) + _finite(weight, a, b)
    sums: dict[tuple[int, int], float] = {}
    for (a, b), weight in ordered.items():
        mirror = ordered.get((b, a))
        if not adds and mirror not in (None, weight) and a != b:
            raise ProblemError(
                f"the matrix must be symmetric, or have one half only; ({a}, {b}) is {weight}, and ({b}, {a}) {mirror}"
            )
        key = (min(a, b), max(a, b))
        sums[key] = sums.get(key, 0) + weight if adds else weight
    return _pairs(sums, n, None)


def _pairs(sums: dict[tuple[int, int], float], n: int, labels: list[Any] | None) -> Pairs:
    pairs = [(a, b, weight) for (a, b), weight in sums.items() if a != b and weight]
    diagonal = {a: weight for (a, b), weight in sums.items() if a == b and weight}
    if labels is not None and labels == list(range(n)):
        labels = None
    return Pairs(n, pairs, diagonal, labels)
