"""Writes engine/api/option_types.py, what type checkers know of options: ``python -m tools.option_types``."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import engine
from engine.base.solver import Solver, SolverOptions
from engine.solvers import discover, solver_named

FILE = Path(engine.__file__).parent / "api" / "option_types.py"
HEAD = '''"""The options of the solvers, for type checkers: made from their models by ``python -m tools.option_types``.

A name that is an option of several solvers has the types of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from numpy.typing import NDArray
'''

BATCH = '''

class BatchOptions(AnyOptions, total=False):
    """Options of the runs of ``engine.map``."""

    seed: int
'''


def text() -> str:
    """The content of the file."""
    parts = [
        declaration("BOAOptions", "Options of BOA.", [solver_named("boa")]),
        declaration("LinearProgramOptions", "Options of linear programs.", [solver_named("linprog")]),
        declaration("AnyOptions", "Options of every solver.", discover().values()),
        BATCH,
    ]
    return HEAD + "".join(parts)


def declaration(name: str, title: str, solvers: Iterable[Solver]) -> str:
    """One class, with the options in alphabetical order."""
    kinds: dict[str, list[Any]] = {}
    models: list[type[SolverOptions]] = [model for solver in solvers for model in solver.option_models]
    for model in models:
        for option, field in model.model_fields.items():
            kinds.setdefault(option, []).extend(alternatives(field.annotation))
    lines = [line(option, annotation(found)) for option, found in sorted(kinds.items())]
    return f'\n\nclass {name}(TypedDict, total=False):\n    """{title}"""\n\n' + "\n".join(lines) + "\n"


def alternatives(kind: Any) -> Iterator[Any]:
    """The parts of a union."""
    if get_origin(kind) in (Union, types.UnionType):
        for part in get_args(kind):
            yield from alternatives(part)
    else:
        yield kind


def line(option: str, words: list[str]) -> str:
    """The declaration of an option, in several lines if it is long."""
    short = f"    {option}: {' | '.join(words)}"
    if len(short) <= 120:
        return short
    if len(words) == 1:  # as ruff formats one long Literal
        return f"    {option}: {words[0].replace('[', '[' + chr(10) + '        ', 1).removesuffix(']')}\n    ]"
    return f"    {option}: (\n        " + "\n        | ".join(words) + "\n    )"


def annotation(kinds: list[Any]) -> list[str]:
    """The alternatives of an option of these types, as source text."""
    words = dict.fromkeys(word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind))
    literal = [f"Literal[{', '.join(map(_quoted, words))}]"] if words else []
    others = [part for kind in kinds if get_origin(kind) is not Literal for part in sources(kind)]
    return sorted(dict.fromkeys([*literal, *others]), key="None".__eq__)  # None is last


def sources(kind: Any) -> list[str]:
    """The source text of a type; what is a tuple in a model may be any sequence, or an array, in a call."""
    if kind is types.NoneType:
        return ["None"]
    if get_origin(kind) in (tuple, list):
        entry = get_args(kind)[0]
        return [f"Sequence[{entry.__name__}]", *(["NDArray[Any]"] if entry in (int, float) else [])]
    return [kind.__name__]


def _quoted(word: str) -> str:
    return f'"{word}"'


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
