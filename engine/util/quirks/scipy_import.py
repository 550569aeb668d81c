"""SciPy copies all names of NumPy when it is imported, which imports modules of NumPy that nothing here uses.

Seen in SciPy 1.17.1 with NumPy 2.4.6: half the CPU time of importing ``scipy.sparse``, most of it ``numpy.f2py``'s.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = ["spare_numpy_modules"]

_COPY = "scipy._lib.array_api_compat.numpy"
_UNUSED = {"f2py", "ma", "polynomial", "testing"}


class _Finder:
    """Finds the module that copies the names, and has it run while those of the unused modules are hidden."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == _COPY else None
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def run_sparingly(module: ModuleType) -> None:
            np: Any = importlib.import_module("numpy")
            before = np.__all__, np.__dir__
            shown = [name for name in np.__dir__() if name not in _UNUSED]
            np.__all__, np.__dir__ = [name for name in np.__all__ if name not in _UNUSED], lambda: shown
            try:
                run(module)
            finally:
                np.__all__, np.__dir__ = before

        vars(spec.loader)["exec_module"] = run_sparingly
        return spec


def spare_numpy_modules() -> None:
    """From now on; for processes of our own, since whoever imports SciPy's copy of NumPy misses these modules there."""
    sys.meta_path.insert(0, _Finder)
