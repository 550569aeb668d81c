"""Writing every plot of a run to files for other programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gui.plot.figure import Figure


def write_plots(plots: Sequence[Figure], kind: str, folder: Path) -> list[Path]:
    """Write each plot with data to a file named after its title: ``png``, ``svg``, ``pdf``, or ``csv`` with tables."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    wanted = [plot for plot in plots if (kind == "csv" or plot.pictured) and plot.table()[1]]
    for number, plot in enumerate(wanted, start=1):
        word = re.sub(r"[^\w-]+", "-", plot.title.lower()).strip("-") or "plot"
        path = folder / f"{number:02}-{word}.{kind}"
        plot.export.write(path)
        written.append(path)
    return written
