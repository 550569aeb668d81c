"""Every rule that joins problem, options and devices, checked before a device is opened."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...devices import DeviceInfo
from ...devices.info import bytes_text
from ...errors import OptionError, OutOfDeviceMemory, ProblemError
from .heuristics.greedy import MOST_JOBS, MOST_MACHINES, greedy_shape
from .heuristics.search import is_searched
from .options import Options
from .problems.flowshop import Flowshop
from .search.programs import shapes_for
from .search.stealing import VictimSelection
from .tree import LARGEST_FLOWSHOP, PermutationProblem, Tree


def tree_of(problem: PermutationProblem, options: Options) -> Tree:
    """The search tree that the options ask for."""
    names = ("bound", "branching")
    return problem.tree(**{name: getattr(options, name) for name in names if hasattr(options, name)})


def planned_bytes(tree: Tree, options: Options, device: DeviceInfo) -> tuple[int, int]:
    """Device memory of a search on one device, and how many IVMs it is for."""
    device_tree = tree.device(device.capabilities)
    shapes = shapes_for(device.capabilities, tree, device_tree, options.ivms)
    cooperative = device_tree.cooperative
    table = device_tree.table if cooperative is None else cooperative.table
    return shapes.bytes_for(tree) + table.nbytes, shapes.ivms


def validate(problem: PermutationProblem, options: Options, devices: Sequence[DeviceInfo]) -> None:
    """Check that a problem can be searched with these options on these devices."""
    only = problem.only_solution()
    if only is not None:
        _require_value(options, problem, lambda _: only[0])
        return
    if isinstance(problem, Flowshop) and not is_searched(problem, options):
        _validate_without_tree(problem, options, devices)
        return
    tree = tree_of(problem, options)
    if tree.counts and getattr(options, "upper_bound", None) is not None:
        raise OptionError("upper_bound has no meaning where solutions are counted")
    _require_value(options, problem, tree.evaluate)
    needed: dict[str, int] = {}
    for device in devices:
        if options.variant == "pte_peb" and tree.child_functions(device.capabilities) is None:
            raise OptionError("variant = 'pte_peb' needs a problem whose kernel functions include child_bounds")
        planned, ivms = planned_bytes(tree, options, device)
        VictimSelection.of(options, ivms)
        needed[device.id] = needed.get(device.id, 0) + planned
        if needed[device.id] > device.memory:
            raise OutOfDeviceMemory(
                f"the search with {ivms} IVMs needs {bytes_text(needed[device.id])} on {device.id}, which has "
                f"{bytes_text(device.memory)}; set ivms to fewer"
            )


def _require_value(options: Options, problem: PermutationProblem, evaluate: Callable[[NDArray[np.int64]], int]) -> None:
    """Check that ``initial`` is a solution, and of the value ``upper_bound`` where both are given."""
    initial, upper = getattr(options, "initial", ""), getattr(options, "upper_bound", None)
    if isinstance(initial, str):
        return
    value = evaluate(problem.given_solution(initial))
    if upper not in (None, value):
        raise OptionError(
            f"upper_bound must be the value of initial where both are given; got {upper} and a solution of {value}"
        )


def _validate_without_tree(problem: Flowshop, options: Options, devices: Sequence[DeviceInfo]) -> None:
    """The same for a schedule that is only improved."""
    if problem.jobs > MOST_JOBS or problem.machines > MOST_MACHINES:
        raise ProblemError(
            f"a flowshop whose tree is not searched is solved up to {MOST_JOBS} jobs and {MOST_MACHINES} machines; "
            f"{problem.name} has {problem.jobs} and {problem.machines}"
        )
    if getattr(options, "all_solutions", False):
        raise OptionError(f"all_solutions needs the exact search, which takes at most {LARGEST_FLOWSHOP} jobs")
    _require_value(options, problem, problem.evaluate)
    for device in devices:
        planned = greedy_shape(device.capabilities, problem.machines).bytes_for(problem.jobs, problem.machines)
        if planned * sum(other.id == device.id for other in devices) > device.memory:
            raise OutOfDeviceMemory(
                f"the search for schedules needs {bytes_text(planned)} on {device.id}, which has "
                f"{bytes_text(device.memory)}"
            )
