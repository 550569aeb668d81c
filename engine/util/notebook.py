"""Outputs of Jupyter notebooks that change after their cell has been executed."""

import sys
from typing import Any


def in_notebook() -> bool:
    """Whether this process executes the cells of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class CellOutput:
    """An output of the cell that is executed now. Other threads may replace it; it captures nothing."""

    def __init__(self) -> None:
        from IPython.display import DisplayHandle

        handle: Any = DisplayHandle
        self._handle = handle()
        self._handle.display({"text/plain": ""}, raw=True)

    def replace(self, html: str, text: str) -> None:
        """Show something else in its place."""
        self._handle.update({"text/html": html, "text/plain": text}, raw=True)
