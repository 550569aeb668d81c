"""What a run writes to its folder: checkpoints when they are due, and its result."""

from __future__ import annotations

import threading
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...base.context import Checkpoint
from ...base.schema import SchemaError
from ...errors import StorageWarning
from .storage import RunStorage

if TYPE_CHECKING:
    from ...base.result import Result
    from ..run import Run

FIRST_CHECKPOINT = 2.0
"""Seconds after which the first checkpoint of a run is due, so that a run which is killed early can be resumed."""


class FolderWriter:
    """The right of a run to write to its folder, if it has one, until :meth:`close`."""

    def __init__(self, run: Run, folder: RunStorage | None) -> None:
        self.folder, self.is_saved = folder, True  # false once the result could not be written
        self.count = 0
        self._run = run
        self._last = time.monotonic()
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def has_checkpoint(self) -> bool:
        """Whether the folder has a checkpoint to resume from."""
        return self.count > 0 or self._run.restored is not None

    def begin(self) -> None:
        """The interval to the first checkpoint begins."""
        self._last = time.monotonic()

    def checkpoint_due(self) -> bool:
        """Whether the interval has passed; the first is :data:`FIRST_CHECKPOINT` at most."""
        interval = self._run.checkpoint_interval
        interval = interval if self.has_checkpoint else min(FIRST_CHECKPOINT, interval)
        return self.folder is not None and time.monotonic() - self._last >= interval

    def save_checkpoint(self, arrays: dict[str, Any], state: Any) -> None:
        """Write a checkpoint."""
        with self._lock:
            if self.folder is None or self._stopped:
                return
            try:
                self.folder.save_checkpoint(Checkpoint(arrays, state, self._run.elapsed))
                self.count += 1
            except OSError as error:  # a full disk must not end a run that can continue
                self._run.warn(StorageWarning(f"the checkpoint could not be written: {error}"))
            except SchemaError as error:  # a fault of the solver's, which must not end the run either
                self._fault(f"the checkpoint could not be written: it is not as the solver declares: {error}")
            self._last = time.monotonic()

    def stop(self) -> None:
        """Write no checkpoint any more; one that is being written is finished."""
        with self._lock:
            self._stopped = True

    def save_result(self, result: Result) -> Result:
        """Check the result and write it; the result, with a warning if that failed."""
        run, schema = self._run, self._run.solver.schema
        if result.status.stopped and self.folder is not None and not self.has_checkpoint:
            run.notice(
                "the run ended before there was anything to keep in a checkpoint; a resume begins from the start",
                level="warning",
            )
        if schema is not None:
            try:
                schema.check_result(result.arrays, result.counters, complete=not result.status.stopped)
            except SchemaError as error:
                self._fault(f"the result is not as the solver declares: {error}")
        if self.folder is not None:
            try:
                self.folder.save_result(result)
            except OSError as error:  # the answer is still worth having
                run.warn(StorageWarning(f"the result could not be written to {self.folder.path}: {error}"))
                self.is_saved = False
                return replace(result, warnings=tuple(run.warned))
        return result

    def _fault(self, message: str) -> None:
        """Report a fault of the program's that the run survives; in tests, where warnings are errors, it does not."""
        warnings.warn(message, RuntimeWarning, stacklevel=3)
        self._run.notice(message, level="warning")

    def close(self, refused: bool) -> None:
        """Give up the folder; that of a new run which was refused is removed."""
        folder = self.folder
        if folder is None:
            return
        try:
            if refused and self.count == 0:
                self.folder = None
                folder.discard()
        except OSError:  # something else has been put there, or it cannot be written any more
            pass
        finally:
            folder.release()
