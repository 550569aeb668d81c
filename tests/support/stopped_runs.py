"""Runs that are stopped at a given generation and resumed."""

import pytest

import engine
from engine.runs.run import Run
from engine.solvers.boa import islands


def history(result):
    return result.arrays["history"].tolist()


def stopped_at(running, problem, folder, polls, **options):
    """A run that stops itself when it looks at its controls for so many times, a generation each time."""
    poll, seen = Run.poll, [0]

    def counted(run):
        seen[0] += 1
        if seen[0] == polls:
            run.stop()
        poll(run)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Run, "poll", counted)
        patched.setattr(islands, "SLICE_SECONDS", 1e-9)
        return running.solve(problem, run_folder=folder, **options)


def stopped_and_resumed(running, problem, folder, polls, devices=1, **options):
    """The result of a run that is stopped after some generations, and continues on so many devices."""
    stopped = stopped_at(running, problem, folder, polls, **options)
    assert stopped.status is engine.Status.INTERRUPTED
    assert stopped.counters["generations"] > 0
    assert list(folder.glob("checkpoint*.npz"))
    given = problem if isinstance(problem.fitness, engine.solvers.boa.fitness.Function) else None
    resumed = engine.resume(folder, problem=given, devices=[stopped.devices[0]] * devices)
    assert resumed.counters["generations"] > stopped.counters["generations"]
    return resumed
