"""Claims about the knapsack problem class and the instances Quintet generates."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ProblemError
from engine.formats import knapsack as formats
from engine.generators.knapsack import GeneratorOptions, InstanceType, generate, write
from engine.references.knapsack import optimal_value
from engine.solvers.knapsack.problem import Knapsack
from tests.support.examples import examples

pytestmark = pytest.mark.smoke

SAMPLES = Path(__file__).parents[2] / "samples"
LIMIT = 2**63 - 1
TYPES = [name for name in get_args(InstanceType) if name != "exponential-groups"]  # which has a test of its own


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float64, object])
def test_whole_numbers_of_every_kind_are_taken(dtype):
    problem = Knapsack(np.array([1, 0, 100], dtype), np.array([1, 2, 3], dtype), np.float64(4.0))
    assert problem.profits.tolist() == [1, 0, 100]
    assert problem.capacity == 4


def test_values_up_to_the_limit_are_taken_exactly():
    assert Knapsack([LIMIT], [LIMIT], LIMIT).evaluate([0]) == (LIMIT, LIMIT)
    assert Knapsack([2**60 + 1, 1.0], [1, 1], 1).profits[0] == 2**60 + 1
    quarter = 2**61
    assert Knapsack([quarter, quarter, quarter, quarter - 1], [1] * 4, 1).n == 4
    with pytest.raises(ProblemError, match=f"the profits sum to {2**63};"):
        Knapsack([quarter] * 4, [1] * 4, 1)


NAN, INF = float("nan"), float("inf")
REFUSED = [
    # profits, weights, capacity, what the sentence says
    ([1, 2], [5, -7], 9, "item 1 has weight -7; weights must be at least 0"),
    ([1, -2], [5, 5], 9, "item 1 has profit -2; profits must be at least 0"),
    ([1, 2], [5, 5], -3, "capacity must be at least 0; got -3"),
    ([1, 2], [5, 5], 2.5, "capacity must be an integer; got 2.5"),
    ([1, 2], [5, 5], True, "capacity must be an integer; got True"),
    ([1, 2], [5, 5], 10**5000, "capacity must fit a 64-bit signed integer; got one of thousands of digits"),
    ([1, 2], [5, 5], 1e17, "capacity must be given as an integer, as floating-point numbers are not exact beyond 2"),
    ([1, 2, 3], [5, 5], 9, "profits and weights must have one entry per item; got 3 profits and 2 weights"),
    ([[1, 2]], [5, 5], 9, "profits must be one-dimensional; got an array of shape (1, 2)"),
    ([1, 2], np.ma.array([5, 6], mask=[False, True]), 9, "weights must be integers; got a masked array that lacks"),
    ([1, 2], (w for w in (5, 5)), 9, "weights must be a one-dimensional array of integers; got <generator"),
    ([0.5, -0.25], [1, 2], 9, "item 1 has profit -0.25; profits must be at least 0"),
    ([1e-30, 1.0], [1, 2], 9, "profits times 1000000000000000000000000000000 must sum to at most"),
    ([1, 2], np.array([5, INF]), 9, "the weight of item 1 must be an integer; got inf"),
    ([1, "a"], [5, 5], 9, "the profit of item 1 must be an integer; got 'a'"),
    ([0.5, NAN, 2], [5, 5, 5], 9, "the profit of item 1 must be an integer; got nan"),  # not the first with decimals
    ([5], [Decimal("1.5")], 9, "the weight of item 0 must be an integer; got 1.5"),
    ([True, False], [5, 5], 9, "profits must be integers; got an array of booleans"),
    ([-1, 2**63], [5, 5], 9, f"the profit of item 1 must fit a 64-bit signed integer; got {2**63}"),
    ([1, 2], [LIMIT, LIMIT], 9, f"the weights sum to {2 * LIMIT}; their sum must fit a 64-bit signed integer"),
]


@pytest.mark.parametrize(("profits", "weights", "capacity", "rule"), REFUSED, ids=[r[3][:50] for r in REFUSED])
def test_a_value_that_breaks_a_rule_is_named(profits, weights, capacity, rule):
    with pytest.raises(ProblemError) as caught:
        Knapsack(profits, weights, capacity)
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_sample_is_recognized_and_read_with_its_optimum():
    paths = sorted((SAMPLES / "knapsack").iterdir())
    problems = {path.name: Knapsack.read(path) for path in paths}
    assert {problem.format for problem in problems.values()} == set(formats.FORMATS)
    for path in paths:
        with path.open("rb") as stream:
            assert Knapsack.recognizes(path, stream.read(4096).decode()), path.name
    problem = problems["pisinger.csv"]
    assert (problem.name, problem.n, problem.optimum) == ("pisinger", 50, optimal_value(problem))
    configuration = tomllib.loads((SAMPLES / "knapsack.toml").read_text())
    problem = Knapsack.read(SAMPLES / configuration["problem"])
    assert (problem.n, configuration["knapsack"]) == (2000, {"reduce": False})
    assert (problem.profits == problem.weights + 50).all()
    most_items = int((np.sort(problem.weights).cumsum() <= problem.capacity).sum())
    assert problem.optimum == problem.capacity + 50 * most_items  # no solution can have more items or more weight


def test_arrays_carry_the_whole_instance():
    for problem in (
        Knapsack.read(SAMPLES / "knapsack" / "pisinger.csv"),
        Knapsack([1], [2], LIMIT),
        Knapsack([], [], 3),
        Knapsack([5, 4], [3, 2], 20, counts=[2, 9]),
        Knapsack([0.1, 0.25, 3], [1, 2, 3], 5),
    ):
        arrays = problem.to_arrays()
        again = Knapsack.from_arrays(arrays, problem.name)
        assert again.describe() == problem.describe()
        assert (again.optimum, again.format) == (problem.optimum, problem.format)
        for name, values in again.to_arrays().items():
            assert np.array_equal(values, arrays[name]), name


@examples(60)
@given(data=st.data(), items=st.lists(st.tuples(st.integers(0, 2**58), st.integers(1, 2**58)), max_size=16))
def test_a_solution_is_summed_exactly(data, items):
    problem = Knapsack([p for p, _ in items], [w for _, w in items], 1)
    chosen = data.draw(
        st.permutations(range(len(items))).flatmap(lambda o: st.integers(0, len(o)).map(lambda k: o[:k]))
    )
    profit, weight = problem.evaluate(np.array(chosen, np.int32))
    assert (profit, weight) == (sum(items[i][0] for i in chosen), sum(items[i][1] for i in chosen))
    assert type(profit) is type(weight) is int


@pytest.mark.parametrize(
    ("items", "rule"),
    [
        ([0, 3], "there is no item 3; the items run from 0 to 2"),
        ([2, 1, 2, 1, 2], "item 1 is given 2 times; an item can be taken once"),
        ([0.5], "entry 0 of the solution must be an integer; got 0.5"),
        ([1, 2**64], "entry 1 of the solution must fit a 64-bit signed integer"),
        ([[0]], "item indices must be one-dimensional"),
        ([True, False, True], "item indices must be integers; got an array of booleans"),
    ],
)
def test_a_solution_that_is_none_is_refused(items, rule):
    with pytest.raises(ProblemError) as caught:
        Knapsack([60, 100, 120], [10, 20, 30], 50).evaluate(items)
    assert rule in str(caught.value)
    with pytest.raises(ProblemError, match="there is no item 0; there are no items"):
        Knapsack([], [], 5).evaluate([0])


@pytest.mark.parametrize("largest", [1, 7, 1000, 10**15])
@pytest.mark.parametrize("type", TYPES)
def test_each_class_obeys_its_definition_in_draws_of_the_documented_order_and_is_read_back(type, largest, tmp_path):
    problem = generate(GeneratorOptions(type=type, n=300, max_weight=largest, seed=11, capacity_fraction=0.3))
    random = np.random.Generator(np.random.PCG64(11))
    first = random.integers(1, largest, size=300, endpoint=True)
    tenth, twentieth, narrow = max(1, largest // 10), max(1, largest // 20), largest // 500
    profits, weights = first, first  # of subset sums
    if type == "inverse-strongly-correlated":
        weights = first + tenth
    elif type == "uncorrelated":
        profits = random.integers(1, largest, size=300, endpoint=True)
    elif type == "weakly-correlated":
        profits = np.maximum(1, first + random.integers(-tenth, tenth, size=300, endpoint=True))
    elif type == "almost-strongly-correlated":
        profits = first + tenth + random.integers(-narrow, narrow, size=300, endpoint=True)
    elif type == "strongly-correlated":
        profits = first + twentieth
    write(problem, tmp_path / "made.txt")
    for one in (problem, Knapsack.read(tmp_path / "made.txt")):
        assert one.profits.tolist() == profits.tolist()
        assert one.weights.tolist() == weights.tolist()
        assert one.capacity == int(weights.sum()) * 3 // 10  # the fraction as it is written


def test_exponential_groups_obey_their_definition():
    options = GeneratorOptions(
        type="exponential-groups", n=1000, capacity=10**6, groups=6, light_fraction=0.3, offset=0.1, noise=200, seed=1
    )
    problem = generate(options)
    base = np.array([0, 600_000, 350_000, 225_000, 162_500, 131_250])[1 + np.arange(1000) % 5]
    for values in (problem.profits, problem.weights):
        noise = values - np.where(np.arange(1000) < 700, base, 0)
        assert (noise.min() >= 1, noise.max() <= 200) == (True, True)
        assert len(np.unique(noise)) > 150
    assert not np.array_equal(problem.profits, problem.weights)
    assert problem.capacity == 10**6
