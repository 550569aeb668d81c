"""The problem classes: a target and the features it may depend on."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from typing_extensions import override

from ...base.problem import Problem, ReadOptions
from ...errors import ProblemError
from ...formats import plink, tables
from ...formats.instances import located
from ...formats.source import path_of
from ...util.text import counted, share_text
from .data import (
    array_of,
    categories,
    checked_features,
    checked_offset,
    checked_weights,
    column_of,
    counts,
    feature_arrays,
    features_of,
    features_of_formula,
    numbers,
    penalized_mask,
    two_classes,
)
from .families import FAMILIES, FamilyName
from .posterior import Posterior


class TargetOption(ReadOptions):
    """For tables: which column is the target."""

    target: str | None = Field(
        None, description="name or number of the column to predict; by default the one called target, y, label, ..."
    )
    encode: bool = Field(
        False, description="make one column of 0 and 1 for each word of a text column; else such columns are refused"
    )
    weights: str | None = Field(None, description="name of the column with the weights of the rows")
    offset: str | None = Field(None, description="name of the column that is added to the margin of each row")
    unpenalized: str | None = Field(
        None, description="names of columns outside the horseshoe, with a normal prior, separated by commas"
    )
    covariates: str | None = Field(
        None,
        description="beside genotypes of PLINK: a file of numbers for each person, which are outside the horseshoe",
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
    X : array-like, SciPy sparse array or data frame, shape (N, p), or iterator of blocks of rows
        Finite numbers, kept as float32 or float64; the columns of a pandas or Polars frame have their own names. A map
        of a file, ``np.load(path, mmap_mode="r")``, is not copied, nor is a read-only array that is no view of one
        that can be written to; blocks are put into one array of float32.
    y : array-like, shape (N,)
        Two different values, numbers or words; the larger (or later) one counts as 1. Also all 0 or all 1. An ordered
        Categorical of pandas, or an Enum of Polars, has its own order.
    names : sequence of str, optional
        What the columns are called.
    name : str, optional
        What to call the data.
    weights : array-like, shape (N,), optional
        What the log-likelihood of each row is multiplied by, at least 0: how often the row occurs, or how much it
        counts. Rows with weights are sampled by the kernel ``hmc``; means and deviations of ``standardize`` are
        weighted too. Intervals hold if a weight says how often a row occurs.
    offset : array-like, shape (N,), optional
        What is added to the margin of each row, with no coefficient. Sampled by the kernel ``hmc``.
    penalize : array-like of bool, shape (p,), or sequence of str, optional
        Which columns are inside the horseshoe, or their names; the others, such as age and sex beside genes, have
        normal priors of the intercept's scale (the option ``intercept_scale``) on the scale on which columns are
        sampled. Default: all.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_array, shape (N, p)
        Read-only; sparse if it was given so.
    y : ndarray of bool, shape (N,)
    weights, offset : ndarray, shape (N,), or None
    penalized : ndarray of bool, shape (p,), or None
        Which columns are inside the horseshoe; None for all.
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
        offset: ArrayLike | None = None,
        penalize: ArrayLike | Sequence[str] | None = None,
    ) -> None:
        self.X: Any
        values = array_of(y, "y must have one value for each row of X")
        self.X, self.names = checked_features(X, names, values.size)
        self.y: NDArray[Any]
        self.classes: tuple[Any, ...]
        self.y, self.classes = self._target(y if hasattr(y, "dtype") else values)  # a dtype may say an order
        self.weights = checked_weights(weights, self.X.shape[0])
        self.offset = checked_offset(offset, self.X.shape[0])
        self.penalized = penalized_mask(penalize, self.names)
        self.name = name or self._default_name

    def _target(self, y: ArrayLike) -> tuple[NDArray[Any], tuple[Any, ...]]:
        return two_classes(y, self.X.shape[0])

    @classmethod
    def read(
        cls,
        path: str | Path,
        target: str | int | None = None,
        *,
        encode: bool = False,
        weights: str | None = None,
        offset: str | None = None,
        unpenalized: str | None = None,
        covariates: str | Path | None = None,
        **keywords: Any,
    ) -> Self:
        """Read CSV, TSV, LIBSVM, Parquet or genotypes of PLINK (.bed beside .bim and .fam).

        Genotypes are counts of the first allele, a missing one the mean of its variant, with two bits each in memory;
        the target is the phenotype.

        Parameters
        ----------
        path : path-like
        target : str or int, optional
            Name or number of the target column; by default the one called target, y, label, ..., else the last.
        encode : bool
            Whether text columns become one column of 0 and 1 for each word; they are refused otherwise.
        weights, offset : str, optional
            Names of the columns that hold them.
        unpenalized : str, optional
            Names of the columns outside the horseshoe, separated by commas.
        covariates : path-like, optional
            Beside genotypes: a file of PLINK with the header ``FID IID name ...``; outside the horseshoe.
        **keywords
            Others of the class.

        Raises
        ------
        ProblemError
            If it cannot be read, or breaks a rule of its format or of the problem.
        """
        path = path_of(path, "the table")
        if path.suffix.lower() == ".bed":
            of_tables = {"target": target, "weights": weights, "offset": offset, "unpenalized": unpenalized}
            for name in [name for name, value in of_tables.items() if value is not None] + ["encode"] * encode:
                raise ProblemError(f"{name} is for tables; genotypes take their columns from covariates", path)
            X, names, y = plink.read(path, covariates)
            inside = np.arange(len(names)) >= X.columns.shape[1]
            with located(path):
                return cls(X, y, names=names, name=path.stem, penalize=inside, **keywords)
        if covariates is not None:
            raise ProblemError("covariates are read beside genotypes (.bed) only; a table holds its own columns", path)
        table = tables.read(path, target, encode)
        with table.located(path):
            own = {"weights": weights, "offset": offset}
            rest, found = table.without([column for column in own.values() if column is not None])
            given: dict[str, Any] = {name: found[column] for name, column in own.items() if column is not None}
            if unpenalized is not None:
                given["penalize"] = tables.others(rest.names, [name.strip() for name in unpenalized.split(",")])
            return cls(rest.X, rest.y, names=rest.names, name=path.stem, **given, **keywords)

    @classmethod
    def from_formula(cls, formula: str, data: Any, **keywords: Any) -> Self:
        """The regression of a formula such as ``"y ~ dose + C(clinic)"`` on the columns of a data frame.

        Parameters
        ----------
        formula : str
            As for formulaic, with one target; the intercept is the option of that name.
        data : pandas.DataFrame
        **keywords
            Parameters of the class; ``weights`` and ``offset`` may be names of columns, and ``penalize`` has the names
            of coefficients, as ``"C(clinic)[T.north]"``.

        Raises
        ------
        ProblemError
            If a term is not a column or has missing values, or the rest is no regression.
        """
        y, X, names = features_of_formula(formula, data)
        for name in ("weights", "offset"):
            if isinstance(keywords.get(name), str):
                keywords[name] = column_of(data, keywords[name], name)
        return cls(X, y, names=names, **keywords)

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file is BED, LIBSVM, Parquet, or a CSV or TSV whose header names a target; for the probit only.

        Parameters
        ----------
        path : Path
        head : str
            The beginning of the file.
        """
        return cls is HorseshoeProbit and (plink.is_bed(path, head) or tables.recognize(path, head) is not None)

    @property
    def _default_name(self) -> str:
        return f"{self.X.shape[0]} x {self.X.shape[1]}"

    @property
    def _sizes(self) -> str:
        rows, columns = self.X.shape
        return f"{counted(rows, 'row')}, {counted(columns, 'feature')}"

    def describe(self) -> str:
        """One line: the sizes, and how many are 1."""
        share = f"{share_text(float(self.y.mean()))} of class {_written(self.classes[1])}"
        return f"{self._title(f'horseshoe {self.family}')}: {self._sizes}, {share}"

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """``X``, ``y``, ``names``, ``classes``, and ``weights``, ``offset`` and ``penalized`` if there are some."""
        classes = np.array([str(value) for value in self.classes])
        kinds = np.array([type(value).__name__ for value in self.classes])
        some = {"weights": self.weights, "offset": self.offset, "penalized": self.penalized}
        return {
            **feature_arrays(self.X),
            "y": self.y,
            "names": np.array(self.names),
            "classes": classes,
            "kinds": kinds,
            **{name: values for name, values in some.items() if values is not None},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`; see :meth:`engine.base.problem.Problem.from_arrays`."""
        own = {"family": str(arrays["family"])} if "family" in arrays else {}
        some = {"weights": "weights", "offset": "offset", "penalize": "penalized"}
        given = {keyword: arrays.get(array) for keyword, array in some.items()}
        problem = cls(features_of(arrays), arrays["y"], names=arrays["names"].tolist(), name=name, **own, **given)
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
        Finite numbers; for ``ordinal`` 2 to 16 different values, numbers or words, in their (alphabetical) order, or
        in that of an ordered Categorical of pandas or an Enum of Polars.
    family : {"normal", "student", "ordinal", "counts", "probit", "logit"}
    names : sequence of str, optional
        What the columns are called.
    name : str, optional
        What to call the data.
    weights, offset, penalize : optional
        As for :class:`HorseshoeProbit`; in linear regressions the offset is subtracted from y.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_array, shape (N, p)
    weights, offset : ndarray, shape (N,), or None
    penalized : ndarray of bool, shape (p,), or None
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
        offset: ArrayLike | None = None,
        penalize: ArrayLike | Sequence[str] | None = None,
    ) -> None:
        if not isinstance(family, str) or family not in FAMILIES:
            raise ProblemError(f"family must be one of {', '.join(FAMILIES)}; got {family!r}")
        self.family = family
        super().__init__(X, y, names, name, weights, offset, penalize)
        if family not in ("probit", "logit"):
            self.categories = len(self.classes)

    @override
    def _target(self, y: ArrayLike) -> tuple[NDArray[Any], tuple[Any, ...]]:
        check = {"ordinal": categories, "counts": counts, "probit": two_classes, "logit": two_classes}
        return check.get(self.family, numbers)(y, self.X.shape[0])

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


def _written(value: Any) -> str:
    """A class as people write it: a whole number without a point."""
    return f"{value:g}" if isinstance(value, float) else str(value)


_KINDS: dict[str, Callable[[str], Any]] = {"bool": "True".__eq__, "int": int, "float": float}


def _classes_of(arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, ...]:
    words, kinds = arrays["classes"].tolist(), arrays["kinds"].tolist()
    return tuple(_KINDS.get(kind, str)(word) for word, kind in zip(words, kinds, strict=True))
