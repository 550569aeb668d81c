"""The formats that are a table of numbers: ``jooken``, ``bounded``, ``kplib``, ``unicauca`` and ``capacity-last``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .parsed import ParsedKnapsack, check_ids, items_text, readonly
from .words import Words, excerpt, integer


@dataclass(frozen=True)
class _Layout:
    """Where the numbers of a format stand: lines before the items, columns of an item, lines after them."""

    name: str
    header: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    footer: tuple[tuple[str, ...], ...] = ()


_N, _CAPACITY = "number of items", "capacity"
_LAYOUTS = {
    layout.name: layout
    for layout in (
        _Layout("jooken", ((_N,),), ("id", "profit", "weight"), ((_CAPACITY,),)),
        _Layout("bounded", ((_N,),), ("id", "profit", "weight", "count"), ((_CAPACITY,),)),
        _Layout("kplib", ((_N,), (_CAPACITY,)), ("profit", "weight")),
        _Layout("unicauca", ((_N, _CAPACITY),), ("profit", "weight")),
        _Layout("capacity-last", ((_N,),), ("profit", "weight"), ((_CAPACITY,),)),
    )
}

NAMES = tuple(_LAYOUTS)
"""Names of these formats."""


def _layout(words: Words) -> _Layout:
    """Which table this is, from the number of words on its first two lines."""
    sizes = words.row_sizes
    name = _name(sizes[:2].tolist())
    if name is not None:
        return _LAYOUTS[name]
    if sizes[0] > 2:
        shown = excerpt(words.row(0))
        raise words.error(f"the first line must be the number of items, or 'n capacity'; got {shown}", 0)
    raise words.error(
        "the line after the number of items must be 'id profit weight', 'id profit weight count', 'profit weight' or "
        "the capacity; "
        f"got {sizes[1]} words: {excerpt(words.row(1))}",
        1,
    )


def _name(sizes: Sequence[int]) -> str | None:
    """Name of the table whose first two lines have so many words; a file of one line may be any of them."""
    if sizes[0] == 2:
        return "unicauca"
    if sizes[0] == 1:
        return {0: "jooken", 1: "kplib", 2: "capacity-last", 3: "jooken", 4: "bounded"}.get(
            sizes[1] if len(sizes) > 1 else 0
        )
    return None


def parse(words: Words) -> ParsedKnapsack:
    """The instance that the words of a file make, in whichever of these formats its first two lines are."""
    layout = _layout(words)
    if words.faulty == 0:
        raise words.refuse(0, f"the {_N}")
    n = integer(words.word(0))
    if n < 0:
        raise words.error(f"the {_N} must be at least 0; got {n}", 0)
    if n == 0 and layout.name == "kplib":
        layout = _LAYOUTS["jooken"]
    _check_rows(words, layout, n)
    if words.faulty < _word_count(layout, n):
        raise words.refuse(words.faulty, _meaning(layout, n, words.faulty))

    values = words.integers(_word_count(layout, n))
    before = sum(map(len, layout.header))
    items = values[before : before + n * len(layout.columns)].reshape(n, len(layout.columns))
    lines = words.rows[len(layout.header) : len(layout.header) + n]
    if "id" in layout.columns:
        check_ids(items[:, 0], lines, words.path)
    # The capacity is the last number of the header, or the only one of the footer.
    place = before - 1 if not layout.footer else values.size - 1
    return ParsedKnapsack(
        profits=readonly(items[:, layout.columns.index("profit")]),
        weights=readonly(items[:, layout.columns.index("weight")]),
        capacity=int(values[place]),
        format=layout.name,
        optimum=None,
        lines=readonly(lines),
        capacity_line=int(words.lines[place]),
        counts=readonly(items[:, 3]) if "count" in layout.columns else None,
    )


def _check_rows(words: Words, layout: _Layout, n: int) -> None:
    """Every line has its number of words and no line is missing or left over, or the first fault is raised."""
    sizes, head = words.row_sizes, len(layout.header)
    expected = np.full(min(sizes.size, head + n + len(layout.footer)), len(layout.columns))
    expected[:head] = [len(row) for row in layout.header][: expected.size]
    expected[head + n :] = 1
    wrong = np.flatnonzero(sizes[: expected.size] != expected)
    if wrong.size:
        row = int(wrong[0])
    elif sizes.size > expected.size and not _is_solution(words, layout, n, expected.size):
        row = expected.size
    elif expected.size < head + n + len(layout.footer):
        row = sizes.size
    else:
        return
    last = int(words.row_starts[row]) if row < sizes.size else words.lines.size
    if words.faulty < last:
        raise words.refuse(words.faulty, _meaning(layout, n, words.faulty))
    if row == sizes.size == 1:
        raise words.error(f"the file ends after its first line (there should be {items_text(n)})", 0)
    if row == sizes.size:
        missing = _row_meaning(layout, n, row)
        raise words.error(f"the file ends too early: {missing} is missing (there should be {items_text(n)})", row - 1)
    shown = excerpt(words.row(row))
    if row == expected.size:
        raise words.error(f"the instance of {items_text(n)} has ended, but the file continues: {shown}", row)
    raise words.error(f"{_row_meaning(layout, n, row)} must stand here (of {items_text(n)}); got {shown}", row)


def _is_solution(words: Words, layout: _Layout, n: int, row: int) -> bool:
    """Whether the rest is one line of n zeros and ones after a Unicauca table, too long to be another item."""
    if layout.name != "unicauca" or n <= 2 or words.row_sizes.size != row + 1 or words.row_sizes[row] != n:
        return False
    return set(words.row(row).split()) <= {b"0", b"1"}


def _word_count(layout: _Layout, n: int) -> int:
    return sum(map(len, layout.header + layout.footer)) + n * len(layout.columns)


def _meaning(layout: _Layout, n: int, index: int) -> str:
    """The meaning of the word with that index in a valid file."""
    before = [what for row in layout.header for what in row]
    if index < len(before):
        return f"the {before[index]}"
    item, column = divmod(index - len(before), len(layout.columns))
    return f"the {layout.columns[column]} of item {item}" if item < n else f"the {_CAPACITY}"


def _row_meaning(layout: _Layout, n: int, row: int) -> str:
    """The meaning of the line with that index (blank ones not counted) in a valid file."""
    item = row - len(layout.header)
    if item < 0:
        return f"the {layout.header[row][0]}"
    return f"item {item} '{' '.join(layout.columns)}'" if item < n else f"the {_CAPACITY}"


def recognize(rows: list[list[int]], whole: bool) -> str | None:
    """Name of the table these lines begin, if they do."""
    if len(rows) < 2:
        return None
    name, n = _name([len(row) for row in rows[:2]]), rows[0][0]
    if name is None or n < 0:
        return None
    if n == 0:
        return "jooken" if name == "kplib" and whole and len(rows) == 2 else None
    layout = _LAYOUTS[name]
    head = len(layout.header)
    items, after = rows[head : head + n], rows[head + n :]
    if not items or any(len(row) != len(layout.columns) for row in items):
        return None
    if any(len(row) != 1 for row in after[: len(layout.footer)]):
        return None
    if "id" in layout.columns:
        first = items[0][0]
        return name if first in (0, 1) and all(row[0] == first + i for i, row in enumerate(items)) else None
    if any(min(row) < 0 for row in rows):
        return None
    left_over = after[len(layout.footer) :]
    if left_over and not (name == "unicauca" and n > 2 and len(left_over) == 1 and set(left_over[0]) <= {0, 1}):
        return None
    complete = len(items) == n and len(after) >= len(layout.footer)
    return name if complete or not whole else None


def written(name: str, items: list[tuple[int, int]], capacity: int, counts: list[int] | None = None) -> Iterator[str]:
    """The lines of a file in a format that :func:`recognize` returns, from (profit, weight) pairs and their counts."""
    yield f"{len(items)} {capacity}" if name == "unicauca" else f"{len(items)}"
    if name == "kplib":
        yield from (f"{capacity}", "")
    if name == "jooken":
        yield from (f"{i} {profit} {weight}" for i, (profit, weight) in enumerate(items))
    elif name == "bounded":
        counts = counts if counts is not None else [1] * len(items)
        yield from (f"{i} {profit} {weight} {counts[i]}" for i, (profit, weight) in enumerate(items))
    else:
        yield from (f"{profit} {weight}" for profit, weight in items)
    if name in ("jooken", "bounded", "capacity-last"):
        yield f"{capacity}"
