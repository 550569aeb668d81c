"""Philox4x32-10: random numbers as a function of what they are for; the reference of ``kernels/common/philox.mako``.

A draw is named by (seed, stream, chain, step, index, attempt), so it is the same on every device, for every launch
shape and after every restart. The layout of the counter is described in the template.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..devices import Buffer, Capabilities, Device
from ..devices.kernels.variants import unique_variants

Output = Literal["u32", "f32", "f64", "f64_wide"]

_OUTPUTS: dict[Output, tuple[str, int]] = {
    "u32": ("uint32", 4),
    "f32": ("float32", 4),
    "f64": ("float64", 4),
    "f64_wide": ("float64", 2),
}
"""Element type, and values an index, of each kind of output."""

_BLOCKS = (64, 256)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox4x32(counters: ArrayLike, keys: ArrayLike) -> NDArray[np.uint32]:
    """The block function of counters (..., 4) and keys (..., 2), broadcast."""
    counter = np.asarray(counters, dtype=np.uint32)
    key = np.asarray(keys, dtype=np.uint32)
    c0, c1, c2, c3, k0, k1 = np.broadcast_arrays(
        *(counter[..., word] for word in range(4)), *(key[..., word] for word in range(2))
    )
    for _ in range(10):
        first = c0.astype(np.uint64) * _MULTIPLIERS[0]
        second = c2.astype(np.uint64) * _MULTIPLIERS[1]
        c0 = (second >> _HALF).astype(np.uint32) ^ c1 ^ k0
        c2 = (first >> _HALF).astype(np.uint32) ^ c3 ^ k1
        c1 = (second & _LOW).astype(np.uint32)
        c3 = (first & _LOW).astype(np.uint32)
        with np.errstate(over="ignore"):
            k0 = k0 + _WEYL[0]
            k1 = k1 + _WEYL[1]
    return np.stack([c0, c1, c2, c3], axis=-1)


def stream_word(stream: int, chain: int = 0) -> int:
    """The counter's last word: which of an algorithm's draws, and which of its independent chains."""
    _require("stream", stream, 8)
    _require("chain", chain, 24)
    return stream | chain << 8


def uniform_words(
    seed: int, stream: int, step: int, start: int, count: int, *, chain: int = 0, attempt: int = 0
) -> NDArray[np.uint32]:
    """Random words, shape (count, 4), of the indices ``start``, ``start + 1``, ..., as the kernels make them."""
    _require_counter(seed, step, start, count, attempt)
    index = np.arange(start, start + count, dtype=np.uint64)
    counters = np.empty((count, 4), np.uint32)
    counters[:, 0] = (index & _LOW).astype(np.uint32)
    counters[:, 1] = (index >> _HALF).astype(np.uint32) | np.uint32(attempt << 16)
    counters[:, 2] = step
    counters[:, 3] = stream_word(stream, chain)
    return philox4x32(counters, (seed & 0xFFFFFFFF, seed >> 32))


def uniform_float32(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """``(word // 2**9 + 1/2) / 2**23``: in the open interval (0, 1), from 2**-24 to 1 - 2**-24; every step is exact."""
    return ((words >> np.uint32(9)).astype(np.float32) + np.float32(0.5)) * np.float32(2**-23)


def uniform_float64(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """``(word + 1/2) / 2**32``: in the open interval (0, 1), from 2**-33 to 1 - 2**-33; every step is exact."""
    return (words.astype(np.float64) + 0.5) * 2.0**-32


def uniform_float64_wide(high: NDArray[np.uint32], low: NDArray[np.uint32]) -> NDArray[np.float64]:
    """``((high * 2**32 + low) // 2**12 + 1/2) / 2**52``: in (0, 1), from 2**-53 to 1 - 2**-53; every step is exact."""
    bits = (high.astype(np.uint64) << np.uint64(20)) | (low >> np.uint32(12)).astype(np.uint64)
    return (bits.astype(np.float64) + 0.5) * 2.0**-52


def fill(
    device: Device,
    buffer: Buffer,
    seed: int,
    stream: int,
    step: int,
    start: int = 0,
    *,
    chain: int = 0,
    attempt: int = 0,
    output: Output = "u32",
) -> None:
    """Fill a whole buffer with the words or numbers of the indices from ``start`` on; returns at once.

    ``buffer``: uint32, float32 or float64 as ``output`` asks. Each index fills four elements (two for ``"f64_wide"``),
    so its size must be a multiple of that. ``seed``, ``stream``, ``step``, ``start``, ``chain``, ``attempt``: as for
    :func:`uniform_words`; ``output`` ("u32", "f32", "f64", "f64_wide"): the words of :func:`uniform_words`, or what
    :func:`uniform_float32`, :func:`uniform_float64` or :func:`uniform_float64_wide` (of words 0 and 1, then 2 and 3)
    makes of them.
    """
    element, each = _OUTPUTS[output]
    if buffer.dtype != np.dtype(element):
        raise TypeError(f'output "{output}" fills a buffer of {element}; got {buffer.dtype}')
    if buffer.size % each:
        raise ValueError(f'the size of a buffer for output "{output}" must be a multiple of {each}; got {buffer.size}')
    count = buffer.size // each
    _require_counter(seed, step, start, count, attempt)
    block = _block(device.capabilities)
    device.program("common/philox_fill", block=block, output=output).fill_random(
        min(-(-count // block), 32 * device.capabilities.compute_units),
        block,
        out=buffer,
        count=count,
        seed=seed,
        stream=stream_word(stream, chain),
        step=step,
        first=start,
        attempt=attempt,
    )


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template and set of constants used here."""
    for output in _OUTPUTS:
        yield "common/philox_fill", {"block": _block(capabilities), "output": output}


def _block(capabilities: Capabilities) -> int:
    return max(block for block in _BLOCKS if block <= capabilities.preferred_block)


def _require_counter(seed: int, step: int, start: int, count: int, attempt: int) -> None:
    if count < 0:
        raise ValueError(f"count must be at least 0; got {count}")
    _require("seed", seed, 64)
    _require("step", step, 32)
    _require("start", start, 48)
    _require("the last index", start + max(0, count - 1), 48)
    _require("attempt", attempt, 16)


def _require(name: str, value: int, bits: int) -> None:
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{name} must be at least 0 and below 2**{bits}; got {value}")
