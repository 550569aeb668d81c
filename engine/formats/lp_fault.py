"""The line at which an LP file breaks its format, for versions of HiGHS before 1.16, whose errors have no line."""

from collections.abc import Callable

from .source import lines_of

_STATEMENT = 30  # lines: a prefix may also fail because it ends within a statement


def faulty_line(text: str, reads: Callable[[str], bool]) -> int | None:
    """The line, from 1, of the statement that cannot be read; None if only the last ``end`` is missing.

    It follows the last prefix of lines that can be read when ``end`` is put behind it.
    """
    lines = lines_of(text)

    def valid(count: int) -> bool:
        return reads("\n".join([*lines[:count], "end", ""]))

    if valid(len(lines)):
        return None
    good, bad = 0, len(lines)
    while True:
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if valid(middle) else (good, middle)
        further = range(bad + 1, min(bad + _STATEMENT, len(lines)) + 1)
        later = next((count for count in further if valid(count)), None)
        if later is None:
            break
        good, bad = later, len(lines)
    while good + 1 < len(lines) and not lines[good].partition("\\")[0].strip():
        good += 1
    return good + 1
