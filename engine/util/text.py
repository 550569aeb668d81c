"""Numbers, durations and sizes as people read them: one function for each, used by messages, tables and the app."""

import math
from typing import Any

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

_digits = 8

UNLIMITED = 1e290
"""From here on a counter is a limit that nothing reaches, which JSON has no infinity for."""


def number_text(value: float | int | None, digits: int = 12, grouped: bool = False) -> str:
    """A number: integers in full, others to so many digits, thousands separated if ``grouped``; ``"-"`` for None."""
    if value is None:
        return "-"
    groups = "," if grouped else ""
    return f"{value:{groups}}" if isinstance(value, int) else f"{value:{groups}.{digits}g}"


def value_text(value: float | int | None) -> str:
    """A number in full, thousands separated: integers, and others to eight digits; an en dash for None."""
    if isinstance(value, int) and abs(value) >= 1 << 1000:  # beyond floats
        return "> 10^301" if value > 0 else "< −10^301"
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e15:
        return number_text(int(value), grouped=True)
    return number_text(float(value), _digits, grouped=True)


def show_digits(count: int) -> None:
    """Have :func:`value_text` write so many significant digits in this process from now on."""
    global _digits
    _digits = count


def counter_text(value: float | int | None, digits: int | None = None, unit: str = "") -> str:
    """A counter of a result: ``unlimited`` from :data:`UNLIMITED` on, a number otherwise."""
    if unit == "bytes" and value is not None:
        return bytes_text(value)
    if value is not None and value >= UNLIMITED:
        return "unlimited"
    return value_text(value) if digits is None else number_text(value, digits)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 run``, ``2 runs``, ``12,000 runs``: a number with its noun."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def printable(text: str) -> str:
    """A text, safe to print: control and invisible characters, but line ends and tabs, are shown as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode("ascii") for c in text)


def shown(value: object) -> str:
    """The value on one short line; Python refuses to write out integers of thousands of digits."""
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:
        return "one of thousands of digits"
    text = " ".join(text.split())
    return text if len(text) <= 40 else text[:39] + "…"


def array_fault(given: Any, error: Exception) -> str:
    """Why something is no array, which NumPy says in ``error``: rows of unequal length are named by their numbers."""
    if "inhomogeneous" not in str(error):
        return str(error)
    sizes = [len(row) if hasattr(row, "__len__") else 1 for row in given]
    odd = next((index for index, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is None:
        return "it holds both numbers and lists, or lists of several lengths"
    return f"row {odd} has {sizes[odd]} entries, row 0 has {sizes[0]}"


def in_utf8(text: str) -> str:
    """The text with ``?`` in place of what UTF-8 cannot hold: bytes of a file's name that are not UTF-8."""
    return text.encode(errors="replace").decode()


def compiling_text(count: int, usual: int = 0) -> str:
    """How far the compilation of kernels is, where it is known how many there usually are."""
    if count <= usual:
        return f"compiling kernels ({count} of about {usual})"
    return f"compiling kernels ({count}, usually {usual})" if usual else f"compiling kernels ({count})"


def gap_text(gap: float | None) -> str:
    """A relative gap in percent, to four digits: ``12.34 %``, ``< 0.001 %``; an en dash where there is none."""
    if gap is None or not math.isfinite(gap):
        return "–"
    if 0 < gap < 1e-5:
        return "< 0.001 %"
    return f"{100 * gap:.4g} %" if gap < 10 else "> 1000 %"


def share_text(share: float) -> str:
    """A share of a whole in percent, to three digits: ``36.2 %``, ``< 0.001 %``; below all of it never ``100 %``."""
    if 0.9995 <= share < 1:
        return f"{100 * share:.4f} %" if share < 0.9999995 else "> 99.9999 %"
    return "< 0.001 %" if 0 < share < 1e-5 else f"{100 * share:.3g} %"


def short_number_text(value: float) -> str:
    """A number in little room: ``12.3M``, ``0.004``, ``1.2e-07``, ``3e+24``; whole ones below 100,000 in full.

    Three significant digits; four below 1000, where there is no prefix.
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    size = abs(value)
    if value == int(value) and size < 1e5:
        return f"{int(value):,}"
    if size < 1e3 or size >= 999.5e12:
        return f"{value:.4g}" if 1e-4 <= size < 1e3 else f"{value:.3g}"
    for unit, prefix in _PREFIXES:
        if size >= 0.9995 * unit:
            return f"{value / unit:.3g}{prefix}" if size < 999.5 * unit else f"{value / unit:.0f}{prefix}"
    return f"{value:.3g}"


def rate_text(rate: tuple[float, str] | None) -> str:
    """A rate with its unit, such as ``12.3M nodes/s``; an en dash where there is none."""
    return "–" if rate is None else f"{short_number_text(rate[0])} {rate[1]}"


def seconds_text(seconds: float) -> str:
    """A duration: ``0.012 s``, ``3.2 s``, ``4:05``, ``1:02:03``, ``12.5 days`` or ``3.21 years``; else an en dash."""
    if not math.isfinite(seconds):
        return "–"
    if 0 < seconds < 0.095:
        return f"{seconds:.3f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    days = seconds / 86400
    if days >= 1000:
        return f"{short_number_text(days / 365.25)} years"
    if days >= 2:
        return f"{days:.3g} days"
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def short_seconds_text(seconds: float) -> str:
    """``850 µs``, ``12.5 ms``, ``3.2 s``: a short time to three digits."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(seconds) >= 0.9995 * unit:
            return f"{seconds / unit:.3g} {name}"
    return "0 s" if seconds == 0 else f"{seconds * 1e9:.3g} ns"


def bytes_text(count: float) -> str:
    """``5.1 GB``: a number of bytes, in powers of 1000."""
    from rich.filesize import decimal

    return decimal(int(count))


def option_text(value: Any) -> str:
    """The value of an option as it is written on a command line: None is ``none``, a list has commas."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(str(part) for part in value)
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
