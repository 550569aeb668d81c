"""Readers of formulas in conjunctive normal form, with or without weights."""

from ...util.text import counted
from ..source import require_memory
from .lines import Lines, Parsed

WIDEST_CLAUSE = 16
"""Variables of a clause: it becomes a table of 2 to this power."""

_NARROW = 4
_MEMORY_PER_ENTRY = 56
_LARGEST_WEIGHTS = 2**40


class _Tables:
    """The tables that clauses become: checked, by the line, before any is made."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.entries = 0

    def add(self, clause: list[int]) -> None:
        """Refuse a clause of too many variables, or one too many for the memory."""
        if len(clause) <= _NARROW:
            self.entries += 1 << len(clause)
            return
        literals = set(clause)
        if any(-literal in literals for literal in literals):
            return  # x or not x: always holds
        if len(literals) > WIDEST_CLAUSE:
            raise self.lines.error(
                f"a clause must have at most {WIDEST_CLAUSE} variables; this one has {len(literals)}"
            )
        self.entries += 1 << len(literals)
        what = f"the tables of the clauses so far, of {self.entries} values,"
        require_memory(_MEMORY_PER_ENTRY * self.entries, what, self.lines.path, self.lines.line)


def read_cnf(lines: Lines) -> Parsed:
    """DIMACS CNF: a clause may take several lines, and a line hold several clauses; ``%`` ends the formula."""
    row = lines.behind_comments("the line 'p cnf'")
    if len(row) != 4:
        raise lines.error("the problem line must be 'p cnf variables clauses'")
    n = lines.genes(lines.whole(row[2], "the number of variables"), "the number of variables")
    count = lines.whole(row[3], "the number of clauses")
    clauses: list[list[int]] = []
    clause: list[int] = []
    tables = _Tables(lines)
    for row in lines:
        if row[0] == "c":
            continue
        if row[0] == "%":
            break
        for word in row:
            literal = lines.whole(word, "a literal")
            if len(clauses) == count:
                raise lines.error(f"the problem line says {counted(count, 'clause')}; here is one more")
            if abs(literal) > n:
                raise lines.error(f"a literal must be from 1 to {n}, or negated; got {literal}")
            if literal == 0:
                if not clause:
                    raise lines.error("a clause must have a literal")
                tables.add(clause)
                clauses.append(clause)
                clause = []
            else:
                clause.append(literal)
    if clause:
        tables.add(clause)
        clauses.append(clause)
    if len(clauses) != count:
        raise lines.error(f"there must be {count} clauses; got {len(clauses)}")
    return Parsed("cnf", n, clauses=clauses)


def read_wcnf(lines: Lines) -> Parsed:
    """Either layout; a weight of ``top`` or more, or ``h``, makes a clause hard. Clauses of weight 0 are left out."""
    n = count = top = None
    clauses: list[list[int]] = []
    weights: list[int | None] = []
    total = seen = largest = 0
    tables = _Tables(lines)
    for row in lines:
        if row[0] == "c" or row[0][0] == "#":
            continue
        if row[0] == "p":
            if row[1:2] != ["wcnf"] or len(row) not in (4, 5) or n is not None or seen:
                raise lines.error("the problem line must come first and be 'p wcnf variables clauses top'")
            n, count, top = _problem_line(lines, row)
            continue
        if row[-1] != "0" or "0" in row[1:-1]:
            raise lines.error("a line must hold a weight, a clause and 0")
        weight = None if row[0] == "h" else lines.large(row[0], "a weight")
        if weight is not None and weight < 0:
            raise lines.error(f"a weight must be at least 0; got {weight}")
        weight = None if weight is not None and top is not None and weight >= top else weight
        total += weight or 0
        if total >= _LARGEST_WEIGHTS:
            raise lines.error("the weights of the soft clauses must stay below 2^40 in sum")
        clause = [lines.whole(word, "a literal") for word in row[1:-1]]
        if not clause:
            raise lines.error("a clause must have a literal")
        largest = max(largest, max(map(abs, clause)))
        if n is not None and largest > n:
            literal = next(literal for literal in clause if abs(literal) > n)
            raise lines.error(f"a literal must be from 1 to {n}, or negated; got {literal}")
        seen += 1
        if weight != 0:
            tables.add(clause)
            clauses.append(clause)
            weights.append(weight)
    if not seen or (count is not None and seen != count):
        raise lines.error(f"there must be {count or 'some'} clauses; got {seen}")
    n = lines.genes(n or largest, "the number of variables")
    return Parsed("wcnf", n, clauses=clauses, weights=weights)


def _problem_line(lines: Lines, row: list[str]) -> tuple[int, int, int | None]:
    """The numbers of variables and of clauses, and the weight of hard clauses, where it is given."""
    n, count = lines.whole(row[2], "the number of variables"), lines.whole(row[3], "the number of clauses")
    top = lines.large(row[4], "top") if len(row) == 5 else None
    if top is not None and top < 1:
        raise lines.error(f"top must be at least 1; got {top}")
    return lines.genes(n, "the number of variables"), count, top
