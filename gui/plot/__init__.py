"""Figures: curves, charts, axes, legends, tables, export."""

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

_UNUSED = (
    *("imageview", "widgets.ColorMapWidget", "widgets.DataFilterWidget", "widgets.DataTreeWidget"),
    *("widgets.DiffTreeWidget", "widgets.RemoteGraphicsView", "widgets.ScatterPlotWidget"),
)


def _import_pyqtgraph() -> None:
    """Import pyqtgraph without what takes memory and time, and is not used here.

    It loads its optional CUDA bindings and ``bottleneck`` for widgets: 14 MB and 0.03 s, and the window should not
    depend on a driver. Its widgets for trees of data and other processes take 0.04 s; they are left empty. It copies
    PySide6's modules, name by name, and so creates all classes of Qt: 9 MB and 0.15 s.
    """
    modules: dict[str, Any] = sys.modules
    if "pyqtgraph" in modules:
        return
    with contextlib.ExitStack() as stack:
        for name in {"cuda.bindings", "bottleneck"} - modules.keys():
            modules[name] = None  # an import of it fails
            stack.callback(modules.pop, name)
        for name in _UNUSED:
            modules[f"pyqtgraph.{name}"] = empty = ModuleType(name)
            empty.__getattr__ = lambda _name: None  # type: ignore[method-assign]
            empty.__all__ = []  # type: ignore[attr-defined]
            stack.callback(modules.pop, f"pyqtgraph.{name}")
        for part in ("QtCore", "QtGui", "QtWidgets"):
            stack.enter_context(_forwarded(part))
        importlib.import_module("pyqtgraph")


@contextlib.contextmanager
def _forwarded(part: str) -> Iterator[None]:
    """A part of pyqtgraph's copy of PySide6 that takes a name from there when it is used; none is copied meanwhile."""
    qt: Any = importlib.import_module(f"PySide6.{part}")
    copy: Any = ModuleType(f"pyqtgraph.Qt.{part}")
    copy.__getattr__ = lambda name: getattr(qt, name)
    sys.modules[copy.__name__] = copy
    listed, qt.__dir__ = qt.__dir__, list
    try:
        yield
    finally:
        qt.__dir__ = listed


_import_pyqtgraph()
