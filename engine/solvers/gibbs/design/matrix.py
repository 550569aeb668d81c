"""The design matrix as the devices store it: active columns, standardised, binary rows multiplied by their y = +-1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import ProblemError
from ..costs import SPARSE_PENALTY
from ..families import FAMILIES, Family
from ..options import Options, Storage
from ..problem import HorseshoeProbit
from .features import SMALL_SCALE, EntrySummary, column_moments, dense_rows, density, entry_summary
from .layout import SHARDS, Layout, layout_for

_ROWS_AT_ONCE = 1 << 18  # values; those of float64 stay in a cache
_ROWS_SAMPLED = 4096
_SPARSE_FROM = 1 << 23  # values; smaller designs are in a cache, whichever way they are stored
DENSE = 0.34
"""No design with a larger share of values that are not 0 takes less time as sparse."""

_ROUNDED = 1e-6  # of a target's spread: targets and margins are float32
_LEAST_SCALE = 1e-290  # of a column; coefficients are divided by it
_SHORT = 1 << 16  # numbers below are stored in 16 bits


@dataclass(frozen=True)
class Design:
    """Where a problem's columns went, and how to come back."""

    problem: HorseshoeProbit
    active: NDArray[np.int64]  # columns of X that are sampled, those outside the horseshoe first
    mean: NDArray[np.float64]  # what was taken off an active column ...
    scale: NDArray[np.float64]  # ... and what it was divided by
    intercept: bool
    storage: Storage  # not auto
    layout: Layout
    slab: NDArray[np.float64]  # its precision for an active coefficient, with ``regularized`` that of scale 1; or 0
    target_mean: float = 0.0  # of a linear regression
    target_scale: float = 1.0
    entries: EntrySummary = field(default_factory=EntrySummary)  # of the active columns, where they are stored
    unpenalized: int = 0  # active columns outside the horseshoe

    @classmethod
    def of(cls, problem: HorseshoeProbit, options: Options, between: Callable[[], None] = lambda: None) -> Design:
        """Look at the columns; ``between`` is called now and then, and may raise."""
        X = problem.X
        with np.errstate(over="ignore", invalid="ignore"):
            mean, scale = column_moments(X, between, problem.weights)
        small = (scale > 0.0) & (scale < _LEAST_SCALE)
        for wrong, what in ((~np.isfinite(scale), "squares"), (small, "inverses")):
            if options.standardize and wrong.any():
                name = problem.names[int(np.argmax(wrong))]
                raise ProblemError(f"column '{name}' has values whose {what} are beyond float64; change its unit")
        active = np.arange(X.shape[1])
        if options.standardize:
            varies = scale > 1e-12 * np.maximum(np.abs(mean), 1e-300)
            if not options.intercept:  # a constant column is identified then, unless it is 0
                scale = np.where(varies, scale, np.abs(mean))
                varies = scale > 0.0
            active = np.flatnonzero(varies)
            if not active.size:
                raise ProblemError(
                    f"every column of X is {'constant' if options.intercept else '0'}, so there is no coefficient to "
                    "estimate; with standardize = false columns are taken as they are"
                )
        active, unpenalized = _ordered(problem, active)
        if options.standardize:
            mean, scale = mean[active], scale[active]
            if not options.intercept:
                mean = np.zeros_like(mean)
        else:
            mean, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        leading = options.intercept + has_offset_column(problem)
        layout = layout_for(X.shape[0], len(active) + leading)
        storage, entries = storage_for(X, options, between)
        slab, regularized = np.zeros(len(active)), options.prior == "regularized"
        if regularized or options.slab is not None:
            slab = _effects(problem, active, scale, options.intercept)
            slab /= 1.0 if regularized or options.slab is None else options.slab**2
            slab[:unpenalized] = 0.0
        target = 0.0, 1.0
        if options.standardize and problem.family in ("normal", "student"):
            with np.errstate(over="ignore", invalid="ignore"):
                y = problem.y if problem.offset is None else problem.y - problem.offset
                centre = float(np.average(y, weights=problem.weights)) if options.intercept else 0.0
                apart = y - centre
                spread = float(np.sqrt(np.average(apart**2, weights=problem.weights)))
                if spread < SMALL_SCALE:
                    spread = float(column_moments(apart[:, None], weights=problem.weights)[1][0])
                target = centre, spread or 1.0
            if not np.isfinite(target).all():
                raise ProblemError("y has values whose squares are beyond float64; change its unit")
        entries = entries.of(active) if storage == "sparse" else EntrySummary()
        intercept = options.intercept
        return cls(problem, active, mean, scale, intercept, storage, layout, slab, *target, entries, unpenalized)

    @classmethod
    def of_sizes(cls, problem: HorseshoeProbit, options: Options) -> Design:
        """A design for a plan of the memory, from the sizes and a sample of X: as if every column varied."""
        rows, columns = problem.X.shape
        total = int(density(problem.X) * rows * columns)
        storage, entries = options.storage, EntrySummary()
        if storage == "auto":
            sparse = _may_be_sparse(problem.X, options) and _is_cheaper(rows, columns, total, False, options)
            storage = "sparse" if sparse else "float32"
        if storage == "sparse":
            counts = np.full(columns, -(-total // columns))
            entries = EntrySummary(counts, np.zeros(columns), np.ones(columns), columns)
        layout = layout_for(rows, columns + options.intercept + has_offset_column(problem))
        zeros, ones = np.zeros(columns), np.ones(columns)
        active, unpenalized = _ordered(problem, np.arange(columns))
        intercept = options.intercept
        return cls(problem, active, zeros, ones, intercept, storage, layout, zeros, 0.0, 1.0, entries, unpenalized)

    @property
    def family(self) -> Family:
        """The likelihood."""
        return FAMILIES[self.problem.family]

    def auxiliary_names(self) -> list[str]:
        """What the family's own parameters are called."""
        return self.family.auxiliary_names(self.problem.categories)

    def target(self) -> NDArray[np.float32]:
        """What the rows' likelihoods are of; empty for probit and logit."""
        if not self.family.targeted:
            return np.zeros(0, np.float32)
        y, offset = self.problem.y, self.problem.offset
        if offset is not None and self.family.scaled:
            y = y - offset
        return np.asarray((y - self.target_mean) / self.target_scale, np.float32)

    @property
    def total_weight(self) -> float:
        """The sum of the weights of the rows, which is their number if they have none."""
        weights = self.problem.weights
        return float(self.layout.rows if weights is None else weights.sum())

    def of_rows(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """A number of each row as kernels read them, eight at a time: zeros behind the rows."""
        out = np.zeros(self.layout.pitch + 8, np.float32)
        out[: len(values)] = values
        return out

    @property
    def target_spread(self) -> float:
        """Standard deviation of the target of a linear regression about its mean, or about 0 without an intercept."""
        target = self.target().astype(np.float64)
        return float(target.std() if self.intercept else np.sqrt(np.mean(target**2))) or 1.0

    @property
    def least_log_sigma(self) -> float:
        """Log sigma below which errors are rounding errors of float32; minus infinity for families without sigma."""
        return float(np.log(_ROUNDED * self.target_spread)) if self.family.scaled else -np.inf

    def signs(self, begin: int, end: int) -> NDArray[np.float32]:
        """What rows are multiplied by: y = +-1, or 1 if the rows have a target."""
        y = self.problem.y[begin:end]
        return np.ones(len(y), np.float32) if self.family.targeted else np.where(y, 1.0, -1.0).astype(np.float32)

    @property
    def is_selection(self) -> bool:
        """Whether the columns are some of X, or in another order."""
        return len(self.active) < self.problem.X.shape[1] or self.unpenalized > 0

    @property
    def leading(self) -> int:
        """Columns before those of X: the intercept's, and that of the offset."""
        return int(self.intercept) + has_offset_column(self.problem)

    @property
    def first(self) -> int:
        """The first column inside the horseshoe."""
        return self.leading + self.unpenalized

    @property
    def pinned(self) -> int | None:
        """The column of the offset, whose coefficient is 1; None if there is none."""
        return int(self.intercept) if has_offset_column(self.problem) else None

    @property
    def chunk_rows(self) -> int:
        """Rows that :meth:`rows` should be asked for at a time."""
        return max(1, _ROWS_AT_ONCE // self.layout.stride)

    def rows(self, begin: int, end: int) -> NDArray[Any]:
        """Rows [begin, end) as stored, zeros from N on; shape (end - begin, stride)."""
        problem, used = self.problem, max(0, min(end, self.layout.rows) - begin)
        out = np.zeros((end - begin, self.layout.stride), np.float32)
        if used:
            part = dense_rows(problem.X, begin, begin + used)
            sign = self.signs(begin, begin + used)[:, None].astype(np.float64)
            with np.errstate(over="ignore"):
                values = np.subtract(part[:, self.active] if self.is_selection else part, self.mean, dtype=np.float64)
                values /= self.scale
                values *= sign
                out[:used, self.leading : self.leading + len(self.active)] = values
                if self.pinned is not None:
                    out[:used, self.pinned] = np.asarray(problem.offset)[begin : begin + used] * sign[:, 0]
            if not np.isfinite(out).all():
                column = int(np.argmin(np.isfinite(out).all(axis=0)))
                raise ProblemError(f"column '{self.name(column)}' has values beyond float32 after scaling")
            if self.intercept:
                out[:used, 0] = sign[:, 0]
        return self.store(out, begin)

    def store(self, values: NDArray[np.float32], row: int = 0) -> NDArray[Any]:
        """Rows of the design, the first of which is number ``row``, as stored."""
        if self.storage in ("float32", "sparse"):
            return values
        with np.errstate(over="ignore"):
            half = values.astype(np.float16)
        if not np.isfinite(half).all():
            at, column = np.argwhere(~np.isfinite(half))[0]
            raise ProblemError(
                f"storage = float16 holds values up to 65504; row {row + at} of column "
                f"'{self.name(int(column))}' has {values[at, column]:g} after scaling; use float32"
            )
        return half.view(np.uint16)

    def name(self, column: int) -> str:
        """What a column of the design is called."""
        if column < self.leading:
            return "offset" if column == self.pinned else "intercept"
        return str(self.problem.names[self.active[column - self.leading]])

    def unscaled(self, beta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coefficients of the user's columns: shape (..., columns of X + 1), the intercept (0 without one) first."""
        coefficients = beta[..., self.leading :] / self.scale * self.target_scale
        full = np.zeros((*beta.shape[:-1], self.problem.X.shape[1] + 1))
        full[..., 1 + self.active] = coefficients
        if self.intercept:
            full[..., 0] = self.target_mean + beta[..., 0] * self.target_scale - coefficients @ self.mean
        return full

    def scaled(self, full: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse of :meth:`unscaled` for one point; coefficients of columns that are not sampled are left out."""
        coefficients = full[1 + self.active] / self.target_scale
        beta = np.zeros(self.layout.columns)
        beta[self.leading :] = coefficients * self.scale
        if self.pinned is not None:
            beta[self.pinned] = 1.0
        if self.intercept:
            beta[0] = (full[0] - self.target_mean) / self.target_scale + coefficients @ self.mean
        return beta


def has_offset_column(problem: HorseshoeProbit) -> bool:
    """Whether an offset is a column of the design; from the target of a linear regression it is subtracted."""
    return problem.offset is not None and not FAMILIES[problem.family].scaled


def _ordered(problem: HorseshoeProbit, active: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """The columns, those outside the horseshoe first, and how many these are."""
    if problem.penalized is None:
        return active, 0
    inside = problem.penalized[active]
    if not inside.any():
        raise ProblemError("penalize leaves no column inside the horseshoe that varies")
    return np.concatenate([active[~inside], active[inside]]), int((~inside).sum())


def storage_for(X: Any, options: Options, between: Callable[[], None] = lambda: None) -> tuple[Storage, EntrySummary]:
    """How X is stored, with ``auto`` as what moves fewer bytes, and its entries if they are stored."""
    chosen = options.storage
    if chosen == "auto" and not _may_be_sparse(X, options):
        return "float32", EntrySummary()
    if chosen not in ("auto", "sparse"):
        return chosen, EntrySummary()
    found = entry_summary(X, between)
    if chosen == "auto":
        rows, columns = X.shape
        chosen = "sparse" if _is_cheaper(rows, columns, found.total, found.one_value, options) else "float32"
    return chosen, found


def _may_be_sparse(X: Any, options: Options) -> bool:
    """Whether it is worth while to count the entries."""
    rows, columns = X.shape
    of_rows = options.kernel in ("gibbs", "px") and columns > rows  # matrices of N x N are made of stored rows
    small = rows * columns < _SPARSE_FROM and options.kernel != "cg"
    return not (of_rows or options.streaming == "always" or small or density(X) > DENSE)


def _is_cheaper(rows: int, columns: int, total: int, one_value: bool, options: Options) -> bool:
    """Whether passes over the entries take less time than those over the rows, which ``cg`` reads twice in each."""
    of_rows = (8 if options.kernel == "cg" else 4) * rows * columns
    return SPARSE_PENALTY * bytes_an_entry(rows, columns, one_value) * total <= of_rows


def bytes_an_entry(rows: int, columns: int, one_value: bool) -> int:
    """Bytes of an entry in both orders: its column, its row within a shard, and its value twice."""
    places = (2 if columns < _SHORT else 4) + (2 if rows // SHARDS < _SHORT else 4)
    return places + (0 if one_value else 8)


def usual_value(values: NDArray[Any]) -> NDArray[Any]:
    """The middle of an evenly spaced sample of each column, which is a value of it; shape (p,)."""
    some = dense_rows(values, 0, values.shape[0], max(1, values.shape[0] // _ROWS_SAMPLED))
    middle: NDArray[Any] = np.sort(some, axis=0)[(len(some) - 1) // 2]
    return middle


def _effects(
    problem: HorseshoeProbit, active: NDArray[np.int64], scale: NDArray[np.float64], intercept: bool
) -> NDArray[np.float64]:
    """Mean square of each standardised column's distance from its usual value, over the rows that have another one."""
    X = problem.X
    usual = usual_value(X)[active] if intercept else np.zeros(len(active))
    squares, count = np.zeros(len(active)), np.zeros(len(active))
    power = np.frexp(scale)[1]  # of 2, so that squares are neither 0 nor infinite
    rows = max(1, _ROWS_AT_ONCE // X.shape[1])
    for begin in range(0, X.shape[0], rows):
        apart = np.ldexp(dense_rows(X, begin, min(X.shape[0], begin + rows))[:, active] - usual, -power)
        squares += np.einsum("ij,ij->j", apart, apart, dtype=np.float64)
        count += (apart != 0).sum(axis=0)
    return np.asarray(squares / np.maximum(count, 1.0) / np.ldexp(scale, -power) ** 2)


def stored_values(rows: NDArray[Any], storage: Storage) -> NDArray[np.float32]:
    """What the kernels read from stored rows."""
    if storage in ("float32", "sparse"):
        return rows
    return rows.view(np.float16).astype(np.float32)
