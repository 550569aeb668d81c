"""Another name of the package ``engine``: ``quintet.errors is engine.errors``."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import *  # noqa: F403
    from engine import __version__ as __version__
else:
    import sys
    from importlib.util import find_spec, module_from_spec, spec_from_file_location
    from pathlib import Path

    folder = Path(__file__).resolve().parent.with_name("engine")
    found = find_spec("engine")
    if found is not None and found.origin is not None and Path(found.origin).resolve().parent == folder:
        from engine.util.paths import also_called

        also_called(__name__)
    else:  # something else has that name: the package has this one only
        own = spec_from_file_location(__name__, folder / "__init__.py", submodule_search_locations=[str(folder)])
        sys.modules[__name__] = module_from_spec(own)
        own.loader.exec_module(sys.modules[__name__])
