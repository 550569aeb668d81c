"""Records: what kernels and the host know by name is the same memory; and launches that share their arguments."""

import numpy as np
import pytest

from engine.devices import Record

MIXED = Record("mixed", flag="i8", rate="f64", shape=("f32", 3), count="i64", sign="i16")
TEXT = """
${mixed.declaration()}
typedef char as_on_the_host[sizeof(mixed_t) == ${mixed.dtype.itemsize} ? 1 : -1];
KERNEL LAUNCH_BOUNDS(1, 1) double_all(GLOBAL mixed_t* RESTRICT all, i32 times, f64 shift)
{
    GLOBAL mixed_t* one = all + GROUP_ID;
    one->flag = (i8)(2 * one->flag);
    one->rate = times * one->rate + shift;
    for (i32 k = 0; k < 3; ++k)
        one->shape[k] *= 2.0f;
    one->count *= times;
    one->sign = (i16)(-one->sign);
}
"""


def records():
    array = np.zeros(3, MIXED.dtype)
    array["flag"], array["rate"], array["count"], array["sign"] = [1, -2, 3], [0.5, 1.5, 2.5], [1 << 40, 2, 3], 7
    array["shape"] = np.arange(9).reshape(3, 3)
    return array


@pytest.fixture
def template(trial_template):
    return trial_template("record", TEXT)


def test_kernels_and_the_host_have_the_same_fields(device, template):
    def doubled(running):
        buffer = running.put(records())
        running.program(template, mixed=MIXED).double_all(3, 1, all=buffer, times=2, shift=0.0)
        return running.get(buffer)

    found, expected = device.submit(doubled).result(), records()
    for name in ("flag", "rate", "shape", "count"):
        np.testing.assert_array_equal(found[name], 2 * expected[name])
    np.testing.assert_array_equal(found["sign"], -expected["sign"])
