"""Search of black boxes: asked and told, its evaluations counted; what a user's function may do; checkpoints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.errors import OptionError, ProblemError
from tests.support.examples import examples


def one_max(bits):
    return np.asarray(bits.sum(axis=1))


def trap(bits):
    ones = bits.reshape(len(bits), -1, 5).sum(axis=2, dtype=int)
    return np.where(ones == 5, 5, 4 - ones).sum(axis=1)


def leading_ones(bits):
    return np.asarray(np.cumprod(bits, axis=1, dtype=int).sum(axis=1))


def evaluations(function, n, optimum, seed):
    search = engine.BitSearch(n, seed=seed)
    while search.best_value != optimum:
        strings = search.ask()
        search.tell(strings, function(strings))
    return search.evaluations


@pytest.mark.parametrize(("function", "n", "most"), [(one_max, 100, 101), (leading_ones, 100, 2000), (trap, 30, 3000)])
def test_the_optimum_takes_few_evaluations(function, n, most):
    needed = [evaluations(function, n, n, seed) for seed in range(5)]
    assert np.median(needed) <= most, needed


@examples(20)
@given(n=st.integers(1, 8), seed=st.integers(0, 999), minimize=st.booleans())
def test_all_strings_are_asked_for_once_and_the_best_one_is_kept(n, seed, minimize):
    table = np.random.default_rng(seed).integers(-3, 4, 1 << n)
    weights = 1 << np.arange(n)
    search, seen = engine.BitSearch(n, seed=seed, minimize=minimize), []
    while len(strings := search.ask()):
        seen += (strings @ weights).tolist()
        search.tell(strings, table[strings @ weights])
    assert sorted(seen) == list(range(1 << n))
    assert search.best_value == table[search.best @ weights] == (table.min() if minimize else table.max())


def test_strings_may_be_given_in_any_order_one_by_one_and_without_being_asked():
    search = engine.BitSearch(20)
    search.tell([[1] * 19 + [0]], [19])
    assert search.best_value == 19
    first, second = search.ask(4), search.ask(3)
    assert len(np.unique(np.concatenate([first, second]), axis=0)) == 7
    search.tell(second, one_max(second))
    for string in first[::-1]:
        search.tell([string], [string.sum()])
    while search.best_value != 20:
        strings = search.ask(3)
        search.tell(strings, one_max(strings))
    assert search.evaluations < 200


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_saved_search_continues_as_the_one_it_was_saved_from(tmp_path, parallel):
    search = saved = engine.BitSearch(25, seed=3, parallel=parallel, seeds=np.eye(25)[:1])
    for step in range(150):
        strings = search.ask()
        search.tell(strings, trap(strings))
        if saved is not search:
            assert np.array_equal(saved.ask(), strings)
            saved.tell(strings, trap(strings))
        if step % 40 == 17:  # within a generation; later ones of the search that was loaded before
            saved.save(tmp_path / "search.json")
            saved = engine.BitSearch.load(tmp_path / "search.json")
    asked = search.ask(4)
    search.tell(asked[:1], trap(asked[:1]))
    search.tell(asked[:0], [])
    search.save(tmp_path / "search.json")
    again = engine.BitSearch.load(tmp_path / "search.json")
    assert (again.evaluations, again.best_value) == (search.evaluations, search.best_value)
    left = again.ask()
    assert {row.tobytes() for row in asked[1:]} <= {row.tobytes() for row in left}, "asked for, and never told"
    (tmp_path / "search.json").write_text("{}")
    with pytest.raises(ProblemError, match="is not a saved search of bit strings"):
        engine.BitSearch.load(tmp_path / "search.json")


def test_what_cannot_be_given_is_refused():
    for strings, values, message in (
        ([[0, 1]], [1], "rows of 3 zeros and ones"),
        ([[0, 1, 2]], [1], "rows of 3 zeros and ones"),
        ([[0, 1, 1], [0]], [1, 1], "rows of 3 zeros and ones"),
        ([[0, 1, 1]], [1, 2], "1 values, one for each string; got shape"),
        ([[0, 1, 1]], [1j], "values must be real numbers"),
    ):
        with pytest.raises(ProblemError, match=message):
            engine.BitSearch(3).tell(strings, values)
    for wrong in ({"parallel": 0}, {"n": 0}, {"parallel": "x"}, {"seed": None}):
        with pytest.raises((OptionError, ProblemError), match="must be"):
            engine.BitSearch(**{"n": 5, **wrong})
    for count in (0, 2.5, "x"):
        with pytest.raises(OptionError, match="count must be at least 1"):
            engine.BitSearch(3).ask(count)


@pytest.mark.parametrize(
    ("options", "minimize"), [({}, False), ({"search": "network"}, False), ({"max_evaluations": 2000}, True)]
)
def test_auto_searches_python_functions_by_the_pyramid_unless_told_otherwise(options, minimize):
    problem = engine.BOA((lambda bits: 15 - trap(bits)) if minimize else trap, 15, minimize=minimize)
    result = engine.solve(problem, backend="opencl", target=0 if minimize else 15, **options)
    assert result.objective == (0 if minimize else 15)
    assert ("pyramid" in str(result.arrays["algorithm"])) == (options.get("search") != "network")
    assert len(result.arrays["history"])


def test_options_that_do_not_suit_the_pyramid_are_refused():
    snippet = engine.BOA.snippet("fitness = BIT(0);", 3, host=lambda bits: bits[:, 0])
    for problem, options, message in (
        (engine.BOA(trap, 15), {"population": 64}, "population is an option of the network"),
        (engine.BOA(trap, 15), {"initial": (1, 0)}, "initial must be 15 zeros and ones"),
        (snippet, {}, "in place of a C snippet"),
    ):
        with pytest.raises(OptionError, match=message):
            engine.solve(problem, backend="opencl", search="pyramid", **options)


def test_a_stopped_run_of_the_solver_resumes_to_the_same_answer(tmp_path):
    seen = []
    run = []

    def function(bits):
        seen.extend(row.tobytes() for row in bits)
        if run and len(seen) >= 700:
            run.pop().stop()
        return trap(bits)

    problem = engine.BOA(function, 25)
    given = {"backend": "opencl", "seed": 2, "max_evaluations": 3000}
    whole = engine.solve(problem, **given)
    seen.clear()
    with engine.Engine("opencl") as running:
        run.append(running.start(problem, run_folder=tmp_path, seed=2, max_evaluations=3000))
        assert run[-1].wait().status is engine.Status.INTERRUPTED if run else True
    again = engine.resume(tmp_path, problem=problem)
    assert (again.objective, again.counters["evaluations"]) == (whole.objective, whole.counters["evaluations"])
    assert np.array_equal(again.solution, whole.solution)
    assert len(seen) == len(set(seen)) == again.counters["evaluations"] <= 3000
