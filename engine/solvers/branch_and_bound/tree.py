"""What a branch-and-bound search needs to know of a problem: its tree of partial permutations.

A node at depth d has chosen d of ``items`` items; its children choose one more, tried in ascending order. Where a
problem builds its permutation from both ends, a node also chooses a *side* for all of its children (0 front, 1 back),
which must be a function of the node and of the initial upper bound alone: only then do intervals of the tree mean the
same on every device and after a restart.

Every tree exists twice: here in plain Python and NumPy, as the *reference* that the tests search with, and as a kernel
template with the functions ``init``, ``place``, ``bound`` and ``leaf`` (see ``kernels/branch_and_bound/explore.mako``).
A set of more than 64 items is several words there, which only the macros of ``masks.mako`` take apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...base.problem import Problem
from ...errors import OptionError, ProblemError

if TYPE_CHECKING:
    from ...devices import Capabilities, Device
    from .heuristics.chains import ScheduleSearch

INFINITY = 2**31 - 1
"""The upper bound that excludes nothing."""

LARGEST_TREE = 128
"""Items that a set of two machine words holds."""

LARGEST_FLOWSHOP = 1024
"""Jobs of the flowshop, whose sets may have up to 16 words."""

Kept = tuple[int, list[int]]
"""The side on which a node is branched, and the items, ascending, whose children are not pruned."""


@dataclass(frozen=True)
class CooperativeTree:
    """A tree's kernels in which a work-group is one IVM and its work-items bound a node's children cooperatively."""

    template: str  # with kernels of the names and arguments of those of explore.mako
    constants: dict[str, Any]  # besides items, leaf_depth, mask, lanes and groups_per_unit
    table: NDArray[np.int32]  # the instance, shape (words,)
    lanes: int  # work-items a group, on devices whose work-items run in lanes
    local_bytes: int  # of a group
    registers: int  # of a work-item
    workspace_words: int = 0  # 32-bit words of device memory that an IVM needs besides, passed as `workspace`


@dataclass(frozen=True)
class DeviceTree:
    """A tree's functions for kernels, for one kind of device."""

    template: str  # the file under kernels/ with the functions; empty if `source` holds them
    source: str  # the functions, as a Mako template of C in the common dialect
    constants: dict[str, Any]  # for the template, besides items, leaf_depth and mask
    table: NDArray[np.int32]  # the instance, shape (words,)
    local_table: bool  # whether the table is copied to local memory
    retract: bool = False  # whether there is `retract`, the inverse of `place`
    saved_words: int = 0  # 32-bit words that `save` and `restore` write and read; 0 without these functions
    child_bounds: bool = False  # whether there is `child_bounds`, which variant pte_peb needs
    refines: bool = False  # whether there is `refine`, which prunes children that are left by a costlier bound
    threads_per_unit: int = 1024  # IVMs a multiprocessor: more hide waiting, fewer leave more registers to each
    poll: int = 16  # nodes, above subtree_levels, between two looks for idle IVMs; a power of two
    subtree_levels: int = 0  # last levels searched by `enter_subtree` and `step_subtree`, without an entry in the IVM
    cooperative: CooperativeTree | None = None  # kernels that replace those of explore.mako


class Tree(ABC):
    """The search tree of one instance under one bound and branching rule.

    The states of nodes are those of the reference. A child is pruned when its bound is at least ``upper``; ``initial``
    is the initial upper bound, the only one that a side may depend on. Open items are in ascending order, and nodes
    are given by ``paths``, the items that lead to them, and ``sides``, both of shape (nodes, depth).
    """

    items: int  # 1 to LARGEST_TREE, of the flowshop to LARGEST_FLOWSHOP
    leaf_depth: int  # `items`, or one less where the last item leaves no choice
    counts: bool = False  # whether leaves are counted instead of minimised over
    counts_below: bool = False  # whether a leaf below `initial` counts as one; else it counts as much as its value
    improved: bool = False  # whether better solutions are searched for beside the tree
    known: NDArray[np.int64] | None = None  # the solution from which they are, where not from new ones

    @abstractmethod
    def device(self, capabilities: Capabilities) -> DeviceTree:
        """The kernel functions for a device: those that decompose a node."""

    def child_functions(self, capabilities: Capabilities) -> DeviceTree | None:
        """The kernel functions that bound one child per work-item (variant ``pte_peb``); None if there are none."""
        found = self.device(capabilities)
        return found if found.child_bounds else None

    @abstractmethod
    def root(self) -> Any:
        """The reference's state of the root."""

    @abstractmethod
    def place(self, state: Any, depth: int, item: int, side: int) -> Any:
        """The reference's state of a child; ``state`` itself is not changed."""

    @abstractmethod
    def bound(self, state: Any, depth: int, open_items: Sequence[int], upper: int, initial: int) -> Kept:
        """Decompose a node."""

    @abstractmethod
    def leaf(self, state: Any, open_items: Sequence[int]) -> int:
        """The objective of a leaf, or how many solutions it stands for."""

    @abstractmethod
    def lower_bound(self) -> int:
        """A proven bound on the objective, from the root."""

    def prepare(self, expired: Callable[[], bool]) -> NDArray[np.int64] | None:
        """Strengthen the bounds by what takes a while to find; called before a search that needs it, at most once.

        A checkpoint keeps what is returned, a matrix, so that a search goes on with the same bounds. None if there is
        nothing to find, or time is up.
        """
        return None

    def restore(self, prepared: NDArray[np.int64]) -> None:
        """Take over what :meth:`prepare` of another tree of the same problem has found; ValueError if it has not."""
        raise ValueError("the bounds of this tree are not prepared")

    def bounds(self, paths: NDArray[np.int64], sides: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Valid lower bounds of nodes, for the proven bound that a run shows; not always those that kernels prune by.

        None where there are none: then :meth:`lower_bound` is shown to the end. By default those of :meth:`bound_of`.
        """
        found = [self.bound_of(path) for path in paths.tolist()]
        return None if None in found else np.array(found, np.int64)

    def bound_of(self, path: Sequence[int]) -> int | None:
        """A valid lower bound of one node of a tree without sides; None, the default, if there is none."""
        return None

    def strata(self, paths: NDArray[np.int64], sides: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Strata of the nodes of one level, large subtrees apart from small ones, for estimates of its size."""
        return self.bounds(paths, sides)

    def improver(self, device: Device, seed: int, rank: int) -> ScheduleSearch | None:
        """A search for better solutions on a device, of some rank in the pool, beside that of the tree."""
        return None

    def solution(self, path: Sequence[int], sides: Sequence[int]) -> NDArray[np.int64]:
        """The problem's own form of a leaf, by default the items in order; both have ``leaf_depth`` entries."""
        front = [item for item, side in zip(path, sides, strict=True) if side == 0]
        back = [item for item, side in zip(path, sides, strict=True) if side == 1]
        middle = sorted(set(range(self.items)) - set(path))
        return np.array([*front, *middle, *reversed(back)], np.int64)

    @abstractmethod
    def evaluate(self, solution: NDArray[np.int64]) -> int:
        """The objective of a solution, from the instance alone."""


class PermutationProblem(Problem):
    """A problem whose solutions are permutations, searched by branch and bound.

    Besides what every problem defines, a subclass makes its :meth:`tree`. Subclasses written elsewhere are
    solved like the ones here (see ``samples/branch_and_bound/assignment.py``).

    Examples
    --------
    >>> import engine
    >>> problem = engine.Flowshop([[3, 2, 4], [1, 2, 1]])
    >>> isinstance(problem, engine.PermutationProblem)
    True
    >>> tree = problem.tree(bound="two_machine")
    >>> tree.items
    3
    >>> problem.given_solution([1, 2, 0])
    array([1, 2, 0])
    """

    sense: ClassVar[str] = "minimize"
    optimum: int | None = None
    brief_steps: int | None = None
    """How often :meth:`first_solution` asks whether its time is up until its solution is good enough for a search on
    GPUs; None if it is to come to its end."""

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file looks like an instance; False for problems that are only made in Python."""
        return False

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read an instance; an error for problems that are only made in Python."""
        raise ProblemError(f"a {cls.__name__} is not read from files", path)

    @abstractmethod
    def tree(self, bound: str = "auto", branching: str = "auto") -> Tree:
        """The search tree under a bound and a branching rule, ``"auto"`` for the problem's default.

        Called with whichever of the two the problem's options model has.

        Parameters
        ----------
        bound, branching : str
            Values of the options of these names.

        Raises
        ------
        engine.errors.OptionError
            If the problem has no such bound or rule.
        engine.errors.ProblemError
            If the tree has more items than masks hold.
        """

    def only_solution(self) -> tuple[int, NDArray[np.int64] | None] | None:
        """Value and solution of a problem so small that there is nothing to search; None for others.

        Where solutions are counted, their number and None.
        """
        return None

    def given_solution(self, values: Sequence[int]) -> NDArray[np.int64]:
        """The value of the option ``initial`` as a solution, by default a permutation of the tree's items.

        :class:`OptionError` if it is none.
        """
        return require_permutation(values, self.tree().items)

    def first_solution(
        self, method: str, seed: int, expired: Callable[[], bool] = lambda: False
    ) -> NDArray[np.int64] | None:
        """A good solution to start from, or None.

        Parameters
        ----------
        method : str
            The value of the option ``initial``.
        seed : int
            Of what is random in it.
        expired : callable
            Whether the run's time is up, or it is to stop: then the best solution so far is returned soon. It may wait
            while the run is paused.
        """
        return None


def require_permutation(values: Sequence[int], count: int) -> NDArray[np.int64]:
    """The values as an array, if they are 0 to ``count - 1`` in any order; :class:`OptionError` otherwise."""
    if sorted(values) != list(range(count)):
        wrong = next((value for at, value in enumerate(values) if value in values[:at] or not 0 <= value < count), None)
        found = f"{len(values)} values" if wrong is None else f"{wrong} twice" if 0 <= wrong < count else str(wrong)
        raise OptionError(f"initial must have each of 0 to {count - 1} once; got {found}")
    return np.array(values, np.int64)
