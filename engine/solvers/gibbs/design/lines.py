"""Directions in the space of the coefficients along which chains move slowly, found from the data.

Three sorts, in this order (see ``kernels/gibbs/lines.mako``):

null lines
    along which no margin X beta changes: one-hot groups, copies of a column. The likelihood is constant along them, and
    the horseshoe prior has one mode for each member near 0.
pairs
    of nearly collinear or nested columns: the effect of one can be taken over by the other.
tails
    single columns with few informative rows, along which the likelihood is nearly flat, so that the coefficient has
    the Cauchy tails of its prior; all columns where there are more of them than rows, as any may be near 0 or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....numerics.threads import in_order
from .features import dense_rows, sparse_rows
from .matrix import Design, stored_values, usual_value

Floats = NDArray[np.float64]
_Rows = tuple[NDArray[np.int64], NDArray[np.float32]]
_Direction = tuple[NDArray[np.int64], Floats]  # columns, and how far each moves

INFORMATIVE_ROWS = 10.0
"""Below so many expected informative rows a column is moved by itself."""

_CORRELATED = 0.5
_BLOCK = 256  # rows of a correlation matrix that are made at a time
_MOST_PAIRS = 4  # a column
_MOST_ENTRIES = 1 << 24  # row entries of the pairs, and of the tails
_MOST_MEMBERS = 64
_MOST_COLUMNS = 1500  # for the search of null lines, which takes p^3 operations
_NULL_EIGENVALUE = {"float32": 1e-9, "sparse": 1e-9, "float16": 1e-5}  # of the correlation matrix
_VISITS = 1 << 17  # most rows of lines that a chain visits in an iteration, or all rows once
_VISITS_A_SLICE = 8
_VALUES_A_VISIT = 4  # values of X that a pass reads in the time of a visit, for each of the passes of a trajectory
_FEWEST_VISITS = 1 << 12  # less than a launch
_TAILS = 4  # times the trajectory: a tail is the only way from one mode of its column to another
_FLAT = 1e-5
_SAMPLE, _SAMPLES = 1 << 17, 64  # rows that are looked at first where there are many, and in how many places
_SAMPLED_VALUES, _FEWEST_SAMPLED = 1 << 27, 1 << 12  # with many columns fewer rows


@dataclass(frozen=True)
class Lines:
    """Lines as the kernel takes them."""

    nulls: int = 0  # how many lines of each sort
    pairs: int = 0
    tails: int = 0
    member_start: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))
    # Line l moves the columns of [member_start[l], member_start[l + 1]) by their weights, and the intercept.
    member_column: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    member_weight: Floats = field(default_factory=lambda: np.zeros(0))
    intercept: Floats = field(default_factory=lambda: np.zeros(0))
    row_start: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    # It changes the margins of the rows of [row_start[l], row_start[l + 1]) by their values.
    row_index: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    row_value: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    separable: tuple[int, ...] = ()  # columns of which every row off the usual value is in one class
    separating: tuple[int, ...] = ()  # largest coefficients at the mode, where these separate the classes

    @property
    def count(self) -> int:
        """How many lines there are."""
        return self.nulls + self.pairs + self.tails

    def members(self, line: int) -> list[int]:
        """The columns of one line."""
        members: list[int] = self.member_column[self.member_start[line] : self.member_start[line + 1]].tolist()
        return members

    def tries(self, rows: int, columns: int) -> tuple[int, int, int]:
        """How many null lines, pairs and tails are moved in an iteration on a design of so many rows and columns."""
        trajectory = max(_FEWEST_VISITS, rows * columns // _VALUES_A_VISIT)
        visits_of_pairs, visits = (max(rows, min(_VISITS, share * trajectory)) for share in (1, _TAILS))
        starts = self.row_start[[self.nulls, self.nulls + self.pairs, self.count]]
        each = np.diff(starts) / np.maximum(1, [self.pairs, self.tails])
        pairs = min(100, 2 * self.pairs, 1 + int(visits_of_pairs / max(1.0, each[0])))
        tails = min(64, self.tails, 1 + int(visits / _VISITS_A_SLICE / max(1.0, each[1])))
        return min(200, 5 * self.nulls), pairs, tails


def usual_values(design: Design) -> Floats:
    """The middle value of a sample of each active column, as the devices store it; shape (p,)."""
    middle = usual_value(design.problem.X)[design.active].astype(np.float64)
    usual = np.zeros((1, design.layout.stride), np.float32)
    usual[0, design.leading : design.layout.columns] = (middle - design.mean) / design.scale
    stored = stored_values(design.store(usual), design.storage)
    return stored[0, design.leading : design.layout.columns].astype(np.float64)


def _nothing() -> None: ...


def find_lines(
    design: Design, gram: Floats, weights: Floats, latent: bool = False, between: Callable[[], None] = _nothing
) -> Lines:
    """The lines of a design, from the lower triangle of X'X and the curvature of every row at a mode.

    ``between`` is called now and then, and may raise.
    """
    # moves of latent normals take any coefficient to 0 and away, whatever the curvature is
    weights = np.ones_like(weights) if latent else weights
    usual = usual_values(design) if design.intercept else np.zeros(len(design.active))
    columns_of = None
    if design.storage == "sparse":
        middle = usual_value(design.problem.X)[design.active] if design.intercept else usual
        columns_of = _SparseColumns(design, middle.astype(np.float64))
        informative, one_class = columns_of.informative_rows(weights)
    else:
        informative, one_class = _screened(design, usual, weights, between)
    means = gram[design.leading :, 0] / design.total_weight if design.intercept else np.zeros(len(design.active))
    outside = design.unpenalized  # such columns are not moved along lines
    nulls = _verified(design, _null_directions(design, gram, means), means, columns_of, between)
    nulls = [line for line in nulls if line[0].min() >= outside]
    collinear = {max(columns) for columns, weight in nulls if len(columns) == 2}
    narrow = latent or design.layout.columns <= design.layout.rows
    few = INFORMATIVE_ROWS if narrow else np.inf  # else any may be in or out
    tails = [j for j in np.argsort(informative, kind="stable").tolist() if informative[j] < few]
    tails = [j for j in tails if j not in collinear and j >= outside]
    shifts = [-float(weight @ means[columns]) if design.intercept else 0.0 for columns, weight in nulls]
    of_nulls = [_Line(*line, shift) for line, shift in zip(nulls, shifts, strict=True)]
    singles = [(np.array([j]), np.ones(1)) for j in tails]
    near = _pairs_of(design, gram, means, between)
    pairs, others = _with_rows(design, usual, columns_of, near, singles, between)
    separable = tuple(int(j) + design.leading for j in np.flatnonzero(one_class) if j >= outside)
    found = [*of_nulls, *pairs, *others]
    if not found:
        return Lines(separable=separable)
    return Lines(
        len(of_nulls),
        len(pairs),
        len(others),
        member_start=np.cumsum([0, *(len(line.columns) for line in found)]).astype(np.int32),
        member_column=(np.concatenate([line.columns for line in found]) + design.leading).astype(np.int32),
        member_weight=np.concatenate([line.weight for line in found]),
        intercept=np.array([line.intercept for line in found]),
        row_start=np.cumsum([0, *(len(line.index) for line in found)]).astype(np.int64),
        row_index=np.concatenate([line.index for line in found]).astype(np.int32),
        row_value=np.concatenate([line.value for line in found]).astype(np.float32),
        separable=separable,
    )


def chunks(
    design: Design, sampled: bool = False, between: Callable[[], None] = _nothing
) -> Iterator[tuple[int, NDArray[np.float32], NDArray[np.float32]]]:
    """First row, the columns of X, and signs of the rows, chunk by chunk; or of evenly spaced samples."""
    layout, first = design.layout, design.leading
    size, step = design.chunk_rows, design.chunk_rows
    if sampled:
        size, step = _sampled_rows(layout.columns) // _SAMPLES, layout.rows // _SAMPLES

    def chunk(begin: int) -> tuple[int, NDArray[np.float32], NDArray[np.float32]]:
        end = min(layout.rows, begin + size)
        sign = design.signs(begin, end)
        stored = stored_values(design.rows(begin, end), design.storage)
        return begin, stored[:, first : layout.columns] * sign[:, None], sign

    for found in in_order(chunk, range(0, layout.rows, step)):
        between()
        yield found


def _sampled_rows(columns: int) -> int:
    return min(_SAMPLE, max(_FEWEST_SAMPLED, _SAMPLED_VALUES // columns))


def _screened(
    design: Design, usual: Floats, weights: Floats, between: Callable[[], None]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Informative rows of each column: of a sample, in which rare columns have none, or of all rows."""
    if design.layout.rows > 2 * _sampled_rows(design.layout.columns):
        informative, one_class = _informative_rows(design, usual, weights, True, between)
        if (informative >= 2.0 * INFORMATIVE_ROWS).all():
            return informative, one_class
    return _informative_rows(design, usual, weights, False, between)


def _informative_rows(
    design: Design, usual: Floats, weights: Floats, sampled: bool, between: Callable[[], None]
) -> tuple[Floats, NDArray[np.bool_]]:
    """(sum w z^2)^2 / sum w z^4 of every column, z the distance from its usual value; columns with one class there."""
    count = len(usual)
    second, fourth = np.zeros(count), np.zeros(count)
    seen = np.zeros((2, count), bool)
    for begin, x, sign in chunks(design, sampled, between):
        squares = (x - usual.astype(np.float32)) ** 2
        w = weights[begin : begin + len(x)].astype(np.float32)
        second += w @ squares
        for number, value in enumerate((-1.0, 1.0)):
            seen[number] |= (squares[sign == value] > 0).any(axis=0)
        fourth += w @ (squares * squares)
    one_class = np.logical_not(seen.all(axis=0)) if not design.family.targeted else np.zeros(count, bool)
    return second**2 / np.maximum(fourth, 1e-300), one_class


def _covariance(design: Design, gram: Floats, means: Floats, rows: slice) -> Floats:
    """The lower triangle of some rows of the columns' covariance (about 0 without an intercept)."""
    first = design.leading
    inside = gram[rows.start + first : rows.stop + first, first : first + rows.stop] / design.total_weight
    return np.asarray(np.tril(inside - np.outer(means[rows], means[: rows.stop]), rows.start))


def _deviations(design: Design, gram: Floats, means: Floats) -> Floats:
    squares = np.diag(gram)[design.leading :] / design.total_weight - means * means
    return np.asarray(np.sqrt(np.maximum(squares, 1e-300)))


# --- null lines -------------------------------------------------------------------------------------------------------


def _null_directions(design: Design, gram: Floats, means: Floats) -> list[_Direction]:
    """Sparse directions v with Xv constant: a reduced row echelon basis in the units of the data, of small supports."""
    count = len(means)
    if design.layout.rows <= count or not 1 < count <= _MOST_COLUMNS:
        return []
    deviation = _deviations(design, gram, means)
    correlation = _covariance(design, gram, means, slice(0, count)) / np.outer(deviation, deviation)
    limit = _NULL_EIGENVALUE[design.storage]
    if _exceeds(correlation, limit):
        return []
    from scipy.linalg import eigh, qr  # slow to import, and most data need neither

    _, vectors = eigh(correlation, subset_by_value=(-np.inf, limit))
    if not vectors.shape[1]:
        return []
    raw = vectors / (deviation * design.scale)[:, None]
    raw /= np.abs(raw).max(axis=1, keepdims=True).max()
    _, _, pivots = qr(raw.T, mode="economic", pivoting=True)
    basis = np.linalg.solve(raw[pivots[: raw.shape[1]]].T, raw.T)
    basis = _with_small_supports(_rounded(basis))
    found = []
    for row in basis:
        columns = np.flatnonzero(row)
        if 2 <= len(columns) <= _MOST_MEMBERS:
            found.append((columns, row[columns] * design.scale[columns]))
    return found


def _exceeds(matrix: Floats, limit: float) -> bool:
    """Whether all eigenvalues are above a limit: then there is a Cholesky factor of what remains."""
    try:
        np.linalg.cholesky(matrix - limit * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True


def _rounded(basis: Floats) -> Floats:
    """Entries that are rounding errors beside the row's largest one set to 0; each row's largest entry 1."""
    scaled = basis / np.abs(basis).max(axis=1, keepdims=True)
    scaled[np.abs(scaled) < 1e-6] = 0.0
    near = np.round(scaled)
    return np.asarray(np.where(np.abs(scaled - near) < 1e-6, near, scaled))


def _with_small_supports(basis: Floats) -> Floats:
    """Sums and differences of two rows in place of a row, while they have fewer entries."""
    for _ in range(4 * len(basis) if len(basis) <= _MOST_MEMBERS else 0):
        sizes = (basis != 0).sum(axis=1)
        best: tuple[int, int, Floats] | None = None
        for i in np.argsort(-sizes).tolist():
            for j in range(len(basis)):
                shared = np.flatnonzero((basis[i] != 0) & (basis[j] != 0))
                if i == j or not len(shared):
                    continue
                factor = basis[i, shared[0]] / basis[j, shared[0]]
                trial = _rounded((basis[i] - factor * basis[j])[None])[0]
                if 0 < (trial != 0).sum() < sizes[i]:
                    best = i, j, trial
                    break
            if best is not None:
                break
        if best is None:
            break
        basis[best[0]] = best[2]
    return basis


def _verified(
    design: Design,
    candidates: list[_Direction],
    means: Floats,
    columns_of: _SparseColumns | None,
    between: Callable[[], None],
) -> list[_Direction]:
    """The candidates along which no stored margin changes by more than rounding."""
    worst, largest = np.zeros(len(candidates)), np.full(len(candidates), 1e-300)
    if not candidates:
        return []
    if columns_of is not None:
        for number, (columns, weight) in enumerate(candidates):
            worst[number], largest[number] = columns_of.changes(columns, weight)
    for _, x, _ in chunks(design, False, between) if columns_of is None else ():
        for number, (columns, weight) in enumerate(candidates):
            part = x[:, columns].astype(np.float64) - means[columns]
            worst[number] = max(worst[number], float(np.abs(part @ weight).max()))
            largest[number] = max(largest[number], float(np.abs(part * weight).max()))
    tolerance = 10.0 * {"float32": 1e-6, "sparse": 1e-6, "float16": 1e-3}[design.storage]
    return [found for found, good in zip(candidates, worst < tolerance * largest, strict=True) if good]


# --- pairs ------------------------------------------------------------------------------------------------------------


def _pairs_of(design: Design, gram: Floats, means: Floats, between: Callable[[], None]) -> list[_Direction]:
    """Pairs of columns of correlation above a half, the most correlated first, and how far each moves."""
    deviation, count = _deviations(design, gram, means), len(means)

    def correlated(rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        correlation = _covariance(design, gram, means, rows) / np.outer(deviation[rows], deviation[: rows.stop])
        correlation = np.tril(correlation, rows.start - 1)
        correlation[:, : design.unpenalized] = 0.0
        j, k = np.nonzero(np.abs(correlation) > _CORRELATED)
        return rows.start + j, k, correlation[j, k]

    blocks = [slice(begin, min(count, begin + _BLOCK)) for begin in range(0, count, _BLOCK)]
    parts = []
    for part in in_order(correlated, blocks):
        between()
        parts.append(part)
    j, k, rho = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(-np.abs(rho), kind="stable")[: _MOST_PAIRS * count]
    X = design.problem.X
    some = dense_rows(X, 0, X.shape[0], max(1, X.shape[0] // 4096))[:, design.active]
    ranges = np.ptp(some, axis=0)
    binary = ((some == some.min(axis=0)) | (some == some.max(axis=0))).all(axis=0) & (ranges > 0)
    pairs = []
    for at in order.tolist():
        sign = 1.0 if rho[at] > 0 else -1.0
        first, second = int(j[at]), int(k[at])
        sizes = deviation[[first, second]] ** -1
        if binary[first] and binary[second]:  # so that rows where both change keep their margins
            sizes = design.scale[[first, second]] / ranges[[first, second]]
        pairs.append((np.array([first, second]), sizes * [1.0, -sign]))
    return pairs


# --- rows of lines ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Line:
    """A line as it is found: how far it moves some columns and the intercept, and the rows it changes."""

    columns: NDArray[np.int64]
    weight: Floats
    intercept: float
    index: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    value: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))


def _with_rows(
    design: Design,
    usual: Floats,
    columns_of: _SparseColumns | None,
    pairs: list[_Direction],
    tails: list[_Direction],
    between: Callable[[], None],
) -> list[list[_Line]]:
    """The pairs, and the tails, with their rows, as far as these are not too many."""
    anchored, lines = design.intercept, [*pairs, *tails]
    sorts = [(0, place) for place in range(len(pairs))] + [(1, place) for place in range(len(tails))]
    entries, full = [0, 0], [len(pairs), len(tails)]  # lines of a sort from there on are left out

    def wanted() -> Iterator[tuple[int, NDArray[np.int64], Floats, float]]:
        for number, (columns, weight) in enumerate(lines):
            sort, place = sorts[number]
            if place < full[sort]:
                yield number, columns, weight, _FLAT if len(columns) > 1 else 0.0

    def rows() -> Iterator[tuple[int, _Rows]]:
        if columns_of is not None:
            for number, columns, weight, flat in wanted():
                yield number, columns_of.along(columns, weight, anchored, flat)
            return
        for begin, x, sign in chunks(design, False, between):
            for number, columns, weight, flat in wanted():
                part = x[:, columns].astype(np.float64)
                values = (part - usual[columns] if anchored else part) @ weight
                index = np.flatnonzero(np.abs(values) > flat * float(np.abs(weight).max()))
                yield number, (begin + index, (values[index] * sign[index]).astype(np.float32))

    parts: list[list[_Rows]] = [[] for _ in lines]
    for number, found in rows() if lines else ():
        sort, place = sorts[number]
        parts[number].append(found)
        entries[sort] += len(found[0])
        if entries[sort] > _MOST_ENTRIES:
            full[sort] = max(1, place // 2)
            entries[sort] = _MOST_ENTRIES // 2
    kept: list[list[_Line]] = [[], []]
    for (columns, weight), (sort, place), part in zip(lines, sorts, parts, strict=True):
        if place < full[sort] and any(len(index) for index, _ in part):
            index, value = (np.concatenate(arrays) for arrays in zip(*part, strict=True))
            shift = -float(weight @ usual[columns]) if anchored else 0.0
            kept[sort].append(_Line(columns, weight, shift, index, value))
    return kept


# --- a sparse design --------------------------------------------------------------------------------------------------


class _SparseColumns:
    """The active columns of a design, and their usual values in the units of X."""

    def __init__(self, design: Design, usual: Floats) -> None:
        self._design, self._usual = design, usual
        self.rows = design.layout.rows
        self._entries = sparse_rows(design.problem.X, 0, self.rows).tocsc()[:, design.active]
        self._sign = design.signs(0, self.rows)

    def _column(self, j: int) -> tuple[NDArray[np.int64], Floats]:
        entries = self._entries
        own = slice(int(entries.indptr[j]), int(entries.indptr[j + 1]))
        return entries.indices[own].astype(np.int64), entries.data[own].astype(np.float64)

    def informative_rows(self, weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """(sum w z^2)^2 / sum w z^4, z the distance from the usual value; whether only one class is not at that."""
        entries, count, scale = self._entries, len(self._usual), self._design.scale
        column = np.repeat(np.arange(count), np.diff(entries.indptr))
        w = weights[: self.rows]
        own = w[entries.indices]
        z = (entries.data - self._usual[column]) / scale[column]
        elsewhere = -self._usual / scale  # of the rows without an entry
        rest = w.sum() - np.bincount(column, own, minlength=count)

        def moment(power: int) -> Floats:
            found = np.bincount(column, own * z**power, minlength=count) + rest * elsewhere**power
            return np.asarray(found)

        if self._design.family.targeted:
            return moment(2) ** 2 / np.maximum(moment(4), 1e-300), np.zeros(count, bool)
        seen = []
        for value in (-1.0, 1.0):
            of_class = self._sign[entries.indices] == value
            zeros = int((self._sign == value).sum()) - np.bincount(column, of_class, minlength=count)
            away = np.bincount(column, of_class & (z != 0), minlength=count) > 0
            seen.append(away | ((zeros > 0.5) & (elsewhere != 0)))
        return moment(2) ** 2 / np.maximum(moment(4), 1e-300), np.logical_not(seen[0] & seen[1])

    def _combined(self, columns: NDArray[np.int64], factors: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Rows that have an entry in one of the columns, and the sum of entries times factors."""
        parts = [self._column(int(j)) for j in columns]
        rows, place = np.unique(np.concatenate([rows for rows, _ in parts]), return_inverse=True)
        values = np.concatenate([factor * data for factor, (_, data) in zip(factors, parts, strict=True)])
        return rows, np.bincount(place, values, minlength=len(rows)).astype(np.float64)

    def along(
        self, columns: NDArray[np.int64], weight: Floats, anchored: bool, flat: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows whose margin a line changes by more than ``flat`` times its largest weight, and by how much."""
        factors = weight / self._design.scale[columns]
        usual = self._usual[columns] if anchored else np.zeros(len(columns))
        rows, values = self._combined(columns, factors)
        base = float(factors @ usual)
        limit = flat * float(np.abs(weight).max())
        if abs(base) > limit:  # the rows without an entry change too
            full = np.full(self.rows, -base)
            full[rows] += values
            rows, values = np.arange(self.rows), full
        else:
            values = values - base
        kept = np.abs(values) > limit
        return rows[kept], (values[kept] * self._sign[rows[kept]]).astype(np.float32)

    def changes(self, columns: NDArray[np.int64], weight: Floats) -> tuple[float, float]:
        """The largest change of a margin along a line, the intercept's share included, and of a term of it."""
        factors = weight / self._design.scale[columns]
        rows, values = self._combined(columns, factors)
        base = float(factors @ self._design.mean[columns])
        worst = float(np.abs(values - base).max(initial=abs(base) if len(rows) < self.rows else 0.0))
        largest = 1e-300
        for j, factor in zip(columns.tolist(), factors, strict=True):
            ends = np.array([self._design.entries.low[j], self._design.entries.high[j], 0.0]) - self._design.mean[j]
            largest = max(largest, float(np.abs(factor * ends).max()))
        return worst, largest
