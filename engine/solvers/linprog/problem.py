"""Linear programs: minimize a linear objective subject to linear inequalities, equalities and bounds."""

import copy
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from ...base.problem import ReadOptions
from ...errors import ProblemError
from ...formats import linear_program as formats
from ...formats.source import without_compression
from ...util.text import counted
from .arguments import BoundsLike, Matrix, MatrixLike, bounds_of, infinite_from, side, sp, stacked, vector
from .data import KeptBasis, ProgramData

__all__ = ["LinearProgram", "Matrix", "sp"]

Vector = NDArray[np.float64]


class RelaxOption(ReadOptions):
    """For files with integer variables."""

    relax: bool = Field(False, description="take integer variables as continuous ones")


class LinearProgram(ProgramData):
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

    kept_basis: KeptBasis | None = None

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
            if isinstance(names, str) or not isinstance(names, Iterable):
                raise ProblemError(f"names must be a list with a name for each variable; got {names!r}")
            self.names = tuple(str(entry) for entry in names)
            if len(self.names) != n:
                raise ProblemError(f"names must have one entry per variable, {n}; got {len(self.names)}")
        self._set_integrality(integrality)
        self.name = name if name is not None else self._default_name

    def with_changes(
        self,
        *,
        c: ArrayLike | None = None,
        b_ub: ArrayLike | None = None,
        b_eq: ArrayLike | None = None,
        row_lower: ArrayLike | None = None,
        row_upper: ArrayLike | None = None,
        bounds: BoundsLike | None = None,
        name: str | None = None,
    ) -> Self:
        """The program with other costs, sides or bounds, and the same matrix, which both share.

        All programs made so from one another share the last optimal basis that was found for one of them, and each is
        solved by HiGHS's simplex method from it, as long as that takes a second at most: the weeks of a year of one
        energy system, say, or what-if questions.

        Parameters
        ----------
        c : array-like, shape (n,), optional
        b_ub, b_eq : array-like, shapes (m_ub,) and (m_eq,), optional
            Right-hand sides, of programs that were made with ``A_ub`` and ``A_eq``.
        row_lower, row_upper : array-like, shape (m,), optional
        bounds : sequence, optional
            As of a new program.
        name : str, optional

        Raises
        ------
        ProblemError
            If a shape does not fit, or the numbers break a rule of the problem.

        Examples
        --------
        >>> import engine
        >>> problem = engine.LinearProgram([-1, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6])
        >>> [engine.solve(problem.with_changes(b_ub=[4, side])).objective for side in (6, 9)]
        [-5.0, -6.5]
        """
        low, high = np.array(self.row_lower), np.array(self.row_upper)
        if b_eq is not None and (low != high)[self.m_ub :].any():
            raise ProblemError("b_eq is for programs made of A_ub and A_eq; of this one row_lower and row_upper change")
        upper_rows, equal_rows = slice(0, self.m_ub), slice(self.m_ub, self.m)
        for called, given, side_of, rows in (
            ("row_lower", row_lower, low, slice(None)),
            ("row_upper", row_upper, high, slice(None)),
            ("b_ub", b_ub, high, upper_rows),
            ("b_eq", b_eq, low, equal_rows),
            ("b_eq", b_eq, high, equal_rows),
        ):
            if given is not None:
                side_of[rows] = _of_size(given, called, side_of[rows].size)
        costs = self.c if c is None else _of_size(c, "c", self.n)
        lower, upper = (self.lower, self.upper) if bounds is None else bounds_of(bounds, self.n)
        changed = self._copy(costs, low, high, lower, upper)
        self.kept_basis = changed.kept_basis = self.kept_basis or KeptBasis()
        changed.name = self.name if name is None else name
        return changed

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
        changed = self._copy(self.c, self.row_lower, self.row_upper, lower, upper)
        changed.integrality = changed.kept_basis = None
        return changed

    def _copy(self, c: Vector, row_lower: Vector, row_upper: Vector, lower: Vector, upper: Vector) -> Self:
        """The program with other vectors and the same matrix."""
        changed = copy.copy(self)
        for sizes in ("units", "side_unit", "is_extreme"):
            changed.__dict__.pop(sizes, None)
        changed._set_vectors(c, row_lower, row_upper, lower, upper, self.names, self.row_names)
        return changed

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
        indices, values, starts = columns.indices.tolist(), columns.data.tolist(), columns.indptr.tolist()
        parts = ((indices[begin:end], values[begin:end]) for begin, end in itertools.pairwise(starts))
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


def _of_size(values: ArrayLike, name: str, size: int) -> Vector:
    found = vector(values, name)
    if found.size != size:
        raise ProblemError(f"{name} must have {counted(size, 'entry', 'entries')}; got {found.size}")
    return found
