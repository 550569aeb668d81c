"""Records: what kernels and the host know by name is the same memory; and launches that share their arguments."""

import numpy as np
import pytest

from engine.devices import Launcher, Record
from engine.devices.cuda.compiler import compile_cubin
from engine.devices.kernels.templates import render
from engine.errors import BackendUnavailable, KernelArgumentError

MIXED = Record("mixed", flag="i8", rate="f64", shape=("f32", 3), count="i64", sign="i16")
CHAIN = Record("chain", precision="f64", energy="f64")

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


def test_cuda_aligns_a_record_as_the_host_does(template):
    try:
        assert compile_cubin(render(template, "cuda", mixed=MIXED), "sm_90", "cuda:0")
    except BackendUnavailable as error:
        pytest.skip(str(error))


def test_a_buffer_that_does_not_hold_the_records_of_a_kernel_is_an_error(device, template):
    def launch(running):
        numbers = running.put(np.zeros(15))
        running.program(template, mixed=MIXED).double_all(3, 1, all=numbers, times=2, shift=0.0)

    with pytest.raises(KernelArgumentError, match=r"all must be a buffer of .*'rate'.*; got a buffer of float64"):
        device.submit(launch).result()


def test_records_of_one_type_are_views_of_numbers():
    numbers = np.arange(12.0).reshape(2, 3, 2)
    chains = CHAIN.view(numbers)
    assert chains.shape == (2, 3)
    chains["energy"][1, 2] = -1.0
    assert numbers[1, 2, 1] == -1.0
    assert np.shares_memory(CHAIN.numbers(chains), numbers)
    np.testing.assert_array_equal(CHAIN.numbers(chains), numbers)


@pytest.mark.parametrize(("field", "kind"), [("field", "float16"), ("local", "i32"), ("class", "i32"), ("int4", "f64")])
def test_a_field_of_an_unknown_type_or_named_as_a_keyword_is_an_error(field, kind):
    with pytest.raises(ValueError, match=rf"wrong\.{field}"):
        Record("wrong", **{field: kind})


def test_a_launcher_is_given_only_what_varies(device, template):
    def rates(running):
        buffer, other = running.put(records()), running.put(records())
        kernel = running.program(template, mixed=MIXED).double_all
        launch = Launcher(all=buffer, times=2, unknown_to_the_kernel=1)
        launch(kernel, 3, 1, shift=0.0)
        launch(kernel, 3, 1, shift=1.0)
        launch.share(all=other, times=3)
        launch(kernel, 3, 1, shift=0.0)
        with pytest.raises(KernelArgumentError, match="missing argument 'shift'"):
            launch(kernel, 3, 1)
        once = Launcher(all=buffer, times=2)
        once(kernel, 1, 1, shift=0.0, times=10)  # in place of what is shared
        return [*running.get(buffer)["rate"], *running.get(other)["rate"]]

    assert device.submit(rates).result() == [30.0, 7.0, 11.0, 1.5, 4.5, 7.5]
