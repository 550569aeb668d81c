"""Kernel templates: found under ``kernels/``, rendered strictly, and named for the compiler's messages.

A template is C in the common dialect plus Mako for constants, types and unrolled loops. Rendering puts the language's
prelude in front and ``#line`` directives throughout, so that a compiler's complaint names the template and its own
line. A def that is called among the arguments of a macro is written on one line, for directives cannot stand there.
Defs of a template of the same folder, or a shared one, are called by the name of its file: ``philox.functions()``.
"""

import functools
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mako.exceptions import (
    CompileException,
    RichTraceback,
    SyntaxException,
    TemplateLookupException,
    TopLevelLookupException,
)
from mako.lookup import TemplateCollection
from mako.template import Template

from ...errors import KernelError
from ...util.parsing import parsed
from ...util.paths import folder_of
from ..backends import backends
from .source import Source

_PRELUDE = "common/prelude"
_SHARED = ("numerics", "common")


class _Kernels(TemplateCollection):  # type: ignore[misc]
    """The templates under one folder, each read once, with ``#line`` directives put in."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self._templates: dict[str, Template] = {}
        self._reading = threading.RLock()

    def adjust_uri(self, uri: str, filename: str | None) -> str:
        """Template names are always from the root of ``kernels/``."""
        return uri.lstrip("/")

    def get_template(self, uri: str, relativeto: str | None = None) -> Template:
        uri = uri.lstrip("/")
        with self._reading:
            found = self._templates.get(uri)
            if found is None:
                try:
                    text = (self.root / uri).read_text(encoding="utf-8")
                except OSError as error:
                    raise TopLevelLookupException(f"there is no template {uri}") from error
                called = self.called(text, uri)
                text = _with_line_directives(text, uri)
                text += "".join(f'\n<%namespace name="{name}" file="/{place}"/>' for name, place in called)
                found = parsed(lambda: Template(text=text, filename=uri, uri=uri, lookup=self, strict_undefined=True))
                self._templates[uri] = found
        return found

    def called(self, text: str, uri: str) -> list[tuple[str, str]]:
        """Names and places of the templates whose defs a template calls by the names of their files."""
        calls = re.findall(r"\b(\w+)\.(\w+)\(", re.sub(r"(?s)<%doc>.*?</%doc>", "", text))
        found = {}
        for name, function in calls:
            for place in (f"{folder}/{name}.mako" for folder in (uri.rpartition("/")[0], *_SHARED)):
                if place != uri and (self.root / place).is_file():
                    if f'<%def name="{function}(' in (self.root / place).read_text(encoding="utf-8"):
                        found[name] = place
                    break
        return list(found.items())


_TEMPLATES = _Kernels(folder_of("kernels"))
_CONTROL_LINE = re.compile(r"\s*(%(?!%)|##)")
_NOT_CONTINUED = r"(?<!\\)$"
_SILENT_LINE = re.compile(r"\s*</?%[^>]*>\s*$")
_SEVERAL_LINES = re.compile(r"\$\{[^}]*\(|</?%")  # what may become more or fewer lines than it takes in the template
_BRACKETS = (("<%doc>", "</%doc>"), (r"<%!?(?=\s|$)", "%>"), (r"<%[\w.:]", ">"), (r"\$\{", "}"))


def _with_line_directives(text: str, name: str) -> str:
    """Put ``#line`` wherever the rendered line number stops following the template's.

    That is after everything Mako takes out or puts in: control lines, blocks of Python, tags, calls of defs, and the
    ends of lines after a backslash. Never inside one of these, where a directive would not be one.
    """
    out: list[str] = []
    until: str | None = None  # the pattern that ends what began on an earlier line
    stale = True  # the compiler's line number does not follow the template's
    joined = False  # the line before ended with a backslash
    for number, line in enumerate(text.split("\n"), start=1):
        if until is not None or _CONTROL_LINE.match(line):
            out.append(line)
            ending = until or _NOT_CONTINUED
            until = None if re.search(ending, line) else ending
            stale = True
            continue
        until = _left_open(line)
        silent = bool(_SILENT_LINE.match(line)) or until not in (None, "}")
        if stale and line.strip() and not silent and not joined:
            out.append(f'#line {number} "{name}"')
            stale = False
        out.append(line)
        stale = stale or silent or joined or until is not None or bool(_SEVERAL_LINES.search(line))
        joined = line.endswith("\\")
    return "\n".join(out)


def _left_open(line: str) -> str | None:
    """The pattern that will end what this line begins and does not end: a comment, block, tag or expression."""
    for begin, end in _BRACKETS:
        last = max((match.end() for match in re.finditer(begin, line)), default=None)
        if last is not None and not re.search(end, line[last:]):
            return end
    return None


def render_text(text: str, **constants: Any) -> str:
    """Render C that is not in a file, as strictly; what it makes may be a constant of a template."""
    template = parsed(lambda: Template(text=text, strict_undefined=True))
    rendered: str = template.render_unicode(**constants)
    return rendered


def render(template: str, language: str, **constants: Any) -> Source:
    """Render a template behind the prelude of a language; a name that it uses and does not get is an error."""
    parts = []
    for name in (f"{_PRELUDE}.{language}.mako", f"{template}.mako"):
        try:
            found = _prelude(language) if name.startswith(_PRELUDE) else _TEMPLATES.get_template(name)
            parts.append(found.render_unicode(language=language, **constants))
        except TemplateLookupException as error:
            raise KernelError(template, language, "rendering", str(error)) from error
        except Exception as error:
            raise KernelError(template, language, "rendering", _mako_message(error, name)) from error
    return Source(template, language, "\n".join(parts))


def _prelude(language: str) -> Template:
    """What defines the common dialect: in ``kernels/common``, or where the backend says."""
    backend = backends().get(language)
    if backend is None or backend.prelude is None:
        return _TEMPLATES.get_template(f"{_PRELUDE}.{language}.mako")
    return _foreign(backend.prelude.parent).get_template(backend.prelude.name)


@functools.cache
def _foreign(folder: Path) -> _Kernels:
    return _Kernels(folder)


def _mako_message(error: Exception, name: str) -> str:
    """One sentence with the template and line Mako was at; ``name`` if Mako does not know the template."""
    if isinstance(error, CompileException | SyntaxException):
        about = re.sub(r" in file '[^']*' at line: \d+ char: \d+$", "", str(error))  # counts the directives put in
        where, line, text = error.filename or name, error.lineno, error.source
    else:
        about = str(error)
        records = RichTraceback(error=error, traceback=error.__traceback__).records
        where, line, _, text = next((record[4:] for record in reversed(records) if record[7]), (name, 0, "", ""))
    rows = text.split("\n")
    if isinstance(error, NameError):  # Mako looks names up before the first line
        line = _first_use(re.findall(r"'(\w+)'", about), rows) or line
    line -= sum(row.startswith("#line ") for row in rows[:line])
    return f"{type(error).__name__}: {about} ({where}, line {line})"


def _first_use(names: list[str], rows: list[str]) -> int | None:
    """The first row, from 1 on, where Mako evaluates one of these names."""
    in_code = False
    for number, row in enumerate(rows, start=1):
        in_code = in_code or bool(re.search(r"<%!?(?=\s|$)", row))
        evaluated = row if in_code or _CONTROL_LINE.match(row) else " ".join(re.findall(r"\$\{[^}]*", row))
        if any(re.search(rf"\b{name}\b", evaluated) for name in names):
            return number
        in_code = in_code and "%>" not in row
    return None


def template_names() -> Iterator[str]:
    """Names of all templates under ``kernels/``, without suffix, preludes included."""
    root = _TEMPLATES.root
    for path in sorted(root.rglob("*.mako")):
        yield path.relative_to(root).with_suffix("").as_posix()
