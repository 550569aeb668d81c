"""The linear ordering problem: in which order things are ranked so that few of their comparisons are contradicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from ....base.problem import frozen
from ....errors import ProblemError
from ....formats import lolib
from ..tree import DeviceTree, Kept, Tree
from .arrays import ArrayProblem, permutation, require_no_choice, require_size, whole_matrix
from .cycle_packing import best_packing, cycles_of, greedy_packing, is_packing

if TYPE_CHECKING:
    from ....devices import Capabilities

_THREADS = 512
_LARGEST_SUM = 2**30
_RESTARTS = 500


class LinearOrdering(ArrayProblem):
    """Find the order that puts the least weight below the diagonal. A solution lists the items, the first one first.

    ``weights[i, j]`` is what an order gains that puts i before j. The objective is the sum of what it does not gain:
    all ``weights[j, i]`` where i is before j, which is the weight of a minimum feedback arc set. LOLIB states the same
    problem as a maximum, of the sum above the diagonal: :meth:`superdiagonal`.

    Parameters
    ----------
    weights : array-like of int, shape (n, n)
        Entries may be negative; the diagonal does not matter. The sum of all others, without their signs, must be below
        2^30.
    name : str, optional

    Attributes
    ----------
    weights : ndarray of int64, shape (n, n)
        Read-only.
    n : int
        Number of items.

    Raises
    ------
    ProblemError
        If the matrix is not a square matrix of whole numbers, or breaks these rules.

    Examples
    --------
    >>> import engine
    >>> problem = engine.LinearOrdering([[0, 1, 6], [4, 0, 2], [3, 3, 0]])
    >>> result = engine.solve(problem)
    >>> result.objective, result.solution
    (7, array([1, 0, 2]))
    >>> problem.superdiagonal(result.solution)
    12
    """

    kind: ClassVar[str] = "linear_ordering"
    title: ClassVar[str] = "linear ordering"
    arrays: ClassVar[tuple[str, ...]] = ("weights",)
    sizes = (("n", "item", "items"),)
    has_diagonal: ClassVar[bool] = False

    def __init__(self, weights: ArrayLike, name: str | None = None) -> None:
        matrix = whole_matrix(weights, "weights", least=None, square=True)
        largest = sum(map(abs, matrix[~np.eye(len(matrix), dtype=np.bool_)].tolist()))
        if largest >= _LARGEST_SUM:
            raise ProblemError(
                f"the weights without their signs add up to {largest}; they must stay below 2^30 ({_LARGEST_SUM})"
            )
        self.weights = frozen(matrix)
        self.n = len(matrix)
        self.name = name if name is not None else self._default_name

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a LOLIB file: lines of text, if any, the size, the matrix."""
        return cls._one_of(path, 1, [(lolib.read(path),)])

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether the file begins with its size alone, and has the numbers of one matrix."""
        return lolib.recognize(path, head)

    def evaluate(self, order: ArrayLike) -> int:
        """The sum below the diagonal, with rows and columns in an order, a permutation of 0 ... n - 1."""
        return int(np.tril(self._ordered(order), -1).sum())

    def superdiagonal(self, order: ArrayLike) -> int:
        """The sum above the diagonal, with rows and columns in an order: the value that LOLIB maximises."""
        return int(np.triu(self._ordered(order), 1).sum())

    def _ordered(self, order: ArrayLike) -> NDArray[np.int64]:
        chosen = permutation(order, self.n, f"an order must list each of the items 0 to {self.n - 1} once")
        return np.asarray(self.weights[np.ix_(chosen, chosen)])

    def tree(self, bound: str = "auto", branching: str = "auto") -> LinearOrderingTree:
        """From the front; a packing of cycles of three items."""
        require_no_choice("linear ordering", bound, branching)
        require_size(self.n, "items", self.name)
        return LinearOrderingTree(self.weights)

    def first_solution(self, method: str, seed: int, expired: Callable[[], bool] = lambda: False) -> NDArray[np.int64]:
        """The best of several local searches over moves of one item."""
        random = np.random.Generator(np.random.PCG64(seed))
        margins = self.weights - self.weights.T
        best = _improved(margins, np.argsort(-margins.sum(axis=1), kind="stable"), expired)
        for start in range(_RESTARTS):
            if expired():
                break
            moved = best.copy()
            for _ in range(2 + start % max(2, self.n // 4)):
                taken, put = random.integers(0, self.n, 2)
                moved = _moved(moved, int(taken), int(put))
            moved = _improved(margins, moved, expired)
            if self.evaluate(moved) <= self.evaluate(best):
                best = moved
        return best


def _moved(order: NDArray[np.int64], taken: int, put: int) -> NDArray[np.int64]:
    """The order with the item at one position moved to another."""
    return np.insert(np.delete(order, taken), put, order[taken])


def _improved(margins: NDArray[np.int64], order: NDArray[np.int64], expired: Callable[[], bool]) -> NDArray[np.int64]:
    """The best move of one item to another position again and again, until none is better."""
    places = np.arange(len(order))
    later = places[None, :] > places[:, None]
    while not expired():
        sums = np.cumsum(margins[np.ix_(order, order)], axis=1)
        own = np.diag(sums)[:, None]
        ahead = np.hstack([np.zeros((len(order), 1), np.int64), sums[:, :-1]])
        growth = np.where(later, sums - own, ahead - own)  # of the objective, by position and new position
        best = int(growth.argmin())
        if growth.flat[best] >= 0:
            break
        order = _moved(order, *divmod(best, len(order)))
    return order


class _Packing(NamedTuple):
    cycles: NDArray[np.int64]  # of three items, shape (cycles, 3)
    weights: NDArray[np.int64]


class LinearOrderingTree(Tree):
    """Items are placed from the front. State: the bound, the open items, and those placed, in order."""

    def __init__(self, weights: NDArray[np.int64]) -> None:
        self.items = n = len(weights)
        self.leaf_depth = n - 1
        self._weights = weights
        self._margins = weights - weights.T
        self._arcs = np.maximum(self._margins, 0)
        self._lost = int(np.triu(np.minimum(weights, weights.T), 1).sum())

    @cached_property
    def _all(self) -> NDArray[np.int64]:
        return cycles_of(self._arcs)

    @cached_property
    def _packing(self) -> _Packing:
        """A greedy one, unless another is set."""
        return self._of_all(greedy_packing(self._arcs, self._all))

    def _of_all(self, weights: NDArray[np.int64]) -> _Packing:
        return _Packing(self._all[weights > 0], weights[weights > 0])

    @override
    def prepare(self, expired: Callable[[], bool]) -> NDArray[np.int64] | None:
        """The cycles of the packing that a linear program gives, and their weights."""
        weights = best_packing(self._arcs, self._all, expired)
        if weights is None:
            return None
        self._packing = self._of_all(weights)
        return np.column_stack(self._packing)

    @override
    def restore(self, prepared: NDArray[np.int64]) -> None:
        sound = prepared.ndim == 2 and prepared.shape[1] == 4 and (prepared >= 0).all()
        if not sound or (prepared[:, :3] >= self.items).any() or (prepared >= _LARGEST_SUM).any():
            raise ValueError(f"the packing of cycles is not one of {self.items} items")
        cycles, weights = prepared[:, :3], prepared[:, 3]
        if not is_packing(self._arcs, cycles, weights):
            raise ValueError("the packing of cycles takes more of an arc than there is")
        self._packing = _Packing(cycles, weights)

    def _excesses(self, is_open: NDArray[np.bool_]) -> NDArray[np.int64]:
        """What the bound grows by when each item is placed next, of those that are open; shape (n,)."""
        found: NDArray[np.int64] = is_open.astype(np.int64) @ self._arcs
        cycles, weights = self._packing
        whole = is_open[cycles].all(axis=1)
        np.subtract.at(found, cycles[whole], weights[whole, None])
        return found

    @override
    def bound_of(self, path: Sequence[int]) -> int:
        """The bound of a node, from the definition."""
        is_open = np.ones(self.items, np.bool_)
        value = self._lost
        for item in path:
            is_open[item] = False
            value += int(self._arcs[is_open, item].sum())
        cycles, weights = self._packing
        return value + int(weights[is_open[cycles].all(axis=1)].sum())

    @override
    def device(self, capabilities: Capabilities) -> DeviceTree:
        n, (cycles, weights) = self.items, self._packing
        excesses = self._excesses(np.ones(n, np.bool_))
        head = [*self._margins.ravel().tolist(), *excesses.tolist(), self.bound_of(())]
        of_item: list[list[int]] = [[] for _ in range(n)]
        for members, weight in zip(cycles.tolist(), weights.tolist(), strict=True):
            for at, item in enumerate(members):
                first, second = members[at - 1], members[at - 2]
                of_item[item] += [first + 256 * second, weight]
        starts = len(head) + n + 1 + np.cumsum([0, *map(len, of_item)])
        table = np.array([*head, *starts.tolist(), *(word for words in of_item for word in words)], np.int32)
        name = "branch_and_bound/linear_ordering"
        return DeviceTree(name, "", {}, table, False, retract=True, threads_per_unit=_THREADS)

    @override
    def root(self) -> tuple[int, tuple[int, ...]]:
        return self.bound_of(()), ()

    @override
    def place(self, state: Any, depth: int, item: int, side: int) -> tuple[int, tuple[int, ...]]:
        path = (*state[1], item)
        return self.bound_of(path), path

    @override
    def bound(self, state: Any, depth: int, open_items: Sequence[int], upper: int, initial: int) -> Kept:
        """Also without items that are better placed further ahead."""
        value, path = state
        is_open = np.zeros(self.items, np.bool_)
        is_open[list(open_items)] = True
        values = value + self._excesses(is_open)
        margins = self._margins[:, list(reversed(path))]
        gains = np.cumsum(margins, axis=1).max(axis=1, initial=0)
        return 0, [item for item in open_items if values[item] < upper and gains[item] <= 0]

    @override
    def leaf(self, state: Any, open_items: Sequence[int]) -> int:
        """The last item has none behind it."""
        return int(state[0])

    @override
    def lower_bound(self) -> int:
        return self.bound_of(())

    def evaluate(self, solution: NDArray[np.int64]) -> int:
        """The sum below the diagonal, from the matrix alone."""
        return int(np.tril(self._weights[np.ix_(solution, solution)], -1).sum())
