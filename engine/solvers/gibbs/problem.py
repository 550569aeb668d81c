"""The problem classes: a target and the features it may depend on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from ...base.problem import Problem, ReadOptions, frozen, require_arrays, sparse_rows
from ...errors import ProblemError
from ...formats import tables
from ...util.text import counted
from .design.features import is_sparse
from .families import AUXILIARY, FAMILIES, FamilyName
from .posterior import Posterior

__all__ = ["HorseshoeLogit", "HorseshoeProbit", "HorseshoeRegression"]


MOST_COUNT = 1_000_000
"""The largest count; margins are in float32, which bounds the precision of the mean to about 1e-6."""


class TargetOption(ReadOptions):
    """For tables: which column is the target."""

    target: str | None = Field(
        None, description="name or number of the column to predict; by default the one called target, y, label, ..."
    )
    encode: bool = Field(
        False, description="make one column of 0 and 1 for each word of a text column; else such columns are refused"
    )


class RegressionOptions(TargetOption):
    """For tables: the target, and how it depends on the features."""

    family: FamilyName = Field("normal", description="what the target is: see HorseshoeRegression")


class HorseshoeProbit(Problem[Posterior]):
    """Probit regression with a horseshoe prior: which features matter for a yes or no, and how much.

    The model is P(y_i = 1) = Phi(b_0 + x_i . beta), beta_j ~ N(0, lambda_j^2 tau^2), lambda_j ~ C+(0, 1),
    tau ~ C+(0, A) (Terenin, Dong, Draper 2019; Carvalho, Polson, Scott 2010).

    Parameters
    ----------
    X : array-like, SciPy sparse array or data frame, shape (N, p)
        Finite numbers, kept as float32 or float64; the columns of a pandas or Polars frame have their own names.
    y : array-like, shape (N,)
        Two different values, numbers or words; the larger (or later) one counts as 1. Also all 0 or all 1.
    names : sequence of str, optional
        What the columns are called.
    name : str, optional
        What to call the data.
    weights : array-like, shape (N,), optional
        What the log-likelihood of each row is multiplied by, at least 0: how often the row occurs, or how much it
        counts. Rows with weights are sampled by the kernel ``hmc``; means and deviations of ``standardize`` are
        weighted too. Intervals hold if a weight says how often a row occurs.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_array, shape (N, p)
        Read-only; sparse if it was given so.
    y : ndarray of bool, shape (N,)
    weights : ndarray, shape (N,), or None
    names : tuple of str
    classes : tuple
        The two values of y as they were given, the one that counts as 0 first.

    Raises
    ------
    ProblemError
        If the shapes do not fit, a value is not a finite number, or y has not two values.

    Examples
    --------
    >>> import numpy as np, engine
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(50, 2))
    >>> y = X[:, 0] + random.normal(size=50) > 0
    >>> posterior = engine.solve(engine.HorseshoeProbit(X, y, names=["dose", "age"]), draws=200)
    >>> posterior.arrays["beta"].shape  # chains, draws, intercept and coefficients
    (4, 200, 3)
    >>> [row.name for row in posterior.summary if row.survives]
    ['dose']
    """

    kind: ClassVar[str] = "horseshoe_probit"
    family: str = "probit"
    sense: ClassVar[str] = "sample"
    categories: int = 2
    read_options = TargetOption

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        names: Sequence[str] | None = None,
        name: str | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        self.X: Any
        self.X, self.names = _features(X, names)
        self.y: NDArray[Any]
        self.classes: tuple[Any, ...]
        self.y, self.classes = _binary(y, self.X.shape[0])
        self.weights = _weights(weights, self.X.shape[0])
        self.name = name or self._default_name

    @classmethod
    def read(cls, path: str | Path, target: str | int | None = None, *, encode: bool = False) -> Self:
        """Read CSV, TSV, LIBSVM or Parquet; see :func:`engine.formats.tables.read`.

        Parameters
        ----------
        path : path-like
        target : str or int, optional
            Name or number of the target column; by default the one called target, y, label, ..., else the last.
        encode : bool
            Whether text columns become one column of 0 and 1 for each word; they are refused otherwise.

        Raises
        ------
        ProblemError
            If it cannot be read, or breaks a rule of its format or of the problem.
        """
        table = tables.read(path, target, encode)
        with table.located(path):
            return cls(table.X, table.y, table.names, Path(path).stem)

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file is LIBSVM, Parquet, or a CSV or TSV whose header names a target.

        Parameters
        ----------
        path : Path
        head : str
            The beginning of the file.
        """
        return tables.recognize(path, head) is not None

    @property
    def _default_name(self) -> str:
        return f"{self.X.shape[0]} x {self.X.shape[1]}"

    @property
    def _sizes(self) -> str:
        rows, columns = self.X.shape
        return f"{counted(rows, 'row')}, {counted(columns, 'feature')}"

    def describe(self) -> str:
        """One line: the sizes, and how many are 1."""
        share = f"{self.y.mean():.1%} of class {_written(self.classes[1])}"
        return f"{self._title(f'horseshoe {self.family}')}: {self._sizes}, {share}"

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """``X``, ``y``, ``names``, ``classes``, and ``weights`` if there are some."""
        classes = np.array([str(value) for value in self.classes])
        kinds = np.array([type(value).__name__ for value in self.classes])
        return {
            **_feature_arrays(self.X),
            "y": self.y,
            "names": np.array(self.names),
            "classes": classes,
            "kinds": kinds,
            **({} if self.weights is None else {"weights": self.weights}),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`; see :meth:`engine.base.problem.Problem.from_arrays`."""
        problem = cls(_features_of(arrays), arrays["y"], arrays["names"].tolist(), name, arrays.get("weights"))
        problem.classes = _classes_of(arrays)
        return problem


class HorseshoeLogit(HorseshoeProbit):
    """Logistic regression with a horseshoe prior: :class:`HorseshoeProbit` with P(y_i = 1) = 1 / (1 + exp(-margin)).

    It is sampled by the kernels ``hmc`` and ``cg``. Files are not recognised as logistic regressions; use :meth:`read`.

    Examples
    --------
    >>> import numpy as np, engine
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(50, 2))
    >>> y = X[:, 0] + random.normal(size=50) > 0
    >>> posterior = engine.solve(engine.HorseshoeLogit(X, y, names=["dose", "age"]), draws=200)
    >>> [row.name for row in posterior.summary if row.survives]
    ['dose']
    """

    kind: ClassVar[str] = "horseshoe_logit"
    family: str = "logit"

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Never: such files are recognised as :class:`HorseshoeProbit`; see :meth:`HorseshoeProbit.recognizes`."""
        return False


class HorseshoeRegression(HorseshoeProbit):
    """Regression of a number, a count or an ordered category, with a horseshoe prior.

    With the margin m_i = b_0 + x_i . beta and the prior of :class:`HorseshoeProbit`:

    - ``normal``: y_i ~ N(m_i, sigma^2);
    - ``student``: (y_i - m_i) / sigma has Student's t distribution with ``degrees`` (an option) degrees of freedom;
    - ``counts``: y_i is a whole number with a negative binomial distribution of mean exp(m_i) and variance
      exp(m_i) + dispersion exp(2 m_i), dispersion^1/2 ~ C+(0, 1);
    - ``ordinal``: y_i has K ordered values, and P(y_i <= k) = Phi(t_k - m_i), t_1 = 0 < t_2 < ... < t_(K-1);
    - ``probit``, ``logit``: y_i has two values, as :class:`HorseshoeProbit` and :class:`HorseshoeLogit`.

    In linear regressions y is sampled on a scale of mean 0 and variance 1, as the columns are, on which
    tau ~ C+(0, A) and sigma ~ C+(0, 1); results are in the units of y. The logarithms of the differences of thresholds
    are N(0, 2^2). ``probit`` is sampled by all kernels, ``logit`` by ``hmc`` and ``cg``, the others by ``hmc``.

    Parameters
    ----------
    X : array-like, SciPy sparse array or data frame, shape (N, p)
    y : array-like, shape (N,)
        Finite numbers; for ``ordinal`` 2 to 16 different values, numbers or words, in their (alphabetical) order.
    family : {"normal", "student", "ordinal", "counts", "probit", "logit"}
    names : sequence of str, optional
        What the columns are called.
    name : str, optional
        What to call the data.
    weights : array-like, shape (N,), optional
        As for :class:`HorseshoeProbit`.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_array, shape (N, p)
    weights : ndarray, shape (N,), or None
    y : ndarray, shape (N,)
        float64; for ``ordinal`` the numbers of the categories, for ``probit`` and ``logit`` bool.
    names : tuple of str
    classes : tuple
        The different values of y, if it is not a number.
    categories : int

    Raises
    ------
    ProblemError
        If the shapes do not fit, a value is not a finite number, or y is not of the family.

    References
    ----------
    C. M. Carvalho, N. G. Polson, J. G. Scott, "The horseshoe estimator for sparse signals", Biometrika 97 (2010);
    J. H. Albert, S. Chib, "Bayesian analysis of binary and polychotomous response data", JASA 88 (1993).

    Examples
    --------
    >>> import numpy as np, engine
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(50, 2))
    >>> y = 3 * X[:, 0] + random.normal(size=50)
    >>> posterior = engine.solve(engine.HorseshoeRegression(X, y, names=["dose", "age"]), draws=200)
    >>> [row.name for row in posterior.summary if row.survives]
    ['dose']
    """

    kind: ClassVar[str] = "horseshoe_regression"
    read_options = RegressionOptions

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        family: str = "normal",
        names: Sequence[str] | None = None,
        name: str | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        if family not in FAMILIES:
            raise ProblemError(f"family must be one of {', '.join(FAMILIES)}; got {family!r}")
        if family in ("probit", "logit"):
            super().__init__(X, y, names, name, weights)
        else:
            self.X, self.names = _features(X, names)
            read = {"ordinal": _ordered, "counts": _counted}.get(family, _numbers)
            self.y, self.classes = read(y, self.X.shape[0])
            self.categories = len(self.classes)
            self.weights = _weights(weights, self.X.shape[0])
            self.name = name or self._default_name
        self.family = family

    @classmethod
    def read(
        cls, path: str | Path, target: str | int | None = None, family: str = "normal", *, encode: bool = False
    ) -> Self:
        """Read CSV, TSV, LIBSVM or Parquet; see :func:`engine.formats.tables.read`.

        Parameters
        ----------
        path : path-like
        target : str or int, optional
            Name or number of the target column; by default the one called target, y, label, ..., else the last.
        family : str
            See the class.
        encode : bool
            Whether text columns become one column of 0 and 1 for each word; they are refused otherwise.

        Raises
        ------
        ProblemError
            If it cannot be read, or breaks a rule of its format or of the problem.
        """
        table = tables.read(path, target, encode)
        with table.located(path):
            return cls(table.X, table.y, family, table.names, Path(path).stem)

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Never: such files are recognised as :class:`HorseshoeProbit`; see :meth:`HorseshoeProbit.recognizes`."""
        return False

    def describe(self) -> str:
        """One line: the sizes, and what the target is."""
        if self.family in ("probit", "logit"):
            return super().describe()
        target = {"ordinal": f"{self.categories} ordered categories", "counts": "a target of counts"}.get(
            self.family, f"{self.family} errors"
        )
        return f"{self._title('horseshoe regression')}: {self._sizes}, {target}"

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of :class:`HorseshoeProbit`, and ``family``."""
        return {**super().to_arrays(), "family": np.array(self.family)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`; see :meth:`engine.base.problem.Problem.from_arrays`."""
        family, names = str(arrays["family"]), arrays["names"].tolist()
        problem = cls(_features_of(arrays), arrays["y"], family, names, name, arrays.get("weights"))
        problem.classes = _classes_of(arrays)
        return problem


def _written(value: Any) -> str:
    """A class as people write it: a whole number without a point."""
    return f"{value:g}" if isinstance(value, float) else str(value)


_KINDS: dict[str, Callable[[str], Any]] = {"bool": "True".__eq__, "int": int, "float": float}


def _classes_of(arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, ...]:
    """The values of the target as they were given."""
    words, kinds = arrays["classes"].tolist(), arrays["kinds"].tolist()
    return tuple(_KINDS.get(kind, str)(word) for word, kind in zip(words, kinds, strict=True))


def _features(X: Any, names: Sequence[str] | None) -> tuple[Any, tuple[str, ...]]:
    """The features, checked, and their names."""
    if tables.is_frame(X):
        values, found = tables.from_frame(X)
        names = found if names is None else names
    elif is_sparse(X):
        values = _sparse_matrix(X)
    else:
        values = _matrix(X)
    if not is_sparse(values):
        values = frozen(values if values.dtype == np.float32 else values.astype(np.float64))
    if values.ndim != 2 or not min(values.shape):
        raise ProblemError(f"X must have rows and columns; got shape {values.shape}")
    chosen = tuple(f"x{column}" for column in range(values.shape[1])) if names is None else tuple(map(str, names))
    if len(chosen) != values.shape[1]:
        raise ProblemError(f"X has {values.shape[1]} columns, but there are {len(chosen)} names")
    if len(set(chosen)) < len(chosen):
        twice = next(name for name in chosen if chosen.count(name) > 1)
        raise ProblemError(f"two columns are called '{twice}'")
    entries = values.data if is_sparse(values) else values
    if not np.isfinite(entries).all():
        first = np.argwhere(~np.isfinite(entries))[0]
        row, column = first if not is_sparse(values) else _place(values, int(first[0]))
        raise tables.RowError(f"X must be finite; column '{chosen[column]}' has {values[row, column]}", int(row))
    return values, chosen


def _sparse_matrix(X: Any) -> Any:
    """A SciPy array of rows, with its entries in order and none of them 0; read-only."""
    from scipy import sparse

    if X.ndim != 2:
        raise ProblemError(f"X must have rows and columns; got shape {X.shape}")
    if X.dtype.kind not in "biuf":
        raise ProblemError(f"X must hold numbers; got {X.dtype}")
    values = sparse.csr_array(X, dtype=np.float32 if X.dtype == np.float32 else np.float64, copy=True)
    values.sum_duplicates()
    values.eliminate_zeros()
    for array in (values.data, values.indices, values.indptr):
        array.setflags(write=False)
    return values


def _place(X: Any, entry: int) -> tuple[int, int]:
    """Row and column of an entry of a sparse array."""
    return int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry])


def _matrix(X: ArrayLike) -> NDArray[Any]:
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise ProblemError(f"X must be a matrix of numbers: {error}") from error
    if values.dtype.kind not in "biuf":
        try:
            if values.dtype.kind not in "OSU":  # complex numbers would lose their imaginary part, dates be numbers
                raise TypeError
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ProblemError(f"X must hold numbers; got {values.dtype}") from error
    return values


def _feature_arrays(X: Any) -> dict[str, NDArray[Any]]:
    """The features as a run folder keeps them."""
    if not is_sparse(X):
        return {"X": X}
    return {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": np.array(X.shape)}


def _features_of(arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The inverse of :func:`_feature_arrays`."""
    if "X" in arrays:
        return arrays["X"]
    require_arrays(arrays, ("X_data", "X_indices", "X_indptr", "X_shape"), "a regression")
    rows, columns = (int(size) for size in arrays["X_shape"])
    return sparse_rows(arrays["X_data"], arrays["X_indices"], arrays["X_indptr"], (rows, columns), "X")


def _target(y: ArrayLike, rows: int) -> NDArray[Any]:
    """The target, of one value a row and finite."""
    values = np.asarray(y)
    if values.shape != (rows,):
        raise ProblemError(f"y must have one value for each of the {rows} rows of X; got shape {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise tables.RowError(f"y must be finite; got {values[row]}", row)
    if values.dtype.kind == "O":
        kinds = {type(value) for value in values.tolist()}
        if len(kinds) > 1:
            raise ProblemError(f"y mixes {' and '.join(sorted(kind.__name__ for kind in kinds))}")
    return values


def _weights(weights: ArrayLike | None, rows: int) -> NDArray[np.float64] | None:
    """Weights of the rows; None if all are 1."""
    if weights is None:
        return None
    values = np.asarray(weights)
    if values.shape != (rows,) or values.dtype.kind not in "biuf":
        raise ProblemError(f"weights must be a number for each of the {rows} rows; got {values.dtype} {values.shape}")
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    wrong = ~(np.isfinite(narrow) & (values >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise tables.RowError(f"weights must be finite and at least 0; got {values[row]}", row)
    if not narrow.any():
        raise ProblemError("all weights are 0")
    return None if (values == 1).all() else frozen(values.astype(np.float64))


def _numbers(y: ArrayLike, rows: int) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """The target of a linear regression."""
    values = _target(y, rows)
    if values.dtype.kind not in "biuf":
        raise ProblemError(f"y must hold numbers for the families normal and student; got {values.dtype}")
    numbers = values.astype(np.float64)
    if rows > 1 and np.ptp(numbers) == 0:
        raise ProblemError(f"y is {numbers[0]:g} in every row")
    return frozen(numbers), ()


def _counted(y: ArrayLike, rows: int) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """The target of a regression of counts."""
    values = _target(y, rows)
    if values.dtype.kind not in "biuf":
        raise ProblemError(f"y must hold whole numbers for the family counts; got {values.dtype}")
    numbers = values.astype(np.float64)
    wrong = (numbers < 0) | (numbers != np.floor(numbers)) | (numbers > MOST_COUNT)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise tables.RowError(f"y must be whole numbers from 0 to {MOST_COUNT:,}; got {numbers[row]:g}", row)
    if not numbers.any():
        raise ProblemError("y is 0 in every row")
    return frozen(numbers), ()


def _ordered(y: ArrayLike, rows: int) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """The target of an ordinal regression as numbers of categories, and these."""
    found, codes = np.unique(_target(y, rows), return_inverse=True)
    if not 2 <= len(found) <= AUXILIARY:
        raise ProblemError(f"y must have 2 to {AUXILIARY} different values for the family ordinal; it has {len(found)}")
    return frozen(codes.astype(np.float64)), tuple(found.tolist())


def _binary(y: ArrayLike, rows: int) -> tuple[NDArray[np.bool_], tuple[Any, Any]]:
    """The target as booleans, and its two values."""
    values = _target(y, rows)
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
