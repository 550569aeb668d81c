"""Multiple choice and two constraints: against enumeration, HiGHS, and an independent recurrence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint

import engine
from engine import Knapsack, MultidimensionalKnapsack, MultipleChoiceKnapsack, Status
from engine.devices import SliceLength
from engine.errors import OptionError, OutOfDeviceMemory, ProblemError
from engine.events import Progress
from engine.generators.multiple_choice import (
    MultidimensionalOptions,
    MultipleChoiceOptions,
    multidimensional,
    multiple_choice,
    write_multidimensional,
    write_multiple_choice,
)
from engine.solvers.knapsack import checks
from engine.solvers.knapsack.choice import solve as choice_solve
from engine.solvers.knapsack.choice import table as choice_table
from tests.support.examples import examples
from tests.support.knapsacks import assert_optimal, assert_solved, assert_stopped, by_highs
from tests.support.stopping import stop_at

some = examples(60)


@st.composite
def choices(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    classes = np.repeat(np.arange(len(sizes)), sizes)
    largest = draw(st.sampled_from([2, 9, 60]))
    numbers = st.lists(st.integers(0, largest), min_size=len(classes), max_size=len(classes))
    weights = draw(numbers)
    profits = draw(st.one_of(numbers, st.just([w + 1 for w in weights])))
    order = draw(st.permutations(range(len(classes))))
    columns = [np.array(values)[order] for values in (profits, weights, classes)]
    return MultipleChoiceKnapsack(*columns, draw(st.integers(1, largest * len(sizes))))


@st.composite
def two(draw):
    n = draw(st.integers(0, 9))
    largest = draw(st.sampled_from([2, 9, 60]))
    numbers = st.lists(st.integers(0, largest), min_size=n, max_size=n)
    weights = [draw(numbers), draw(numbers)]
    profits = draw(st.one_of(numbers, st.just([a + b for a, b in zip(*weights, strict=True)])))
    capacity = st.integers(1, largest * max(1, n))
    return MultidimensionalKnapsack(profits, weights, [draw(capacity), draw(capacity)])


@some
@given(problem=choices(), reduce=st.booleans())
def test_multiple_choice_is_verified(one_device, problem, reduce):
    result = one_device.solve(problem, reduce=reduce)
    assert engine.verify(result, problem).verdict == "verified"
    if result.status is Status.INFEASIBLE:
        assert result.reason.endswith(f"together; the capacity is {problem.capacity}")


@pytest.mark.parametrize("seed", [50, 79])
def test_options_that_fill_the_capacity_exactly_are_chosen(one_device, seed):
    random = np.random.default_rng(seed)
    weights, profits = random.integers(1, 40, (4, 4)), random.integers(1, 60, 16)
    capacity = int(weights[np.arange(4), random.integers(0, 4, 4)].sum())
    problem = MultipleChoiceKnapsack(profits, weights.ravel(), np.repeat(np.arange(4), 4), capacity)
    result = one_device.solve(problem, reduce=False)
    assert "table" in str(result.arrays["route"])
    assert_solved(result, problem)


@some
@given(problem=two(), reduce=st.booleans())
def test_two_constraints_agree_with_enumeration(one_device, problem, reduce):
    assert_optimal(one_device, problem, reduce=reduce, variant="table")


@some
@given(problem=st.one_of(choices(), two()), wide=st.booleans(), amount=st.sampled_from([1, 30, 10**9]))
def test_other_shapes_of_the_kernel_and_few_choices_kept_find_the_same(one_device, monkeypatch, problem, wide, amount):
    """Work-items in lock step as on a GPU, strips of a few cells, choices of one stage at a time, parts of stages."""
    wide = wide or one_device.device_infos[0].capabilities.kind != "cpu"  # which has vectors of eight 64-bit cells
    constants = {"lanes": 1, "block": 32, "span": 512} if wide else {"lanes": 8, "block": 1, "span": 8}
    with monkeypatch.context() as patch:
        patch.setattr(choice_table, "_constants", lambda *_: {"value": "i64", "choice": "u16", **constants})
        patch.setattr(choice_table, "_SPAN", constants["span"])
        patch.setattr(choice_table.ChoiceTable, "value", "i64")
        patch.setattr(choice_table.ChoiceTable, "choice", "u16")
        patch.setattr(choice_solve, "_SHARE", 0.0)
        patch.setattr(choice_solve, "_PIECE", 7)
        patch.setattr(choice_solve, "SliceLength", lambda first, growth: SliceLength(amount, most=amount))
        table = {"variant": "table"} if isinstance(problem, MultidimensionalKnapsack) else {}
        result = one_device.solve(problem, reduce=False, **table)
    assert engine.verify(result, problem).verdict == "verified"


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["uncorrelated", "weakly-correlated", "strongly-correlated", "subset-sum"])
def test_generated_choices_agree_with_highs(one_device, kind):
    problem = multiple_choice(MultipleChoiceOptions(type=kind, classes=20, class_size=6, max_weight=200, seed=4))
    chosen = np.zeros((problem.class_count, problem.n))
    chosen[problem.classes, np.arange(problem.n)] = 1
    assert_optimal(one_device, problem, by_highs(problem, LinearConstraint(chosen, 1, 1)))


def test_values_past_32_bits_and_the_value_alone(one_device):
    problem = MultidimensionalKnapsack([2**40, 2**40 + 1, 3], [[3, 3, 5], [5, 4, 3]], [8, 8])
    assert_solved(one_device.solve(problem, reduce=False, variant="table"), problem, 2**40 + 1 + 3)
    result = one_device.solve(problem, reduce=False, variant="table", items=False)
    assert result.objective == 2**40 + 4
    assert result.solution is None


def test_a_stopped_table_keeps_its_best_and_resumes(one_device, tmp_path, monkeypatch):
    monkeypatch.setattr(choice_solve, "SliceLength", lambda first, growth: SliceLength(1, most=1))  # a line at a time
    problem = multidimensional(MultidimensionalOptions(n=60, max_weight=20, seed=1))
    stop_at(monkeypatch, lambda event: isinstance(event, Progress) and event.done > 5)
    stopped = one_device.solve(problem, reduce=False, variant="table", run_folder=tmp_path / "run")
    assert_stopped(stopped, problem)
    monkeypatch.undo()
    whole = one_device.solve(problem, reduce=False, variant="table")
    assert stopped.objective <= whole.objective <= stopped.bound
    assert_solved(one_device.resume(tmp_path / "run").wait(), problem, int(whole.objective or 0))


def test_tables_kept_beyond_the_hosts_memory_are_refused(one_device, monkeypatch):
    problem = multidimensional(MultidimensionalOptions(n=30, max_weight=30, seed=2))
    monkeypatch.setattr(choice_solve, "_SHARE", 0.0)
    monkeypatch.setattr(checks, "total_memory", lambda: 10**6)
    with pytest.raises(OptionError, match=r"keeping 29 tables of .* takes .*; set items = false, or add a device"):
        one_device.solve(problem, reduce=False, variant="table")
    assert one_device.solve(problem, reduce=False, variant="table", items=False).objective == by_highs(problem)


def test_a_table_too_large_is_refused_with_its_size(one_device):
    weights = [np.arange(1, 9) * 10**6 + 7, np.arange(8, 0, -1) * 10**6 + 3]
    problem = MultidimensionalKnapsack(np.arange(5, 13), weights, [10**7, 10**7])
    with pytest.raises(OutOfDeviceMemory, match=r"the table of 8 stages x .* cells needs"):
        one_device.solve(problem, reduce=False, variant="table")


def test_profits_with_decimals_are_exact_in_every_kind(one_device, tmp_path):
    choice = MultipleChoiceKnapsack([0.1, 0.5, 0.25, 0.6], [2, 4, 1, 5], [0, 0, 1, 1], 6)
    two = MultidimensionalKnapsack([0.1, 0.2, 0.3], [[1, 2, 3], [3, 2, 1]], [3, 5])
    for problem, objective in ((choice, 0.75), (two, 0.3)):
        for items in (True, False):
            result = one_device.solve(problem, items=items, reduce=False, run_folder=tmp_path / f"{objective} {items}")
            assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, objective, objective)
        again = type(problem).from_arrays(problem.to_arrays(), "again")
        assert again.scale == problem.scale > 1
        assert problem.evaluate(one_device.solve(again).solution)[0] == objective
    with pytest.raises(ProblemError, match=r"item 1 has profit -0.2; profits must be at least 0"):
        MultidimensionalKnapsack([0.1, -0.2], [[1, 2], [3, 2]], [3, 5])


def test_or_tools_items_without_weight_and_capacities_of_0_are_taken(one_device):
    for weights, capacities, chosen in (
        ([[0, 20, 30]], [30], [0, 2]),
        ([[0, 20, 30]], [0], [0]),
        ([[10, 20, 30]], [0], []),
        ([[10, 20, 30], [0, 1, 1]], [40, 0], [0]),
    ):
        result = one_device.solve(Knapsack.from_ortools([60, 100, 120], weights, capacities))
        assert (result.status, result.solution.tolist()) == (Status.OPTIMAL, chosen)


def test_files_survive_writing_and_reading(tmp_path):
    choice = multiple_choice(MultipleChoiceOptions(classes=3, class_size=4, seed=2))
    pair = multidimensional(MultidimensionalOptions(n=5, seed=2))
    write_multiple_choice(choice, tmp_path / "a.txt")
    write_multidimensional(pair, tmp_path / "b.txt")
    for path, problem in ((tmp_path / "a.txt", choice), (tmp_path / "b.txt", pair)):
        assert type(problem).recognizes(path, path.read_text())
        assert not Knapsack.recognizes(path, path.read_text())
        again, arrays = type(problem).read(path), problem.to_arrays()
        copy = type(problem).from_arrays(arrays, "copy")
        for name, values in arrays.items():
            assert np.array_equal(again.to_arrays()[name], values)
            assert np.array_equal(copy.to_arrays()[name], values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n3 2 0\n5 4 3\n2 3", r"the file ends where weight \(0, 2\) should follow .*line 4"),
        ("1\n1 2 0\n5 1 1 1 1 9", r"there is more than the instances: '9' .*line 3"),
        ("1\n3 2 0\n5 4.5 3", r"profit \(0, 1\) must be an integer; got '4.5' .*line 3"),
        ("1\n1 2 0\n5 1 1 -1 1", "capacity must be at least 0; got -1"),
    ],
)
def test_broken_files_are_refused(tmp_path, text, message):
    path = tmp_path / "broken.txt"
    path.write_text(text)
    with pytest.raises(ProblemError, match=message):
        MultidimensionalKnapsack.read(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 2], [0], 3), "one entry per item; got 2, 2 and 1"),
        (([1, 2], [1, 2], [0, 2], 3), "classes must be numbered from 0 without gaps"),
        (([1, -2], [1, 2], [0, 0], 3), "item 1 has profit -2"),
        (([1, 2], [1, 2], [0, 0], -1), "capacity must be at least 0"),
    ],
)
def test_wrong_choices_are_refused(arguments, message):
    with pytest.raises(ProblemError, match=message):
        MultipleChoiceKnapsack(*arguments)
    with pytest.raises(ProblemError, match="class 0 has 2 items in the solution; it must have 1"):
        MultipleChoiceKnapsack([1, 2], [1, 2], [0, 0], 3).evaluate([0, 1])


def test_a_known_solution_begins_the_run(one_device):
    problem = MultidimensionalKnapsack([5, 4, 3], [[2, 3, 1], [1, 1, 4]], [4, 5])
    assert_optimal(one_device, problem, 8, initial=(2, 0), reduce=False, variant="table")
    for initial, message in (((0, 1), "its items weigh 5 and 2, more than 4 and 5"), ((3,), "there is no item 3")):
        with pytest.raises(OptionError, match=message):
            one_device.solve(problem, initial=initial)


def test_time_is_up_before_bounds_are_done(one_device):
    problem = multiple_choice(MultipleChoiceOptions(type="weakly-correlated", classes=4000, class_size=10, seed=1))
    result = one_device.solve(problem, time_limit=1e-3)
    assert result.status is Status.TIME_LIMIT
    assert result.solution is None or problem.evaluate(result.solution)[0] == result.objective


def test_weights_whose_sum_64_bits_do_not_hold_are_refused(one_device):
    rows = [[2**62 - 1, 2**60], [2**62 - 1, 2**60]]
    problem = MultidimensionalKnapsack([3, 4], rows, [2**61, 2**61])
    with pytest.raises(ProblemError, match=r"the sum of weights must be below 2\^55"):
        one_device.solve(problem)
