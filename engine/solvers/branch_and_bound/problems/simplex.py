"""HiGHS's dual simplex method for the linear programs that give bounds at the root."""

from __future__ import annotations

from typing import Any

__all__ = ["new_simplex"]


def new_simplex(**options: Any) -> Any:
    """A ``highspy.Highs`` that prints nothing and can be solved again after rows were added.

    The number of threads is not set: HiGHS refuses another number than this process has used before, and the method
    uses one.

    Parameters
    ----------
    **options
        Further options of HiGHS.
    """
    from ....util.quirks.highspy_banner import quiet_highs  # the package loads the devices

    return quiet_highs(**{"presolve": "off", "solver": "simplex", **options})
