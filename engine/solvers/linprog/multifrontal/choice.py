"""Who factorises the normal equations of a sparse program, by predicted seconds.

The rates were measured on an H200 and its host, for factors of 1e7 to 1e11 multiplications.
"""

from __future__ import annotations

from typing import Literal

from ....devices import Capabilities
from ....devices.host import host_cores
from ..interior.sparse_cholesky import has_rslab
from .ordering import EliminationTree
from .plan import Plan
from .symbolic import Fronts

__all__ = ["Choice", "augmented_is_faster", "dense_for_a_while", "fastest", "is_surely_dense"]

Choice = Literal["device", "host", "dense"]

_LAUNCH = 1.5  # times the host's cost of a launch: what one of a front's kernels takes
_LEAST_LAUNCHES, _LEAST_SOLUTION_LAUNCHES = 30, 10  # of a sparse factor worth while, and of a solution with it
_ANALYSIS = 2e-3  # seconds of an analysis, by the factorizations that follow
_FRONT_RATE = 2e10  # multiplications a second of a multiprocessor, in fronts
_DENSE_RATE = 6.5e10  # and in a dense factor
_DENSE_SECONDS = 2e-4
_DENSE_BLOCK = 64  # rows of a dense triangle that are solved at a time
_FOR_A_WHILE = 0.025  # most seconds of dense iterations until there is a sparse factor, after 0.1 s or more
_SOLUTIONS = 8  # with each factor
_RSLAB_SECONDS, _RSLAB_RATE, _RSLAB_CORES = 3e-3, 6e9, 4  # a core's rate, and cores at work by default
_SUPERLU_SECONDS, _SUPERLU_RATE = 1e-3, 1e9
_MOST_ON_HOST = 1.0  # seconds with an augmented system
_HOST_SOLUTION, _HOST_ENTRY = 3e-4, 2.5e-9  # seconds of a solution on the host, and of an entry of the factor in it


def _dense_seconds(rows: int, device: Capabilities) -> float:
    """Of a factorization and the solutions with it."""
    solution = device.launch_cost * rows / _DENSE_BLOCK
    return _DENSE_SECONDS + rows**3 / 3 / (_DENSE_RATE * device.compute_units) + _SOLUTIONS * solution


def is_surely_dense(rows: int, device: Capabilities) -> bool:
    """Whether a dense factor of so many rows takes little longer than a sparse one at best: not worth an analysis.

    Parameters
    ----------
    rows : int
    device : Capabilities
    """
    launches = _LAUNCH * _LEAST_LAUNCHES + _SOLUTIONS * _LEAST_SOLUTION_LAUNCHES
    return _dense_seconds(rows, device) <= device.launch_cost * launches + _ANALYSIS


def dense_for_a_while(rows: int, device: Capabilities) -> bool:
    """Whether iterations with a dense factor of so many rows are worth while until a sparse one has been analysed.

    Parameters
    ----------
    rows : int
    device : Capabilities
    """
    return _dense_seconds(rows, device) <= _FOR_A_WHILE


def augmented_is_faster(tree: EliminationTree, rows: int, device: Capabilities | None) -> bool:
    """Whether the host is predicted to need less time for an augmented system than the device for a dense factor.

    Parameters
    ----------
    tree : EliminationTree
        Of the augmented system.
    rows : int
    device : Capabilities, optional
        None if a dense factor does not fit there; the host may then take a second.
    """
    solution = 2.0 * (_HOST_SOLUTION + _HOST_ENTRY * float(tree.counts.sum()))  # each is refined
    seconds = _SUPERLU_SECONDS + tree.multiplications / _SUPERLU_RATE + _SOLUTIONS * solution
    return seconds <= (_MOST_ON_HOST if device is None else min(_MOST_ON_HOST, _dense_seconds(rows, device)))


def fastest(fronts: Fronts, plan: Plan, device: Capabilities, dense_fits: bool) -> Choice:
    """Who is predicted to need the least time for a factorization and the solutions with it.

    Parameters
    ----------
    fronts, plan
        Of the sparse factor.
    device : Capabilities
        On devices that are not ``simt`` the fronts' kernels are slow, and the host factorises.
    dense_fits : bool
        Whether a dense matrix and its factor fit on the device.

    Notes
    -----
    With ``L`` launches of ``c`` seconds and ``w`` multiplications, a factorization takes the device
    ``1.5 c L + w / (2e10 units)`` and a solution ``c`` a launch; a dense factor of m rows takes
    ``2e-4 + m^3 / 3 / (6.5e10 units)``, and ``c m / 64`` a solution.
    """
    if not device.simt:
        return "host"
    work, units, cost = fronts.multiplications, device.compute_units, device.launch_cost
    solution = _HOST_SOLUTION + _HOST_ENTRY * fronts.nonzeros
    seconds: dict[Choice, float] = {
        "device": _LAUNCH * cost * plan.launches
        + work / (_FRONT_RATE * units)
        + _SOLUTIONS * cost * plan.solution_launches,
        "host": _SUPERLU_SECONDS + work / _SUPERLU_RATE + _SOLUTIONS * solution,
    }
    if has_rslab():
        cores = min(_RSLAB_CORES, host_cores())
        seconds["host"] = _RSLAB_SECONDS + work / (_RSLAB_RATE * cores) + _SOLUTIONS * solution
    if dense_fits:
        seconds["dense"] = _dense_seconds(fronts.order.size, device)
    return min(seconds, key=seconds.__getitem__)
