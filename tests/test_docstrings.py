"""Docstrings of the public names: what takes several arguments describes them."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.devices import Device
from engine.devices.pool.group import WorkerGroup
from engine.reports.study import Study
from engine.runs.folder.run_folder import RunFolder
from tests.support.public_names import (
    members,
)

_SECTIONS = ("Parameters\n", "Attributes\n")


def arguments(found: Any) -> list[str]:
    return [name for name in inspect.signature(found).parameters if name not in ("self", "cls")]


def described(found: Any, name: str) -> bool:
    """Whether the docstring, or that of the method it overrides, has a section for its arguments."""
    kind, _, method = name.partition(".")
    texts = [inspect.getdoc(found)]
    for base in getattr(engine, kind).__mro__ if method or inspect.isclass(found) else ():
        texts.append(inspect.getdoc(vars(base).get(method)) if method else base.__doc__)
    return any(section in (text or "") for text in texts for section in _SECTIONS)


def test_public_functions_describe_their_arguments() -> None:
    missing = [name for name, found in members() if len(arguments(found)) > 1 and not described(found, name)]
    assert missing == []


@pytest.mark.parametrize("kind", [Device, WorkerGroup, RunFolder, Study], ids=lambda kind: kind.__name__)
def test_classes_for_writers_of_solvers_describe_their_arguments(kind: type) -> None:
    methods = {
        name: function
        for name, function in vars(kind).items()
        if inspect.isfunction(function) and not name.startswith("_")
    }
    missing = [
        name
        for name, function in methods.items()
        if len(arguments(function)) > 1
        and not any(section in (inspect.getdoc(function) or "") for section in (*_SECTIONS, "See :", "As :"))
    ]
    assert set(missing) <= {"wait_for_peer_event", "section", "pick"}


def test_every_public_name_has_a_docstring() -> None:
    assert [name for name, found in members() if not inspect.getdoc(found)] == []


PACKAGE = Path(engine.__file__).parent
_DESCRIBED = (
    *("adapters", "api", "base", "cli", "devices", "execution", "formats", "numerics", "reports", "runs", "settings"),
    "util",
)


def shared_modules() -> list[Path]:
    """The modules that solvers, command line and app share."""
    files = [
        *PACKAGE.glob("*.py"),
        *(f for part in _DESCRIBED for f in PACKAGE.glob(f"{part}/**/*.py")),
    ]
    return sorted(set(files))


SOLVERS = ("boa", "branch_and_bound", "gibbs", "knapsack", "linprog")


def is_command(node: ast.FunctionDef) -> bool:
    """Whether a function is a command of the command line, whose docstring is its help."""
    return any("click.command" in ast.unparse(decorator) for decorator in node.decorator_list)


def unexplained(path: Path) -> Iterator[str]:
    """Public functions and methods of a module with two arguments or more that no docstring describes."""

    def visit(body: list[ast.stmt], prefix: str) -> Iterator[str]:
        for node in body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield from visit(node.body, f"{node.name}.")
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not is_command(node):
                own = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = sum(argument.arg not in ("self", "cls") for argument in own)
                if any("override" in ast.unparse(decorator) for decorator in node.decorator_list):
                    continue  # the base class says it
                text = ast.get_docstring(node) or ""
                if count > 1 and text and not any(part in text for part in (*_SECTIONS, "See :", "see :", "As :")):
                    yield f"{path.relative_to(PACKAGE)}: {prefix}{node.name}"

    yield from visit(ast.parse(path.read_text(encoding="utf-8")).body, "")


def unexplained_classes(path: Path) -> Iterator[str]:
    """Public classes of a module that are made with two arguments or more that no docstring describes."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            made = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
            count = sum(len([*n.args.args, *n.args.kwonlyargs]) - 1 for n in made)
            text = ast.get_docstring(node) or ""
            if count > 1 and not any(part in text for part in ("Parameters\n", "See :", "see :", "As :")):
                yield f"{path.relative_to(PACKAGE)}: {node.name}"


def test_shared_functions_describe_their_arguments() -> None:
    assert [name for path in shared_modules() for name in unexplained(path)] == []


@pytest.mark.parametrize("solver", SOLVERS)
def test_functions_of_solvers_describe_their_arguments(solver: str) -> None:
    modules = sorted((PACKAGE / "solvers" / solver).rglob("*.py"))
    assert len(modules) > 20
    assert [name for path in modules for name in unexplained(path)] == []


@pytest.mark.parametrize(
    "package",
    [*_DESCRIBED, *(f"solvers/{solver}" for solver in SOLVERS)],
)
def test_classes_of_a_package_describe_their_arguments(package: str) -> None:
    modules = sorted((PACKAGE / package).rglob("*.py"))
    assert modules
    assert [name for path in modules for name in unexplained_classes(path)] == []


_ENTRY = r"-*|\s.*|\*{0,2}\w+(, \*{0,2}\w+)*( : .*)?"
"""The rule below a heading, a description, or names with their type."""


def misplaced(text: str) -> Iterator[str]:
    """Lines of the sections of a docstring that describe arguments, but are no argument: readers take them for one."""
    lines, section = text.split("\n"), ""
    for line, below in itertools.pairwise([*lines, ""]):
        if below and not below.strip("-"):
            section = line
        elif section in ("Parameters", "Attributes") and not re.fullmatch(_ENTRY, line):
            yield line


def named(text: str) -> list[str]:
    """The arguments that a docstring describes."""
    lines, section, found = text.split("\n"), "", []
    for line, below in itertools.pairwise([*lines, ""]):
        if below and not below.strip("-"):
            section = line
        elif section == "Parameters" and line.strip("-") and re.fullmatch(_ENTRY, line) and not line[0].isspace():
            found += [name.strip("* ") for name in line.partition(" : ")[0].split(",")]
    return found


def taken(node: ast.FunctionDef) -> set[str]:
    """The arguments that a caller can give."""
    given = node.args
    all_of_them = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {one.arg for one in all_of_them if one} - {"self", "cls"}


def documented(path: Path) -> Iterator[tuple[str, str, ast.FunctionDef]]:
    """Name, docstring and signature of the functions and classes of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node.name, ast.get_docstring(node) or "", node
        if isinstance(node, ast.ClassDef):
            made = [inner for inner in node.body if isinstance(inner, ast.FunctionDef) and inner.name == "__init__"]
            yield from ((node.name, ast.get_docstring(node) or "", inner) for inner in made)


def test_the_arguments_that_are_described_are_those_of_the_signature() -> None:
    found = [
        (f"{path.relative_to(PACKAGE)}, {name}", sorted(set(named(text)) ^ taken(node)))
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, text, node in documented(path)
        if named(text)
    ]
    assert len(found) > 500
    assert [entry for entry in found if entry[1]] == []


@pytest.mark.parametrize("package", ["engine", "gui"])
def test_nothing_but_arguments_is_in_the_sections_for_them(package: str) -> None:
    found = []
    for path in sorted((Path(__file__).parents[1] / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found += [f"{path.name}, {node.name}: {line}" for line in misplaced(ast.get_docstring(node) or "")]
    assert found == []
