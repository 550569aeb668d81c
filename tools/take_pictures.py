"""Take the pictures of the documentation again: ``python -m tools.take_pictures [NAME ...]``.

They show the runs in ``samples/recorded``, drawn offscreen, and more runs of BOA, which take some seconds.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtGui import QImage

from tools.measuring import ROOT, Measured

IMAGES = ROOT / "docs" / "images"
DASHBOARDS = {  # name: solver and page
    "branch-and-bound": ("branch_and_bound", "Search"),
    "schedule": ("branch_and_bound", "Solution"),
    "timeline": ("branch_and_bound", "Devices"),
    "knapsack": ("knapsack", "Table"),
    "network": ("boa", "Network"),
    "convergence": ("gibbs", "Convergence"),
    "posterior": ("gibbs", "Posterior"),
    "linear-program": ("linprog", "Convergence"),
}
OTHERS = ("window-light", "window-dark", "preview", "compare", "run-table", "statistics")
SEEDS = range(1, 7)
WINDOW, PANEL = (1360, 850), (1136, 860)
_FREQUENT = 192  # colours that are kept since they are frequent; a state in green has few pixels


class Camera:
    """Opens runs in a window and takes pictures of it."""

    def __init__(self, app: Measured, home: Path) -> None:
        self.app, self.window, self.home = app, app.window, home

    def open(self, solver: str) -> Any:
        """The tab of the recorded run of a solver."""
        folder = self.home / "runs" / solver
        if not folder.exists():
            shutil.copytree(ROOT / "samples" / "recorded" / solver, folder)
        tab = self.app.open(folder)
        self.app.wait_until(lambda: tab.complete, 90)
        return tab

    def take(self, name: str, widget: Any = None, milliseconds: int = 3000) -> None:
        """Write a picture once all is drawn."""
        from gui.plot.figure import Figure

        self.app.wait(milliseconds)
        self.app.wait_until(
            lambda: not any(one.dirty for one in self.window.findChildren(Figure) if one.isVisible()), 60
        )
        small(widget or self.window).save(str(IMAGES / f"{name}.png"))
        print(name)

    def dashboard(self, name: str) -> None:
        """A page of a dashboard, without the panes beside it."""
        solver, page = DASHBOARDS[name]
        self.window.resize(*PANEL)
        shown = [dock for dock in self.window.docks.values() if dock.isVisible()]
        for dock in shown:
            dock.hide()
        panel = self.open(solver).panel
        panel.pages.setCurrentIndex([panel.pages.tabText(at) for at in range(panel.pages.count())].index(page))
        if name == "network":
            self.app.wait_until(lambda: len(panel.network._places) and not panel.network._laying, 90)
        self.take(name, panel)
        for dock in shown:
            dock.show()

    def other(self, name: str) -> None:
        """The whole window."""
        self.window.resize(*WINDOW)
        self.window.appearance.choose("dark" if name in ("window-dark", "statistics") else "light")
        if name == "preview":
            copy = shutil.copy(ROOT / "samples" / "branch_and_bound" / "ta030.txt", self.home)  # a short path
            self.window.problems.load(Path(copy))
            self.app.wait_until(lambda: self.window.problems.ready, 60)
        elif name == "compare":
            self._compare()
        elif name == "run-table":
            self._table("solver:boa time<20 state:optimal")
        elif name == "statistics":
            self._statistics()
        else:
            self.open("gibbs" if name == "window-dark" else "branch_and_bound").panel.pages.setCurrentIndex(0)
        self.take(name)

    def _compare(self) -> None:
        """Two runs of BOA, against evaluations."""
        import engine

        self.open("boa")
        problem, folder = engine.BOA("trap-5", 130), self.home / "runs" / "another"
        engine.solve(problem, backend="opencl", seed=7, local_search="none", run_folder=folder)
        self._list_runs()
        notes = [note for note in self.window.library.notes if note.key in ("boa", "another")]
        self.window.run_tabs.compare(notes)
        tab = self.window.run_tabs.current()
        self.app.wait_until(lambda: tab.complete, 60)
        tab.against.setCurrentIndex(tab.against.findText("evaluations"))

    def _list_runs(self) -> None:
        self.window.library.rescan(lambda _note: False, 10.0)

    def _sweep(self) -> None:
        """Runs of BOA with two shares of selected individuals and several seeds."""
        import engine

        for share in (0.3, 0.5):
            for seed in SEEDS:
                folder = self.home / "runs" / f"trap-{share}-{seed}"
                if not folder.exists():
                    problem = engine.BOA("trap-5", 100)
                    options = {"selection_fraction": share, "local_search": "none"}
                    engine.solve(problem, backend="opencl", seed=seed, run_folder=folder, **options)
        self._list_runs()

    def _table(self, query: str) -> None:
        """The runs that match a query, the fastest first, with columns of an option and a counter."""
        self._sweep()
        for folder in sorted((ROOT / "samples" / "recorded").iterdir()):
            self.open(folder.name)
            self.app.wait(500)  # where it was shown already, it is shown again once it has been read
            self.window.run_tabs.close_current()
        self.window.all_runs.show()
        table = self.window.all_runs.table
        table.show_columns(("title", "state", "time", "seed", "option.selection_fraction", "counter.evaluations"))
        table.filter.setText(query)

    def _statistics(self) -> None:
        """Box plots of the sweep."""
        self._sweep()
        notes = [note for note in self.window.library.notes if note.key.startswith("trap-")]
        self.window.run_tabs.show_statistics(notes)
        value = self.window.run_tabs.current().value
        value.setCurrentIndex(value.findText("evaluations"))


def small(widget: Any) -> QImage:
    """A picture with 256 colours, in a third of the bytes: the most frequent and those unlike them; others are near."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    shape = image.height(), image.bytesPerLine() // 4
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(shape)[:, : image.width()]
    colours, places, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    parts = np.stack([colours >> bits & 255 for bits in (0, 8, 16)], 1).astype(int)
    by_count = np.argsort(-counts)
    kept: list[int] = []
    away, nearest = np.full(len(colours), 1000), np.zeros(len(colours), np.uint8)
    for place in range(min(256, len(colours))):
        kept.append(int(by_count[place] if place < _FREQUENT else away.argmax()))
        far = np.abs(parts - parts[kept[-1]]).sum(1)
        nearest[far < away] = place
        away = np.minimum(away, far)
    indices = nearest[places.reshape(pixels.shape)]
    made = QImage(indices.tobytes(), *indices.shape[::-1], indices.shape[1], QImage.Format.Format_Indexed8)
    made.setColorTable(colours[kept].tolist())
    return made.copy()  # with bytes of its own


def main(names: list[str]) -> None:
    """Take these pictures, or all."""
    known = [*DASHBOARDS, *OTHERS]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise SystemExit(f"there is no picture {unknown[0]}; there are {', '.join(known)}")
    wanted = names or known
    with tempfile.TemporaryDirectory(prefix="quintet-") as home, Measured(Path(home)) as app:
        app.window.appearance.choose("light")
        camera = Camera(app, Path(home))
        for name in wanted:
            (camera.dashboard if name in DASHBOARDS else camera.other)(name)


if __name__ == "__main__":
    main(sys.argv[1:])
