"""Who factorises the normal equations of a sparse program, by predicted seconds.

The rates were measured on an H200 and its host, for factors of 1e7 to 1e11 multiplications.
"""

from __future__ import annotations

from typing import Literal

from engine.devices import Capabilities
from engine.devices.host import host_cores
from engine.solvers.linprog.interior.sparse_cholesky import has_rslab
from engine.solvers.linprog.multifrontal.plan import Plan
from engine.solvers.linprog.multifrontal.symbolic import Fronts

__all__ = ["Choice", "fastest", "is_surely_dense"]

Choice = Literal["device", "host", "dense"]

_LAUNCH = 1.5  # times the host's cost of a launch: what one of a front's kernels takes
_LEAST_LAUNCHES = 30  # of a sparse factor worth while
_FRONT_RATE = 2e10  # multiplications a second of a multiprocessor, in fronts
_DENSE_RATE = 1.2e11  # and in a dense factor
_DENSE_SECONDS = 2e-4
_RSLAB_SECONDS, _RSLAB_RATE, _RSLAB_CORES = 3e-3, 6e9, 4  # a core's rate, and cores at work by default
_SUPERLU_SECONDS, _SUPERLU_RATE = 1e-3, 1e9


def _dense_seconds(rows: int, device: Capabilities) -> float:
    return _DENSE_SECONDS + rows**3 / 3 / (_DENSE_RATE * device.compute_units)


def is_surely_dense(rows: int, device: Capabilities) -> bool:
    """Whether a dense factor of so many rows takes no longer than a sparse one at best: not worth an analysis.

    Parameters
    ----------
    rows : int
    device : Capabilities
    """
    return _dense_seconds(rows, device) <= _LAUNCH * device.launch_cost * _LEAST_LAUNCHES


def fastest(fronts: Fronts, plan: Plan, device: Capabilities, dense_fits: bool) -> Choice:
    """Who is predicted to need the least time for a factorization.

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
    With ``L`` launches of ``c`` seconds and ``w`` multiplications, the device takes ``1.5 c L + w / (2e10 units)``; a
    dense factor of m rows takes ``2e-4 + m^3 / 3 / (1.2e11 units)``.
    """
    if not device.simt:
        return "host"
    work, units = fronts.multiplications, device.compute_units
    seconds: dict[Choice, float] = {
        "device": _LAUNCH * device.launch_cost * plan.launches + work / (_FRONT_RATE * units),
        "host": _SUPERLU_SECONDS + work / _SUPERLU_RATE,
    }
    if has_rslab():
        cores = min(_RSLAB_CORES, host_cores())
        seconds["host"] = _RSLAB_SECONDS + work / (_RSLAB_RATE * cores)
    if dense_fits:
        seconds["dense"] = _dense_seconds(fronts.order.size, device)
    return min(seconds, key=seconds.__getitem__)
