"""What a run folder contributes to a run: its former settings, its result if it has ended, the recorder of events."""

from __future__ import annotations

from ..base.result import Result
from ..errors import RunFolderError
from ..runs.folder.run_folder import RunFolder
from ..runs.observers import Recorder
from ..settings import config
from ..util.files import reason_of

__all__ = ["earlier_result", "recorder_of", "resumed_settings"]


def earlier_result(folder: RunFolder) -> tuple[Result | None, RunFolderError | None]:
    """The result that a run had, or why it cannot be read."""
    try:
        return folder.result(), None
    except RunFolderError as error:
        return None, error


def recorder_of(folder: RunFolder) -> Recorder:
    """The recorder of a folder's events; ``RunFolderError`` if they cannot be written."""
    path = folder.events_path
    if path.is_symlink() or (path.exists() and not path.is_file()):  # what is not the folder's own is not written to
        raise RunFolderError(f"cannot write to {path}: it is {'a link' if path.is_symlink() else 'no regular file'}")
    try:
        return Recorder(path)
    except OSError as error:
        raise RunFolderError(f"cannot write to {folder.events_path}: {reason_of(error)}") from error


def resumed_settings(folder: RunFolder, time_limit: float | None, checkpoint_interval: float | None) -> config.Settings:
    """The settings of a run's first start, with what is given now.

    Parameters
    ----------
    folder : RunFolder
    time_limit, checkpoint_interval : float or None
        Seconds; None leaves the interval as it was, and the resumed run without a limit.
    """
    kept = {**folder.description.get("settings", {}), "time_limit": None}
    former = config.Resolved(config.Settings()).with_arguments(kept)
    return former.with_arguments({"time_limit": time_limit, "checkpoint_interval": checkpoint_interval}).settings
