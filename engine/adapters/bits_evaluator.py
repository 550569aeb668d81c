"""Values of strings from a user's function: in one call, one by one, or by workers; retried, and kept in a file."""

import json
import math
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError, OutputError, ProblemError
from ..solvers.boa.fitness import real_values
from ..util.files import read_utf8
from ..util.text import counted

_FORMAT = "quintet evaluations 1"
Rows = NDArray[np.uint8]


class Evaluator:
    """Evaluates rows of bits, as a context manager; the arguments are those of :func:`engine.minimize_bits`."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        n: int,
        *,
        batch: bool = True,
        workers: int | Executor = 1,
        failures: Literal["raise", "skip"] = "raise",
        retries: int = 0,
        checkpoint: str | Path | None = None,
    ) -> None:
        if not callable(function):
            raise ProblemError(f"the function must be callable; got {type(function).__name__}")
        if not isinstance(workers, Executor) and (not isinstance(workers, int) or workers < 1):
            raise OptionError(f"workers must be a number from 1, or a concurrent.futures.Executor; got {workers!r}")
        if failures not in ("raise", "skip"):
            raise OptionError(f"failures must be raise or skip; got {failures!r}")
        if retries < 0:
            raise OptionError(f"retries must be at least 0; got {retries}")
        self._function, self._n, self._batch = function, n, batch
        self._workers, self._skips, self._retries = workers, failures == "skip", retries
        self._own: ProcessPoolExecutor | None = None
        self._kept: defaultdict[str, deque[float]] = defaultdict(deque)
        self._file: IO[str] | None = None
        self._some_succeeded = False
        self.until = math.inf  # of time.monotonic(): strings that are evaluated one by one are left out after it
        if checkpoint is not None:
            self._file = self._opened(Path(checkpoint))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._own is not None:
            self._own.shutdown(cancel_futures=True)
        if self._file is not None:
            self._file.close()

    @property
    def width(self) -> int:
        """Calls that run at once."""
        if isinstance(self._workers, int):
            return self._workers
        return int(getattr(self._workers, "_max_workers", None) or os.cpu_count() or 1)

    def __call__(self, rows: Rows) -> NDArray[np.float64]:
        """Values of the rows, or of the first ones if the time is up; ``nan`` for failures that are skipped."""
        names = _names(rows) if self._kept else []
        kept = [place for place, name in enumerate(names) if self._kept.get(name)]
        values = np.empty(len(rows))
        for place in kept:
            values[place] = self._kept[names[place]].popleft()
        new = np.setdiff1d(np.arange(len(rows)), kept) if kept else np.arange(len(rows))
        if not len(new):
            return values
        alone = not self._batch and self._workers == 1
        for places in new[:, None] if alone else [new]:
            if alone and places[0] and time.monotonic() >= self.until:
                values = values[: places[0]]
                break
            values[places] = self._evaluated(rows[places])
        if self._file is not None:
            os.fsync(self._file.fileno())
        return values

    def _evaluated(self, rows: Rows) -> NDArray[np.float64]:
        """Values, with retries, and ``nan`` for failures that are skipped."""
        values, error = self._attempt(rows)
        for _ in range(self._retries + isinstance(error, BrokenExecutor)):  # which took others with it
            for place in np.flatnonzero(~np.isfinite(values)):
                values[place : place + 1], error = self._attempt(rows[place : place + 1])
        failed = np.flatnonzero(~np.isfinite(values))
        self._some_succeeded |= len(failed) < len(rows)
        if not len(failed):
            return values
        if not self._skips or not self._some_succeeded:
            found = f"returned {values[failed[0]]}" if error is None else f"raised {type(error).__name__}: {error}"
            rule = "the function must return finite numbers" if error is None else "the function failed"
            raise ProblemError(f"{rule}; it {found} for {''.join(map(str, rows[failed[0]].tolist()))}") from error
        values[failed] = math.nan
        self._keep(rows, values, failed)
        return values

    def _keep(self, rows: Rows, values: NDArray[np.float64], places: NDArray[np.int64]) -> None:
        if self._file is not None and len(places):
            pairs = zip(_names(rows[places]), values[places].tolist(), strict=True)
            self._file.writelines(f"{name} {value!r}\n" for name, value in pairs)
            self._file.flush()

    def _attempt(self, rows: Rows) -> tuple[NDArray[np.float64], Exception | None]:
        """Values, not finite where the function failed, and an exception that it raised."""
        size = 1 if not self._batch else -(-len(rows) // self.width)
        parts: list[Any] = [rows[start : start + size] for start in range(0, len(rows), size)]
        values = np.full(len(rows), math.nan)
        failed: Exception | None = None
        for place, raw, error in self._calls([part if self._batch else part[0] for part in parts]):
            here = slice(place * size, place * size + len(parts[place]))
            if error is None:
                values[here] = self._checked(raw, len(parts[place]))
                if self._file is not None:
                    self._keep(rows, values, here.start + np.flatnonzero(np.isfinite(values[here])))
            elif len(parts[place]) > 1 and not isinstance(error, BrokenExecutor):  # which of them failed
                for row in range(here.start, here.stop):
                    values[row : row + 1], alone = self._attempt(rows[row : row + 1])
                    failed = alone or failed
            failed = failed or error
        return values, failed

    def _checked(self, raw: Any, count: int) -> NDArray[np.float64]:
        values = real_values(raw, "the values of the function")
        if values.shape not in ({(count,)} if self._batch else {(), (1,)}):
            what = (
                f"{counted(count, 'value')} for {counted(count, 'string')}"
                if self._batch
                else "one number for a string"
            )
            hint = "; a function of a single string needs batch=False" if self._batch and values.ndim == 0 else ""
            raise ProblemError(f"the function must return {what}; it returned an array of shape {values.shape}{hint}")
        return values.reshape(count)

    def _calls(self, arguments: Sequence[Rows]) -> Iterator[tuple[int, Any, Exception | None]]:
        """Each call's number, and what it returned or raised, as they end."""
        if self._workers == 1:
            calls: Iterable[tuple[int, Callable[[], Any]]] = enumerate(
                partial(self._function, argument.copy()) for argument in arguments
            )
        else:
            futures = {self._executor().submit(self._function, part): place for place, part in enumerate(arguments)}
            calls = ((futures[future], future.result) for future in as_completed(futures))
        for place, call in calls:
            try:
                yield place, call(), None
            except Exception as error:
                yield place, None, error

    def _executor(self) -> Executor:
        if isinstance(self._workers, Executor):
            return self._workers
        if self._own is not None and getattr(self._own, "_broken", False):
            self._own.shutdown()
            self._own = None
        if self._own is None:
            self._own = ProcessPoolExecutor(self._workers, get_context("spawn"), _end_with_parent)
        return self._own

    def _opened(self, path: Path) -> IO[str]:
        """The checkpoint to append to, after its values have been read; a line that was cut off is left out."""
        try:
            head = json.dumps({"format": _FORMAT, "bits": self._n})
            text = read_utf8(path) if path.exists() else ""
            lines = text.split("\n")[:-1]
            if lines and lines[0] != head:
                raise ProblemError(
                    f"{path} does not hold evaluations of {self._n} bits; its first line is {lines[0][:80]}"
                )
            for line in lines[1:]:
                name, value = line.split()
                self._kept[name].append(float(value))
            whole = "".join(f"{line}\n" for line in lines or [head])
            if whole != text:
                path.write_text(whole)
            return path.open("a")
        except ValueError as error:
            if isinstance(error, ProblemError):
                raise
            raise ProblemError(f"{path} does not hold evaluations: {error}") from error
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error}") from error


def _end_with_parent() -> None:
    """Let this worker process end when its parent does, also where that is killed."""
    if (parent := parent_process()) is not None:

        def end() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=end, daemon=True).start()


def _names(rows: Rows) -> list[str]:
    return [row.tobytes().hex() for row in np.packbits(rows, axis=1)]
