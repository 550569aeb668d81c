"""The backends, found by looking: each module of this package, or ``device`` of a package, that defines ``BACKEND``.

A backend is one module or package here and one prelude (``kernels/common/prelude.<language>.mako``, or where
``prelude`` says). Its driver's package is imported when its devices are listed or opened, not before.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .info import DeviceInfo

if TYPE_CHECKING:
    from .device import Device


@dataclass(frozen=True)
class BackendModule:
    language: str  # its name in device ids, settings and templates
    title: str  # its name for people
    rank: int  # "auto" takes the backend of the lowest rank that has devices
    list_devices: Callable[[], list[DeviceInfo]]  # raises BackendUnavailable with what is missing
    open: Callable[[DeviceInfo], Device]  # on the calling thread
    prelude: Path | None = None  # the common dialect in its language; None: in kernels/common


@functools.cache
def backends() -> dict[str, BackendModule]:
    """The backends by language, in the order of their ranks, from modules whose source defines ``BACKEND``."""
    from .. import devices

    found = []
    for module in pkgutil.iter_modules(devices.__path__):
        name = f"{devices.__name__}.{module.name}" + (".device" if module.ispkg else "")
        if not _defines_backend(name):
            continue
        backend = getattr(importlib.import_module(name), "BACKEND", None)
        if isinstance(backend, BackendModule):
            found.append(backend)
    return {backend.language: backend for backend in sorted(found, key=lambda backend: backend.rank)}


def _defines_backend(module: str) -> bool:
    """Whether a module's source has a line that begins with ``BACKEND``; true where there is no source to read."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError as error:  # a package, whose __init__ is imported by this, without a module ``device``
        if error.name != module:
            raise
        spec = None
    if spec is None or spec.origin is None:
        return False
    if not spec.origin.endswith(".py"):
        return True
    return b"\nBACKEND" in Path(spec.origin).read_bytes()
