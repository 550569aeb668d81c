"""The problem class: a binary target and the features it may depend on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from engine.errors import ProblemError
from engine.formats import tables
from engine.problem import Problem, ReadOptions, frozen
from engine.solvers.gibbs.posterior import Posterior

__all__ = ["HorseshoeLogit", "HorseshoeProbit"]


class TargetOption(ReadOptions):
    """For tables: which column is the target."""

    target: str | None = Field(
        None, description="name or number of the column to predict; by default the one called target, y, label, ..."
    )


class HorseshoeProbit(Problem[Posterior]):
    """Probit regression with a horseshoe prior: which features matter for a yes or no, and how much.

    The model is P(y_i = 1) = Phi(b_0 + x_i . beta), beta_j ~ N(0, lambda_j^2 tau^2), lambda_j ~ C+(0, 1),
    tau ~ C+(0, A) (Terenin, Dong, Draper 2019; Carvalho, Polson, Scott 2010).

    Parameters
    ----------
    X : array-like or data frame, shape (N, p)
        Finite numbers, kept as float32 or float64; the columns of a pandas or Polars frame have their own names.
    y : array-like, shape (N,)
        Two different values, numbers or words; the larger (or later) one counts as 1. Also all 0 or all 1.
    names : sequence of str, optional
        What the columns are called.
    name : str, optional
        What to call the data.

    Attributes
    ----------
    X : ndarray, shape (N, p)
        Read-only.
    y : ndarray of bool, shape (N,)
    names : tuple of str
    classes : tuple
        The two values of y as they were given, the one that counts as 0 first.

    Raises
    ------
    ProblemError
        If the shapes do not fit, a value is not a finite number, or y has not two values.
    """

    kind: ClassVar[str] = "horseshoe_probit"
    family: ClassVar[str] = "probit"
    sense: ClassVar[str] = "sample"
    read_options = TargetOption

    def __init__(self, X: ArrayLike, y: ArrayLike, names: Sequence[str] | None = None, name: str | None = None) -> None:
        if tables.is_frame(X):
            values, found = tables.from_frame(X)
            names = found if names is None else names
        else:
            values = _matrix(X)
        self.X = frozen(values if values.dtype == np.float32 else values.astype(np.float64))
        if self.X.ndim != 2 or not self.X.size:
            raise ProblemError(f"X must have rows and columns; got shape {self.X.shape}")
        self.names = (
            tuple(f"x{column}" for column in range(self.X.shape[1])) if names is None else tuple(map(str, names))
        )
        if len(self.names) != self.X.shape[1]:
            raise ProblemError(f"X has {self.X.shape[1]} columns, but there are {len(self.names)} names")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ProblemError(f"two columns are called '{twice}'")
        if not np.isfinite(self.X).all():
            row, column = np.argwhere(~np.isfinite(self.X))[0]
            raise ProblemError(
                f"X must be finite; column '{self.names[column]}' has {self.X[row, column]} in row {row}"
            )
        self.y, self.classes = _binary(y, len(self.X))
        self.name = name or f"{self.X.shape[0]} x {self.X.shape[1]}"

    @classmethod
    def read(cls, path: str | Path, target: str | int | None = None) -> Self:
        """Read CSV, TSV, LIBSVM or Parquet; see :func:`engine.formats.tables.read`.

        Parameters
        ----------
        path : path-like
        target : str or int, optional
            Name or number of the target column; by default the one called target, y, label, ..., else the last.

        Raises
        ------
        ProblemError
            If it cannot be read, or breaks a rule of its format or of the problem.
        """
        table = tables.read(path, target)
        try:
            return cls(table.X, table.y, table.names, Path(path).stem)
        except ProblemError as error:
            raise ProblemError(str(error), path) from error

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file is LIBSVM, Parquet, or a CSV or TSV whose header names a target."""
        return tables.recognize(path, head) is not None

    def describe(self) -> str:
        """One line: the sizes, and how many are 1."""
        rows, columns = self.X.shape
        return (
            f"horseshoe {self.family} {self.name}: {rows:,} rows, {columns:,} features, "
            f"{self.y.mean():.1%} of class {_written(self.classes[1])}"
        )

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """``X``, ``y``, ``names`` and ``classes``."""
        classes = np.array([str(value) for value in self.classes])
        kinds = np.array([type(value).__name__ for value in self.classes])
        return {"X": self.X, "y": self.y, "names": np.array(self.names), "classes": classes, "kinds": kinds}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`."""
        problem = cls(arrays["X"], arrays["y"], arrays["names"].tolist(), name)
        words, kinds = arrays["classes"].tolist(), arrays["kinds"].tolist()
        zero, one = (_KINDS.get(kind, str)(word) for word, kind in zip(words, kinds, strict=True))
        problem.classes = zero, one
        return problem


class HorseshoeLogit(HorseshoeProbit):
    """Logistic regression with a horseshoe prior: :class:`HorseshoeProbit` with P(y_i = 1) = 1 / (1 + exp(-margin)).

    It is sampled by the kernel ``hmc``. Files are not recognised as logistic regressions; use :meth:`read`.
    """

    kind: ClassVar[str] = "horseshoe_logit"
    family: ClassVar[str] = "logit"

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Never: such files are recognised as :class:`HorseshoeProbit`."""
        return False


def _written(value: Any) -> str:
    """A class as people write it: a whole number without a point."""
    return f"{value:g}" if isinstance(value, float) else str(value)


_KINDS: dict[str, Callable[[str], Any]] = {"bool": "True".__eq__, "int": int, "float": float}


def _matrix(X: ArrayLike) -> NDArray[Any]:
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise ProblemError(f"X must be a matrix of numbers: {error}") from error
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ProblemError(f"X must hold numbers; got {values.dtype}") from error
    return values


def _binary(y: ArrayLike, rows: int) -> tuple[NDArray[np.bool_], tuple[Any, Any]]:
    """The target as booleans, and its two values."""
    values = np.asarray(y)
    if values.shape != (rows,):
        raise ProblemError(f"y must have one value for each of the {rows} rows of X; got shape {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ProblemError(f"y must be finite; row {int(np.argmin(np.isfinite(values)))} is {values.min()}")
    if values.dtype.kind == "O":
        kinds = {type(value) for value in values.tolist()}
        if len(kinds) > 1:
            raise ProblemError(f"y mixes {' and '.join(sorted(kind.__name__ for kind in kinds))}")
    found = np.unique(values)
    classes = found.tolist()
    if len(classes) == 1:
        one = classes[0]
        if one not in (0, 1, -1):
            raise ProblemError(f"y has one value only, {one!r}; write it as 0 or 1 to say which it is")
        classes = [0, 1] if one != -1 else [-1, 1]
    if len(classes) != 2:
        some = ", ".join(map(repr, classes[:5]))
        raise ProblemError(
            f"y must have two different values; it has {len(classes)}: {some}" + ", ..." * (len(classes) > 5)
        )
    return frozen(values == classes[1]), (classes[0], classes[1])
