"""The result of a run."""

from __future__ import annotations

import enum
import io
import json
import math
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from ..util.display import Display, Displayed, entries_text
from ..util.files import open_regular, write_whole
from ..util.text import gap_text, number_text
from .problem import Problem

_FORMAT = 1


class Status(enum.StrEnum):
    """How a run ended; ``bound_proved``: no solution is better than a bound that was given, and none as good is known.

    Examples
    --------
    >>> import engine
    >>> engine.Status.OPTIMAL == "optimal", engine.Status.TIME_LIMIT.stopped
    (True, True)
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    BOUND_PROVED = "bound_proved"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    TIME_LIMIT = "time_limit"
    ITERATION_LIMIT = "iteration_limit"

    @property
    def stopped(self) -> bool:
        """Whether the run was stopped before it was complete."""
        return self in (Status.INTERRUPTED, Status.TIME_LIMIT)

    @property
    def excludes_solutions(self) -> bool:
        """Whether it is proved that there is no solution, or none better than a bound that was given."""
        return self in (Status.INFEASIBLE, Status.UNBOUNDED, Status.BOUND_PROVED)


class ResultWarning(NamedTuple):
    """What must be known of an answer: the name of a class of :mod:`engine.errors`, and a sentence."""

    kind: str
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class Result(Displayed):
    """The answer of a run, and how it was found.

    Results are equal if all their values and arrays are.

    Attributes
    ----------
    status : Status
    objective, bound : int, float or None
        Objective of ``solution`` and its proven bound, both in the problem's unit. None where there is none.
    solution : ndarray or None
        In the problem's own form (see the problem class).
    seconds : float
        Time the run took, pauses left out.
    compile_seconds : float
        Of these, what rendering and compiling kernels took, or loading them from a cache, on the device where it took
        longest. What a CPU's driver compiles when a kernel is first launched is not in it.
    seed, backend, devices
        Of the run; ``devices`` are pool labels. A problem so small that no run was started for it has the backend
        ``"host"`` and no devices.
    counters : dict
        Work done over all starts of the run: ``"nodes"``, ``"cells"``, ``"iterations"``, ...; see the solver's schema.
    arrays : dict of str to ndarray
        Further results of this solver, saved with the run.
    reason : str
        What has been proved, if there is no solution for that reason: a sentence without a final full stop.
    warnings : tuple of ResultWarning
        What must be known of this answer, such as that chains have not mixed: pairs of ``kind`` and ``message``. The
        same are issued as Python warnings.

    Examples
    --------
    >>> import engine
    >>> result = engine.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50))
    >>> result.status, result.objective, result.bound, result.gap
    (<Status.OPTIMAL: 'optimal'>, 220, 220, 0.0)
    >>> result.solution
    array([1, 2])
    >>> result.save("result.npz")
    >>> engine.load("result.npz") == result
    True
    """

    status: Status
    objective: float | int | None
    bound: float | int | None
    solution: NDArray[Any] | None
    seconds: float = 0.0
    seed: int = 0
    backend: str = ""
    devices: tuple[str, ...] = ()
    counters: dict[str, int | float] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    reason: str = ""
    warnings: tuple[ResultWarning, ...] = ()
    compile_seconds: float = 0.0

    _solution_name: ClassVar[str] = "solution"

    @property
    def gap(self) -> float:
        """Relative distance between objective and bound; ``inf`` while one of them is missing."""
        return relative_gap(self.objective, self.bound)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result) or type(self) is not type(other) or self.to_dict() != other.to_dict():
            return False
        mine, others = self._all_arrays(), other._all_arrays()
        return mine.keys() == others.keys() and all(_same(mine[name], others[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    @property
    def texts(self) -> dict[str, str]:
        """The arrays that are one text, such as what was added to an algorithm, by name."""
        return {name: str(array) for name, array in self.arrays.items() if array.ndim == 0 and array.dtype.kind == "U"}

    def display(self) -> Display:
        """What is shown of it: the answer, its proof and what it took."""
        facts = []
        if self.objective is not None:
            facts.append(("objective", number_text(self.objective)))
        if self.bound is not None:
            facts.append(("bound", number_text(self.bound)))
        if not math.isinf(self.gap):
            facts.append(("gap", gap_text(self.gap)))
        if self.reason:
            facts.append(("reason", self.reason))
        if self.solution is not None and self._solution_name:
            facts.append((self._solution_name, entries_text(self.solution)))
        facts += [("warning", warning.message) for warning in self.warnings]
        facts += [("seconds", self.seconds_text), ("devices", ", ".join(self.devices) or self.backend or "none")]
        return Display(f"{type(self).__name__} {self.status}", facts)

    @property
    def seconds_text(self) -> str:
        """The time that the run took, and what of it was spent on compiling kernels."""
        compiling = f", of which compiling {self.compile_seconds:.3f}" if self.compile_seconds >= 0.0005 else ""
        return f"{self.seconds:.3f}{compiling}"

    def _all_arrays(self) -> dict[str, NDArray[Any]]:
        return self.arrays if self.solution is None else {**self.arrays, "solution": self.solution}

    def save(self, path: str | Path) -> None:
        """Write the result to one file, which ``engine.load`` reads; nothing is pickled.

        Parameters
        ----------
        path : path-like
            Replaced if it exists; usually ``*.npz``.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        described = {"format": _FORMAT, "class": type(self).__name__, "result": self.to_dict()}
        content = io.BytesIO()
        arrays = {f"arrays/{name}": array for name, array in self._all_arrays().items()}
        savez: Any = np.savez  # its stubs differ from version to version
        savez(content, result=np.array(json.dumps(described, default=_plain)), **arrays)
        write_whole(Path(path), content.getvalue())

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as plain JSON values."""
        return {
            "status": str(self.status),
            "objective": self.objective,
            "bound": self.bound,
            "gap": None if math.isinf(self.gap) else self.gap,
            "seconds": self.seconds,
            **({"compile_seconds": self.compile_seconds} if self.compile_seconds else {}),
            "seed": self.seed,
            "backend": self.backend,
            "devices": list(self.devices),
            "counters": self.counters,
            **({"reason": self.reason} if self.reason else {}),
            "warnings": [warning._asdict() for warning in self.warnings],
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Result:
        """The inverse of :meth:`to_dict`.

        Parameters
        ----------
        values : dict
            What :meth:`to_dict` returned.
        arrays : dict of str to ndarray
            ``arrays`` of the result, and ``"solution"`` if it has one.
        """
        others = dict(arrays)
        solution = others.pop("solution", None)
        return cls(
            status=Status(values["status"]),
            objective=values["objective"],
            bound=values["bound"],
            solution=None if solution is None else np.asarray(solution),
            seconds=values["seconds"],
            seed=values["seed"],
            backend=values["backend"],
            devices=tuple(values["devices"]),
            counters=values["counters"],
            arrays=others,
            reason=values.get("reason", ""),
            warnings=tuple(ResultWarning(**warning) for warning in values.get("warnings", ())),
            compile_seconds=values.get("compile_seconds", 0.0),
        )


def read_result(path: str | Path, classes: Iterable[type[Result]] = ()) -> Result:
    """Read a file that :meth:`Result.save` wrote."""
    with open_regular(path) as stream:
        if not zipfile.is_zipfile(stream):
            raise ValueError("it is no archive of arrays")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            if "result" not in archive.files:
                raise ValueError("it has no result")
            described = json.loads(str(archive["result"]))
            if described["format"] != _FORMAT:
                raise ValueError(f"its format is {described['format']}; this version reads {_FORMAT}")
            arrays = {name.removeprefix("arrays/"): archive[name] for name in archive.files if name != "result"}
    kind = next((kind for kind in classes if kind.__name__ == described["class"]), Result)
    return kind.from_dict(described["result"], arrays)


def result_class(problem: type[Problem[Any]]) -> type[Result]:
    """The class of the results for this problem class: the parameter of its base ``Problem[...]``."""
    for base in problem.__mro__:
        for declared in getattr(base, "__orig_bases__", ()):
            if get_origin(declared) is Problem and isinstance(get_args(declared)[0], type):
                found: type[Result] = get_args(declared)[0]
                return found
    return Result


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def relative_gap(incumbent: float | int | None, bound: float | int | None) -> float:
    """``|incumbent - bound| / max(1, |incumbent|)`` of the best objective and its bound; ``inf`` without either."""
    if incumbent is None or bound is None:
        return math.inf
    return float(abs(incumbent - bound) / max(1, abs(incumbent)))


def data_frame(rows: Iterable[dict[str, Any]], columns: Iterable[str] | None = None) -> Any:
    try:
        from pandas import DataFrame
    except ModuleNotFoundError as error:
        raise missing_package("to_pandas", "pandas") from error
    return DataFrame(list(rows), columns=None if columns is None else list(columns))


def missing_package(user: str, package: str, obtain: str = "Quintet's extra statistics has it") -> ModuleNotFoundError:
    """The error of a function whose package is not installed."""
    message = f"{user} needs the package {package}, which is not installed ({obtain})"
    return ModuleNotFoundError(message, name=package)
