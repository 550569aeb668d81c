"""A Jupyter notebook that reads a run folder and draws its plots."""

import json
from pathlib import Path
from typing import Any

from engine.runs.folder.run_folder import RunFolder
from engine.util.files import write_whole

_READ = """\
from collections import defaultdict

import matplotlib.pyplot as plt

import engine

folder = engine.RunFolder.open({path!r})
result = folder.result()
metrics, series, best = {{}}, defaultdict(lambda: ([], [])), ([], [], [])
for event in folder.events():
    if event.type == "started":
        metrics = {{spec["name"]: spec for spec in event.metrics}}
    elif event.type == "metric":
        times, values = series[event.name, event.device]
        times.append(event.time)
        values.append(event.value)
    elif event.type in ("incumbent", "finished"):
        for column, value in zip(best, (event.time, event.objective, event.bound)):
            column.append(value)
print(result if result is not None else "the run has no result yet")"""

_BEST = """\
times, objectives, bounds = best
figure, axes = plt.subplots()
for label, values in (("objective", objectives), ("bound", bounds)):
    known = [(time, value) for time, value in zip(times, values) if value is not None]
    if known:
        axes.step(*zip(*known), where="post", label=label)
axes.set_xlabel("time (s)")
axes.set_ylabel("objective")
if axes.has_data():
    axes.legend()"""

_METRICS = """\
def grid(count):
    rows = -(-count // 3)
    figure, axes = plt.subplots(rows, 3, figsize=(15, 3.5 * rows), squeeze=False, layout="constrained")
    for unused in axes.flat[count:]:
        unused.remove()
    return axes.flat


names = sorted({name for name, _ in series})
for name, axes in zip(names, grid(len(names)) if names else ()):
    spec = metrics.get(name, {})
    for (other, device), (times, values) in series.items():
        if other == name:
            axes.plot(times, values, label=device or "whole run")
    axes.set_title(spec.get("title") or name)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(spec.get("unit") or name)
    if spec.get("log"):
        axes.set_yscale("log")
    axes.legend()"""

_HISTORY = """\
schema = folder.solver.schema
if result is not None and "history" in result.arrays:
    columns = {column.name: schema.column(result, column.name) for column in schema.history}
    first, *others = schema.history
    for column, axes in zip(others, grid(len(others))):
        axes.plot(columns[first.name], columns[column.name])
        axes.set_xlabel(first.title or first.name)
        axes.set_ylabel(column.title or column.name)
        if column.log:
            axes.set_yscale("log")"""


def write_notebook(folder: Path, path: Path) -> None:
    """Write the notebook of a run folder."""
    write_whole(path, (json.dumps(notebook(folder), indent=1) + "\n").encode())


def notebook(folder: Path) -> dict[str, Any]:
    """The notebook as its format (nbformat 4) has it."""
    about = RunFolder.open(folder).description
    problem = about.get("problem", {})
    options = "\n".join(f"| {name} | {value} |" for name, value in about.get("options", {}).items())
    title = f"# {problem.get('name') or folder.name}\n\nSolver: {about.get('solver')}. Run folder: `{folder}`."
    cells = [
        _markdown(f"{title}\n\n| option | value |\n|---|---|\n{options}"),
        _code(_READ.format(path=str(folder.resolve()))),
        _markdown("## Objective and bound"),
        _code(_BEST),
        _markdown("## Metrics over time"),
        _code(_METRICS),
        _markdown("## History"),
        _code(_HISTORY),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    lines = text.splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": lines}
