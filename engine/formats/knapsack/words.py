"""The text of a knapsack file, and its words as 64-bit integers with the line of each."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ProblemError
from ..source import require_memory

_INT64_MAX = 2**63 - 1
_MEMORY_PER_BYTE = 24
_SPACES = b"\t\n\v\f "


class Row(NamedTuple):
    """A line that is not blank: its number, and its content without the spaces around it."""

    line: int
    content: bytes


class Words:
    """The words of a text, with the line of each; nothing is converted until :meth:`integers` is asked."""

    def __init__(self, text: bytes, first_line: int, path: str | Path | None) -> None:
        require_memory(_MEMORY_PER_BYTE * len(text), "reading the file", path)
        self.text = text
        self.path = path
        raw = np.frombuffer(text, np.uint8)
        inside = ~np.isin(raw, np.frombuffer(_SPACES, np.uint8))
        edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
        self.starts, self.stops = edges[0::2], edges[1::2]
        breaks = np.flatnonzero(raw == ord("\n"))
        self.lines = np.searchsorted(breaks, self.starts) + first_line
        self.rows, self.row_starts, self.row_sizes = np.unique(self.lines, return_index=True, return_counts=True)
        self.faulty = self._first_faulty(raw, inside)

    def _first_faulty(self, raw: NDArray[np.uint8], inside: NDArray[np.bool_]) -> int:
        """Index of the first word that is not a 64-bit integer, or the number of words."""
        wrong = inside & ((raw < ord("0")) | (raw > ord("9")))
        first = raw[self.starts]
        signed = ((first == ord("-")) | (first == ord("+"))) & (self.stops - self.starts > 1)
        wrong[self.starts[signed]] = False
        position = int(np.argmax(wrong)) if wrong.any() else len(self.text)
        limit = int(np.searchsorted(self.starts, position, side="right")) - (position < len(self.text))
        wide = self.wide(limit)
        return next((int(k) for k in wide if not fits(self.word(int(k)))), limit)

    def wide(self, count: int) -> NDArray[np.intp]:
        """Which of the first ``count`` words are long enough to need a second look for overflow."""
        return np.flatnonzero((self.stops - self.starts)[:count] > 18)

    def word(self, index: int) -> bytes:
        return self.text[self.starts[index] : self.stops[index]]

    def row(self, index: int) -> bytes:
        """The words of one line that is not blank, from the first to the last."""
        first = int(self.row_starts[index])
        return self.text[self.starts[first] : self.stops[first + int(self.row_sizes[index]) - 1]]

    def integers(self, count: int) -> NDArray[np.int64]:
        """The first ``count`` words as numbers; all of them must be valid."""
        end = int(self.stops[count - 1]) if count else 0
        # NumPy takes an empty text for an error, and a word of more than 18 digits for whatever strtoll makes of it.
        values = np.fromstring(self.text[:end], dtype=np.int64, sep=" ") if count else np.empty(0, np.int64)
        for index in self.wide(count):
            values[index] = integer(self.word(int(index)))
        return values

    def refuse(self, index: int, what: str) -> ProblemError:
        return refusal(self.word(index), what, self.path, int(self.lines[index]))

    def error(self, message: str, row: int) -> ProblemError:
        """An error about one line that is not blank."""
        return ProblemError(message, self.path, int(self.rows[row]))


def plain_text(data: bytes, path: str | Path | None) -> tuple[bytes, int]:
    """The text after its opening comments with plain line ends, and the number of its first line."""
    text = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        text.decode("utf-8")
        fault = text.find(b"\0")
    except UnicodeDecodeError as error:
        fault = error.start
    if fault >= 0:
        line = text.count(b"\n", 0, fault) + 1
        raise ProblemError(f"the file is not UTF-8 text; it holds the byte 0x{text[fault]:02x}", path, line)
    position, first_line = 0, 1
    while position < len(text):
        end = text.find(b"\n", position)
        end = end if end >= 0 else len(text)
        content = text[position:end].strip()
        if content and not content.startswith(b"#"):
            break
        position, first_line = end + 1, first_line + 1
    return text[position:], first_line


def rows_of(text: bytes, first_line: int) -> Iterator[Row]:
    position = 0
    while position < len(text):
        end = text.find(b"\n", position)
        end = end if end >= 0 else len(text)
        content = text[position:end].strip()
        position = end + 1
        if content:
            yield Row(first_line, content)
        first_line += 1


def is_integer(word: bytes) -> bool:
    """Whether the word is a whole number of any length."""
    return re.fullmatch(rb"[+-]?[0-9]+", word) is not None


def fits(word: bytes) -> bool:
    """Whether the digits of a whole number fit a 64-bit signed integer; safe for words of any length."""
    digits = word.lstrip(b"+-").lstrip(b"0")
    return len(digits) <= 19 and -_INT64_MAX - 1 <= integer(word) <= _INT64_MAX


def integer(word: bytes) -> int:
    """The number; leading zeros are dropped first, as Python limits the length of what it converts."""
    return int(word.lstrip(b"+-").lstrip(b"0") or b"0") * (-1 if word.startswith(b"-") else 1)


def refusal(word: bytes, what: str, path: str | Path | None, line: int) -> ProblemError:
    """The error for a word, called ``what``, that is not a 64-bit integer."""
    rule = "must fit a 64-bit signed integer" if is_integer(word) else "must be an integer"
    return ProblemError(f"{what} {rule}; got {excerpt(word)}", path, line)


def excerpt(words: bytes) -> str:
    """Some of the file's own words, short enough for a message."""
    text = words.decode("utf-8", errors="replace").strip()
    return repr(text if len(text) <= 40 else text[:39] + "…")
