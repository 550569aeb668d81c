"""Many small objects as a few arrays: problems and results of a batch on their way between processes.

Pickling thousands of objects takes as long as solving small problems does, because every array of every object is
pickled on its own. Here objects of one class are taken apart into their attributes, and equally named arrays are joined
and kept in the smallest integer type that holds them. What cannot be taken apart is pickled as it is. cloudpickle is
used, so that classes of the user's script go with their objects.
"""

import itertools
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray

_OWN_PICKLING = ("__new__", "__reduce__", "__reduce_ex__", "__getstate__")
_INTEGERS = (np.int8, np.int16, np.int32)


@dataclass(frozen=True)
class _Joined:
    """The values of an attribute that is a one-dimensional array of the same type in every object."""

    values: NDArray[Any]
    type: np.dtype[Any]
    ends: NDArray[np.int64]
    writeable: bool

    def split(self) -> list[NDArray[Any]]:
        values = np.array(self.values, self.type)
        values.setflags(write=self.writeable)
        return [values[first:end] for first, end in itertools.pairwise([0, *self.ends.tolist()])]


@dataclass(frozen=True)
class _Table:
    """Objects of one class, by attribute."""

    places: list[int]
    kind: type
    columns: dict[str, list[Any] | _Joined]

    def objects(self) -> list[Any]:
        columns = [column.split() if isinstance(column, _Joined) else column for column in self.columns.values()]
        found = []
        for values in zip(*columns, strict=True):
            one: Any = object.__new__(self.kind)
            one.__dict__.update(zip(self.columns, values, strict=True))
            found.append(one)
        return found


def dump(objects: Sequence[Any]) -> bytes:
    """Objects as bytes, for :func:`load`."""
    groups: dict[tuple[type, tuple[str, ...]], list[int]] = {}
    others: list[int] = []
    able = {kind for kind in {type(one) for one in objects} if _can_be_taken_apart(kind)}
    for place, one in enumerate(objects):
        if type(one) in able:
            groups.setdefault((type(one), tuple(one.__dict__)), []).append(place)
        else:
            others.append(place)
    for key in [key for key, places in groups.items() if len(places) == 1 or not key[1]]:
        others += groups.pop(key)
    tables = [
        _Table(places, kind, {name: _column([vars(objects[place])[name] for place in places]) for name in names})
        for (kind, names), places in groups.items()
    ]
    content = (len(objects), tables, others, [objects[place] for place in others])
    return bytes(cloudpickle.dumps(content, pickle.HIGHEST_PROTOCOL))


def load(data: bytes) -> list[Any]:
    """The objects of :func:`dump`, in their order; only for data from a process that is trusted."""
    count, tables, others, rest = pickle.loads(data)  # noqa: S301 - both ends belong to one session
    found: list[Any] = [None] * count
    for table in tables:
        for place, one in zip(table.places, table.objects(), strict=True):
            found[place] = one
    for place, one in zip(others, rest, strict=True):
        found[place] = one
    return found


def _can_be_taken_apart(kind: type) -> bool:
    """Whether objects of a class are their ``__dict__``, as pickle treats them, and the class can be imported."""
    return (
        kind.__dictoffset__ != 0
        and all(getattr(kind, name) is getattr(object, name) for name in _OWN_PICKLING)
        and not hasattr(kind, "__setstate__")
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
        and kind.__module__ != "__main__"
    )


def _column(values: list[Any]) -> list[Any] | _Joined:
    """The values of an attribute: joined, if they are arrays of one type."""
    first = values[0]
    if type(first) is not np.ndarray or first.dtype.hasobject:
        return values
    kind, writeable = first.dtype, first.flags.writeable
    for value in values:
        if (
            type(value) is not np.ndarray
            or value.ndim != 1
            or value.dtype != kind
            or value.flags.writeable != writeable
        ):
            return values
    ends = np.cumsum([len(value) for value in values], dtype=np.int64)
    return _Joined(_narrow(np.concatenate(values)), kind, ends, writeable)


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Integers in the smallest type that holds them all."""
    if values.dtype.kind != "i" or not len(values):
        return values
    least, most = int(values.min()), int(values.max())
    for kind in _INTEGERS:
        if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max and np.dtype(kind) < values.dtype:
            return values.astype(kind)
    return values
