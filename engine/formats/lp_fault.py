"""Where an LP file breaks its format: HiGHS, which reads such files, does not tell the line."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["faulty_line"]

_STATEMENT = 30  # lines: a prefix may also fail because it ends within a statement that goes on


def faulty_line(text: str, reads: Callable[[str], bool]) -> int | None:
    """The line, from 1, at which the statement begins that cannot be read; None if only the last ``end`` is missing.

    Parameters
    ----------
    text : str
        A file that cannot be read.
    reads : callable
        Whether a text can be read.

    The first lines of a sound file, with ``end`` after them, can be read wherever a statement is complete. So the line
    looked for comes after the last at which that holds.
    """
    lines = text.splitlines()

    def sound(count: int) -> bool:
        return reads("\n".join([*lines[:count], "end", ""]))

    if sound(len(lines)):
        return None
    good, bad = 0, len(lines)
    while True:
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if sound(middle) else (good, middle)
        further = range(bad + 1, min(bad + _STATEMENT, len(lines)) + 1)
        later = next((count for count in further if sound(count)), None)
        if later is None:
            break
        good, bad = later, len(lines)
    while good + 1 < len(lines) and not lines[good].partition("\\")[0].strip():
        good += 1
    return good + 1
