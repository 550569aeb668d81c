"""SciPy copies all names of NumPy when it is imported, and reads and rewrites the docstrings of many of its functions.

Seen in SciPy 1.17.1 with NumPy 2.4.6: the copy imports modules of NumPy that nothing here uses, which takes half the
CPU time of importing ``scipy.sparse``, most of it for ``numpy.f2py``; the docstrings take half that of importing
``scipy.special``, and a fifth of ``scipy.optimize``'s.
"""

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_COPY = "scipy._lib.array_api_compat.numpy"
_NOTES = "scipy._lib._array_api"
_UNUSED = {"f2py", "ma", "polynomial", "testing"}


class _Finder:
    """Finds the two modules, and has them run as this module wants it."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in (_COPY, _NOTES) else None
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module
        sparing = _without_unused if name == _COPY else _without_notes
        vars(spec.loader)["exec_module"] = lambda module: sparing(run, module)
        return spec


def _without_unused(run: Callable[[ModuleType], None], module: ModuleType) -> None:
    """The module that copies the names runs while those of the unused modules are hidden."""
    np: Any = importlib.import_module("numpy")
    before = np.__all__, np.__dir__
    shown = [name for name in np.__dir__() if name not in _UNUSED]
    np.__all__, np.__dir__ = [name for name in np.__all__ if name not in _UNUSED], lambda: shown
    try:
        run(module)
    finally:
        np.__all__, np.__dir__ = before


def _without_notes(run: Callable[[ModuleType], None], module: ModuleType) -> None:
    """The decorator that writes notes into docstrings leaves functions as they are."""
    run(module)
    vars(module)["xp_capabilities"] = lambda **_: lambda function: function


def spare_scipy() -> None:
    """From now on; for processes of our own, since whoever imports SciPy misses modules and notes there."""
    sys.meta_path.insert(0, _Finder)
