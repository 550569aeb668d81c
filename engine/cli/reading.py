"""The problem of a command line: its class, and reading it with the options its class has for that."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..folder import read_problem
from ..formats import tables
from ..formats.source import read_head, without_compression
from ..models import Given, validated
from ..problem import Problem
from ..solvers import discover, recognize

__all__ = ["class_of", "read"]


def class_of(path: Path, target: bool = False) -> type[Problem]:
    """The problem class of an instance file.

    Parameters
    ----------
    path : Path
    target : bool
        Whether the command line names a target column; then a table need not have a column with a usual title.

    Raises
    ------
    engine.errors.InputError
        If the file cannot be read or is not recognised.
    """
    try:
        return recognize(path)
    except InputError as error:
        kind = _class_with_a_target(path)
        if kind is None:
            raise
        if target:
            return kind
        raise InputError(f"{error}; if it is a table, name the column to predict with --target") from None


def _class_with_a_target(path: Path) -> type[Problem] | None:
    """The class that reads tables with a target column, if the file may be one."""
    try:
        if not tables.looks_like_text(without_compression(path), read_head(path, 4096)):
            return None
    except (OSError, ValueError):
        return None
    kinds = [kind for solver in discover().values() for kind in solver.problems]
    return next((kind for kind in kinds if kind.read_options and "target" in kind.read_options.model_fields), None)


def read(path: Path, given: Mapping[str, Any], trust: bool = False) -> Problem:
    """The problem of an instance file or a run folder.

    Parameters
    ----------
    path : Path
    given : mapping
        Fields of the problem class's ``read_options``, as written on the command line.
    trust : bool
        See :func:`engine.folder.read_problem`.

    Raises
    ------
    engine.errors.InputError
        If it cannot be read.
    """
    if path.is_dir():
        return read_problem(path, trust)
    kind = class_of(path, "target" in given)
    if kind.read_options is None:
        return read_problem(path, trust, kind)
    options = validated(kind.read_options, {name: Given(value) for name, value in given.items()}, what="option")
    problem = read_problem(path, trust, kind, **options.model_dump())
    if problem.instances_in_file > 1 and "instance" not in given:
        count = problem.instances_in_file
        print(f"warning: {path} holds {count} instances; the first is solved (choose by --instance)", file=sys.stderr)
    return problem
