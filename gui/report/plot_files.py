"""Writing every plot of a run to files for other programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gui.plot.figure import Figure

__all__ = ["write_plots"]


def write_plots(plots: Sequence[Figure], kind: str, folder: Path) -> list[Path]:
    """Write every plot to a file named after its title, as ``png``, ``svg`` or ``csv`` (tables as ``csv`` alone)."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    wanted = [plot for plot in plots if kind == "csv" or plot.pictured]
    for number, plot in enumerate(wanted, start=1):
        word = re.sub(r"[^\w-]+", "-", plot.title.lower()).strip("-") or "plot"
        path = folder / f"{number:02}-{word}.{kind}"
        write = {"png": plot.export.png, "svg": plot.export.svg, "csv": plot.export.csv}[kind]
        write(path)
        written.append(path)
    return written
