"""Formulas in conjunctive normal form as sums of tables, one for each clause."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....errors import ProblemError
from ....util.text import shown
from .tables import LARGEST_SUM, WIDEST_SCOPE, Decomposable


def _literals(n: int, place: int, clause: Sequence[int]) -> list[int]:
    """The literals of a clause, each once, by their variables."""
    if not len(clause):
        raise ProblemError(f"a clause must have a literal; clause {place} of the formula has none")
    for literal in clause:
        if not 1 <= abs(literal) <= n:
            raise ProblemError(f"a literal must be from 1 to {n}, or negated; got {literal} in clause {place}")
    return sorted(set(clause), key=abs)


def _always_holds(literals: Sequence[int]) -> bool:
    return len({abs(literal) for literal in literals}) < len(literals)


def _table_of(literals: Sequence[int], place: int, satisfied: int, violated: int) -> NDArray[np.float64]:
    """The values of a clause under all values of its variables."""
    if len(literals) > WIDEST_SCOPE:
        raise ProblemError(
            f"a clause must have at most {WIDEST_SCOPE} variables; clause {place} of the formula has {len(literals)}"
        )
    table = np.full(1 << len(literals), satisfied, np.float64)
    table[sum((literal < 0) << bit for bit, literal in enumerate(literals))] = violated
    return table


def max_sat(n: int, clauses: Sequence[Sequence[int]]) -> Decomposable:
    """The number of clauses that hold; literals are 1-based, negative for negated. All of them is the bound."""
    scopes, tables, sure = [], [], 0
    for place, clause in enumerate(clauses, 1):
        literals = _literals(n, place, clause)
        if _always_holds(literals):
            sure += 1
            continue
        scopes.append([abs(literal) - 1 for literal in literals])
        tables.append(_table_of(literals, place, 1, 0))
    return Decomposable(n, scopes, tables, constant=sure, bound=len(clauses), text="MAX-SAT")


def weighted_max_sat(n: int, clauses: Sequence[Sequence[int]], weights: Sequence[int | None]) -> Decomposable:
    """The weight of the soft clauses that do not hold, to be minimised; literals are 1-based, negative for negated.

    A clause of weight None is hard: it weighs one more than all soft ones in sum, and once if it is given several
    times.
    """
    if len(clauses) != len(weights):
        raise ProblemError(f"{len(clauses)} clauses need as many weights; got {len(weights)}")
    for weight in weights:
        if weight is not None and not 0 <= weight < LARGEST_SUM:
            raise ProblemError(f"the weight of a clause must be at least 0, and below 2^41; got {shown(weight)}")
    hard = 1 + sum(weight for weight in weights if weight is not None)
    scopes, tables = [], []
    seen: set[tuple[int, ...]] = set()
    for place, (clause, weight) in enumerate(zip(clauses, weights, strict=True), 1):
        literals = _literals(n, place, clause)
        if _always_holds(literals) or weight == 0:
            continue
        if weight is None:
            if tuple(literals) in seen:
                continue
            seen.add(tuple(literals))
        scopes.append([abs(literal) - 1 for literal in literals])
        tables.append(_table_of(literals, place, 0, hard if weight is None else weight))
    if seen and hard * len(seen) + hard - 1 >= LARGEST_SUM:
        raise ProblemError(
            f"each of the {len(seen)} different hard clauses must weigh {hard}, more than all soft clauses together; "
            f"the weights come to {hard * len(seen) + hard - 1:.3g}, and must stay below 2^41 (2.2e+12)"
        )
    cost = hard if any(weight is None for weight in weights) else 0
    return Decomposable(n, scopes, tables, minimize=True, bound=0, hard=cost, text="weighted MAX-SAT")
