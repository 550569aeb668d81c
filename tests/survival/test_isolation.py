"""C code of the user's on a CPU: it is executed in a child process, which can crash and can be ended."""

import platform
import sys

import numpy as np
import pytest

import engine
from engine.devices import available
from engine.errors import AuditError, DeviceError, QuintetWarning
from engine.runs.child import far_run as isolation
from tests.support.needs import CPU
from tests.support.patience import PATIENCE, wait_until

CPUS = [info.id for info in available("opencl")[0] if info.capabilities.shares_host_cores]
pytestmark = CPU
ONES = "fitness = 0; for (i32 i = 0; i < N; i++) fitness += BIT(i);"


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """A busy machine may take long to hear a stop."""
    monkeypatch.setattr(isolation, "WATCHDOG_SECONDS", 5 * PATIENCE)


def snippet(code, n=24, **arguments):
    return engine.BOA.snippet(code, n, **arguments)


def test_a_snippet_gives_the_answer_of_the_function_it_is(tmp_path):
    seen = []
    problem = snippet(ONES, host=lambda bits: bits.sum(axis=1))
    arguments = {"population": 200, "seed": 4, "local_search": "none"}
    result = engine.solve(problem, devices=CPUS[:1], on_event=seen.append, run_folder=tmp_path / "r", **arguments)
    python = engine.solve(engine.BOA("onemax", 24), devices=CPUS[:1], **arguments)
    assert result.objective == python.objective == 24
    assert np.array_equal(result.solution, np.ones(24))
    kinds = {event.type for event in seen}
    assert {"started", "metric", "incumbent", "finished"} <= kinds
    assert [event.objective for event in seen if event.type == "incumbent"][-1] == 24
    times = [event.time for event in seen if event.type == "metric"]
    assert times == sorted(times)
    assert engine.load(tmp_path / "r").objective == 24


def test_an_answer_that_the_hosts_function_does_not_confirm_is_withheld():
    with pytest.raises(AuditError, match="but the devices found"):
        engine.solve(snippet(ONES, host=lambda bits: 2 * bits.sum(axis=1)), devices=CPUS[:1], population=100)


SYSTEM_CALLS = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="the snippet makes system calls of Linux on x86-64",
)


def test_a_snippet_that_crashes_is_an_error_and_the_engine_goes_on():
    with engine.Engine(devices=CPUS[:1]) as owner:
        with pytest.raises(DeviceError, match="was ended by the signal SIG"):
            owner.solve(snippet("fitness = *(i64 *) 16;"), population=100)
        assert owner.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50), reduce=False).objective == 220


ENDLESS = "for (u64 i = 1; i != 0; i += 2) fitness += (i64) (i * i) + BIT(3);"


@pytest.mark.full
@SYSTEM_CALLS
def test_a_snippet_that_never_returns_leaves_the_status_of_a_stopped_run_and_a_warning(tmp_path):
    """It is no error: the run ends without the snippet at its limit or stop, with what was found before."""
    create = '"syscall" : "=a"(r) : "0"(85L), "D"("%s"), "S"(0600L) : "rcx", "r11", "memory"' % (tmp_path / "begun")
    with engine.Engine(devices=CPUS[:1]) as owner:
        run = owner.start(snippet(f"long r; __asm__ volatile ({create}); {ENDLESS}"), population=100)
        wait_until((tmp_path / "begun").exists, "the snippet was not called")
        run.stop()
        with pytest.warns(QuintetWarning, match="the C snippet had not returned when the run ended"):
            result = run.wait(PATIENCE)
        assert (result.status, result.objective) == ("interrupted", None)
        assert "had not returned" in result.warnings[0].message
        assert owner.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50), reduce=False).objective == 220
