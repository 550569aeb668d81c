"""Linear programs: minimize a linear objective subject to linear inequalities, equalities and bounds."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from ...base.problem import Problem, ReadOptions, frozen, require_arrays, sparse_rows
from ...errors import ProblemError
from ...formats import linear_program as formats
from ...formats.source import without_compression
from ...util.text import counted
from .arguments import (
    BoundsLike,
    Matrix,
    MatrixLike,
    bounds_of,
    infinite_from,
    require_finite,
    side,
    sp,
    stacked,
    vector,
)

__all__ = ["LinearProgram", "Matrix", "sp"]

_HANDY = 1 << 14  # entries, zeros counted, of a sparse matrix that is audited as a dense one

Vector = NDArray[np.float64]


class RelaxOption(ReadOptions):
    """For files with integer variables."""

    relax: bool = Field(False, description="take integer variables as continuous ones")


class LinearProgram(Problem):
    """Minimize ``c @ x`` subject to ``A_ub @ x <= b_ub``, ``A_eq @ x == b_eq`` and ``lower <= x <= upper``.

    A solution is the vector x, shape (n,). ``result.arrays`` has ``row_duals`` (m,), ``reduced_costs`` (n,) and
    ``activities`` (m,): what the objective changes by as a row's active side, or a variable's active bound, moves up
    by one; or a certificate ``farkas`` (m,) or ``ray`` (n,).

    Parameters
    ----------
    c : array-like, shape (n,)
        Costs.
    A_ub, A_eq : array-like or SciPy sparse, shapes (m_ub, n) and (m_eq, n), optional
        Both are kept dense, or both sparse if one is given so.
    b_ub, b_eq : array-like, shapes (m_ub,) and (m_eq,), optional
        Right-hand sides. Entries of ``b_ub`` may be ``inf``: such a row says nothing.
    bounds : sequence, optional
        ``(low, high)`` for all variables, or one such pair each; None (or an infinity) where there is no bound. By
        default ``(0, None)``. Bounds and sides of 1e20 and more by size are infinite, as in files.
    names : sequence of str, optional
        Of the variables.
    name : str, optional
        What to call the program.
    integrality : array-like, shape (n,), or int, optional
        What each variable is, or all are, as for SciPy: 0 continuous, 1 integer, 2 semi-continuous (zero or within its
        bounds), 3 semi-integer. HiGHS's branch and bound solves programs in which one is not continuous.

    Attributes
    ----------
    c, lower, upper : ndarray, shape (n,)
    A : ndarray or scipy.sparse.csr_array, shape (m, n)
        All rows: first ``A_ub``, then ``A_eq``; in a file's order if read from one.
    row_lower, row_upper : ndarray, shape (m,)
        ``row_lower <= A @ x <= row_upper``; infinite where a row has no such side.
    offset : float
        Constant of the objective (files have one).
    maximize : bool
        Whether the objective is to be as great as possible (only files ask for that); see also ``sense``.
    n, m : int
        Variables and rows.
    integrality : ndarray of uint8, shape (n,), or None
        As the parameter; None if all variables are continuous.
    relaxed : int
        Integer and semi-continuous variables of the file, or model, that were taken as continuous.

    Raises
    ------
    ProblemError
        If shapes do not fit, a number is NaN, a cost or an entry of a matrix is infinite, an entry of ``integrality``
        is none of the four, or a lower bound is above its upper one. Rows and columns are counted from 0.

    Examples
    --------
    >>> import engine
    >>> problem = engine.LinearProgram([-1, 4], A_ub=[[-3, 1], [1, 2]], b_ub=[6, 4], bounds=[(None, None), (-3, None)])
    >>> result = engine.solve(problem)
    >>> result.objective, result.solution.round(6)
    (-22.0, array([10., -3.]))
    >>> result.arrays["row_duals"].round(6)
    array([ 0., -1.])
    """

    kind: ClassVar[str] = "linprog"
    read_options = RelaxOption
    sense: ClassVar[str] = "minimize"

    c: Vector
    A: Matrix
    row_lower: Vector
    row_upper: Vector
    lower: Vector
    upper: Vector
    offset: float
    maximize: bool
    integrality: NDArray[np.uint8] | None
    relaxed: int
    names: tuple[str, ...] | None
    row_names: tuple[str, ...] | None
    m_ub: int

    def __init__(
        self,
        c: ArrayLike,
        A_ub: MatrixLike | None = None,
        b_ub: ArrayLike | None = None,
        A_eq: MatrixLike | None = None,
        b_eq: ArrayLike | None = None,
        bounds: BoundsLike | None = (0, None),
        names: Sequence[str] | None = None,
        name: str | None = None,
        integrality: ArrayLike | None = None,
    ) -> None:
        costs = vector(c, "c")
        n = costs.size
        upper_matrix, upper_side = side(A_ub, b_ub, n, "ub")
        equal_matrix, equal_side = side(A_eq, b_eq, n, "eq")
        for values, refused, rule in (
            (upper_side, np.isneginf(infinite_from(upper_side)), "b_ub must not be minus infinity"),
            (equal_side, np.isinf(infinite_from(equal_side)), "b_eq must be finite"),
        ):
            if refused.any():
                row = int(np.argmax(refused))
                raise ProblemError(
                    f"entry {row} of {rule}; got {values[row]:g} (numbers of 1e20 and more are infinite)"
                )
        lower, upper = bounds_of(bounds, n)
        self._fill(
            costs,
            stacked(upper_matrix, equal_matrix),
            np.concatenate([np.full(upper_side.size, -np.inf), equal_side]),
            np.concatenate([upper_side, equal_side]),
            lower,
            upper,
        )
        self.m_ub = int(upper_side.size)
        if names is not None:
            if len(names) != n:
                raise ProblemError(f"names must have one entry per variable, {n}; got {len(names)}")
            self.names = tuple(str(entry) for entry in names)
        self._set_integrality(integrality)
        self.name = name if name is not None else self._default_name

    def _fill(
        self,
        c: Vector,
        matrix: Matrix,
        row_lower: Vector,
        row_upper: Vector,
        lower: Vector,
        upper: Vector,
        names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> None:
        """Check what is common to all ways of making one, then keep it."""
        if not np.isfinite(c).all():
            j = int(np.argmin(np.isfinite(c)))
            raise ProblemError(f"entry {j} of c must be finite; got {c[j]}")
        if sp.issparse(matrix):
            matrix = sp.csr_array(matrix, copy=matrix.format == "csr")
        require_finite(matrix, "the matrix")
        lower, upper, row_lower, row_upper = (infinite_from(part) for part in (lower, upper, row_lower, row_upper))
        for low, high, noun, called in ((lower, upper, "variable", names), (row_lower, row_upper, "row", row_names)):
            crossed = ~(low <= high) | np.isposinf(low) | np.isneginf(high)
            if crossed.any():
                at = int(np.argmax(crossed))
                which = f"{at} ('{called[at]}')" if called is not None else str(at)
                raise ProblemError(
                    f"the lower bound of {noun} {which} must be at most its upper bound; got {low[at]} and {high[at]}"
                )
        self.c, self.lower, self.upper = frozen(c), frozen(lower), frozen(upper)
        self.row_lower, self.row_upper = frozen(row_lower), frozen(row_upper)
        if sp.issparse(matrix):
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            for part in (matrix.data, matrix.indices, matrix.indptr):
                part.setflags(write=False)
            self.A = matrix
        else:
            self.A = frozen(matrix)
        self.offset, self.maximize, self.relaxed = 0.0, False, 0
        self.integrality = None
        self.names = self.row_names = None
        self.m_ub = 0

    def _set_integrality(self, kinds: ArrayLike | None, relax: bool = False) -> None:
        """Keep what each variable is, or how many are relaxed."""
        if kinds is None:
            return
        try:
            given = np.broadcast_to(np.asarray(kinds, np.float64), (self.n,))
        except (TypeError, ValueError) as error:
            raise ProblemError(f"integrality must be one number, or one for each of {self.n} variables") from error
        wrong = ~np.isin(given, (0.0, 1.0, 2.0, 3.0))
        if wrong.any():
            j = int(np.argmax(wrong))
            raise ProblemError(f"entry {j} of integrality must be 0, 1, 2 or 3; got {given[j]:g}")
        if relax:
            self.relaxed = int(np.count_nonzero(given))
        elif given.any():
            self.integrality = frozen(given.astype(np.uint8))

    @property
    def integers(self) -> int:
        """Variables that are not continuous."""
        return 0 if self.integrality is None else int(np.count_nonzero(self.integrality))

    def continuous(self, lower: Vector, upper: Vector) -> Self:
        """The same program with continuous variables and other bounds.

        Parameters
        ----------
        lower, upper : ndarray, shape (n,)
        """
        arrays = {key: array for key, array in self.to_arrays().items() if key != "integrality"}
        return type(self).from_arrays(arrays | {"lower": lower, "upper": upper}, self.name)

    @property
    def n(self) -> int:
        """Variables."""
        return int(self.c.size)

    @property
    def m(self) -> int:
        """Rows."""
        return int(self.row_lower.size)

    @property
    def is_sparse(self) -> bool:
        """Whether ``A`` is sparse."""
        return bool(sp.issparse(self.A))

    @functools.cached_property
    def nonzeros(self) -> int:
        """Entries of ``A`` that are not zero."""
        return int(self.A.nnz) if isinstance(self.A, sp.csr_array) else int(np.count_nonzero(self.A))

    @functools.cached_property
    def handy_matrix(self) -> Matrix:
        """The matrix, dense where that is small: a call on a sparse array takes longer than all of its arithmetic."""
        return self.A.toarray() if isinstance(self.A, sp.csr_array) and self.m * self.n <= _HANDY else self.A

    @functools.cached_property
    def row_sizes(self) -> Vector:
        """The largest entry of each row by size (m,)."""
        A = self.handy_matrix
        if isinstance(A, sp.csr_array):
            return np.asarray(abs(A).max(axis=1).todense(), np.float64).ravel() if A.nnz else np.zeros(self.m)
        return np.asarray(np.maximum(A.max(axis=1, initial=0.0), -A.min(axis=1, initial=0.0)))

    @functools.cached_property
    def column_sizes(self) -> Vector:
        """The largest entry of each column by size (n,)."""
        A = self.handy_matrix
        if isinstance(A, sp.csr_array):
            return np.asarray(abs(A).max(axis=0).todense(), np.float64).ravel() if A.nnz else np.zeros(self.n)
        return np.asarray(np.maximum(A.max(axis=0, initial=0.0), -A.min(axis=0, initial=0.0)))

    @functools.cached_property
    def units(self) -> tuple[float, float]:
        """The sizes of values and of costs that errors are relative to: 1, or less if all of the data is smaller.

        The first is the largest bound, or side of a row divided by the row's largest entry, the second the largest
        cost; numbers that are zero or infinite do not count.
        """
        sizes = np.where(self.row_sizes > 0.0, self.row_sizes, 1.0)
        values = np.concatenate([self.lower, self.upper, self.row_lower / sizes, self.row_upper / sizes])
        return tuple(_unit(found) for found in (values, self.c))  # type: ignore[return-value]

    @functools.cached_property
    def side_unit(self) -> float:
        """The size of sides of rows: 1, or the largest one if all are smaller."""
        return _unit(np.concatenate([self.row_lower, self.row_upper]))

    @functools.cached_property
    def is_extreme(self) -> bool:
        """Whether its numbers are so large or so small that products of them may overflow."""
        sizes = np.concatenate([np.abs(self.c), self.row_sizes])
        sizes = sizes[sizes > 0.0]
        return bool(sizes.size) and not 1e-100 < sizes.min() <= sizes.max() < 1e100

    @property
    def float_errors(self) -> np.errstate:
        """How NumPy is to take overflows while the program is solved: where they must be, the audit is enough."""
        return np.errstate(all="ignore") if self.is_extreme else np.errstate()

    @property
    def empty_row_slack(self) -> float:
        """How far the sides of a row without entries may be from zero, as errors of rounding: nothing can mend it."""
        return 1e-9 * self.side_unit

    @classmethod
    def read(cls, path: str | Path, relax: bool = False) -> Self:
        """Read an MPS (fixed or free) or LP file, which may be compressed.

        Parameters
        ----------
        path : path-like
        relax : bool
            Whether to take integer and semi-continuous variables as continuous ones.

        Raises
        ------
        ProblemError
            If the file cannot be read or breaks its format or a rule of the problem; with the line where that is known.
        """
        parsed = formats.read(path)
        shape = (parsed.row_lower.size, parsed.c.size)
        columns = sp.csc_array((parsed.values, parsed.rows, parsed.starts), shape=shape)
        problem = cls.__new__(cls)
        try:
            problem._fill(
                parsed.c,
                columns.tocsr(),
                *(parsed.row_lower, parsed.row_upper, parsed.lower, parsed.upper),
                parsed.column_names,
                parsed.row_names,
            )
        except ProblemError as error:
            raise ProblemError(str(error), path) from error
        problem.offset = parsed.offset
        problem._set_integrality(parsed.integrality, relax)
        problem._set_sense(parsed.maximize)
        problem.names, problem.row_names = tuple(parsed.column_names), tuple(parsed.row_names)
        problem.name = without_compression(Path(path)).name.removesuffix(".mps").removesuffix(".lp")
        return problem

    def _set_sense(self, maximize: bool) -> None:
        self.maximize = maximize
        if maximize:
            setattr(self, "sense", "maximize")  # noqa: B010  (the class's own is what most instances have)

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file looks like MPS or LP: by its name, or by an MPS file's first section.

        Parameters
        ----------
        path : Path
        head : str
            Its first 4096 characters.
        """
        return formats.recognize(path, head)

    def write(self, path: str | Path) -> None:
        """Write a free MPS file.

        Raises
        ------
        ProblemError
            If the file cannot be written.

        Examples
        --------
        >>> import engine
        >>> engine.LinearProgram([-1, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6], name="two").write("two.mps")
        >>> engine.LinearProgram.read("two.mps")
        <linear program two: 2 rows, 2 variables, 4 nonzeros>
        """
        columns = sp.csc_array(self.A)
        parts = (
            (columns.indices[begin:end], columns.data[begin:end])
            for begin, end in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
        )
        names = (
            list(self.names or (f"x{j}" for j in range(self.n))),
            list(self.row_names or (f"r{i}" for i in range(self.m))),
        )
        bounds, rows = (self.lower, self.upper), (self.row_lower, self.row_upper)
        formats.write(path, self.name, self.c, self.offset, self.maximize, parts, bounds, rows, names, self.integrality)

    @classmethod
    def from_highspy(cls, highs: Any, relax: bool = False) -> Self:
        """The program that a ``highspy.Highs`` object holds: costs, rows, bounds, names, sense and offset.

        Parameters
        ----------
        highs : highspy.Highs
        relax : bool
            Whether to take integer and semi-continuous variables as continuous ones.

        Raises
        ------
        ProblemError
            If the argument is no such object, or the program has a quadratic objective.
        """
        if not hasattr(highs, "getLp") or not hasattr(highs, "getModel"):
            raise ProblemError(f"from_highspy takes a highspy.Highs object; got {type(highs).__name__}")
        lp = highs.getLp()
        if highs.getModel().hessian_.dim_:
            raise ProblemError("the program has a quadratic objective; only linear ones are solved")
        matrix, shape = lp.a_matrix_, (lp.num_row_, lp.num_col_)
        by_columns = int(matrix.format_) == 1
        parts = tuple(np.asarray(part) for part in (matrix.value_, matrix.index_, matrix.start_))
        lines = shape[1] if by_columns else shape[0]
        starts = parts[2][: lines + 1] if parts[2].size > lines else np.zeros(lines + 1, np.int64)
        rows = sp.csr_array((sp.csc_array if by_columns else sp.csr_array)((*parts[:2], starts), shape=shape))
        c, low, high, lower, upper = (
            np.array(values, np.float64)
            for values in (lp.col_cost_, lp.row_lower_, lp.row_upper_, lp.col_lower_, lp.col_upper_)
        )
        problem = cls.__new__(cls)
        problem._fill(c, rows, low, high, lower, upper)
        problem.offset = float(lp.offset_)
        kinds = [int(kind) for kind in lp.integrality_]
        problem._set_integrality(kinds or None, relax)
        problem._set_sense(int(lp.sense_) < 0)
        for name, found, count in (("names", lp.col_names_, problem.n), ("row_names", lp.row_names_, problem.m)):
            if len(found) == count and all(found):
                setattr(problem, name, tuple(found))
        problem.name = str(lp.model_name_) or "HiGHS's program"
        return problem

    def to_dense(self) -> Self:
        """The same program with a dense matrix."""
        if not self.is_sparse:
            return self
        return type(self).from_arrays({**_without_matrix(self.to_arrays()), "A": self.A.toarray()}, self.name)

    @property
    def _default_name(self) -> str:
        return f"linear program of {counted(self.m, 'row')} and {counted(self.n, 'variable')}"

    def describe(self) -> str:
        """One line: the sizes, how full the matrix is, and what the bounds are."""
        text = f"{self._title('linear program')}: {counted(self.m, 'row')}, {counted(self.n, 'variable')}"
        if self.m:
            text += f", {counted(self.nonzeros, 'nonzero')}"
        free = int((np.isneginf(self.lower) & np.isposinf(self.upper)).sum())
        boxed = int((np.isfinite(self.lower) & np.isfinite(self.upper)).sum())
        equal = int((self.row_lower == self.row_upper).sum())
        parts = [counted(equal, "equality", "equalities")] if equal else []
        parts += [f"{free:,} free"] if free else []
        parts += [f"{boxed:,} with two bounds"] if boxed else []
        parts += [counted(self.integers, "integer one")] if self.integers else []
        parts += [f"{counted(self.relaxed, 'integer one')} taken as continuous"] if self.relaxed else []
        return f"{text} ({', '.join(parts)})" if parts else text

    def objective(self, x: ArrayLike) -> float:
        """``c @ x + offset``."""
        return float(self.c @ np.asarray(x, np.float64)) + self.offset

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, as named arrays; a sparse matrix as ``data``, ``indices`` and ``indptr``."""
        arrays: dict[str, NDArray[Any]] = {
            "c": self.c,
            "lower": self.lower,
            "upper": self.upper,
            "row_lower": self.row_lower,
            "row_upper": self.row_upper,
            "offset": np.array(self.offset),
            "maximize": np.array(self.maximize),
            "relaxed": np.array(self.relaxed),
            "m_ub": np.array(self.m_ub),
        }
        if isinstance(self.A, sp.csr_array):
            arrays |= {"data": self.A.data, "indices": self.A.indices, "indptr": self.A.indptr}
        else:
            arrays["A"] = self.A
        if self.integrality is not None:
            arrays["integrality"] = self.integrality
        if self.names is not None:
            arrays["names"] = np.array(self.names)
        if self.row_names is not None:
            arrays["row_names"] = np.array(self.row_names)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`; everything is checked again.

        Parameters
        ----------
        arrays : mapping of str to ndarray
        name : str

        Raises
        ------
        ProblemError
            If an array is missing or breaks a rule of the problem.
        """
        for needed in ("c", "lower", "upper", "row_lower", "row_upper"):
            if needed not in arrays:
                raise ProblemError(f"the arrays of a linear program lack '{needed}'; got {', '.join(arrays) or 'none'}")
        shape = (arrays["row_lower"].size, arrays["c"].size)
        for key, size in {"c": 1, "lower": 1, "upper": 1, "row_lower": 0, "row_upper": 0}.items():
            if arrays[key].shape != (shape[size],):
                raise ProblemError(f"the array '{key}' must have shape ({shape[size]},); got {arrays[key].shape}")
        matrix: Matrix
        if "A" in arrays:
            matrix = np.asarray(arrays["A"], np.float64)
        elif "data" in arrays:
            require_arrays(arrays, ("indices", "indptr"), "a sparse linear program")
            matrix = sparse_rows(arrays["data"], arrays["indices"], arrays["indptr"], shape, "the matrix")
        else:
            raise ProblemError("the arrays of a linear program lack its matrix, 'A' or 'data'")
        if matrix.shape != shape:
            raise ProblemError(f"the matrix must have shape {shape}; got {matrix.shape}")
        low, high, lower, upper = (arrays[key] for key in ("row_lower", "row_upper", "lower", "upper"))
        problem = cls.of_rows(arrays["c"], matrix, low, high, lower, upper, name)
        problem.offset = float(arrays.get("offset", np.array(0.0)))
        problem._set_sense(bool(arrays.get("maximize", np.array(False))))
        problem._set_integrality(arrays.get("integrality"))
        problem.relaxed = int(arrays.get("relaxed", np.array(0)))
        problem.m_ub = int(arrays.get("m_ub", np.array(0)))
        problem.names = tuple(arrays["names"].tolist()) if "names" in arrays else None
        problem.row_names = tuple(arrays["row_names"].tolist()) if "row_names" in arrays else None
        return problem

    @classmethod
    def of_rows(
        cls,
        c: ArrayLike,
        matrix: Matrix,
        row_lower: ArrayLike,
        row_upper: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        name: str,
        integrality: ArrayLike | None = None,
    ) -> Self:
        """A minimization of ``c x`` with ``row_lower <= A x <= row_upper`` and ``lower <= x <= upper``.

        Parameters
        ----------
        c, lower, upper : array-like, shape (n,)
        matrix : ndarray or sparse array, shape (m, n)
        row_lower, row_upper : array-like, shape (m,)
        name : str
        integrality : array-like, shape (n,), optional

        Raises
        ------
        ProblemError
            If a cost or an entry is not finite, or a pair of bounds or sides has no number in between.
        """
        problem = cls.__new__(cls)
        low, high, left, right = (np.asarray(part, np.float64) for part in (row_lower, row_upper, lower, upper))
        problem._fill(np.asarray(c, np.float64), matrix, low, high, left, right)
        problem._set_integrality(integrality)
        problem.name = name
        return problem


def _unit(values: Vector) -> float:
    sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
    return min(1.0, float(sizes.max())) if sizes.size else 1.0


def _without_matrix(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name: array for name, array in arrays.items() if name not in ("data", "indices", "indptr")}
