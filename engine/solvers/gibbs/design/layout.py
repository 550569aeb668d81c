"""How rows and columns are laid out, the same for any number of devices: strips of rows, eight shards of strips."""

from collections.abc import Iterator
from dataclasses import dataclass

SHARDS = 8
"""Parts whose sums are added in one order, whoever makes them; so also the most devices."""

LARGE_FROM = 200
"""Columns from which a chain's factorisation is worth a stream, or a device, of its own."""

_STRIPS, _MORE_STRIPS = 1024, 4096  # enough for every device; more where a strip's sums are little beside its rows
_LEAST_STRIP, _LONG_STRIP, _MOST_STRIP = 16, 128, 4096


@dataclass(frozen=True)
class Layout:
    """The shape of the design on the devices."""

    rows: int  # observations N
    columns: int  # q, the intercept's among them
    stride: int  # values a row is stored with; the rest are zeros
    strip_rows: int  # a power of two
    strips: int  # hold all rows, and zeros behind them
    bounds: tuple[int, ...]  # first strip of each of the SHARDS shards, and the end

    @property
    def pitch(self) -> int:
        """Rows of all strips."""
        return self.strips * self.strip_rows

    @property
    def width(self) -> int:
        """Numbers a strip's sums take for one vector: the row, and 8 from :attr:`total` on for other sums."""
        return self.stride + 8

    @property
    def total(self) -> int:
        """Which of these numbers is the sum over rows: the log-likelihood, or the squares of the latent normals."""
        return self.stride


def layout_for(rows: int, columns: int) -> Layout:
    """The layout, which depends on the size of the design alone."""
    strip_rows = _LEAST_STRIP
    while strip_rows < _MOST_STRIP and rows > strip_rows * (_STRIPS if strip_rows < _LONG_STRIP else _MORE_STRIPS):
        strip_rows *= 2
    strips = -(-rows // strip_rows)
    bounds = tuple(strips * shard // SHARDS for shard in range(SHARDS + 1))
    return Layout(rows, columns, -(-columns // 8) * 8, strip_rows, strips, bounds)


def share_of(device: int, devices: int) -> tuple[int, int]:
    """The shards [first, last) of one of several devices."""
    return SHARDS * device // devices, SHARDS * (device + 1) // devices


def share_of_chains(columns: int, chains: int, device: int, devices: int) -> tuple[int, int]:
    """The chains [first, last) whose matrices one of several devices factorises: all of them while they are small."""
    if columns < LARGE_FROM:
        return 0, chains
    return -(-chains * device // devices), -(-chains * (device + 1) // devices)


def chain_groups(chains: int, most: int = 4) -> Iterator[tuple[int, int]]:
    """First and number of the chains that share a pass over the rows: powers of two, or ``most``."""
    first = 0
    while first < chains:
        count = min(most, 1 << ((chains - first).bit_length() - 1))
        yield first, count
        first += count
