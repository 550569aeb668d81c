"""A run folder: everything of one run, readable at any moment, whatever ended the run.

::

    run.toml          format, digest, identity of the run; solver, problem, options, settings, versions, devices
    problem.npz       the instance
    events.jsonl      every event, one JSON line each
    checkpoint-N.json the solver's scalars and digests; the last two checkpoints are kept
    checkpoint-N.npz  the solver's arrays
    result.json, result.npz
    run.lock          while a run writes to the folder

Nothing is pickled, and opening a run executes no code of the folder's (see :mod:`engine.util.trust`). Files are written
whole to a temporary name and renamed; the folder itself appears under its name only once ``run.toml`` and
``problem.npz`` are in it. Every file but ``events.jsonl`` has a SHA-256 that is checked when it is read (see
:mod:`engine.runs.folder.storage`).
"""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
import re
import shutil
import sys
import types
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.problem import Problem
from ...base.solver import Solver
from ...errors import InputError, QuintetError, RunFolderError, UntrustedCode
from ...solvers import discover, recognize
from ...util import trust as trusted
from ...util.files import (
    make_folders,
    read_regular,
    reason_of,
    remove_temporaries,
    sync_folder,
    temporary_beside,
    write_whole,
)
from ...util.text import in_utf8
from ...util.trust import ForeignCode
from ...util.version import version
from .description import FORMAT, read_description
from .lock import FolderLock
from .storage import RunFiles, identity_in, read_arrays, text_digest, write_arrays

_HOUR = 3600.0


def read_problem(path: Path, trust: bool = False, kind: type[Problem] | None = None, **reading: Any) -> Problem:
    """Read the problem of an instance file, or the one that a run folder contains."""
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {reason_of(error)}") from error
    if is_folder:
        return RunFolder.open(path).problem(trust=trust)
    kind = kind or recognize(path)
    try:
        return kind.read(path, **reading)
    except UntrustedCode as error:
        trusted.require_trust(error.code, trust)
        with trusted.allowed(error.code.digest):
            return kind.read(path, **reading)


def foreign_code(path: Path) -> ForeignCode | None:
    """The code that reading and solving a file or folder would execute, if not trusted yet; nothing is executed."""
    try:
        read_problem(path)
    except UntrustedCode as error:
        found = error.code
        return found if isinstance(found, ForeignCode) else None
    return None


class RunFolder(RunFiles):
    """One run on disk. Make one with :meth:`create`, or open one with :meth:`open`.

    ``resumed`` is whether the run was there before.

    Parameters
    ----------
    path : Path
    description : dict
        The content of its ``run.toml``.

    Examples
    --------
    >>> import engine
    >>> problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
    >>> result = engine.solve(problem, run_folder="kept")
    >>> folder = engine.RunFolder.open("kept")
    >>> folder.result().objective, folder.problem().capacity
    (220, 50)
    """

    def __init__(self, path: Path, description: dict[str, Any]) -> None:
        self.description = description
        self.solver: Solver = discover()[description["solver"]]
        super().__init__(path, str(description["run"]), self.solver.schema)
        self._lock: FolderLock | None = None
        self.resumed = True

    @classmethod
    def create(cls, path: str | Path, problem: Problem, description: Mapping[str, Any]) -> RunFolder:
        """Make the folder whole, with the problem and its description in it.

        Parameters
        ----------
        path : path-like
            A path that does not exist, or an empty folder.
        problem : Problem
        description : mapping
            The tables of ``run.toml`` apart from the problem: solver, options, settings, devices.

        Raises
        ------
        engine.errors.RunFolderError
            If the path exists and is not an empty folder, or cannot be written.
        """
        path = Path(path)
        cls.require_free(path)
        try:
            make_folders(path.parent)
            remove_temporaries(path.parent, re.escape(path.name), older_than=_HOUR)
            temporary = temporary_beside(path)
            temporary.mkdir()
            try:
                digest = write_arrays(temporary / "problem.npz", problem.to_arrays())
                about = {**described(problem), "digest": digest}
                full = {**_plain(description), "problem": about, "versions": _versions(), "run": uuid.uuid4().hex}
                write_whole(temporary / "run.toml", _description_text(full).encode())
                if path.exists():
                    path.rmdir()
                os.rename(temporary, path)
                temporary = path
                sync_folder(path.parent)  # else a power cut could take it away with every checkpoint in it
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
        except (OSError, ValueError) as error:
            raise RunFolderError(f"cannot make the run folder {path}: {reason_of(error)}") from error
        made = cls(path, full)
        made.resumed = False
        return made

    @staticmethod
    def require_free(path: str | Path) -> None:
        """:class:`RunFolderError` unless the path can be made a run folder: nothing is there, or an empty folder."""
        path = Path(path)
        try:
            taken = path.exists() and (not path.is_dir() or any(path.iterdir()))
        except (OSError, ValueError) as error:
            raise RunFolderError(f"cannot make the run folder {path}: {reason_of(error)}") from error
        if taken:
            raise RunFolderError(f"the run folder {path} exists and is not empty; resume it or name another")

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Open an existing run folder; nothing of it is executed.

        Raises
        ------
        engine.errors.RunFolderError
            If it is none, is damaged, or was written by an unknown version.
        """
        path = Path(path)
        file = path / "run.toml"
        description = read_description(file)
        if description["solver"] not in discover():
            raise RunFolderError(f"{file} names the solver {description['solver']!r}; there is none")
        return cls(path, description)

    # --- the right to write -------------------------------------------------------------------------------------

    def acquire(self) -> None:
        """Take the right to write to the folder; safe to call twice.

        Raises
        ------
        engine.errors.RunFolderError
            If another run has it, or the folder is read-only.
        """
        if self._lock is None:
            self._lock = FolderLock(self.path)

    def release(self) -> None:
        """Let others write to the folder; safe to call twice."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def discard(self) -> None:
        """Remove the folder of a run that was refused, if this object has the right to write to it."""
        if self._lock is None or identity_in(self.path / "run.toml") != self.identity:
            return
        self.release()
        ours = ("run.lock", "events.jsonl", "problem.npz", "run.toml")
        where = self.path
        if set(os.listdir(where)) <= set(ours):  # what cannot be removed is then in nobody's way
            where = temporary_beside(self.path)
            os.rename(self.path, where)
        for name in ours[1:] if where == self.path else ours:
            (where / name).unlink(missing_ok=True)
        where.rmdir()

    # --- the problem --------------------------------------------------------------------------------------------

    def problem(self, given: Problem | None = None, trust: bool = False) -> Problem:
        """The instance that the folder contains.

        Parameters
        ----------
        given : Problem, optional
            Returned instead if it is the same as far as the folder can distinguish: for problems that contain what no
            file can keep, such as a Python function.
        trust : bool
            Whether code that the folder names may be executed.

        Raises
        ------
        engine.errors.RunFolderError
            If the instance is damaged, or ``given`` is another one.
        engine.errors.UntrustedCode
            If the class of the problem, or its objective, is code that is not trusted; see :mod:`engine.util.trust`.
        """
        about = self.description["problem"]
        arrays = read_arrays(self.path / "problem.npz", about["digest"])
        if given is not None:
            return self._same_as(given, arrays)
        kind = self._problem_class(trust)
        try:
            problem = kind.from_arrays(arrays, about.get("name", ""))
        except QuintetError:
            raise
        except Exception as error:
            raise RunFolderError(f"{self.path / 'problem.npz'} contains no {kind.__name__}: {error}") from error
        if problem.native_code is not None:
            code = trusted.native_code_of(problem.native_code, str(self.path / "problem.npz"))
            trusted.require_trust(code, trust)
        return problem

    def _same_as(self, given: Problem, arrays: Mapping[str, NDArray[Any]]) -> Problem:
        again = given.to_arrays() if type(given).__name__ == self.description["problem"]["class"] else {}
        if again.keys() != arrays.keys() or not all(np.array_equal(again[name], arrays[name]) for name in arrays):
            raise RunFolderError(f"the problem given, {given.describe()}, is not the one of the run in {self.path}")
        return given

    def _problem_class(self, trust: bool) -> type[Problem]:
        """The class of the problem: one of the solver's, or the user's own, which is code."""
        about = self.description["problem"]
        kind = class_of(about, self.solver, trust)
        if kind is None:
            where = "".join(f", {key} {about[key]!r}" for key in ("module", "file") if key in about)
            raise RunFolderError(f"{self.path / 'run.toml'} names no known problem: {about['class']!r}{where}")
        return kind


def class_of(about: Mapping[str, str], solver: Solver, trust: bool = False) -> type[Problem] | None:
    """The class of a problem that :func:`described` describes; None if there is none."""
    if "module" in about:
        return _own_class(about["module"], about.get("file"), about["class"], trust)
    return next((kind for kind in solver.problems if kind.__name__ == about["class"]), None)


def described(problem: Problem) -> dict[str, str]:
    """What a problem is called, and where its class is found again."""
    return {
        "class": type(problem).__name__,
        **_source_of(type(problem)),
        "kind": problem.kind,
        "name": problem.name,
    }


def _versions() -> dict[str, str]:
    return {
        "quintet": version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.platform(),
    }


def _description_text(description: Mapping[str, Any]) -> str:
    """The content of ``run.toml``; the digest is of everything below its line."""
    import tomlkit  # slow to import

    tables = {name: value for name, value in description.items() if name != "run"}
    below = f'run = "{description["run"]}"\n{tomlkit.dumps(_plain(tables))}'
    return f'format = {FORMAT}\ndigest = "{text_digest(below)}"\n{below}'


def _plain(value: Any) -> Any:
    """A value as TOML can hold it: there is no null, so what is None is left out."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return in_utf8(value) if isinstance(value, str) else value


# --- code that comes with a problem ---------------------------------------------------------------------------------


def _source_of(kind: type[Problem]) -> dict[str, str]:
    """Where a class that is not one of the solvers' is found again: its module, and the module's file."""
    if any(kind in solver.problems for solver in discover().values()):
        return {}
    found = {"module": kind.__module__}
    source = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return found if source is None else {**found, "file": os.path.abspath(source)}


def _own_class(module: str, source: str | None, name: str, trust: bool) -> type[Problem] | None:
    """A class of the user's own: one that is loaded already, else from its file or module, if that is trusted."""
    if (kind := _class_in(sys.modules.get(module), name)) is not None:
        return kind
    if source is None:
        raise RunFolderError(
            f"the run's problem is of the class {name} of the module {module}, which has no file; "
            "resume it from a program that defines the class"
        )
    path = Path(source)
    try:
        content = read_regular(path)
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{path}, which defines {name}, cannot be read: {reason_of(error)}") from error
    digest = hashlib.sha256(content).hexdigest()
    text = content.decode("utf-8", errors="replace")
    if not trusted.is_bundled(path):
        trusted.require_trust(ForeignCode("Python", str(path), digest, text), trust)
    return _class_in(_executed(path, content, name), name)


def _class_in(module: types.ModuleType | None, name: str) -> type[Problem] | None:
    kind = None if module is None else vars(module).get(name)  # getattr could run the module's own code
    return kind if isinstance(kind, type) and issubclass(kind, Problem) and not inspect.isabstract(kind) else None


def _executed(path: Path, content: bytes, name: str) -> types.ModuleType:
    """The module of a file, made from exactly the bytes whose digest was checked."""
    module = types.ModuleType(f"quintet_problem_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look up their module there
    try:
        exec(compile(content, str(path), "exec"), module.__dict__)  # noqa: S102 - the user has allowed exactly this
    except Exception as error:
        del sys.modules[module.__name__]
        raise RunFolderError(f"{path}, which defines {name}, cannot be loaded: {error}") from error
    return module
