"""Rendered kernel sources: their text and digest, where a compiler's messages point to, and files to look at."""

import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...util.files import write_whole


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


def compiler_location(log: str, rendered: str) -> str | None:
    """``knapsack/rows.mako, line 7``: the first place a compiler's log names with the word error, if any.

    NVIDIA's OpenCL compiler does not follow ``#line``: it counts the lines of the text it was given, ``rendered``.
    """
    return min(_places(log, rendered), default=(0, None))[1]


def _places(log: str, rendered: str) -> Iterator[tuple[int, str]]:
    """Where in the log each compiler's way of naming a place first occurs, and the place."""
    file = r"([\w./-]+\.mako)"
    for pattern in (
        rf"{file}\((\d+)\): error",  # NVRTC
        rf"{file}:(\d+):\d+: (?:fatal )?error",  # Clang
        rf"error: {file}:(\d+):",  # Clang as PoCL prints it
    ):
        if match := re.search(pattern, log):
            yield match.start(), f"{match[1]}, line {match[2]}"
    if match := re.search(r"<kernel>:(\d+):\d+: (?:fatal )?error", log):  # NVIDIA's OpenCL
        yield match.start(), _template_place(rendered, int(match[1]))


def _template_place(rendered: str, line: int) -> str:
    """The template's line that a line of rendered text comes from, by the last directive before it."""
    before = rendered.split("\n")[: line - 1]
    for back, text in enumerate(reversed(before)):
        if directive := re.match(r'#line (\d+) "([^"]+)"', text):
            return f"{directive[2]}, line {int(directive[1]) + back}"
    return f"line {line}"


def dump(source: Source, directory: str | Path | None = None) -> str | None:
    """Write source to the folder, else ``QUINTET_DUMP_KERNELS``, else a new one; None if it cannot be written."""
    chosen = directory or os.environ.get("QUINTET_DUMP_KERNELS")
    suffix = "cu" if source.language == "cuda" else "cl"
    try:
        folder = Path(chosen) if chosen else _private_folder()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{source.template.replace('/', '-')}-{source.digest[:12]}.{suffix}"
        write_whole(path, source.text.encode())  # renamed into place: a link of that name is replaced, not followed
    except OSError:
        return None
    return str(path)


@functools.cache
def _private_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="quintet-kernels-"))
