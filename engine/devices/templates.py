"""Kernel templates: found under ``kernels/``, rendered strictly, and named for the compiler's messages.

A template is C in the common dialect plus Mako for constants, types and unrolled loops. Rendering puts the language's
prelude in front and ``#line`` directives throughout, so that a compiler's complaint names the template and its own line.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mako.exceptions import RichTraceback
from mako.lookup import TemplateCollection
from mako.template import Template

from engine.errors import KernelError

__all__ = ["Source", "compiler_location", "dump", "render", "template_names"]

_KERNELS = Path(str(importlib.resources.files("kernels")))
_PRELUDE = "common/prelude"


@dataclass(frozen=True)
class Source:
    """Rendered kernel source: its ``template`` name, ``language``, ``text``, and the SHA-256 ``digest`` of both."""

    template: str
    language: str
    text: str

    @functools.cached_property
    def digest(self) -> str:
        """Names the compiled kernel in a cache."""
        return hashlib.sha256(f"{self.language}\n{self.text}".encode()).hexdigest()


class _Kernels(TemplateCollection):  # type: ignore[misc]
    """Templates by name, each read once, with ``#line`` directives put in."""

    def __init__(self) -> None:
        super().__init__()
        self._templates: dict[str, Template] = {}
        self._lock = threading.Lock()

    def adjust_uri(self, uri: str, filename: str | None) -> str:
        """Template names are always from the root of ``kernels/``."""
        return uri.lstrip("/")

    def get_template(self, uri: str, relativeto: str | None = None) -> Template:
        """The template of that name, read and compiled by Mako once."""
        uri = uri.lstrip("/")
        with self._lock:
            found = self._templates.get(uri)
        if found is None:
            path = _KERNELS / uri
            found = Template(
                text=_with_line_directives(path.read_text(encoding="utf-8"), uri),
                lookup=self,
                uri=uri,
                strict_undefined=True,
            )
            with self._lock:
                self._templates[uri] = found
        return found


_TEMPLATES = _Kernels()
_CONTROL_LINE = re.compile(r"\s*(%(?!%)|##)")
_BLOCK_OPEN = re.compile(r"<%(?!def|include|namespace|inherit|block|call|page|doc|text)[!\s]|<%doc>")
_BLOCK_CLOSE = re.compile(r"%>\s*$|</%doc>\s*$")
_TAG_LINE = re.compile(r"\s*</?%[^>]*>\s*$")


def _with_line_directives(text: str, name: str) -> str:
    """Put ``#line`` wherever the rendered line number stops following the template's."""
    out: list[str] = []
    pending = True
    in_block = continued = False
    for number, line in enumerate(text.split("\n"), start=1):
        if in_block:
            out.append(line)
            if _BLOCK_CLOSE.search(line):
                in_block, pending = False, True
            continue
        if _BLOCK_OPEN.search(line) and not _BLOCK_CLOSE.search(line):
            out.append(line)
            in_block = True
            continue
        if _CONTROL_LINE.match(line) or _TAG_LINE.match(line) or _BLOCK_CLOSE.search(line):
            out.append(line)
            pending = True
            continue
        if pending and line.strip() and not continued:
            out.append(f'#line {number} "{name}"')
            pending = False
        out.append(line)
        continued = line.endswith("\\")
    return "\n".join(out)


def render(template: str, language: str, **constants: Any) -> Source:
    """Render one template for one language.

    Parameters
    ----------
    template : str
        Name under ``kernels/`` without ``.mako``.
    language : {"cuda", "opencl"}
        Whose prelude is put in front; templates see it as ``language``.
    **constants
        What the template uses. A name it uses and does not get is an error.

    Raises
    ------
    engine.errors.KernelError
        If there is no such template, or rendering fails; with the template's line.
    """
    parts = []
    for name in (f"{_PRELUDE}.{language}.mako", f"{template}.mako"):
        try:
            parts.append(_TEMPLATES.get_template(name).render_unicode(language=language, **constants))
        except OSError as error:
            raise KernelError(template, language, "rendering", f"there is no template {name}") from error
        except Exception as error:
            raise KernelError(template, language, "rendering", _mako_message(error, name)) from error
    return Source(template, language, "\n".join(parts))


def _mako_message(error: Exception, name: str) -> str:
    """One sentence with the line Mako was at; inserted ``#line`` rows are discounted."""
    traceback = RichTraceback(error=error, traceback=error.__traceback__)
    inserted = traceback.source.split("\n")[: traceback.lineno] if traceback.source and traceback.lineno else []
    line = len(inserted) - sum(row.startswith("#line ") for row in inserted)
    return f"{type(error).__name__}: {error} ({name}, line {line})"


def template_names() -> Iterator[str]:
    """Names of all templates under ``kernels/``, without suffix, preludes included."""
    for path in sorted(_KERNELS.rglob("*.mako")):
        yield path.relative_to(_KERNELS).with_suffix("").as_posix()


def compiler_location(log: str) -> str | None:
    """``knapsack/rows.mako, line 7``: the first place an NVRTC or Clang log names with the word error, if any."""
    for pattern in (r"([\w./-]+\.mako)\((\d+)\): error", r"([\w./-]+\.mako):(\d+):\d+: (?:fatal )?error"):
        match = re.search(pattern, log)
        if match:
            return f"{match[1]}, line {match[2]}"
    return None


def dump(source: Source, directory: str | Path | None = None) -> str:
    """Write rendered source where a person can look at it, and return the path.

    ``directory`` defaults to ``QUINTET_DUMP_KERNELS``, else a folder of the system's temporary directory.
    """
    folder = Path(directory or os.environ.get("QUINTET_DUMP_KERNELS") or Path(tempfile.gettempdir()) / "quintet-kernels")
    folder.mkdir(parents=True, exist_ok=True)
    suffix = "cu" if source.language == "cuda" else "cl"
    path = folder / f"{source.template.replace('/', '-')}-{source.digest[:12]}.{suffix}"
    path.write_text(source.text, encoding="utf-8")
    return str(path)
