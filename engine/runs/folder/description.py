"""What the ``run.toml`` of a run folder says, checked."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...errors import RunFolderError
from ...util.files import read_regular, reason_of
from .storage import text_digest

__all__ = ["FORMAT", "read_description"]

FORMAT = 1
"""Of run folders."""


class _Problem(BaseModel):
    """The table ``[problem]`` of ``run.toml``; ``module`` and ``file`` are of a class that is the user's own."""

    model_config = ConfigDict(extra="forbid", strict=True)

    class_: str = Field(alias="class")
    kind: str
    name: str = ""
    digest: str
    module: str | None = None
    file: str | None = None


class _Description(BaseModel):
    """The content of ``run.toml``."""

    model_config = ConfigDict(extra="allow", strict=True)

    run: str
    solver: str
    problem: _Problem
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    devices: list[dict[str, Any]] = []
    versions: dict[str, str] = {}


def read_description(file: Path) -> dict[str, Any]:
    """What a ``run.toml`` says, if its format is known and its digest is right."""
    try:
        text = read_regular(file).decode("utf-8")
    except FileNotFoundError as error:
        raise RunFolderError(f"{file.parent} is not a run folder: it has no run.toml") from error
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{file} cannot be read: {reason_of(error)}") from error
    return _checked(file, text)


def _checked(file: Path, text: str) -> dict[str, Any]:
    """What a ``run.toml`` says, if its format is known and its digest is right."""
    try:
        description = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise RunFolderError(f"{file} cannot be read: {error or type(error).__name__}") from error
    if "format" not in description and "digest" not in description:
        raise RunFolderError(f"{file} was written by an early version whose run folders this one does not read")
    if description.get("format") != FORMAT:
        raise RunFolderError(
            f"{file} has format {description.get('format')}; this version of Quintet reads format {FORMAT}"
        )
    lines = text.split("\n", 2)
    if len(lines) < 3 or lines[1] != f'digest = "{text_digest(lines[2])}"':
        raise RunFolderError(f"{file} is damaged: its content does not match its digest")
    try:
        _Description.model_validate(description)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise RunFolderError(f"{file} does not describe a run: {faults}") from error
    return description
