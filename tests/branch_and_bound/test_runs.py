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
from tests.support.needs import opencl_device
from tests.support.patience import PATIENCE
from tests.support.searching import load_assignment
from tests.support.stopping import stop_at

# Makespans of Taillard's first ten instances, proved optimal in the literature.
OPTIMA = [1278, 1359, 1081, 1293, 1235, 1195, 1234, 1206, 1230, 1108]


def solve(device, problem, times=1, **options):
    return engine_of(device, times).solve(problem, **options)


def resume(device, folder, times=1, **options):
    return engine_of(device, times).resume(folder, **options).wait()


def stopped_at_work(device, problem, times, **options):
    """Solve on a device listed some times, and stop when one of them has reported."""
    at_work = threading.Event()

    def note(event):
        if isinstance(event, Metric):
            at_work.set()

    run = engine_of(device, times).start(problem, on_event=note, **options)
    assert at_work.wait(PATIENCE)
    run.stop()
    return run.wait(PATIENCE)


def few_ivms(device):
    """Options that make a GPU slow enough to be stopped on the way."""
    return {"ivms": 256} if device.info.capabilities.simt else {}


@pytest.mark.few(1)
@pytest.mark.parametrize("number", range(1, 11))
def test_taillards_first_ten_are_solved_from_scratch(device, number):
    problem = engine.Flowshop.taillard(number)
    result = solve(device, problem)
    assert (result.status, result.objective, result.bound) == ("optimal", OPTIMA[number - 1], OPTIMA[number - 1])
    assert problem.evaluate(result.solution) == OPTIMA[number - 1]


def test_a_search_without_any_first_solution_finds_the_optimum(device):
    result = solve(device, engine.Flowshop.taillard(1), initial="infinity", branching="min_branch", time_limit=60)
    assert (result.status, result.objective) == ("optimal", 1278)


def test_a_bound_below_what_is_possible_is_answered_at_once(device):
    events = []
    result = solve(device, engine.Flowshop.taillard(1), upper_bound=10, on_event=events.append)
    assert [event.message for event in events if isinstance(event, Notice)] == [result.reason]
    least = engine.Flowshop.taillard(1).tree().lower_bound()
    assert (result.status, result.bound, result.counters["nodes"]) == ("bound_proved", least, 0)
    assert result.reason == (
        f"there is no solution below the given upper_bound of 10; the lower bound of all solutions is {least}"
    )


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


@pytest.mark.full
def test_a_stopped_count_of_optimal_schedules_goes_on(device, tmp_path):
    problem = engine.Flowshop(np.random.default_rng(5).integers(1, 4, (3, 9)))
    folder = tmp_path / "run"
    options = {"all_solutions": True, "branching": "forward", "ivms": 8}
    whole = solve(device, problem, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coordinator, "SLICE_SECONDS", 1e-4)
        stops = stop_at(patch, lambda event: isinstance(event, Metric))
        first = solve(device, problem, run_folder=folder, **options)
    assert stops
    assert first.status == "interrupted"
    assert 0 < first.counters["nodes"] < whole.counters["nodes"]
    resumed = resume(device, folder)
    assert (resumed.status, resumed.objective) == ("optimal", whole.objective)
    assert all(resumed.counters[name] == whole.counters[name] for name in ("solutions", "nodes"))


def test_the_command_line_tells_a_proved_bound_from_an_optimum(device, tmp_path, capsys):
    file, certificate = tmp_path / "two.txt", tmp_path / "s.txt"
    file.write_text("2 2\n0 3 1 5\n0 4 1 6\n")
    words = ["solve", str(file), "--devices", device.info.id, "--upper-bound", "14", "--solution", str(certificate)]
    assert command_line([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["objective"], answer["bound"]) == ("bound_proved", None, 14)
    assert answer["reason"] == "there is no solution below the given upper_bound of 14"
    assert certificate.read_text().startswith("# bound_proved\n")


def test_solutions_that_are_counted_have_no_upper_bound(device):
    with pytest.raises(OptionError, match="upper_bound"):
        solve(device, engine.Queens(6), upper_bound=3)


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


def test_a_problem_without_child_bounds_is_not_searched_in_parallel(device, assignment):
    with pytest.raises(OptionError, match="needs a problem whose kernel functions include child_bounds"):
        solve(device, assignment.grid(2, 3, seed=1), variant="pte_peb")


@pytest.mark.full
@pytest.mark.parametrize("again", [pytest.param(1, marks=pytest.mark.full), 2])
def test_a_stopped_run_resumes_to_the_same_nodes_on_more_devices(device, again, tmp_path):
    problem = engine.Flowshop.taillard(28)
    first = stopped_at_work(device, problem, 2, upper_bound=2200, run_folder=tmp_path / "run", **few_ivms(device))
    assert first.status == "interrupted"
    assert 0 < first.counters["nodes"] < 12_869_872
    assert first.arrays["begin"].shape == first.arrays["end"].shape
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
    """All its intervals are accounted for, and its nodes are those of a run that was not stopped."""
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
    """Write a proven bound into a checkpoint."""
    kept = RunFolder.open(folder)
    checkpoint = kept.checkpoint()
    kept.acquire()
    kept.save_checkpoint(dataclasses.replace(checkpoint, state=checkpoint.state.model_copy(update={"bound": bound})))
    kept.release()
    return checkpoint.state.value


def test_a_checkpoint_while_running_changes_nothing(device, tmp_path):
    folder = tmp_path / "run"
    result = solve(device, engine.Queens(14), 2, run_folder=folder, checkpoint_interval=0.02, **few_ivms(device))
    assert (result.objective, result.counters["nodes"]) == (365596, 13496479)
    assert list(folder.glob("checkpoint-*.json"))


def test_a_run_reports_what_it_does(device):
    events = []
    result = solve(device, engine.Flowshop.taillard(5), on_event=events.append)
    names = {event.name for event in events if isinstance(event, Metric)}
    wanted = {"active_ivms", "nodes_per_second", "explored_share", "stealing_share", "steals", "exchanged_intervals"}
    assert wanted <= names
    incumbents = [event for event in events if isinstance(event, Incumbent)]
    assert incumbents[-1].objective == result.objective
    shares = [event.value for event in events if isinstance(event, Metric) and event.name == "explored_share"]
    assert shares[-1] == pytest.approx(1.0)


def test_a_search_that_ends_at_its_bound_says_how_much_it_has_explored(device):
    problem = engine.Flowshop(np.random.default_rng(1).integers(1, 100, (3, 60)))
    shares = []

    def note(event):
        if isinstance(event, Metric) and event.name == "explored_share":
            shares.append(event.value)

    result = solve(device, problem, initial=tuple(range(60)), on_event=note)
    assert (result.status, result.objective) == ("optimal", problem.tree().lower_bound())
    explored = length_of_levels(result.arrays["explored"]) / math.factorial(60)
    assert shares[-1] == pytest.approx(explored, abs=1e-12)


def test_lost_work_is_an_error_and_never_an_answer(device, monkeypatch):
    original = Sharing.deal

    def lossy(self, worker):
        return original(self, worker)[1:]

    monkeypatch.setattr(Sharing, "deal", lossy)
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
    """The worked example of a problem of one's own."""
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


def made(kind):
    """An instance whose heuristic takes many steps."""
    random = np.random.default_rng(1)
    times = engine.Flowshop.taillard(41).times  # 50 jobs on 10 machines
    if kind == "ATSP":
        return engine.ATSP(random.integers(1, 99, (60, 60)))
    if kind == "QuadraticAssignment":
        return engine.QuadraticAssignment(*random.integers(0, 9, (2, 20, 20)))
    if kind == "Tardiness":
        return engine.Tardiness(*random.integers(1, 9, (2, 40)), random.integers(1, 200, 40))
    if kind == "LinearOrdering":
        return engine.LinearOrdering(random.integers(0, 99, (60, 60)))
    return getattr(engine, kind)(times)


@pytest.mark.few(2)
@pytest.mark.parametrize("how", ["stop", "time limit"])
@pytest.mark.parametrize(
    "kind",
    [
        *("BlockingFlowshop", "NoWaitFlowshop", "FlowTime"),  # a device improves the first schedule of a Flowshop
        *("ATSP", "QuadraticAssignment", "Tardiness", "LinearOrdering"),
    ],
)
def test_a_stop_or_a_time_limit_ends_the_heuristic(kind, how, monkeypatch):
    opencl_device()
    problem = made(kind)
    whole, asked, begun = 0, 0, threading.Event()
    heuristic = type(problem).first_solution

    def counted():
        nonlocal whole
        whole += 1
        return whole > 60

    problem.first_solution("heuristic", 0, counted)
    assert whole > 60  # it would have gone on

    def first_solution(self, method, seed, expired):
        def ended():
            nonlocal asked
            asked += 1
            if asked == 20:
                assert begun.wait(PATIENCE)
                if how == "stop":
                    run.stop()
                else:
                    monkeypatch.setattr(RunClock, "elapsed", 7200.0)
            found = expired()
            assert found == (asked >= 20)
            return found

        return heuristic(self, method, seed, ended)

    monkeypatch.setattr(type(problem), "first_solution", first_solution)
    with engine.Engine("opencl", ["opencl:0"]) as owner:
        run = owner.start(problem, time_limit=3600)
        begun.set()
        result = run.wait()
    assert result.status == ("interrupted" if how == "stop" else "time_limit")
    assert asked < 40
    assert result.objective == problem.tree().evaluate(result.solution)
