"""Dashboards: one module for each solver, found by looking in this folder, and a generic one for all others."""

import functools
import importlib
import pkgutil

from PySide6.QtWidgets import QWidget

from gui.app.theme import Theme
from gui.panels.base import Panel
from gui.panels.generic import GenericPanel
from gui.panels.run_info import RunInfo
from gui.runs.view import RunView

__all__ = ["Panel", "RunInfo", "panel_classes", "panel_for"]


@functools.cache
def panel_classes() -> dict[str, type[Panel]]:
    """The panels by solver name: each in a module of that name, with the name in its class attribute ``solver``."""
    found: dict[str, type[Panel]] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Panel) and value.solver == module.name:
                found[value.solver] = value
    return found


def panel_for(run: RunInfo, theme: Theme, parent: QWidget | None = None, view: RunView | None = None) -> Panel:
    """The dashboard for a run; its labels are those of the view."""
    return panel_classes().get(run.solver, GenericPanel)(run, theme, parent, view)
