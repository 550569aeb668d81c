"""A known optimum, a bound that may be out of reach, and a target are distinguished wherever they are shown."""

import itertools
import math
from dataclasses import replace

import pytest

import engine
from engine.events import Incumbent, Notice
from engine.solvers.boa.islands import Islands
from tests.support.stopping import stop_at

FORMULA = [list(clause) for clause in itertools.product((1, -1), (2, -2), (3, -3))]  # one of the eight cannot hold


def solved(device, problem, **options):
    events = []
    given = {"population": 64, "max_generations": 3} | options
    result = engine.solve(problem, devices=[device.info.id], on_event=events.append, **given)
    return result, [event.message for event in events if isinstance(event, Notice)]


def test_descriptions_name_the_optimum_or_the_bound(tmp_path):
    formula = tmp_path / "f.cnf"
    formula.write_text("p cnf 2 2\n1 2 0\n-1 0\n", encoding="utf-8")
    described = {
        engine.BOA("trap-5", 20, seeds=[[1, 0] * 10]): (20, 20, "known optimum 20, 1 known individual"),
        engine.MaxSAT(FORMULA, n=3): (None, 8, "upper bound 8"),
        engine.MaxSAT([[1], [2]], [3, 4], n=2): (None, 0, "lower bound 0"),
        engine.BOA.read(formula): (None, 2, "upper bound 2"),
        engine.QUBO({(0, 0): -1}, 2): (None, None, "to be minimised"),
        engine.QUBO({(0, 0): -1}, 2, optimum=-1): (-1, -1, "known optimum -1"),
        engine.BOA.decomposable(2, [[0], [1]], [[0, 3], [1, 0]], bound=5): (None, 5, "upper bound 5"),
    }
    for problem, (optimum, bound, text) in described.items():
        assert (problem.optimum, problem.bound) == (optimum, bound)
        again = engine.BOA.from_arrays(problem.to_arrays(), problem.name)
        assert (again.optimum, again.bound, again.seeds.tolist()) == (optimum, bound, problem.seeds.tolist())
        assert problem.describe().endswith(text)


def test_a_run_reports_what_it_has_reached(device):
    for problem, notice in (
        (engine.BOA("onemax", 12), "the value 12 is the known optimum"),
        (engine.MaxSAT(FORMULA[:7], n=3), "the value 7 is that of the bound, and thus optimal"),
    ):
        result, notices = solved(device, problem)
        assert result.status is engine.Status.OPTIMAL
        assert notice in notices
    result, notices = solved(device, engine.BOA("onemax", 40), target=27, local_search="none")
    assert result.status is engine.Status.FEASIBLE
    assert f"the value {result.objective} reaches the target 27" in notices
    result, notices = solved(device, engine.MaxSAT(FORMULA, n=3))
    assert (result.objective, result.bound) == (7, 8)
    assert result.status is not engine.Status.OPTIMAL
    assert not any("optimal" in text or "optimum" in text for text in notices)
    result, _ = solved(device, engine.QUBO([[1, 0], [0, -2]]), target=-100)  # proved, short of the target
    assert (result.status, result.objective, result.bound) == (engine.Status.OPTIMAL, -2, -2)


def test_a_best_value_found_by_what_a_limit_cut_off_is_optimal(device, monkeypatch):
    begin = Islands.begin

    def cut_off(islands, seeds):
        return replace(begin(islands, seeds), is_interrupted=True)

    monkeypatch.setattr(Islands, "begin", cut_off)
    stop_at(monkeypatch, lambda event: isinstance(event, Incumbent) and event.objective == event.bound)
    for problem in (engine.MaxSAT(FORMULA[:7], n=3), engine.BOA("onemax", 6)):
        result, notices = solved(device, problem)
        assert result.objective == result.bound
        assert result.status is engine.Status.OPTIMAL
        assert any("the known optimum" in text or "and thus optimal" in text for text in notices)
        assert not any("to go further" in text for text in notices)


def test_violated_hard_clauses_are_reported(device):
    weights = [None] * 8 + [3, 4]
    problem = engine.MaxSAT([*FORMULA, [4], [-4]], weights, n=4)
    with pytest.warns(engine.InfeasibleWarning, match="violates 1 hard clause$"):
        result, notices = solved(device, problem)
    assert "the best solution found violates 1 hard clause" in notices
    assert (result.counters["unsatisfied_hard"], result.counters["unsatisfied_weight"]) == (1, 3)
    assert result.status is engine.Status.ITERATION_LIMIT  # it is not feasible
    again = engine.BOA.from_arrays(problem.to_arrays(), problem.name).fitness
    assert again.violated(again.key(11)) == (1, 3)
    result, _ = solved(device, engine.MaxSAT([*FORMULA[:7], [4], [-4]], weights[1:], n=4))
    assert (result.counters["unsatisfied_hard"], result.counters["unsatisfied_weight"]) == (0, 3)
    assert result.objective == 3
    result, _ = solved(device, engine.MaxSAT([[4], [-4]], [3, 4], n=4))
    assert "unsatisfied_hard" not in result.counters
    with pytest.warns(engine.InfeasibleWarning, match="violates 1 hard clause, and no solution violates fewer"):
        result, _ = solved(device, engine.MaxSAT([[1], [-1], [2]], [None, None, 5]))
    assert (result.counters["unsatisfied_hard"], result.counters["unsatisfied_weight"]) == (1, 0)


@pytest.mark.filterwarnings("ignore")
def test_an_optimum_that_is_surpassed_is_no_bound(device):
    result, notices = solved(device, engine.BOA(lambda bits: bits.sum(axis=1), 12, optimum=4))
    assert result.objective > 4
    assert (result.bound, result.status) == (None, engine.Status.FEASIBLE)
    assert any("better than the optimum that the problem states, 4" in text for text in notices)


@pytest.mark.parametrize(("option", "value"), [("budget", 1.5), ("target", math.nan)])
def test_a_budget_or_target_that_is_no_number_is_refused(option, value):
    with pytest.raises(engine.OptionError, match=option):
        engine.minimize_bits(lambda bits: bits.sum(axis=1), 8, **{"budget": 9, option: value})
