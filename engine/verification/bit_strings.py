"""Functions of bit strings: the value is added up again from tables or by definition; small optima are found again.

A sum of tables over few genes each has its optimum found by eliminating one gene after the other, if no table of more
than ``WIDEST`` genes comes up. A function of the user's, in C or Python, is not executed.
"""

import heapq
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.result import Status
from .findings import Claim, Findings, judge_bound

WIDEST = 18
_LISTED = 16
Table = NDArray[np.int64]
Term = tuple[tuple[int, ...], Table]


def check(claim: Claim, found: Findings) -> None:
    """Check the best string's value, and what is claimed of the optimum."""
    data, result = claim.problem, claim.result
    best: int | None
    if "code" in data or "function" in data:
        what = "a C snippet" if "code" in data else f"the Python function {data['function']}"
        found.unverified.append(f"the value {result.objective}: it is of {what}, the user's own, which is not executed")
        return
    if result.solution is None:
        found.unverified.append("there is no solution to check")
        return
    numbers = [int(number) for number in data["numbers"]]
    bits = np.asarray(result.solution)
    if not found.expect(
        bits.shape == (numbers[0],) and bool(np.isin(bits, (0, 1)).all()),
        f"the solution is a string of {numbers[0]} bits",
        f"the solution is no string of {numbers[0]} bits",
    ):
        return
    if "autocorrelation" in data:
        signs = 2 * bits.astype(np.int64) - 1
        value, scale, minimize = _energy(signs), 1, 1
        best, how, exact = _least_energy(len(bits)), "the least energy of all sequences", len(bits) <= _LISTED
    elif "hierarchy" in data:
        scale, minimize, value, most = _hierarchy(str(data["hierarchy"]), bits.astype(int).tolist())
        best, how, exact = most, "the sum of what all blocks can be worth", False
    else:
        _, scale, minimize, constant = numbers[:4]
        terms = _terms(data)
        value = constant + sum(int(table[tuple(bits[list(scope)])]) for scope, table in terms)
        best, how, exact = (
            constant + sum(int(table.max()) for _, table in terms),
            "the sum of the best of all tables",
            False,
        )
        if best > value:
            optimum = _eliminated(terms, numbers[0])
            if optimum is not None:
                best, how, exact = constant + optimum, "elimination of one gene after the other", True
    if minimize and best is not None and "autocorrelation" not in data:  # keys are to be maximised
        value, best = -value, -best
    shown = value if scale == 1 else value / scale
    found.expect(
        shown == result.objective,
        f"its value is {shown}",
        f"its value is {shown}, but the result says {result.objective}",
    )
    _check_clauses(claim, bits, found)
    judge_bound(claim, found, bool(minimize), best, how, exact, scale)
    stated = len(numbers) > 4 and "tables" in data and numbers[4] == (-value if minimize else value)
    if found.unverified and stated and result.status == Status.OPTIMAL and not exact:
        found.unverified.append("the optimum is the one that was stated with the problem, and is as good as that")


def _check_clauses(claim: Claim, bits: NDArray[Any], found: Findings) -> None:
    """Check which clauses are said to hold, where the problem has clauses."""
    data, said = claim.problem, claim.result.arrays.get("satisfied")
    if said is None or "literals" not in data:
        return
    starts, literals = data["clause_starts"].tolist(), data["literals"].tolist()
    hold = [
        any(bool(bits[abs(literal) - 1]) == (literal > 0) for literal in literals[begin:end])
        for begin, end in itertools.pairwise(starts)
    ]
    found.expect(
        hold == said.astype(bool).tolist(),
        f"{sum(hold)} of {len(hold)} clauses hold, and these",
        "other clauses hold than the result says",
    )


def _energy(signs: NDArray[np.int64]) -> int:
    """The sum of the squared autocorrelations of a sequence."""
    return int((np.correlate(signs, signs, "full")[len(signs) :] ** 2).sum())


def _least_energy(n: int) -> int | None:
    """The least energy of all sequences of n elements; None where there are too many."""
    if n > _LISTED:
        return None
    every = 2 * ((np.arange(1 << (n - 1))[:, None] >> np.arange(n)) & 1) - 1
    return min(_energy(signs) for signs in every)


def _terms(data: Mapping[str, NDArray[Any]]) -> list[Term]:
    """The scopes and tables; axis i of a table is the i-th gene of its scope, the lowest bit of the index first."""
    starts, scopes = data["scope_starts"].tolist(), data["genes"].tolist()
    terms = []
    for place, start in enumerate(data["table_starts"].tolist()):
        scope = tuple(scopes[starts[place] : starts[place + 1]])
        table = data["tables"][start : start + (1 << len(scope))].reshape((2,) * len(scope))
        terms.append((scope, table.transpose(range(len(scope) - 1, -1, -1)).astype(np.int64)))
    return terms


def _eliminated(terms: list[Term], n: int) -> int | None:
    """The greatest sum, genes of few neighbours first; None if a table over more than ``WIDEST`` genes is needed."""
    of_gene: dict[int, list[Term]] = {gene: [] for gene in range(n)}
    total = 0
    for term in terms:
        for gene in term[0]:
            of_gene[gene].append(term)
        total += int(term[1]) if not term[0] else 0
    neighbours = {gene: {other for scope, _ in of_gene[gene] for other in scope} - {gene} for gene in range(n)}
    waiting = [(len(near), gene) for gene, near in neighbours.items()]
    heapq.heapify(waiting)
    while waiting:
        count, gene = heapq.heappop(waiting)
        if gene not in neighbours or len(neighbours[gene]) != count:
            continue  # it has been eliminated, or is there again with another number
        others = tuple(sorted(neighbours.pop(gene)))
        if len(others) >= WIDEST:
            return None
        joint = np.zeros((2,) * (len(others) + 1), np.int64)
        for scope, table in of_gene[gene]:
            places = [(others.index(one) if one != gene else len(others)) for one in scope]
            shape = [2 if axis in places else 1 for axis in range(len(others) + 1)]
            joint = joint + table.transpose(np.argsort(places)).reshape(shape)
            for one in scope:
                of_gene[one] = [term for term in of_gene[one] if term[1] is not table or one == gene]
        made: Term = others, joint.max(axis=-1)
        total += int(made[1]) if not others else 0
        for one in others:
            of_gene[one].append(made)
            neighbours[one] |= set(others) - {one}
            neighbours[one].discard(gene)
            heapq.heappush(waiting, (len(neighbours[one]), one))
    return total


def _hierarchy(family: str, bits: list[int]) -> tuple[int, int, int, int]:
    """The scale, the sense, the value times the scale, and what it is at most; from the papers' definitions.

    hiff: a block is worth its length if all its bits agree, on every level, single bits included (Watson, Hornby,
    Pollack 1998). htrap: blocks of three symbols are traps worth 3^level; a block that agrees passes its symbol up, and
    any other a gap that makes the next block worth nothing (Pelikan, Goldberg 2001).
    """
    n, length, value = len(bits), 1, 0
    if family == "hiff":
        levels = n.bit_length() - 1
        while length <= n:
            blocks = (bits[at : at + length] for at in range(0, n, length))
            value += sum(length for block in blocks if len(set(block)) == 1)
            length *= 2
        return 1, 0, value, n * (levels + 1)
    symbols = list(bits)
    levels = 0
    while len(symbols) > 1:
        length, levels = 3 * length, levels + 1
        worth = (18, 9, 0, 20) if len(symbols) == 3 else (20, 10, 0, 20)  # twentieths
        groups = [symbols[at : at + 3] for at in range(0, len(symbols), 3)]
        value += length * sum(worth[sum(map(int, group))] for group in groups if -1 not in group)
        symbols = [group[0] if len(set(group)) == 1 else -1 for group in groups]
    return 20, 0, value, 20 * n * levels
