"""Problems with nothing to choose: one city, job, item or facility, and the empty board; from arrays and files."""

import pytest

import engine
from engine.errors import OptionError
from engine.solvers import recognize

ONE = {
    "city": (lambda: engine.ATSP([[0]]), 0),
    "facility": (lambda: engine.QuadraticAssignment([[2]], [[3]]), 6),
    "item": (lambda: engine.LinearOrdering([[0]]), 0),
    "late job": (lambda: engine.Tardiness([7], [2], [3]), 8),
    "job": (lambda: engine.Flowshop([[3], [4]]), 7),
}


@pytest.mark.parametrize("name", ONE)
def test_the_only_solution_is_the_optimum(device, tmp_path, name):
    make, optimum = ONE[name]
    problem = make()
    folder = tmp_path / "run"
    result = engine.solve(problem, devices=[device.info.id], run_folder=folder)
    assert (result.status, result.objective, result.bound) == ("optimal", optimum, optimum)
    assert result.solution.tolist() == [0]
    assert engine.resume(folder) == result
    assert type(problem).from_arrays(problem.to_arrays(), problem.name).describe() == problem.describe()
    proved = engine.solve(problem, devices=[device.info.id], upper_bound=optimum)
    assert (proved.status, proved.bound) == ("bound_proved", optimum)
    assert proved.reason == f"there is no solution below the given upper_bound of {optimum}"
    with pytest.raises(OptionError, match="initial must have each of 0 to 0 once; got 3"):
        engine.solve(problem, devices=[device.info.id], initial=[3])
    with pytest.raises(OptionError, match=f"must be the value of initial .* and a solution of {optimum}"):
        engine.solve(problem, devices=[device.info.id], initial=[0], upper_bound=optimum + 1)
    assert engine.estimate(problem, devices=[device.info.id]).amount <= 1.0


def test_the_empty_board_has_one_solution(device, tmp_path):
    result = engine.solve(engine.Queens(0), devices=[device.info.id], run_folder=tmp_path / "run")
    assert (result.status, result.objective) == ("complete", 1)
    assert engine.resume(tmp_path / "run").objective == 1


def test_files_of_the_smallest_problems_are_solved(tmp_path):
    texts = {
        "one.atsp": "NAME: one\nTYPE: ATSP\nDIMENSION: 1\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
        "EDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n0\nEOF\n",
        "board.txt": "queens 0\n",
        "one.dat": "1\n2\n3\n",
    }
    kinds = {"one.atsp": (engine.ATSP, 0), "board.txt": (engine.Queens, 1), "one.dat": (engine.QuadraticAssignment, 6)}
    for name, (kind, value) in kinds.items():
        (tmp_path / name).write_text(texts[name])
        assert recognize(tmp_path / name) is kind
        assert engine.solve(kind.read(tmp_path / name)).objective == value
