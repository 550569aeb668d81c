"""Kernels by name: signatures are read from the template, and every argument is checked before a launch."""

import numpy as np
import pytest

from engine.devices.kernels.program import signatures
from engine.devices.kernels.source import Source
from engine.errors import KernelArgumentError, KernelError

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


def test_signatures_follow_typedefs_macros_and_vectors():
    text = TEXT.replace("${value}", "i32").replace("${3 * 16}", "48")
    found = signatures(Source("trial/named", "opencl", text))
    assert list(found) == ["stretch", "nothing"]
    assert [(p.name, str(p.dtype), p.is_buffer) for p in found["stretch"].parameters] == [
        ("values", "int32", True),
        ("out", "float32", True),
        ("count", "int64", False),
        ("factor", "uint16", False),
        ("shift", "float64", False),
        ("times", "uint8", False),
    ]
    assert found["stretch"].local_bytes == 48 * 4
    assert [(p.name, str(p.dtype)) for p in found["nothing"].parameters] == [("places", "float32")]


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


def test_a_missing_argument_and_a_buffer_of_another_type_are_errors(device, template):
    def launch(running):
        stretch = running.program(template, value="i32").stretch
        doubles = running.put(np.zeros(4))
        messages = []
        mistyped = {"values": doubles, "out": doubles, "count": 1, "factor": 1, "shift": 0, "times": 1}
        for arguments in ({"count": 4}, mistyped):
            with pytest.raises(KernelArgumentError) as caught:
                stretch(1, 16, **arguments)
            messages.append(str(caught.value))
        return messages

    missing, mistyped = device.submit(launch).result()
    assert "missing argument 'values'; missing argument 'out'" in missing
    assert "values must be a buffer of int32; got a buffer of float64" in mistyped


def test_a_bound_kernel_takes_the_rest_of_its_arguments(device, template):
    def launch(running):
        out = running.put(np.zeros(4, np.float32))
        values = running.put(np.arange(4, dtype=np.int32))
        bound = running.program(template, value="i32").stretch.bind(values=values, out=out, count=4, times=1)
        bound(1, 16, factor=2, shift=0)
        bound(0, 16, factor=9, shift=0)
        with pytest.raises(KernelArgumentError, match="missing argument 'shift'"):
            bound(1, 16, factor=2)
        with pytest.raises(KernelArgumentError, match="unknown argument 'shifd'"):
            bound(1, 16, factor=2, shifd=2)
        with pytest.raises(KernelArgumentError, match="factor must be uint16"):
            bound(1, 16, factor=1 << 20, shift=0)
        with pytest.raises(KernelArgumentError, match="unknown argument 'value'"):
            bound.kernel.bind(value=1)
        with pytest.raises(KernelArgumentError, match="times must be uint8"):
            bound.kernel.bind(times=300)
        return [float(value) for value in running.get(out)]

    assert device.submit(launch).result() == [0, 2, 4, 6]


def test_constants_that_are_equal_but_of_other_types_make_other_programs(device, template):
    def programs(running):
        return [id(running.program(template, value="i32", extra=extra)) for extra in (1, 1.0, True, 1)]

    one, real, true, again = device.submit(programs).result()
    assert one == again
    assert len({one, real, true}) == 3


def test_an_unknown_kernel_is_named_with_the_known_ones(device, template):
    with pytest.raises(
        KernelError, match=r"has no kernel strech; did you mean 'stretch'\? \(known: stretch, nothing\)"
    ):
        device.submit(lambda running: running.program(template, value="i32").strech).result()


def test_values_in_an_order_of_ones_own_are_checked_like_named_ones(device, template):
    def run(running):
        program = running.program(template, value="i32")
        out, values = running.put(np.zeros(4, np.float32)), running.put(np.arange(4, dtype=np.int32))
        stretch = program.kernel("stretch").ordered("out", "values", "factor", "shift", "times", "count")
        stretch(1, 16, (out, values, 3, 0.5, 1, 4))
        with pytest.raises(KernelArgumentError, match="values must be a buffer of int32"):
            stretch(1, 16, (out, out, 3, 0.5, 1, 4))
        with pytest.raises(KernelArgumentError, match="factor must be uint16; got int -1"):
            stretch(1, 16, (out, values, -1, 0.5, 1, 4))
        with pytest.raises(KernelArgumentError, match="unknown argument 'outs'; did you mean 'out'"):
            program.kernel("stretch").ordered("outs", "values", "factor", "shift", "times", "count")
        return [float(value) for value in running.get(out)]

    assert device.submit(run).result() == [0.5, 3.5, 6.5, 9.5]
