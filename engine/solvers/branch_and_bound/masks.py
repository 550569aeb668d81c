"""Sets of items as kernels hold them, item i at bit i, in a last axis of words: 32 bits, or 1, 2, 4, 8 or 16 of 64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Masks = NDArray[np.unsignedinteger]


def dtype_for(items: int) -> np.dtype[Any]:
    """The type of a word of a set of so many items."""
    return np.dtype(np.uint32 if items <= 32 else np.uint64)


def words_for(items: int) -> int:
    """Words of a set of so many items."""
    return 1 << (-(-items // 64) - 1).bit_length()


def bytes_for(items: int) -> int:
    """Bytes of a set of so many items."""
    return dtype_for(items).itemsize * words_for(items)


def digit_type(items: int) -> np.dtype[Any]:
    """The type of a digit of a leaf's number, 0 to ``items``."""
    return np.dtype(np.uint8 if items < 256 else np.uint16)


def word_type(items: int) -> str:
    """What ``masks.mako`` calls a set of so many items."""
    return f"u{8 * bytes_for(items)}"


def empty(shape: tuple[int, ...], items: int) -> Masks:
    """Empty sets of at most ``items`` items, shape (*shape, words)."""
    return np.zeros((*shape, words_for(items)), dtype_for(items))


def lowest_of(masks: Masks) -> Masks:
    """The first item of each set, as a set; empty of an empty one."""
    lowest = masks & (~masks + masks.dtype.type(1))
    before = np.logical_or.accumulate(lowest > 0, axis=-1)
    lowest[..., 1:][before[..., :-1]] = 0
    return lowest


def index_of_lowest(masks: Masks) -> NDArray[np.int64]:
    """The first item of each set, 0 for an empty one; shape without the words."""
    exponents = np.frexp(lowest_of(masks).astype(np.float64))[1].astype(np.int64)  # exact: powers of two
    places = np.maximum(exponents - 1, 0) + 64 * np.arange(masks.shape[-1]) * (exponents > 0)
    found: NDArray[np.int64] = places.max(axis=-1)
    return found


def masks_of(items: NDArray[np.integer[Any]], count: int) -> Masks:
    """Sets of one item each, of ``count`` that there are; shape (*items.shape, words)."""
    bits = 8 * dtype_for(count).itemsize
    masks = empty(items.shape, count)
    for word in range(words_for(count)):
        place = items.astype(np.int64) - bits * word
        inside = (place >= 0) & (place < bits)
        masks[..., word] = np.where(inside, masks.dtype.type(1) << np.where(inside, place, 0).astype(masks.dtype), 0)
    return masks


def bits_of(masks: Masks) -> NDArray[np.bool_]:
    """Whether each set contains each item; shape (*shape, bits)."""
    as_bytes = np.ascontiguousarray(masks).view(np.uint8)
    return np.unpackbits(as_bytes, axis=-1, bitorder="little").astype(np.bool_)
