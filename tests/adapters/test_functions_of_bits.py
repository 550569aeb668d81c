"""What a user's function of bits may do: fail, take its time, end its process; and the searches of other packages."""

from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.devices import Member
from engine.errors import OptionError, ProblemError
from tests.support.needs import package


def trap(bits: np.ndarray) -> np.ndarray:
    ones = bits.reshape(len(bits), -1, 5).sum(axis=2, dtype=int)
    return np.where(ones == 5, 5, 4 - ones).sum(axis=1)


def test_traps_of_30_bits_are_solved_within_ten_thousand_evaluations_by_every_seed() -> None:
    for seed in range(10):
        found = engine.maximize_bits(trap, 30, budget=10_000, target=30, seed=seed)
        assert (found.value, found.status) == (30, engine.Status.FEASIBLE), seed


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
        given: dict[str, Any] = {"batch": False, "budget": 900, "workers": threads}
        one, other = (engine.maximize_bits(lambda bits: trap(bits[None])[0], 15, **given) for _ in range(2))
    assert one.evaluations == other.evaluations
    assert one.value == other.value == 15


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


def test_the_suite_reports_runs_as_the_problems_count_them(device: Member, tmp_path: Path) -> None:
    ioh = package("ioh")
    from engine.adapters.ioh_suite import ALGORITHMS, reached_share, run_suite

    found = run_suite(16, 400, 2, [1, 18], tmp_path, devices=[device.info.id])
    assert len(found) == 2 * 2 * len(ALGORITHMS)
    for one in found:
        assert (np.diff(one.evaluations) > 0).all()
        assert (np.diff(one.best) > 0).all()
        assert one.evaluations[-1] <= 400
    assert all(one.optimum_found and one.best[-1] == 16 for one in found if one.problem == "OneMax")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Quintet_BOA", "RLS", "_1_1__EA"]
    assert list(tmp_path.rglob("*.dat"))
    early, late = reached_share(found, 5), reached_share(found, 400)
    assert all(0 <= early[name] < late[name] <= 1 for name in ALGORITHMS)
    for bits, number, message in ((16, 26, "from 1 to 25; got 26"), (15, 21, "perfect square")):
        with pytest.raises(OptionError, match=message):
            run_suite(bits, 400, 1, [number])
    sphere = ioh.get_problem("Sphere", instance=1, dimension=5, problem_class=ioh.ProblemClass.BBOB)
    with pytest.raises(ProblemError, match="not a problem of bits"):
        engine.IOHAlgorithm(budget=100, devices=[device.info.id])(sphere)


def test_nevergrad_and_pymoo_search_with_the_pyramid_until_all_strings_are_known() -> None:
    ng, pymoo = package("nevergrad"), package("pymoo.optimize")
    functional = package("pymoo.problems.functional").FunctionalProblem
    three = engine.NevergradOptimizer(ng.p.Choice([0, 1], repetitions=3), budget=20).minimize(lambda bits: -sum(bits))
    assert three.value == (1, 1, 1)
    with pytest.raises(ProblemError, match="the parametrization must be of bits"):
        engine.NevergradOptimizer(5)
    known: list[bytes] = []
    problem = functional(3, lambda bits: known.append(bits.tobytes()) or -bits.sum(), xl=0, xu=1, vtype=bool)
    assert pymoo.minimize(problem, engine.PymooAlgorithm(parallel=2), ("n_evals", 50), seed=1).F.tolist() == [-3]
    assert len(set(known)) == 8
    with pytest.raises(ProblemError, match="must have one objective and no constraints"):
        pymoo.minimize(functional(3, [sum, sum], xl=0, xu=1), engine.PymooAlgorithm(), ("n_evals", 9))
