"""A run folder: everything of one run, readable at any moment, whatever killed the run.

::

    run.toml          solver, problem, options, settings, versions, devices
    problem.npz       the instance
    events.jsonl      every event, one JSON line each
    checkpoint.json   names the newest whole checkpoint-*.npz and holds the solver's scalars
    checkpoint-N.npz
    result.json, result.npz

Nothing is pickled. Files are written whole to a temporary name and renamed; the folder itself appears under its name
only once ``run.toml`` and ``problem.npz`` are in it. ``checkpoint.json`` is renamed last, so it never names a part.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit
from numpy.typing import NDArray

from engine.errors import RunFolderError
from engine.events import Event, from_json
from engine.files import beside, whole, write_whole
from engine.problem import Problem
from engine.results import Result
from engine.solvers import discover, problem_classes, recognize

__all__ = ["Checkpoint", "RunFolder", "read_problem", "version"]


@dataclass(frozen=True)
class Checkpoint:
    """Where a run was: the solver's ``arrays`` and scalar ``state``, and the run's ``elapsed`` seconds."""

    arrays: dict[str, NDArray[Any]]
    state: dict[str, Any]
    elapsed: float


def read_problem(path: Path) -> Problem:
    """The problem of an instance file, or the one that a run folder keeps.

    Raises
    ------
    engine.errors.InputError
        If it is no instance file that can be read.
    engine.errors.RunFolderError
        If it is a folder, but no run folder.
    """
    if path.is_dir():
        return RunFolder.open(path).problem()
    return recognize(path).read(path)


def _write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an ``.npz`` whole; arrays may be large, so they go straight to the temporary file."""
    with whole(path) as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


class RunFolder:
    """One run on disk. Make one with :meth:`create`, or open one with :meth:`open`."""

    def __init__(self, path: Path, description: dict[str, Any]) -> None:
        self.path = path
        self.description = description
        self._sequence = 0

    @classmethod
    def create(cls, path: str | Path, problem: Problem, description: Mapping[str, Any]) -> RunFolder:
        """Make the folder whole, with the problem and its description in it.

        Raises
        ------
        engine.errors.RunFolderError
            If the path exists and is not an empty folder, or cannot be written.
        """
        path = Path(path)
        cls.require_free(path)
        full = {
            **description,
            "problem": {
                "class": type(problem).__name__,
                **_where_made(type(problem)),
                "kind": problem.kind,
                "name": problem.name,
            },
            "versions": {
                "quintet": version(),
                "python": platform.python_version(),
                "numpy": np.__version__,
                "machine": platform.platform(),
            },
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = beside(path)
            temporary.mkdir()
            try:
                _write_arrays(temporary / "problem.npz", problem.to_arrays())
                write_whole(temporary / "run.toml", tomlkit.dumps(_without_none(full)).encode(errors="replace"))
                if path.exists():
                    path.rmdir()
                os.rename(temporary, path)
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
        except OSError as error:
            raise RunFolderError(f"cannot make the run folder {path}: {error.strerror or error}") from error
        return cls(path, full)

    @staticmethod
    def require_free(path: str | Path) -> None:
        """:class:`RunFolderError` unless the path can be made a run folder: nothing is there, or an empty folder."""
        path = Path(path)
        try:
            taken = path.exists() and (not path.is_dir() or any(path.iterdir()))
        except OSError as error:
            raise RunFolderError(f"cannot make the run folder {path}: {error.strerror or error}") from error
        if taken:
            raise RunFolderError(f"the run folder {path} exists and is not empty; resume it or name another")

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Open an existing run folder; :class:`RunFolderError` if it is none."""
        path = Path(path)
        try:
            description = tomlkit.parse((path / "run.toml").read_text(encoding="utf-8")).unwrap()
        except FileNotFoundError as error:
            raise RunFolderError(f"{path} is not a run folder: it has no run.toml") from error
        except Exception as error:
            raise RunFolderError(f"{path / 'run.toml'} cannot be read: {error}") from error
        if description.get("solver") not in discover():
            raise RunFolderError(f"{path / 'run.toml'} names the solver {description.get('solver')!r}; there is none")
        return cls(path, description)

    def problem(self, given: Problem | None = None) -> Problem:
        """The instance, as it was given; or ``given``, if it is the same as far as the folder can tell.

        That is for problems which hold what no file can keep, such as a Python function.
        """
        about = self.description.get("problem", {})
        kind = problem_classes().get(str(about.get("class"))) if "module" not in about else _ones_own(about)
        if kind is None and given is not None and type(given).__name__ == about.get("class"):
            kind = type(given)
        if kind is None:
            where = "".join(f", {name} {about[name]!r}" for name in ("module", "file") if name in about)
            raise RunFolderError(f"{self.path / 'run.toml'} names no known problem: {about.get('class')!r}{where}")
        try:
            arrays = _read_arrays(self.path / "problem.npz")
        except Exception as error:
            raise RunFolderError(f"{self.path / 'problem.npz'} cannot be read: {error}") from error
        if given is None:
            return kind.from_arrays(arrays, str(about.get("name", "")))
        again = given.to_arrays() if isinstance(given, kind) else {}
        if again.keys() != arrays.keys() or not all(np.array_equal(again[name], arrays[name]) for name in arrays):
            raise RunFolderError(f"the problem given, {given.describe()}, is not the one of the run in {self.path}")
        return given

    @property
    def events_path(self) -> Path:
        """Where the events are."""
        return self.path / "events.jsonl"

    def events(self) -> Iterator[Event]:
        """Every whole event; a last line cut short by a kill is passed over."""
        try:
            with self.events_path.open("rb") as stream:
                for line in stream:
                    with contextlib.suppress(ValueError):
                        yield from_json(line)
        except FileNotFoundError:
            return

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint; the former one stays whole until the new one is."""
        for part in self.path.glob(".checkpoint-*"):  # what a kill in the middle of writing has left
            part.unlink(missing_ok=True)
        older = list(self.path.glob("checkpoint-*.npz"))
        self._sequence = 1 + max([self._sequence, *(_sequence(path) for path in older)])
        name = f"checkpoint-{self._sequence:06d}.npz"
        _write_arrays(self.path / name, checkpoint.arrays)
        content = {"arrays": name, "elapsed": checkpoint.elapsed, "state": checkpoint.state}
        write_whole(self.path / "checkpoint.json", json.dumps(content, default=_plain).encode())
        for path in older:
            path.unlink(missing_ok=True)

    def checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint, or None if the run never came so far."""
        try:
            content = json.loads((self.path / "checkpoint.json").read_text(encoding="utf-8"))
            arrays = _read_arrays(self.path / content["arrays"])
            return Checkpoint(arrays, content["state"], content["elapsed"])
        except FileNotFoundError:
            return None
        except Exception as error:
            raise RunFolderError(f"the checkpoint in {self.path} cannot be read: {error}") from error

    def save_result(self, result: Result) -> None:
        """Write the result; ``result.json`` comes last and says that it is whole."""
        arrays = dict(result.arrays)
        if result.solution is not None:
            arrays["solution"] = result.solution
        _write_arrays(self.path / "result.npz", arrays)
        write_whole(self.path / "result.json", json.dumps(result.to_dict(), indent=2, default=_plain).encode())

    def result(self) -> Result | None:
        """The result, or None if the run has not ended with one."""
        try:
            values = json.loads((self.path / "result.json").read_text(encoding="utf-8"))
            return Result.from_dict(values, _read_arrays(self.path / "result.npz"))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise RunFolderError(f"the result in {self.path} cannot be read: {error}") from error


def _plain(value: Any) -> Any:
    """What JSON knows nothing of: NumPy's scalars and arrays."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be kept as JSON")


def _sequence(path: Path) -> int:
    digits = path.stem.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0


def _without_none(value: Any) -> Any:
    """TOML has no null: what is None is left out."""
    if isinstance(value, Mapping):
        return {str(key): _without_none(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(entry) for entry in value]
    return value


def version() -> str:
    """The installed version of Quintet."""
    try:
        return importlib.metadata.version("quintet")
    except importlib.metadata.PackageNotFoundError:
        return "unpackaged"


def _where_made(kind: type[Problem]) -> dict[str, str]:
    """Where a class of one's own is found again: its module, and the file of that; nothing for the solvers' own."""
    if problem_classes().get(kind.__name__) is kind:
        return {}
    found = {"module": kind.__module__}
    source = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return found if source is None else {**found, "file": os.path.abspath(source)}


def _ones_own(about: Mapping[str, Any]) -> type[Problem] | None:
    """The class that :func:`_where_made` told of: from its module if that can be imported, else from the file."""
    module, source, name = str(about["module"]), about.get("file"), str(about.get("class"))
    loaded = sys.modules.get(module)
    if loaded is None or not hasattr(loaded, name):
        try:
            loaded = importlib.import_module(module)
        except ImportError:
            loaded = None
    if (loaded is None or not hasattr(loaded, name)) and source is not None and os.path.isfile(source):
        spec = importlib.util.spec_from_file_location(f"quintet_problem_{Path(source).stem}", source)
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[loaded.__name__] = loaded  # dataclasses look their module up there
        try:
            spec.loader.exec_module(loaded)
        except Exception as error:
            raise RunFolderError(f"{source}, which defines {name}, cannot be loaded: {error}") from error
    kind = getattr(loaded, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, Problem) else None
