"""Columns of data frames and of Parquet as numbers."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError

_ADVICE = "make numbers of it first, for example one column of 0 and 1 for each category"


def is_frame(data: object) -> bool:
    """Whether this is a pandas or Polars data frame, without importing either."""
    return hasattr(data, "columns") and hasattr(data, "to_numpy") and hasattr(data, "shape")


def from_frame(frame: Any) -> tuple[NDArray[np.float64], list[str]]:
    """The columns of a pandas or Polars frame as numbers, and their names."""
    names = [str(name) for name in frame.columns]
    columns = [column_numbers(np.asarray(frame[name]), str(name), _ADVICE) for name in frame.columns]
    if not columns:
        raise ProblemError("the data frame has no columns")
    return np.column_stack(columns), names


def column_numbers(values: NDArray[Any], name: str, advice: str, path: Path | None = None) -> NDArray[np.float64]:
    """A column as float64; text is refused by the column's name, with ``advice``."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind in "OUST":
        for row, value in enumerate(values.tolist()):
            if isinstance(value, (str, bytes)):
                raise ProblemError(f"column '{name}' holds text ('{str(value)[:40]}' in row {row}); {advice}", path)
        try:
            return np.array([np.nan if value is None else value for value in values.tolist()], np.float64)
        except (TypeError, ValueError):
            pass
    raise ProblemError(f"column '{name}' holds {values.dtype}, not numbers", path)
