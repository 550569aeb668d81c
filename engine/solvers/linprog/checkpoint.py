"""Checkpoints of linear programs: what the methods save, and the checks of what is restored."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext
from ...errors import RunFolderError
from .forms.standard import Prepared
from .interior.driver import Counters
from .methods.base import Method
from .methods.interior import InteriorMethod
from .methods.pdhg import PdhgMethod
from .options import Options
from .problem import LinearProgram
from .schema import SCHEMA, CheckpointState, Form, has_interior, has_pdhg

Restored = tuple[dict[str, NDArray[Any]], CheckpointState]

_ARRAYS = () if SCHEMA.checkpoint is None else SCHEMA.checkpoint.arrays
_ITERATES: dict[type[Method], tuple[Callable[[CheckpointState], bool], tuple[str, ...]]] = {
    InteriorMethod: (has_interior, ("interior", "iteration", "last_step")),
    PdhgMethod: (has_pdhg, ("pdhg", "pdhg_iteration", "pdhg_weight")),
}
"""Whether each method has saved an iterate, and the scalars of it; the schema names the arrays."""


def restore(run: RunContext) -> Restored | None:
    """The checkpoint that a run resumes from, if it does."""
    if run.restored is None:
        return None
    state = run.restored.state
    checked = state if isinstance(state, CheckpointState) else CheckpointState.model_validate(state)
    return run.restored.arrays, checked


def audit(restored: Restored, prepared: Prepared, program: LinearProgram, options: Options) -> None:
    """Refuse a checkpoint that does not belong to the program after presolve."""
    arrays, state = restored
    sizes = state.rows, state.variables
    if sizes != (prepared.standard.m, prepared.standard.n):
        raise RunFolderError(
            f"the checkpoint is of a program with {sizes[0]} rows and {sizes[1]} variables after presolve; "
            f"this one has {prepared.standard.m} and {prepared.standard.n}"
        )
    for done, most in ((state.iteration, options.max_iterations), (state.pdhg_iteration, options.pdhg_iterations)):
        if done > most:
            raise RunFolderError(f"the checkpoint is of iteration {done}; the run has at most {most}")
    standard = prepared.standard
    shape = standard.n + int(np.count_nonzero(standard.sign)), standard.m
    if state.interior and (arrays["x"].shape[1], arrays["y"].shape[1]) != shape:
        raise RunFolderError("the iterate of the checkpoint does not fit the program and the options")
    free = np.concatenate([standard.free, np.zeros(shape[0] - standard.n, bool)])
    if state.interior and not ((arrays["x"] > 0) | free).all():
        raise RunFolderError("the iterate of the checkpoint is not inside the bounds")
    if state.pdhg and (arrays["pdhg_x"].size, arrays["pdhg_y"].size) != (program.n, program.m):
        raise RunFolderError("the PDHG iterate of the checkpoint does not fit the program")


def save(
    methods: Sequence[Method],
    ended: Sequence[Method],
    form: Form,
    counters: Counters,
    history: list[list[float]],
    pdhg_alone: bool,
    restored: Restored | None = None,
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and state of a checkpoint."""
    arrays: dict[str, NDArray[Any]] = {}
    interior = next((method for method in methods if isinstance(method, InteriorMethod)), None)
    pdhg = next((method for method in methods if pdhg_alone and isinstance(method, PdhgMethod)), None)
    state: dict[str, Any] = {
        "form": form,
        "rows": counters["rows"],
        "variables": counters["variables"],
        "interior": False,
        "iteration": 0,
        "pdhg": False,
        "pdhg_iteration": 0,
        "pdhg_weight": 1.0,
    }
    rows = list(history)
    if restored is not None:
        begun, (given, before) = [*methods, *ended], restored
        for kind, (has_iterate, scalars) in _ITERATES.items():
            if has_iterate(before) and not any(isinstance(method, kind) for method in begun):
                arrays |= {spec.name: given[spec.name] for spec in _ARRAYS if spec.required_if is has_iterate}
                state |= {name: getattr(before, name) for name in scalars}
    kept = None if interior is None else interior.save()
    if interior is not None and kept is not None:
        iterate, made = kept
        state |= {name: made[name] for name in ("iteration", "last_step")} | {"interior": True}
        arrays |= iterate
        rows += [row for row in interior.history if row[0] < state["iteration"]]  # it is measured again after a resume
    measured = None if pdhg is None else pdhg.save()
    if pdhg is not None and measured is not None:
        arrays["pdhg_x"], arrays["pdhg_y"], state["pdhg_iteration"], state["pdhg_weight"] = measured
        state["pdhg"] = True
        rows += pdhg.history
    arrays["history"] = np.array(rows, np.float64).reshape(-1, 10)
    total = dict(counters)
    for method in methods:
        method.count(total)
    if interior is not None:  # those behind the iterate that is kept will be made again
        total["iterations"] = counters["iterations"]
        if kept is not None:
            total["iterations"] += interior.iterations_until(state["iteration"])
            total["factorizations"] = counters["factorizations"] + kept[1]["factorizations"]
    return arrays, state | {"counters": total}
