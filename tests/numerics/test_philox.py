"""Philox: the published answers, and the same bits from the reference and from every device."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.numerics import philox
from tests.support.examples import examples

# Random123's known answers: counter, key, words after 10 rounds.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]

DTYPES = {"u32": np.uint32, "f32": np.float32, "f64": np.float64, "f64_wide": np.float64}


def filled(device, size, output, *args, **kwargs):
    buffer = device.empty(size, DTYPES[output])
    philox.fill(device, buffer, *args, output=output, **kwargs)
    result = device.get(buffer)
    device.release(buffer)
    return result


@pytest.mark.parametrize(("counter", "key", "ten"), KNOWN)
def test_device_gives_the_published_words(device, counter, key, ten):
    c0, c1, c2, c3 = counter
    index, attempt = c0 | (c1 & 0xFFFF) << 32, c1 >> 16
    seed = key[0] | key[1] << 32
    words = device.submit(filled, 4, "u32", seed, c3 & 0xFF, c2, index, chain=c3 >> 8, attempt=attempt).result()
    assert words.tolist() == list(ten)


@examples(25)
@given(
    seed=st.integers(0, 2**64 - 1),
    stream=st.integers(0, 2**8 - 1),
    chain=st.integers(0, 2**24 - 1),
    step=st.integers(0, 2**32 - 1),
    start=st.one_of(st.integers(0, 2**48 - 400), st.integers(2**32 - 400, 2**32)),
    attempt=st.integers(0, 2**16 - 1),
    count=st.integers(0, 300),
)
def test_device_and_reference_agree_on_every_counter(device, seed, stream, chain, step, start, attempt, count):
    reference = philox.uniform_words(seed, stream, step, start, count, chain=chain, attempt=attempt)
    words = device.submit(filled, 4 * count, "u32", seed, stream, step, start, chain=chain, attempt=attempt).result()
    assert np.array_equal(words.reshape(-1, 4), reference)


def test_device_and_reference_make_the_same_numbers_of_the_words(device):
    words = philox.uniform_words(7, 1, 2, 0, 10_007)
    expected = {
        "f32": philox.uniform_float32(words).ravel(),
        "f64": philox.uniform_float64(words).ravel(),
        "f64_wide": philox.uniform_float64_wide(words[:, ::2], words[:, 1::2]).ravel(),
    }
    for output, numbers in expected.items():
        result = device.submit(filled, numbers.size, output, 7, 1, 2).result()
        assert result.dtype == numbers.dtype
        assert result.tobytes() == numbers.tobytes(), output


def test_numbers_stay_inside_the_open_interval():
    ends = np.array([0, 2**32 - 1], np.uint32)
    assert philox.uniform_float32(ends).tolist() == [2**-24, 1 - 2**-24]
    assert philox.uniform_float64(ends).tolist() == [2**-33, 1 - 2**-33]
    assert philox.uniform_float64_wide(ends, ends).tolist() == [2**-53, 1 - 2**-53]
