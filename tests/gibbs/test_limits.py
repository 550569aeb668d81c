"""A limit ends a sampler in every phase, with the draws so far or a sentence on why there are none."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import engine
from engine.runs.run import Run
from engine.solvers.gibbs import reporting as reporting_module
from engine.solvers.gibbs import solve as solve_module
from engine.solvers.gibbs.design.entries import Entries
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.device.sampler import Sampler
from engine.solvers.gibbs.posterior import verdict
from tests.support.engines import engine_of
from tests.support.patience import PATIENCE
from tests.support.stopping import stop_at


def problem_of(rows=80):
    random = np.random.default_rng(5)
    X = random.standard_normal((rows, 3))
    return engine.HorseshoeProbit(X, X[:, 0] + random.standard_normal(rows) > 0)


def stopped_in_batch(owner, number, monkeypatch, **options):
    """The result of a run that is stopped while a batch of iterations does not end."""
    monkeypatch.setattr("engine.runs.run.is_overdue", lambda overdue, cpu, patience: overdue > 0)
    advance, hangs, end = Sampler.advance, threading.Event(), threading.Event()
    calls = []

    def advance_or_hang(sampler, first, count, kept_from):
        calls.append(first)
        if len(calls) > number:
            hangs.set()
            end.wait(PATIENCE)
        return advance(sampler, first, count, kept_from)

    monkeypatch.setattr(Sampler, "advance", advance_or_hang)
    run = owner.start(problem_of(), seed=1, **options)
    try:
        assert hangs.wait(PATIENCE)
        run.stop()
        return run.outcome(PATIENCE)
    finally:
        end.set()
        with owner.exclusive():  # until it has ended
            pass


def test_the_draws_so_far_are_the_result_while_an_iteration_does_not_end(device, monkeypatch):
    owner = engine_of(device)
    result = stopped_in_batch(owner, 8, monkeypatch, warmup=2, draws=5000)
    assert result.status == "interrupted"
    count = int(result.counters["draws"])
    assert count >= 4
    assert result.arrays["beta"].shape == (4, count, 4)
    whole = owner.solve(problem_of(), seed=1, warmup=2, draws=count)
    assert np.array_equal(result.arrays["beta"], whole.arrays["beta"])


@pytest.mark.parametrize(
    ("batches", "sentence"),
    [
        (0, "the run was stopped before the first iteration, in the phase 'mode', so that there are no draws"),
        (1, "the run was stopped after 1 of 300 iterations of the warm-up, so that there are no draws"),
    ],
)
def test_a_run_without_draws_says_how_far_it_came(device, monkeypatch, batches, sentence):
    result = stopped_in_batch(engine_of(device), batches, monkeypatch)
    assert (result.status, result.reason) == ("interrupted", sentence)
    assert result.solution is None


@pytest.mark.parametrize("kernel", ["hmc", "gibbs", "cg"])
def test_a_limit_leaves_half_of_the_iterations_for_draws(device, kernel, monkeypatch, tmp_path):
    """An iteration takes a quarter of a second of a clock that nothing else moves, the search for a mode a tenth."""
    clock, events = [0.0], []
    advance, score = Sampler.advance, Sampler.score

    def slow_advance(sampler, first, count, kept_from):
        clock[0] += 0.25 * count
        return advance(sampler, first, count, kept_from)

    def slow_score(sampler, beta):
        clock[0] += 0.1
        return score(sampler, beta)

    with monkeypatch.context() as patch:
        patch.setattr(Sampler, "advance", slow_advance)
        patch.setattr(Sampler, "score", slow_score)
        for module in (solve_module, reporting_module):
            patch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
        patch.setattr(Run, "time_left", property(lambda run: 20.0 - clock[0]))
        options = {"kernel": kernel, "seed": 1, "draws": 200, "chains": 2}
        owner, folder = engine_of(device), tmp_path / "run"
        result = owner.solve(problem_of(), run_folder=folder, on_event=events.append, **options)
    assert result.status == "time_limit"
    warmup, draws = (int(result.counters[name]) for name in ("warmup", "draws"))
    assert 20 <= warmup <= 40
    assert abs(draws - warmup) <= 12  # batches, and the iterations before the first estimate
    assert f"cut the warm-up short, after {warmup} iterations" in verdict(result)
    notices = [event.message for event in events if event.type == "notice"]
    assert any(text.startswith(f"the time limit leaves {warmup} of 300 iterations") for text in notices)
    longer = owner.resume(folder).wait()
    assert (longer.status, longer.counters["draws"]) == ("complete", 200)
    assert np.isfinite(longer.arrays["mean"]).all()


@pytest.mark.parametrize("options", [{"streaming": "never"}, {"streaming": "always"}, {"storage": "sparse"}])
def test_a_limit_ends_the_upload_of_x(device, options, monkeypatch):
    asked, rows, of = [], Design.rows, Entries.of
    monkeypatch.setattr(Design, "chunk_rows", 16)
    monkeypatch.setattr(Design, "rows", lambda design, *place: asked.append(place) or rows(design, *place))
    monkeypatch.setattr(Entries, "of", lambda *place: asked.append(place) or of(*place))
    monkeypatch.setattr(Run, "time_left", property(lambda run: -1.0 if asked else 20.0))
    result = engine_of(device).solve(problem_of(5000), **options)
    assert result.status == "time_limit"
    assert "the time limit passed before the first iteration, in the phase 'upload of X'" in result.reason
    assert len(asked) < 10


def test_a_stop_of_the_upload_leaves_the_draws_of_a_resumed_run(device, monkeypatch, tmp_path):
    owner, folder = engine_of(device), tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_at(patch, lambda event: event.type == "progress" and event.phase == "sampling" and event.done > 110)
        first = owner.solve(problem_of(), run_folder=folder, seed=4, draws=5000, warmup=50, chains=2)
    with monkeypatch.context() as patch:
        stop_at(patch, lambda event: event.type == "progress" and event.phase == "upload of X")
        again = owner.resume(folder).wait()
    assert (first.status, again.status) == ("interrupted", "interrupted")
    assert 0 < again.counters["draws"] <= first.counters["draws"]
    assert np.array_equal(again.arrays["beta"], first.arrays["beta"][:, : again.counters["draws"]])
