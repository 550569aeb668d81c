"""Prefix sums: NumPy's answers for every type and length."""

import numpy as np
import pytest

from engine.numerics.groups import GROUP_SIZES
from engine.numerics.scan import Scanner

pytestmark = [pytest.mark.smoke, pytest.mark.usefixtures("unoptimized")]

PAIRS = (("int32", "int32"), ("int32", "int64"), ("int64", "int64"))
SIZES = (0, 1, 2, 255, 256, 257, 2047, 2048, 2049, 7919, 65_537, 1_048_583)


def scanned(running, values, prefix, block=None):
    """The prefix sums of values, and their total."""
    source, target = running.put(values), running.empty(values.shape, prefix)
    with Scanner(running, block=block) as scanner:
        total = scanner.exclusive(source, target)
    result = running.get(target)
    running.release(source)
    running.release(target)
    return result, total


def require_groups(device, block):
    if block > device.info.capabilities.max_block:
        pytest.skip(f"{device.info.id} has no groups of {block}")


@pytest.mark.few(3)
@pytest.mark.parametrize("block", GROUP_SIZES)
@pytest.mark.parametrize(("value", "prefix"), PAIRS)
def test_every_length_is_scanned_as_in_numpy(device, value, prefix, block):
    require_groups(device, block)

    for size in SIZES:
        values = np.random.default_rng(size).integers(-1000, 1000, size, dtype=value)
        prefixes, total = device.submit(scanned, values, prefix, block).result()
        expected = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
        assert prefixes.dtype == prefix
        assert np.array_equal(prefixes, expected[:-1]), size
        assert total == expected[-1], size


def test_three_levels_of_totals_are_enough_for_more_than_a_tile_of_tiles(device):
    values = np.ones(2048 * 2048 + 1, np.int32)
    prefixes, total = device.submit(scanned, values, np.int32).result()
    assert total == values.size
    assert np.array_equal(prefixes, np.arange(values.size))


def test_a_total_beyond_int32_is_exact_while_prefixes_wrap(device):
    values = np.full(5000, 2**30, np.int32)
    prefixes, total = device.submit(scanned, values, np.int32).result()
    assert total == 5000 * 2**30
    assert np.array_equal(prefixes, (np.arange(5000) * 2**30).astype(np.int32))
    assert np.array_equal(device.submit(scanned, values, np.int64).result()[0], np.arange(5000) * 2**30)


GROUPS = """
<%namespace name="scan" file="/common/scan.mako"/>
KERNEL LAUNCH_BOUNDS(${block}, 1) scan_groups(GLOBAL i32* values)
{
    LOCAL_ARRAY(i32, part, ${block});
    part[LOCAL_ID] = values[GLOBAL_ID];
    ${scan.block_inclusive("part", "i32", block)}
    values[GLOBAL_ID] = part[LOCAL_ID];
}
"""


@pytest.mark.parametrize("block", [1, 2, 3, 64, 100])
def test_a_group_of_any_size_scans_its_values(device, trial_template, block):
    require_groups(device, block)
    template = trial_template("scan_groups", GROUPS)
    values = np.random.default_rng(block).integers(-9, 9, (5, block), dtype=np.int32)

    def run(running):
        scan = running.program(template, block=block).scan_groups
        buffer = running.put(values)
        scan(5, block, values=buffer)
        return running.get(buffer)

    assert np.array_equal(device.submit(run).result(), values.cumsum(axis=1))
