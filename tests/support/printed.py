"""Reading what the command line prints."""

from __future__ import annotations

__all__ = ["value", "values"]


def values(output: str) -> dict[str, str]:
    """The names and values of a result, printed plain."""
    return dict(line.split("  ", 1)[0:2] for line in output.splitlines() if "  " in line)


def value(output: str, name: str) -> str:
    return values(output)[name].strip()
