"""Linear programs as HiGHS takes them, and the scaling of badly scaled ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem import LinearProgram, sp

Vector = NDArray[np.float64]
Model = dict[str, Any]
_SMALL_ENTRY, _LARGE_ENTRY = 1e-8, 1e10  # of a matrix that HiGHS gets as it is
_LEAST_ENTRY = 2e-12  # HiGHS drops entries below 1e-12,
_SCALED_ENTRY = 1e6  # so that a row's largest may become this
_ALL_TINY, _ALL_HUGE = 1e-2, 1e5  # bounds, or costs, that are all below or above are scaled


def model_of(problem: LinearProgram) -> Model:
    """The program as a minimization, in the form of :mod:`engine.solvers.linprog.highs.child`."""
    sign = -1.0 if problem.maximize else 1.0
    columns = sp.csc_array(problem.A)
    if not isinstance(problem.A, sp.csr_array):
        columns.sort_indices()  # those of a matrix by rows are in order
    return {
        "c": sign * problem.c,
        "lower": problem.lower,
        "upper": problem.upper,
        "row_lower": problem.row_lower,
        "row_upper": problem.row_upper,
        "starts": columns.indptr,
        "rows": columns.indices,
        "values": columns.data,
        "offset": sign * problem.offset,
    }


def program_of(model: Model, name: str) -> LinearProgram:
    """The inverse of :func:`model_of`, with a sparse matrix."""
    shape = (model["row_lower"].size, model["c"].size)
    columns = sp.csc_array((model["values"], model["rows"], model["starts"]), shape=shape)
    rows = sp.csr_array(columns)
    names = ("c", "lower", "upper", "row_lower", "row_upper")
    arrays = {key: model[key] for key in names} | {"offset": np.array(model["offset"])}
    return LinearProgram.from_arrays(arrays | {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}, name)


class Scaling:
    """Powers of two that bring a badly scaled model into the range that HiGHS's absolute tolerances are made for.

    Rows are scaled by their largest entries where some entry is tiny or huge, but none below what HiGHS drops (1e-12)
    unless the largest is 1e18 times as large; bounds and costs where all of them are. Other models are left as they
    are. Columns are not scaled: that would move their costs to other sizes. A value of the program is ``x / bound``, a
    row's dual ``row * y / cost``, for x and y of the scaled model.
    """

    def __init__(self, model: Model) -> None:
        self.row = np.ones(model["row_lower"].size)
        sizes = np.abs(model["values"])
        if sizes.size and (sizes.min() < _SMALL_ENTRY or sizes.max() > _LARGE_ENTRY):
            largest, smallest = np.zeros(self.row.size), np.full(self.row.size, np.inf)
            np.maximum.at(largest, model["rows"], sizes)
            np.minimum.at(smallest, model["rows"][sizes > 0.0], sizes[sizes > 0.0])
            largest = np.where(largest > 0.0, largest, 1.0)
            size = np.clip(_LEAST_ENTRY * largest / smallest, 1.0, _SCALED_ENTRY)  # of the largest entry
            self.row = np.exp2(np.round(np.log2(size / largest)))
        sides = (self.row * model["row_lower"], self.row * model["row_upper"])
        self.bound = _power_of_two(np.concatenate([*sides, model["lower"], model["upper"]]))
        self.cost = _power_of_two(model["c"])

    @property
    def changes(self) -> bool:
        """Whether anything is scaled."""
        return not (self.bound == self.cost == 1.0 and bool((self.row == 1.0).all()))

    def scaled(self, model: Model) -> Model:
        """The scaled model."""
        if not self.changes:
            return model
        return model | {
            "c": self.cost * model["c"],
            "lower": self.bound * model["lower"],
            "upper": self.bound * model["upper"],
            "row_lower": self.bound * self.row * model["row_lower"],
            "row_upper": self.bound * self.row * model["row_upper"],
            "values": model["values"] * self.row[model["rows"]],
            "offset": self.bound * self.cost * model["offset"],
        }

    def back(self, found: dict[str, Any]) -> dict[str, Any]:
        """Points and rays of the scaled model as those of the program."""
        out = dict(found)
        for name, factor in (("x", 1.0 / self.bound), ("row_duals", self.row / self.cost), ("farkas", self.row)):
            if name in out:
                out[name] = out[name] * factor
        return out


def scaled_model(problem: LinearProgram) -> tuple[Scaling, Model]:
    """The model that HiGHS gets, and the way back."""
    model = model_of(problem)
    scaling = Scaling(model)
    return scaling, scaling.scaled(model)


def _power_of_two(values: Vector) -> float:
    """The factor for numbers all tiny or all huge; else 1: scaled down, others would fall below HiGHS's tolerances."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
    if not sizes.size:
        return 1.0
    size = float(sizes.max()) if sizes.max() < _ALL_TINY else float(sizes.min()) if sizes.min() > _ALL_HUGE else 1.0
    return float(np.exp2(-np.round(np.log2(size))))
