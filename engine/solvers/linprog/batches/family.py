"""Many linear programs of one shape as arrays: made from a list of programs, or from one whose vectors vary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....devices.host import host_cores
from ....errors import ProblemError
from ....numerics.blas_threads import one_thread
from ....util.text import array_fault
from ..arguments import infinite_from
from ..data import KeptBasis
from ..forms.standard import equilibrate
from ..problem import LinearProgram, sp
from ..verification.audit import Audit, Programs, admissible, audit_programs

Vector = NDArray[np.float64]
VARYING = ("c", "b_ub", "b_eq", "row_lower", "row_upper", "lower", "upper")
"""What may differ among the programs of a family that share their matrix."""
_NEAR_ONE = 0.25, 64.0  # largest entries of rows and columns that are not scaled


@dataclass(frozen=True)
class Family:
    """k programs of m rows and n variables, as minimizations."""

    A: Any  # (k, m, n), or (1, m, n) if all have one; as given, perhaps sparse, where programs are taken one by one
    c: Vector  # (k, n)
    lower: Vector
    upper: Vector
    row_lower: Vector  # (k, m)
    row_upper: Vector
    offset: Vector
    sign: Vector  # -1 where the program given is a maximization
    kept_basis: KeptBasis | None = None  # shared by programs that are solved one after the other

    def __len__(self) -> int:
        return int(self.c.shape[0])

    @property
    def shared(self) -> bool:
        """Whether all programs have the same matrix."""
        return self.A.shape[0] == 1 and len(self) != 1

    @classmethod
    def of(cls, problems: Sequence[LinearProgram]) -> Family:
        """Programs of one shape with dense matrices."""
        sign = np.array([-1.0 if problem.maximize else 1.0 for problem in problems])

        def joined(name: str) -> Vector:  # in a tenth of the time that np.stack takes
            return np.concatenate([getattr(problem, name) for problem in problems]).reshape(len(problems), -1)

        first = problems[0].A
        one = all(problem.A is first for problem in problems)
        return cls(
            A=np.asarray(first)[None] if one else _stacked([np.asarray(problem.A) for problem in problems]),
            c=joined("c") * sign[:, None],
            lower=joined("lower"),
            upper=joined("upper"),
            row_lower=joined("row_lower"),
            row_upper=joined("row_upper"),
            offset=np.array([problem.offset for problem in problems]) * sign,
            sign=sign,
        )

    @classmethod
    def varied(cls, problem: LinearProgram, given: Mapping[str, ArrayLike | None], dense: bool = True) -> Family:
        """The programs that have the matrix of one, and vectors of their own."""
        arrays: dict[str, Vector] = {}
        for name, values in given.items():
            try:
                arrays |= {} if values is None else {name: np.asarray(values, np.float64)}
            except (TypeError, ValueError) as error:
                raise ProblemError(f"{name} must be an array of numbers: {array_fault(values, error)}") from error
        if not arrays:
            raise ProblemError(f"one program needs at least one of {', '.join(VARYING)} as an array for many")
        counts = {array.shape[0] if array.ndim == 2 else -1 for array in arrays.values()}
        sizes = {"c": problem.n, "lower": problem.n, "upper": problem.n}
        sizes |= {"b_ub": problem.m_ub, "b_eq": problem.m - problem.m_ub}
        for name, array in arrays.items():
            width = sizes.get(name, problem.m)
            if array.ndim != 2 or array.shape[1] != width or len(counts) != 1:
                raise ProblemError(
                    f"{name} must have the shape (programs, {width}), with as many programs as the other arrays; "
                    f"got {array.shape}"
                )
        k = counts.pop()
        if k == 0:
            raise ProblemError(f"{', '.join(arrays)} must have at least one row, one for each program; got none")
        if "b_eq" in arrays and (problem.row_lower != problem.row_upper)[problem.m_ub :].any():
            raise ProblemError(
                "b_eq is for programs made of A_ub and A_eq; of this one row_lower and row_upper can vary"
            )

        def taken(name: str) -> Vector:
            shape = k, sizes.get(name, problem.m)
            found = np.array(arrays[name] if name in arrays else np.broadcast_to(getattr(problem, name), shape))
            return found if name == "c" else infinite_from(found)

        row_lower, row_upper = taken("row_lower"), taken("row_upper")
        if "b_ub" in arrays:
            row_upper[:, : problem.m_ub] = infinite_from(arrays["b_ub"])
        if "b_eq" in arrays:
            row_lower[:, problem.m_ub :] = row_upper[:, problem.m_ub :] = infinite_from(arrays["b_eq"])
        sign = -1.0 if problem.maximize else 1.0
        family = cls(
            A=np.asarray(problem.to_dense().A)[None] if dense else problem.A,
            c=sign * taken("c"),
            lower=taken("lower"),
            upper=taken("upper"),
            row_lower=row_lower,
            row_upper=row_upper,
            offset=np.full(k, sign * problem.offset),
            sign=np.full(k, sign),
            kept_basis=KeptBasis(),
        )
        family._require_programs()
        return family

    def _require_programs(self) -> None:
        if not np.isfinite(self.c).all():
            raise ProblemError(f"costs must be finite; program {_row(~np.isfinite(self.c))} has one that is not")
        for low, high, what in ((self.lower, self.upper, "variable"), (self.row_lower, self.row_upper, "row")):
            wrong = ~(low <= high) | np.isposinf(low) | np.isneginf(high)
            if wrong.any():
                raise ProblemError(
                    f"a lower bound must be at most its upper bound; program {_row(wrong)} breaks this for {what} "
                    f"{int(np.argmax(wrong[_row(wrong)]))}"
                )

    def audit(self, x: Vector, y: Vector) -> tuple[Vector, Vector, Audit]:
        """Admissible points (k, n) and duals (k, m) near these, with their audits."""
        m, n = self.A.shape[1:]
        matrix = self.A[0] if self.shared else self.A
        vectors: Any = self.c, self.lower, self.upper, self.row_lower, self.row_upper, self.offset

        def audited(here: slice) -> tuple[Vector, Vector, Audit]:
            programs = Programs(matrix if self.shared else matrix[here], *[part[here] for part in vectors])
            values, duals = admissible(programs, x[here], y[here])
            return values, duals, audit_programs(programs, values, duals)

        values, duals, audits = zip(*by_chunks(audited, len(self), m * n), strict=True)
        joined = (np.concatenate([getattr(part, field.name) for part in audits]) for field in fields(Audit))
        return np.concatenate(values), np.concatenate(duals), Audit(*joined)

    def program(self, index: int, name: str = "") -> LinearProgram:
        """One of the programs, in the sense of the program given."""
        sign = self.sign[index]
        arrays: dict[str, NDArray[Any]] = {
            **self._matrix(index),
            "c": sign * self.c[index],
            "offset": np.array(sign * self.offset[index]),
            "maximize": np.array(sign < 0.0),
        }
        arrays |= {key: getattr(self, key)[index] for key in ("lower", "upper", "row_lower", "row_upper")}
        program = LinearProgram.from_arrays(arrays, name or f"program {index}")
        program.kept_basis = self.kept_basis
        return program

    def _matrix(self, index: int) -> dict[str, NDArray[Any]]:
        """The matrix of a program, as :meth:`LinearProgram.to_arrays` has it."""
        if sp.issparse(self.A):
            return {name: getattr(self.A, name) for name in ("data", "indices", "indptr")}
        if self.A.ndim == 2:
            return {"A": self.A}
        return {"A": self.A[0 if self.A.shape[0] == 1 else index]}

    def scales(self) -> tuple[Vector, Vector]:
        """Powers of two for rows (1, m) or (k, m), and columns (1, n) or (k, n), that bring large entries near one."""
        count, m, n = self.A.shape
        found = by_chunks(lambda here: _largest(self.A[here]), count, m * n)
        in_rows, in_columns = (np.concatenate([part[place] for part in found]) for place in range(2))
        rows, columns = np.ones_like(in_rows), np.ones_like(in_columns)
        low, high = _NEAR_ONE
        near = ((in_rows == 0.0) | (in_rows > low) & (in_rows < high)).all(axis=1)
        near &= ((in_columns == 0.0) | (in_columns > low) & (in_columns < high)).all(axis=1)
        for index in np.flatnonzero(~near):
            rows[index], columns[index] = equilibrate(self.A[index])
        return rows, columns


def _stacked(matrices: Sequence[Vector]) -> Vector:
    """Matrices of one shape in one array."""
    m, n = matrices[0].shape
    out = np.empty((len(matrices) * m, n))

    def copy(here: slice) -> None:
        np.concatenate(matrices[here], out=out[here.start * m : here.stop * m])

    by_chunks(copy, len(matrices), m * n)
    return out.reshape(-1, m, n)


def _largest(matrices: Vector) -> tuple[Vector, Vector]:
    """The largest entry of each row, and of each column, by size."""
    sizes = np.abs(matrices)
    return sizes.max(axis=2), sizes.max(axis=1)


def _row(wrong: NDArray[np.bool_]) -> int:
    return int(np.argmax(wrong.any(axis=1)))


T = TypeVar("T")
_CHUNK = 1 << 17  # numbers of each array in a chunk: they stay in a core's cache
_MOST_THREADS = 8


def by_chunks(function: Callable[[slice], T], count: int, numbers: int) -> list[T]:
    """What a function returns for each chunk of programs, in order."""
    step = max(1, _CHUNK // max(1, numbers))
    chunks = [slice(begin, min(begin + step, count)) for begin in range(0, count, step)]
    workers = min(_MOST_THREADS, host_cores(), len(chunks))
    with one_thread():
        if workers <= 1:
            return [function(chunk) for chunk in chunks]
        with ThreadPoolExecutor(workers) as threads:
            return list(threads.map(function, chunks))


def places(chosen: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """The same places as a slice if they follow each other: nothing is copied then."""
    first, last = (int(chosen[0]), int(chosen[-1])) if chosen.size else (0, -1)
    return slice(first, last + 1) if last - first + 1 == chosen.size and (np.diff(chosen) == 1).all() else chosen
