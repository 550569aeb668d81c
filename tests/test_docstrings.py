"""Docstrings of the public names: what takes several arguments describes them."""

import ast
import functools
import inspect
import itertools
import pkgutil
import re
from pathlib import Path

import pytest

import engine
from engine.base.context import RunContext
from tests.support.public_names import members

_SECTIONS = ("Parameters\n", "Attributes\n")


def arguments(found):
    return [name for name in inspect.signature(found).parameters if name not in ("self", "cls")]


def described(text, sections=_SECTIONS):
    """The arguments that the sections of a docstring for them describe."""
    parts = re.split(r"^(\w+\n)-+\n", inspect.cleandoc(text or ""), flags=re.M)
    bodies = [body for title, body in itertools.pairwise(parts) if title in sections]
    entries = re.findall(r"^[*\w]+(?:, [*\w]+)*(?=$| : )", "\n".join(bodies), re.M)
    return {name.strip("* ") for entry in entries for name in entry.split(",")}


def texts_of(found, name):
    """The docstrings of a name, of its bases or what it overrides, and of a run's context for its solver."""
    kind, _, method = name.partition(".")
    bases = getattr(engine, kind).__mro__ if method or inspect.isclass(found) else ()
    for base in (*bases, *([RunContext] if kind == "Run" else [])):
        yield getattr(vars(base).get(method), "__doc__", None) if method else base.__doc__
    yield found.__doc__


def test_what_a_docstring_describes_are_the_arguments_and_each_is_described():
    for name, found in members():
        taken, own = set(arguments(found)), described(found.__doc__, ["Parameters\n"])
        assert own <= taken, name
        if len(taken) > 1 or own:
            assert taken <= set().union(*map(described, texts_of(found, name))), name


PAGE = Path(__file__).parents[1] / "docs" / "reference" / "extending.md"
EXTENDING = re.findall(r"^::: ([\w.]+)$", PAGE.read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("path", EXTENDING)
def test_classes_on_the_page_for_writers_of_solvers_describe_their_arguments(path):
    kind = pkgutil.resolve_name(path)
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
    assert set(missing) <= {"section", "pick"}


def test_every_public_name_has_a_docstring():
    assert [name for name, found in members() if not inspect.getdoc(found)] == []


PACKAGE = Path(engine.__file__).parent

_ENTRY = r"-*|\s.*|\*{0,2}\w+(, \*{0,2}\w+)*( : .*)?"
"""The rule below a heading, a description, or names with their type."""


def misplaced(text):
    """Lines of the sections of a docstring that describe arguments, but are no argument: readers take them for one."""
    lines, section = text.split("\n"), ""
    for line, below in itertools.pairwise([*lines, ""]):
        if below and not below.strip("-"):
            section = line
        elif section in ("Parameters", "Attributes") and not re.fullmatch(_ENTRY, line):
            yield line


@functools.cache
def parts(path):
    """The functions and classes of a module that has docstrings with sections."""
    text, kinds = path.read_text(encoding="utf-8"), (ast.FunctionDef, ast.ClassDef)
    return [node for node in ast.walk(ast.parse(text if "\n    ---" in text else "")) if isinstance(node, kinds)]


@pytest.mark.parametrize("package", ["engine", "gui"])
def test_nothing_but_arguments_is_in_the_sections_for_them(package):
    found = []
    for path in sorted((Path(__file__).parents[1] / package).rglob("*.py")):
        for node in parts(path):
            found += [f"{path.name}, {node.name}: {line}" for line in misplaced(ast.get_docstring(node) or "")]
    assert found == []
