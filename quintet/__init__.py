"""Another name of the package ``engine``: ``quintet.errors is engine.errors``."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import *  # noqa: F403
    from engine import __version__ as __version__
else:
    from engine.layout import also_called

    also_called(__name__)
