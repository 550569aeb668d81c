"""Linear programs from Python: SciPy's face, several devices, batches, limits, checkpoints, bad input."""

import importlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import engine
from engine.errors import OptionError, ProblemError
from engine.events import Metric
from engine.generators.linprog import GeneratorOptions, generate
from engine.solvers.linprog import SOLVER
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.validate import method_for
from tests.support.races import reference

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "linprog" / "blend.mps"


def test_results_have_scipys_fields_signs_and_values(device):
    given = {
        "c": [-1.0, 4.0, 2.0],
        "A_ub": [[-3.0, 1.0, 0.0], [1.0, 2.0, 1.0]],
        "b_ub": [6.0, 4.0],
        "A_eq": [[1.0, 1.0, -1.0]],
        "b_eq": [2.0],
        "bounds": [(None, None), (-3.0, None), (0.5, 3.0)],
    }
    ours = engine.linprog(**given, devices=[device.info.id])
    theirs = scipy.optimize.linprog(**given)
    assert sorted(ours) == sorted(theirs)
    assert ours.status == theirs.status == 0
    assert ours.success
    assert ours.fun == pytest.approx(theirs.fun, abs=1e-6)
    for name in ("x", "slack", "con", "mip_node_count", "mip_dual_bound", "mip_gap"):
        assert np.allclose(ours[name], theirs[name], atol=1e-6), name
    for name in ("ineqlin", "eqlin", "lower", "upper"):
        for part in ("residual", "marginals"):
            assert np.allclose(ours[name][part], theirs[name][part], atol=1e-6), (name, part)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"c": [1.0, np.nan]}, "entry 1 of c is NaN"),
        ({"c": [1.0], "A_ub": [[1.0, 2.0]], "b_ub": [1.0]}, "A_ub must have 1 columns"),
        ({"c": [1.0], "A_ub": [[1.0]], "b_ub": [1.0, 2.0]}, "b_ub must have one entry for each of the 1 rows"),
        ({"c": [1.0], "b_eq": [1.0]}, "b_eq is given without A_eq"),
        ({"c": [1.0], "A_eq": [[1.0], [np.nan]], "b_eq": [1.0, 2.0]}, "A_eq .*; got nan in row 1, column 0"),
        ({"c": [1.0, 1.0], "A_ub": sp.csr_array([[0, np.inf]]), "b_ub": [1.0]}, "A_ub .* got inf in row 0, column 1"),
        ({"c": [1.0, 1.0], "A_ub": sp.csr_array([[1j, 0]]), "b_ub": [1.0]}, "real numbers; got one of complex128"),
        ({"c": [1.0, 1.0], "A_ub": [[1.0, 2.0], [1.0]], "b_ub": [1.0, 2.0]}, "row 1 has 1 entries, row 0 has 2"),
        ({"c": [1.0, [1.0]]}, "it holds both numbers and lists"),
        ({"c": None}, "c must be a dense array of numbers; got None"),
        ({"c": [1.0], "bounds": "abc"}, "got the text 'abc'"),
        ({"c": [1.0], "options": "maxiter"}, "options must be a dictionary; got str"),
        ({"c": [1.0, 1.0, 1.0], "bounds": [(0, 1), (0, 1)]}, "bounds must be a pair"),
        ({"c": [1.0], "bounds": (0, "x")}, "bounds must be pairs of numbers"),
        ({"c": [1.0], "method": "ellipsoid"}, "unknown method 'ellipsoid'"),
        ({"c": "text"}, "c must be an array of numbers"),
    ],
)
def test_bad_arguments_are_value_errors_that_say_why(given, message):
    with pytest.raises(ValueError, match=message):
        engine.linprog(**given, backend="opencl")


@pytest.mark.parametrize(
    ("names", "message"), [("xy", "must be a list .*; got 'xy'"), (["x"], "one entry .*, 2; got 1")]
)
def test_names_that_are_no_list_of_the_variables_are_refused(names, message):
    with pytest.raises(ProblemError, match=message):
        engine.LinearProgram([1.0, 2.0], names=names)
    assert engine.LinearProgram([1.0, 2.0], names=(f"x{j}" for j in range(2))).names == ("x0", "x1")


def test_scipys_options_are_taken_and_unknown_ones_warned_of(device):
    given = {"c": [1.0, 1.0], "A_ub": [[-1.0, -1.0]], "b_ub": [-1.0], "devices": [device.info.id]}
    assert engine.linprog(**given, method="highs", options={"maxiter": 50, "disp": False, "tol": 1e-9}).status == 0
    assert engine.linprog(**given, options={"maxiter": 0, "presolve": False}).status == 1
    limited = engine.linprog(**given, options={"maxiter": 1, "presolve": False})
    assert (limited.status, limited.nit) == (1, 1)
    crossed = engine.linprog([1.0], bounds=(1, -2), devices=[device.info.id])
    assert (crossed.status, crossed.success, crossed.x) == (2, False, None)
    for options, message in (
        ({"options": {"colour": 3}}, "unrecognized option 'colour'"),
        ({"options": {"time_limit": "soon"}}, "time_limit"),
        ({"x0": [1.0, 1.0]}, "x0 is not used"),
    ):
        with pytest.warns(scipy.optimize.OptimizeWarning, match=message):
            assert engine.linprog(**given, **options).status == 0
    for method in ("highs", "mpc"):
        with pytest.raises(ValueError, match="x0 must be 2 finite numbers"):
            engine.linprog(**given, x0=[np.nan, 1.0], method=method)
    with pytest.raises(NotImplementedError):
        engine.linprog(**given, callback=print, method="highs")
    with pytest.raises(OptionError, match="SciPy deprecates it"):
        engine.linprog(**given, method="revised simplex")


def test_a_callback_is_called_with_the_iterations(device):
    problem, seen = generate(GeneratorOptions(type="inequalities", m=30, n=60, seed=1)), []
    given = {"A_ub": problem.A, "b_ub": problem.row_upper, "method": "mpc", "devices": [device.info.id]}
    engine.linprog(problem.c, **given, callback=seen.append)
    assert seen
    assert [entry.nit for entry in seen] == sorted(entry.nit for entry in seen)
    assert not any(entry.success for entry in seen)


def test_calls_with_the_same_settings_share_an_engine_on_cpus_and_may_overlap(device):
    given = {"c": [1.0, 2.0], "A_ub": [[-1.0, -1.0]], "b_ub": [-1.0], "devices": [device.info.id]}
    kept = importlib.import_module("engine.adapters.kept_engine").KEPT
    engine.linprog(**given)
    first = kept._owner
    assert (first is not None) == (device.info.capabilities.shares_host_cores)
    with ThreadPoolExecutor(3) as callers:
        found = list(callers.map(lambda _: engine.linprog(**given), range(6)))
    assert [result.fun for result in found] == pytest.approx([1.0] * 6)
    assert kept._owner is first
    engine.linprog(**given | {"devices": [device.info.id, device.info.id]})
    assert first is None or (kept._owner is not first and not first.is_open)


def test_several_devices_share_the_columns(device):
    dense = generate(GeneratorOptions(type="inequalities", m=25, n=61, seed=5))
    with engine.Engine(devices=[device.info.id] * 3) as several:
        for problem in (engine.LinearProgram.read(SAMPLE), dense):
            result = several.solve(problem)
            assert (result.status, len(result.devices)) == ("optimal", 3)
            assert result.objective == pytest.approx(reference(problem), rel=1e-7)


def mixed_programs():
    """Alike ones, sparse, settled by preparation, infeasible, unbounded, of one shape and of others."""
    random = np.random.default_rng(2)
    alike = [generate(GeneratorOptions(type="dense", m=12, n=23, seed=seed)) for seed in range(6)]
    alike += [generate(GeneratorOptions(type="inequalities", m=12, n=23, seed=seed)) for seed in range(3)]
    a = random.random((12, 23))
    return [
        *alike,
        engine.LinearProgram([1.0], bounds=(2, 3)),
        engine.LinearProgram([1.0, 1.0], A_eq=np.zeros((1, 2)), b_eq=[1.0]),
        engine.LinearProgram(random.random(23), A_ub=np.vstack([a[:6], -a[:6]]), b_ub=np.repeat([1.0, -2.0], 6)),
        engine.LinearProgram(-random.random(23), A_eq=a - a.mean(axis=1, keepdims=True), b_eq=np.zeros(12)),
        generate(GeneratorOptions(type="transport", m=4, n=5, seed=1)),
    ]


def test_a_batch_is_solved_like_one_by_one(device):
    problems = mixed_programs()
    singles = [engine.solve(problem, devices=[device.info.id]) for problem in problems]
    assert {str(single.status) for single in singles} == {"optimal", "infeasible", "unbounded"}
    for names in ([device.info.id], [device.info.id] * 2):
        results = engine.solve_many(problems, devices=names)
        for problem, single, result in zip(problems, singles, results, strict=True):
            assert result.status == single.status
            assert len(result.devices) == len(names)
            found = engine.verify(result, problem)
            assert found.verified, found
            assert not found.refuted, found
            assert result.status != "optimal" or engine.scipy_result(problem, result).status == 0


def test_a_batch_takes_every_option_and_reports_progress(device):
    problems = mixed_programs()[:3] + mixed_programs()[-1:]
    events = []
    results = engine.solve_many(problems, devices=[device.info.id], on_event=events.append, method="pdas")
    assert [result.status for result in results] == ["optimal"] * 4
    done = [event.done for event in events]
    assert done == sorted(done)
    assert (done[0], done[-1], events[-1].total) == (0, 4, 4)
    assert engine.solve_many([], devices=[device.info.id]) == []
    limited = engine.solve_many(problems[:1], devices=[device.info.id], max_iterations=2)
    assert limited[0].status == "iteration_limit"
    with pytest.raises(OptionError, match="colour"):
        engine.solve_many(problems, colour=3)
    with pytest.raises(ProblemError, match="entry 1 of problems must be a LinearProgram; got list"):
        engine.solve_many([problems[0], [1.0]], devices=[device.info.id])


def test_the_declared_metrics_are_emitted(owner):
    events = []
    for method in ("mpc", "pdhg"):
        owner.solve(engine.LinearProgram.read(SAMPLE), on_event=events.append, method=method)
    reported = {event.name for event in events if isinstance(event, Metric)}
    assert reported == {spec.name for spec in SOLVER.metrics}


def test_limits_end_with_the_best_point(owner):
    problem = engine.LinearProgram.read(SAMPLE)
    result = owner.solve(problem, max_iterations=3)
    assert result.status == "iteration_limit"
    assert result.solution is not None
    assert result.counters["iterations"] == 3
    result = owner.solve(problem, time_limit=1e-9)
    assert result.status == "time_limit"


def test_linear_solvers_that_do_not_fit_are_refused(owner):
    with pytest.raises(OptionError, match="requires a sparse matrix"):
        owner.solve(engine.LinearProgram([1.0], A_ub=[[-2.0]], b_ub=[-1.0]), linear_solver="augmented")
    with pytest.raises(OptionError, match='requires method = "pdas" on one device'):
        owner.solve(engine.LinearProgram.read(SAMPLE), linear_solver="sherman_morrison")


def test_more_nonzeros_than_have_32_bit_places_are_for_pdhg(owner, monkeypatch):
    problem = engine.LinearProgram([1.0, 1.0], sp.csr_array([[1.0, 2.0]]), [3.0])
    monkeypatch.setattr(engine.LinearProgram, "nonzeros", 2**31)
    with pytest.raises(OptionError, match=r"method = \"mpc\" requires at most 2147483647 nonzeros"):
        owner.start(problem, method="mpc")
    assert method_for(problem, Options()) == "pdhg"


@pytest.mark.full
def test_too_large_a_factor_is_refused_before_it_is_taken(owner):
    rows = np.arange(300_000)
    matrix = sp.csr_array((np.ones(rows.size), (rows, rows % 2)))
    problem = engine.LinearProgram([1.0, 1.0], A_ub=matrix, b_ub=rows + 1.0)
    advice = r'a factor of 300000 x 300000.*, or leave linear_solver = "auto"'
    with pytest.raises(engine.errors.OutOfDeviceMemory, match=advice):
        owner.solve(problem, presolve=False, linear_solver="cholesky")
    assert owner.solve(problem, presolve=False).status == "optimal"


def test_a_program_survives_its_file_and_its_arrays(tmp_path):
    problem = engine.LinearProgram.read(SAMPLE)
    problem.write(tmp_path / "again.mps")
    read = engine.LinearProgram.read(tmp_path / "again.mps")
    for copy in (read, engine.LinearProgram.from_arrays(problem.to_arrays(), problem.name)):
        for name in ("c", "lower", "upper", "row_lower", "row_upper"):
            assert np.array_equal(getattr(copy, name), getattr(problem, name)), name
        assert (copy.A != problem.A).nnz == 0
        assert copy.names == problem.names
    with pytest.raises(ProblemError, match="lack 'c'"):
        engine.LinearProgram.from_arrays({}, "nothing")
