"""What a run folder holds of a run, and contributes to it: settings, start, result, the log of events."""

from dataclasses import replace
from typing import Any

from ..base.result import Result
from ..base.solver import Solver, SolverOptions
from ..errors import RunFolderError
from ..runs.executor import Executor
from ..runs.folder.run_folder import RunFolder
from ..runs.observers import EventLog
from ..runs.question import FromCheckpoint, Restarted, Start
from ..settings import config
from ..util.files import reason_of


def earlier_result(folder: RunFolder) -> tuple[Result | None, RunFolderError | None]:
    """The result that a run had, or why it cannot be read."""
    try:
        return folder.result(), None
    except RunFolderError as error:
        return None, error


def start_of(folder: RunFolder, damage: RunFolderError | None, from_start: bool) -> Start:
    """Where a run resumes that has no result."""
    restored = folder.checkpoint()
    if restored is None:
        if damage is not None:
            raise damage
        return Restarted(asked=from_start)
    if damage is not None:
        restored = replace(restored, remarks=(f"{damage}; the run resumes from its last checkpoint",))
    return FromCheckpoint(restored)


def description(
    solver: Solver, options: SolverOptions, settings: config.Settings, executor: Executor
) -> dict[str, Any]:
    """What ``run.toml`` says, apart from the problem."""
    kept = ("id", "name", "platform", "driver", "uuid")
    return {
        "solver": solver.name,
        "options": options.model_dump(mode="json"),
        "settings": settings.model_dump(mode="json"),
        "devices": [{name: getattr(info, name) for name in kept} for info in executor.device_infos],
        **executor.describe(),
    }


def event_log_of(folder: RunFolder) -> EventLog:
    """The log of a folder's events; ``RunFolderError`` if they cannot be written."""
    path = folder.events_path
    if path.is_symlink() or (path.exists() and not path.is_file()):  # what is not the folder's own is not written to
        raise RunFolderError(f"cannot write to {path}: it is {'a link' if path.is_symlink() else 'no regular file'}")
    try:
        return EventLog(path)
    except OSError as error:
        raise RunFolderError(f"cannot write to {folder.events_path}: {reason_of(error)}") from error


def resumed_settings(folder: RunFolder, time_limit: float | None, checkpoint_interval: float | None) -> config.Settings:
    """The settings of a run's first start, with what is given now."""
    kept = {**folder.description.get("settings", {}), "time_limit": None}
    former = config.Resolved(config.Settings()).with_arguments(kept)
    return former.with_arguments({"time_limit": time_limit, "checkpoint_interval": checkpoint_interval}).settings
