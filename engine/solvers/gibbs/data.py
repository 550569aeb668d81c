"""What users give a regression, checked: features, target, weights, offset, and which columns are penalized."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.problem import frozen, require_arrays, sparse_rows
from ...base.result import missing_package
from ...errors import ProblemError
from ...formats import frames, plink, tables
from .design.features import is_sparse
from .families import AUXILIARY

__all__ = [
    *("array_of", "categories", "checked_features", "checked_offset", "checked_weights", "column_of", "counts"),
    *("feature_arrays", "features_of", "features_of_formula", "numbers", "penalized_mask", "two_classes"),
]

MOST_COUNT = 1_000_000
"""The largest count; margins are in float32, which bounds the precision of the mean to about 1e-6."""

_LARGEST_OFFSET = 1e6
_VALUES_AT_ONCE = 1 << 20


def checked_features(X: Any, names: Sequence[str] | None, rows: int) -> tuple[Any, tuple[str, ...]]:
    """The features, checked, and their names; ``rows`` are those of blocks one after the other."""
    values: Any
    if frames.is_frame(X):
        values, found = frames.from_frame(X)
        values, names = frozen(values), found if names is None else names
    elif is_sparse(X):
        values = _sparse_matrix(X)
    elif isinstance(X, plink.Genotypes) or _is_map(X):
        values = X
    elif isinstance(X, Iterator):
        values = _stacked(X, rows)
    else:
        values = _matrix(X)
        values = frozen(values if values.dtype == np.float32 else values.astype(np.float64, copy=False))
    if values.ndim != 2 or not min(values.shape):
        raise ProblemError(f"X must have rows and columns; got shape {values.shape}")
    if isinstance(names, str | bytes) or not isinstance(names, Iterable | None) or getattr(names, "ndim", 1) != 1:
        raise ProblemError(f"names must be a list with a name for each of the {values.shape[1]} columns; got {names!r}")
    chosen = tuple(f"x{column}" for column in range(values.shape[1])) if names is None else tuple(map(str, names))
    if len(chosen) != values.shape[1]:
        raise ProblemError(f"X has {values.shape[1]} columns, but there are {len(chosen)} names")
    if len(set(chosen)) < len(chosen):
        twice = next(name for name in chosen if chosen.count(name) > 1)
        raise ProblemError(f"two columns are called '{twice}'")
    if not isinstance(values, plink.Genotypes):
        _require_finite(values, chosen)
    return values, chosen


def _require_finite(X: Any, names: Sequence[str]) -> None:
    entries: Any = X.data if is_sparse(X) else X
    step = max(1, _VALUES_AT_ONCE // (1 if is_sparse(X) else X.shape[1]))
    parts = (slice(begin, begin + step) for begin in range(0, len(entries), step))

    def first_wrong(part: slice) -> NDArray[np.int64] | None:
        finite = np.isfinite(entries[part])
        return None if finite.all() else np.argwhere(~finite)[0] + np.eye(finite.ndim, dtype=int)[0] * part.start

    found: Iterator[NDArray[np.int64] | None] = map(first_wrong, parts)
    if entries.size > _VALUES_AT_ONCE:
        from ...numerics.threads import in_order  # brings the devices, which a small problem does not need

        found = in_order(first_wrong, parts)
    for place in found:
        if place is not None:
            row, column = place if not is_sparse(X) else _place(X, int(place[0]))
            raise tables.RowError(f"X must be finite; column '{names[column]}' has {X[row, column]}", int(row))


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
    return int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry])


def _is_map(X: Any) -> bool:
    """Whether X is a map of a file of floats, read-only here, which is taken without a copy."""
    is_read = isinstance(X, np.memmap) and not X.flags.writeable and X.flags.c_contiguous
    return bool(is_read) and X.dtype in (np.float32, np.float64)


def _stacked(blocks: Iterator[Any], rows: int) -> NDArray[np.float32]:
    """Rows that come block by block, in one array of float32."""
    X, at = np.empty((rows, 0), np.float32), 0
    for number, block in enumerate(blocks):
        part = _matrix(block)
        if part.ndim != 2 or (number and part.shape[1] != X.shape[1]):
            raise ProblemError(f"block {number} of X has shape {part.shape}; those before have {X.shape[1]} columns")
        if not number:
            X = np.empty((rows, part.shape[1]), np.float32)
        if at + len(part) > rows:
            raise ProblemError(f"the blocks of X have more than the {rows} rows of y")
        X[at : at + len(part)] = part
        at += len(part)
    if at < rows:
        raise ProblemError(f"the blocks of X have {at} rows, y has {rows}")
    X.setflags(write=False)
    return X


def array_of(given: Any, rule: str) -> NDArray[Any]:
    """What was given, as an array; the rule names it."""
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise ProblemError(f"{rule}; got lists of several lengths") from error
    if hasattr(given, "mask") and np.ma.is_masked(given):  # asked for last: NumPy imports its module then
        raise ProblemError(f"{rule}; got masked values")
    return values


def _matrix(X: ArrayLike) -> NDArray[Any]:
    values = array_of(X, "X must be a matrix of numbers")
    if values.dtype.kind not in "biuf":
        try:
            if values.dtype.kind not in "OSU":  # complex numbers would lose their imaginary part, dates be numbers
                raise TypeError
            values = values.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            why = f": {error}" if str(error) else ""
            raise ProblemError(f"X must hold numbers; got {values.dtype}{why}") from error
    return values


def feature_arrays(X: Any) -> dict[str, NDArray[Any]]:
    """The features as a run folder keeps them."""
    if isinstance(X, plink.Genotypes):
        return {"X_codes": X.codes, "X_means": X.means, "X_columns": X.columns}
    if not is_sparse(X):
        return {"X": X}
    return {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": np.array(X.shape)}


def features_of(arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The inverse of :func:`feature_arrays`."""
    if "X" in arrays:
        return arrays["X"]
    if "X_codes" in arrays:
        require_arrays(arrays, ("X_codes", "X_means", "X_columns"), "genotypes")
        codes, means, others = arrays["X_codes"], arrays["X_means"], arrays["X_columns"]
        if codes.dtype != np.uint8 or codes.shape != (len(means), -(-len(others) // 4)) or others.ndim != 2:
            raise ProblemError(f"genotypes of {len(others)} people and {len(means)} variants do not have these shapes")
        return plink.Genotypes(codes, means, others)
    require_arrays(arrays, ("X_data", "X_indices", "X_indptr", "X_shape"), "a regression")
    rows, columns = (int(size) for size in arrays["X_shape"])
    return sparse_rows(arrays["X_data"], arrays["X_indices"], arrays["X_indptr"], (rows, columns), "X")


def _target(y: ArrayLike, rows: int) -> NDArray[Any]:
    values = np.asarray(y)
    if values.shape != (rows,):
        raise ProblemError(f"y must have one value for each of the {rows} rows of X; got shape {values.shape}")
    if values.dtype.kind == "f":
        _refuse(~np.isfinite(values), values, "y must be finite; got {}")
    if values.dtype.kind == "O":
        kinds = {type(value) for value in values.tolist()}
        if len(kinds) > 1:
            raise ProblemError(f"y mixes {' and '.join(sorted(kind.__name__ for kind in kinds))}")
        try:
            values.argsort()
        except TypeError as error:
            raise ProblemError(f"y must hold numbers or words; got {kinds.pop().__name__}") from error
    return values


def _of_rows(given: ArrayLike, rows: int, name: str) -> NDArray[Any]:
    rule = f"{name} must be a number for each of the {rows} rows"
    values = array_of(given, rule)
    if values.shape != (rows,) or values.dtype.kind not in "biuf":
        raise ProblemError(f"{rule}; got {values.dtype} {values.shape}")
    return values


def _refuse(wrong: NDArray[np.bool_], values: NDArray[Any], rule: str) -> None:
    """Name the first row that is wrong."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise tables.RowError(rule.format(values[row]), row)


def checked_weights(weights: ArrayLike | None, rows: int) -> NDArray[np.float64] | None:
    """Weights of the rows; None if all are 1."""
    if weights is None:
        return None
    values = _of_rows(weights, rows, "weights")
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    _refuse(~(np.isfinite(narrow) & (values >= 0)), values, "weights must be finite and at least 0; got {}")
    if not narrow.any():
        raise ProblemError("all weights are 0")
    return None if (values == 1).all() else frozen(values.astype(np.float64))


def checked_offset(offset: ArrayLike | None, rows: int) -> NDArray[np.float64] | None:
    """What is added to the margin of each row; None if all are 0."""
    if offset is None:
        return None
    values = _of_rows(offset, rows, "offset")
    rule = f"offset must be finite and at most {_LARGEST_OFFSET:g} in size; got {{}}"
    _refuse(~(np.abs(values) <= _LARGEST_OFFSET), values, rule)
    return frozen(values.astype(np.float64)) if values.any() else None


def penalized_mask(penalize: Any, names: Sequence[str]) -> NDArray[np.bool_] | None:
    """Whether each column is inside the horseshoe, from such a mask or from names; None if all are."""
    if penalize is None:
        return None
    rule = "penalize must be a mask of the columns, True or False for each, or a list of their names"
    values = array_of(penalize, rule)
    if values.dtype.kind == "b":
        if values.shape != (len(names),):
            raise ProblemError(
                f"penalize must have True or False for each of the {len(names)} columns; got shape {values.shape}"
            )
        mask = values
    elif isinstance(penalize, str) or values.ndim != 1 or values.dtype.kind not in "UO":
        raise ProblemError(rule)
    else:
        chosen = [str(name) for name in values.tolist()]
        unknown = [name for name in chosen if name not in set(names)]
        if unknown:
            raise ProblemError(f"penalize names '{unknown[0]}', which is not a column (columns: {_some(names)})")
        mask = np.isin(np.array(names), chosen)
    if not mask.any():
        raise ProblemError("penalize leaves no column inside the horseshoe; one at least must be penalized")
    return None if mask.all() else frozen(mask)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def numbers(y: ArrayLike, rows: int) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """The target of a linear regression."""
    values = _target(y, rows)
    if values.dtype.kind not in "biuf":
        raise ProblemError(f"y must hold numbers for the families normal and student; got {values.dtype}")
    found = values.astype(np.float64)
    if rows > 1 and np.ptp(found) == 0:
        raise ProblemError(f"y is {found[0]:g} in every row")
    return frozen(found), ()


def counts(y: ArrayLike, rows: int) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """The target of a regression of counts."""
    values = _target(y, rows)
    if values.dtype.kind not in "biuf":
        raise ProblemError(f"y must hold whole numbers for the family counts; got {values.dtype}")
    numbers = values.astype(np.float64)
    wrong = (numbers < 0) | (numbers != np.floor(numbers)) | (numbers > MOST_COUNT)
    _refuse(wrong, numbers, f"y must be whole numbers from 0 to {MOST_COUNT:,}; got {{:g}}")
    if not numbers.any():
        raise ProblemError("y is 0 in every row")
    return frozen(numbers), ()


def _levels(y: Any) -> list[Any] | None:
    """The categories of an ordered Categorical of pandas or an Enum of Polars, in their order."""
    dtype: Any = getattr(y, "dtype", None)
    ordered = getattr(dtype, "ordered", type(dtype).__name__ == "Enum")
    return np.asarray(dtype.categories).tolist() if ordered else None


def _distinct(y: Any, rows: int) -> tuple[list[Any], NDArray[np.int64]]:
    """The different values of a target, sorted or in the order that it declares, and the place of each row's."""
    found, codes = np.unique(_target(y, rows), return_inverse=True)
    levels = _levels(y)
    if levels is None:
        return found.tolist(), codes
    order = np.argsort([levels.index(value) for value in found.tolist()])
    return found[order].tolist(), np.argsort(order)[codes]


def categories(y: ArrayLike, rows: int) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """The target of an ordinal regression as numbers of categories, and these."""
    found, codes = _distinct(y, rows)
    if not 2 <= len(found) <= AUXILIARY:
        raise ProblemError(f"y must have 2 to {AUXILIARY} different values for the family ordinal; it has {len(found)}")
    return frozen(codes.astype(np.float64)), tuple(found)


def two_classes(y: ArrayLike, rows: int) -> tuple[NDArray[np.bool_], tuple[Any, Any]]:
    """The target as booleans, and its two values."""
    classes, codes = _distinct(y, rows)
    if len(classes) == 1:
        one = classes[0]
        if one not in (0, 1, -1):
            raise ProblemError(f"y has one value only, {one!r}; write it as 0 or 1 to say which it is")
        classes, codes = ([0, 1] if one != -1 else [-1, 1]), codes + int(one == 1)
    if len(classes) != 2:
        some = ", ".join(map(repr, classes[:5]))
        raise ProblemError(
            f"y must have two different values; it has {len(classes)}: {some}{', ...' * (len(classes) > 5)}; "
            "HorseshoeRegression has families for more"
        )
    return frozen(codes == 1), (classes[0], classes[1])


# --- formulas ---------------------------------------------------------------------------------------------------------


def features_of_formula(formula: str, data: Any) -> tuple[Any, NDArray[np.float64], list[str]]:
    """Target, features without the intercept, and the names of their columns, as formulaic has them."""
    try:
        import formulaic
        from formulaic.errors import FormulaicError
    except ImportError as error:
        raise missing_package("from_formula", "formulaic") from error
    if not isinstance(formula, str) or not frames.is_frame(data):
        raise ProblemError(f"a formula is text, of a data frame; got {type(formula).__name__}, {type(data).__name__}")
    target, tilde, terms = formula.partition("~")
    if not tilde or "~" in terms or not target.strip() or not terms.strip():
        raise ProblemError(f"a formula has a target and terms, as 'y ~ a + b'; got {formula!r}")
    try:
        features = formulaic.model_matrix(terms, data, na_action="raise", context={})
        if target.strip() in data.columns:
            y = data[target.strip()]
            y = column_of(data, target.strip(), "the target") if _levels(y) is None else y
        else:
            left = formulaic.model_matrix(f"0 + {target}", data, na_action="raise", context={})
            if left.shape[1] != 1:
                raise ProblemError(f"the target of the formula has {left.shape[1]} columns, {', '.join(left.columns)}")
            y = left.iloc[:, 0].to_numpy()
    except (FormulaicError, ValueError, SyntaxError) as error:
        if isinstance(error, ProblemError):
            raise
        shown = ", ".join(str(name) for name in list(data.columns)[:20])
        raise ProblemError(f"the formula {formula!r} does not fit the columns {shown}: {error}") from error
    if "Intercept" not in features.columns:
        advice = "write it with one, and use the option intercept = false"
        raise ProblemError(f"the formula leaves the intercept out; {advice}")
    features = features.drop(columns="Intercept")
    return y, features.to_numpy(np.float64), [str(name) for name in features.columns]


def column_of(data: Any, name: str, what: str) -> NDArray[Any]:
    """A column of a data frame."""
    if name not in data.columns:
        raise ProblemError(f"{what}: there is no column '{name}'")
    values = data[name]
    return np.asarray(values.astype(object) if values.dtype.kind not in "biuf" else values)
