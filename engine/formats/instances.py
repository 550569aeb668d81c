"""Files with one or several instances: which one is meant, what it is called, and where its errors are."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ..errors import ProblemError
from .source import without_compression


def require_instance(instance: int, count: int, path: str | Path | None) -> None:
    """Refuse a number of an instance that the file does not hold."""
    if not 1 <= instance <= count:
        raise ProblemError(f"there is no instance {instance}; the file holds {count}", path)


def instance_name(path: str | Path, instance: int = 1, count: int = 1) -> str:
    """The file's name without suffixes (of letters: that of ``eps_0.01`` is none), and the instance of several."""
    require_instance(instance, count, path)
    plain = without_compression(Path(path))
    stem = plain.stem if plain.suffix[1:].isalpha() else plain.name
    return stem if count == 1 else f"{stem}-{instance}"


@contextlib.contextmanager
def located(path: str | Path, line: int | None = None) -> Iterator[None]:
    """Let the errors of a problem that is made of a file's numbers name the file."""
    try:
        yield
    except ProblemError as error:
        raise ProblemError(str(error), path, line) from error
