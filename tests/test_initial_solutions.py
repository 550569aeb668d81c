"""The option ``initial``: a known solution is checked, and the run begins with it."""

import numpy as np
import pytest

import engine
from engine.cli import command_line
from engine.errors import OptionError
from engine.events import Incumbent
from tests.support.needs import opencl_device

pytestmark = pytest.mark.smoke

TIMES = np.random.default_rng(4).integers(1, 100, (5, 9))
COSTS = np.random.default_rng(5).integers(1, 100, (8, 8))


def first_incumbent(problem, **options):
    seen = []
    result = engine.solve(problem, backend="opencl", on_event=seen.append, **options)
    return result, next(event for event in seen if isinstance(event, Incumbent))


@pytest.fixture(autouse=True)
def opencl():
    opencl_device()


def test_a_bit_string_is_in_the_initial_population():
    fields = {"population": 64, "max_generations": 1, "local_search": "none", "backend": "opencl"}
    assert engine.solve(engine.BOA("trap-5", 60), **fields).objective < 60
    assert engine.solve(engine.BOA("trap-5", 60), initial=[1] * 60, **fields).objective == 60


@pytest.mark.parametrize(
    ("problem", "initial", "message"),
    [
        (engine.Flowshop(TIMES), [0, 1, 2], "each of 0 to 8 once; got 3 values"),
        (engine.Flowshop(TIMES), [0, 1, 2, 3, 4, 5, 6, 7, 7], "each of 0 to 8 once; got 7 twice"),
        (engine.Flowshop(TIMES), [0.5, 1, 2], "or a list of whole numbers; got"),
        (engine.Flowshop(TIMES), "nhe", "did you mean 'neh'"),
        (engine.ATSP(COSTS), [1, 2, 3, 4, 5, 6, 7, 8], "each of 0 to 7 once; got 8"),
        (engine.Knapsack([1, 2], [3, 4], 5), [2**70], "must fit a 64-bit signed integer; got 1180591620717411303424"),
        (engine.MultipleChoiceKnapsack([1, 2], [3, 4], [0, 0], 5), [2**70], "must fit a 64-bit signed integer"),
        (engine.Knapsack([1, 2], [3, 4], 5), [0, 0], "item 0 is given 2 times; an item can be taken once"),
        (engine.Knapsack([1, 2], [3, 4], 9), np.array([False, True]), "the numbers of items, not true or false"),
        (engine.Knapsack([1, 2], [3, 4], 5), [0, 1], "its items weigh 7, more than 5"),
        (engine.BOA("onemax", 3), [1, 0, 2], "3 zeros and ones"),
        (engine.HorseshoeProbit([[0.0], [1.0]], [0, 1]), [0.0], "2 finite numbers"),
    ],
)
def test_what_is_no_solution_is_refused(problem, initial, message):
    with pytest.raises(OptionError, match=message):
        engine.solve(problem, backend="opencl", initial=initial)


def test_the_command_line_takes_lists_and_written_solutions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command_line(["generate", "knapsack", "--n", "30", "--output", "items.txt"]) == 0
    assert command_line(["solve", "items.txt", "--backend", "opencl", "--solution", "chosen.txt"]) == 0
    chosen = (tmp_path / "chosen.txt").read_text()
    assert command_line(["solve", "items.txt", "--backend", "opencl", "--initial", chosen]) == 0
    assert command_line(["solve", "items.txt", "--backend", "opencl", "--initial", "0,0"]) == 2
    assert "item 0 is given 2 times" in capsys.readouterr().err


def test_a_known_order_is_the_first_solution_of_a_search():
    problem, order = engine.Flowshop(TIMES), [3, 1, 4, 0, 5, 8, 2, 6, 7]
    best = engine.solve(problem, backend="opencl")
    for initial in (order, best.solution.tolist()):
        result, first = first_incumbent(problem, initial=initial)
        assert (first.objective, first.solution) == (problem.evaluate(initial), initial)
        assert result.objective == best.objective
    tour = [5, 2, 7, 0, 1, 3, 6, 4]  # which may begin with any city
    _, first = first_incumbent(engine.ATSP(COSTS), initial=tour)
    assert first.objective == sum(COSTS[a, b] for a, b in zip(tour, tour[1:] + tour[:1], strict=True))
    assert first.solution == [0, 1, 3, 6, 4, 5, 2, 7]


def test_a_knapsack_begins_with_the_given_items_as_often_as_they_are_taken():
    weights = np.random.default_rng(6).integers(1, 100, 40)
    plain = engine.Knapsack(weights + 10, weights, int(weights.sum() // 2))
    bounded = engine.Knapsack([60, 100, 120, 1], [10, 20, 30, 7], 207, counts=[9, 7, 3, 20])
    for problem, reduce in ((plain, False), (plain, True), (bounded, False)):
        best = engine.solve(problem, backend="opencl")
        result, first = first_incumbent(problem, initial=best.solution, reduce=reduce)
        assert first.objective == result.objective == best.objective
