"""How the parts of Quintet are found, and the two names of its package.

In the repository the package is the folder ``engine``; ``quintet`` is another name of it, and the folders ``kernels``,
``samples`` and ``gui`` are beside it. The wheel has the same package as ``quintet``, with ``engine`` as the other name,
and the folders inside as ``_kernels``, ``_samples`` and ``_gui``: whatever else is called ``engine``, ``kernels`` or
``gui`` does no harm to ``import quintet``.
"""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Literal, cast

PACKAGE = __name__.partition(".")[0]
"""The package's own name: ``"engine"`` in the repository, ``"quintet"`` where the wheel is installed."""

_HERE = Path(__file__).resolve().parents[1]


def folder_of(part: str) -> Path:
    """The folder of ``"kernels"``, ``"samples"``, ``"gui"`` or ``"docs"``, whether it exists or not."""
    inside = _HERE / f"_{part}"
    return inside if inside.is_dir() else _HERE.parent / part


def user_folder(kind: Literal["cache", "config", "data"]) -> Path:
    """The user's folder for what can be made again, for settings, or for what is kept; it may not exist."""
    import platformdirs  # not needed to import the engine

    return Path(getattr(platformdirs, f"user_{kind}_dir")("quintet", appauthor=False))


def load_app() -> ModuleType:
    """The desktop app's package, importable as ``gui`` from now on; the process calls this package ``engine`` too."""
    also_called("engine")
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


def also_called(name: str) -> None:
    """Give this package and its modules another name in this process; what was imported under it is forgotten."""
    package = sys.modules[PACKAGE]
    if sys.modules.get(name) is package:
        return
    for module in [module for module in sys.modules if module.startswith(f"{name}.")]:
        del sys.modules[module]
    sys.modules[name] = package
    sys.meta_path.insert(0, _Alias(name))


class _Alias:
    """Finds ``alias.a.b``, and loads it as the module ``PACKAGE.a.b`` itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _own(self, name: str) -> str:
        return PACKAGE + name.removeprefix(self.name)

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if not fullname.startswith(f"{self.name}."):
            return None
        found = importlib.util.find_spec(self._own(fullname))
        if found is None:
            return None
        package = found.submodule_search_locations is not None
        loader: Any = self
        return ModuleSpec(fullname, loader, origin=found.origin, is_package=package)

    def create_module(self, spec: ModuleSpec) -> None:
        """The usual new module."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module itself in the place of the new one; importlib returns what is there."""
        sys.modules[module.__name__] = importlib.import_module(self._own(module.__name__))

    def get_code(self, fullname: str) -> CodeType | None:
        """What ``python -m`` runs."""
        found: Any = importlib.util.find_spec(self._own(fullname))
        return cast("CodeType | None", found.loader.get_code(found.name))
