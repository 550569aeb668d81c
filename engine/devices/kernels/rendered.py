"""Rendered sources that are kept: most starts need neither Mako nor the templates, which take 0.1 to 0.3 s of them."""

import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...util.paths import folder_of
from ..backends import backends
from .cache import keep, kept
from .source import Source


def rendered(template: str, language: str, constants: dict[str, Any]) -> Source:
    """As :func:`.templates.render`, or what that made of the same files and constants, by their ``repr``, before."""

    def make() -> str:
        from .templates import render  # imports Mako

        return render(template, language, **constants).text

    files = f"{_files(_root())} {_files(_prelude_folder(language))}"
    return Source(template, language, _kept_or_made(f"{template} {language} {files}", constants, make))


def rendered_text(text: str, **constants: Any) -> str:
    """As :func:`.templates.render_text`; see :func:`rendered`."""

    def make() -> str:
        from .templates import render_text

        return render_text(text, **constants)

    return _kept_or_made(text, constants, make)


def _kept_or_made(what: str, constants: dict[str, Any], make: Callable[[], str]) -> str:
    key = f"{what} {sorted(constants.items())!r} {_versions()}"
    if " at 0x" in key:
        return make()
    name = f"{hashlib.sha256(key.encode()).hexdigest()}.text"
    found = kept(name)
    if found is None:
        keep(name, found := make().encode())
    return found.decode()


def _root() -> Path:
    """Where templates are looked for."""
    loaded = sys.modules.get(f"{__package__}.templates")  # which another thread may be importing
    templates = getattr(loaded, "_TEMPLATES", None)
    return folder_of("kernels") if templates is None else Path(templates.root)


def _prelude_folder(language: str) -> Path | None:
    backend = backends().get(language)
    return None if backend is None or backend.prelude is None else backend.prelude.parent


@functools.cache
def _files(folder: Path | None) -> str:
    """What tells one state of a folder's templates from another: of them as this process found them."""
    if folder is None:
        return ""
    found = []
    for place, _, names in sorted(os.walk(folder)):
        for status in (os.stat(f"{place}/{name}") for name in sorted(names) if name.endswith(".mako")):
            found.append((place, status.st_ino, status.st_size, status.st_mtime_ns))
    return hashlib.sha256(repr(found).encode()).hexdigest()


@functools.cache
def _versions() -> str:
    """What tells the packages apart that templates are rendered with; reading their metadata takes 20 ms."""
    origins = [str(getattr(importlib.util.find_spec(name), "origin", None)) for name in ("mako", "scipy")]
    return repr([(origin, os.stat(origin).st_mtime_ns, os.stat(origin).st_size) for origin in origins])
