"""Regression formulas, as formulaic has them, on the columns of a data frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.result import missing_package
from ...errors import ProblemError

__all__ = ["column", "read"]


def read(formula: str, data: Any) -> tuple[NDArray[Any], NDArray[np.float64], list[str]]:
    """Target, features without the intercept, and the names of their columns."""
    try:
        import formulaic
        from formulaic.errors import FormulaicError
    except ImportError as error:
        raise missing_package("from_formula", "formulaic") from error
    target, tilde, terms = formula.partition("~")
    if not tilde or "~" in terms or not target.strip() or not terms.strip():
        raise ProblemError(f"a formula has a target and terms, as 'y ~ a + b'; got {formula!r}")
    try:
        features = formulaic.model_matrix(terms, data, na_action="raise", context={})
        if target.strip() in data.columns:
            y = column(data, target.strip(), "the target")
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


def column(data: Any, name: str, what: str) -> NDArray[Any]:
    """A column of a data frame."""
    if name not in data.columns:
        raise ProblemError(f"{what}: there is no column '{name}'")
    values = data[name]
    return np.asarray(values.astype(object) if values.dtype.kind not in "biuf" else values)
