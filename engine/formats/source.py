"""Reading and writing the bytes of an instance file, and the limit to the memory that reading may take.

Files state sizes before they hold the data (a number of jobs, an index of a column), and compressed files unpack to a
multiple of their size. Every reader checks what it is about to allocate with :func:`require_memory` first.

The limit is :data:`DEFAULT_LIMIT` bytes unless the variable ``QUINTET_MAX_READ_BYTES``, the setting ``max_read_bytes``
(on the command line) or a ``with`` block of :func:`limited` sets another. While a compressed file is unpacked, what its
reader will take for each byte is counted, and a file that unpacks to more than 100 times its size is refused.
"""

import bz2
import contextlib
import contextvars
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from ..errors import ProblemError
from ..util.files import open_regular, reason_of, write_to
from ..util.memory import total_memory
from ..util.text import bytes_text, shown

DEFAULT_LIMIT = min(4 << 30, (total_memory() or 16 << 30) // 4)
"""Bytes: 4 GB, or a quarter of the machine's memory if that is less."""

COMPRESSED = (".gz", ".bz2", ".xz")
"""Suffixes of compressed files, as users name them; what a file is compressed with is seen from its first bytes."""

_VARIABLE = "QUINTET_MAX_READ_BYTES"
_CHUNK = 1 << 20
_LARGEST_RATIO = 100
_SMALL = 64 << 20
_HEAD = 4096
_LONGEST_COMMENTS = 1 << 20
_MARK = b"\xef\xbb\xbf"
_limit: contextvars.ContextVar[int | None] = contextvars.ContextVar("limit", default=None)
_report: contextvars.ContextVar[Callable[[float], object]] = contextvars.ContextVar("report", default=lambda _: None)


@contextlib.contextmanager
def limited(size: int) -> Iterator[None]:
    """Within this block, reading a file may take so many bytes of memory."""
    token = _limit.set(size)
    try:
        yield
    finally:
        _limit.reset(token)


@contextlib.contextmanager
def watched(report: Callable[[float], object]) -> Iterator[None]:
    """Within this block, reading a large file reports the share that has been read; what ``report`` raises ends it."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


def report_read(count: int, size: int) -> None:
    """Tell who watches that so many bytes of a file have been read; its ``size`` may have been another at the start."""
    _report.get()(min(1.0, count / max(1, size)))


def limit() -> int:
    """Bytes of memory that reading a file may take."""
    chosen = _limit.get()
    if chosen is not None:
        return chosen
    text = os.environ.get(_VARIABLE, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else DEFAULT_LIMIT


def require_memory(size: int, what: str, path: str | Path | None = None, line: int | None = None) -> None:
    if size > limit():
        raise ProblemError(
            f"{what} would take {_size_text(size)} of memory; the limit is {_size_text(limit())} (max_read_bytes)",
            path,
            line,
        )


def _size_text(size: int) -> str:
    return bytes_text(size) if size < 10**24 else "more than 10^24 bytes"


def path_of(path: str | Path, what: str) -> Path:
    """The path of a file; :class:`ProblemError` for None, bytes, or a file that is open."""
    try:
        return Path(path)
    except TypeError as error:
        raise ProblemError(f"{what} must be named by its path; got {shown(path)}") from error


def read_bytes(path: str | Path, what: str, memory_per_byte: int = 2) -> bytes:
    """The content of a file, unpacked; ``what`` it is, for messages; how much memory reading takes for a byte."""
    path = path_of(path, what)
    try:
        if path.is_dir():
            raise ProblemError(f"{what} is a folder", path)
        size = path.stat().st_size
        with open_regular(path) as stream:
            head = stream.read(6)
            stream.seek(0)
            unpacked = _unpacked(stream, head)
            if unpacked is not None:
                return _all_of(unpacked, size, memory_per_byte, what, path)
            require_memory(memory_per_byte * size, f"reading {what}", path)
            return stream.read()
    except OSError as error:
        raise ProblemError(f"{what} cannot be read: {reason_of(error)}", path) from error
    except ProblemError:
        raise
    except ValueError as error:  # a name that no file can have
        raise ProblemError(f"{what} cannot be read: {error}", repr(str(path))) from error
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise ProblemError(f"{what} is a damaged compressed file: {error}", path) from error


def read_head(path: str | Path, size: int) -> str:
    """The first bytes of a file, unpacked and decoded without a byte-order mark; what is not UTF-8 is replaced."""
    with open_regular(path) as stream:
        head = stream.read(size + len(_MARK))
        stream.seek(0)
        unpacked = _unpacked(stream, head)
        if unpacked is not None:
            try:
                head = unpacked.read(size + len(_MARK))
            except (OSError, EOFError, zlib.error, lzma.LZMAError):
                head = b""
    return head.removeprefix(_MARK)[:size].decode("utf-8", errors="replace")


def comments_end(text: str) -> int:
    """Where the lines end that are empty, begin with ``#``, or are ``c ...``, at the beginning of a text."""
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end + 1
        line = text[at:end].strip()
        if line and line[0] != "#" and line != "c" and line[:2] not in ("c ", "c\t"):
            break
        at = end
    return at


def beginning_of(text: str) -> str:
    """The first 4096 characters; where comments fill half of these or more, those that follow the comments."""
    head = text[:_HEAD]
    if comments_end(head) < _HEAD // 2 or len(text) < _HEAD:
        return head
    at = comments_end(text)
    return text[at : at + _HEAD] or head


def read_beginning(path: str | Path) -> str:
    """The first 4096 bytes of a file as :func:`read_head` reads them, or those that follow comments of up to 1 MB."""
    head = read_head(path, _HEAD)
    if len(head) < _HEAD // 2 or comments_end(head) < _HEAD // 2:
        return head
    return beginning_of(read_head(path, _LONGEST_COMMENTS))


def is_plain(path: Path) -> bool:
    """Whether the bytes of a file are its text: not compressed, and without a byte-order mark."""
    with open_regular(path) as stream:
        head = stream.read(6)
        return _unpacked(stream, head) is None and not head.startswith(_MARK)


def without_compression(path: Path) -> Path:
    """The path without the suffix of a compressed file."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def _unpacked(stream: IO[bytes], head: bytes) -> io.BufferedIOBase | None:
    """A stream of what is compressed in this one; None if nothing is."""
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=stream)
    if head.startswith(b"BZh"):
        return bz2.BZ2File(stream)
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(stream)
    return None


def _all_of(stream: io.BufferedIOBase, packed: int, memory_per_byte: int, what: str, path: Path) -> bytes:
    """What a compressed file of ``packed`` bytes holds."""
    content = io.BytesIO()
    while chunk := stream.read(_CHUNK):
        content.write(chunk)
        size = content.tell()
        require_memory(memory_per_byte * size, f"reading {what}, unpacked,", path)
        if size > max(_SMALL, _LARGEST_RATIO * packed):
            raise ProblemError(
                f"{what} unpacks to more than {_LARGEST_RATIO} times its size, {bytes_text(packed)}; "
                "if it is what you want to read, unpack it first",
                path,
            )
    return content.getvalue()


def read_text(path: str | Path, what: str, memory_per_byte: int = 2) -> str:
    """The content of a text file in UTF-8, unpacked if it is compressed; see :func:`read_bytes`."""
    data = read_bytes(path, what, memory_per_byte)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProblemError(f"{what} is not a text file", path) from error


def lines_of(text: str) -> list[str]:
    """The lines of a text as editors count them; ``str.splitlines`` also parts them at form feeds and the like."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")  # io.StringIO would take four bytes a character
    return lines if lines[-1] else lines[:-1]


def write_text(path: str | Path, text: str, what: str) -> None:
    """Write an instance file in UTF-8; it appears whole or not at all."""
    path = Path(path)
    try:
        write_to(path, text.encode())
    except OSError as error:
        raise ProblemError(f"{what} cannot be written: {reason_of(error)}", path) from error
