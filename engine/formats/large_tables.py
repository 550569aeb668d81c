"""Large files of numbers, a row a line, read by all cores where pyarrow is there."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ..util.files import open_regular
from .source import limit, report_read

LARGE = 64 << 20
"""Bytes of a file from which on starting pyarrow is worth its time."""

_BLOCK = 4 << 20


def read_numbers(
    path: Path, first: tuple[int, str], has_header: bool, separator: str | None, columns: int
) -> NDArray[np.float64] | None:
    """The numbers from the first line with cells on, or after it if it is a header; shape (rows, columns).

    None where NumPy must read it: a small file, or one with words, quotes, comments, and empty or uneven lines.
    """
    if (size := path.stat().st_size) < LARGE:
        return None
    try:
        import pyarrow as arrow
        from pyarrow import csv
    except ImportError:
        return None

    from ..numerics.threads import in_order  # brings the devices, which a small table does not need

    names = [str(column) for column in range(columns)]
    numbers = csv.ConvertOptions(column_types=dict.fromkeys(names, arrow.float64()), null_values=[])
    reading = csv.ReadOptions(use_threads=False, column_names=names, block_size=_BLOCK // 4)
    parsing = csv.ParseOptions(delimiter=separator or " ", quote_char=False, ignore_empty_lines=False)

    def parse(block: bytes) -> NDArray[np.float64] | None:
        if b"(" in block:  # as in nan(1), a number for pyarrow only
            return None
        try:
            table = csv.read_csv(arrow.BufferReader(block), reading, parsing, numbers)
        except arrow.ArrowInvalid:
            return None
        values, rows = np.empty((table.num_rows, columns)), 0
        for part in table.to_batches():
            np.stack(part.columns, axis=1, out=values[rows : rows + len(part)])
            rows += len(part)
        return values

    values, rows = np.empty((0, columns)), 0
    with open_regular(path) as stream:
        before = [stream.readline() for _ in range(first[0])]
        if before[-1].decode().rstrip("\r\n") != first[1].rstrip("\n"):  # its lines end with \r alone
            return None
        if not has_header:
            stream.seek(-len(before[-1]), 1)
        begin = stream.tell()
        for part in in_order(parse, _blocks(stream)):
            if part is None or 8 * columns * (rows + len(part)) > limit():
                return None
            if rows + len(part) > len(values):
                more = (size - begin) * len(part) // _BLOCK if rows == 0 else rows // 16
                values.resize((rows + len(part) + more, columns), refcheck=False)
            values[rows : rows + len(part)] = part
            rows += len(part)
            report_read(stream.tell(), size)
    values.resize((rows, columns), refcheck=False)
    return values if rows else None


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """A file in blocks of whole lines."""
    rest = b""
    while block := stream.read(_BLOCK):
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = b""
        rest += block[end:]
    if rest:
        yield rest
