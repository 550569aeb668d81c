"""Where the parts of Quintet are that are not modules of ``engine``: kernels, samples and the desktop app.

In the repository they are the folders ``kernels``, ``samples`` and ``gui`` beside ``engine``. An installed package has
them as ``engine/_kernels``, ``engine/_samples`` and ``engine/_gui``, so that only ``engine`` and ``quintet`` are names
of top-level packages: other distributions install a ``kernels`` or a ``gui`` of their own.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["folder_of", "load_app"]

_HERE = Path(__file__).resolve().parent


def folder_of(part: str) -> Path:
    """The folder of ``"kernels"``, ``"samples"`` or ``"gui"``, whether it exists or not."""
    inside = _HERE / f"_{part}"
    return inside if inside.is_dir() else _HERE.parent / part


def load_app() -> ModuleType:
    """The desktop app's package, importable as ``gui`` from now on in this process, whatever else has that name."""
    folder = folder_of("gui")
    loaded = sys.modules.get("gui")
    if loaded is not None and str(folder) in map(str, getattr(loaded, "__path__", ())):
        return loaded
    spec = importlib.util.spec_from_file_location(
        "gui", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"the desktop app is missing from this installation: {folder}")
    app = importlib.util.module_from_spec(spec)
    sys.modules["gui"] = app
    spec.loader.exec_module(app)
    return app
