"""What every device promises: copies, kernels, and refusals, on each backend that this machine has."""

import numpy as np
import pytest

from engine.errors import DeviceError

pytestmark = pytest.mark.smoke


ADD = """
KERNEL add(GLOBAL i32* out, i32 amount)
{
    out[GLOBAL_ID] += amount + ${extra};
}
"""


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0,), (4, 0)])
def test_what_is_put_comes_back(device, dtype, shape):
    array = (np.arange(np.prod(shape, dtype=int)) * 3).astype(dtype).reshape(shape)

    def round_trip(running):
        buffer = running.put(array)
        assert (buffer.size, buffer.nbytes, buffer.dtype) == (array.size, array.nbytes, array.dtype)
        return running.get(buffer)

    result = device.submit(round_trip).result()
    assert result.dtype == array.dtype
    assert np.array_equal(result.reshape(shape), array)


def test_put_and_get_take_offsets(device):
    def work(running):
        buffer = running.put(np.arange(10, dtype=np.int32))
        same = running.put(np.array([70, 80], np.int32), into=buffer, start=7)
        assert same is buffer
        out = np.zeros(3, np.int32)
        returned = running.get(buffer, 6, out=out)
        assert returned is out
        return running.get(buffer), running.get(buffer, 5), running.get(buffer, 2, 4), out, running.get(buffer, 10)

    whole, rest, part, out, none = device.submit(work).result()
    assert whole.tolist() == [0, 1, 2, 3, 4, 5, 6, 70, 80, 9]
    assert rest.tolist() == [5, 6, 70, 80, 9]
    assert part.tolist() == [2, 3, 4, 5]
    assert out.tolist() == [6, 70, 80]
    assert none.size == 0


def test_zero_and_copy_are_done_in_order_with_the_kernels(device, trial_template):
    template = trial_template("add_in_order", ADD)

    def work(running):
        add = running.program(template, extra=1).add
        first, second = running.put(np.full(8, 9, np.int32)), running.put(np.full(8, 9, np.int32))
        running.zero(first)
        add(2, 4, out=first, amount=4)
        running.copy(second, first, target_start=2, source_start=1, count=3)
        add(1, 4, out=first, amount=0)
        running.copy(second, second, target_start=0, source_start=6)
        add(0, 4, out=first, amount=100)
        running.sync()
        return running.get(first), running.get(second)

    first, second = device.submit(work).result()
    assert first.tolist() == [6, 6, 6, 6, 5, 5, 5, 5]
    assert second.tolist() == [9, 9, 5, 5, 5, 9, 9, 9]


FOUR, GAPS = np.zeros(4, np.int32), np.zeros(20, np.int32)[::2]
REFUSED = [
    (lambda d, b: d.put(FOUR, into=b, start=7), ValueError, "put: 4 elements from 7 on are not within a buffer of 10"),
    (lambda d, b: d.copy(b, b, 2, 0, 5), ValueError, "5 elements at 0 and at 2 of a buffer overlap"),
    (lambda d, b: d.copy(d.empty(10, np.uint32), b), TypeError, "copy to: a buffer of uint32 does not take int32"),
    (lambda d, b: d.get_async(b, np.zeros(4, np.float32)), TypeError, "get_async: a buffer of int32"),
    (lambda d, b: d.put_async(FOUR, b, 7), ValueError, "put_async: 4 elements"),
    (lambda d, b: d.put_async(GAPS, b), ValueError, "put_async: the array must be contiguous"),
]


@pytest.mark.parametrize(("action", "kind", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_a_copy_that_does_not_fit_is_refused_and_changes_nothing(device, action, kind, message):
    array = np.arange(10, dtype=np.int32)

    def work(running):
        buffer = running.put(array)
        with pytest.raises(kind, match=message):
            action(running, buffer)
        return running.get(buffer)

    assert np.array_equal(device.submit(work).result(), array)


def test_more_memory_than_there_is_raises_a_device_error(device):
    with pytest.raises(DeviceError, match=rf"{device.info.id} refused 4611686018427387904 bytes"):
        device.submit(lambda running: running.empty(1 << 62, np.uint8)).result()


def test_the_atomics_of_the_dialect_count_right(device, trial_template):
    if not device.info.capabilities.int64_atomics:
        pytest.skip(f"{device.info.id} has no atomics on 64-bit integers")
    template = trial_template(
        "atomics",
        """
KERNEL count(GLOBAL u64* wide, GLOBAL i32* signed_out, GLOBAL u32* bits)
{
    ATOMIC_ADD_U64(wide, 3000000000u);
    ATOMIC_ADD_I32(signed_out, -2);
    ATOMIC_MIN_I32(signed_out + 1, -(i32)GLOBAL_ID);
    ATOMIC_MAX_I32(signed_out + 2, (i32)GLOBAL_ID);
    ATOMIC_ADD_U32(bits, 1u);
    ATOMIC_OR_U32(bits + 1, 1u << LOCAL_ID);
    ATOMIC_SWAP_U32(bits + 2, 7u);
}
""",
    )

    def work(running):
        buffers = [running.put(np.zeros(3, dtype)) for dtype in (np.uint64, np.int32, np.uint32)]
        wide, signed_out, bits = buffers
        running.program(template).count(5, 16, wide=wide, signed_out=signed_out, bits=bits)
        return [running.get(buffer).tolist() for buffer in buffers]

    assert device.submit(work).result() == [[80 * 3_000_000_000, 0, 0], [-160, -79, 79], [80, 0xFFFF, 7]]
