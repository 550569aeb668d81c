"""Bounded and unbounded problems, subset sums and the values of all capacities, against independent recurrences."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import engine
from engine import Knapsack, cli
from engine.errors import OptionError, ProblemError
from engine.formats import knapsack as formats
from engine.solvers.knapsack import bits
from tests.support.examples import examples
from tests.support.knapsacks import assert_optimal, assert_solved

some = examples(40)


def test_files_say_how_often_an_item_may_be_taken_or_the_reader_does(tmp_path, capsys):
    path, items = tmp_path / "three.txt", ([60, 100, 120], [10, 20, 30], 50)
    formats.write(path, *items, "bounded", counts=[2, 1, 1])
    assert Knapsack.read(path).format == "bounded"
    for arguments, value in (([], 240), (["--unbounded"], 300), (["--copies", "1"], 220)):
        assert cli.command_line(["solve", str(path), *arguments, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["objective"] == value
    assert cli.command_line(["solve", str(path), "--unbounded", "--copies", "2"]) != 0
    assert "copies and unbounded exclude each other" in " ".join(capsys.readouterr().err.split())
    path.write_text("2\n0 60 10 -3\n1 100 20 1\n50\n")
    assert cli.command_line(["solve", str(path)]) != 0
    assert "item 0 has count -3; counts must be at least 0 (" in " ".join(capsys.readouterr().err.split())
    formats.write(path, *items, "pisinger-csv", optimum=220)
    assert (Knapsack.read(path).optimum, Knapsack.read(path, copies=4).optimum) == (220, None)
    for wrong in ({"copies": 0}, {"copies": 2, "unbounded": True}):
        with pytest.raises(ProblemError, match="copies must be at least 1, and not be given for an unbounded problem"):
            Knapsack.read(path, **wrong)
    with pytest.raises(ProblemError, match="has no place for counts"):
        formats.write(path, *items, "kplib", counts=[1, 1, 1])


@st.composite
def bounded(draw):
    n = draw(st.integers(1, 6))
    numbers = st.lists(st.integers(1, 30), min_size=n, max_size=n)
    counts = draw(st.lists(st.sampled_from([0, 1, 2, 3, 7, 10**12]), min_size=n, max_size=n))
    return Knapsack(draw(numbers), draw(numbers), draw(st.integers(1, 120)), counts=counts)


@st.composite
def unbounded(draw):
    items = draw(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 25)), min_size=1, max_size=6))
    return Knapsack.unbounded([p for p, _ in items], [w for _, w in items], draw(st.integers(1, 200)))


@some
@given(
    problem=st.one_of(bounded(), unbounded()),
    variant=st.sampled_from(["auto", "rows", "tiles", "classes", "sparse"]),
    reduce=st.booleans(),
    profile=st.booleans(),
)
def test_bounded_and_unbounded_problems_and_their_profiles_are_verified(one_device, problem, variant, reduce, profile):
    profile &= variant != "sparse"
    result = one_device.solve(problem, variant=variant, reduce=reduce, profile=profile)
    assert_solved(result, problem)
    assert ("profile" in result.arrays) == profile


def test_the_profile_is_the_same_on_several_devices(three_devices):
    random = np.random.default_rng(2)
    problem = Knapsack(random.integers(1, 100, 60), random.integers(1, 90, 60), 1500)
    result = three_devices.solve(problem, profile=True, minimum_share=1)
    assert_solved(result, problem)
    assert len(result.arrays["profile"]) == 1501
    assert result.counters["exchanged_bytes"] > 0


@st.composite
def proportional(draw):
    """Light and heavy weights (fused and single launches), with a common divisor or not, and copies."""
    n = draw(st.integers(1, 40))
    largest = draw(st.sampled_from([5, 300, 4000, 40_000]))
    weights = np.array(draw(st.lists(st.integers(1, largest), min_size=n, max_size=n)))
    weights = weights * draw(st.sampled_from([1, 2, 35]))
    capacity = draw(st.integers(1, int(weights.sum()) + 2))
    return Knapsack(draw(st.sampled_from([1, 3])) * weights, weights, min(capacity, 900_000))


HEAVY = np.array([33_331, 40_001, 50_003, 61_117, 70_001])


@some
@example(problem=Knapsack(HEAVY, HEAVY, 130_000), reduce=False, block=32)
@given(problem=proportional(), reduce=st.booleans(), block=st.sampled_from([1, 32]))
def test_rows_of_bits_find_the_greatest_sum_and_its_items(one_device, monkeypatch, problem, reduce, block):
    constants = {"block": block, "tile": 600, "halo": 512}
    with monkeypatch.context() as patch:
        patch.setattr(bits, "_constants", lambda capabilities: constants)
        assert_optimal(one_device, problem, variant="bits", reduce=reduce)


def test_sums_that_miss_the_capacity_are_proved_by_bits(one_device):
    """Bounds cannot prove it: the relaxation fills the capacity, but sums are multiples of ten, or one more."""
    weights = np.append(10 * np.random.default_rng(5).integers(200, 2000, 200), 1)
    problem = Knapsack(weights, weights, int(weights.sum()) // 20 * 10 + 5)
    result = one_device.solve(problem)
    assert_solved(result, problem, problem.capacity - 4)
    assert "row of bits" in str(result.arrays["route"])
    assert one_device.solve(problem, items=False).objective == problem.capacity - 4
    bounded = Knapsack([4, 6], [4, 6], 21, counts=[3, 2])
    assert one_device.solve(bounded, variant="bits", reduce=False).objective == 20


def test_bits_need_profits_in_proportion_to_weights(one_device):
    with pytest.raises(OptionError, match="profits in proportion to the weights"):
        one_device.solve(Knapsack([1, 3, 5], [2, 4, 7], 9), variant="bits", reduce=False)
    with pytest.raises(OptionError, match="the profile needs a dense table; variant must not be bits"):
        one_device.solve(Knapsack([2, 4], [2, 4], 5), variant="bits", profile=True)


def test_wrong_counts_are_refused_and_right_ones_summed_exactly():
    for make, message in (
        (lambda: Knapsack([5, 4], [3, 2], 20, counts=[1]), "counts must have one entry per item; got 1 for 2 items"),
        (lambda: Knapsack([5, 4], [3, 2], 20, counts=[1, -2]), "item 1 has count -2; counts must be at least 0"),
        (lambda: Knapsack([5, 4], [3, 2], 20, counts=[1, 0.5]), "the count of item 1 must be an integer; got 0.5"),
        (
            lambda: Knapsack([5], [3], 20, counts=[2]).evaluate([0] * 3),
            "item 0 is given 3 times; it can be taken 2 times",
        ),
        (lambda: Knapsack.unbounded([2**40, 1], [1, 1], 2**40), "the profits of all copies sum to"),
        (
            lambda: Knapsack.unbounded([1, 2], [3, 0], 5),
            "item 1 has weight 0: taken without limit, its profit has none",
        ),
    ):
        with pytest.raises(ProblemError, match=message):
            make()
    assert Knapsack([1], [2**62], 2**62, counts=[10]).evaluate([0] * 4) == (4, 2**64)
    assert Knapsack.unbounded([1, 0], [3, 0], 7).counts.tolist() == [2, 0]


def test_scaled_profits_are_reported_in_their_own_unit(one_device, tmp_path):
    problem = Knapsack([0.1, 0.25, 3], [1, 2, 3], 5)
    assert (problem.scale, problem.profits.tolist()) == (20, [2, 5, 60])
    assert "profits 0.1 to 3.0" in problem.describe()
    assert problem.evaluate([1, 2]) == (3.25, 5)
    result = one_device.solve(problem, profile=True, run_folder=tmp_path / "run")
    assert result.objective == result.bound == engine.load(tmp_path / "run").objective == 3.25
    assert result.arrays["profile"].tolist() == [0.0, 0.1, 0.25, 3.0, 3.1, 3.25]
    bounded = Knapsack([0.5, 0.75], [2, 3], 8, counts=[3, 1])
    assert [entry.objective for entry in one_device.map([problem, bounded]).results] == [3.25, 1.75]
    assert one_device.solve(bounded, variant="rows", reduce=False).objective == 1.75
    short = Knapsack(np.array([0.1, 0.7], np.float32), [1, 1], 1)  # as they print
    assert (short.scale, one_device.solve(short).objective) == (10, 0.7)
