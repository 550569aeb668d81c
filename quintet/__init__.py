"""The package ``engine`` under the name of the project: ``import quintet as qt``.

Every name and module is the very one of ``engine``: ``quintet.errors is engine.errors``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import *  # noqa: F403
    from engine import __version__ as __version__
else:
    import importlib
    import importlib.abc
    import importlib.machinery
    import importlib.util
    import sys

    import engine

    class _SameModule(importlib.abc.Loader):
        """Loads ``quintet.a.b`` as the module ``engine.a.b`` itself."""

        def create_module(self, spec):
            self._module = importlib.import_module(f"engine{spec.name.removeprefix('quintet')}")
            self._spec = self._module.__spec__
            return self._module

        def exec_module(self, module):
            module.__spec__ = self._spec  # importlib has put that of the second name there

    class _Finder(importlib.abc.MetaPathFinder):
        """Finds the modules below ``quintet``, but ``quintet.__main__``."""

        def find_spec(self, fullname, path=None, target=None):
            if not fullname.startswith("quintet.") or fullname == "quintet.__main__":
                return None
            found = importlib.util.find_spec(f"engine{fullname.removeprefix('quintet')}")
            if found is None:
                return None
            package = found.submodule_search_locations is not None
            return importlib.machinery.ModuleSpec(fullname, _SameModule(), is_package=package)

    sys.meta_path.insert(0, _Finder())

    def __getattr__(name):
        return getattr(engine, name)

    def __dir__():
        return dir(engine)
