"""The files of a run: checkpoints and results, each with a digest, a format version and the run's identity.

A checkpoint is two files, ``checkpoint-N.json`` and ``checkpoint-N.npz``. The JSON file is written last; it contains
the solver's scalars, the SHA-256 of the arrays' file, and the SHA-256 of all its own content, so that any change of
either file is detected. The last two checkpoints are kept: if the newest is damaged, the one before is used.
``result.json`` and ``result.npz`` are protected in the same way.

The files belong together by the run's identity (see
:class:`engine.runs.folder.run_folder.RunFolder`), which each contains.
"""

import collections
import contextlib
import hashlib
import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from ...base.context import Checkpoint
from ...base.result import Result
from ...base.schema import Schema, SchemaError
from ...errors import RunFolderError
from ...events import Event, Failed, Finished, from_json
from ...util.files import open_regular, read_regular, reason_of, remove_temporaries, sync_folder, whole, write_whole
from ...util.parsing import parsed

_FORMAT = 1
_GENERATIONS = 2
_LONGEST_LINE = 1 << 26
_PIECE = 1 << 20  # bytes that are read at once
_LARGEST_JSON = 1 << 30
_CHECKPOINT = re.compile(r"checkpoint-(\d{6,})\.json")
_OURS = r"(?:checkpoint-\d+|result)\.(?:json|npz)"


class RunStorage(Protocol):
    """Where a run is kept: a :class:`engine.runs.folder.run_folder.RunFolder`."""

    path: Path
    identity: str

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint."""

    def checkpoint(self) -> Checkpoint | None:
        """The newest one that is whole."""

    def save_result(self, result: Result) -> None:
        """Write the result."""

    def release(self) -> None:
        """Let other runs write here."""

    def discard(self) -> None:
        """Remove the folder of a run that was refused."""


class RunFiles:
    """The files of a run in its folder, which exists; each has the run's identity, and content as ``schema`` says."""

    def __init__(self, path: Path, identity: str, schema: Schema | None = None) -> None:
        self.path = path
        self.identity = identity
        self.schema = schema
        self._damaged: set[int] = set()

    @property
    def events_path(self) -> Path:
        """Where the events are."""
        return self.path / "events.jsonl"

    def events(self) -> Iterator[Event]:
        """Every whole event; lines that a kill has cut short are skipped."""
        try:
            with open_regular(self.events_path) as stream:
                for line in iter(lambda: stream.readline(_LONGEST_LINE), b""):
                    with contextlib.suppress(ValueError):
                        yield from_json(line)
        except FileNotFoundError:
            return
        except OSError as error:
            raise RunFolderError(f"{self.events_path} cannot be read: {reason_of(error)}") from error

    def first_event(self) -> Event:
        """The first whole event."""
        for event in self.events():
            return event
        if self.events_path.is_file() and self.events_path.stat().st_size:
            raise RunFolderError(f"{self.events_path} is damaged: none of its lines is an event")
        raise RunFolderError(f"the run in {self.path} has no events yet")

    def has_ended(self) -> bool:
        """Whether the recorded events end with the run's last one."""
        last = collections.deque(self.events(), maxlen=1)
        return bool(last) and isinstance(last[0], (Finished, Failed))

    # --- checkpoints --------------------------------------------------------------------------------------------

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint and remove those before the last two."""
        self.require_same_run()
        state = checkpoint.state
        if self.schema is not None and self.schema.checkpoint is not None:
            state = self.schema.checkpoint.check(checkpoint.arrays, state)
        if isinstance(state, BaseModel):
            state = state.model_dump()
        remove_temporaries(self.path, _OURS)
        older = self._generations()
        name = f"checkpoint-{1 + max(older, default=self._newest_arrays()):06d}"
        content = {
            "solver_version": self._checkpoint_version,
            "elapsed": checkpoint.elapsed,
            "state": state,
            "arrays": write_arrays(self.path / f"{name}.npz", checkpoint.arrays),
        }
        self._write_json(self.path / f"{name}.json", content)
        whole_ones = sorted(set(older) - self._damaged)
        for number in {*whole_ones[: 1 - _GENERATIONS], *self._damaged}:
            self._remove_checkpoint(number)
        self._remove_orphans()

    def checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint that is whole, or None if the run never came so far."""
        faults: list[str] = []
        for number in sorted(self._generations(), reverse=True):
            try:
                found = self._read_checkpoint(self.path / f"checkpoint-{number:06d}.json")
            except RunFolderError as error:
                faults.append(str(error))
                self._damaged.add(number)
                continue
            if not faults:
                return found
            remark = f"{'; '.join(faults)}; the run resumes from the checkpoint before it, at {found.elapsed:.1f} s"
            return Checkpoint(found.arrays, found.state, found.elapsed, (remark,))
        if faults:
            again = "begin again from the start with --from-start (Python: from_start=True)"
            raise RunFolderError(f"{'; '.join(faults)}; {again}")
        return None

    def _read_checkpoint(self, path: Path) -> Checkpoint:
        """One checkpoint; RunFolderError with the path and what is wrong."""
        content = self._read_json(path)
        arrays_path = path.with_suffix(".npz")
        try:
            if content["solver_version"] != self._checkpoint_version:
                raise SchemaError(
                    f"it was written by another version of the solver (checkpoint version {content['solver_version']}; "
                    f"this one reads {self._checkpoint_version})"
                )
            arrays = read_arrays(arrays_path, content["arrays"])
            state, elapsed = content["state"], float(content["elapsed"])
            if self.schema is not None and self.schema.checkpoint is not None:
                state = self.schema.checkpoint.check(arrays, state)
        except RunFolderError:
            raise
        except (SchemaError, KeyError, TypeError, ValueError) as error:
            raise RunFolderError(f"the checkpoint {path} cannot be used: {error}") from error
        return Checkpoint(arrays, state, elapsed)

    @property
    def _checkpoint_version(self) -> int:
        spec = None if self.schema is None else self.schema.checkpoint
        return 0 if spec is None else spec.version

    def _generations(self) -> list[int]:
        """The numbers of the checkpoints."""
        try:
            names = [path.name for path in self.path.iterdir()]
        except OSError as error:
            raise RunFolderError(f"{self.path} cannot be read: {reason_of(error)}") from error
        return [int(match[1]) for name in names if (match := _CHECKPOINT.fullmatch(name))]

    def _newest_arrays(self) -> int:
        """The highest number of a checkpoint's arrays, with or without their JSON file."""
        numbers = [path.stem.rpartition("-")[2] for path in self.path.glob("checkpoint-*.npz")]
        return max((int(number) for number in numbers if number.isdigit()), default=0)

    def _remove_checkpoint(self, number: int) -> None:
        """Remove one; its JSON file first, so that it never names arrays which are gone."""
        for suffix in ("json", "npz"):
            with contextlib.suppress(OSError):
                (self.path / f"checkpoint-{number:06d}.{suffix}").unlink()

    def _remove_orphans(self) -> None:
        """Remove arrays whose JSON file was never written."""
        kept = {f"checkpoint-{number:06d}.npz" for number in self._generations()}
        for path in self.path.glob("checkpoint-*.npz"):
            if path.name not in kept:
                with contextlib.suppress(OSError):
                    path.unlink()

    def restart(self) -> None:
        """Remove the result and all checkpoints."""
        try:
            for pattern in ("result.json", "result.npz", "checkpoint-*.json", "checkpoint-*.npz"):
                for path in self.path.glob(pattern):
                    path.unlink()
            sync_folder(self.path)
        except OSError as error:
            raise RunFolderError(f"cannot begin again in {self.path}: {reason_of(error)}") from error

    # --- result -------------------------------------------------------------------------------------------------

    def save_result(self, result: Result) -> None:
        """Write the result, in place of an earlier one of the same run; ``result.json`` is written last."""
        self.require_same_run()
        remove_temporaries(self.path, _OURS)
        arrays = dict(result.arrays)
        if result.solution is not None:
            arrays["solution"] = result.solution
        (self.path / "result.json").unlink(missing_ok=True)
        sync_folder(self.path)
        digest = write_arrays(self.path / "result.npz", arrays)
        self._write_json(self.path / "result.json", {"result": result.to_dict(), "arrays": digest})

    def result(self) -> Result | None:
        """The result, or None if the run has not ended with one."""
        path = self.path / "result.json"
        if not path.exists():
            return None
        content = self._read_json(path)
        try:
            result = Result.from_dict(content["result"], read_arrays(path.with_suffix(".npz"), content["arrays"]))
            if self.schema is not None:
                self.schema.check_result(result.arrays, result.counters, complete=not result.status.stopped)
        except RunFolderError:
            raise
        except Exception as error:
            raise RunFolderError(f"the result {path} cannot be used: {error}") from error
        return result

    # --- identity and digests -----------------------------------------------------------------------------------

    def require_same_run(self) -> None:
        """Refuse to write if the folder is gone or another run's folder has been put in its place."""
        found = identity_in(self.path / "run.toml")
        if found != self.identity:
            raise OSError(f"{self.path} is no longer the folder of this run")

    def _write_json(self, path: Path, content: Mapping[str, Any]) -> None:
        text = json.dumps({"format": _FORMAT, "run": self.identity, **content}, default=plain, indent=1)
        text = f'{text[:-2]},\n "digest": "{text_digest(text)}"\n}}\n'
        write_whole(path, text.encode())

    def _read_json(self, path: Path) -> dict[str, Any]:
        """A JSON file of this run whose digest is right."""
        try:
            text = read_regular(path, _LARGEST_JSON).decode("utf-8")
            content = json.loads(text)
        except (OSError, ValueError, RecursionError) as error:
            raise RunFolderError(f"{path} cannot be read: {reason_of(error)}") from error
        if not isinstance(content, dict) or "digest" not in content:
            raise RunFolderError(f"{path} is damaged: it has no digest")
        head, found, tail = text.rpartition(',\n "digest": "')
        if not found or tail != f'{text_digest(head + chr(10) + "}")}"\n}}\n':
            raise RunFolderError(f"{path} is damaged: its content does not match its digest")
        if content.get("format") != _FORMAT:
            raise RunFolderError(f"{path} has format {content.get('format')}; this version reads format {_FORMAT}")
        if content.get("run") != self.identity:
            raise RunFolderError(f"{path} belongs to another run ({content.get('run')}, not {self.identity})")
        return content


def identity_in(path: Path) -> str | None:
    """The identity that a ``run.toml`` contains; None if there is none."""
    match = re.search(rb'^run = "([0-9a-f]+)"$', read_regular(path), re.MULTILINE)
    return None if match is None else match[1].decode()


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write an ``.npz`` file whole and return its SHA-256, which is computed as the file is written."""
    with whole(path) as stream:
        hashed = _Hashed(stream)
        np.savez(hashed, **arrays)  # type: ignore[arg-type]
    return hashed.digest.hexdigest()


def read_arrays(path: Path, digest: str | None = None) -> dict[str, NDArray[Any]]:
    """Read an ``.npz`` file that must have this SHA-256."""
    try:
        with open_regular(path) as stream:
            if digest is not None and hashlib.file_digest(stream, "sha256").hexdigest() != digest:
                raise RunFolderError(f"{path} is damaged: its content does not match its digest")
            stream.seek(0)
            with zipfile.ZipFile(stream) as archive:
                return {
                    entry.filename.removesuffix(".npy"): _read_array(archive, entry) for entry in archive.infolist()
                }
    except FileNotFoundError as error:
        raise RunFolderError(f"{path} is missing") from error
    except RunFolderError:
        raise
    except Exception as error:  # whatever NumPy and zipfile raise for a file that is not theirs
        raise RunFolderError(f"{path} cannot be read: {reason_of(error)}") from error


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """One array of an ``.npz`` file; its size is checked before memory is taken for it."""
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"its array {entry.filename} is compressed")
    with archive.open(entry) as stream:
        shape, in_columns, dtype = parsed(lambda: _header(stream))
        if dtype.hasobject:
            raise ValueError(f"its array {entry.filename} contains Python objects")
        if dtype.kind not in "biufU":
            raise ValueError(f"its array {entry.filename} holds {dtype}, neither numbers nor text")
        if stream.tell() + math.prod(shape) * dtype.itemsize != entry.file_size:
            raise ValueError(f"its array {entry.filename} does not have the size that it declares")
        array = np.empty(math.prod(shape), dtype)
        into = array.view(np.uint8) if array.nbytes else np.empty(0, np.uint8)
        at = 0
        while at < into.size:
            part = np.frombuffer(stream.read(min(_PIECE, into.size - at)), np.uint8)
            if not part.size:
                raise ValueError(f"its array {entry.filename} is cut short")
            into[at : at + part.size] = part
            at += part.size
    return array.reshape(shape, order="F" if in_columns else "C")


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns are contiguous, and type of the array in a file."""
    stream.seek(0)
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, in_columns, dtype = read(stream)
    return shape, in_columns, dtype


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file; ``OSError`` if it cannot be read."""
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class _Hashed:
    """A stream that is hashed as it is written; it cannot go back, so that nothing is written twice."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return self._stream.write(data)

    def flush(self) -> None:
        self._stream.flush()

    def read(self, size: int = -1) -> bytes:  # np.savez takes what has read() for a file
        raise OSError("this stream is written only")


def plain(value: Any) -> Any:
    """NumPy's scalars and arrays as JSON values."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")
