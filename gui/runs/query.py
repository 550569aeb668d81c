"""The filter of the run table: words, and conditions on columns.

::

    taillard                    the word in title, problem, solver, state, tags or note
    solver:knapsack             the word in one column
    time>60  gap<=1%  best=2178 comparison of numbers; a percent sign divides by 100
    option.variant=tiles        an option; counter.nodes>1e9 a counter
    -state:failed               not
    "two words"                 with a space

All conditions must hold.
"""

import math
import operator
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gui.runs.columns import FIELDS, column_named, searchable_text, value_of
from gui.runs.notes import RunNote

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_CONDITION = re.compile(r"(?P<field>[A-Za-z_][\w.]*)(?P<sign><=|>=|!=|[:<>=])(?P<value>.*)", re.DOTALL)


class QueryError(ValueError):
    """A filter that cannot be understood; the message says why."""


@dataclass(frozen=True)
class Condition:
    """One part of a filter: without a field, a word that any text column may contain."""

    field: str
    sign: str
    value: str
    negated: bool

    def holds(self, note: RunNote) -> bool:
        return self._holds(note) != self.negated

    def _holds(self, note: RunNote) -> bool:
        if not self.field:
            return self.value.lower() in searchable_text(note)
        found = value_of(note, self.field)
        if self.sign == ":":
            return _text(self.value) in _text(found)
        if found is None:
            return False
        number = _number(self.value)
        if number is not None and isinstance(found, (int, float)) and not isinstance(found, bool):
            if self.sign in ("=", "!="):
                return math.isclose(found, number, rel_tol=1e-9) == (self.sign == "=")
            return _COMPARISONS[self.sign](found, number)
        return _COMPARISONS[self.sign](_text(found), _text(self.value))


def parse(text: str) -> list[Condition]:
    """The conditions of a filter; :class:`QueryError` if a quotation mark is open, or a condition makes no sense."""
    try:
        words = shlex.split(text.replace("'", "\\'"))
    except ValueError:
        raise QueryError("a quotation mark is not closed") from None
    return [_condition(word) for word in words]


def _condition(word: str) -> Condition:
    negated = word.startswith("-") and len(word) > 1
    bare = word[1:] if negated else word
    found = _CONDITION.fullmatch(bare)
    if found is None:
        return Condition("", ":", bare, negated)
    name = found["field"].lower()
    if name not in FIELDS and not name.startswith(("option.", "counter.")):
        raise QueryError(f"there is no column {name!r}; there are {', '.join(FIELDS)}, option.NAME and counter.NAME")
    sign, value = found["sign"], found["value"]
    if name in FIELDS and column_named(name).numeric and sign != ":" and _number(value) is None:
        raise QueryError(f"{name} is compared with a number; got {value!r}")
    return Condition(name, sign, value, negated)


def matches(note: RunNote, conditions: Sequence[Condition]) -> bool:
    """Whether a run fulfils all conditions."""
    return all(condition.holds(note) for condition in conditions)


def _number(text: str) -> float | None:
    scale = 0.01 if text.endswith("%") else 1.0
    try:
        return scale * float(text.removesuffix("%").strip())
    except ValueError:
        return None


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)).lower()
    return "" if value is None else str(value).lower().replace("_", " ")
