"""What a branch-and-bound search needs to know of a problem: its tree of partial permutations.

A node at depth d has chosen d of ``items`` items; its children choose one more, tried in ascending order. Where a
problem builds its permutation from both ends, a node also chooses a *side* for all of its children (0 front, 1 back),
which must be a function of the node and of the initial upper bound alone: only then do intervals of the tree mean the
same on every device and after a restart.

Every tree exists twice: here in plain Python and NumPy, as the *reference* that the tests search with, and as a kernel
template with the functions ``init``, ``place``, ``bound`` and ``leaf`` (see ``kernels/branch_and_bound/explore.mako``).
A set of more than 64 items is two words there, which only the macros of ``masks.mako`` take apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ...base.problem import Problem
from ...errors import OptionError, ProblemError

if TYPE_CHECKING:
    from ...devices import Capabilities, Device

__all__ = [
    "INFINITY",
    "LARGEST_TREE",
    "CooperativeTree",
    "DeviceTree",
    "Improver",
    "PermutationProblem",
    "Tree",
    "require_permutation",
]

INFINITY = 2**31 - 1
"""The upper bound that excludes nothing."""

LARGEST_TREE = 128
"""Items that a set of two machine words holds."""


@dataclass(frozen=True)
class CooperativeTree:
    """A tree's kernels in which a work-group is one IVM and its work-items bound a node's children cooperatively.

    Attributes
    ----------
    template : str
        Name under ``kernels/`` of a file with kernels ``explore`` and ``initialize`` as those of ``explore.mako``.
    constants : dict
        What it is rendered with, besides ``items``, ``leaf_depth``, ``mask``, ``lanes`` and ``groups_per_unit``.
    table : ndarray of int32, shape (words,)
        The instance, as the kernels read it.
    lanes : int
        Work-items a group, on devices whose work-items run in lanes.
    local_bytes, registers : int
        What a group keeps in local memory, and a work-item in registers.
    workspace_words : int
        32-bit words of device memory that an IVM needs besides, passed to the kernels as ``workspace``; 0 if none.
    """

    template: str
    constants: dict[str, Any]
    table: NDArray[np.int32]
    lanes: int
    local_bytes: int
    registers: int
    workspace_words: int = 0


@dataclass(frozen=True)
class DeviceTree:
    """A tree's functions for kernels, for one kind of device.

    Attributes
    ----------
    template : str
        Name under ``kernels/`` of the file with the problem's functions; empty if ``source`` holds them.
    source : str
        The functions themselves, as a Mako template of C in the common dialect.
    constants : dict
        What the template is rendered with, besides ``items``, ``leaf_depth`` and ``mask``.
    table : ndarray of int32, shape (words,)
        The instance, as the functions read it; copied to local memory where ``local_table`` says so.
    retract : bool
        Whether the functions include ``retract``, the inverse of ``place``.
    saved_words : int
        32-bit words that the functions ``save`` and ``restore`` write and read; 0 if there are no such functions.
    child_bounds : bool
        Whether the functions include ``child_bounds``, which variant ``pte_peb`` needs.
    refines : bool
        Whether the functions include ``refine``, which prunes the children that are left by a costlier bound.
    threads_per_unit : int
        IVMs that a multiprocessor of a GPU should hold: more hide waiting, fewer leave more registers to each.
    poll : int
        Nodes, a power of two, between two checks whether others have run out of work; with ``subtree_levels``, nodes
        above those levels.
    subtree_levels : int
        How many of the last levels are searched by the functions ``enter_subtree`` and ``step_subtree``, in one go and
        without an entry in the IVM; 0 if there are no such functions.
    cooperative : CooperativeTree or None
        Kernels that replace those of ``explore.mako``.
    """

    template: str
    source: str
    constants: dict[str, Any]
    table: NDArray[np.int32]
    local_table: bool
    retract: bool = False
    saved_words: int = 0
    child_bounds: bool = False
    refines: bool = False
    threads_per_unit: int = 1024
    poll: int = 16
    subtree_levels: int = 0
    cooperative: CooperativeTree | None = None


class Improver(Protocol):
    """A search for better solutions on one device, on its thread."""

    def better(self, seconds: float, below: int, halted: Callable[[], bool]) -> tuple[int, tuple[int, ...]] | None:
        """Search for some seconds, or until ``halted``: value and path, all in front, of a leaf below a value."""

    def close(self) -> None:
        """Free the device's memory."""


class Tree(ABC):
    """The search tree of one instance under one bound and branching rule.

    Attributes
    ----------
    items : int
        Items to permute, 1 to :data:`LARGEST_TREE`.
    leaf_depth : int
        Depth at which a node is a leaf: ``items``, or ``items - 1`` where the last item leaves no choice.
    counts : bool
        Whether leaves are counted instead of minimised over.
    counts_below : bool
        Whether a leaf counts as one if its value is below the initial upper bound; else it counts as much as its value.
    improved : bool
        Whether better solutions are searched for beside the tree (see :meth:`improver`).
    """

    items: int
    leaf_depth: int
    counts: bool = False
    counts_below: bool = False
    improved: bool = False

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
        """The reference's state of a child; ``state`` itself is not changed.

        Parameters
        ----------
        state : object
            As :meth:`root` and this method return it.
        depth : int
            Items chosen before.
        side : int
            0 front, 1 back.
        """

    @abstractmethod
    def bound(
        self, state: Any, depth: int, open_items: Sequence[int], upper: int, initial: int
    ) -> tuple[int, list[int]]:
        """The side on which a node is branched, and the items, ascending, whose children are not pruned.

        A child is pruned when its lower bound is at least ``upper``; ``initial`` is the initial upper bound.

        Parameters
        ----------
        state : object
            As :meth:`place` returns it.
        depth : int
            Items chosen so far.
        open_items : sequence of int
            The others, ascending.
        upper : int
            The best value known.
        initial : int
            The initial upper bound, on which the side may depend.
        """

    @abstractmethod
    def leaf(self, state: Any, open_items: Sequence[int]) -> int:
        """The objective of a leaf, or how many solutions it stands for.

        Parameters
        ----------
        state : object
            As :meth:`place` returns it, at ``leaf_depth``.
        open_items : sequence of int
            Those that are left, at most one.
        """

    @abstractmethod
    def lower_bound(self) -> int:
        """A proven bound on the objective, from the root."""

    def prepare(self, expired: Callable[[], bool]) -> NDArray[np.int64] | None:
        """Strengthen the bounds by what takes a while to find; called before a search that needs it, at most once.

        A checkpoint keeps what is returned, so that a search goes on with the same bounds.

        Parameters
        ----------
        expired : callable
            As for :meth:`PermutationProblem.first_solution`.

        Returns
        -------
        ndarray of int64, two-dimensional, or None
            What :meth:`restore` takes; None, which is the default, if there is nothing to find, or time is up.
        """
        return None

    def restore(self, prepared: NDArray[np.int64]) -> None:
        """Take over what :meth:`prepare` of another tree of the same problem has found.

        Raises
        ------
        ValueError
            If it is not of this tree.
        """
        raise ValueError("the bounds of this tree are not prepared")

    def bounds(self, paths: NDArray[np.int64], sides: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Lower bounds of nodes, for the proven bound that a run shows while it searches.

        Any valid bounds will do; they need not be those that the kernels prune by.

        Parameters
        ----------
        paths, sides : ndarray of int64, shape (nodes, depth)
            The items that lead to each node, and on which sides they are placed; ``depth`` may be 0.

        Returns
        -------
        ndarray of int64, shape (nodes,), or None
            None, which is the default, where there are no such bounds: then :meth:`lower_bound` is shown to the end.
        """
        return None

    def strata(self, paths: NDArray[np.int64], sides: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Strata of the nodes of one level, large subtrees apart from small ones, for estimates of its size.

        Parameters
        ----------
        paths, sides : ndarray of int64, shape (nodes, depth)
            As for :meth:`bounds`.

        Returns
        -------
        ndarray of int64, shape (nodes,), or None
            As of :meth:`bounds`, which is the default.
        """
        return self.bounds(paths, sides)

    def improver(self, device: Device, seed: int, rank: int) -> Improver | None:
        """A search for better solutions, to run on a device beside the search of the tree; None, the default, if none.

        Parameters
        ----------
        rank : int
            Of the device in the pool.
        """
        return None

    @abstractmethod
    def solution(self, path: Sequence[int], sides: Sequence[int]) -> NDArray[np.int64]:
        """The problem's own form of the leaf reached by choosing ``path`` on ``sides``, ``leaf_depth`` entries each.

        Parameters
        ----------
        path, sides : sequence of int, length leaf_depth
            The items chosen, and on which sides they are placed.
        """

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
        """Whether a file looks like an instance; False for problems that are only made in Python.

        See :meth:`Problem.recognizes`.
        """
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
        """A solution that the user gives, checked; by default a permutation of the tree's items.

        Parameters
        ----------
        values : sequence of int
            The value of the option ``initial``.

        Raises
        ------
        engine.errors.OptionError
            If it is not a solution.
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
        expired : callable
            Whether the run's time is up, or it is to stop: then the best solution so far is returned soon. It may wait
            while the run is paused.
        """
        return None


def require_permutation(values: Sequence[int], count: int) -> NDArray[np.int64]:
    """The values as an array, if they are 0 to ``count - 1`` in any order; :class:`OptionError` otherwise.

    Returns
    -------
    ndarray of int64, shape (count,)

    Raises
    ------
    engine.errors.OptionError
        If they are not each of 0 to ``count - 1`` once.
    """
    if sorted(values) != list(range(count)):
        raise OptionError(f"initial must have each of 0 to {count - 1} once; got {len(values)} values")
    return np.array(values, np.int64)
