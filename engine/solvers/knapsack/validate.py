"""What is checked before a device is opened, and which table solves what bounds leave."""

from collections.abc import Sequence

import numpy as np

from ...devices import DeviceInfo
from ...errors import OptionError, OutOfDeviceMemory, ProblemError
from .bits import SubsetSums
from .bounded import ZeroOne
from .checks import given_solution, require_host_memory
from .dense.table import Plan, plan
from .options import Options
from .presolve import Reduced, presolve
from .problem import Knapsack
from .sparse.table import fault, preference, sparse_items

_VALIDATION_ITEMS = 50_000  # up to which a table of all items is planned before a device is opened
_SPARSE_WEIGHT = 1 << 14  # of the heaviest item, below which a sparse table soon is a dense one
_BIT_SECONDS = 2.0  # estimated, of a row of bits that is preferred to other tables
_SMALL_CELLS = {True: 7e9, False: 5e7}  # for each device: of a dense table that is not worth a sparse one, by `simt`


def validate(problem: Knapsack, options: Options, devices: Sequence[DeviceInfo]) -> None:
    """Check what joins the problem, the options and the devices."""
    given_solution(problem, options.initial)
    packs = packs_of(problem, options)
    problem = packs.problem
    fits = (problem.weights <= problem.capacity) & (problem.profits > 0)
    if options.profile:
        require_host_memory(
            8 * (problem.capacity * packs.divisor + 1), "the profile of every capacity", "set profile = false"
        )
    all_fit = int(problem.weights[fits].sum()) <= problem.capacity
    if (options.profile or not all_fit) and int(problem.profits[fits].sum()) >= 2**61:
        raise ProblemError("the sum of profits must be below 2^61 for 64-bit values")
    if options.profile and fits.any():
        if options.variant in ("sparse", "bits"):
            raise OptionError(f"the profile needs a dense table; variant must not be {options.variant}")
        short = plan(problem, options, undecided(problem), devices, profile=True).shortage(devices)
        if short is not None:
            raise OutOfDeviceMemory(f"{short}; add devices, or set profile = false")
    if not all_fit and not options.reduce and problem.n <= _VALIDATION_ITEMS:  # else the run finds out
        reduced = presolve(problem, reduce=False)
        if not reduced.solved:
            choose_table(problem, options, reduced, devices)


def packs_of(problem: Knapsack, options: Options) -> ZeroOne:
    """The 0/1 problem to solve; a table that the user has chosen is made of the items as they are."""
    return ZeroOne.of(problem, merge=options.reduce and options.variant == "auto" and not options.profile)


def undecided(problem: Knapsack) -> Reduced:
    """All items that fit and bring something, none decided."""
    items = np.flatnonzero((problem.weights <= problem.capacity) & (problem.profits > 0)).astype(np.int64)
    return Reduced(items[:0], items, problem.capacity, items[:0], 0, int(problem.profits[items].sum()))


def choose_table(
    problem: Knapsack, options: Options, reduced: Reduced, devices: Sequence[DeviceInfo]
) -> tuple[Plan | SubsetSums | None, str]:
    """The plan of the dense table or the row of bits, or None for the sparse table, and why; raises if none fits."""
    sums = SubsetSums.of(problem, reduced) if options.variant in ("auto", "bits") else None
    if options.variant == "bits":
        if sums is None:
            raise OptionError("variant = bits needs profits in proportion to the weights")
        if all(sums.shortage(info) is not None for info in devices):
            raise OutOfDeviceMemory(f"{sums.shortage(devices[0])}; add a device with more memory")
        return sums, "chosen by the option variant"
    fitting = [] if sums is None else [info for info in devices if sums.shortage(info) is None]
    if sums is not None and fitting and min(map(sums.seconds, fitting)) <= _BIT_SECONDS:
        return sums, "since profits are in proportion to weights"
    if options.variant == "sparse":
        items = sparse_items(problem, reduced)
        no_sparse = fault(items, min(devices, key=preference))
        if no_sparse is not None:
            raise (OutOfDeviceMemory if items.fits else OptionError)(f"the sparse table is impossible: {no_sparse}")
        return None, "chosen by the option variant"
    dense = plan(problem, options, reduced, devices)
    short = dense.shortage(devices)
    if short is None:
        if options.variant != "auto":
            return dense, "chosen by the option variant"
        if dense.cost <= sum(_SMALL_CELLS[info.capabilities.simt] for info in devices):
            return dense, f"chosen for the work of few cells ({dense.cost:.2g})"
        if int(problem.weights[reduced.open].max()) < _SPARSE_WEIGHT:
            return dense, "since light items reach every capacity"
    items = sparse_items(problem, reduced)
    no_sparse = fault(items, min(devices, key=preference))
    if short is not None:
        if options.variant != "auto" or no_sparse is not None:
            instead = ', or set variant = "sparse"' if no_sparse is None else ""
            raise OutOfDeviceMemory(f"{short}; add devices{instead}")
        return None, "since a dense table does not fit the devices"
    if no_sparse is not None:
        return dense, f"since a sparse table is impossible: {no_sparse}"
    return None, f"since a dense table has the work of {dense.cost:.2g} cells"
