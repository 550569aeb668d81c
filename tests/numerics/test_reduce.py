"""Reductions: NumPy's answers for every type and size, and one order of additions on every device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.devices import Device, DevicePool, Member, gather
from engine.numerics.groups import GROUP_SIZES
from engine.numerics.reduce import Reducer, argmin, ordered_sum, reduce_max, reduce_min, reduce_sum
from tests.support.examples import examples

pytestmark = pytest.mark.usefixtures("unoptimized")

DTYPES = ("int32", "int64", "float32", "float64")
SIZES = (1, 2, 255, 256, 257, 4095, 4096, 4097, 7919, 65_537, 1_048_583, 4_194_319)


def random_values(size: int, dtype: str, seed: int) -> NDArray[Any]:
    """Values of both signs; floats of very different magnitudes, so that another order gives another sum."""
    random = np.random.default_rng(seed)
    if dtype.startswith("int"):
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    return (random.standard_normal(size) * 10.0 ** random.integers(-6, 6, size)).astype(dtype)


def all_four(device: Device, values: NDArray[Any], block: int | None = None) -> tuple[Any, Any, Any, Any]:
    buffer = device.put(values)
    try:
        with Reducer(device, values.dtype, block=block) as reducer:
            return reducer.sum(buffer), reducer.min(buffer), reducer.max(buffer), reducer.argmin(buffer)
    finally:
        device.release(buffer)


@pytest.mark.few(3)
@pytest.mark.parametrize("block", GROUP_SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_size_reduces_as_in_numpy_and_adds_as_the_reference(device: Member, dtype: str, block: int) -> None:
    if block > device.info.capabilities.max_block:
        pytest.skip(f"{device.info.id} has no groups of {block}")
    for size in SIZES:
        values = random_values(size, dtype, seed=size)
        total, least, greatest, first = device.submit(all_four, values, block).result()
        assert total == ordered_sum(values), size
        assert least == values.min(), size
        assert greatest == values.max(), size
        assert first == (values.min(), values.argmin()), size


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_ordered_sum_is_a_sum(dtype: str) -> None:
    for size in (0, *SIZES[:-1]):
        values = random_values(size, dtype, seed=size)
        if dtype.startswith("int"):
            assert ordered_sum(values) == int(values.sum(dtype=np.int64))
        else:
            scale = float(abs(values.astype(float)).sum())
            rounding = 64 * float(np.finfo(dtype).eps)  # additions on the way of one value: its strand, and two trees
            assert ordered_sum(values) == pytest.approx(math.fsum(values.astype(float)), abs=scale * rounding)


def test_the_sum_of_nothing_is_zero(device: Member) -> None:
    def sums(running: Device) -> list[Any]:
        return [reduce_sum(running, running.empty(0, dtype)) for dtype in DTYPES]

    assert device.submit(sums).result() == [0, 0, 0.0, 0.0]


@pytest.mark.parametrize("function", [reduce_min, reduce_max, argmin])
def test_nothing_has_no_minimum(device: Member, function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="there must be at least 1 element; got 0"):
        device.submit(lambda running: function(running, running.empty(0, np.float32))).result()


def test_sums_of_small_integers_do_not_overflow(device: Member) -> None:
    values = np.full(10_000, 2**31 - 1, np.int32)
    assert device.submit(lambda running: reduce_sum(running, running.put(values))).result() == 10_000 * (2**31 - 1)


def test_each_function_does_once_what_a_reducer_does(device: Member) -> None:
    values = np.array([3, -5, 8, -5], np.int64)

    def once(running: Device) -> list[Any]:
        buffer = running.put(values)
        return [function(running, buffer) for function in (reduce_sum, reduce_min, reduce_max, argmin)]

    assert device.submit(once).result() == [1, -5, 8, (-5, 1)]


@examples(25)
@given(size=st.integers(1, 20_000), seed=st.integers(0, 2**32 - 1), dtype=st.sampled_from(DTYPES))
def test_the_lowest_index_wins_a_tie(device: Member, size: int, seed: int, dtype: str) -> None:
    values = np.random.default_rng(seed).integers(0, 3, size).astype(dtype)
    least, index = device.submit(lambda running: argmin(running, running.put(values))).result()
    assert (least, index) == (values.min(), values.argmin())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("places", [(0,), (5000, 77), (9999,)])
def test_a_nan_is_never_lost(device: Member, dtype: str, places: tuple[int, ...]) -> None:
    values = random_values(10_000, dtype, seed=1)
    values[0] = -np.inf
    values[list(places)] = np.nan
    results = device.submit(all_four, values).result()
    assert all(math.isnan(value) for value in (*results[:3], results[3][0]))
    assert results[3][1] == min(places)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_ends_of_a_type_are_values_like_others(device: Member, dtype: str) -> None:
    ends = np.iinfo(dtype) if dtype.startswith("int") else None
    least, greatest = (ends.min, ends.max) if ends else (-np.inf, np.inf)
    for value in (least, greatest):
        values = np.full(300, value, dtype)
        results = device.submit(all_four, values).result()
        assert results[1:] == (value, value, (value, 0))


def test_a_range_is_reduced_alone(device: Member) -> None:
    values = random_values(50_000, "float64", seed=2)

    def ranged(running: Device) -> list[Any]:
        buffer = running.put(values)
        with Reducer(running, "float64") as reducer:
            operations = (reducer.sum, reducer.min, reducer.max, reducer.argmin)
            return [operation(buffer, 12_345, 20_001) for operation in operations] + [reducer.sum(buffer, 49_999)]

    part = values[12_345:32_346]
    expected = [ordered_sum(part), part.min(), part.max(), (part.min(), part.argmin()), values[-1]]
    assert device.submit(ranged).result() == expected


def test_two_devices_at_once_keep_their_data_apart(device: Member) -> None:
    with DevicePool([device.info, device.info]) as pool:
        for seed in range(4):
            data = [random_values(100_003 + rank, "float32", seed=10 * seed + rank) for rank in range(2)]
            results = gather(
                [member.submit(all_four, values) for member, values in zip(pool.members, data, strict=True)]
            )
            for values, (total, least, greatest, first) in zip(data, results, strict=True):
                assert total == ordered_sum(values)
                assert (least, greatest, first) == (values.min(), values.max(), (values.min(), values.argmin()))


def test_wrong_requests_are_refused(device: Member) -> None:
    def ask(running: Device, dtype: str, start: int, count: int | None) -> None:
        with Reducer(running, dtype) as reducer:
            reducer.sum(running.empty(10, np.float32), start, count)

    with pytest.raises(TypeError, match="reductions are of int32, int64, float32, float64; got uint8"):
        device.submit(ask, "uint8", 0, None).result()
    with pytest.raises(TypeError, match="sum: this reduces float64; got a buffer of float32"):
        device.submit(ask, "float64", 0, None).result()
    with pytest.raises(ValueError, match="sum: 8 elements from 3 on are not within a buffer of 10"):
        device.submit(ask, "float32", 3, 8).result()


GROUPS = """
<%namespace name="reduce" file="/common/reduce.mako"/>
KERNEL LAUNCH_BOUNDS(${block}, 1) reduce_groups(const GLOBAL f32* values, GLOBAL f32* results, GLOBAL i64* places)
{
    LOCAL_ARRAY(f32, part, ${count});
    LOCAL_ARRAY(i64, place, ${count});
    const GLOBAL f32* mine = values + (i64)GROUP_ID * ${count};
% for slot, operation in enumerate(("sum", "min", "max")):
    for (i32 i = LOCAL_ID; i < ${count}; i += ${block})
        part[i] = mine[i];
    ${getattr(reduce, f"block_{operation}")("part", "f32", block, count)}
    if (LOCAL_ID == ${block - 1})
        results[4 * GROUP_ID + ${slot}] = part[0];
    BARRIER();
% endfor
    for (i32 i = LOCAL_ID; i < ${count}; i += ${block}) {
        part[i] = mine[i];
        place[i] = i;
    }
    ${reduce.block_argmin("part", "place", "f32", block, count)}
    if (LOCAL_ID == ${block - 1}) {
        results[4 * GROUP_ID + 3] = part[0];
        places[GROUP_ID] = place[0];
    }
}
"""


@pytest.mark.few(2)
@pytest.mark.parametrize(("block", "count"), [(1, 1), (1, 13), (3, 3), (7, 20), (64, 37), (64, 100)])
def test_a_group_of_any_size_reduces_any_number_of_values(
    device: Member, trial_template: Callable[[str, str], str], block: int, count: int
) -> None:
    if block > device.info.capabilities.max_block:
        pytest.skip(f"{device.info.id} has no groups of {block}")
    template = trial_template("reduce_groups", GROUPS)
    values = np.random.default_rng(count).integers(-9, 9, (5, count)).astype(np.float32)

    def run(running: Device) -> tuple[NDArray[Any], NDArray[Any]]:
        reduce = running.program(template, block=block, count=count).reduce_groups
        results, places = running.empty((5, 4), np.float32), running.empty(5, np.int64)
        reduce(5, block, values=running.put(values), results=results, places=places)
        return running.get(results), running.get(places)

    results, places = device.submit(run).result()
    least = values.min(axis=1)
    assert np.array_equal(results, np.stack([values.sum(axis=1), least, values.max(axis=1), least], axis=1))
    assert np.array_equal(places, values.argmin(axis=1))
