"""``quintet sweep``: several problems x seeds x options, one after the other, with a table of the results."""

import csv
import io
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ..api.engine import Engine
from ..api.sweep import Sweep, SweepRun, read_sweep
from ..base.result import Result
from ..errors import OptionError, QuintetError, RunFolderError
from ..runs.folder.run_folder import RunFolder, read_problem
from ..settings.config import Settings, solver_options
from ..util.files import write_whole
from ..util.text import number_text, printable, seconds_text
from .control import Controls
from .options import backend_option, debug_option, devices_option, options, time_limit_option

_SETTINGS = tuple(name for name in Settings.model_fields if name not in ("seed", "run_folder"))


@click.command()
@click.argument("file", metavar="FILE.toml", type=click.Path(path_type=Path))
@options(backend_option, devices_option, time_limit_option)
@click.option("--output", metavar="DIR", type=click.Path(path_type=Path), help="Keep the runs and table.csv here.")
@click.option("--dry-run", is_flag=True, help="List the runs, and start none.")
@options(debug_option)
def sweep(file: Path, output: Path | None, dry_run: bool, **given: Any) -> int:
    """Run every combination of the problems, seeds and options in FILE.toml.

    With --output each run has a folder in DIR: a sweep that was interrupted continues where it ended, and the desktop
    app shows the runs of DIR.
    """
    described = read_sweep(file, _SETTINGS)
    settings = {**described.settings, **{name: value for name, value in given.items() if value is not None}}
    if dry_run:
        for run in described.runs():
            print(printable(run.title))
        return 0
    if output is not None and output.exists() and not output.is_dir():
        raise OptionError(f"cannot keep runs in {output}: it is not a folder")
    rows, interrupted = _run_all(described, settings, output)
    if output is not None:
        write_whole(output / "table.csv", _csv(rows).encode())
    failed = sum(row["status"] == "failed" for row in rows)
    print(f"{len(rows)} of {len(described)} runs{f', {failed} failed' if failed else ''}")
    return 130 if interrupted else 2 if failed else 0


def _run_all(described: Sweep, settings: Mapping[str, Any], output: Path | None) -> tuple[list[dict[str, Any]], bool]:
    rows: list[dict[str, Any]] = []
    own = {name: settings[name] for name in ("time_limit", "checkpoint_interval") if name in settings}
    with Controls() as controls, Engine(settings.get("backend"), settings.get("devices")) as owner:
        for run in described.runs():
            folder = None if output is None else output / run.folder_name
            began = time.perf_counter()
            before = None
            try:
                before = None if folder is None else _earlier(folder, run)
                result = before or _run(owner, run, own, folder, controls)
            except QuintetError as error:
                row = _row(run, None, str(error))
            else:
                row = _row(run, result, "")
            rows.append(row)
            _print(run, row, len(described), "as before" if before else seconds_text(time.perf_counter() - began))
            if controls.interrupted:
                return rows, True
    return rows, False


def _run(owner: Engine, run: SweepRun, settings: Mapping[str, Any], folder: Path | None, controls: Controls) -> Result:
    """One run: resumed if its folder has a checkpoint, begun anew if it has none."""
    if folder is not None and (folder / "run.toml").is_file():
        started = owner.resume(folder, from_start=not any(folder.glob("checkpoint-*.json")))
    else:
        problem = read_problem(run.problem)
        started = owner.start(
            problem, seed=run.seed, run_folder=None if folder is None else str(folder), **settings, **run.options
        )
    controls.attach(started)
    while not started.join(0.5):  # a wait without an end would not let Ctrl-C through on Windows
        pass
    return started.wait()


def _earlier(folder: Path, run: SweepRun) -> Result | None:
    """The result of a run that ended by itself or by a limit in an earlier sweep."""
    if not (folder / "run.toml").is_file():
        return None
    opened = RunFolder.open(folder)
    options, settings = opened.description.get("options", {}), opened.description.get("settings", {})
    name = opened.description["problem"]["class"]
    kind = next((kind for kind in opened.solver.problems if kind.__name__ == name), None)
    wanted = solver_options(opened.solver, None, run.options, kind).model_dump(mode="json")  # as the folder has them
    if settings.get("seed", 0) != run.seed or any(options.get(name) != wanted[name] for name in run.options):
        raise RunFolderError(f"{folder} has a run with other options; choose another --output")
    found = opened.result()
    return None if found is None or found.status == "interrupted" else found


def _row(run: SweepRun, result: Result | None, message: str) -> dict[str, Any]:
    row: dict[str, Any] = {"run": run.index, "problem": str(run.problem), "seed": run.seed, **run.options}
    names = ("status", "objective", "bound", "gap", "seconds")
    if result is None:
        return {**row, "status": "failed", **dict.fromkeys(names[1:]), "devices": "", "message": message}
    values = (str(result.status), result.objective, result.bound, result.gap, result.seconds)
    return {**row, **dict(zip(names, values, strict=True)), "devices": " ".join(result.devices), "message": ""}


def _print(run: SweepRun, row: Mapping[str, Any], count: int, seconds: str) -> None:
    value = row["message"] if row["status"] == "failed" else f"{number_text(row['objective'])} ({seconds})"
    print(printable(f"{run.index}/{count}  {run.title}: {row['status']}, {value}"))
    sys.stdout.flush()


def _csv(rows: list[dict[str, Any]]) -> str:
    """A table of all runs; options that only some of them have are empty for the others."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
