"""What the ``run.toml`` of a run folder says, checked."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...errors import RunFolderError
from ...util.files import read_regular, reason_of
from .storage import text_digest

FORMAT = 1
"""Of run folders."""


class DescribedProblem(BaseModel):
    """The table ``[problem]`` of ``run.toml``; ``module`` and ``file`` are of a class that is the user's own."""

    model_config = ConfigDict(extra="forbid", strict=True)

    class_: str = Field(alias="class", description="name of the class")
    kind: str = Field(description="the class's short name, as in `problem.npz`")
    name: str = Field("", description="name of the instance")
    digest: str = Field(description="SHA-256 of the arrays of `problem.npz`")
    module: str | None = Field(None, description="where a class of your own is imported from")
    file: str | None = Field(None, description="its file, which is executed only after you allow it")


class Description(BaseModel):
    """The content of ``run.toml``."""

    model_config = ConfigDict(extra="allow", strict=True)

    run: str = Field(description="identity of the run, which every other file repeats")
    solver: str = Field(description="name of the solver")
    problem: DescribedProblem = Field(description="the table below")
    options: dict[str, Any] = Field({}, description="every option of the solver, defaults included")
    settings: dict[str, Any] = Field({}, description="seed, time limit and the like")
    devices: list[dict[str, Any]] = Field([], description="id, name, driver and memory of each device")
    versions: dict[str, str] = Field({}, description="of Quintet, Python and the libraries it used")


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
        Description.model_validate(description)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise RunFolderError(f"{file} does not describe a run: {faults}") from error
    return description
