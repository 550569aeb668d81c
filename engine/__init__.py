"""Quintet: five GPU algorithms behind one engine.

>>> import engine
>>> engine.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50)).objective
220

The problem classes, and whatever else a solver offers, are found by looking in :mod:`engine.solvers` when first asked
for. A backend's package is imported when a device of it is.
"""

from __future__ import annotations

from typing import Any

from engine import errors
from engine.api import Engine, devices, resume, solve, solvers
from engine.results import Result, Status

__all__ = ["Engine", "Result", "Status", "__version__", "devices", "errors", "resume", "solve", "solvers"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from engine.folder import version

        return version()
    if not name.startswith("_"):
        from engine.solvers import Later, public_names

        offered = public_names()
        if name in offered:
            found = offered[name]
            return found.load() if isinstance(found, Later) else found
    raise AttributeError(f"module 'engine' has no attribute {name!r}")


def __dir__() -> list[str]:
    from engine.solvers import public_names

    return sorted({*globals(), *__all__, *public_names()})
