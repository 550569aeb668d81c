"""The window: how fast it opens, with a thousand runs too; how fast the theme changes; how much memory it takes.

``python -m tools.bench_window`` measures in processes of its own and prints a line for each figure. Seconds are
those of the clock, and in brackets those of the processor for this process; memory is the resident set of the process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tools.measuring import ROOT, Measured

RUNS, TABS = 1000, 10


def main() -> None:
    """Start each measurement in a process of its own."""
    if len(sys.argv) > 1:
        {"launch": launch, "thousand": thousand, "tabs": tabs}[sys.argv[1]]()
        return
    for name in ("launch", "thousand", "tabs"):
        began = str(time.time())
        subprocess.run(
            [sys.executable, "-m", "tools.bench_window", name], check=True, env={**os.environ, "BENCH_BEGAN": began}
        )


def launch() -> None:
    """From the start of the process to a window that can be used, and to one that has found samples and devices."""
    with Measured() as app:
        began = float(os.environ["BENCH_BEGAN"])
        print(
            f"launch: usable after {app.shown_at - began:.2f} s ({app.shown_cpu:.2f} s), "
            f"samples and devices after {app.ready_at - began:.2f} s"
        )


def thousand() -> None:
    """The same with a thousand runs in the data folder, and their table."""
    from gui.runs.notes import RunNote

    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        for number in range(RUNS):
            (runs / f"run-{number}").mkdir(parents=True)
            note = RunNote(f"run-{number}", str(runs / f"run-{number}"), f"run {number}", created=float(number))
            note.state, note.best, note.counters = "optimal", number, {"nodes": number}
            (runs / f"run-{number}.json").write_text(json.dumps(asdict(note)))
        began, worked = time.time(), time.process_time()
        with Measured(Path(folder)) as app:
            usable, worked = app.shown_at - began, app.shown_cpu - worked
            shown = app.longest(app.window.all_runs.show, 500)
            table = app.window.all_runs.table
            filtered = app.longest(lambda: table.filter.setText("best>500 state:optimal"), 300)
            assert table.count.text().startswith("499 of 1,000")
        print(
            f"{RUNS} runs: usable after {usable:.2f} s ({worked:.2f} s), "
            f"table after {shown:.2f} s, filtered in {filtered:.2f} s"
        )


def tabs() -> None:
    """Memory and theme with ten runs open, and memory after closing them."""
    with tempfile.TemporaryDirectory() as folder, Measured() as app:
        recorded = sorted((ROOT / "samples" / "recorded").iterdir())
        before = resident()
        for number in range(TABS):
            copy = Path(folder) / f"run-{number}"
            shutil.copytree(recorded[number % len(recorded)], copy)
            tab = app.open(copy)
            app.wait_until(lambda tab=tab: tab.complete, 60)
        opened = resident()
        switched = app.longest(app.window.appearance.switch, 300)
        while app.window.run_tabs.open_runs():
            app.window.run_tabs.close(app.window.run_tabs.open_runs()[0])
            app.wait(50)
        app.wait(3000)
        print(f"theme with {TABS} tabs: {switched:.2f} s")
        print(f"memory: {before:.0f} MB, {opened:.0f} MB with {TABS} runs open, {resident():.0f} MB after closing them")


def resident() -> float:
    """Megabytes of memory of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS:"))


if __name__ == "__main__":
    main()
