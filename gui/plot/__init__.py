"""Figures: curves, charts, axes, legends, tables, export."""

from __future__ import annotations

import sys
from typing import Any


def _import_pyqtgraph() -> None:
    """Import pyqtgraph without its optional CUDA bindings.

    It loads them for a widget that is not used here; they take 14 MB, and the window should not depend on a driver.
    """
    modules: dict[str, Any] = sys.modules
    name = "cuda.bindings"
    if name in modules:
        return
    modules[name] = None  # an import of it fails
    try:
        import pyqtgraph  # noqa: F401
    finally:
        del modules[name]


_import_pyqtgraph()
