"""Search of black boxes: asked and told, its evaluations counted; what a user's function may do; checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.errors import OptionError, ProblemError
from engine.solvers.boa.linkage import Linkage
from tests.support.examples import examples

Function = Callable[[np.ndarray], Any]


def one_max(bits: np.ndarray) -> np.ndarray:
    return np.asarray(bits.sum(axis=1))


def trap(bits: np.ndarray) -> np.ndarray:
    ones = bits.reshape(len(bits), -1, 5).sum(axis=2, dtype=int)
    return np.where(ones == 5, 5, 4 - ones).sum(axis=1)


def leading_ones(bits: np.ndarray) -> np.ndarray:
    return np.asarray(np.cumprod(bits, axis=1, dtype=int).sum(axis=1))


def evaluations(function: Function, n: int, optimum: float, seed: int) -> int:
    search = engine.BitSearch(n, seed=seed)
    while search.best_value != optimum:
        strings = search.ask()
        search.tell(strings, function(strings))
    return search.evaluations


@pytest.mark.parametrize(
    ("function", "n", "most"),
    [(one_max, 100, 101), (leading_ones, 100, 2000), (trap, 30, 3000)],
    ids=["onemax", "leadingones", "trap"],
)
def test_the_optimum_takes_few_evaluations(function: Function, n: int, most: int) -> None:
    needed = [evaluations(function, n, n, seed) for seed in range(5)]
    assert np.median(needed) <= most, needed


def test_traps_of_30_bits_are_solved_within_ten_thousand_evaluations_by_every_seed() -> None:
    for seed in range(10):
        found = engine.maximize_bits(trap, 30, budget=10_000, target=30, seed=seed)
        assert (found.value, found.status) == (30, engine.Status.FEASIBLE), seed


@examples(20)
@given(n=st.integers(1, 8), seed=st.integers(0, 999), minimize=st.booleans())
def test_all_strings_are_asked_for_once_and_the_best_one_is_kept(n: int, seed: int, minimize: bool) -> None:
    table = np.random.default_rng(seed).integers(-3, 4, 1 << n)
    weights = 1 << np.arange(n)
    search, seen = engine.BitSearch(n, seed=seed, minimize=minimize), []
    while len(strings := search.ask()):
        seen += (strings @ weights).tolist()
        search.tell(strings, table[strings @ weights])
    assert sorted(seen) == list(range(1 << n))
    assert search.best is not None
    assert search.best_value == table[search.best @ weights] == (table.min() if minimize else table.max())


def test_strings_may_be_told_in_any_order_one_by_one_and_without_being_asked() -> None:
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


def test_a_saved_search_continues_as_the_one_it_was_saved_from(tmp_path: Path) -> None:
    search = engine.BitSearch(25, seed=3, parallel=2, seeds=np.eye(25)[:1])
    for _ in range(150):
        strings = search.ask()
        search.tell(strings, trap(strings))
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


@pytest.mark.parametrize(
    ("strings", "values", "message"),
    [
        ([[0, 1]], [1], "rows of 3 zeros and ones"),
        ([[0, 1, 2]], [1], "rows of 3 zeros and ones"),
        ([[0, 1, 1]], [1, 2], "1 values, one for each string; got shape"),
        ([[0, 1, 1]], [1j], "values must be real numbers"),
    ],
)
def test_what_cannot_be_told_is_refused(strings: Any, values: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        engine.BitSearch(3).tell(strings, values)


def test_numbers_that_make_no_sense_are_refused() -> None:
    for wrong in ({"parallel": 0}, {"n": 0}):
        with pytest.raises((OptionError, ProblemError), match="must be"):
            engine.BitSearch(**{"n": 5, **wrong})
    with pytest.raises(OptionError, match="count must be at least 1"):
        engine.BitSearch(3).ask(0)


def test_the_linkage_tree_joins_what_is_always_alike_first() -> None:
    chance = np.random.default_rng(1)
    pairs = np.repeat(chance.integers(0, 2, (40, 4)), 2, axis=1)  # genes 0 and 1, 2 and 3, ... are equal
    subsets = Linkage(8, 0).subsets(pairs.T @ pairs, len(pairs))
    assert set(subsets[:4]) == {0b11, 0b1100, 0b110000, 0b11000000}, "single genes add nothing to their pairs"
    assert [subset.bit_count() for subset in subsets] == sorted(subset.bit_count() for subset in subsets)
    assert all(subset.bit_count() % 2 == 0 for subset in subsets)


# --- a user's function ----------------------------------------------------------------------------------------------


class Fails:
    """Fails for some strings: always, or at their first evaluation."""

    def __init__(self, always: bool) -> None:
        self.always = always
        self.seen: list[bytes] = []

    def __call__(self, string: np.ndarray) -> float:
        key = string.tobytes()
        fails = string[:2].sum() == 0 and (self.always or key not in self.seen)
        self.seen.append(key)
        if fails and string[2]:
            raise RuntimeError("the simulator has crashed")
        return float("nan") if fails else float(string.sum())


def test_failures_are_skipped_or_tried_again_by_rule() -> None:
    with pytest.raises(ProblemError, match="the function"):
        engine.maximize_bits(Fails(always=True), 12, batch=False, budget=300)
    found = engine.maximize_bits(Fails(always=True), 12, batch=False, budget=300, failures="skip", target=12)
    assert found.value == 12
    function = Fails(always=False)
    found = engine.minimize_bits(function, 12, batch=False, budget=300, retries=1, target=0)
    assert (found.value, found.solution.sum()) == (0, 0)
    assert len(function.seen) > found.evaluations == len(set(function.seen))
    with pytest.raises(ProblemError, match="the function"):
        engine.maximize_bits(lambda bits: np.full(len(bits), np.nan), 8, budget=50, failures="skip")


def test_workers_evaluate_at_once_and_give_the_same_answer_every_time() -> None:
    with ThreadPoolExecutor(3) as threads:
        found = [
            engine.maximize_bits(
                lambda bits: trap(np.atleast_2d(bits))[0], 15, batch=False, budget=900, workers=threads
            )
            for _ in range(2)
        ]
    assert found[0].evaluations == found[1].evaluations
    assert found[0].value == found[1].value == 15


def test_strings_that_a_broken_pool_took_with_it_are_evaluated_again() -> None:
    class Breaks(ThreadPoolExecutor):
        """The first batch fails as a whole, as where one of its calls has ended a process."""

        together = 0

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            found = super().submit(fn, *args, **kwargs)
            if self.together < 4:
                self.together += 1
                found = Future()
                found.set_exception(BrokenExecutor("a process has ended"))
            return found

    with Breaks(4) as pool:
        found = engine.maximize_bits(lambda bits: int(bits.sum()), 12, batch=False, budget=90, target=12, workers=pool)
    assert found.value == 12


def test_a_killed_search_resumes_without_evaluating_anything_again(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    seen: list[bytes] = []

    def function(bits: np.ndarray) -> float:
        if len(seen) == 137:
            seen.append(b"")
            raise Killed
        seen.append(bits.tobytes())
        return float(trap(bits[None])[0])

    path = tmp_path / "values.txt"
    given: dict[str, Any] = {"batch": False, "budget": 600, "seed": 5}
    with pytest.raises(Killed):
        engine.maximize_bits(function, 20, checkpoint=path, **given)
    path.write_text(path.read_text() + "12ab 3.")  # a line that was being written
    found = engine.maximize_bits(function, 20, checkpoint=path, **given)
    whole = engine.maximize_bits(lambda bits: float(trap(bits[None])[0]), 20, **given)
    assert np.array_equal(found.solution, whole.solution)
    assert found.evaluations == whole.evaluations == len(seen) - 1 == len(set(seen)) - 1
    with pytest.raises(ProblemError, match="does not hold evaluations of 21 bits"):
        engine.maximize_bits(function, 21, checkpoint=path, **given)


def test_result_names_the_algorithm_and_the_bits_that_belong_together() -> None:
    found = engine.maximize_bits(trap, 20, budget=5000, target=20)
    assert "population pyramid" in found.algorithm
    assert "population pyramid" in str(found)
    subsets = {tuple(subset.tolist()) for subset in found.subsets}
    assert sum(tuple(range(start, start + 5)) in subsets for start in range(0, 20, 5)) >= 3
    assert engine.maximize_bits(trap, 5, budget=50).status is engine.Status.OPTIMAL, "there are 32 strings"


# --- as a run of the solver ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "minimize"), [({}, False), ({"search": "network"}, False), ({"max_evaluations": 2000}, True)]
)
def test_auto_searches_python_functions_by_the_pyramid_unless_an_option_of_the_network_is_given(
    options: dict[str, Any], minimize: bool
) -> None:
    problem = engine.BOA((lambda bits: 15 - trap(bits)) if minimize else trap, 15, minimize=minimize)
    result = engine.solve(problem, backend="opencl", target=0 if minimize else 15, **options)
    assert result.objective == (0 if minimize else 15)
    assert ("pyramid" in str(result.arrays["algorithm"])) == (options.get("search") != "network")
    assert len(result.arrays["history"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"population": 64}, "population is an option of the network"),
        ({"initial": (1, 0)}, "initial must be 15 zeros and ones"),
    ],
)
def test_options_that_do_not_suit_the_pyramid_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        engine.solve(engine.BOA(trap, 15), backend="opencl", search="pyramid", **options)
    with pytest.raises(OptionError, match="a C snippet needs its function in NumPy"):
        engine.solve(engine.BOA.snippet("fitness = BIT(0);", 3), backend="opencl", search="pyramid")


def test_a_stopped_run_of_the_solver_resumes_to_the_same_answer(tmp_path: Path) -> None:
    seen: list[bytes] = []
    run: list[Any] = []

    def function(bits: np.ndarray) -> np.ndarray:
        seen.extend(row.tobytes() for row in bits)
        if run and len(seen) >= 700:
            run.pop().stop()
        return trap(bits)

    problem = engine.BOA(function, 25)
    given: dict[str, Any] = {"backend": "opencl", "seed": 2, "max_evaluations": 3000}
    whole = engine.solve(problem, **given)
    seen.clear()
    with engine.Engine("opencl") as running:
        run.append(running.start(problem, run_folder=tmp_path, seed=2, max_evaluations=3000))
        assert run[-1].wait().status is engine.Status.INTERRUPTED if run else True
    again = engine.resume(tmp_path, problem=problem)
    assert (again.objective, again.counters["evaluations"]) == (whole.objective, whole.counters["evaluations"])
    assert np.array_equal(again.solution, whole.solution)
    assert len(seen) == len(set(seen)) == again.counters["evaluations"]
