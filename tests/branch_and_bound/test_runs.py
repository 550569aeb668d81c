"""Claims about whole runs: answers, bounds, stopping, resuming, several devices, and the audit."""

import dataclasses
import itertools
import json
import math
import sys
import threading

import numpy as np
import pytest

import engine
from engine.cli import command_line
from engine.errors import AuditError, OptionError, RunFolderError
from engine.events import Incumbent, Metric, Notice
from engine.references.branch_and_bound import search
from engine.runs.clock import RunClock
from engine.runs.folder.run_folder import RunFolder
from engine.solvers.branch_and_bound.intervals import length_of_levels
from engine.solvers.branch_and_bound.search import coordinator
from engine.solvers.branch_and_bound.search.ivms import Ivms
from engine.solvers.branch_and_bound.search.messages import Found
from engine.solvers.branch_and_bound.search.sharing import Sharing
from tests.support.engines import engine_of
from tests.support.patience import PATIENCE
from tests.support.searching import load_assignment
from tests.support.stopping import stop_at

# Makespans of Taillard's first ten instances, proved optimal in the literature.
OPTIMA = [1278, 1359, 1081, 1293, 1235, 1195, 1234, 1206, 1230, 1108]


def solve(device, problem, times=1, **options):
    return engine_of(device, times).solve(problem, **options)


def resume(device, folder, times=1, **options):
    return engine_of(device, times).resume(folder, **options).wait()


@pytest.mark.few(1)
@pytest.mark.parametrize("number", range(1, 11))
def test_taillards_first_ten_are_solved_from_scratch(device, number):
    problem = engine.Flowshop.taillard(number)
    result = solve(device, problem)
    assert (result.status, result.objective, result.bound) == ("optimal", OPTIMA[number - 1], OPTIMA[number - 1])
    assert problem.evaluate(result.solution) == OPTIMA[number - 1]


def test_a_bound_below_what_is_possible_is_answered_at_once(device):
    events = []
    result = solve(device, engine.Flowshop.taillard(1), upper_bound=10, on_event=events.append)
    assert [event.message for event in events if isinstance(event, Notice)] == [result.reason]
    least = engine.Flowshop.taillard(1).tree().lower_bound()
    assert (result.status, result.bound, result.counters["nodes"]) == ("bound_proved", least, 0)
    assert result.reason.endswith(f"the given upper_bound of 10; the lower bound of all solutions is {least}")


def test_a_proved_bound_is_an_optimum_where_a_solution_of_that_value_is_known(device):
    problem = engine.Flowshop(np.random.default_rng(3).integers(1, 99, (4, 7)))
    best = solve(device, problem)
    assert best.status == "optimal"
    unknown = solve(device, problem, upper_bound=best.objective)
    assert (unknown.status, unknown.objective, unknown.solution) == ("bound_proved", None, None)
    assert unknown.bound == best.objective
    assert unknown.reason == f"there is no solution below the given upper_bound of {best.objective}"
    known = solve(device, problem, upper_bound=best.objective, initial=best.solution.tolist())
    assert (known.status, known.objective, known.bound) == ("optimal", best.objective, best.objective)
    assert problem.evaluate(known.solution) == best.objective


@pytest.mark.few(1)
@pytest.mark.parametrize("options", [{}, {"bound": "mixed", "branching": "alternating"}, {"variant": "pte_peb"}])
def test_all_optimal_schedules_are_counted(device, options):
    problem = engine.Flowshop(np.random.default_rng(5).integers(1, 5, (3, 6)))
    spans = [problem.evaluate(order) for order in itertools.permutations(range(6))]
    result = solve(device, problem, 2, all_solutions=True, **options)
    assert (result.status, result.objective, result.bound) == ("optimal", min(spans), min(spans))
    assert result.counters["solutions"] == spans.count(min(spans)) > 1
    assert problem.evaluate(result.solution) == min(spans)


def test_the_command_line_tells_a_proved_bound_from_an_optimum(device, tmp_path, capsys):
    file, certificate = tmp_path / "two.txt", tmp_path / "s.txt"
    file.write_text("2 2\n0 3 1 5\n0 4 1 6\n")
    words = ["solve", str(file), "--devices", device.info.id, "--upper-bound", "14", "--solution", str(certificate)]
    assert command_line([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["objective"], answer["bound"]) == ("bound_proved", None, 14)
    assert answer["reason"] == "there is no solution below the given upper_bound of 14"
    assert certificate.read_text().startswith("# bound_proved\n")


@pytest.mark.few(1)
@pytest.mark.parametrize("sharing", ["farmer", "symmetric"])
@pytest.mark.parametrize("devices", [2, 3])
def test_several_devices_visit_what_one_visits(device, sharing, devices):
    result = solve(device, engine.Queens(12), devices, sharing=sharing)
    assert (result.objective, result.counters["nodes"]) == (14200, 420995)
    flowshop = solve(device, engine.Flowshop.taillard(30), devices, sharing=sharing, upper_bound=2178)
    assert flowshop.counters["nodes"] == 2_415_747


@pytest.mark.parametrize("strategy", ["adapt", "ring"])
def test_a_strategy_proves_the_optimum_and_ring_is_warned_of(device, strategy):
    problem = engine.Flowshop(np.random.default_rng(8).integers(1, 99, (5, 9)))
    best = search(problem.tree("auto", "auto")).best
    events = []
    result = solve(device, problem, 2, strategy=strategy, initial="neh", on_event=events.append)
    assert (result.status, result.objective) == ("optimal", best)
    warned = any(isinstance(event, Notice) and "keeps few IVMs at work" in event.message for event in events)
    assert warned == (strategy == "ring")


def test_options_that_do_not_fit_the_problem_are_refused(device, assignment):
    with pytest.raises(OptionError, match="upper_bound"):
        solve(device, engine.Queens(6), upper_bound=3)
    with pytest.raises(OptionError, match="needs a problem whose kernel functions include child_bounds"):
        solve(device, assignment.grid(2, 3, seed=1), variant="pte_peb")


@pytest.mark.full
@pytest.mark.parametrize("again", [1, 2])
def test_a_stopped_run_resumes_to_the_same_nodes_on_more_devices(device, again, tmp_path):
    options = {"upper_bound": 2200, "run_folder": tmp_path / "run", "ivms": 256}
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, lambda event: isinstance(event, Metric))
        first = solve(device, engine.Flowshop.taillard(28), 2, **options)
    assert first.status == "interrupted"
    assert 0 < first.counters["nodes"] < 12_869_872
    resumed = resume(device, tmp_path / "run", again)
    assert (resumed.status, resumed.counters["nodes"], resumed.counters["leaves"]) == ("bound_proved", 12_869_872, 36)


def test_a_stop_when_nothing_is_left_to_search_finds_the_answer_complete(device, monkeypatch):
    ended = coordinator.Coordinator._has_ended

    def has_ended(search):
        if ended(search):
            search._run.stop()
        return False  # so that the coordinator looks whether it must stop before it looks whether it has ended

    monkeypatch.setattr(coordinator.Coordinator, "_has_ended", has_ended)
    result = solve(device, engine.Queens(8))
    assert (result.status, result.objective) == ("complete", 92)
    result = solve(device, engine.Flowshop.taillard(1), upper_bound=1279)
    assert (result.status, result.objective, result.bound) == ("optimal", 1278, 1278)


@pytest.mark.full
@pytest.mark.parametrize(("upper", "status", "value"), [(2178, "bound_proved", None), (2179, "optimal", 2178)])
def test_a_search_whose_bound_is_proved_is_still_resumed_to_its_end(device, upper, status, value, tmp_path):
    folder = tmp_path / "run"

    def wanted(event):
        return isinstance(event, Metric) if value is None else isinstance(event, Incumbent) and event.objective == value

    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, wanted)
        first = solve(device, engine.Flowshop.taillard(30), upper_bound=upper, run_folder=folder, ivms=64)
    assert (first.status, first.objective) == ("interrupted", value)
    assert with_bound(folder, 2178) == 2178
    result = resume(device, folder)
    assert (result.status, result.objective) == (status, value)
    assert length_of_levels(result.arrays["explored"]) == math.factorial(20)
    assert value is not None or result.counters["nodes"] == 2_415_747


def test_a_search_from_a_first_solution_ends_where_that_is_as_good_as_the_bound(device, tmp_path):
    folder = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, lambda event: isinstance(event, Metric))
        first = solve(device, engine.Flowshop.taillard(21), initial="neh", run_folder=folder, ivms=64)
    assert first.status == "interrupted"
    assert first.bound < first.objective
    with_bound(folder, first.objective)
    result = resume(device, folder)
    assert (result.status, result.objective, result.bound) == ("optimal", first.objective, first.objective)
    assert length_of_levels(result.arrays["explored"]) < math.factorial(20)


def with_bound(folder, bound):
    kept = RunFolder.open(folder)
    checkpoint = kept.checkpoint()
    kept.acquire()
    kept.save_checkpoint(dataclasses.replace(checkpoint, state=checkpoint.state.model_copy(update={"bound": bound})))
    kept.release()
    return checkpoint.state.value


def test_a_checkpoint_while_running_changes_nothing(device, tmp_path):
    folder = tmp_path / "run"
    result = solve(device, engine.Queens(14), 2, run_folder=folder, checkpoint_interval=0.02, ivms=256)
    assert (result.objective, result.counters["nodes"]) == (365596, 13496479)
    assert list(folder.glob("checkpoint-*.json"))


def test_a_run_reports_what_it_does(device):
    events = []
    result = solve(device, engine.Flowshop.taillard(5), on_event=events.append)
    names = {event.name for event in events if isinstance(event, Metric)}
    wanted = {"active_ivms", "nodes_per_second", "explored_share", "stealing_share", "steals", "exchanged_intervals"}
    assert wanted <= names
    assert [event.objective for event in events if isinstance(event, Incumbent)][-1] == result.objective
    shares = [event.value for event in events if isinstance(event, Metric) and event.name == "explored_share"]
    assert shares[-1] == pytest.approx(1.0)


def test_lost_work_is_an_error_and_never_an_answer(device, monkeypatch):
    original = Sharing.deal
    monkeypatch.setattr(Sharing, "deal", lambda self, worker: original(self, worker)[1:])
    with pytest.raises(AuditError, match=f"add up to .* of {math.factorial(9)} leaves"):
        solve(device, engine.Queens(9), 2)


def test_a_value_that_its_solution_does_not_have_is_an_error(device, monkeypatch):
    original = Ivms.improvement

    def wrong(self):
        found = original(self)
        return None if found is None else Found(found.value - 1, found.path, found.sides)

    monkeypatch.setattr(Ivms, "improvement", wrong)
    with pytest.raises(AuditError, match="was reported with the value"):
        solve(device, engine.Flowshop.taillard(30), upper_bound=2179)


@pytest.fixture(scope="module")
def assignment():
    return load_assignment()


def test_a_problem_of_ones_own_visits_the_nodes_of_its_reference(device, assignment):
    problem = assignment.grid(2, 4, seed=3)
    reference = search(problem.tree("auto", "auto"))
    found = solve(device, problem)
    assert (found.status, found.objective) == ("optimal", reference.best)
    assert problem.tree("auto", "auto").evaluate(found.solution) == reference.best
    proof = solve(device, problem, upper_bound=reference.best)
    assert proof.counters["nodes"] == search(problem.tree("auto", "auto"), reference.best).nodes


@pytest.mark.few(1)
@pytest.mark.parametrize("loaded", [True, False], ids=["class at hand", "class from its file"])
def test_a_stopped_run_on_a_problem_of_ones_own_resumes(device, assignment, tmp_path, loaded, monkeypatch):
    problem = assignment.grid(2, 5, seed=1)
    with monkeypatch.context() as patched:
        patched.setattr(coordinator, "SLICE_SECONDS", 1e-4)
        first = solve(device, problem, time_limit=1e-3, ivms=1, run_folder=tmp_path / "run")
    assert first.status == "time_limit"
    if not loaded:
        monkeypatch.delitem(sys.modules, "assignment")
        monkeypatch.setattr(sys, "path", [])
    resumed = resume(device, tmp_path / "run", trust=True)
    assert (resumed.status, resumed.objective) == ("optimal", solve(device, problem).objective)


def test_a_run_folder_whose_problem_is_gone_says_what_it_looked_for(device, tmp_path):
    class Gone(engine.Queens):
        kind = "gone"

    solve(device, Gone(15), time_limit=0.01, ivms=1, run_folder=tmp_path / "run")
    with pytest.raises(RunFolderError, match=r"no known problem: 'Gone', module 'tests\.branch_and_bound\.test_runs'"):
        resume(device, tmp_path / "run", trust=True)


@pytest.mark.parametrize("how", ["interrupted", "time_limit"])
def test_a_stop_or_a_time_limit_ends_the_heuristic(device, how, monkeypatch):
    problem = engine.ATSP(np.random.default_rng(1).integers(1, 99, (60, 60)))
    asked, begun, heuristic = [], threading.Event(), engine.ATSP.first_solution

    def first_solution(self, method, seed, expired):
        def ended():
            asked.append(None)
            if len(asked) == 20:
                assert begun.wait(PATIENCE)
                run.stop() if how == "interrupted" else monkeypatch.setattr(RunClock, "elapsed", 7200.0)
            found = expired()
            assert found == (len(asked) >= 20)
            return found

        return heuristic(self, method, seed, ended)

    monkeypatch.setattr(engine.ATSP, "first_solution", first_solution)
    run = engine_of(device).start(problem, time_limit=3600)
    begun.set()
    result = run.wait()
    assert result.status == how
    assert len(asked) < 40
    assert result.objective == problem.tree().evaluate(result.solution)


ONE = [(engine.ATSP([[0]]), 0), (engine.QuadraticAssignment([[2]], [[3]]), 6), (engine.LinearOrdering([[0]]), 0)]
ONE += [(engine.Tardiness([7], [2], [3]), 8), (engine.Flowshop([[3], [4]]), 7)]


@pytest.mark.parametrize(("problem", "optimum"), ONE)
def test_the_only_solution_is_the_optimum(device, tmp_path, problem, optimum):
    folder = tmp_path / "run"
    result = engine.solve(problem, devices=[device.info.id], run_folder=folder)
    assert (result.status, result.objective, result.bound) == ("optimal", optimum, optimum)
    assert result.solution.tolist() == [0]
    assert engine.resume(folder) == result
    proved = engine.solve(problem, devices=[device.info.id], upper_bound=optimum)
    assert (proved.status, proved.bound) == ("bound_proved", optimum)
    with pytest.raises(OptionError, match="initial must have each of 0 to 0 once; got 3"):
        engine.solve(problem, devices=[device.info.id], initial=[3])
    with pytest.raises(OptionError, match=f"must be the value of initial .* and a solution of {optimum}"):
        engine.solve(problem, devices=[device.info.id], initial=[0], upper_bound=optimum + 1)
    assert engine.estimate(problem, devices=[device.info.id]).amount <= 1.0


def test_the_empty_board_has_one_solution(device, tmp_path):
    result = engine.solve(engine.Queens(0), devices=[device.info.id], run_folder=tmp_path / "run")
    assert (result.status, result.objective) == ("complete", 1)
    assert engine.resume(tmp_path / "run").objective == 1
