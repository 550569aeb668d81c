"""What a solver's results and checkpoints contain, and the checks of it.

A solver declares one :class:`Schema`. Run folders check results and checkpoints against it when they write and when
they read; the app, the reports and the exports take titles, units and columns from it::

    SCHEMA = Schema(
        arrays=(ArraySpec("edges", "int64", ("edges", 2), title="Network edges"),),
        counters=(CounterSpec("nodes", title="Decomposed nodes", unit="nodes"),),
        history=(ColumnSpec("iteration"), ColumnSpec("gap", title="Relative gap", log=True)),
        checkpoint=CheckpointSpec(version=1, arrays=(ArraySpec("row", "integer", ("capacity",)),), state=SweepState),
    )
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from .result import Result

HISTORY = "history"
"""Name of the result array whose columns :attr:`Schema.history` describes."""

_KINDS = {"integer": "iu", "signed": "i", "unsigned": "u", "floating": "f", "number": "iuf", "text": "U", "any": None}


class SchemaError(ValueError):
    """Arrays, counters or state are not as the schema declares; the message says which and how."""


@dataclass(frozen=True)
class ArraySpec:
    """One named array of a result or a checkpoint.

    ``dtype``: a NumPy type (``"int64"``), a kind (``"integer"``, ``"signed"``, ``"unsigned"``, ``"floating"``,
    ``"number"``, ``"text"``, ``"any"``), or several of these separated by ``|``. ``shape``: for each dimension a size,
    a name (equal names are equal sizes within one result or checkpoint), or None for any size; None: any shape.
    """

    name: str
    dtype: str
    shape: tuple[int | str | None, ...] | None = None
    title: str = ""
    unit: str = ""
    optional: bool = False  # whether it may be absent
    within: tuple[float, float] | None = None  # least and greatest value of an element; NaN is not within any
    # checkpoints only: whether it is there, by the state; absent otherwise
    required_if: Callable[[Any], bool] | None = None


@dataclass(frozen=True)
class CounterSpec:
    """One counter of :attr:`engine.base.result.Result.counters`: work done in total, over all starts of a run.

    A name has one meaning over all solvers; bytes copied between devices are ``"exchanged_bytes"`` in each.
    """

    name: str
    title: str = ""
    unit: str = ""


@dataclass(frozen=True)
class ColumnSpec:
    """One column of the result array ``"history"``; ``log`` asks for a logarithmic axis."""

    name: str
    title: str = ""
    unit: str = ""
    log: bool = False


@dataclass(frozen=True)
class CheckpointSpec:
    """Arrays and scalar state of a checkpoint."""

    version: int  # raised when one of the former version cannot be resumed
    arrays: tuple[ArraySpec, ...]
    state: type[BaseModel]  # the model of the scalars; a restored checkpoint has an instance

    def check(self, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any] | BaseModel) -> BaseModel:
        if not isinstance(state, self.state):
            try:
                state = self.state.model_validate(state)
            except ValidationError as error:
                raise SchemaError("; ".join(_fault(entry) for entry in error.errors())) from error
        check_arrays(self.arrays, arrays, state)
        return state


@dataclass(frozen=True)
class Schema:
    """Everything that the results and checkpoints of one solver contain.

    Attributes
    ----------
    arrays : tuple of ArraySpec
        :attr:`engine.base.result.Result.arrays`. ``"history"`` is described by ``history`` instead.
    counters : tuple of CounterSpec
        :attr:`engine.base.result.Result.counters`; a result may lack some of them.
    history : tuple of ColumnSpec
        Columns of the array ``"history"``, shape (rows, columns), which a result may lack. Empty: there is none.
    checkpoint : CheckpointSpec, optional
        None if the solver writes no checkpoints.
    """

    arrays: tuple[ArraySpec, ...] = ()
    counters: tuple[CounterSpec, ...] = ()
    history: tuple[ColumnSpec, ...] = ()
    checkpoint: CheckpointSpec | None = None

    def check_result(
        self, arrays: Mapping[str, NDArray[Any]], counters: Mapping[str, Any], complete: bool = True
    ) -> None:
        """Check the arrays and counters of a result; arrays may be missing unless it is ``complete``.

        Parameters
        ----------
        arrays : mapping of str to ndarray
        counters : mapping of str to int or float
        complete : bool
            Whether the run ended by itself, so that nothing may be missing.

        Raises
        ------
        SchemaError
            If an array is missing, unknown, or has another type or shape; if a counter is unknown or not a number.
        """
        history = arrays.get(HISTORY)
        others = {name: array for name, array in arrays.items() if name != HISTORY}
        if history is not None:
            rows = ArraySpec(HISTORY, "number", (None, len(self.history)))
            if not self.history:
                raise SchemaError("an array 'history' is not declared")
            check_arrays((rows,), {HISTORY: history})
        check_arrays(self.arrays if complete else [spec for spec in self.arrays if spec.name in others], others)
        known = {spec.name for spec in self.counters}
        for name, value in counters.items():
            if name not in known:
                raise SchemaError(f"a counter '{name}' is not declared")
            if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
                raise SchemaError(f"the counter '{name}' must be a number; got {value!r}")

    def column_index(self, name: str) -> int:
        """The position of a column of the history; ``KeyError`` if there is no such column."""
        for index, column in enumerate(self.history):
            if column.name == name:
                return index
        raise KeyError(f"the history has no column '{name}'; its columns are {[c.name for c in self.history]}")

    def column(self, result: Result, name: str) -> NDArray[Any]:
        """One column of ``result.arrays["history"]``, shape (rows,); empty if the result has no history.

        Parameters
        ----------
        result : Result
        name : str
            Of a declared column; ``KeyError`` for another one.
        """
        index = self.column_index(name)
        history = result.arrays.get(HISTORY)
        return np.empty(0) if history is None else history[:, index]

    def array(self, name: str) -> ArraySpec | None:
        """The declaration of a result array, or None."""
        return next((spec for spec in self.arrays if spec.name == name), None)

    def counter(self, name: str) -> CounterSpec | None:
        """The declaration of a counter, or None."""
        return next((spec for spec in self.counters if spec.name == name), None)

    def unit_of(self, name: str) -> str:
        """The unit of a counter; empty if it has none or is not declared."""
        spec = self.counter(name)
        return "" if spec is None else spec.unit


def check_arrays(specs: Sequence[ArraySpec], arrays: Mapping[str, NDArray[Any]], state: Any = None) -> None:
    """Check named arrays against their declarations; ``state`` is for :attr:`ArraySpec.required_if`."""
    sizes: dict[str, tuple[int, str]] = {}
    declared = {spec.name for spec in specs}
    for name in arrays:
        if name not in declared:
            raise SchemaError(f"an array '{name}' is not declared")
    for spec in specs:
        wanted = not spec.optional if spec.required_if is None else spec.required_if(state)
        if spec.name not in arrays:
            if wanted:
                raise SchemaError(f"the array '{spec.name}' is missing")
            continue
        if not wanted and not spec.optional:
            raise SchemaError(f"an array '{spec.name}' does not belong here")
        _check_array(spec, arrays[spec.name], sizes)


def _check_array(spec: ArraySpec, array: NDArray[Any], sizes: dict[str, tuple[int, str]]) -> None:
    """Check one array; ``sizes`` collects the named dimensions and the arrays they were first seen in."""
    if not isinstance(array, (np.ndarray, np.generic)):
        raise SchemaError(f"the array '{spec.name}' must be a NumPy array; got a {type(array).__name__}")
    if not any(_is_of(array.dtype, choice) for choice in spec.dtype.split("|")):
        raise SchemaError(f"the array '{spec.name}' must be of type {spec.dtype}; got {array.dtype}")
    if spec.within is not None:
        least, most = spec.within
        outside = ~((array >= least) & (array <= most))
        if outside.any():
            wrong = array[outside].flat[0]
            raise SchemaError(f"the array '{spec.name}' must hold numbers from {least:g} to {most:g}; got {wrong}")
    if spec.shape is None:
        return
    if array.ndim != len(spec.shape):
        raise SchemaError(f"the array '{spec.name}' must have {len(spec.shape)} dimensions; got {array.ndim}")
    for axis, (size, wanted) in enumerate(zip(array.shape, spec.shape, strict=True)):
        if isinstance(wanted, str):
            first, where = sizes.setdefault(wanted, (size, spec.name))
            if size != first:
                wrong = f"dimension {axis} of the array '{spec.name}' ({wanted})"
                raise SchemaError(f"{wrong} must be {first}, as in '{where}'; got {size}")
        elif wanted is not None and size != wanted:
            raise SchemaError(f"dimension {axis} of the array '{spec.name}' must be {wanted}; got {size}")


def _is_of(dtype: np.dtype[Any], choice: str) -> bool:
    if choice in _KINDS:
        kinds = _KINDS[choice]
        return kinds is None or dtype.kind in kinds
    return dtype == np.dtype(choice)


def _fault(entry: Mapping[str, Any]) -> str:
    """One error of pydantic as a sentence with the name of the value."""
    name = ".".join(str(part) for part in entry["loc"]) or "state"
    return f"the value '{name}': {entry['msg']}"
