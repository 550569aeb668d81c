"""Docstrings on the site: types that are prose stay as they are written, and no entry only repeats the signature."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import griffe

_LISTS = ("parameters", "other parameters", "attributes", "returns", "yields", "raises")


class WrittenTypes(griffe.Extension):
    """Corrects the sections of every docstring: griffe takes ``array-like, shape (n,)`` for an expression of Python."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Parse the docstring of an object, and correct its lists."""
        if obj.docstring is None:
            return
        written = dict(_types(obj.docstring.value))
        sections = obj.docstring.parse("numpy")
        for section in sections:
            if section.kind.value in _LISTS:
                section.value = [item for item in section.value if _corrected(item, written, obj)]
        sections = [section for section in sections if section.kind.value not in _LISTS or section.value]
        vars(obj.docstring)["parsed"] = sections  # a cached property


def _types(docstring: str) -> list[tuple[str, str]]:
    """The types that lines of a docstring may give, by their letters."""
    texts = [line.strip().rpartition(" : ")[2] for line in docstring.splitlines()]
    types = [re.sub(r",\s+(optional|default(:|=| ).*)$", "", text) for text in texts]
    return [(_letters(text), text) for text in reversed(types)]


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text)


def _corrected(item: Any, written: dict[str, str], obj: griffe.Object) -> bool:
    """Correct an entry's type; whether the entry says more than the signature does."""
    text = written.get(_letters(str(item.annotation)), "") if item.annotation is not None else ""
    if isinstance(item, griffe.DocstringParameter) and text in ("", "optional"):  # of several names, the first one's
        with contextlib.suppress(AttributeError, KeyError):
            item.annotation = obj.parameters[item.name].annotation
    elif text and text != str(item.annotation):
        item.annotation = text
    if item.description.strip():
        return True
    prose = isinstance(item.annotation, str) and not item.annotation.isidentifier()
    if prose:
        item.description, item.annotation = item.annotation, None
    return prose
