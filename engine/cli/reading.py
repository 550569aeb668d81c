"""The problem of a command line: its class, and reading it with the options its class has for that."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.option_models import Given, validated
from ..base.problem import Problem
from ..errors import InputError, OptionError
from ..formats import tables
from ..formats.source import read_head, without_compression
from ..runs.folder.run_folder import read_problem
from ..solvers import class_named, discover, recognize


def class_of(path: Path, target: bool = False, kind: str | None = None) -> type[Problem]:
    if kind is not None:
        return class_named(kind)
    try:
        return recognize(path, lambda: _advice(path))
    except InputError:
        table = _class_with_a_target(path) if target else None
        if table is None:
            raise
        return table


def _advice(path: Path) -> str:
    text = "--as KIND chooses one of those below"
    is_table = _class_with_a_target(path) is not None
    return f"{text}, and --target the column to predict if it is a table" if is_table else text


def _class_with_a_target(path: Path) -> type[Problem] | None:
    """The class that reads tables with a target column, if the file may be one."""
    try:
        if not tables.looks_like_text(without_compression(path), read_head(path, 4096)):
            return None
    except (OSError, ValueError):
        return None
    kinds = [kind for solver in discover().values() for kind in solver.problems]
    return next((kind for kind in kinds if kind.read_options and "target" in kind.read_options.model_fields), None)


def read(path: Path, given: Mapping[str, Any], trust: bool = False, kind: str | None = None) -> Problem:
    if path.is_dir():
        if kind is not None:
            raise OptionError(f"--as is for files; {path} is a folder, which says itself what it holds")
        return read_problem(path, trust)
    found = class_of(path, "target" in given, kind)
    if found.read_options is None:
        return read_problem(path, trust, found)
    options = validated(found.read_options, {name: Given(value) for name, value in given.items()}, what="option")
    problem = read_problem(path, trust, found, **options.model_dump())
    if problem.instances_in_file > 1 and "instance" not in given:
        count = problem.instances_in_file
        print(f"warning: {path} holds {count} instances; the first is solved (choose by --instance)", file=sys.stderr)
    return problem
