"""What the preview of a problem shows: sizes, and the data of its pictures; made on another thread."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.problem import Problem
from engine.solvers import solver_for
from engine.util.text import share_text, value_text
from gui.pictures.board import queens_placement

Floats = NDArray[np.float64]
_MOST_CELLS, _MOST_POINTS, _MOST_FEATURES = 400, 5000, 2000


@dataclass(frozen=True)
class HeatMap:
    """A matrix to be shown as an image; ``unit`` says what its values are."""

    title: str
    unit: str
    matrix: Floats
    across: str
    down: str


@dataclass(frozen=True)
class Points:
    """Points to be shown in the plane."""

    title: str
    unit: str
    x: Floats
    y: Floats
    x_title: str
    y_title: str


@dataclass(frozen=True)
class Shares:
    """Shares of a whole, from 0 to 1, by name."""

    title: str
    values: dict[str, float]


@dataclass(frozen=True)
class Rows:
    """A table."""

    title: str
    unit: str
    headers: list[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Placement:
    """Queens on a board, by the columns of their rows."""

    columns: list[int]


@dataclass(frozen=True)
class PreviewData:
    """What a preview shows: names and values of the sizes, figures; ``estimates`` if the solver estimates the work."""

    title: str
    description: str
    numbers: list[tuple[str, str]] = field(default_factory=list)
    figures: list[HeatMap | Points | Shares | Rows | Placement] = field(default_factory=list)
    estimates: bool = False


def preview_data(problem: Problem) -> PreviewData:
    """Sizes and pictures of a problem; a problem without pictures of its own has its description only."""
    data = PreviewData(problem.name, problem.describe(), estimates=solver_for(problem).estimate is not None)
    make = _MAKERS.get(type(problem).__name__)
    if make is not None:
        make(problem, data)
    best = getattr(problem, "optimum", None)
    if isinstance(best, (int, float)) and math.isfinite(best):
        data.numbers.append(("Known optimum", value_text(best)))
    return data


def _blocks(matrix: NDArray[Any]) -> Floats:
    """Means over blocks, so that neither side has more than 400."""
    rows, columns = (max(1, -(-size // _MOST_CELLS)) for size in matrix.shape)
    if rows == columns == 1:
        return np.asarray(matrix, float)
    summed = np.add.reduceat(np.asarray(matrix, float), np.arange(0, matrix.shape[0], rows), axis=0)
    summed = np.add.reduceat(summed, np.arange(0, matrix.shape[1], columns), axis=1)
    heights = np.diff(np.append(np.arange(0, matrix.shape[0], rows), matrix.shape[0]))
    widths = np.diff(np.append(np.arange(0, matrix.shape[1], columns), matrix.shape[1]))
    return np.asarray(summed / (heights[:, None] * widths))


def _flowshop(problem: Any, data: PreviewData) -> None:
    machines, jobs = problem.times.shape
    data.numbers.extend(
        [("Jobs", value_text(jobs)), ("Machines", value_text(machines)), *_range("Processing time", problem.times)]
    )
    data.figures.append(HeatMap("Processing times", "time units", _blocks(problem.times), "job", "machine"))


def _atsp(problem: Any, data: PreviewData) -> None:
    off = ~np.eye(len(problem.costs), dtype=bool)
    data.numbers.extend([("Cities", value_text(len(problem.costs))), *_range("Cost", problem.costs[off])])
    costs = np.where(off, problem.costs, 0)
    data.figures.append(HeatMap("Cost matrix", "cost", _blocks(costs), "to city", "from city"))


def _queens(problem: Any, data: PreviewData) -> None:
    data.numbers.append(("Board", f"{problem.n} × {problem.n}"))
    columns = queens_placement(problem.n)
    if columns is not None:
        data.figures.append(Placement(columns))


def _knapsack(problem: Any, data: PreviewData) -> None:
    total = int(problem.weights.sum())
    share = share_text(problem.capacity / total) if total else "–"
    data.numbers.extend(
        [
            ("Items", value_text(problem.n)),
            ("Capacity", value_text(problem.capacity)),
            ("Capacity of the sum of weights", share),
        ]
    )
    if hasattr(problem, "class_count"):
        data.numbers.append(("Classes", value_text(problem.class_count)))
    _items(problem, problem.weights, data)


def _multidimensional(problem: Any, data: PreviewData) -> None:
    capacities = " and ".join(value_text(capacity) for capacity in problem.capacities)
    data.numbers.extend([("Items", value_text(problem.n)), ("Capacities", capacities)])
    _items(problem, problem.weights[0], data)


def _items(problem: Any, weights: NDArray[np.int64], data: PreviewData) -> None:
    """Ranges and pictures of the items; of two constraints, those of the first."""
    profits = problem.profits if problem.scale == 1 else problem.profits / problem.scale
    data.numbers.extend([*_range("Weight", weights), *_range("Profit", profits)])
    step = max(1, -(-problem.n // _MOST_POINTS))
    shown = "items" if step == 1 else f"one in {step} of {value_text(problem.n)} items"
    x, y = weights[::step].astype(float), profits[::step].astype(float)
    data.figures.append(Points("Profits against weights", shown, x, y, "weight", "profit"))
    efficiency = np.sort(profits / np.maximum(weights, 1))[::-1][::step]
    rank = np.arange(0, problem.n, step, dtype=float)
    data.figures.append(Points("Profit per weight", "sorted", rank, efficiency, "item, by rank", "profit / weight"))


def _regression(problem: Any, data: PreviewData) -> None:
    rows, features = problem.X.shape
    data.numbers.extend([("Observations", value_text(rows)), ("Features", value_text(features))])
    if hasattr(problem.X, "nnz"):
        data.numbers.append(("Density", share_text(problem.X.nnz / max(1, rows * features))))
    data.figures.append(_target(problem))
    shown = min(features, _MOST_FEATURES)
    parts = (part.astype(float).tolist() for part in _moments(problem.X[:, :shown]))
    table = zip(problem.names[:shown], *parts, strict=True)
    unit = value_text(features) if shown == features else f"the first {value_text(shown)} of {value_text(features)}"
    data.figures.append(Rows("Features", unit, ["feature", "mean", "sd", "min", "max"], list(table)))


def _target(problem: Any) -> Points | Shares:
    """The target of a regression: shares of its classes, or its values in order."""
    y = np.asarray(problem.y)
    if y.dtype == bool:
        positive = float(np.mean(y))
        return Shares("Class balance", {"y = 1": positive, "y = 0": 1 - positive})
    if problem.family == "ordinal":
        counts = np.bincount(y.astype(np.int64), minlength=problem.categories) / len(y)
        return Shares("Categories", {f"y = {k}": n for k, n in zip(problem.classes, counts.tolist(), strict=True)})
    step = max(1, -(-len(y) // _MOST_POINTS))
    rank = np.arange(0, len(y), step, dtype=float)
    return Points("Target", "sorted", rank, np.sort(y.astype(float))[::step], "observation, by rank", "y")


def _moments(columns: Any) -> list[Floats]:
    """Mean, standard deviation, least and largest value of every column of an array, sparse or not."""
    if not hasattr(columns, "nnz"):
        parts = [columns[:, begin : begin + 8] for begin in range(0, columns.shape[1], 8)]  # `std` copies what it is of
        deviations = np.concatenate([part.std(axis=0, dtype=float) for part in parts])
        return [columns.mean(axis=0, dtype=float), deviations, columns.min(axis=0), columns.max(axis=0)]
    mean = np.asarray(columns.mean(axis=0, dtype=float)).ravel()
    square = np.asarray(columns.multiply(columns).mean(axis=0, dtype=float)).ravel()
    ends = [np.asarray(end.toarray()).ravel() for end in (columns.min(axis=0), columns.max(axis=0))]
    return [mean, np.sqrt(np.maximum(square - mean**2, 0.0)), *ends]


def _assignment(problem: Any, data: PreviewData) -> None:
    n = len(problem.flows)
    data.numbers.extend([("Facilities", value_text(n)), *_range("Flow", problem.flows)])
    data.numbers.extend(_range("Distance", problem.distances))
    data.figures.append(HeatMap("Flows", "flow", _blocks(problem.flows), "to facility", "from facility"))
    data.figures.append(HeatMap("Distances", "distance", _blocks(problem.distances), "to location", "from location"))


def _tardiness(problem: Any, data: PreviewData) -> None:
    data.numbers.append(("Jobs", value_text(problem.jobs)))
    for name, values in (("Processing time", problem.times), ("Weight", problem.weights), ("Due date", problem.due)):
        data.numbers.extend(_range(name, values))
    times, due = problem.times.astype(float), problem.due.astype(float)
    data.figures.append(Points("Due dates", "of the jobs", times, due, "processing time", "due date"))
    order = np.argsort(due, kind="stable")
    rank = np.arange(len(order), dtype=float)
    late = np.cumsum(times[order]) - due[order]
    data.figures.append(
        Points("Lateness by due date", "jobs in that order", rank, late, "job, by due date", "lateness")
    )


def _linear_ordering(problem: Any, data: PreviewData) -> None:
    matrix, unit = ordered_weights(problem.weights, np.arange(problem.n))
    data.numbers.extend([("Items", value_text(problem.n)), *_range("Weight", problem.weights)])
    data.figures.append(HeatMap("Weights", unit, _blocks(matrix), "item", "item ahead of it"))


def ordered_weights(weights: NDArray[np.int64], order: NDArray[np.int64]) -> tuple[NDArray[np.int64], str]:
    """The matrix of a linear ordering in an order, above a negative least value, and what its values are."""
    least = min(0, int(weights.min()))
    shown = weights[np.ix_(order, order)] - least
    return shown, "weight" if least == 0 else f"weight above the least, {value_text(least)}"


def _linear_program(problem: Any, data: PreviewData) -> None:
    data.numbers.extend(
        [
            ("Variables", value_text(problem.n)),
            ("Constraints", value_text(problem.m)),
            ("Nonzeros", value_text(problem.nonzeros)),
            ("Density", share_text(problem.nonzeros / max(1, problem.n * problem.m))),
        ]
    )
    data.figures.append(sparsity_pattern(problem.A))


def sparsity_pattern(given: Any) -> HeatMap:
    """Where a matrix, sparse or not, has entries: counted in blocks of rows and columns if it is large."""
    from scipy.sparse import coo_array

    matrix = coo_array(given)
    shape = tuple(max(1, min(_MOST_CELLS, size)) for size in matrix.shape)
    row = matrix.row.astype(np.int64) * shape[0] // max(1, matrix.shape[0])
    column = matrix.col.astype(np.int64) * shape[1] // max(1, matrix.shape[1])
    counts = np.bincount(row * shape[1] + column, minlength=shape[0] * shape[1]).reshape(shape)
    unit = f"{value_text(matrix.nnz)} nonzeros{'' if shape == matrix.shape else ', in blocks of rows and columns'}"
    scale = (
        f"variable{'' if shape[1] == matrix.shape[1] else ' (blocks)'}",
        f"row{'' if shape[0] == matrix.shape[0] else ' (blocks)'}",
    )
    return HeatMap("Sparsity pattern", unit, shades(counts), *scale)


def shades(counts: NDArray[Any]) -> Floats:
    """Counts of entries in blocks from 0 to 1, which nine tenths of the blocks with entries are below."""
    return np.minimum(1.0, counts / max(1.0, np.quantile(counts[counts > 0], 0.9) if counts.any() else 1.0))


def _boa(problem: Any, data: PreviewData) -> None:
    data.numbers.append(("Genes", value_text(problem.n)))
    fitness = problem.fitness
    if hasattr(fitness, "scope_starts"):
        _tables(fitness, data)
    elif hasattr(fitness, "levels"):
        data.numbers.append(("Levels", value_text(fitness.levels)))
        data.figures.append(_prefixes(fitness))


def _tables(fitness: Any, data: PreviewData) -> None:
    """A sum of tables: which genes occur in the same one, and the values of a table that all share."""
    from scipy.sparse import csr_array

    widths = np.diff(fitness.scope_starts)
    data.numbers.append(("Functions", value_text(len(widths))))
    if widths.size:
        least, most = int(widths.min()), int(widths.max())
        data.numbers.append(("Genes of a function", str(most) if least == most else f"{least} to {most}"))
    sides = min(_MOST_CELLS, fitness.n)
    blocks = fitness.genes.astype(np.int64) * sides // fitness.n
    incidence = csr_array((np.ones(len(blocks)), blocks, fitness.scope_starts), shape=(len(widths), sides))
    together = np.asarray((incidence.T @ incidence).toarray())
    together -= np.diag(np.bincount(blocks, minlength=sides))  # a gene beside itself
    if together.any():
        axis, unit = ("gene", "functions") if sides == fitness.n else ("gene (blocks)", "pairs of genes")
        data.figures.append(HeatMap("Genes of the same function", unit, together, axis, axis))
    if len(np.unique(fitness.table_starts)) == 1 and fitness.width:
        ones = np.array([float(pattern.bit_count()) for pattern in range(1 << fitness.width)])
        values = np.array([fitness.value(key) for key in fitness.tables[: len(ones)].tolist()], float)
        data.figures.append(
            Points("Values of a function", "of every pattern of its genes", ones, values, "ones", "value")
        )


def _prefixes(fitness: Any) -> Points:
    """The fitness of the strings that begin with some ones and end with zeros."""
    counts = np.unique(np.linspace(0, fitness.n, min(fitness.n, _MOST_CELLS) + 1).astype(np.int64))
    bits = (np.arange(fitness.n) < counts[:, None]).astype(np.uint8)
    values = np.array([fitness.value(key) for key in fitness.keys(bits).tolist()], float)
    return Points("Fitness of ones followed by zeros", "", counts.astype(float), values, "ones", "fitness")


_MAKERS: dict[str, Callable[[Any, PreviewData], None]] = {
    **dict.fromkeys(("Flowshop", "FlowTime", "BlockingFlowshop", "NoWaitFlowshop"), _flowshop),
    **dict.fromkeys(("Knapsack", "MultipleChoiceKnapsack"), _knapsack),
    **dict.fromkeys(("HorseshoeProbit", "HorseshoeLogit", "HorseshoeRegression"), _regression),
    **dict.fromkeys(("BOA", "BitFunction", "MaxCut", "QUBO", "MaxSAT", "SpinGlass", "LABS"), _boa),
    "ATSP": _atsp,
    "Queens": _queens,
    "MultidimensionalKnapsack": _multidimensional,
    "QuadraticAssignment": _assignment,
    "Tardiness": _tardiness,
    "LinearOrdering": _linear_ordering,
    "LinearProgram": _linear_program,
}


def _range(name: str, values: NDArray[Any]) -> list[tuple[str, str]]:
    if not values.size:
        return []
    return [(f"{name}s", f"{value_text(values.min().item())} to {value_text(values.max().item())}")]
