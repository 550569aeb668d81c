"""What :func:`engine.map` is given and returns: items, and results in their order with failures in place."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from ..errors import InputError
from ..util.display import Display, Displayed
from ..util.text import counted, number_text
from .problem import Problem
from .result import Result, data_frame

_COLUMNS = ("index", "problem", "seed", "status", "objective", "bound", "seconds", "devices", "message")


@dataclass(frozen=True)
class Item:
    """One run of a batch."""

    index: int  # among the results
    problem: Problem[Any] | str | Path  # a path is read when its turn comes
    options: dict[str, Any] = field(default_factory=dict)  # on top of those of all
    seed: int | None = None  # None: that of all

    @property
    def name(self) -> str:
        return self.problem.name if isinstance(self.problem, Problem) else str(self.problem)


@dataclass(frozen=True)
class Failure:
    """What stands in the place of a result that could not be computed.

    Attributes
    ----------
    name : str
        Name of the problem, or its file.
    error : Exception

    Examples
    --------
    >>> import engine
    >>> batch = engine.map([engine.Knapsack([60], [10], 50), "missing.txt"])
    >>> failure = batch.failures[1]
    >>> failure.name, type(failure.error).__name__
    ('missing.txt', 'InputError')
    """

    name: str
    error: Exception

    def __repr__(self) -> str:
        return f"<Failure of {self.name}: {type(self.error).__name__}: {self.error}>"


class Batch(Displayed, Sequence["Result | Failure"]):
    """The results of :func:`engine.map` in the order of what was given, with failures in place.

    Parameters
    ----------
    items : sequence of Item
    entries : sequence of Result or Failure
        One an item.

    Examples
    --------
    >>> import engine
    >>> batch = engine.map([engine.Knapsack([60, 100, 120], [10, 20, 30], capacity) for capacity in (30, 50)])
    >>> [result.objective for result in batch.results]
    [160, 220]
    >>> batch.failures
    {}
    >>> batch.table()[1]["status"]
    'optimal'
    """

    def __init__(self, items: Sequence[Item], entries: Sequence[Result | Failure]) -> None:
        self._items, self._entries = list(items), list(entries)

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Result | Failure: ...

    @overload
    def __getitem__(self, index: slice) -> list[Result | Failure]: ...

    def __getitem__(self, index: int | slice) -> Result | Failure | list[Result | Failure]:
        return self._entries[index]

    def __iter__(self) -> Iterator[Result | Failure]:
        return iter(self._entries)

    @property
    def results(self) -> list[Result]:
        """The results alone; failures are left out."""
        return [entry for entry in self._entries if isinstance(entry, Result)]

    @property
    def failures(self) -> dict[int, Failure]:
        """The failures by index."""
        return {index: entry for index, entry in enumerate(self._entries) if isinstance(entry, Failure)}

    def table(self) -> list[dict[str, Any]]:
        """One row an entry, as plain values, for the ``csv`` module or a loop; :meth:`to_pandas` has them as a frame.

        The columns are ``index``, ``problem``, the options of its own, ``seed``, ``status`` (``"failed"`` for a
        failure), ``objective``, ``bound``, ``seconds``, ``devices`` and ``message``. An option with one of these names
        is in a column ``option.NAME``.
        """
        own = list(dict.fromkeys(name for item in self._items for name in item.options))
        rows = []
        for item, entry in zip(self._items, self._entries, strict=True):
            row: dict[str, Any] = {"index": item.index, "problem": item.name}
            row |= {f"option.{name}" if name in _COLUMNS else name: item.options.get(name) for name in own}
            values: tuple[Any, ...]
            if isinstance(entry, Failure):
                values = (item.seed, "failed", None, None, None, "", f"{type(entry.error).__name__}: {entry.error}")
            else:
                status, devices = str(entry.status), ", ".join(entry.devices)
                values = (entry.seed, status, entry.objective, entry.bound, entry.seconds, devices, "")
            rows.append(row | dict(zip(_COLUMNS[2:], values, strict=True)))
        return rows

    def to_pandas(self) -> Any:
        """The table as a pandas data frame: a row an entry, with the columns of :meth:`table`, indexed by ``index``.

        Examples
        --------
        >>> import engine
        >>> problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
        >>> batch = engine.map(problem, each=[{"variant": "rows"}, {"variant": "tiles"}], reduce=False)
        >>> batch.to_pandas()[["variant", "status", "objective"]].values.tolist()
        [['rows', 'optimal', 220], ['tiles', 'optimal', 220]]
        """
        return data_frame(self.table(), None if self._items else _COLUMNS).set_index("index")

    def display(self) -> Display:
        """What is shown of it: its table."""
        failed = len(self.failures)
        rows = self.table()
        titles = tuple(rows[0]) if rows else ()
        return Display(
            f"Batch of {counted(len(self), 'result')}{f', {failed} failed' if failed else ''}",
            titles=titles,
            rows=[tuple(_cell(row[name]) for name in titles) for row in rows],
        )


@dataclass
class BatchControl:
    """What :attr:`engine.base.solver.Solver.solve_batch` is given besides problems, options and devices."""

    seeds: tuple[int, ...]  # one a problem
    backend: str  # for the results
    progress: Callable[[int], None]  # called with how many of the problems are solved so far


def items_of(
    problems: Problem[Any] | str | Path | Iterable[Problem[Any] | str | Path],
    each: Sequence[Mapping[str, Any]] | None = None,
    seeds: Sequence[int] | None = None,
) -> list[Item]:
    """The items of a batch: problems beside options and seeds of their own; a single one of these goes with all."""
    given = [problems] if isinstance(problems, (Problem, str, Path)) else list(problems)
    for index, problem in enumerate(given):
        if not isinstance(problem, (Problem, str, Path)):
            raise InputError(f"entry {index} of problems must be a problem or a path; got {type(problem).__name__}")
    options = [{}] if each is None else [dict(entry) for entry in each]
    chosen: Sequence[int | None] = [None] if seeds is None else list(seeds)
    sizes = {"problems": len(given), "each": len(options), "seeds": len(chosen)}
    count = 0 if 0 in sizes.values() else max(sizes.values())
    if any(size not in (1, count) for size in sizes.values()):
        given_sizes = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise InputError(f"problems, each and seeds must have equally many entries, or one; {given_sizes}")

    def at(entries: Sequence[Any], index: int) -> Any:
        return entries[0] if len(entries) == 1 else entries[index]

    return [Item(index, at(given, index), at(options, index), at(chosen, index)) for index in range(count)]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value)
    return str(value)
