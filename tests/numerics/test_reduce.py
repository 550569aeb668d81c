"""Sum, minimum, maximum and argmin of a work-group: NumPy's answers for every type, in an order that is fixed."""

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("unoptimized")

COUNTS = (1, 3, 33, 100)
TYPES = {"i32": "int32", "f64": "float64"}
GROUPS = """\
<%namespace name="reduce" file="/common/reduce.mako"/>
% for type in ("i32", "f64"):
% for count in counts:

KERNEL LAUNCH_BOUNDS(${block}, 1) reduce_${type}_${count}(const GLOBAL ${type}* RESTRICT values,
    GLOBAL ${type}* RESTRICT results, GLOBAL i64* RESTRICT place)
{
    LOCAL_ARRAY(${type}, part, ${count});
    LOCAL_ARRAY(i64, index, ${count});
% for number, operation in enumerate(("sum", "min", "max", "argmin")):
    for (i32 i = LOCAL_ID; i < ${count}; i += ${block}) {
        part[i] = values[i];
        index[i] = i;
    }
% if operation == "argmin":
    ${reduce.block_argmin("part", "index", type, block, count)}
    if (LOCAL_ID == 0)
        place[0] = index[0];
% elif operation == "sum":
    ${reduce.block_sum("part", type, block, count)}
% elif operation == "min":
    ${reduce.block_min("part", type, block, count)}
% else:
    ${reduce.block_max("part", type, block, count)}
% endif
    if (LOCAL_ID == 0)
        results[${number}] = part[0];
    BARRIER();
% endfor
}
% endfor
% for together in (1, 2, 3):

KERNEL LAUNCH_BOUNDS(${block}, 1) reduce_variables_${type}_${together}(const GLOBAL ${type}* RESTRICT values, i32 count,
    GLOBAL ${type}* RESTRICT results)
{
    LOCAL_ARRAY(${type}, part, ${together * block});
    ${type} total = 0;
    ${type} least = values[0];
    ${type} most = values[0];
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


def reduced(device, template, block, values):
    type = next(name for name, dtype in TYPES.items() if values.dtype == dtype)
    program = device.program(template, block=block, counts=COUNTS)
    given, results, place = device.put(values), device.empty((4,), values.dtype), device.empty((1,), "int64")
    kernel = getattr(program, f"reduce_{type}_{values.size}")
    kernel(1, block, values=given, results=results, place=place)
    return device.get(results), int(device.get(place)[0])


@pytest.mark.parametrize("block", [32, pytest.param(64, marks=pytest.mark.full)])
def test_a_tree_adds_and_compares_as_numpy_does(device, block, trial_template):
    template = trial_template(f"reduce_{block}", GROUPS)
    random = np.random.default_rng(1)
    for dtype in TYPES.values():
        for count in COUNTS:
            values = (random.standard_normal(count) * 10.0 ** random.integers(0, 6, count)).astype(dtype)
            results, place = device.submit(reduced, template, block, values).result()
            assert results.tolist() == [tree_sum(values), values.min(), values.max(), values.min()], (dtype, count)
            assert place == values.argmin()


def test_the_lowest_index_wins_a_tie_and_a_nan_wins_all(device, trial_template):
    template = trial_template("reduce_32", GROUPS)
    values = np.full(100, 7.0)
    values[[13, 60, 88]] = -1.0
    assert device.submit(reduced, template, 32, values).result()[1] == 13
    values[[40, 77]] = np.nan
    results, place = device.submit(reduced, template, 32, values).result()
    assert np.isnan(results).all()
    assert place == 40


def variables_reduced(device, template, block, values):
    type = next(name for name, dtype in TYPES.items() if values.dtype == dtype)
    program = device.program(template, block=block, counts=COUNTS)
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
