"""Writing every plot of a run to files for other programs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from gui.plot.figure import Figure


def write_plots(plots: Sequence[Figure], kind: str, folder: Path) -> list[Path]:
    """Write each plot with data to a file named after its title: ``png``, ``svg``, ``pdf``, or ``csv`` with tables."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [plot for plot in plots if (kind == "csv" or plot.pictured) and plot.table()[1]]
    words = [_word(plot.title) for plot in wanted]
    written: list[Path] = []
    for number, (plot, word) in enumerate(zip(wanted, words, strict=True), start=1):
        if words.count(word) > 1:  # titles that may differ in their signs alone
            word = _word(re.sub(r"[^\w\s-]", lambda sign: f" {unicodedata.name(sign[0], '')} ", plot.title))
        written.append(folder / f"{number:02}-{word or 'plot'}.{kind}")
        plot.export.write(written[-1])
    return written


def _word(title: str) -> str:
    return re.sub(r"[^\w-]+", "-", title.lower()).strip("-")
