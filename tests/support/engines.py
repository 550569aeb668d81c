"""Engines that the tests of a file share: a GPU's driver may take seconds to open a device, and its kernels as well."""

from __future__ import annotations

from engine import Engine
from engine.devices import Member

__all__ = ["close_engines", "engine_of"]

_ENGINES: dict[tuple[str, str, int], Engine] = {}


def engine_of(member: Member, times: int = 1) -> Engine:
    """An engine of a device listed so many times; closed when the tests of the file are done."""
    key = member.info.language, member.info.id, times
    if key not in _ENGINES:
        _ENGINES[key] = Engine(member.info.language, [member.info.id] * times)
    return _ENGINES[key]


def close_engines() -> None:
    """Close the engines of :func:`engine_of`."""
    while _ENGINES:
        _ENGINES.popitem()[1].close()
