"""Sum, minimum, maximum and argmin of a work-group: NumPy's answers for every type, in an order that is fixed."""

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("unoptimized")

TYPES = {"i32": "int32", "f64": "float64"}
GROUPS = """\
<%namespace name="reduce" file="/common/reduce.mako"/>
% for type in ("i32", "f64"):

KERNEL LAUNCH_BOUNDS(${block}, 1) reduce_${type}(const GLOBAL ${type}* RESTRICT values,
    GLOBAL ${type}* RESTRICT results, GLOBAL i64* RESTRICT place)
{
    LOCAL_ARRAY(${type}, part, ${2 * block});
    LOCAL_ARRAY(i64, index, ${block});
    const ${type} value = values[LOCAL_ID];
    ${reduce.block_sums("part", type, block, ["value", "2 * value"])}
    results[0] = part[0];
    results[1] = part[${block}];
    BARRIER();
    part[LOCAL_ID] = value;
    index[LOCAL_ID] = LOCAL_ID;
    ${reduce.block_argmin("part", "index", type, block)}
    results[2] = part[0];
    place[0] = index[0];
}
% for together in (1, 2, 3):

KERNEL LAUNCH_BOUNDS(${block}, 1) reduce_variables_${type}_${together}(const GLOBAL ${type}* RESTRICT values, i32 count,
    GLOBAL ${type}* RESTRICT results)
{
    LOCAL_ARRAY(${type}, part, ${together * block});
    ${type} total = 0, least = values[0], most = values[0];
    for (i32 i = LOCAL_ID; i < count; i += ${block}) {
        total += values[i];
        least = values[i] < least || values[i] != values[i] ? values[i] : least;
        most = values[i] > most || values[i] != values[i] ? values[i] : most;
    }
    ${reduce.group_reduce("part", type, block, [("total", "sum"), ("least", "min"), ("most", "max")], together)}
    if (LOCAL_ID == ${block - 1}) {
        results[0] = total;
        results[1] = least;
        results[2] = most;
    }
}
% endfor
% endfor
"""


def tree_sum(values):
    """Element i + element i + ceil(n / 2), for n = count, ceil(count / 2), ..., 2."""
    while values.size > 1:
        half = (values.size + 1) // 2
        values = np.concatenate([values[: values.size - half] + values[half:], values[values.size - half : half]])
    return values[0]


def reduced(device, template, values):
    type = next(name for name, dtype in TYPES.items() if values.dtype == dtype)
    program = device.program(template, block=values.size)
    given, results, place = device.put(values), device.empty((3,), values.dtype), device.empty((1,), "int64")
    getattr(program, f"reduce_{type}")(1, values.size, values=given, results=results, place=place)
    return device.get(results), int(device.get(place)[0])


@pytest.mark.parametrize("block", [1, 33, 64])
def test_a_tree_adds_and_compares_as_numpy_does(device, block, trial_template):
    template = trial_template(f"reduce_{block}", GROUPS)
    random = np.random.default_rng(1)
    for dtype in TYPES.values():
        values = (random.standard_normal(block) * 10.0 ** random.integers(0, 6, block)).astype(dtype)
        results, place = device.submit(reduced, template, values).result()
        assert results.tolist() == [tree_sum(values), tree_sum(2 * values), values.min()], dtype
        assert place == values.argmin()


def test_the_lowest_index_wins_a_tie_and_a_nan_wins_all(device, trial_template):
    template = trial_template("reduce_33", GROUPS)
    values = np.full(33, 7.0)
    values[[13, 20, 28]] = -1.0
    assert device.submit(reduced, template, values).result()[1] == 13
    values[[24, 27]] = np.nan
    results, place = device.submit(reduced, template, values).result()
    assert np.isnan(results).all()
    assert place == 24


def variables_reduced(device, template, block, values):
    type = next(name for name, dtype in TYPES.items() if values.dtype == dtype)
    program = device.program(template, block=block)
    given, results, found = device.put(values), device.empty((3,), values.dtype), []
    for together in (1, 2, 3):
        kernel = getattr(program, f"reduce_variables_{type}_{together}")
        kernel(1, block, values=given, count=values.size, results=results)
        found.append(device.get(results))
    return found


def test_variables_of_all_work_items_are_reduced_at_once(device, trial_template):
    template = trial_template("reduce_32", GROUPS)
    for dtype in TYPES.values():
        values = np.random.default_rng(2).integers(-1000, 1000, 100).astype(dtype)
        for found in device.submit(variables_reduced, template, 32, values).result():
            assert found.tolist() == [values.sum(), values.min(), values.max()]
    values[7] = np.nan
    for found in device.submit(variables_reduced, template, 32, values).result():
        assert np.isnan(found[1:]).all()
