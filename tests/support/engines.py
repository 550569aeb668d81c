"""Engines that the tests of a file share: a GPU's driver may take seconds to open a device, and its kernels as well."""

from engine import Engine

_ENGINES = {}


def engine_of(member, times=1):
    """An engine of a device listed so many times; closed when the tests of the file are done."""
    key = member.info.language, member.info.id, times
    if key not in _ENGINES:
        _ENGINES[key] = Engine(member.info.language, [member.info.id] * times)
    return _ENGINES[key]


def close_engines():
    while _ENGINES:
        _ENGINES.popitem()[1].close()
