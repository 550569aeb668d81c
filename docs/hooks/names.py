"""The public names of the package: a page for each, and an index of them in groups."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import engine
from engine.base.problem import Problem

_SOLVERS = {
    "knapsack": "Knapsack",
    "branch_and_bound": "Permutations",
    "boa": "Bit strings",
    "gibbs": "Horseshoe regression",
    "linprog": "Linear programming",
}
GROUPS = (
    "Solve",
    "Results",
    *_SOLVERS.values(),
    "With other packages",
    "Your own problems",
    "Errors",
    "Warnings",
)


def public() -> Iterator[tuple[str, str, str, str]]:
    """Name, full path, group and first sentence of each public function and class."""
    for name in dir(engine):
        try:
            found = getattr(engine, name)
        except ModuleNotFoundError:  # of a package that is not installed
            continue
        if not (inspect.isfunction(found) or isinstance(found, type)):
            continue
        place = f"{found.__module__}.{found.__qualname__}"
        yield name, place, _group(found, found.__module__.split(".")), first_sentence(inspect.getdoc(found) or "")


def groups() -> dict[str, list[tuple[str, str, str]]]:
    """The names of each group, each with its full path and first sentence."""
    found: dict[str, list[tuple[str, str, str]]] = {title: [] for title in GROUPS}
    for name, place, group, sentence in public():
        found[group].append((name, place, sentence))
    return found


def _group(found: object, module: list[str]) -> str:
    if isinstance(found, type) and issubclass(found, Exception):
        return "Warnings" if issubclass(found, Warning) else "Errors"
    if found in (Problem, engine.PermutationProblem):
        return "Your own problems"
    if module[1] == "solvers":
        return _SOLVERS[module[2]]
    if module[1] == "adapters":
        home = {"minimize_bits": "boa", "linprog_batches": "linprog"}.get(module[-1])
        return _SOLVERS[home] if home else "With other packages"
    return "Results" if module[1] in ("base", "verification") and isinstance(found, type) else "Solve"


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, in Markdown."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.;]) (?=[A-Z`:])|(?<=;) ", paragraph)[0].rstrip(";.") + "."
    return re.sub(r":\w+:`~?(?:engine\.)?([^`]+)`", r"`\1`", sentence.replace("``", "`"))


def page(name: str, place: str) -> str:
    """The page of a name, for mkdocstrings."""
    return f"::: {place}\n    options:\n      heading: {name}\n      heading_level: 1\n"


def index() -> str:
    """Tables of the names, by group, with a sentence for each."""
    parts = []
    for title, names in groups().items():
        rows = "\n".join(f"| [`{name}`](python/{name}.md) | {text} |" for name, _, text in names)
        parts.append(f"## {title}\n\n| name | |\n|---|---|\n{rows}")
    return "\n\n".join(parts)
