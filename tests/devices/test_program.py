"""Kernels by name: signatures are read from the template, and every argument is checked before a launch."""

import numpy as np
import pytest

from engine.errors import KernelArgumentError

TEXT = """
// out[i] = (f32)(values[i] * factor) + shift      a comment with KERNEL nothing(i32 x) in it
typedef ${value} value_t;
#define TAIL f64 shift, \\
    u8 times
KERNEL LAUNCH_BOUNDS(16, 1) stretch(const GLOBAL value_t* RESTRICT values, GLOBAL f32* out,
    /* how many */ i64 count, u16 factor, TAIL)
{
    DYNAMIC_LOCAL_ARRAY(value_t, part, ${3 * 16});
    part[LOCAL_ID] = 0;
    BARRIER();
    if (GLOBAL_ID < count)
        for (i32 k = 0; k < times; ++k)
            out[GLOBAL_ID] = (f32)(values[GLOBAL_ID] * factor) + (f32)shift;
}

KERNEL LAUNCH_BOUNDS(16, 1) nothing(const GLOBAL float4* places)
{
}
"""


@pytest.fixture
def template(trial_template):
    return trial_template("named", TEXT)


def stretched(running, template, **changed):
    program = running.program(template, value="i32")
    out = running.put(np.zeros(4, np.float32))
    arguments = {"values": running.put(np.arange(4, dtype=np.int32)), "out": out, "count": 4}
    program.stretch(1, 16, **(arguments | {"factor": 3, "shift": 0.5, "times": 1} | changed))
    return [float(value) for value in running.get(out)]


def test_a_kernel_is_launched_by_the_names_of_its_arguments(device, template):
    assert device.submit(stretched, template).result() == [0.5, 3.5, 6.5, 9.5]
    assert device.submit(stretched, template, factor=np.int64(2), shift=np.float32(1)).result() == [1, 3, 5, 7]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"factr": 3}, "unknown argument 'factr'; did you mean 'factor'?"),
        ({"values": 3}, "values must be a buffer of int32; got int 3"),
        ({"factor": 1 << 16}, "factor must be uint16; got int 65536"),
    ],
)
def test_a_wrong_argument_is_an_error_on_every_backend(device, template, changed, message):
    with pytest.raises(KernelArgumentError) as caught:
        device.submit(stretched, template, **changed).result()
    assert message in str(caught.value)
