"""Problems whose arrays have one forged element: each extreme value at each place."""

import os
import sys
import warnings

import numpy as np
import scipy.sparse as sp

import engine
from engine.devices import available
from engine.devices.guarded import VARIABLE
from engine.errors import KernelBoundsError, QuintetError
from engine.solvers.boa.fitness.tables import Decomposable, qubo

_RANDOM = np.random.default_rng(5)
_X = _RANDOM.normal(size=(12, 3))
_SPARSE_X = sp.csr_array(_X * (_RANDOM.random(_X.shape) < 0.5))
_SQUARE = _RANDOM.integers(1, 20, (5, 5)) * (1 - np.eye(5, dtype=np.int64))
_TIMES = _RANDOM.integers(1, 20, (3, 5))


def _counts(kind):
    y = {"normal": _X[:, 0], "counts": np.arange(12.0) % 4, "ordinal": np.arange(12) % 3}[kind]
    return engine.HorseshoeRegression(_X, y, family=kind)


PROBLEMS = {
    "knapsack": engine.Knapsack([60, 100, 120, 30], [10, 20, 30, 7], 50),
    "bounded knapsack": engine.Knapsack([60, 100, 120], [10, 20, 30], 50, counts=[2, 1, 3]),
    "multiple choice": engine.MultipleChoiceKnapsack([4, 5, 6, 7], [1, 2, 3, 4], [0, 0, 1, 1], 5),
    "two constraints": engine.MultidimensionalKnapsack([4, 5, 6], [[1, 2, 3], [3, 2, 1]], [4, 4]),
    "flowshop": engine.Flowshop(_TIMES),
    "blocking flowshop": engine.BlockingFlowshop(_TIMES),
    "no-wait flowshop": engine.NoWaitFlowshop(_TIMES),
    "flow time": engine.FlowTime(_TIMES),
    "tardiness": engine.Tardiness([3, 5, 2, 4], [1, 2, 1, 3], [4, 6, 9, 12]),
    "queens": engine.Queens(6),
    "tour": engine.ATSP(_SQUARE),
    "assignment": engine.QuadraticAssignment(_SQUARE, _SQUARE.T),
    "ordering": engine.LinearOrdering(_SQUARE),
    "named bits": engine.BOA("trap-5", 10),
    "hierarchy": engine.BOA("hiff", 8),
    "tables": engine.BOA(qubo(2, [(0, 0, 1.0), (0, 1, -2.0), (1, 1, 3.0)])),
    "clauses": engine.BOA(Decomposable(4, [[0, 1], [2, 3, 1]], [[0, 1, 1, 2], [0, 1, 0, 1, 3, 1, 0, 1]])),
    "probit": engine.HorseshoeProbit(_X, _X[:, 0] > 0),
    "sparse probit": engine.HorseshoeProbit(_SPARSE_X, _X[:, 0] > 0),
    "logit": engine.HorseshoeLogit(_X, np.where(_X[:, 0] > 0, "yes", "no")),
    "normal": _counts("normal"),
    "counts": _counts("counts"),
    "ordinal": _counts("ordinal"),
    "dense program": engine.LinearProgram([-1.0, 4.0], A_ub=[[-3.0, 1.0], [1.0, 2.0]], b_ub=[6.0, 4.0]),
    "sparse program": engine.LinearProgram(
        [-1.0, 4.0, 1.0], A_ub=sp.csr_array([[-3.0, 1.0, 0.0], [1.0, 0.0, 2.0]]), b_ub=[6.0, 4.0], bounds=(0, 9)
    ),
}


def forgeries(name):
    """What was changed in a problem's arrays, and the arrays."""
    arrays = PROBLEMS[name].to_arrays()
    for key, array in arrays.items():
        for what, forged in changed(array, most_places=6):
            yield f"{name}: {key}{what}", arrays | {key: forged}
        yield f"{name}: {key} missing", {other: value for other, value in arrays.items() if other != key}


def changed(array, most_places):
    """Every extreme in some elements and in all, other shapes, orders and types: what was changed, and the array."""
    places = np.unique(np.linspace(0, array.size - 1, most_places).astype(int)) if array.size else []
    for value in extremes(array):
        given = array.astype(f"U{max(len(str(value)), 1)}") if array.dtype.kind == "U" else array
        for place in places:
            forged = given.copy()
            forged.flat[int(place)] = value
            yield f"[{place}] = {value!r}", forged
        yield f"[:] = {value!r}", np.full_like(given, value)
    for forged in (
        (array[:0], array[:-1], array[::-1], array[None], np.append(array, array)) if array.ndim else (array[None],)
    ):
        yield f" of shape {forged.shape}", forged
    if array.ndim > 1:
        yield f" of shape {array[..., :-1].shape}", array[..., :-1]
        yield " twice in its rows", np.concatenate([array, array])
    if array.size > 1:
        yield " all as the first", np.full_like(array, array.flat[0])
        yield " rolled", np.roll(array, 1)
    for kind in ("float64", "float32", "int64", "int32", "uint8", "bool", "U3"):
        if array.dtype.kind != "U" or kind == "U3":
            with np.errstate(invalid="ignore"):
                yield f" of {kind}", array.astype(kind)


def checked():
    """The environment of a process whose kernels are checked, where they can be: on PoCL."""
    on_pocl = any("Portable Computing Language" in info.platform for info in available("opencl")[0][:1])
    return {**os.environ, **({VARIABLE: "1"} if on_pocl else {})}


def _solve_accepted(name):
    """Solve what the constructor accepts, for a moment each; print what is under way, for the case of a crash."""
    with engine.Engine(backend="opencl") as owner:
        for what, arrays in forgeries(name):
            print(what, flush=True)
            try:
                problem = type(PROBLEMS[name]).from_arrays(arrays, "forged")
            except (QuintetError, ValueError, TypeError, KeyError, IndexError, OverflowError):
                continue
            try:
                owner.solve(problem, time_limit=0.2)
            except KernelBoundsError:
                raise
            except QuintetError:
                pass


def extremes(array):
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        return [
            limits.min,
            limits.max,
            *(v for v in (-(10**6), -1, 0, 1, 7, 100, 10**6) if limits.min <= v <= limits.max),
        ]
    if array.dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324, -1.0, 0.5]
    if array.dtype.kind == "b":
        return [True, False]
    return ["", "x" * 1000, "\x1b[0m", "x0"]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _solve_accepted(sys.argv[1])
