"""``engine.map``: many runs, results in their order, failures in place."""

from dataclasses import replace

import pytest

import engine
from engine.base.result import Result, Status
from engine.errors import InputError, OptionError
from engine.solvers import discover
from tests.support import counting
from tests.support.counting import Counting
from tests.support.needs import package

pytestmark = pytest.mark.smoke


def test_a_failure_stands_in_its_place_and_the_others_are_solved():
    each = [{}, {"trouble": "device"}, {"trouble": "bug"}, {}]
    found = engine.map(Counting(10), each=each, slice_seconds=0)
    assert [type(entry).__name__ for entry in found] == ["Result", "Failure", "Failure", "Result"]
    assert isinstance(found.failures[1].error, engine.DeviceError)
    assert isinstance(found.failures[2].error, KeyError)
    rows = found.table()
    assert [row["status"] for row in rows] == ["optimal", "failed", "failed", "optimal"]
    assert rows[1]["trouble"] == "device"
    assert rows[1]["message"] == "DeviceError: the abacus broke"
    assert "the abacus broke" in str(found)


def test_a_batch_is_a_data_frame():
    package("pandas")
    found = engine.map([Counting(10), "no such file"], seeds=[3, 4], slice_seconds=0)
    frame = found.to_pandas()
    assert frame.index.tolist() == [0, 1]
    assert frame["status"].tolist() == ["optimal", "failed"]
    assert frame["objective"][0] == counting.expected(10, 3)
    assert "no such file" in frame["message"][1]
    assert engine.map([]).to_pandas().columns.tolist() == frame.columns.tolist()


def test_seeds_and_time_limits_are_those_of_each_run():
    found = engine.map([Counting(10**6), Counting(5), Counting(5)], seeds=[3, 1, 2], time_limit=0.4, slice_seconds=0.01)
    assert [result.status for result in found.results] == [Status.TIME_LIMIT, Status.OPTIMAL, Status.OPTIMAL]
    assert [result.objective for result in found.results[1:]] == [counting.expected(5, seed) for seed in (1, 2)]
    assert [row["seed"] for row in found.table()] == [3, 1, 2]


def test_wrong_options_are_refused_before_anything_runs():
    seen = []
    with pytest.raises(OptionError, match="stile"):
        engine.map([Counting(10)], each=[{"stile": 1}], on_event=seen.append)
    with pytest.raises(InputError, match="problems has 2, each has 1, seeds has 3"):
        engine.map([Counting(1), Counting(2)], seeds=[1, 2, 3])
    with pytest.raises(InputError, match="entry 1 of problems"):
        engine.map([Counting(1), 7])
    assert not seen


def test_a_fault_while_a_group_is_solved_is_reported_before_its_problems_are_solved_alone(monkeypatch):
    def fail(*arguments):
        raise engine.DeviceError("the launch was refused")

    monkeypatch.setitem(discover(), "counting", replace(counting.SOLVER, solve_batch=fail))
    with pytest.warns(engine.QuintetWarning, match="2 problems are solved one after the other.*launch was refused"):
        found = engine.map([Counting(3), Counting(4)], slice_seconds=0)
    assert [result.bound for result in found.results] == [3, 4]


def test_what_a_solver_solves_together_is_not_solved_alone(monkeypatch):
    calls = []

    def together(problems, options, pool, control):
        calls.append(control.seeds)
        assert [member.label for member in pool.members] == ["opencl:0"]
        return {
            place: Result(Status.OPTIMAL, -problem.target, problem.target, None, backend=control.backend)
            for place, problem in enumerate(problems)
            if problem.target != 13
        }

    monkeypatch.setitem(discover(), "counting", replace(counting.SOLVER, solve_batch=together))
    problems = ["nowhere.txt", *map(Counting, (11, 12, 13, 14))]
    found = engine.map(problems, seeds=[4, 5, 6, 7, 8], slice_seconds=0)
    assert calls == [(5, 6, 7, 8)]
    assert [result.objective for result in found.results] == [-11, -12, counting.expected(13, 7), -14]
